"""Exact copies: the first document with each 128-bit key, found as documents stream by."""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit

FREE = np.int64(-1)


@njit(cache=True, nogil=True)
def enter_keys(keys, first, until, table, copy_of):
    """Set ``copy_of[d]`` for d in first … until − 1 to the first document with d's key (d itself if new).

    ``keys`` uint64[≥ until, 2]; ``table`` int64[power of two] is an open-addressing table of documents, FREE in
    unused slots, at most half full afterwards. Returns the number of new keys.
    """
    mask = np.uint64(table.size - 1)
    new = 0
    for d in range(first, until):
        at = keys[d, 0] & mask
        while True:
            other = table[at]
            if other == FREE:
                table[at] = d
                copy_of[d] = d
                new += 1
                break
            if keys[other, 0] == keys[d, 0] and keys[other, 1] == keys[d, 1]:
                copy_of[d] = other
                break
            at = (at + np.uint64(1)) & mask
    return new
