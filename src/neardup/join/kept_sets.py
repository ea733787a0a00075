"""The sets that the first pass makes beside the fingerprints, so that no later stage reads all texts for them."""

from __future__ import annotations

import numpy as np

from neardup.io.writers.scratch import Scratch
from neardup.join.corpus import Corpus
from neardup.join.method import BYTES_A_SHINGLE, join_room, surely_exact
from neardup.join.shingle_store import DocumentSets, SpilledSets, most_held, sets_at
from neardup.measures import MEASURES, Features
from neardup.sketch.documents import ShingleSets
from neardup.tables import Int64s


class KeptSets:
    """The sets of the documents read so far, which a later stage needs; ``open`` says whether they are still kept.

    An exact join needs those of all documents: in memory while they fit, and else in a working file. Stages that
    leave out common shingles need them only if they fit.
    """

    def __init__(self, corpus: Corpus) -> None:
        settings = corpus.settings
        self.features = _features_kept(corpus)
        self.open = self.features is not None
        self._scratch = None if settings.base.ignore_common > 0 else corpus.scratch or Scratch()
        room = join_room(settings.search) // BYTES_A_SHINGLE
        self._most = most_held(settings) if self._scratch is None else room
        self._hashes = np.empty(0, np.uint64)
        self._used = self._bound = 0
        self._sizes = [np.empty(0, np.int64)]
        self.filed: SpilledSets | None = None

    def add(self, sets: ShingleSets, wanted: Int64s, units: int) -> None:
        """Add the ``wanted`` sets (ascending), which have at most this many ``units``."""
        self._bound += units
        if self._bound > self._most and self._scratch is None:
            self.open, self._hashes = False, np.empty(0, np.uint64)
        if not self.open:
            return
        if len(wanted) < len(sets.sizes):
            sets = sets_at(sets.hashes, sets.offsets[wanted], sets.sizes[wanted])
        if self._bound > self._most and self.filed is None and self._scratch is not None:
            self.filed = SpilledSets(np.empty(0, np.int64), self._scratch.numbers())
            self.filed.add(self._together())
            self._hashes = np.empty(0, np.uint64)
        if self.filed is not None:
            self.filed.add(sets)
            return
        until = self._used + len(sets.hashes)
        if until > len(
            self._hashes
        ):  # reallocated, which moves pages instead of copying them; nobody has a view yet
            self._hashes.resize(until + until // 4, refcheck=False)
        self._hashes[self._used : until] = sets.hashes
        self._used = until
        self._sizes.append(sets.sizes)

    def finish(self) -> DocumentSets | None:
        """Return the sets of all documents if they are in memory; complete those that are in a file."""
        if self.filed is not None:
            self.filed.documents = np.arange(len(self.filed))
        if not self.open or self.filed is not None:
            return None
        sets = self._together()
        return DocumentSets(np.arange(len(sets.sizes)), sets)

    def _together(self) -> ShingleSets:
        """The sets in memory."""
        return ShingleSets(self._hashes[: self._used], np.append(0, np.cumsum(np.concatenate(self._sizes))))


def _features_kept(corpus: Corpus) -> Features | None:
    """The features whose sets are made in the first pass; None: they are not needed, or not of this pass."""
    settings = corpus.settings
    if settings.base.ignore_common > 0:
        return "shingles"
    if corpus.base is not None or settings.by_simhash or not surely_exact(settings.search):
        return None
    features = MEASURES[settings.search.measure].features
    return features if features in ("shingles", "occurrences") else None
