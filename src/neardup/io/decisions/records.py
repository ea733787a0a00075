"""The decisions of reviewers, and the actions that record them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

Id: TypeAlias = str | int
"""An id as it is in the user's column."""

Verdict = Literal["duplicate", "keep both", "not alike", "unsure"]
"""``duplicate``: the two belong together, and one stays. ``keep both``: they belong together, and both stay.
``not alike``: they never share a group. ``unsure``: looked at, and nothing follows."""

TOGETHER: tuple[Verdict, ...] = ("duplicate", "keep both")
"""The verdicts on documents that belong together."""

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
class PairNote:
    """A note on two documents that is no verdict, and leaves the verdict as it is. An empty one takes it away."""

    a: Id
    b: Id
    note: str


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


Change: TypeAlias = Judgement | PairNote | FateOf | Represents | Tag


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


@dataclass(frozen=True)
class NotedPair:
    """The note on a pair as it holds now: by whom, when, and the number of its action."""

    note: str
    by: str
    at: str
    action: int


@dataclass(frozen=True)
class JudgedPair(NotedPair):
    """The verdict on a pair as it holds now, with its note."""

    verdict: Verdict


@dataclass(frozen=True)
class DecidedFate:
    """The fate of a document as it holds now: by whom, when, and the number of its action."""

    fate: Fate
    note: str
    by: str
    at: str
    action: int


@dataclass(frozen=True)
class ChosenRepresentative:
    """The document that represents a group as it holds now: by whom, when, and the number of its action."""

    id: Id
    by: str
    at: str
    action: int


@dataclass(frozen=True)
class DecisionState:
    """All decisions that hold after the action ``number``; 0 before the first.

    The keys of ``judgements`` and ``notes`` are pairs in canonical order (see :func:`pair_of`). ``choices`` holds
    the chosen representatives with their authors, ``represents`` only their ids. ``tags`` are sorted.
    """

    number: int
    judgements: Mapping[tuple[Id, Id], JudgedPair]
    fates: Mapping[Id, DecidedFate]
    choices: Mapping[Id, ChosenRepresentative]
    tags: Mapping[Id, tuple[str, ...]]
    notes: Mapping[tuple[Id, Id], NotedPair] = field(default_factory=dict)

    @cached_property
    def represents(self) -> Mapping[Id, Id]:
        """The chosen representative of each group."""
        return {group: choice.id for group, choice in self.choices.items()}

    def verdict(self, a: Id, b: Id) -> JudgedPair | None:
        """Return the verdict on a pair, in any order."""
        return self.judgements.get(pair_of(a, b))

    def note(self, a: Id, b: Id) -> str:
        """Return the note on a pair, in any order: the later one of its own and that of its verdict, if any."""
        judged, noted = self.verdict(a, b), self.notes.get(pair_of(a, b))
        if noted is None or (judged is not None and judged.note and judged.action > noted.action):
            return "" if judged is None else judged.note
        return noted.note


NO_DECISIONS = DecisionState(0, {}, {}, {}, {})


def pair_of(a: Id, b: Id) -> tuple[Id, Id]:
    """Return two ids in canonical order: numbers before strings, each ascending.

    >>> pair_of("b", "a"), pair_of("7", 7), pair_of(10, 9)
    (('a', 'b'), (7, '7'), (9, 10))
    """
    if isinstance(a, int) and isinstance(b, int):
        return (a, b) if a <= b else (b, a)
    if isinstance(a, str) and isinstance(b, str):
        return (a, b) if a <= b else (b, a)
    return (a, b) if isinstance(a, int) else (b, a)
