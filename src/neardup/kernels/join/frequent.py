"""Sets of one stock of shingles: the frequent ones as bits, so that common elements are counted by words.

Texts from one template share most shingles with thousands of others. A bit for each of the most frequent shingles
counts what two sets have in common of them; the rest of each set is short, and is merged. The count is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.bisection import first_within
from neardup.kernels.bits import bit_count
from neardup.kernels.compiled import njit
from neardup.kernels.join.prefix_index import shared_of
from neardup.kernels.sets import least_shared, shared_at_least

_63, _ONE = np.uint64(63), np.uint64(1)
_AT_ONCE = 8


class Searched(NamedTuple):
    """The documents that a search looks at, and their frequent shingles; without ``bits`` their sets are merged.

    Document ``inside[p]`` has ``bits.size // inside.size`` words of ``bits``, one bit for each frequent shingle.
    Its other shingles, except those of a single document, are ``rest[rest_at[p]:rest_at[p + 1]]``, ascending. They
    set the bits ``rest_bits[p]``.
    """

    left_out: Any  # bool[hubs]
    inside: Any  # int64: the documents that are not left out, ascending
    place: Any  # int32[hubs] place in ``inside``; empty without bits
    bits: Any  # uint64
    rest_at: Any  # int64[inside + 1]
    rest: Any  # uint64
    rest_bits: Any  # uint64[inside]


@njit(cache=True, nogil=True)
def fill_frequent(hashes, starts, sizes, frequent, repeats, bits, counts):
    """Set the bits of each set in ``bits`` (uint64[sets, words]), and fill ``counts`` (int64[sets]) of its rest.

    Bit k of a set says whether it has ``frequent[k]`` (uint64, ascending). ``repeats`` (uint8[power of two]) is 0
    at the low bits of a shingle of a single set.
    """
    mask = np.uint64(repeats.size - 1)
    for x in range(starts.size):
        low, rest = 0, 0
        for i in range(starts[x], starts[x] + sizes[x]):
            value = hashes[i]
            low = first_within(frequent, low, frequent.size, value)
            if low < frequent.size and frequent[low] == value:
                bits[x, low >> 6] |= _ONE << (np.uint64(low) & _63)
            else:
                rest += repeats[value & mask] > 0
        counts[x] = rest


@njit(cache=True, nogil=True)
def fill_rest(hashes, starts, sizes, frequent, repeats, rest_at, rest, rest_bits):
    """Fill ``rest`` (uint64) of each set from ``rest_at[x]`` on, and ``rest_bits`` (uint64[sets], zeros)."""
    mask = np.uint64(repeats.size - 1)
    for x in range(starts.size):
        low, at = 0, rest_at[x]
        if rest_at[x + 1] == at:
            continue
        for i in range(starts[x], starts[x] + sizes[x]):
            value = hashes[i]
            low = first_within(frequent, low, frequent.size, value)
            if (low == frequent.size or frequent[low] != value) and repeats[value & mask] > 0:
                rest[at] = value
                rest_bits[x] |= _ONE << (value & _63)
                at += 1


@njit(cache=True, nogil=True, inline="always")
def shared_bits(bits, p, q, words):
    """Return how many frequent shingles documents p and q share; each has this many ``words`` of ``bits``."""
    shared, at_p, at_q = np.int64(0), p * words, q * words
    whole = words - words % _AT_ONCE
    for first in range(0, whole, _AT_ONCE):  # a fixed number of words is compared in vectors
        for k in range(first, first + _AT_ONCE):
            shared += bit_count(bits[at_p + k] & bits[at_q + k])
    for k in range(whole, words):
        shared += bit_count(bits[at_p + k] & bits[at_q + k])
    return shared


@njit(cache=True, nogil=True)
def shared_rest(rest, spans, least):
    """Return |A∩B| of two runs of ``rest`` in ``spans`` = (begin and end of A, of B), or −1 if below ``least``."""
    return shared_at_least(rest, spans[0], spans[1], spans[2], spans[3], max(least, 0))


@njit(cache=True, nogil=True)
def shared_inside(hubs, criterion, searched, x, y):
    """Return |x∩y| of two documents inside the search, or −1 if the pair does not meet the criterion.

    They must not be on one side.
    """
    bits, rest_at = searched.bits, searched.rest_at
    if bits.size == 0:
        return shared_of(hubs, criterion, x, y)
    least = least_shared(hubs.sizes[x], hubs.sizes[y], criterion)
    p, q = searched.place[x], searched.place[y]
    shared = shared_bits(bits, p, q, bits.size // searched.inside.size)
    spans = (rest_at[p], rest_at[p + 1], rest_at[q], rest_at[q + 1])
    few = min(spans[1] - spans[0], spans[3] - spans[2])
    if shared + few < least or few == 0 or searched.rest_bits[p] & searched.rest_bits[q] == 0:
        return shared if shared >= least else np.int64(-1)
    more = shared_rest(searched.rest, spans, least - shared)
    return shared + more if more >= 0 else np.int64(-1)
