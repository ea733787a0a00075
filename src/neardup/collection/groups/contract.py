"""The interface that groups require of a store: tables of groups, members, decisions and changes.

Documents are numbers here. ``grouping.py`` explains the meaning of the tables; a store only keeps and returns
their rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from neardup.tables import Int64s

Verdict: TypeAlias = Literal["same", "different"]


@dataclass(frozen=True)
class GroupRow:
    """A group: its number (0: not assigned yet), its representative, and the least resemblance to it."""

    number: int
    representative: int
    threshold: float


@dataclass(frozen=True)
class MemberRow:
    """A document, its group, and the number of shingles that it shares with the representative."""

    document: int
    group: int
    shared: int


@dataclass(frozen=True)
class DecisionRow:
    """A decision about two documents, ``a`` < ``b``. ``number`` grows with each decision; 0: not assigned yet."""

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
    """Look-ups in the tables. Within a transaction, they see the changes made so far."""

    def count(self) -> int:
        """The number of groups."""

    def page(self, after: int, limit: int) -> list[GroupRow]:
        """The first ``limit`` groups with a number above ``after``, ascending."""

    def rows(self, groups: Iterable[int]) -> dict[int, GroupRow]:
        """The groups that exist, by number."""

    def members(self, group: int, after: int = 0, limit: int | None = None) -> list[MemberRow]:
        """The members of a group with a number above ``after``, ascending; the first ``limit``."""

    def grouped(self) -> Int64s:
        """All documents that are in a group, ascending (int64)."""

    def size(self, group: int) -> int:
        """The number of members of a group."""

    def memberships(self, documents: Sequence[int]) -> dict[int, MemberRow]:
        """The memberships of the documents that are in a group."""

    def decisions(self, documents: Sequence[int]) -> list[DecisionRow]:
        """The decisions that involve any of the documents, by number."""

    def decided(self, after: int, limit: int) -> list[DecisionRow]:
        """The first ``limit`` decisions with a number above ``after``, ascending."""

    def changes(self, after: int, limit: int) -> list[ChangeRow]:
        """The first ``limit`` changes with a number above ``after``, ascending."""

    def last_change(self) -> int:
        """The number of the last change, 0 for an empty log; found without reading the log."""

    def decision_changes(self, before: int, limit: int) -> list[ChangeRow]:
        """The last ``limit`` lines with "decided" or "withdrawn" and a number below ``before``, descending."""


class GroupWriting(Protocol):
    """Changes to the tables within a transaction."""

    def save(self, group: GroupRow) -> int:
        """Store a group, as a new one if its number is 0, and return its number, which is never reused."""

    def end(self, group: int) -> None:
        """Delete a group that has no members any more."""

    def join(self, members: Iterable[MemberRow]) -> None:
        """Store memberships, replacing those that the documents had."""

    def leave(self, documents: Iterable[int]) -> None:
        """Delete the memberships of documents."""

    def decide(self, decision: DecisionRow) -> int:
        """Store a decision, replacing the one about the same two documents, and return its number.

        A number of 0 requests a new one; any other is that of a decision that is restored.
        """

    def withdraw(self, a: int, b: int) -> None:
        """Delete the decision about two documents, ``a`` < ``b``."""

    def log(self, changes: Iterable[ChangeRow]) -> None:
        """Append lines to the change log in this order; this method assigns their numbers."""
