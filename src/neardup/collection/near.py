"""Find the stored documents that a new document repeats, before the new one is stored.

Two documents of resemblance t or more share at least ⌈t·n⌉ of the n shingles of either. The m sampled shingles of
a new document below the limit of the sample are a random draw of m from its n, and every document that contains
one of them has a posting for it. A candidate has at least h hits among them; h is chosen so that a document with
enough resemblance is a candidate with the promised probability. Any m − h + 1 of the m find it, so the rarest are
read.

If a document is too short for that, the k smallest shingles of its sample are looked up, where k is the floor of
the sample. Each of the k smallest shingles of both documents together is shared with probability t or more, and a
shared one is in both samples, so the probability of a miss is at most (1 − t)ᵏ. If even that is not enough, and
for recall 1, look-ups are complete (``collection/query/plan.py``).

With base texts, n counts the other shingles, and only those are looked up. The k smallest of these need not be in
the samples, which are made with base text, so short documents are looked up completely.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import pairwise

import numpy as np

from neardup.collection.contract import Entries
from neardup.collection.entries import unpack
from neardup.collection.query.plan import most_hits, plan
from neardup.collection.query.syntax import Fingerprint, Pasted, Query
from neardup.collection.search import Evaluation
from neardup.collection.sets import Sets, shared_with
from neardup.collection.store import Store
from neardup.collection.view import View
from neardup.runtime import UNLIMITED, Deadline
from neardup.settings import ratio
from neardup.settings.rules import required_share
from neardup.tables import Int64s, UInt64s

RECALL = 0.99
READ = 128
"""Documents read from each posting list and compared, before checking whether one was near."""
_DRAWN = 32
_AT_ONCE = 1000
"""Shingles looked up between two checks of the time limit."""


@dataclass(frozen=True, init=False)
class Near:
    """The rule for repeats: a new document repeats the stored ones of resemblance ``threshold`` or more.

    ``recall`` is the least probability of finding a document of exactly this resemblance; 1 finds all. Both are
    shares: 0.8 or "80%".

    >>> Near(0.8), Near("80%").threshold
    (Near(threshold=0.8, recall=0.99), 0.8)
    """

    threshold: float
    recall: float

    def __init__(self, threshold: float | str, recall: float | str = RECALL) -> None:
        for name, given in (("threshold", threshold), ("recall", recall)):
            object.__setattr__(self, name, required_share(f"{name} of near", given))

    @classmethod
    def of(cls, value: float | str | Near) -> Near:
        """Convert a threshold to a ``Near`` with the default recall."""
        return value if isinstance(value, Near) else cls(value)


@dataclass(frozen=True)
class Repeated:
    """A stored document (its number) that a new one repeats: |A∩B| and |B|."""

    number: int
    shared: int
    size: int


class Finder:
    """Finds repeated documents for the documents of a transaction in their order, chunk by chunk.

    ``begin`` receives the next documents, whose ``sizes`` do not include base text. For each, in order,
    ``repeated`` returns the documents that it repeats, and ``accept`` records that it will be stored. After they
    are stored, call ``stored``. Raises LimitError when the deadline passes.
    """

    def __init__(self, store: Store, near: Near, sets: Sets, deadline: Deadline = UNLIMITED) -> None:
        self._store, self._deadline = store, deadline
        self._near, self._sets = near, sets
        self._p, self._q = ratio(near.threshold)
        settings = store.settings
        self._limit, self._floor = settings.limit, settings.floor
        self._base = sets.base
        self._smallest = (1 - near.threshold) ** settings.floor <= 1 - near.recall and not len(self._base)
        self._needs_all = near.recall == 1 or not self._smallest
        self._overlap = Decimal(repr(float(near.threshold))) * 100
        self._hits = cache(self._hits_needed)

    def begin(self, entries: Entries) -> None:
        """Start the next chunk of documents."""
        self._entries, self.sizes = entries, entries.shingles.tolist()
        self._samples = [entries.hashes[begin:end] for begin, end in pairwise(entries.offsets.tolist())]
        if len(self._base):
            self.sizes = [len(self._sets.made(packed)) for packed in entries.packed]
            self._samples = [self._base.without(hashes) for hashes in self._samples]
        self._gone: set[int] = set()
        self._new: defaultdict[int, list[int]] = defaultdict(list)
        self._new_sizes: dict[int, int] = {}
        self._all: defaultdict[int, list[int]] = defaultdict(list)
        self._drawn = [self._lookups(place) for place in range(len(self.sizes))]
        looked_up = [hashes[:drawn] for hashes, (drawn, _) in zip(self._samples, self._drawn, strict=True)]
        hashes = np.unique(np.concatenate([np.empty(0, np.uint64), *looked_up]))
        lists: list[Int64s] = []
        for first in range(0, len(hashes), _AT_ONCE):
            self._deadline.check()
            lists += map(self._cut, self._store.postings(hashes[first : first + _AT_ONCE]))
        self._stored = dict(zip(hashes.tolist(), lists, strict=True))

    def repeated(self, place: int, old: int) -> list[Repeated]:
        """Return the stored documents that a document repeats, the most similar first, then the earliest.

        ``old`` is the number of the document that it would replace, 0 for none. With more than 128 candidates,
        those that share most of the sample are compared first, and the others only while none is near.
        """
        if self.sizes[place] == 0:
            return []
        drawn, hits = self._drawn[place]
        if not hits:
            return self._completely(place, old)
        return self._by_sample(place, self._samples[place][:drawn], hits, old)

    def accept(self, place: int, number: int, old: int) -> None:
        """Record that the document will be stored as ``number``, replacing the one of number ``old`` (0: none)."""
        if old:
            self._gone.add(old)
            self._sets.forget([old])
        packed = self._entries.packed[place]
        self._sets.waiting[number] = packed
        self._new_sizes[number] = self.sizes[place]
        for hash in self._samples[place].tolist():
            if hash in self._stored:  # no document of this chunk looks up the others
                self._new[hash].append(number)
        if self._needs_all:
            for hash in self._sets.of([number])[0].tolist():
                self._all[hash].append(number)

    def stored(self) -> None:
        """Record that the accepted documents are now in the store."""
        self._sets.waiting.clear()

    def _lookups(self, place: int) -> tuple[int, int]:
        """(look-ups, hits of a candidate among them) of a document; 0 look-ups of one without shingles."""
        below = int(np.searchsorted(self._samples[place], np.uint64(self._limit - 1), side="right"))
        return self._hits(self.sizes[place], below) if self.sizes[place] else (0, 0)

    def _hits_needed(self, n: int, below: int) -> tuple[int, int]:
        """(look-ups, hits of a candidate among them); 0 hits: the sample does not suffice."""
        if self._near.recall == 1:
            return 0, 0
        drawn = min(below, _DRAWN)
        hits = most_hits(n, -(-self._p * n // self._q), drawn, self._near.recall)
        if hits:
            return drawn, hits
        return (self._floor, 1) if self._smallest else (0, 0)

    def _by_sample(self, place: int, hashes: UInt64s, hits: int, old: int) -> list[Repeated]:
        asked = hashes.tolist()
        stored, new = [self._stored[hash] for hash in asked], [self._new.get(hash, ()) for hash in asked]
        lengths = [len(one) + len(other) for one, other in zip(stored, new, strict=True)]
        if not any(lengths):
            return []
        rarest = sorted(range(len(asked)), key=lengths.__getitem__)[: len(asked) - hits + 1]
        cut = [len(one) >= READ or len(other) > READ for one, other in zip(stored, new, strict=True)]
        lists = [
            np.concatenate((self._still(one), np.array(other[:READ], np.int64)))
            for one, other in zip(stored, new, strict=True)
        ]
        found, counts = np.unique(np.concatenate(lists), return_counts=True)
        read = np.isin(found, np.concatenate([lists[k] for k in rarest]))
        enough = read & (counts + sum(cut) >= hits)
        order = np.lexsort((found[enough], -counts[enough]))
        candidates = found[enough][order]
        near = self._compared(place, candidates, old)
        if near or not any(cut[k] for k in rarest):
            return near
        # one at a time, with a check of the time limit: each may be in most of the documents
        scanned: list[Int64s] = []
        for k in rarest:
            self._deadline.check()
            scanned += self._store.postings(np.array([asked[k]], np.uint64))
        added = [np.array(self._new.get(asked[k], ()), np.int64) for k in rarest]
        everybody = np.unique(np.concatenate([*map(self._still, scanned), *added]))
        return self._compared(place, np.setdiff1d(everybody, candidates), old)

    def _completely(self, place: int, old: int) -> list[Repeated]:
        text = unpack(self._entries.packed[place], self._entries.ids[place]).decode("utf-8", "replace")
        clause = Fingerprint(Pasted(text), self._overlap, None, symmetric=True)
        view = View(self._store, self._deadline)
        stored = Evaluation(plan(Query(clause), view), view).documents() if view.total() else np.empty(0, np.int64)
        hashes = self._sets.made(self._entries.packed[place])
        least = -(-self._p * len(hashes) // self._q)
        looked = hashes[: len(hashes) - least + 1].tolist()
        new = {number for hash in looked for number in self._all.get(hash, ())}
        candidates = np.union1d(self._still(stored), np.array(sorted(new), np.int64))
        return self._compared(place, candidates, old, everybody=True)

    def _cut(self, found: Int64s) -> Int64s:
        """The documents of a posting list that are read at first."""
        return found[:READ]

    def _still(self, documents: Int64s) -> Int64s:
        """The documents without those whose text has been replaced in the meantime."""
        return documents[[number not in self._gone for number in documents.tolist()]] if self._gone else documents

    def _compared(self, place: int, candidates: Int64s, old: int, *, everybody: bool = False) -> list[Repeated]:
        """The candidates that are near, counted on the texts; compares a part at a time, until some are near."""
        fitting = self._of_possible_size(place, candidates[candidates != old])
        if not fitting:
            return []
        n = self.sizes[place]
        hashes = self._sets.made(self._entries.packed[place])
        near: list[Repeated] = []
        for begin in range(0, len(fitting), READ):
            part = fitting[begin : begin + READ]
            sets = self._sets.of(part)
            for number, other, shared in zip(part, sets, shared_with(hashes, sets).tolist(), strict=True):
                if shared * self._q >= self._p * (n + len(other) - shared):
                    near.append(Repeated(number, shared, len(other)))
            if near and not everybody:
                break
        # equal ratios of whole numbers below 2²⁶ are equal as floats, different ones are not
        return sorted(near, key=lambda one: (-one.shared / (n + one.size - one.shared), one.number))

    def _of_possible_size(self, place: int, candidates: Int64s) -> list[int]:
        """The candidates of a possible size: t·|A| ≤ |B| and t·|B| ≤ |A|; with base text, of enough shingles."""
        n, lenient = self.sizes[place], len(self._base) > 0  # less than the stored size may count
        new = self._new_sizes
        stored = np.array([number for number in candidates.tolist() if number not in new], np.int64)
        self._deadline.check()
        sizes = dict(zip(stored.tolist(), self._store.sizes(stored).tolist(), strict=True))
        return [
            number
            for number in candidates.tolist()
            for size in (sizes[number] if number in sizes else new[number],)
            if self._q * min(n, size) >= self._p * (n if lenient else max(n, size))
        ]
