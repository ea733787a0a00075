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

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from neardup.collection.contract import Entries
from neardup.collection.entries import unpack
from neardup.collection.query.plan import most_hits, plan
from neardup.collection.query.syntax import Fingerprint, Pasted, Query
from neardup.collection.search import Evaluation
from neardup.collection.sets import Sets, shared_of_pairs, shared_with
from neardup.collection.store import Store
from neardup.collection.view import View
from neardup.display.view import PlainData
from neardup.kernels.postings import tally
from neardup.runtime import UNLIMITED, Deadline
from neardup.settings import ratio, required_share
from neardup.tables import Int64s, UInt64s

RECALL = 0.99
READ = 128
"""Documents read from each posting list and compared, before checking whether one was near."""
_DRAWN = 32
_AT_ONCE = 4000
"""Shingles looked up between two checks of the time limit."""
AHEAD = 100
"""Documents for whose candidates sizes and texts are read together."""
_MOST_AHEAD, _SHINGLES_AHEAD = 1000, 1 << 23
"""The most candidates that are counted ahead, and the most of their shingles, 64 MB."""


@dataclass(frozen=True, init=False)
class Near(PlainData):
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
    def of(cls, value: "float | str | Near") -> "Near":
        """Convert a threshold to a ``Near`` with the default recall."""
        return value if isinstance(value, Near) else cls(value)


@dataclass(frozen=True)
class Repeated:
    """A stored document (its number) that a new one repeats: |A∩B| and |B|."""

    number: int
    shared: int
    size: int


class _Foreseen(NamedTuple):
    """The hits of stored candidates, the rarest of the looked-up shingles, and whether their lists were cut."""

    hits: dict[int, int]
    rarest: list[int]
    cut: bool


