"""Sorted sets of 64-bit hashes: the number of common elements of two, with early exit below a bound.

A measure is a fraction of counts, ``part_of / whole_of``. These two functions hold its formula. Every bound of a
search is derived from them: for a set A of fixed size, both are linear in |A∩B|, and piecewise linear in |B|.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.formulas import CONTAINMENT, DICE, HELD, LARGER, RESEMBLANCE

ANY_SIZE = np.int64(1) << np.int64(62)


class Criterion(NamedTuple):
    """The pairs to find: those whose ``measure`` is at least ``numerator / denominator``.

    ``measure`` is a number of ``formulas``. CONTAINMENT has a direction; a pair meets the criterion if either of
    its directions does. The quantities |A∩B|, |A| and |B| need not belong to sets: the bounds hold for common text
    and lengths, too.
    """

    numerator: int
    denominator: int
    measure: int


def part(shared: Any, formula: int) -> Any:
    """Return the numerator of the measure; ``shared`` is an integer or int64[n]."""
    return 2 * shared if formula == DICE else shared


def whole(shared: Any, size: Any, other: Any, formula: int) -> Any:
    """Return the denominator of the measure, seen from the set of ``size``: integers, or int64[n] each.

    The bounds below rely on its shape: it falls by equal steps, or not, with ``shared``, and rises by equal steps,
    or not, with ``other`` below ``size`` and above.
    """
    if formula == RESEMBLANCE:
        return size + other - shared
    if formula == DICE:
        return size + other
    if formula == LARGER:
        return np.maximum(size, other)
    if formula == HELD:
        return other
    return size if formula == CONTAINMENT else np.minimum(size, other)


part_of = njit(cache=True, nogil=True, inline="always")(part)
whole_of = njit(cache=True, nogil=True, inline="always")(whole)


@njit(cache=True, nogil=True, inline="always")
def _either_whole(shared, size, other, formula):
    """Return the denominator seen from the smaller set, whose direction is the greater one."""
    return whole_of(shared, min(size, other), max(size, other), formula)


@njit(cache=True, nogil=True, inline="always")
def least_shared(size_a, size_b, criterion):
    """Return the smallest |A∩B|, an integer, with which a pair of the given sizes meets the criterion.

    With s shared elements the measure is c·s / (w − d·s). c·s / (w − d·s) ≥ p / q  ⇔  s·(c·q + d·p) ≥ p·w.
    """
    p, formula = criterion.numerator, criterion.measure
    disjoint = _either_whole(0, size_a, size_b, formula)
    fall = disjoint - _either_whole(1, size_a, size_b, formula)
    each = part_of(1, formula) * criterion.denominator + fall * p
    return (p * disjoint + each - 1) // each


@njit(cache=True, nogil=True, inline="always")
def smallest_partner(size, criterion):
    """Return the smallest size of a set, at least 1, that meets the criterion with a set of ``size``: of a subset.

    With a subset of b elements the measure is c·b / (w + d·b). c·b / (w + d·b) ≥ p / q  ⇔  b·(c·q − d·p) ≥ p·w.
    """
    p, formula = criterion.numerator, criterion.measure
    empty = _either_whole(0, size, 0, formula)
    rise = _either_whole(1, size, 1, formula) - empty
    each = max(part_of(1, formula) * criterion.denominator - rise * p, 1)  # 0 if any subset is a partner: w is 0
    return max((p * empty + each - 1) // each, 1)


@njit(cache=True, nogil=True, inline="always")
def fewest_shared(size, criterion):
    """Return the fewest elements that a set of ``size`` shares with any partner: all of its smallest one.

    If any subset is a partner, however small, only the partners of ``size`` or above are considered.
    """
    if _either_whole(0, size, 0, criterion.measure) == 0:
        return least_shared(size, size, criterion)
    return smallest_partner(size, criterion)


@njit(cache=True, nogil=True, inline="always")
def largest_partner(size, common, criterion):
    """Return the greatest size of such a partner if it can share at most ``common`` elements; 0 without any.

    The greatest b with c·common·q ≥ p·whole: above ``size`` if that size is a partner, else above ``common``.
    """
    p, formula = criterion.numerator, criterion.measure
    most = part_of(common, formula) * criterion.denominator
    start = size if p * _either_whole(common, size, size, formula) <= most else common
    least = _either_whole(common, size, start, formula)
    if p * least > most:
        return np.int64(0)
    rise = _either_whole(common, size, start + 1, formula) - least
    return start + (most - p * least) // (p * rise) if rise > 0 else ANY_SIZE


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
