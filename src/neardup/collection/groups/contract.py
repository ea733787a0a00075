"""What groups need of a store: tables of groups, members, decisions and changes; documents are numbers here.

What these tables mean is said in ``grouping.py``. A store keeps what it is given and gives it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

Verdict: TypeAlias = Literal["same", "different"]


@dataclass(frozen=True)
class GroupRow:
    """A group: its number (0: not given yet), the document that represents it, the least resemblance with it."""

    number: int
    representative: int
    threshold: float


@dataclass(frozen=True)
class MemberRow:
    """A document, its group, and how many shingles it shares with the representative."""

    document: int
    group: int
    shared: int


@dataclass(frozen=True)
class DecisionRow:
    """What was decided about two documents, ``a`` < ``b``. ``number`` grows with each decision; 0: none yet."""

    number: int
    a: int
    b: int
    verdict: Verdict
    by: str
    note: str
    at: str


@dataclass(frozen=True)
class ChangeRow:
    """A line of the change log; ``number`` is its place. ``about`` is plain data: ids, counts, the cause."""

    number: int
    at: str
    what: str
    group: int
    document: int
    about: Mapping[str, Any]


class GroupLookups(Protocol):
    """What is in the tables. Within a transaction, what was done so far."""

    def count(self) -> int:
        """Number of groups."""

    def page(self, after: int, limit: int) -> list[GroupRow]:
        """The first ``limit`` groups of a number above ``after``, ascending."""

    def rows(self, groups: Iterable[int]) -> dict[int, GroupRow]:
        """Those of the groups that exist, by number."""

    def members(self, group: int, after: int = 0, limit: int | None = None) -> list[MemberRow]:
        """The members of a group with a number above ``after``, ascending; the first ``limit``."""

    def size(self, group: int) -> int:
        """How many members it has."""

    def memberships(self, documents: Sequence[int]) -> dict[int, MemberRow]:
        """The membership of those of the documents that are in a group."""

    def decisions(self, documents: Sequence[int]) -> list[DecisionRow]:
        """The decisions about any of the documents and any others, by number."""

    def decided(self, after: int, limit: int) -> list[DecisionRow]:
        """The first ``limit`` decisions of a number above ``after``, ascending."""

    def changes(self, after: int, limit: int) -> list[ChangeRow]:
        """The first ``limit`` changes of a number above ``after``, ascending."""


class GroupWriting(Protocol):
    """Changes of the tables within a transaction."""

    def save(self, group: GroupRow) -> int:
        """Store a group, a new one where the number is 0; the number, which is never given again."""

    def end(self, group: int) -> None:
        """Forget a group that has no members any more."""

    def join(self, members: Iterable[MemberRow]) -> None:
        """Store memberships, in place of those that the documents had."""

    def leave(self, documents: Iterable[int]) -> None:
        """Forget the memberships of documents."""

    def decide(self, decision: DecisionRow) -> None:
        """Store a decision under a new number, in place of the one about the same two documents."""

    def withdraw(self, a: int, b: int) -> None:
        """Forget the decision about two documents, ``a`` < ``b``."""

    def log(self, changes: Iterable[ChangeRow]) -> None:
        """Add lines to the change log in this order; their numbers are given here."""
