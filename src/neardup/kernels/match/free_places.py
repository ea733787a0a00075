"""Free and used places (tokens outside and inside tiles): bit maps of two levels that find the next one fast."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.bitmap import next_set, no_bits
from neardup.kernels.compiled import njit

_ONE, _ALL = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
_63 = np.int64(63)


class FreePlaces(NamedTuple):
    """The free places and the places in a tile: one bit each, and one bit for each word that is not 0."""

    free: Any  # uint64[places / 64 + 1]
    free_words: Any  # uint64[places / 4096 + 1]
    marked: Any
    marked_words: Any


@njit(cache=True, nogil=True)
def all_free(n):
    """Return ``FreePlaces`` in which the first n are free and none is marked."""
    free, marked = no_bits(n), no_bits(n)
    _move(0, n, marked, free)
    return FreePlaces(free[0], free[1], marked[0], marked[1])


@njit(cache=True, nogil=True)
def free_where(flags_a, flags_b):
    """Return the places of A, then of B (bool per place): free where the flag is set, in a tile elsewhere."""
    m, total = flags_a.size, flags_a.size + flags_b.size
    places = all_free(total)
    begin = -1
    for place in range(total + 1):
        free = place == total or (flags_a[place] if place < m else flags_b[place - m])
        if not free and begin < 0:
            begin = place
        elif free and begin >= 0:
            mark(places, begin, place)
            begin = -1
    return places


@njit(cache=True, nogil=True)
def mark(places, begin, end):
    """Mark the places [begin, end) as no longer free."""
    _move(begin, end, (places.free, places.free_words), (places.marked, places.marked_words))


@njit(cache=True, nogil=True)
def _move(begin, end, source, target):
    """Clear the bits [begin, end) in ``source`` and set them in ``target``, each (bits, words)."""
    for word in range(begin >> 6, ((end - 1) >> 6) + 1):
        bits = _ALL
        if word == begin >> 6:
            bits &= _ALL << np.uint64(begin & _63)
        if word == (end - 1) >> 6:
            bits &= _ALL >> np.uint64(63 - ((end - 1) & _63))
        source[0][word] &= ~bits
        target[0][word] |= bits
        above = _ONE << np.uint64(word & _63)
        if source[0][word] == 0:
            source[1][word >> 6] &= ~above
        target[1][word >> 6] |= above


@njit(cache=True, nogil=True)
def next_free(places, at, end):
    """Return the first free place in [at, end), or end."""
    return next_set(places.free, places.free_words, at, end)


@njit(cache=True, nogil=True)
def next_marked(places, at, end):
    """Return the first place in [at, end) that is in a tile, or end."""
    return next_set(places.marked, places.marked_words, at, end)
