"""The sets that the first pass makes beside the fingerprints, so that no later stage reads all texts for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from neardup.io.readers.base import Documents
from neardup.io.readers.parquet_footer import FooterGroup
from neardup.io.writers.scratch import Scratch
from neardup.join.corpus import Corpus
from neardup.join.criterion import criterion_of
from neardup.join.method import BYTES_A_SHINGLE, join_room, surely_exact
from neardup.join.partners import with_possible_partners
from neardup.join.shingle_store import DocumentSets, SpilledSets, most_held, sets_at
from neardup.measures import MEASURES, Features
from neardup.sketch.documents import ShingleSets
from neardup.tables import Int64s

HASH_BYTES = 8
"""Bytes of a shingle in a set."""

_BYTES_A_WORD = 6
"""Bytes of text for a word of prose, about, with the space before it."""


class KeptSets:
    """The sets of the documents read so far, which a later stage needs; ``open`` says whether they are still kept.

    An exact join needs those of all documents: in memory while they fit, and else in a working file. They fit if
    there is room for their hashes, and for the join of those that may have a partner (``partners.py``). Stages
    that leave out common shingles need them only if they fit, and so does an exact join that is ``expected``.
    """

    def __init__(self, corpus: Corpus, expected: bool = False) -> None:
        settings = corpus.settings
        self.features = MEASURES[settings.search.measure].features if expected else _features_kept(corpus)
        self.open = self.features is not None
        self._scratch = None if expected or settings.base.ignore_common > 0 else corpus.scratch or Scratch()
        self._settings, self._room = settings, join_room(settings.search)
        self._most = most_held(settings.search) if self._scratch is None else self._room // HASH_BYTES
        if expected:
            self._most = settings.search.join_bytes // BYTES_A_SHINGLE
        self._hashes = np.empty(0, np.uint64)
        self._used = self._bound = 0
        self._sizes = [np.empty(0, np.int64)]
        self._filed: SpilledSets | None = None

    def add(self, sets: ShingleSets, wanted: Int64s, units: int) -> None:
        """Add the ``wanted`` sets (ascending), which have at most this many ``units``."""
        self._bound += units
        if self._bound > self._most and self._scratch is None:
            self.open, self._hashes = False, np.empty(0, np.uint64)
        if not self.open:
            return
        if len(wanted) < len(sets.sizes):
            sets = sets_at(sets.hashes, sets.offsets[wanted], sets.sizes[wanted])
        if self._bound > self._most and self._filed is None:
            self._file(self._together())
        if self._filed is not None:
            self._filed.add(sets)
            return
        until = self._used + len(sets.hashes)
        if until > len(
            self._hashes
        ):  # reallocated, which moves pages instead of copying them; nobody has a view yet
            self._hashes.resize(until + until // 4, refcheck=False)
        self._hashes[self._used : until] = sets.hashes
        self._used = until
        self._sizes.append(sets.sizes)

    def finish(self) -> DocumentSets | SpilledSets | None:
        """Return the sets of all documents, in memory or in a file; None if they are not kept.

        If only those that may have a partner leave room for their join, the sets go to a file, too.
        """
        if not self.open:
            return None
        if self._filed is None:
            sets, possible = self._together(), None
            if self._scratch is not None and BYTES_A_SHINGLE * self._bound > self._room:
                asked, threads = criterion_of(self._settings.search), self._settings.work.threads
                starts, sizes = sets.offsets[:-1], sets.sizes
                possible = with_possible_partners(sets.hashes, starts, sizes, asked, threads)
                joined = (BYTES_A_SHINGLE - HASH_BYTES) * int(sizes[possible].sum())
                if HASH_BYTES * len(sets.hashes) + joined > self._room:
                    self._file(sets)
            if self._filed is None:
                return DocumentSets(np.arange(len(sets.sizes)), sets, possible)
        self._filed.documents = np.arange(len(self._filed))
        return self._filed

    def _file(self, sets: ShingleSets) -> None:
        """Move the sets from the memory into a working file."""
        assert self._scratch is not None
        self._filed = SpilledSets(np.empty(0, np.int64), self._scratch.numbers())
        self._filed.add(sets)
        self._hashes = np.empty(0, np.uint64)

    def _together(self) -> ShingleSets:
        """The sets in memory."""
        return ShingleSets(self._hashes[: self._used], np.append(0, np.cumsum(np.concatenate(self._sizes))))


def expects_exact(corpus: Corpus) -> bool:
    """Whether ``auto`` will join exactly if the size of the input is about that of its text.

    Such a run makes sets at once, and no signatures. If the sets do not fit after all, or the join would look at
    too many pairs, the texts are read once more. Never under a memory limit or with ``--resume``: there the
    signatures, or the keys of their bands, go to disk in the first pass.
    """
    asked, base = corpus.settings.search, corpus.settings.base
    if asked.method != "auto" or corpus.settings.by_simhash or not MEASURES[asked.measure].by_lsh:
        return False
    if corpus.base is not None or base.ignore_common > 0 or corpus.has_saved:
        return False
    if corpus.scratch is not None or corpus.journal is not None:
        return False
    shingles = sum(_text_bytes(part.documents) for part in corpus.parts)
    if corpus.settings.shingles.unit == "word":
        shingles //= _BYTES_A_WORD
    return BYTES_A_SHINGLE * shingles <= asked.join_bytes


def _text_bytes(documents: Documents) -> int:
    """About how many bytes of text there are; 0 if nothing is known before they are read."""
    footers: Mapping[int, Sequence[FooterGroup]] = getattr(documents, "footers", {})
    unpacked = sum(group.unpacked for groups in footers.values() for group in groups)
    return unpacked or documents.size_bytes or 0


def _features_kept(corpus: Corpus) -> Features | None:
    """The features whose sets are made in the first pass; None: they are not needed, or not of this pass."""
    settings = corpus.settings
    if settings.base.ignore_common > 0:
        return "shingles"
    if corpus.base is not None or settings.by_simhash or not surely_exact(settings.search):
        return None
    features = MEASURES[settings.search.measure].features
    return features if features in ("shingles", "occurrences") else None
