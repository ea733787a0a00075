"""Compare stored documents that are in no group, as on arrival, and put them into groups.

A document is compared with those before it, and with later ones that are in a group already. So documents that
were added without ``near`` get the groups that they would have got with ``near`` and on_near="link", if no
document was put into a group in between. Existing groups keep their ids, representatives and members.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from neardup.collection.added import Action, GroupedPending, NearCopy
from neardup.collection.contract import Entries
from neardup.collection.groups.grouping import About, Grouping
from neardup.collection.near import READ, Finder, Near, Repeated
from neardup.collection.sets import Sets
from neardup.collection.store import Store
from neardup.collection.stored import entries_again
from neardup.runtime import UNLIMITED, Deadline, Progress, Silent
from neardup.tables import Bools, Int64s

TOGETHER = 100
"""Documents compared and committed together: other writers wait for no more than these."""
_LISTED = 1000


class StoredFinder(Finder):
    """Finds the documents that a stored one repeats: earlier ones, and later ones that are in a group.

    ``begin`` receives stored documents of ascending ``numbers``; ``grouped`` says of each number whether the
    document is in a group, and numbers beyond it are in none.
    """

    def __init__(self, store: Store, near: Near, sets: Sets, deadline: Deadline, grouped: Bools) -> None:
        super().__init__(store, near, sets, deadline)
        self._grouped, self._document = grouped, 0
        self._numbers: list[int] = []
        self._heads: dict[int, tuple[Int64s, Int64s]] = {}

    def begin_stored(self, entries: Entries, numbers: Int64s) -> None:
        """Start the next documents, which are stored."""
        self._numbers = numbers.tolist()
        self._parts: list[tuple[Int64s, Int64s]] = []
        super().begin(entries)
        self._heads = dict(zip(self._stored, self._parts, strict=True))

    def repeated(self, place: int, old: int = 0) -> list[Repeated]:
        """Return the documents that the document at ``place`` repeats."""
        self._document = number = self._numbers[place]
        if self._heads:
            self._stored = {
                hash: self._first(*self._heads[hash], number) for hash in self._samples[place].tolist()
            }
        return super().repeated(place, number)

    def _cut(self, found: Int64s) -> Int64s:
        """Keep of a posting list the parts that any of the documents may read: few of a long list."""
        after = int(np.searchsorted(found, self._numbers[0]))
        later = np.empty(0, np.int64)
        if after < READ:  # else all documents read earlier ones only
            later = self._in_groups(found[after:])[: READ + len(self._numbers)]
        self._parts.append((found[:READ].copy(), later))
        return found[:0]

    def _first(self, head: Int64s, later: Int64s, number: int) -> Int64s:
        """The first documents of a posting list that one is compared with."""
        earlier = head[: np.searchsorted(head, number)]
        if len(earlier) == READ or not len(later):
            return earlier
        return np.concatenate((earlier, later[np.searchsorted(later, number, "right") :]))[:READ]

    def _still(self, documents: Int64s) -> Int64s:
        split = int(np.searchsorted(documents, self._document))
        later = documents[split:]
        if not len(later):
            return documents
        later = self._in_groups(later)
        return np.concatenate((documents[:split], later[later != self._document]))

    def _in_groups(self, documents: Int64s) -> Int64s:
        known = documents[: np.searchsorted(documents, len(self._grouped))]
        return known[self._grouped[known]]


@dataclass
class _Outcome:
    compared: int
    repeats: int
    linked: int
    near: list[NearCopy]


def group_pending(
    store: Store,
    near: Near,
    after: int,
    limit: int | None,
    deadline: Deadline = UNLIMITED,
    progress: Progress | None = None,
) -> GroupedPending:
    """Put documents above the number ``after`` that are in no group into groups, ``limit`` of them at most.

    ``TOGETHER`` are committed at a time. They are compared before their transaction begins; within it, they are
    compared again only if the collection has changed since. Raises LimitError when the deadline passes; those
    compared last are not grouped then.
    """
    with store.reading(deadline):
        every = store.everything()
        alone = np.setdiff1d(every[every > after], store.groups.grouped(), assume_unique=True)
        alone = np.setdiff1d(alone, np.array(sorted(store.base_texts()), np.int64), assume_unique=True)
    asked = alone if limit is None else alone[:limit]
    pending = Pending(store, near, deadline)
    with (progress or Silent()).stage("group", len(asked), "documents") as advance:
        for numbers in _parts(asked, TOGETHER):
            pending.group(numbers)
            advance(len(numbers))
    total = pending.total
    more = int(asked[-1]) if len(asked) < len(alone) else None
    return GroupedPending(total.compared, total.repeats, total.linked, near.recall, tuple(total.near), more)


@dataclass(frozen=True, eq=False)
class _Found:
    """Compared documents: their numbers, ids and sizes, and what each repeats."""

    numbers: list[int]
    ids: Sequence[str]
    sizes: Sequence[int]
    repeated: list[list[Repeated]]


class Pending:
    """Compares and groups documents, some at a time; ``total`` counts."""

    def __init__(self, store: Store, near: Near, deadline: Deadline = UNLIMITED) -> None:
        self.total = _Outcome(0, 0, 0, [])
        self._store, self._near, self._deadline = store, near, deadline
        self._change = self._logged = -1
        self._grouped: Bools = np.empty(0, np.bool_)

    def group(self, numbers: Int64s) -> None:
        """Compare documents of ascending numbers, and link those that repeat others, in one transaction."""
        self._deadline.check()
        with self._store.reading(self._deadline):
            found = self._compared(numbers)
        if any(found.repeated):
            with self._store.writing():
                if self._store.totals().change != self._change:
                    found = self._compared(numbers)
                linked = self._linked(Grouping(self._store, self._sets), found)
                self._logged = self._store.groups.last_change()
            self._change += 1  # by this transaction, which changed no text
            self._note(found, linked)
        self.total.compared += len(found.numbers)

    def _compared(self, numbers: Int64s) -> _Found:
        """Compare the documents that are still there and in no group, in the present state."""
        change = self._store.totals().change
        if change != self._change:
            self._change = change
            self._sets = Sets(self._store, self._deadline)
            logged = self._store.groups.last_change()
            if logged != self._logged:
                self._logged = logged
                self._grouped = _mask(self._store.groups.grouped())
        there = np.array([row.number for row in self._store.rows(numbers)], np.int64)
        there = np.setdiff1d(there, list(self._store.groups.memberships(there.tolist())), assume_unique=True)
        if not len(there):
            return _Found([], [], [], [])
        finder = StoredFinder(self._store, self._near, self._sets, self._deadline, self._grouped)
        entries = entries_again(self._store, there)
        finder.begin_stored(entries, there)
        repeated = [finder.repeated(place) for place in range(len(there))]
        return _Found(there.tolist(), entries.ids, finder.sizes, repeated)

    def _linked(self, grouping: Grouping, found: _Found) -> list[int]:
        """Link the documents that repeat others; return the group of each document, 0 for none."""
        linked = [
            _link(grouping, number, size, repeated, self._near) if repeated else 0
            for number, size, repeated in zip(found.numbers, found.sizes, found.repeated, strict=True)
        ]
        grouping.finish()
        return linked

    def _note(self, found: _Found, linked: Sequence[int]) -> None:
        for id, size, repeated, group in zip(found.ids, found.sizes, found.repeated, linked, strict=True):
            if repeated:
                _note(self._store, self.total, id, size, repeated[0], group)


def _mask(numbers: Int64s) -> Bools:
    mask = np.zeros(int(numbers.max(initial=0)) + 1, np.bool_)
    mask[numbers] = True
    return mask


def _link(grouping: Grouping, number: int, size: int, repeated: Sequence[Repeated], near: Near) -> int:
    first = repeated[0]
    cause = About("added", first.number, first.shared, size, first.size)
    return grouping.link(number, [one.number for one in repeated], near.threshold, cause)


def _note(store: Store, total: _Outcome, id: str, size: int, first: Repeated, group: int) -> None:
    total.repeats += 1
    total.linked += group != 0
    if len(total.near) < _LISTED:
        [of] = store.ids(np.array([first.number], np.int64))
        action: Action = "linked" if group else "kept"
        total.near.append(NearCopy(id, of, first.shared, size, first.size, action, group or None))


def _parts(numbers: Int64s, size: int) -> Iterator[Int64s]:
    for begin in range(0, len(numbers), size):
        yield numbers[begin : begin + size]


__all__ = ["TOGETHER", "Pending", "StoredFinder", "group_pending"]
