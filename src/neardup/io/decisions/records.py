"""The decisions of reviewers, and the actions that record them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Id: TypeAlias = str | int
"""An id as it is in the user's column."""

Verdict = Literal["duplicate", "keep both", "not alike", "unsure"]
"""``duplicate``: the two belong together, and one stays. ``keep both``: they belong together, and both stay.
``not alike``: they never share a group. ``unsure``: looked at, and nothing follows."""

Fate = Literal["keep", "remove"]
"""The fate of one document, whatever its group."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on two documents; None withdraws it. ``a`` is the member, ``b`` its representative."""

    a: Id
    b: Id
    verdict: Verdict | None
    note: str = ""


@dataclass(frozen=True)
class FateOf:
    """The fate of one document; None withdraws it."""

    id: Id
    fate: Fate | None
    note: str = ""


@dataclass(frozen=True)
class Represents:
    """The document ``id`` represents the group that ``group`` represented in the result; None withdraws it."""

    group: Id
    id: Id | None


@dataclass(frozen=True)
class Tag:
    """A tag on one document; ``on`` False takes it away."""

    id: Id
    tag: str
    on: bool = True


Change: TypeAlias = Judgement | FateOf | Represents | Tag


@dataclass(frozen=True)
class Action:
    """The decisions of one person at once: ``number`` defines the order, ``at`` is the time, ``what`` a sentence.

    ``changes`` counts the decisions in it. ``undoes`` is the number of the action that this one undid;
    ``undone_by`` the number of the action that undid this one.
    """

    number: int
    at: str
    by: str
    what: str
    changes: int
    undoes: int | None = None
    undone_by: int | None = None
