"""The shingle sets of documents of a store, computed from their texts, with a cache."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from neardup.collection.base_texts import CollectionBase, base_of
from neardup.collection.packing import unpack
from neardup.collection.store import Store
from neardup.collection.stored import loaded
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.runtime import UNLIMITED, Deadline
from neardup.settings import ratio
from neardup.sketch.documents import shingle_sets
from neardup.tables import Int64s, UInt64s

_BATCH = 256
_HELD = 1 << 23
"""The most shingles in the cache, 64 MB."""
_ANY = Criterion(0, 1, RESEMBLANCE)


class Sets:
    """Shingle sets by document number, without base text, in the state that the calling thread sees.

    ``waiting`` holds the compressed texts of documents that are not in the store yet. Reading or counting after
    the deadline raises LimitError.
    """

    def __init__(self, store: Store, deadline: Deadline = UNLIMITED) -> None:
        self._store, self._deadline = store, deadline
        self._held: OrderedDict[int, UInt64s] = OrderedDict()
        self._shingles = 0
        self.waiting: dict[int, bytes] = {}

    def of(self, documents: Sequence[int]) -> list[UInt64s]:
        """The sets (uint64, sorted) in this order. Raises FormatError for damaged texts."""
        missing = [number for number in dict.fromkeys(documents) if number not in self._held]
        fetched: dict[int, UInt64s] = {}
        for begin in range(0, len(missing), _BATCH):
            fetched.update(self._read(missing[begin : begin + _BATCH]))
        found = [fetched[number] if number in fetched else self._held[number] for number in documents]
        for number, hashes in fetched.items():
            self._held[number] = hashes
            self._shingles += len(hashes)
        while self._shingles > _HELD:
            _, hashes = self._held.popitem(last=False)
            self._shingles -= len(hashes)
        return found

    def forget(self, documents: Sequence[int]) -> None:
        """Drop these from the cache: their texts have changed."""
        for number in documents:
            self._shingles -= len(self._held.pop(number, ()))

    def made(self, packed: bytes) -> UInt64s:
        """The set of a compressed text."""
        return self._made([unpack(packed, "")])[0]

    def shared(self, document: int, others: Sequence[int]) -> Int64s:
        """int64[n]: |A∩B| of a document with others."""
        [hashes] = self.of([document])
        parts = [others[begin : begin + _BATCH] for begin in range(0, len(others), _BATCH)]
        counts = [shared_with(hashes, self.of(part)) for part in parts]
        return np.concatenate([np.empty(0, np.int64), *counts])

    def sizes(self, documents: Sequence[int]) -> dict[int, int]:
        """The number of distinct shingles of each document; read from the texts only if there is base text."""
        if not len(self.base):
            found = self._store.sizes(np.array(documents, np.int64)).tolist()
            return dict(zip(documents, found, strict=True))
        parts = [documents[begin : begin + _BATCH] for begin in range(0, len(documents), _BATCH)]
        return {one: len(hashes) for part in parts for one, hashes in zip(part, self.of(part), strict=True)}

    @cached_property
    def base(self) -> CollectionBase:
        """The base text, as it was at the first use."""
        return base_of(self._store, self._deadline)

    def _read(self, documents: Sequence[int]) -> Mapping[int, UInt64s]:
        texts = {number: unpack(self.waiting[number], "") for number in documents if number in self.waiting}
        stored = [number for number in documents if number not in texts]
        if stored:
            self._deadline.check()
            read = loaded(self._store, np.array(stored, np.int64))
            texts.update(zip(stored, (text for _, text in read), strict=True))
        return dict(zip(texts, self._made(list(texts.values())), strict=True))

    def _made(self, texts: Sequence[bytes]) -> list[UInt64s]:
        self._deadline.check()
        array = pa.array(texts, pa.large_binary())
        settings = self._store.settings
        sets = shingle_sets(array, np.arange(len(texts)), settings.fingerprint, settings.key)
        # copies: a view of one set would keep the sets of the whole batch in memory
        bounds = pairwise(sets.offsets.tolist())
        if len(self.base):
            return [self.base.without(sets.hashes[begin:end]) for begin, end in bounds]
        return [sets.hashes[begin:end].copy() for begin, end in bounds]


def shared_with(hashes: UInt64s, others: Sequence[UInt64s]) -> Int64s:
    """int64[n]: the number of elements that a sorted set has in common with each of the others."""
    offsets = np.zeros(len(others) + 2, np.int64)
    np.cumsum([len(hashes), *map(len, others)], out=offsets[1:])
    shared = np.empty(len(others), np.int64)
    own = np.zeros(len(others), np.int64)
    verify_pairs(np.concatenate([hashes, *others]), offsets, own, np.arange(1, len(others) + 1), _ANY, shared)
    return shared


def reaches(shared: int, size: int, other: int, threshold: float) -> bool:
    """Whether |A∩B| / |A∪B| is at least the threshold, in whole numbers; False for documents without words.

    >>> reaches(8, 9, 9, 0.8), reaches(7, 9, 8, 0.8), reaches(0, 0, 0, 0.8)
    (True, False, False)
    """
    numerator, denominator = ratio(threshold)
    return shared > 0 and shared * denominator >= numerator * (size + other - shared)


__all__ = ["Sets", "reaches", "shared_with"]
