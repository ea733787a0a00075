"""The groups and decisions of a collection, read once and brought up to date from its change log."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from neardup.collection import Collection
from neardup.collection.groups.records import Change, PairDecision, StoredGroup
from neardup.io.decisions.records import Verdict
from neardup.tables import Floats, Int64s

_PAGE = 1000


@dataclass(frozen=True, eq=False)
class GroupColumns:
    """Values of groups: the size, the lowest resemblance to the representative (NaN without any), and of the pairs
    with the representative those with a verdict, and all.
    """

    size: Int64s
    lowest: Floats
    decided: Int64s
    pairs: Int64s


@dataclass
class Collected:
    """The groups by their ids, ascending, and the decisions by the two documents, in sorted order.

    ``seen`` is the number of the last change that they contain.
    """

    collection: Collection
    groups: dict[int, StoredGroup] = field(default_factory=dict)
    decisions: dict[tuple[str, str], PairDecision] = field(default_factory=dict)
    seen: int = -1
    action: int = 0
    _columns: tuple[int, GroupColumns] | None = None

    def refresh(self) -> None:
        """Read the groups and decisions that changed."""
        self.action = self.collection.store.decisions.last()
        if self.seen < 0:
            self.seen = self.collection.store.groups.last_change()
            self._read_groups()
            self._read_decisions()
            return
        changes = changes_after(self.collection, self.seen)
        if not changes:
            return
        for number in {change.group for change in changes if change.group is not None}:
            self._read(number)
        if any(change.what in ("decided", "withdrawn", "stays") for change in changes):
            self._read_decisions()
        self.groups = dict(sorted(self.groups.items()))
        self.seen = changes[-1].number

    def of(self, a: str, b: str) -> PairDecision | None:
        """Return the decision about two documents."""
        return self.decisions.get((min(a, b), max(a, b)))

    def verdict(self, a: str, b: str) -> Verdict | None:
        """Return the verdict on two documents."""
        found = self.of(a, b)
        return None if found is None else found.verdict

    def near(self, group: StoredGroup) -> list[str]:
        """Return the members besides the representative, of those that the group lists."""
        return [member.id for member in group.members if member.id != group.representative]

    def decided(self, group: StoredGroup) -> int:
        """Return how many of the near members have a verdict."""
        return sum(self.of(id, group.representative) is not None for id in self.near(group))

    @property
    def columns(self) -> GroupColumns:
        """The values of all groups, counted once after each change."""
        if self._columns is None or self._columns[0] != self.seen:
            groups = list(self.groups.values())
            others = [[one for one in group.members if one.id != group.representative] for group in groups]
            made = GroupColumns(
                np.array([group.size for group in groups], np.int64),
                np.array([min((one.resemblance for one in some), default=np.nan) for some in others], np.float64),
                np.array([self.decided(group) for group in groups], np.int64),
                np.array([len(some) for some in others], np.int64),
            )
            self._columns = self.seen, made
        return self._columns[1]

    def _read_groups(self) -> None:
        after: int | None = None
        while True:
            page = self.collection.groups(after, _PAGE)
            self.groups.update((group.id, group) for group in page.groups)
            after = page.next
            if after is None:
                return

    def _read(self, number: int) -> None:
        with self.collection.store.reading():
            if self.collection.store.groups.rows([number]):
                self.groups[number] = self.collection.group(number)
            else:
                self.groups.pop(number, None)

    def _read_decisions(self) -> None:
        found: list[PairDecision] = []
        while page := self.collection.decisions(found[-1].number if found else 0, _PAGE):
            found += page
        self.decisions = {(min(one.a, one.b), max(one.a, one.b)): one for one in found}


def changes_after(collection: Collection, number: int) -> list[Change]:
    """Return the lines of the change log after one."""
    found: list[Change] = []
    while page := collection.changes(found[-1].number if found else number, _PAGE):
        found += page
    return found
