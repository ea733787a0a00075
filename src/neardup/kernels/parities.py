"""Parities of sets: a few words for each set that rule out most dissimilar pairs without reading the sets.

Every element flips one bit, chosen by its hash. The common elements of two sets cancel out in the xor of their
words, and each bit that remains set was flipped by an element of only one of them: |A Δ B| ≥ the number of such
bits (Sandes, Teodoro and Melo 2020, "Bitmap filter"). Folding the upper half of the words onto the lower one
produces the parities for one bit of the hash less, so that words of two lengths can be compared.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.bits import bit_count
from neardup.kernels.compiled import njit

_63 = np.int64(63)
_ONE = np.uint64(1)
_AT_ONCE = 8
"""Words between two checks whether the bound is reached."""

_MOST_FOLDS = 4
"""Sets whose word counts differ by more than this factor are not compared: folding costs more than it saves."""


@njit(cache=True, nogil=True)
def parity_words(sizes):
    """Return int64[n + 1]: the first word of each set; a power of two of words, two bits or more per element."""
    begin = np.zeros(sizes.size + 1, np.int64)
    for x in range(sizes.size):
        words = np.int64(1)
        while 32 * words < sizes[x]:
            words *= 2
        begin[x + 1] = begin[x] + words
    return begin


@njit(cache=True, nogil=True)
def fill_parities(hashes, starts, sizes, begin, words):
    """Fill ``words`` (uint64, zeros) with the parities of sets, from ``begin[x]`` on (``parity_words``)."""
    for x in range(starts.size):
        mask = np.uint64(64 * (begin[x + 1] - begin[x]) - 1)
        for i in range(starts[x], starts[x] + sizes[x]):
            bit = np.int64(hashes[i] & mask)
            words[begin[x] + (bit >> 6)] ^= _ONE << np.uint64(bit & _63)


@njit(cache=True, nogil=True, inline="always")
def differ_in_more(words, begin, x, y, most):
    """Return True if more than ``most`` elements must be in only one of sets x and y; False settles nothing."""
    at_x, at_y = begin[x], begin[y]
    length_x, length_y = begin[x + 1] - at_x, begin[y + 1] - at_y
    apart = np.int64(0)
    if length_x == length_y:
        i = np.int64(0)
        while i + _AT_ONCE <= length_x:  # a fixed number of words is compared in vectors
            for k in range(_AT_ONCE):
                apart += bit_count(words[at_x + i + k] ^ words[at_y + i + k])
            if apart > most:
                return True
            i += _AT_ONCE
        while i < length_x:
            apart += bit_count(words[at_x + i] ^ words[at_y + i])
            i += 1
        return apart > most
    if length_x > length_y:
        at_x, at_y, length_x, length_y = at_y, at_x, length_y, length_x
    if length_y > _MOST_FOLDS * length_x:
        return False
    for i in range(length_x):
        folded = words[at_x + i]
        for k in range(i, length_y, length_x):
            folded ^= words[at_y + k]
        apart += bit_count(folded)
        if apart > most:
            return True
    return False
