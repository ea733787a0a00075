"""How often the shingles of documents occur again: what makes one of them rare."""

from __future__ import annotations

import numpy as np

from neardup.kernels.join.prefix_index import count_repeats
from neardup.runtime import ordered_map, worker_count
from neardup.tables import Int64s, UInt8s, UInt64s


def repeats_of(hashes: UInt64s, starts: Int64s, sizes: Int64s, threads: int) -> UInt8s:
    """How often each shingle occurs again, by its low bits; needs about four bytes of scratch per shingle."""
    counted = Repeats(max(16, int(sizes.sum()).bit_length()), threads)
    counted.add(hashes, starts, sizes)
    return counted.cells


class Repeats:
    """How often each shingle occurs again: ``cells`` (uint8[2^bits], saturating), by the low bits of its hash.

    Fewer cells than shingles are allowed: collisions cost time in the join, never a pair. Sets are added in any
    order; counting needs two more bytes per cell.
    """

    def __init__(self, bits: int, threads: int) -> None:
        self.cells, self._seen = np.zeros(1 << bits, np.uint8), np.zeros(1 << (bits - 2), np.uint64)
        # each part reads all hashes and counts its own; below 2¹⁶ words a part, threads would share words
        self._parts = 1 << min(max(0, bits - 18), worker_count(threads).bit_length() - 1)
        self._threads = threads

    def add(self, hashes: UInt64s, starts: Int64s, sizes: Int64s) -> None:
        """Count the sets of ``sizes`` that begin at ``starts``."""

        def work(part: int) -> None:
            count_repeats(hashes, starts, sizes, self._seen, self.cells, part, self._parts)

        for _ in ordered_map(work, range(self._parts), self._threads):
            pass
