"""Sets → those that may have a partner: most documents have too many shingles of their own, and leave early."""

from __future__ import annotations

import numpy as np

from neardup.join.criterion import takes_any_subset
from neardup.kernels.join.partnerless import fill_may_lack, unique_in_range
from neardup.kernels.sets import Criterion
from neardup.runtime import ordered_map
from neardup.tables import Int32s, Int64s, UInt64s

_IN_RANGE = 1 << 21
"""Shingles in a range of hashes, about: their filter has at most 4 MB. Fewer are not worth it."""

_ROUNDS = 16
"""Ranges are counted in this many rounds, each among the sets that the rounds before have left."""


def with_possible_partners(
    hashes: UInt64s, starts: Int64s, sizes: Int64s, criterion: Criterion, threads: int
) -> Int64s:
    """Return the numbers (int64, ascending) of the sets whose unique shingles leave room for a partner.

    Set k is ``hashes[starts[k]:starts[k] + sizes[k]]``, ascending. No set with a partner is missing. Of few
    shingles, and for measures that any subset meets, all are returned. The same for any number of threads.
    """
    left = np.arange(len(sizes))
    ranges = 1 << max(0, (int(sizes.sum()) // _IN_RANGE).bit_length())
    if ranges == 1 or takes_any_subset(criterion.measure):
        return left
    may_lack, unique = np.empty(len(sizes), np.int64), np.zeros(len(sizes), np.int64)
    fill_may_lack(sizes, criterion, may_lack)
    width = (1 << 64) // ranges
    step = max(2, ranges // _ROUNDS)
    for first in range(0, ranges, step):
        words = 1 << max(4, int(sizes[left].sum() // (8 * ranges)).bit_length())

        def counted(number: int, left: Int64s = left, words: int = words) -> Int32s:
            span = np.array([number * width, (number + 1) * width - 1], np.uint64)
            found = np.empty(len(left), np.int32)
            unique_in_range(hashes, starts, sizes, left, span, np.zeros((words, 2), np.uint64), found)
            return found

        for found in ordered_map(counted, range(first, min(first + step, ranges)), threads):
            unique[left] += found
        left = left[unique[left] <= may_lack[left]]
    return left
