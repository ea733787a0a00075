"""The stored pairs of a result as columns, found by the two documents or by one of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neardup.tables import Floats, Int64s

Kinds = NDArray[np.int8]
"""Numbers in ``KINDS``; −1 where the kind is not known."""


@dataclass(frozen=True, eq=False)
class StoredPairs:
    """Pairs of documents by number; exact copies are represented by the ``first`` document with their text.

    ``similarity`` is that of the measure of the run. ``counts`` are the shingles of both, and of each.
    """

    ends: tuple[Int64s, Int64s]
    first: Int64s
    similarity: Floats
    kinds: Kinds
    counts: tuple[Int64s, ...]

    def __len__(self) -> int:
        return len(self.similarity)

    def warm(self) -> None:
        """Sort the pairs in all ways."""
        assert len(self._sorted[0]) == len(self.by_similarity) == len(self._adjacent[1]) // 2

    def none(self) -> StoredPairs:
        """Return a record without pairs, of the same documents."""
        counts = tuple(numbers[:0] for numbers in self.counts)
        return StoredPairs(
            (self.ends[0][:0], self.ends[1][:0]), self.first, self.similarity[:0], self.kinds[:0], counts
        )

    def places(self, a: Int64s, b: Int64s) -> Int64s:
        """Return the places of some pairs of documents, in any order of a and b; −1 for those not stored."""
        if not len(self):
            return np.full(len(a), -1, np.int64)
        wanted = self._codes(self.first[a], self.first[b])
        codes, order = self._sorted
        at = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        return np.where(codes[at] == wanted, order[at], -1)

    def place(self, a: int, b: int) -> int:
        """Return the place of one pair, −1 if it is not stored."""
        return int(self.places(np.array([a]), np.array([b]))[0])

    def kinds_of(self, a: Int64s, b: Int64s) -> Kinds:
        """Return the kinds of some pairs of documents."""
        places = self.places(a, b)
        found = np.full(len(places), -1, np.int8)
        found[places >= 0] = self.kinds[places[places >= 0]]
        return found

    def containments(self, a: int, b: int) -> tuple[float, float] | None:
        """Return the share of a's shingles that is in b, and of b's in a; None if the pair is not stored."""
        if self.first[a] == self.first[b]:
            return 1.0, 1.0
        place = self.place(a, b)
        if place < 0:
            return None
        shared, size_a, size_b = (int(numbers[place]) for numbers in self.counts)
        shares = shared / size_a, shared / size_b
        return shares if self.first[self.ends[0][place]] == self.first[a] else shares[::-1]

    def similarity_of(self, a: int, b: int) -> float | None:
        """Return the stored similarity of two documents; 1 for exact copies, None if the pair is not stored."""
        if self.first[a] == self.first[b]:
            return 1.0
        place = self.place(a, b)
        return float(self.similarity[place]) if place >= 0 else None

    def around(self, document: int) -> tuple[Int64s, Int64s]:
        """Return the partners of a document by number, and the places of the pairs."""
        starts, partners, places = self._adjacent
        own = int(self.first[document])
        inside = slice(int(starts[own]), int(starts[own + 1]))
        return partners[inside], places[inside]

    def _codes(self, a: Int64s, b: Int64s) -> Int64s:
        return np.minimum(a, b) * len(self.first) + np.maximum(a, b)

    @cached_property
    def by_similarity(self) -> Int64s:
        """The places of the pairs, the least similar first."""
        return np.argsort(self.similarity, kind="stable")

    @cached_property
    def _sorted(self) -> tuple[Int64s, Int64s]:
        codes = self._codes(*(self.first[end] for end in self.ends))
        order = np.argsort(codes, kind="stable")
        return codes[order], order

    @cached_property
    def _adjacent(self) -> tuple[Int64s, Int64s, Int64s]:
        a, b = (self.first[end] for end in self.ends)
        own, other = np.concatenate((a, b)), np.concatenate((b, a))
        order = np.argsort(own, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(own, minlength=len(self.first)))))
        places = np.tile(np.arange(len(self)), 2)
        return starts, other[order], places[order]
