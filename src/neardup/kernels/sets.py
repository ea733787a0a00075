"""Sorted sets of 64-bit hashes: how many two have in common, with early exit below a bound."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True, inline="always")
def least_shared(size_a, size_b, numerator, denominator):
    """Smallest |A∩B| at which |A∩B| / |A∪B| ≥ numerator / denominator, in whole numbers.

    s / (a + b − s) ≥ p / q  ⇔  s·(p + q) ≥ p·(a + b).
    """
    both = numerator + denominator
    return (numerator * (size_a + size_b) + both - 1) // both


@njit(cache=True, nogil=True)
def shared_at_least(hashes, begin_a, end_a, begin_b, end_b, least):
    """|A∩B| of two sorted distinct runs of ``hashes`` (uint64), or −1 as soon as it must be below ``least``."""
    shared = 0
    # how many elements of each may still fail to match before the bound is out of reach
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
def verify_pairs(hashes, offsets, sets_a, sets_b, numerator, denominator, shared):
    """Fill ``shared`` (int64[n]) with |A∩B| of each pair of sets, or −1 where J < numerator / denominator.

    Set k is ``hashes[offsets[k]:offsets[k + 1]]``; ``sets_a``, ``sets_b`` (int64[n]) name the pairs.
    """
    for k in range(sets_a.size):
        begin_a, end_a = offsets[sets_a[k]], offsets[sets_a[k] + 1]
        begin_b, end_b = offsets[sets_b[k]], offsets[sets_b[k] + 1]
        least = least_shared(end_a - begin_a, end_b - begin_b, numerator, denominator)
        shared[k] = shared_at_least(hashes, begin_a, end_a, begin_b, end_b, least)
