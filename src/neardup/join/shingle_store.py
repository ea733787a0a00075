"""Shingle sets by document number, fetched from the texts in as few passes as the memory allows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from weakref import ref

import numpy as np

from neardup.io.writers.scratch import scratch_array
from neardup.join.corpus import Corpus
from neardup.measures import Features
from neardup.settings import Settings
from neardup.sketch.documents import ShingleSets
from neardup.tables import Int64s, UInt64s

HELD_SHINGLES = 1 << 26
"""Shingles (8 bytes each) that are held for several stages instead of being read again."""


def most_held(settings: Settings) -> int:
    """The most shingles of all documents that are held in memory before the search."""
    return min(HELD_SHINGLES, int(settings.search.memory * 1e9 / 16))


@dataclass(frozen=True)
class DocumentSets:
    """The shingle sets of the ``documents`` (ascending numbers), in the same order."""

    documents: Int64s
    sets: ShingleSets

    def index(self, documents: Int64s) -> Int64s:
        """int64: the index of the set of each of ``documents``."""
        return np.searchsorted(self.documents, documents)

    def only(self, documents: Int64s) -> DocumentSets:
        """The sets of ``documents`` (ascending) alone."""
        if len(documents) == len(self.documents):
            return self
        at, sets = self.index(documents), self.sets
        alone = sets_at(sets.hashes, sets.offsets[at], sets.sizes[at])
        return DocumentSets(documents, replace(alone, ranks=sets.ranks[at] if len(sets.ranks) else sets.ranks))


class ShingleStore:
    """Fetches the sets of some ``features`` of documents; sets that somebody still holds are not read again.

    As long as anything keeps an object that ``get`` returned, requests for documents among it return the same
    object. The store itself keeps none alive, so sets do not outlive the stages that use them.
    """

    def __init__(self, corpus: Corpus, units: Int64s, unique: Int64s, features: Features) -> None:
        self._corpus, self._units, self._unique, self._features = corpus, units, unique, features
        self._alive: list[ref[DocumentSets]] = []

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self._unique)

    @contextmanager
    def hold(self, documents: Int64s) -> Iterator[DocumentSets | None]:
        """Keep the sets of ``documents`` (ascending) in memory for a block, unless there are too many shingles."""
        # the name keeps them alive: what is yielded alone would be dropped at once
        sets = self.get(documents) if self.bound(documents).sum() <= HELD_SHINGLES else None
        yield sets

    def get(self, documents: Int64s) -> DocumentSets:
        """The sets of ``documents`` (ascending), in a temporary file if they are many; it may include others."""
        for held in filter(None, (made() for made in self._alive)):
            if np.isin(documents, held.documents).all():
                return held
        found = self._read(documents)
        self._alive = [made for made in self._alive if made() is not None] + [ref(found)]
        return found

    def adopt(self, sets: DocumentSets) -> None:
        """Return these sets, made elsewhere, for documents among them, as long as something keeps them."""
        self._alive.append(ref(sets))

    def passing(self, documents: Int64s) -> Iterator[ShingleSets]:
        """Yield the sets of ``documents`` (ascending) chunk by chunk, in one pass over the texts; none are kept."""
        return self._corpus.with_shingle_sets(self._unique[documents], lambda _, sets: sets, self._features)

    def bound(self, documents: Int64s) -> Int64s:
        """Upper bound for the number of shingles (or words, or tokens) of each of ``documents``."""
        return self._units[self._unique[documents]]

    def _read(self, documents: Int64s) -> DocumentSets:
        rows, room = self._unique[documents], self._room(int(self.bound(documents).sum()))
        return DocumentSets(documents, self._corpus.shingle_sets(rows, room, self._features))

    def _room(self, shingles: int) -> UInt64s:
        """Room for this many hashes: in memory if they fit in half of the memory allowed for a join."""
        fits = 8 * shingles <= self._corpus.settings.search.memory * 1e9 / 2
        return np.empty(shingles, np.uint64) if fits else scratch_array(shingles)


def sets_at(hashes: UInt64s, starts: Int64s, sizes: Int64s) -> ShingleSets:
    """The sets of ``sizes`` that begin at ``starts``, concatenated."""
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    at = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes) + np.repeat(starts, sizes)
    return ShingleSets(hashes[at], offsets)
