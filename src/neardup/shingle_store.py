"""Shingle sets by document number, fetched from the texts in as few passes as the memory allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.corpus import Corpus, Fingerprints
from neardup.fingerprints import ShingleSets
from neardup.tables import Int64s

HELD_SHINGLES = 1 << 26
"""Shingles (8 bytes each) that are held for several stages instead of being read again."""


@dataclass(frozen=True)
class DocumentSets:
    """The shingle sets of the ``documents`` (ascending numbers), in their order."""

    documents: Int64s
    sets: ShingleSets

    def index(self, documents: Int64s) -> Int64s:
        """Which set belongs to each of ``documents``."""
        return np.searchsorted(self.documents, documents)


class ShingleStore:
    """Fetches shingle sets; those that several stages will ask for are read once, if they fit."""

    def __init__(self, corpus: Corpus, prints: Fingerprints) -> None:
        self._corpus, self._prints = corpus, prints
        self._held: DocumentSets | None = None

    def hold(self, documents: Int64s, at_most: int | None = HELD_SHINGLES) -> None:
        """Read the sets of ``documents`` (ascending) now and keep them, unless there are too many shingles."""
        if len(documents) and (at_most is None or self.bound(documents).sum() <= at_most):
            self._held = self._read(documents)

    def get(self, documents: Int64s) -> DocumentSets:
        """The sets of ``documents`` (ascending); possibly of more documents than that."""
        if self._held is not None and np.isin(documents, self._held.documents).all():
            return self._held
        return self._read(documents)

    def bound(self, documents: Int64s) -> Int64s:
        """At most how many shingles each of ``documents`` has."""
        return self._prints.units[self._prints.unique[documents]]

    def _read(self, documents: Int64s) -> DocumentSets:
        return DocumentSets(
            documents, self._corpus.shingle_sets(self._prints.unique[documents], self.bound(documents))
        )
