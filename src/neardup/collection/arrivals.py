"""Store prepared documents: find the stored documents that they repeat, apply ``on_near``, and update groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np

from neardup.collection.added import Action, NearCopy, StoredCounts
from neardup.collection.base_texts import Role, require_no_groups, require_same_role, role_of
from neardup.collection.contract import Entries
from neardup.collection.groups.grouping import About, Grouping
from neardup.collection.near import Finder, Near, Repeated
from neardup.collection.sets import Sets
from neardup.collection.store import Store
from neardup.collection.store.writing import Writing
from neardup.collection.stored import entries_again
from neardup.errors import SettingError
from neardup.runtime import UNLIMITED, Deadline

OnNear: TypeAlias = Literal["keep", "link", "reject"]

_LISTED = 1000


class Arrivals:
    """The documents of one transaction, stored chunk by chunk in their order; lists the first 1,000 repeats.

    Searches for repeated documents, and counts for groups, raise LimitError when the deadline passes.
    """

    def __init__(
        self,
        store: Store,
        transaction: Writing,
        near: Near | None,
        on_near: OnNear,
        deadline: Deadline = UNLIMITED,
        role: Role = "document",
    ) -> None:
        role_of(role)
        if role == "base":
            if near is not None:
                raise SettingError("near was given for base texts", "Without near: base texts are near nothing")
            require_no_groups(store)
        if on_near not in get_args(OnNear):
            raise SettingError(f"on_near is {on_near!r}", f"One of {', '.join(get_args(OnNear))}")
        if near is None and on_near != "keep":
            raise SettingError(
                f"on_near is {on_near!r} without near", "A resemblance from which documents count as near"
            )
        self._store, self._transaction = store, transaction
        self._near, self._on_near, self._deadline, self._role = near, on_near, deadline, role
        self._sets = Sets(store, deadline)
        self._finder = Finder(store, near, self._sets, deadline) if near else None
        self._grouping = Grouping(store, self._sets)
        self._beyond = self._listed = 0

    def next_number(self) -> int:
        """The number that the next new document gets; the number of a rejected one is not reused in this call."""
        return max(self._transaction.next_number(), self._beyond)

    def store(self, entries: Entries, old: Mapping[str, int]) -> StoredCounts:
        """Store documents with distinct ids. ``old`` maps the ids of replaced documents to their numbers."""
        if old:
            require_same_role(self._store, old, self._role)
        numbers = self._numbers(entries.ids, old)
        repeated: dict[int, list[Repeated]] = {}
        if self._finder:
            with self._store.reading(self._deadline):
                repeated = self._repeated(entries, numbers, old)
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
            self._finder.stored()
        if replaced:
            self._grouping.replaced(sorted(replaced))
        groups = self._groups(numbers, repeated)
        near = self._near_copies(entries, repeated, groups)
        self._grouping.finish()
        return StoredCounts(
            added=len(kept) - len(replaced),
            replaced=len(replaced),
            text_bytes=int(kept.sizes.sum()),
            repeats=len(repeated),
            linked=sum(group != 0 for group in groups),
            left_out=len(entries) - len(stays),
            near=near,
            base_only=self._base_only(entries),
        )

    def _base_only(self, entries: Entries) -> int:
        """The documents of which nothing counts, because all their text is base text."""
        sizes = self._finder.sizes if self._finder else entries.shingles
        return int(np.count_nonzero((np.array(sizes) == 0) & (entries.shingles > 0)))

    def _numbers(self, ids: Sequence[str], old: Mapping[str, int]) -> list[int]:
        following = self.next_number()
        numbers = []
        for id in ids:
            numbers.append(old.get(id) or following)
            following += id not in old
        self._beyond = following
        return numbers

    def _repeated(self, entries: Entries, numbers: list[int], old: Mapping[str, int]) -> dict[int, list[Repeated]]:
        """The stored documents that each document repeats, by its place; only documents that repeat something."""
        assert self._finder
        self._finder.begin(entries)
        found = {}
        for place, id in enumerate(entries.ids):
            repeated = self._finder.repeated(place, old.get(id, 0))
            if repeated:
                found[place] = repeated
            if not repeated or self._on_near != "reject":
                self._finder.accept(place, numbers[place], old.get(id, 0))
        return found

    def _groups(self, numbers: list[int], repeated: Mapping[int, list[Repeated]]) -> list[int]:
        """Link the documents that repeat a stored one, and return the group of each, 0 for none."""
        if self._on_near != "link":
            return [0] * len(repeated)
        sizes = self._finder.sizes if self._finder else ()
        return [self._link(numbers[place], found, sizes[place]) for place, found in repeated.items()]

    def _near_copies(
        self, entries: Entries, repeated: Mapping[int, list[Repeated]], groups: list[int]
    ) -> list[NearCopy]:
        """Describe the repeats, while there is room in the list of the transaction."""
        places = list(repeated)[: _LISTED - self._listed]
        self._listed += len(places)
        firsts = [repeated[place][0] for place in places]
        shown = np.array(sorted({first.number for first in firsts}), np.int64)
        ids = {row.number: row.id for row in self._store.rows(shown)}
        copies = []
        for place, first, group in zip(places, firsts, groups, strict=False):
            action: Action = "rejected" if self._on_near == "reject" else "linked" if group else "kept"
            size = self._finder.sizes[place] if self._finder else 0
            known = (entries.ids[place], ids[first.number], first.shared, size, first.size)
            copies.append(NearCopy(*known, action, group or None))
        return copies

    def _link(self, number: int, found: list[Repeated], size: int) -> int:
        assert self._near
        first = found[0]
        cause = About("added", first.number, first.shared, size, first.size)
        return self._grouping.link(number, [one.number for one in found], self._near.threshold, cause)
