"""The shingle sets of all documents in a working file: in memory are 8 bytes a document and the sets asked for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.io.writers.scratch import Scratch
from neardup.join.shingle_store import DocumentSets, ShingleStore, sets_at
from neardup.sketch.documents import ShingleSets
from neardup.tables import Int64s, UInt64s

_GAP = 1 << 15
"""Shingles between two sets that are read, and dropped, rather than sought over."""


class FiledSets:
    """Sets appended in the order of documents, and read in ranges or for some documents.

    ``close`` gives the space back; without it, the file ends with the object.
    """

    def __init__(self, scratch: Scratch) -> None:
        self._file = scratch.numbers()
        self._sizes: list[Int64s] = []
        self._offsets = np.zeros(1, np.int64)

    @classmethod
    def of_store(cls, store: ShingleStore, scratch: Scratch) -> FiledSets:
        """Read the sets of all documents of a store from the texts once."""
        made = cls(scratch)
        for sets in store.passing(np.arange(store.documents)):
            made.add(sets.hashes, sets.sizes)
        return made

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def offsets(self) -> Int64s:
        """int64[documents + 1]: set d is ``offsets[d]`` … ``offsets[d + 1]`` − 1 of the file."""
        if self._sizes:
            sizes, self._sizes = np.concatenate(self._sizes), []
            self._offsets = np.concatenate((self._offsets, self._offsets[-1] + np.cumsum(sizes)))
        return self._offsets

    def add(self, hashes: UInt64s, sizes: Int64s) -> None:
        """Append the next sets: the concatenated hashes, and the size of each. Raises OutputError on a full disk."""
        self._file.append(hashes)
        self._sizes.append(sizes)

    def ranges(self, most: int) -> Iterator[tuple[int, ShingleSets]]:
        """Yield the first document and the sets of ranges of documents with about ``most`` shingles at most."""
        offsets, first = self.offsets, 0
        while first < len(self):
            until = max(first + 1, int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1)
            hashes = self._file.read(int(offsets[first]), int(offsets[until]))
            yield first, ShingleSets(hashes, offsets[first : until + 1] - offsets[first])
            first = until

    def load(self, documents: Int64s) -> DocumentSets:
        """Read the sets of some documents (ascending)."""
        starts, ends = self.offsets[documents], self.offsets[documents + 1]
        offsets = np.concatenate(([0], np.cumsum(ends - starts)))
        hashes = np.empty(offsets[-1], np.uint64)
        # documents near each other are read together, a limited number of shingles at a time
        apart = (starts[1:] - ends[:-1] > _GAP) | (starts[1:] // (64 * _GAP) != starts[:-1] // (64 * _GAP))
        for part in np.split(np.arange(len(documents)), np.flatnonzero(apart) + 1):
            if len(part):
                begin, end = int(starts[part[0]]), int(ends[part[-1]])
                near = sets_at(self._file.read(begin, end), starts[part] - begin, (ends - starts)[part])
                hashes[offsets[part[0]] : offsets[part[-1] + 1]] = near.hashes
        return DocumentSets(documents, ShingleSets(hashes, offsets))

    def close(self) -> None:
        """Give the space back."""
        self._file.close()
