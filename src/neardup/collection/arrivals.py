"""Documents that arrive: find the stored documents that they repeat, apply ``on_near``, and update groups.

Stored documents that are in no group can be grouped later, as on arrival. Such a document is compared with those
before it, and with later ones that are in a group already. So documents that were added without ``near`` get the
groups that they would have got with ``near`` and on_near="link", if no document was put into a group in between.
Existing groups keep their ids, representatives and members.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from neardup.collection.contract import Entries
from neardup.collection.entries import entries_again, likeness, unpack
from neardup.collection.groups.formation import About, Grouping
from neardup.collection.near import AHEAD, READ, Finder, Near, Repeated
from neardup.collection.records import Action, Added, GroupedPending, Likeness, NearCopy
from neardup.collection.sets import Role, Sets, require_no_groups, require_same_role, role_of
from neardup.collection.store import Store
from neardup.collection.store.transaction import Writing
from neardup.errors import SettingError
from neardup.runtime import UNLIMITED, Deadline, Progress, Silent
from neardup.tables import Bools, Int64s

OnNear: TypeAlias = Literal["keep", "link", "reject"]


class Arrivals:
    """The documents of one transaction, stored chunk by chunk in their order, and counted in ``outcome``.

    Searches for repeated documents, and counts for groups, raise LimitError when the deadline passes.
    """

    def __init__(
        self,
        store: Store,
        transaction: Writing,
        near: Near | None,
        on_near: OnNear,
        outcome: Added,
        deadline: Deadline,
        role: Role,
    ) -> None:
        role_of(role)
        if role == "base":
            if near is not None:
                raise SettingError("near was given for boilerplate", "Without near: boilerplate is near nothing")
            require_no_groups(store)
        if on_near not in get_args(OnNear):
            raise SettingError(f"on_near is {on_near!r}", f"One of {', '.join(get_args(OnNear))}")
        if near is None and on_near != "keep":
            raise SettingError(
                f"on_near is {on_near!r} without near", "A resemblance from which documents count as near"
            )
        self._store, self._transaction = store, transaction
        self._near, self._on_near, self._deadline, self._role = near, on_near, deadline, role
        self._outcome = outcome
        self._sets = Sets(store, deadline)
        self._finder = Finder(store, near, self._sets, deadline) if near else None
        self._grouping = Grouping(store, self._sets)
        self._beyond = 0

    def next_number(self) -> int:
        """The number that the next new document gets; the number of a rejected one is not reused in this call."""
        return max(self._transaction.next_number(), self._beyond)

    def store(self, entries: Entries, old: Mapping[str, int]) -> None:
        """Store documents with distinct ids. ``old`` maps the ids of replaced documents to their numbers."""
        if old:
            require_same_role(self._store, old, self._role)
        numbers = self._numbers(entries.ids, old)
        self._alike: dict[int, Likeness] = {}
        repeated: dict[int, list[Repeated]] = {}
        if self._finder:
            with self._store.reading(self._deadline):
                repeated = self._repeated_documents(entries, numbers, old)
        if self._on_near == "reject":
            stays = [place for place in range(len(entries)) if place not in repeated]
        else:
            stays = list(range(len(entries)))
        kept = entries if len(stays) == len(entries) else entries.take(stays)
        replaced = [old[id] for id in kept.ids if id in old]
        if replaced:
            gone = np.array(replaced, np.int64)
            self._transaction.remove(entries_again(self._store, gone), gone)
        stored = self._transaction.put(kept, np.array([numbers[place] for place in stays], np.int64))
        if self._role == "base":
            self._transaction.mark_base(stored)
        if self._finder:
            self._finder.mark_stored()
        if replaced:
            self._grouping.update_replaced(sorted(replaced))
        self._note(entries, numbers, repeated)
        self._grouping.finish()
        self._outcome.added += len(kept) - len(replaced)
        self._outcome.replaced += len(replaced)
        self._outcome.text_bytes += int(kept.sizes.sum())
        self._outcome.left_out += len(entries) - len(stays)
        # all text of these is base text, of which nothing counts
        sizes = self._finder.sizes if self._finder else entries.shingles
        self._outcome.base_only += int(np.count_nonzero((np.array(sizes) == 0) & (entries.shingles > 0)))

    def _numbers(self, ids: Sequence[str], old: Mapping[str, int]) -> list[int]:
        following = self.next_number()
        numbers = []
        for id in ids:
            numbers.append(old.get(id) or following)
            following += id not in old
        self._beyond = following
        return numbers

    def _repeated_documents(
        self, entries: Entries, numbers: list[int], old: Mapping[str, int]
    ) -> dict[int, list[Repeated]]:
        """The stored documents that each document repeats, by its place; only documents that repeat something."""
        assert self._finder
        self._finder.begin(entries)
        repeated_by_place = {}
        accepted: dict[int, int] = {}
        for place, id in enumerate(entries.ids):
            if place % AHEAD == 0:
                self._finder.read_ahead(place)
            repeated = self._finder.repeated_documents(place, old.get(id, 0))
            if repeated:
                repeated_by_place[place] = repeated
                if len(self._outcome.near) + len(self._alike) < _LISTED:  # now: it may be replaced by a later one
                    self._alike[place] = self._likeness(entries, place, repeated[0], accepted)
            if not repeated or self._on_near != "reject":
                self._finder.accept(place, numbers[place], old.get(id, 0))
                accepted[numbers[place]] = place
        return repeated_by_place

    def _likeness(self, entries: Entries, place: int, first: Repeated, accepted: Mapping[int, int]) -> Likeness:
        """The likeness of a document and a stored one, or one of the same chunk, by number and place."""
        assert self._finder
        own = _Side(entries.packed[place], entries.metadata[place])
        there = accepted.get(first.number)
        other = None if there is None else _Side(entries.packed[there], entries.metadata[there])
        return _likeness(self._store, own, self._finder.sizes[place], first, other)

    def _note(self, entries: Entries, numbers: list[int], repeated: Mapping[int, list[Repeated]]) -> None:
        """Link the documents that repeat a stored one, if that is asked for, and count them."""
        for place, near in repeated.items():
            assert self._finder
            assert self._near
            group, size = 0, self._finder.sizes[place]
            if self._on_near == "link":
                group = _link(self._grouping, numbers[place], size, near, self._near)
            action: Action = "rejected" if self._on_near == "reject" else "linked" if group else "kept"
            copy = _Near(entries.ids[place], size, near[0], self._alike.get(place, Likeness()))
            _note(self._store, self._outcome, copy, action, group)


TOGETHER = 100
"""Documents compared and committed together: other writers wait for no more than these."""
_LISTED = 1000
"""Repeats that a result lists."""


class StoredFinder(Finder):
    """Finds the documents that a stored one repeats: earlier ones, and later ones that are in a group.

    ``begin`` receives stored documents of ascending ``numbers``; ``grouped`` says of each number whether the
    document is in a group, and numbers beyond it are in none.
    """

    _in_stages = False  # each document is in the posting lists itself

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

    def repeated_documents(self, place: int, old: int = 0) -> list[Repeated]:
        """Return the documents that the document at ``place`` repeats."""
        self._document = number = self._numbers[place]
        if self._heads:
            looked_up = self._samples[place][: self._drawn[place][0]].tolist()
            self._stored = {hash: self._first(*self._heads[hash], number) for hash in looked_up}
        return super().repeated_documents(place, number)

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
        alone = np.setdiff1d(every[every > after], store.groups.grouped_documents(), assume_unique=True)
        alone = np.setdiff1d(alone, np.array(sorted(store.base_texts()), np.int64), assume_unique=True)
    asked = alone if limit is None else alone[:limit]
    pending = Pending(store, near, deadline)
    with (progress or Silent()).stage("group", len(asked), "documents") as advance:
        for begin in range(0, len(asked), TOGETHER):
            numbers = asked[begin : begin + TOGETHER]
            pending.group(numbers)
            advance(len(numbers))
    more, outcome = int(asked[-1]) if len(asked) < len(alone) else None, pending.outcome
    counts = pending.compared, outcome.repeats, outcome.linked
    return GroupedPending(*counts, near.recall, tuple(outcome.near), more)


@dataclass(frozen=True, eq=False)
class _Found:
    """Compared documents: their numbers, ids and sizes, and what each repeats."""

    numbers: list[int]
    ids: Sequence[str]
    sizes: Sequence[int]
    repeated: list[list[Repeated]]
    alike: list[Likeness]


class Pending:
    """Compares and groups documents, some at a time; ``outcome`` counts the repeats."""

    def __init__(self, store: Store, near: Near, deadline: Deadline = UNLIMITED) -> None:
        self.compared, self.outcome = 0, Added()
        self._store, self._near, self._deadline = store, near, deadline
        self._change = self._logged = -1
        self._grouped: Bools = np.empty(0, np.bool_)

    def group(self, numbers: Int64s) -> None:
        """Compare documents of ascending numbers, and link those that repeat others, in one transaction."""
        self._deadline.check()
        with self._store.reading(self._deadline):
            found = self._compare(numbers)
        if any(found.repeated):
            with self._store.writing():
                if self._store.totals().change != self._change:
                    found = self._compare(numbers)
                linked = self._link(Grouping(self._store, self._sets), found)
                self._logged = self._store.groups.last_change()
            self._change += 1  # by this transaction, which changed no text
            for k, (repeated, group) in enumerate(zip(found.repeated, linked, strict=True)):
                if repeated:
                    action: Action = "linked" if group else "kept"
                    near = _Near(found.ids[k], found.sizes[k], repeated[0], found.alike[k])
                    _note(self._store, self.outcome, near, action, group)
        self.compared += len(found.numbers)

    def _compare(self, numbers: Int64s) -> _Found:
        """Compare the documents that are still there and in no group, in the present state."""
        change = self._store.totals().change
        if change != self._change:
            self._change = change
            self._sets = Sets(self._store, self._deadline)
            logged = self._store.groups.last_change()
            if logged != self._logged:
                self._logged = logged
                self._grouped = _mask(self._store.groups.grouped_documents())
        there = np.array([row.number for row in self._store.rows(numbers)], np.int64)
        there = np.setdiff1d(there, list(self._store.groups.memberships(there.tolist())), assume_unique=True)
        if not len(there):
            return _Found([], [], [], [], [])
        finder = StoredFinder(self._store, self._near, self._sets, self._deadline, self._grouped)
        entries = entries_again(self._store, there)
        finder.begin_stored(entries, there)
        repeated = [finder.repeated_documents(place) for place in range(len(there))]
        room = _LISTED - len(self.outcome.near)
        alike = [
            _likeness(self._store, _Side(entries.packed[k], entries.metadata[k]), finder.sizes[k], near[0])
            if near and k < room
            else Likeness()
            for k, near in enumerate(repeated)
        ]
        return _Found(there.tolist(), entries.ids, finder.sizes, repeated, alike)

    def _link(self, grouping: Grouping, found: _Found) -> list[int]:
        """Link the documents that repeat others; return the group of each document, 0 for none."""
        linked = [
            _link(grouping, number, size, repeated, self._near) if repeated else 0
            for number, size, repeated in zip(found.numbers, found.sizes, found.repeated, strict=True)
        ]
        grouping.finish()
        return linked


def _mask(numbers: Int64s) -> Bools:
    mask = np.zeros(int(numbers.max(initial=0)) + 1, np.bool_)
    mask[numbers] = True
    return mask


def _link(grouping: Grouping, number: int, size: int, repeated: Sequence[Repeated], near: Near) -> int:
    first = repeated[0]
    cause = About("added", first.number, first.shared, size, first.size)
    return grouping.link(number, [one.number for one in repeated], near.threshold, cause)


class _Side(NamedTuple):
    """A compressed text, and its metadata."""

    packed: bytes
    metadata: Mapping[str, Any]


def _likeness(store: Store, own: _Side, size: int, first: Repeated, other: _Side | None = None) -> Likeness:
    """Return the likeness of a document of ``size`` shingles and the one that it repeats: ``other``, or stored."""
    if other is None:
        number = np.array([first.number], np.int64)
        [packed], [row] = store.packed(number), store.rows(number)
        other = _Side(packed, row.metadata)
    texts = (unpack(own.packed, ""), unpack(other.packed, "")) if first.shared == size == first.size else None
    return likeness(own.metadata, other.metadata, texts, known=store.settings.has_parts)


class _Near(NamedTuple):
    """A document, its number of shingles, the first document that it repeats, and their likeness."""

    id: str
    size: int
    first: Repeated
    alike: Likeness


def _note(store: Store, outcome: Added, near: _Near, action: Action, group: int) -> None:
    """Count a document that repeats stored ones, and list it if it is among the first."""
    outcome.repeats += 1
    outcome.linked += group != 0
    if len(outcome.near) < _LISTED:
        first = near.first
        [of] = store.ids(np.array([first.number], np.int64))
        counts = first.shared, near.size, first.size
        outcome.near.append(NearCopy(near.id, of, *counts, action, group or None, **vars(near.alike)))
