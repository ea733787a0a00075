"""Sorted sets of 64-bit hashes: the number of common elements of two, with early exit below a bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiled import njit

RESEMBLANCE, CONTAINMENT, OVERLAP, LARGER, DICE = 0, 1, 2, 3, 4

ANY_SIZE = np.int64(1) << np.int64(62)


class Criterion(NamedTuple):
    """The pairs to find: those whose ``measure`` is at least ``numerator / denominator``.

    RESEMBLANCE is |A∩B| / |A∪B|, OVERLAP |A∩B| / min(|A|, |B|), LARGER |A∩B| / max(|A|, |B|). CONTAINMENT is
    |A∩B| / |A| and has a direction; a pair meets the criterion if either of its directions does, which is when the
    overlap does. DICE is |A∩B| / (|A| + |B|), half the coefficient of that name, so that it is a fraction of
    integers like the others: for a Dice threshold of t, use t / 2. The quantities |A∩B|, |A| and |B| need not
    belong to sets: the bounds hold for common text and lengths, too.
    """

    numerator: int
    denominator: int
    measure: int


@njit(cache=True, nogil=True, inline="always")
def least_shared(size_a, size_b, criterion):
    """Return the smallest |A∩B|, an integer, with which a pair of the given sizes meets the criterion.

    s / (a + b − s) ≥ p / q  ⇔  s·(p + q) ≥ p·(a + b);  s / a ≥ p / q  ⇔  s·q ≥ p·a.
    """
    p, q = criterion.numerator, criterion.denominator
    if criterion.measure == DICE:
        return (p * (size_a + size_b) + q - 1) // q
    if criterion.measure == RESEMBLANCE:
        return (p * (size_a + size_b) + p + q - 1) // (p + q)
    if criterion.measure == LARGER:
        return (p * max(size_a, size_b) + q - 1) // q
    return (p * min(size_a, size_b) + q - 1) // q


@njit(cache=True, nogil=True, inline="always")
def smallest_partner(size, criterion):
    """Return the smallest size of a set that meets the criterion with a set of ``size``.

    b / (a + b) ≥ p / q  ⇔  b·(q − p) ≥ p·a.
    """
    if criterion.measure == DICE:
        rest = criterion.denominator - criterion.numerator
        return (criterion.numerator * size + rest - 1) // rest
    if criterion.measure == RESEMBLANCE or criterion.measure == LARGER:
        return (criterion.numerator * size + criterion.denominator - 1) // criterion.denominator
    return np.int64(1)


@njit(cache=True, nogil=True, inline="always")
def largest_partner(size, common, criterion):
    """Return the greatest size of such a partner if it can share at most ``common`` elements; 0 without any."""
    p, q = criterion.numerator, criterion.denominator
    if criterion.measure == DICE:
        return common * q // p - size if q * common >= 2 * p * size else np.int64(0)
    fits = q * common >= p * size  # enough can be shared with a set of the same size
    if criterion.measure == RESEMBLANCE:
        return common * (p + q) // p - size if fits else np.int64(0)
    if criterion.measure == LARGER:
        return common * q // p if fits else np.int64(0)
    return ANY_SIZE if fits else common * q // p


@njit(cache=True, nogil=True, inline="always")
def whole_of(shared, size, other, measure):
    """Return the denominator of the measure, seen from the set of ``size``: the measure is shared / whole."""
    if measure == RESEMBLANCE:
        return size + other - shared
    if measure == LARGER:
        return max(size, other)
    if measure == DICE:
        return size + other
    return size if measure == CONTAINMENT else min(size, other)


@njit(cache=True, nogil=True)
def shared_at_least(hashes, begin_a, end_a, begin_b, end_b, least):
    """Return |A∩B| of two sorted distinct runs of ``hashes`` (uint64), or −1 once it must be below ``least``."""
    shared = 0
    # the number of elements of each that may fail to match before the bound is out of reach
    spare_a = end_a - begin_a - least
    spare_b = end_b - begin_b - least
    i, j = begin_a, begin_b
    while i < end_a and j < end_b:
        if spare_a < 0 or spare_b < 0:
            return -1
        a, b = hashes[i], hashes[j]
        shared += a == b
        spare_a -= a < b
        spare_b -= b < a
        i += a <= b
        j += b <= a
    return shared if shared >= least else -1


@njit(cache=True, nogil=True)
def verify_pairs(hashes, offsets, sets_a, sets_b, criterion, shared):
    """Fill ``shared`` (int64[n]) with |A∩B| of each pair of sets, or −1 if it does not meet the criterion.

    Set k is ``hashes[offsets[k]:offsets[k + 1]]``; ``sets_a``, ``sets_b`` (int64[n]) are the numbers of the pairs.
    """
    for k in range(sets_a.size):
        begin_a, end_a = offsets[sets_a[k]], offsets[sets_a[k] + 1]
        begin_b, end_b = offsets[sets_b[k]], offsets[sets_b[k] + 1]
        least = least_shared(end_a - begin_a, end_b - begin_b, criterion)
        shared[k] = shared_at_least(hashes, begin_a, end_a, begin_b, end_b, least)


@njit(cache=True, nogil=True)
def count_shared(wanted, hashes, offsets, shared):
    """Fill ``shared`` (int64[n]) with the number of ``wanted`` (uint64, sorted, distinct) in each of n sets."""
    for k in range(shared.size):
        i, j, end = 0, offsets[k], offsets[k + 1]
        found = np.int64(0)
        while i < wanted.size and j < end:
            a, b = wanted[i], hashes[j]
            found += a == b
            i += a <= b
            j += b <= a
        shared[k] = found
