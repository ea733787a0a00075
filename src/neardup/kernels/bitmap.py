"""Bits in words, with a second level: a bit for each word that is not 0. Two look-ups find the next set bit."""

from __future__ import annotations

import numpy as np

from neardup.kernels.bits import trailing_zeros
from neardup.kernels.compiled import njit

_ONE, _63, _ALL = np.uint64(1), np.int64(63), np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(cache=True, nogil=True)
def no_bits(n):
    """Return (bits, words) of n bits, none set."""
    return np.zeros((n >> 6) + 1, np.uint64), np.zeros((n >> 12) + 1, np.uint64)


@njit(cache=True, nogil=True, inline="always")
def set_bit(bits, words, at):
    """Set bit ``at``."""
    bits[at >> 6] |= _ONE << np.uint64(at & _63)
    words[at >> 12] |= _ONE << np.uint64((at >> 6) & _63)


@njit(cache=True, nogil=True)
def _next_bit(bits, at, end):
    """Return the first set bit of ``bits`` (uint64) in [at, end), or end."""
    if at >= end:
        return end
    word = at >> 6
    rest = bits[word] & (_ALL << np.uint64(at & _63))
    last = (end - 1) >> 6
    while rest == 0:
        word += 1
        if word > last:
            return end
        rest = bits[word]
    return min(end, (word << 6) + trailing_zeros(rest))


@njit(cache=True, nogil=True)
def next_set(bits, words, at, end):
    """Return the first set bit of ``bits`` in [at, end), or end; ``words`` has a bit for each non-zero word."""
    if at >= end:
        return end
    boundary = min(end, ((at >> 6) + 1) << 6)
    found = _next_bit(bits, at, boundary)
    if found < boundary or boundary == end:
        return found
    word = _next_bit(words, boundary >> 6, ((end - 1) >> 6) + 1)
    return _next_bit(bits, word << 6, end) if word << 6 < end else end