class Finder:
    """Finds repeated documents for the documents of a transaction in their order, chunk by chunk.

    ``begin`` receives the next documents, whose ``sizes`` do not include base text. For each, in order,
    ``repeated`` returns the documents that it repeats, and ``accept`` records that it will be stored. After they
    are stored, call ``stored``. Raises LimitError when the deadline passes.
    """

    _in_stages = True
    """Whether the look-ups of a document end when the first ones find nothing."""

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
        self._own: dict[int, UInt64s] = {}
        self._known_sizes: dict[int, int] = {}
        self._foreseen: dict[int, _Foreseen] = {}
        self._counted: dict[tuple[int, int], tuple[int, int]] = {}
        self._samples = [entries.hashes[begin:end] for begin, end in pairwise(entries.offsets.tolist())]
        if len(self._base):
            self.sizes = [len(self._set_of(place)) for place in range(len(entries))]
            self._samples = [self._base.without(hashes) for hashes in self._samples]
        self._gone: set[int] = set()
        self._new: defaultdict[int, list[int]] = defaultdict(list)
        self._new_sizes: dict[int, int] = {}
        self._all: defaultdict[int, list[int]] = defaultdict(list)
        self._drawn = [self._lookups(place) for place in range(len(self.sizes))]
        looked_up = [hashes[:drawn] for hashes, (drawn, _) in zip(self._samples, self._drawn, strict=True)]
        self._common = self._in_several(np.unique(np.concatenate([np.empty(0, np.uint64), *looked_up])))
        self._stored: dict[int, Int64s] = {}
        self._alone: set[int] = set()
        if not self._in_stages:
            self._look_up(looked_up)
            return
        # with enough hits, one is among any drawn − hits + 1 look-ups; most documents need no others
        needed = [drawn - hits + 1 if hits else 0 for drawn, hits in self._drawn]
        self._look_up([hashes[:count] for hashes, count in zip(looked_up, needed, strict=True)])
        for place, (hashes, count) in enumerate(zip(looked_up, needed, strict=True)):
            listed = hashes.tolist()
            met = any(len(self._stored[hash]) for hash in listed[:count])
            if count and not met and set(listed).isdisjoint(self._common[place]):
                self._alone.add(place)
        self._look_up([hashes for place, hashes in enumerate(looked_up) if place not in self._alone])

    def _look_up(self, parts: Sequence[UInt64s]) -> None:
        """Read the posting lists of hashes as far as they are not known."""
        wanted = np.unique(np.concatenate([np.empty(0, np.uint64), *parts])).tolist()
        hashes = np.array([hash for hash in wanted if hash not in self._stored], np.uint64)
        for begin in range(0, len(hashes), _AT_ONCE):
            self._deadline.check()
            part = hashes[begin : begin + _AT_ONCE]
            self._stored.update(zip(part.tolist(), map(self._cut, self._store.postings(part)), strict=True))

    def read_ahead(self, first: int) -> None:
        """Count the likely candidates of ``AHEAD`` documents from the place ``first`` on, all at once.

        It changes no result: other candidates are counted when they are compared.
        """
        places = [k for k in range(first, min(first + AHEAD, len(self.sizes))) if k not in self._alone]
        self._foreseen = self._foresee(places)
        numbers = list({number: None for one in self._foreseen.values() for number in one.hits})[:_MOST_AHEAD]
        self._deadline.check()
        known = self._store.sizes(np.array(numbers, np.int64)) if numbers else np.empty(0, np.int64)
        few = int(np.searchsorted(np.cumsum(known), _SHINGLES_AHEAD, side="right"))
        self._known_sizes = dict(zip(numbers[:few], known[:few].tolist(), strict=True))
        pairs = [
            (place, number)
            for place, one in self._foreseen.items()
            for number in one.hits
            if number in self._known_sizes and self._may_be_near(self.sizes[place], self._known_sizes[number])
        ]
        self._make_own(places, pairs)
        candidates = list({number: None for _, number in pairs})
        sets = dict(zip(candidates, self._sets.of(candidates), strict=True))
        rows = {key: k for k, key in enumerate((*(-place - 1 for place in self._own), *candidates))}
        counts = shared_of_pairs(
            [*self._own.values(), *sets.values()],
            np.array([rows[-place - 1] for place, _ in pairs], np.int64),
            np.array([rows[number] for _, number in pairs], np.int64),
        )
        sizes = (len(sets[number]) for _, number in pairs)
        self._counted = dict(zip(pairs, zip(counts.tolist(), sizes, strict=True), strict=True))

    def _make_own(self, places: Sequence[int], pairs: Sequence[tuple[int, int]]) -> None:
        """Make the sets of the documents that have candidates, or enough hits in others of the chunk."""
        hits = {place: self._drawn[place][1] for place in places}
        meeting = [place for place in places if hits[place] and len(self._common[place]) >= hits[place]]
        new = [k for k in dict.fromkeys((*(place for place, _ in pairs), *meeting)) if k not in self._own]
        self._own.update(zip(new, self._sets.build([self._entries.packed[place] for place in new]), strict=True))

    def _foresee(self, places: Sequence[int]) -> dict[int, "_Foreseen"]:
        """Find the stored candidates of documents by their sampled shingles."""
        seen, foreseen = np.empty(0, np.int64), {}
        for place in places:
            drawn, hits = self._drawn[place]
            sampled = self._samples[place][:drawn].tolist()
            if not hits:
                continue
            lists = [self._stored[hash] for hash in sampled]
            lengths = [len(one) for one in lists]
            rarest = sorted(range(len(sampled)), key=lengths.__getitem__)[: len(sampled) - hits + 1]
            n_cut = sum(length >= READ for length in lengths)
            documents = np.concatenate(lists)
            if len(seen) <= (last := int(documents.max(initial=0))):
                seen = np.zeros(2 * last + 1, np.int64)  # untouched, it needs no memory
            found = np.empty(len(documents), np.int64)
            candidates = found[: tally(documents, max(1, hits - n_cut), seen, found)]
            if n_cut:  # else a candidate is in one of the rarest lists, whichever these are
                candidates = candidates[np.isin(candidates, np.concatenate([lists[k] for k in rarest]))]
            counts = dict(zip(candidates.tolist(), seen[candidates].tolist(), strict=True))
            seen[documents] = 0
            cut = any(lengths[k] >= READ for k in rarest)
            foreseen[place] = _Foreseen(counts, [sampled[k] for k in rarest], cut)
        return foreseen

    def repeated_documents(self, place: int, old: int) -> list[Repeated]:
        """Return the stored documents that a document repeats, the most similar first, then the earliest.

        ``old`` is the number of the document that it would replace, 0 for none. With more than 128 candidates,
        those that share most of the sample are compared first, and the others only while none is near.
        """
        if self.sizes[place] == 0 or place in self._alone:
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
        self._sets.waiting[number] = self._entries.packed[place]
        if place in self._own:
            self._sets.hold(number, self._own[place])
        self._new_sizes[number] = self.sizes[place]
        for hash in self._common[place]:
            self._new[hash].append(number)
        if self._needs_all:
            for hash in self._sets.of([number])[0].tolist():
                self._all[hash].append(number)

    def mark_stored(self) -> None:
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
        foreseen = self._foreseen.get(place) or self._foresee([place])[place]
        last = int(hashes[-1])
        new = [self._new[hash] for hash in self._common[place] if hash <= last and hash in self._new]
        counts = {k: foreseen.hits[k] for k in self._still(np.array(sorted(foreseen.hits), np.int64)).tolist()}
        least = hits - sum(len(one) > READ for one in new)
        added = Counter(chain.from_iterable(one[:READ] for one in new))
        counts |= {k: n for k, n in added.items() if n >= least}
        candidates = sorted(counts, key=lambda number: (-counts[number], number))
        near = self._near_candidates(place, candidates, old)
        cut = foreseen.cut or any(len(self._new.get(hash, ())) > READ for hash in foreseen.rarest)
        return near if near or not cut else self._by_scan(place, foreseen.rarest, candidates, old)

    def _by_scan(self, place: int, rarest: Sequence[int], compared: Sequence[int], old: int) -> list[Repeated]:
        """The documents of whole posting lists that are near, without those that were compared."""
        # one at a time, with a check of the time limit: each may be in most of the documents
        scanned: list[Int64s] = []
        for hash in rarest:
            self._deadline.check()
            scanned += self._store.postings(np.array([hash], np.uint64))
        added = [np.array(self._new.get(hash, ()), np.int64) for hash in rarest]
        everybody = np.unique(np.concatenate([*map(self._still, scanned), *added]))
        return self._near_candidates(place, np.setdiff1d(everybody, np.array(compared, np.int64)).tolist(), old)

    def _completely(self, place: int, old: int) -> list[Repeated]:
        text = unpack(self._entries.packed[place], self._entries.ids[place]).decode("utf-8", "replace")
        clause = Fingerprint(Pasted(text), self._overlap, None, symmetric=True)
        view = View(self._store, self._deadline)
        stored = Evaluation(plan(Query(clause), view), view).documents() if view.total() else np.empty(0, np.int64)
        hashes = self._set_of(place)
        least = -(-self._p * len(hashes) // self._q)
        looked = hashes[: len(hashes) - least + 1].tolist()
        new = {number for hash in looked for number in self._all.get(hash, ())}
        candidates = np.union1d(self._still(stored), np.array(sorted(new), np.int64))
        return self._near_candidates(place, candidates.tolist(), old, everybody=True)

    def _cut(self, found: Int64s) -> Int64s:
        """The documents of a posting list that are read at first."""
        return found[:READ]

    def _still(self, documents: Int64s) -> Int64s:
        """The documents without those whose text has been replaced in the meantime."""
        return documents[[number not in self._gone for number in documents.tolist()]] if self._gone else documents

    def _set_of(self, place: int) -> UInt64s:
        """The shingles of the document at ``place``."""
        if place not in self._own:
            [self._own[place]] = self._sets.build([self._entries.packed[place]])
        return self._own[place]

    def _near_candidates(
        self, place: int, candidates: Sequence[int], old: int, *, everybody: bool = False
    ) -> list[Repeated]:
        """The candidates that are near, counted on the texts; compares a part at a time, until some are near."""
        fitting = self._of_possible_size(place, [number for number in candidates if number != old])
        if not fitting:
            return []
        n, hashes = self.sizes[place], self._set_of(place)
        near: list[Repeated] = []
        for begin in range(0, len(fitting), READ):
            part = fitting[begin : begin + READ]
            counts = {
                k: self._counted[place, k]
                for k in part
                if (place, k) in self._counted and k not in self._new_sizes
            }
            unknown = [number for number in part if number not in counts]
            if unknown:
                sets = self._sets.of(unknown)
                counts |= zip(
                    unknown, zip(shared_with(hashes, sets).tolist(), map(len, sets), strict=True), strict=True
                )
            for number in part:
                shared, size = counts[number]
                if shared * self._q >= self._p * (n + size - shared):
                    near.append(Repeated(number, shared, size))
            if near and not everybody:
                break
        # equal ratios of whole numbers below 2²⁶ are equal as floats, different ones are not
        return sorted(near, key=lambda one: (-one.shared / (n + one.size - one.shared), one.number))

    def _of_possible_size(self, place: int, candidates: Sequence[int]) -> list[int]:
        """The candidates of a possible size."""
        n, new, known = self.sizes[place], self._new_sizes, self._known_sizes
        unknown = [number for number in candidates if number not in new and number not in known]
        sizes: dict[int, int] = {}
        self._deadline.check()
        if unknown:
            sizes.update(zip(unknown, self._store.sizes(np.array(unknown, np.int64)).tolist(), strict=True))
        sizes |= {number: known[number] for number in candidates if number in known}
        sizes |= {number: new[number] for number in candidates if number in new}
        return [number for number in candidates if self._may_be_near(n, sizes[number])]

    def _may_be_near(self, n: int, size: int) -> bool:
        """Whether the sizes allow it: t·|A| ≤ |B| and t·|B| ≤ |A|; |B| may contain base text."""
        lenient = len(self._base) > 0
        return self._q * min(n, size) >= self._p * (n if lenient else max(n, size))

    def _in_several(self, hashes: UInt64s) -> list[list[int]]:
        """The looked-up hashes of each document that others of the chunk contain, too."""
        sampled = np.concatenate([np.empty(0, np.uint64), *self._samples])
        offsets = np.cumsum([0, *map(len, self._samples)])
        if not len(hashes):
            return [[] for _ in self._samples]
        places = np.minimum(np.searchsorted(hashes, sampled), len(hashes) - 1)
        known = hashes[places] == sampled
        several = known & (np.bincount(places[known], minlength=len(hashes))[places] > 1)
        bounds = np.searchsorted(np.flatnonzero(several), offsets).tolist()
        kept = sampled[several].tolist()
        return [kept[begin:end] for begin, end in pairwise(bounds)]
