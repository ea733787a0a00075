"""Store prepared documents: find the stored documents that they repeat, apply ``on_near``, and update groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np

from neardup.collection.contract import Entries, Store, Writing
from neardup.collection.groups.grouping import Grouping
from neardup.collection.groups.journal import About
from neardup.collection.groups.records import resemblance
from neardup.collection.near import Finder, Near, Repeated
from neardup.collection.sets import Sets
from neardup.collection.stored import entries_again
from neardup.errors import SettingError
from neardup.runtime import UNLIMITED, Deadline

OnNear: TypeAlias = Literal["keep", "link", "reject"]
Action: TypeAlias = Literal["kept", "linked", "rejected"]

_LISTED = 1000


@dataclass(frozen=True)
class NearCopy:
    """A new document and the most similar stored document ``of`` that it repeats; counted on the texts.

    ``shared``, ``size`` and ``of_size`` are |A∩B|, |A| and |B| in shingles. ``action`` is "kept" (stored, but in
    no group), "linked" (stored, in ``group``) or "rejected" (not stored).
    """

    id: str
    of: str
    shared: int
    size: int
    of_size: int
    action: Action
    group: int | None = None

    @property
    def resemblance(self) -> float:
        """|A∩B| / |A∪B|."""
        return resemblance(self.shared, self.size, self.of_size)

    def as_dict(self) -> dict[str, Any]:
        """Return the values as plain data."""
        return {**asdict(self), "resemblance": self.resemblance}


class Outcome(Protocol):
    """Counts of added, replaced and repeated documents."""

    added: int
    replaced: int
    text_bytes: int
    repeats: int
    linked: int
    left_out: int
    near: list[NearCopy]


class Arrivals:
    """The documents of one transaction, stored chunk by chunk in their order.

    Searches for repeated documents, and counts for groups, raise LimitError when the deadline passes.
    """

    def __init__(
        self,
        store: Store,
        transaction: Writing,
        near: Near | None,
        on_near: OnNear,
        outcome: Outcome,
        deadline: Deadline = UNLIMITED,
    ) -> None:
        if on_near not in get_args(OnNear):
            raise SettingError(f"on_near is {on_near!r}", f"One of {', '.join(get_args(OnNear))}")
        if near is None and on_near != "keep":
            raise SettingError(
                f"on_near is {on_near!r} without near", "A resemblance from which on documents are near"
            )
        self._store, self._transaction, self._outcome = store, transaction, outcome
        self._near, self._on_near, self._deadline = near, on_near, deadline
        self._sets = Sets(store, deadline)
        self._finder = Finder(store, near, self._sets, deadline) if near else None
        self._grouping = Grouping(store, transaction, self._sets)
        self._beyond = 0

    def next_number(self) -> int:
        """The number that the next new document gets; the number of a rejected one is not reused in this call."""
        return max(self._transaction.next_number(), self._beyond)

    def store(self, entries: Entries, old: Mapping[str, int]) -> None:
        """Store documents with distinct ids. ``old`` maps the ids of replaced documents to their numbers."""
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
        self._transaction.put(kept, np.array([numbers[place] for place in stays], np.int64))
        if self._finder:
            self._finder.stored()
        self._outcome.added += len(kept) - len(replaced)
        self._outcome.replaced += len(replaced)
        self._outcome.text_bytes += int(kept.sizes.sum())
        if replaced:
            self._grouping.replaced(sorted(replaced))
        self._tell(entries, numbers, repeated)
        self._grouping.finish()

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

    def _tell(self, entries: Entries, numbers: list[int], repeated: Mapping[int, list[Repeated]]) -> None:
        """Count, link and list the documents that repeat a stored one."""
        room = max(0, _LISTED - len(self._outcome.near))
        listed = set(list(repeated)[:room])
        shown = np.array(sorted({repeated[place][0].number for place in listed}), np.int64)
        ids = {row.number: row.id for row in self._store.rows(shown)}
        for place, found in repeated.items():
            first, size = found[0], int(entries.shingles[place])
            action: Action = "rejected" if self._on_near == "reject" else "kept"
            group = 0
            if self._on_near == "link":
                group = self._link(numbers[place], found, size)
                action = "linked" if group else "kept"
            self._outcome.repeats += 1
            self._outcome.linked += action == "linked"
            self._outcome.left_out += action == "rejected"
            if place in listed:
                known = (entries.ids[place], ids[first.number], first.shared, size, first.size)
                self._outcome.near.append(NearCopy(*known, action, group or None))

    def _link(self, number: int, found: list[Repeated], size: int) -> int:
        assert self._near
        first = found[0]
        cause = About("added", first.number, first.shared, size, first.size)
        return self._grouping.link(number, [one.number for one in found], self._near.threshold, cause)
