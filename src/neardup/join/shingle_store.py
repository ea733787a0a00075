"""Shingle sets by document number, fetched from the texts in as few passes as the memory allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.io.writers.scratch import scratch_array
from neardup.join.corpus import Corpus, Fingerprints
from neardup.measures import Features
from neardup.sketch.documents import ShingleSets
from neardup.tables import Int64s, UInt64s

HELD_SHINGLES = 1 << 26
"""Shingles (8 bytes each) that are held for several stages instead of being read again."""


@dataclass(frozen=True)
class DocumentSets:
    """The shingle sets of the ``documents`` (ascending numbers), in the same order."""

    documents: Int64s
    sets: ShingleSets

    def index(self, documents: Int64s) -> Int64s:
        """int64: the index of the set of each of ``documents``."""
        return np.searchsorted(self.documents, documents)


class ShingleStore:
    """Fetches shingle sets, or other ``features``; the sets that several stages need are read once."""

    def __init__(self, corpus: Corpus, prints: Fingerprints, features: Features = "shingles") -> None:
        self._corpus, self._prints, self._features = corpus, prints, features
        self._held: DocumentSets | None = None

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self._prints.unique)

    def hold(self, documents: Int64s) -> None:
        """Read the sets of ``documents`` (ascending) now and keep them, unless there are too many shingles."""
        if self.bound(documents).sum() <= HELD_SHINGLES:
            self.hold_all(documents)

    def hold_all(self, documents: Int64s) -> None:
        """Read the sets of ``documents`` (ascending) now and keep them, in a temporary file if they are many."""
        if len(documents) and not self._holds(documents):
            self._held = self._read(documents)

    def get(self, documents: Int64s) -> DocumentSets:
        """The sets of ``documents`` (ascending); the result may include more documents."""
        if self._held is not None and self._holds(documents):
            return self._held
        return self._read(documents)

    def bound(self, documents: Int64s) -> Int64s:
        """Upper bound for the number of shingles (or words, or tokens) of each of ``documents``."""
        return self._prints.units[self._prints.unique[documents]]

    def _holds(self, documents: Int64s) -> bool:
        return self._held is not None and bool(np.isin(documents, self._held.documents).all())

    def _read(self, documents: Int64s) -> DocumentSets:
        rows, room = self._prints.unique[documents], self._room(int(self.bound(documents).sum()))
        return DocumentSets(documents, self._corpus.shingle_sets(rows, room, self._features))

    def _room(self, shingles: int) -> UInt64s:
        """Room for this many hashes: in memory if they fit in half of the memory allowed for a join."""
        fits = 8 * shingles <= self._corpus.settings.search.memory * 1e9 / 2
        return np.empty(shingles, np.uint64) if fits else scratch_array(shingles)
