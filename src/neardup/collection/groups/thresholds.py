"""Bring the groups of a collection to another threshold; each that keeps a member keeps its number.

At a higher threshold, members that no longer reach the representative leave, unless decisions bind them. At a
lower one, groups whose representatives are near each other now are formed again together, as after a decision that
binds them. Groups that have the threshold already stay as they are. So the work can stop at any time, and go on
later.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from neardup.collection.contract import GroupRow
from neardup.collection.entries import entries_again
from neardup.collection.groups.formation import About, Grouping
from neardup.collection.near import Finder, Near
from neardup.collection.sets import Sets
from neardup.collection.store import Store
from neardup.runtime import UNLIMITED, Advance, Deadline, Progress, Silent
from neardup.tables import Bools, Int64s

TOGETHER = 100
"""Groups that are changed and committed together: other writers wait for no more than these."""
_PAGE = 10_000
_CAUSE = About("regrouped")


class HeadFinder(Finder):
    """Finds the representatives that one of them is near to; ``heads`` says of each number whether it is one."""

    _in_stages = False  # each document is in the posting lists itself

    def __init__(self, store: Store, near: Near, sets: Sets, deadline: Deadline, heads: Bools) -> None:
        super().__init__(store, near, sets, deadline)
        self._heads = heads

    def _cut(self, documents: Int64s) -> Int64s:
        return self._still(documents)

    def _still(self, documents: Int64s) -> Int64s:
        known = documents[: np.searchsorted(documents, len(self._heads))]
        return known[self._heads[known]]


class GroupThresholds:
    """Brings the groups of a store to one threshold, ``TOGETHER`` at a time."""

    def __init__(self, store: Store, near: Near, deadline: Deadline = UNLIMITED) -> None:
        self._store, self._near, self._deadline = store, near, deadline
        self._logged = -1
        self._led: dict[int, int] = {}
        """The groups that have the threshold, by representative."""
        self._heads: Bools = np.empty(0, np.bool_)
        """The representatives of these."""

    def others(self) -> list[int]:
        """The numbers of the groups that have another threshold, ascending."""
        with self._store.reading(self._deadline):
            return [row.number for row in self._rows() if row.threshold != self._near.threshold]

    def change(self, groups: Sequence[int], advance: Advance) -> None:
        """Bring groups to the threshold, some in each transaction; those that no longer exist are passed over.

        Raises LimitError when the deadline passes; the groups of the last transaction stay as they were.
        """
        for begin in range(0, len(groups), TOGETHER):
            self._deadline.check()
            part = groups[begin : begin + TOGETHER]
            with self._store.writing():
                self._change(part)
            advance(len(part))

    def _rows(self) -> list[GroupRow]:
        rows: list[GroupRow] = []
        while page := self._store.groups.page(rows[-1].number if rows else 0, _PAGE):
            rows += page
        return rows

    def _change(self, numbers: Sequence[int]) -> None:
        tables, threshold = self._store.groups, self._near.threshold
        if tables.last_change() != self._logged:
            self._led = {row.representative: row.number for row in self._rows() if row.threshold == threshold}
            self._heads = np.zeros(int(self._store.everything().max(initial=0)) + 1, np.bool_)
            self._heads[list(self._led)] = True
        sets = Sets(self._store, self._deadline)
        grouping, waiting = Grouping(self._store, sets), list[int]()
        for row in tables.rows(numbers).values():
            if row.threshold != threshold:
                waiting += grouping.at_threshold(row, threshold, _CAUSE)
        self._lead(waiting)
        self._merge(waiting, grouping, HeadFinder(self._store, self._near, sets, self._deadline, self._heads))
        grouping.finish()
        self._logged = tables.last_change()

    def _merge(self, waiting: list[int], grouping: Grouping, finder: HeadFinder) -> None:
        """Form groups again with those whose representatives are near to theirs, until there are none."""
        settled: set[GroupRow] = set()
        while waiting:
            rows = [row for row in self._store.groups.rows(waiting).values() if row not in settled]
            rows, waiting = sorted(rows, key=lambda row: row.representative), []
            settled.update(rows)
            numbers = np.array([row.representative for row in rows], np.int64)
            finder.begin(entries_again(self._store, numbers))
            for place, row in enumerate(rows):
                for near in finder.repeated_documents(place, row.representative):
                    pair = {self._led.get(near.number, 0), self._led.get(row.representative, 0)}
                    if row.number in pair and len(pair) == 2 and 0 not in pair:
                        self._lead(pair, none=True)
                        formed = grouping.again(sorted(pair), _CAUSE)
                        self._lead(formed)
                        waiting += formed

    def _lead(self, groups: Iterable[int], *, none: bool = False) -> None:
        """Note the representatives of groups, or that they are none any longer."""
        for row in self._store.groups.rows(groups).values():
            self._heads[row.representative] = not none
            if none:
                del self._led[row.representative]
            else:
                self._led[row.representative] = row.number


def regroup(
    store: Store, near: Near, limit: int | None, deadline: Deadline = UNLIMITED, progress: Progress | None = None
) -> tuple[int, int]:
    """Bring ``limit`` groups at most to a threshold; return how many were changed, and how many are left.

    Raises LimitError when the deadline passes; the changes before it are stored.
    """
    thresholds = GroupThresholds(store, near, deadline)
    others = thresholds.others()
    chosen = others if limit is None else others[:limit]
    with (progress or Silent()).stage("regroup", len(chosen), "groups") as advance:
        thresholds.change(chosen, advance)
    return len(chosen), len(others) - len(chosen)
