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
from neardup.collection.contract import Entries, Store
from neardup.collection.groups.grouping import Grouping
from neardup.collection.groups.journal import About
from neardup.collection.near import READ, Finder, Near, Repeated
from neardup.collection.sets import Sets
from neardup.collection.stored import entries_again
from neardup.runtime import UNLIMITED, Deadline, Progress, Silent
from neardup.tables import Int64s

BATCH = 2000
"""Documents compared in one transaction."""
_TOGETHER = 200
"""Documents fingerprinted together."""
_LISTED = 1000


class StoredFinder(Finder):
    """Finds the documents that a stored one repeats: earlier ones, and later ones that are in a group."""

    def __init__(self, store: Store, near: Near, sets: Sets, deadline: Deadline, grouped: Int64s) -> None:
        super().__init__(store, near, sets, deadline)
        self._grouped, self._document = grouped, 0
        self._complete: dict[int, Int64s] = {}

    def begin(self, entries: Entries) -> None:
        """Start the next documents, which are stored."""
        super().begin(entries)
        self._complete = self._stored

    def repeated(self, place: int, old: int) -> list[Repeated]:
        """Return the documents that the document of number ``old`` repeats."""
        self._document = old
        asked = self._samples[place].tolist() if self._complete else ()
        self._stored = {hash: self._before(self._complete[hash])[:READ] for hash in asked}
        return super().repeated(place, old)

    def _cut(self, found: Int64s) -> Int64s:
        return found

    def _still(self, documents: Int64s) -> Int64s:
        return self._before(documents)

    def _before(self, found: Int64s) -> Int64s:
        """Those of the documents, ascending, that the present one is compared with."""
        split = int(np.searchsorted(found, self._document))
        later = found[split:]
        later = later[(later != self._document) & np.isin(later, self._grouped)] if len(later) else later
        return np.concatenate((found[:split], later)) if len(later) else found[:split]


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

    Each ``BATCH`` is a transaction. Raises LimitError when the deadline passes; the batch is undone then.
    """
    with store.reading(deadline):
        every = store.everything()
        alone = np.setdiff1d(every[every > after], store.groups.grouped(), assume_unique=True)
        alone = np.setdiff1d(alone, np.array(sorted(store.base_texts()), np.int64), assume_unique=True)
    asked = alone if limit is None else alone[:limit]
    total = _Outcome(0, 0, 0, [])
    with (progress or Silent()).stage("group", len(asked), "documents") as advance:
        for batch in _parts(asked, BATCH):
            _group(store, near, batch, deadline, total)
            advance(len(batch))
    more = int(asked[-1]) if len(asked) < len(alone) else None
    return GroupedPending(total.compared, total.repeats, total.linked, near.recall, tuple(total.near), more)


def _group(store: Store, near: Near, batch: Int64s, deadline: Deadline, total: _Outcome) -> None:
    """Compare the documents of a transaction, and link those that repeat others."""
    with store.writing() as transaction:
        grouped = store.groups.grouped()
        there = np.array([row.number for row in store.rows(batch)], np.int64)  # some may be gone since
        there = np.setdiff1d(there, grouped, assume_unique=True)
        sets = Sets(store, deadline)
        finder = StoredFinder(store, near, sets, deadline, grouped)
        grouping = Grouping(store, transaction, sets)
        for numbers in _parts(there, _TOGETHER):
            deadline.check()
            entries = entries_again(store, numbers)
            with store.reading(deadline):
                finder.begin(entries)
                found = [finder.repeated(place, number) for place, number in enumerate(numbers.tolist())]
            for place, repeated in enumerate(found):
                if repeated:
                    group = _link(grouping, int(numbers[place]), finder.sizes[place], repeated, near)
                    _note(store, total, entries.ids[place], finder.sizes[place], repeated[0], group)
            total.compared += len(numbers)
        grouping.finish()


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


__all__ = ["BATCH", "StoredFinder", "group_pending"]
