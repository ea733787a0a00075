"""The similarities of pairs that a result does not store, counted on the texts."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np

from neardup.errors import NeardupError
from neardup.join.criterion import similarity_of
from neardup.kernels.shingles import shingle_hashes
from neardup.measures import MEASURES
from neardup.review.desk.budget import Budget
from neardup.review.desk.index import ResultIndex
from neardup.review.desk.reading import TextReader
from neardup.settings import Settings, as_compared
from neardup.tables import UInt64s

MOST_BYTES = 1 << 20
"""Documents with more text than this are not counted."""
_HELD = 500

Counts = tuple[int, int, int]
"""|A∩B|, |A| and |B| on shingles."""


class ComputedPairs:
    """Counts the shingles of pairs as the run did; only for measures on shingles, and runs without base text."""

    def __init__(self, index: ResultIndex, reader: TextReader) -> None:
        run = index.found.run
        self._settings, self._index, self._reader = run["settings"], index, reader
        self._cleaner = Settings.of(**as_compared(run["settings"])).cleaning.cleaner
        self._measure = MEASURES[self._settings["measure"]]
        self.usable = self._measure.of_shingles and not run.get("base_text")
        self._lock = threading.Lock()
        self._sets: OrderedDict[int, UInt64s] = OrderedDict()
        self._counts: OrderedDict[tuple[int, int], Counts] = OrderedDict()

    def counts(self, a: int, b: int, budget: Budget | None = None) -> Counts | None:
        """Return the counts of two documents; None if they cannot be counted, or when the ``budget`` is spent."""
        key = min(a, b), max(a, b)
        found = self._counts.get(key)
        if found is None and self.usable and (budget is None or budget.allows()):
            found = self._counted(*key)
            if found is not None:
                with self._lock:
                    self._counts[key] = found
                    if len(self._counts) > _HELD**2:
                        self._counts.popitem(last=False)
        return found if found is None or key == (a, b) else (found[0], found[2], found[1])

    def similarity(self, a: int, b: int, budget: Budget | None = None) -> float | None:
        """Return the similarity of two documents by the measure of the run, in the better direction."""
        found = self.counts(a, b, budget)
        if found is None:
            return None
        shared, one, other = (np.array([count]) for count in found)
        both = (similarity_of(shared, *sizes, self._measure.formula) for sizes in ((one, other), (other, one)))
        return float(max(value[0] for value in both))

    def _counted(self, a: int, b: int) -> Counts | None:
        try:
            of_a, of_b = self._set(a), self._set(b)
        except (NeardupError, OSError):
            return None
        if of_a is None or of_b is None:
            return None
        return len(np.intersect1d(of_a, of_b, assume_unique=True)), len(of_a), len(of_b)

    def _set(self, document: int) -> UInt64s | None:
        """Return the different shingles of a document; None for a long one."""
        if self._index.documents.bytes[document] > MOST_BYTES or not self._reader.known:
            return None
        found = self._sets.get(document)
        if found is None:
            reading = self._reader.reading(document, self._cleaner)
            units = reading.units(self._settings["unit"] == "word").hashes
            hashes = np.empty(max(len(units), 1), np.uint64)
            length = self._settings["length"]
            found = np.unique(hashes[: shingle_hashes(units, len(units), length, reading.key.shingles, hashes)])
            with self._lock:
                self._sets[document] = found
                if len(self._sets) > _HELD:
                    self._sets.popitem(last=False)
        return found
