"""Shingle sets by document number, fetched from the texts in as few passes as the memory allows.

Under a memory limit, sets that several stages need and that do not fit are read from the texts once, into a
working file, and fetched from there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from weakref import ref

import numpy as np

from neardup.deduplication.join.corpus import Corpus
from neardup.io.outputs import FinishedParts, NumberFile, Scratch, scratch_array
from neardup.settings import Features, SearchSettings
from neardup.tables import Int64s, UInt64s, numbers_in, places_among
from neardup.text.sketch import ShingleSets

_WINDOW = 1 << 18
"""Shingles that are read from a working file, or written, at a time."""


HELD_SHINGLES = 1 << 26
"""Shingles (8 bytes each) that are held for several stages instead of being read again."""

_FEWEST = 1 << 10

_RUN = 256
"""Adjacent sets of this many hashes on average are copied in one piece, without a place for each hash."""


def held_shingles(search: SearchSettings) -> int:
    """The most shingles held for several stages: an eighth of the room."""
    room = search.room
    return HELD_SHINGLES if room is None else max(_FEWEST, min(HELD_SHINGLES, room // 64))


def most_held(search: SearchSettings) -> int:
    """The most shingles of all documents that are held in memory before the search."""
    return min(held_shingles(search), search.join_bytes // 16)


@dataclass(frozen=True)
class DocumentSets:
    """The shingle sets of the ``documents`` (ascending numbers), in the same order.

    ``possible`` (int64, ascending) are the indexes of the sets that may have a partner by the criterion of the run
    (``prefix_join.with_possible_partners``); None: not known.
    """

    documents: Int64s
    sets: ShingleSets
    possible: Int64s | None = None

    def index(self, documents: Int64s) -> Int64s:
        """int64: the index of the set of each of ``documents``."""
        all_of_them = documents is self.documents
        return np.arange(len(documents)) if all_of_them else np.searchsorted(self.documents, documents)

    def only(self, documents: Int64s) -> "DocumentSets":
        """The sets of ``documents`` (ascending) alone."""
        if len(documents) == len(self.documents):
            return self
        places, sets = self.index(documents), self.sets
        alone = sets_at(sets.hashes, sets.offsets[places], sets.sizes[places])
        return DocumentSets(documents, replace(alone, ranks=sets.ranks[places] if len(sets.ranks) else sets.ranks))


class SpilledSets:
    """The shingle sets of ``documents`` (ascending) in a working ``file``: 16 bytes a document in memory.

    ``len`` is the number of sets. While sets are appended, ``documents`` may be unknown.
    """

    def __init__(self, documents: Int64s, file: NumberFile) -> None:
        self.documents, self._file = documents, file
        self._sizes: list[Int64s] = []
        self._offsets = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def offsets(self) -> Int64s:
        """int64[documents + 1]: set k is ``offsets[k]`` … ``offsets[k + 1]`` − 1 of the file."""
        if self._sizes:
            further = self._offsets[-1] + np.cumsum(np.concatenate(self._sizes))
            self._offsets, self._sizes = np.concatenate((self._offsets, further)), []
        return self._offsets

    def ranges(self, most: int) -> Iterator[tuple[int, ShingleSets]]:
        """Yield the first set and all sets of ranges with at most ``most`` shingles, or of one set.

        The arrays are valid until the next range: all are read into the same room, whose pages are touched once.
        """
        offsets, first, room = self.offsets, 0, np.empty(0, np.uint64)
        while first < len(self):
            until = max(first + 1, int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1)
            size = int(offsets[until] - offsets[first])
            room = room if len(room) >= size else np.empty(max(size, min(most, int(offsets[-1]))), np.uint64)
            hashes = room[:size]
            self._file.read_into(hashes, int(offsets[first]))
            yield first, ShingleSets(hashes, offsets[first : until + 1] - offsets[first])
            first = until

    def add(self, sets: ShingleSets) -> None:
        """Append the next sets."""
        self._file.append(sets.hashes)
        self._sizes.append(sets.sizes)

    def load(self, documents: Int64s, most: int | None = None) -> DocumentSets:
        """Read the sets of some of the documents (ascending); more than ``most`` shingles into a mapped file."""
        places = np.searchsorted(self.documents, documents)
        starts, sizes = self.offsets[places], self.offsets[places + 1] - self.offsets[places]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        mapped = most is not None and offsets[-1] > most
        hashes = self._file.alike(int(offsets[-1])) if mapped else np.empty(offsets[-1], np.uint64)
        # neighbours in the file are read together; the gaps between them are at most a window
        window = (starts + sizes) // _WINDOW
        for part in np.split(np.arange(len(places)), np.flatnonzero(np.diff(window)) + 1):
            if not len(part):
                continue
            first, room = starts[part[0]], hashes[offsets[part[0]] : offsets[part[-1] + 1]]
            stretch = self._file.read(int(first), int(starts[part[-1]] + sizes[part[-1]]))
            room[:] = sets_at(stretch, starts[part] - first, sizes[part]).hashes
        return DocumentSets(documents, ShingleSets(hashes, offsets))

    def close(self) -> None:
        """Give the space back."""
        self._file.close()


class ShingleStore:
    """Fetches the sets of some ``features`` of documents; sets that somebody still holds are not read again.

    As long as anything keeps an object that ``get`` returned, requests for documents among it return the same
    object. The store itself keeps none alive, so sets do not outlive the stages that use them.
    """

    def __init__(self, corpus: Corpus, units: Int64s, unique: Int64s, features: Features) -> None:
        self._corpus, self._units, self._unique, self.features = corpus, units, unique, features
        self._alive: list[ref[DocumentSets]] = []
        self._spilled: list[SpilledSets] = []

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self._unique)

    @property
    def journal(self) -> FinishedParts | None:
        """The finished parts of the run."""
        return self._corpus.journal

    @property
    def held_shingles(self) -> int:
        """The most shingles that are held in memory for several stages."""
        return held_shingles(self._corpus.settings.search)

    @contextmanager
    def hold(self, documents: Int64s) -> Iterator[DocumentSets | None]:
        """Keep the sets of ``documents`` (ascending) in memory for a block, unless there are too many shingles.

        Under a memory limit they are then kept in a working file.
        """
        if self.upper_bounds(documents).sum() <= self.held_shingles:
            sets = self.get(documents)  # the name keeps them alive: what is yielded alone would be dropped at once
            yield sets
            return
        scratch = self._corpus.scratch
        if scratch is None or self.features == "tokens" or self._of_spilled(documents) is not None:
            yield None
            return
        spilled = self.spill(documents, scratch)
        self._spilled.append(spilled)
        try:
            yield None
        finally:
            self._spilled.remove(spilled)
            spilled.close()

    def get(self, documents: Int64s) -> DocumentSets:
        """The sets of ``documents`` (ascending), in a temporary file if they are many; it may include others."""
        for sets in filter(None, (reference() for reference in self._alive)):
            if places_among(documents, sets.documents)[0].all():
                return sets
        spilled = self._of_spilled(documents)
        read = self._read(documents) if spilled is None else spilled.load(documents)
        self._alive = [reference for reference in self._alive if reference() is not None] + [ref(read)]
        return read

    def adopt(self, sets: DocumentSets) -> None:
        """Return these sets, made elsewhere, for documents among them, as long as something keeps them."""
        self._alive.append(ref(sets))

    def spill(self, documents: Int64s, scratch: Scratch) -> SpilledSets:
        """Read the sets of ``documents`` (ascending) from the texts into a working file."""
        spilled, rows = SpilledSets(documents, scratch.numbers()), self._unique[documents]
        for chunk_sets in self._corpus.with_shingle_sets(rows, lambda _, sets: sets, self.features):
            spilled.add(chunk_sets)
        return spilled

    def upper_bounds(self, documents: Int64s) -> Int64s:
        """Upper bound for the number of shingles (or words, or tokens) of each of ``documents``."""
        return self._units[self._unique[documents]]

    def _of_spilled(self, documents: Int64s) -> SpilledSets | None:
        """The working file that has the sets of all ``documents``."""
        return next((one for one in self._spilled if places_among(documents, one.documents)[0].all()), None)

    def _read(self, documents: Int64s) -> DocumentSets:
        """Read the sets of documents from the texts."""
        rows, room = self._unique[documents], self._room(int(self.upper_bounds(documents).sum()))
        return DocumentSets(documents, self._corpus.shingle_sets(rows, room, self.features))

    def _room(self, shingles: int) -> UInt64s:
        """Room for this many hashes: in memory if they fit in half of the memory allowed for a join."""
        fits = 8 * shingles <= self._corpus.settings.search.join_bytes / 2
        return np.empty(shingles, np.uint64) if fits else scratch_array(shingles)


class FeatureStores:
    """The stores of the documents ``unique`` of a corpus, one for each kind of features; ``units`` of each row."""

    def __init__(self, corpus: Corpus, units: Int64s, unique: Int64s) -> None:
        self._of = corpus, units, unique
        self._stores: dict[Features, ShingleStore] = {}

    def of(self, features: Features = "shingles") -> ShingleStore:
        """The store of the shingle sets, or other ``features``; the same for all stages."""
        if features not in self._stores:
            self._stores[features] = ShingleStore(*self._of, features)
        return self._stores[features]


def sets_at(hashes: UInt64s, starts: Int64s, sizes: Int64s) -> ShingleSets:
    """The sets of ``sizes`` that begin at ``starts``, concatenated."""
    ends, offsets = starts + sizes, np.concatenate(([0], np.cumsum(sizes)))
    heads = np.flatnonzero(np.append(True, starts[1:] != ends[:-1])[: len(starts)])
    if _RUN * len(heads) < offsets[-1]:
        runs = zip(starts[heads].tolist(), ends[np.append(heads[1:], len(ends)) - 1].tolist(), strict=True)
        return ShingleSets(np.concatenate([hashes[begin:end] for begin, end in runs]), offsets)
    return ShingleSets(hashes[numbers_in(starts, sizes)], offsets)
