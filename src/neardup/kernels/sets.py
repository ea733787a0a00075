"""Sorted sets of 64-bit hashes: the number of common elements of two, with early exit below a bound.

A measure is a fraction of counts, ``part_of / whole_of``. These two functions hold its formula. Every bound of a
search is derived from them: for a set A of fixed size, both are linear in |A∩B|, and piecewise linear in |B|. The
fraction of COSINE is the square of the measure, which is neither, and its bounds are written out.

*Parities* are a few words for each set that rule out most dissimilar pairs without reading the sets. Every element
flips one bit, chosen by its hash. The common elements of two sets cancel out in the xor of their words, and each
bit that remains set was flipped by an element of only one of them: |A Δ B| ≥ the number of such bits (Sandes,
Teodoro and Melo 2020, "Bitmap filter"). Folding the upper half of the words onto the lower one produces the
parities for one bit of the hash less, so that words of two lengths can be compared.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.bits import bit_count
from neardup.kernels.compiler import entry
from neardup.kernels.compiler import part as inner
from neardup.kernels.declarations import record
from neardup.kernels.formulas import CONTAINMENT, COSINE, DICE, HELD, LARGER, RESEMBLANCE, SHARED
from neardup.kernels.sorting import first_within, sort_distinct

ANY_SIZE = np.int64(1) << np.int64(62)


@record
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
    if formula == COSINE:
        return shared * shared
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
    if formula == COSINE:
        return size * other
    if formula == SHARED:
        return 1
    if formula == HELD:
        return other
    return size if formula == CONTAINMENT else np.minimum(size, other)


def value(shared: Any, size: Any, other: Any, formula: int) -> Any:
    """Return the measure seen from the set of ``size``, as float64 of integers, or float64[n] of int64[n] each.

    Shares that are equal as fractions are equal as floats while their whole numbers are below 2⁵³: division and
    square root round correctly. So is a cosine without a root in it to the share: 7 of 10 and 10 are .7.
    """
    parts, wholes = part(shared, formula), np.maximum(whole(shared, size, other, formula), 1)
    if formula != COSINE:
        return parts / wholes
    root = np.rint(np.sqrt(wholes)).astype(np.int64)
    return np.where(root * root == wholes, shared / root, np.sqrt(parts / wholes))


part_of = inner(part, inline=True)
whole_of = inner(whole, inline=True)


@inner(inline=True)
def _either_whole(shared, size, other, formula):
    """Return the denominator seen from the smaller set, whose direction is the greater one."""
    return whole_of(shared, min(size, other), max(size, other), formula)


@inner
def squared_share(number, criterion):
    """Return ⌈p²·number / q²⌉, for a ``number`` from 0 to 2⁶² and p ≤ q ≤ 2²⁰, or p = 1 and q < 2³¹.

    With number = u·q² + v·q + w, of v and w below q, it is p²·u + (p²·v·q + p²·w) / q². With p²·v = g·q + h that
    is p²·u + g + (h·q + p²·w) / q². No product is above 2⁶¹: p²·u ≤ number, p²·v and p²·w < q³, h·q < q².
    """
    p, q = criterion.numerator, criterion.denominator
    square, of = p * p, q * q
    rest = number % of
    more = square * (rest // q)
    last = (more % q) * q + square * (rest % q)
    return square * (number // of) + more // q + (last + of - 1) // of


@inner
def least_of_product(product, criterion):
    """Return the smallest s with s / √product ≥ p / q: with s² ≥ p²·product / q², the root rounded up.

    The root of a float is at most 1 off.
    """
    square = squared_share(product, criterion)
    root = np.int64(sqrt(square))
    while root * root < square:
        root += 1
    while root > 0 and (root - 1) * (root - 1) >= square:
        root -= 1
    return root


@inner(inline=True)
def least_shared(size_a, size_b, criterion):
    """Return the smallest |A∩B|, an integer, with which a pair of the given sizes meets the criterion.

    With s shared elements the measure is c·s / (w − d·s). c·s / (w − d·s) ≥ p / q  ⇔  s·(c·q + d·p) ≥ p·w.
    """
    p, formula = criterion.numerator, criterion.measure
    if formula == COSINE:
        return least_of_product(size_a * size_b, criterion)
    disjoint = _either_whole(0, size_a, size_b, formula)
    fall = disjoint - _either_whole(1, size_a, size_b, formula)
    each = part_of(1, formula) * criterion.denominator + fall * p
    return (p * disjoint + each - 1) // each


@inner(inline=True)
def smallest_partner(size, criterion):
    """Return the smallest size of a set, at least 1, that meets the criterion with a set of ``size``: of a subset.

    With a subset of b elements the measure is c·b / (w + d·b). c·b / (w + d·b) ≥ p / q  ⇔  b·(c·q − d·p) ≥ p·w.
    The cosine of a set of a elements and a subset is b / √(a·b) = √(b / a) ≥ p / q  ⇔  b ≥ p²·a / q².
    """
    p, formula = criterion.numerator, criterion.measure
    if formula == COSINE:
        return max(squared_share(size, criterion), 1)
    empty = _either_whole(0, size, 0, formula)
    rise = _either_whole(1, size, 1, formula) - empty
    each = max(part_of(1, formula) * criterion.denominator - rise * p, 1)  # 0 if any subset is a partner: w is 0
    return max((p * empty + each - 1) // each, 1)


@inner(inline=True)
def fewest_shared(size, criterion):
    """Return the fewest elements that a set of ``size`` shares with any partner: all of its smallest one.

    A larger partner shares no fewer, as ``least_shared`` rises with its size. If any subset is a partner, however
    small, only the partners of ``size`` or above are considered.
    """
    if criterion.measure != COSINE and _either_whole(0, size, 0, criterion.measure) == 0:
        return least_shared(size, size, criterion)
    return smallest_partner(size, criterion)


@inner(inline=True)
def largest_partner(size, common, criterion):
    """Return the greatest size of such a partner if it can share at most ``common`` elements; 0 without any.

    The greatest b with c·common·q ≥ p·whole: above ``size`` if that size is a partner, else above ``common``. By
    COSINE the greatest b with common² ≥ p²·size·b / q².
    """
    p, formula = criterion.numerator, criterion.measure
    if formula == COSINE:
        return _largest_by_cosine(size, common, criterion)
    most = part_of(common, formula) * criterion.denominator
    start = size if p * _either_whole(common, size, size, formula) <= most else common
    least = _either_whole(common, size, start, formula)
    if p * least > most:
        return np.int64(0)
    rise = _either_whole(common, size, start + 1, formula) - least
    return start + (most - p * least) // (p * rise) if rise > 0 else ANY_SIZE


@inner
def _largest_by_cosine(size, common, criterion):
    """Return the greatest b with squared_share(size·b) ≤ common², or 0 if that is below ``common``.

    The quotient of floats is at most 1 off below 2³¹; no set has more elements. An empty set has no partner.
    """
    p, q = criterion.numerator, criterion.denominator
    if size == 0:
        return np.int64(0)
    quotient = (common / p) * (common / p) * q * (q / size) if p > 0 else float(ANY_SIZE)
    if quotient >= 2147483647.0:
        return ANY_SIZE
    largest = np.int64(quotient)
    while squared_share(size * (largest + 1), criterion) <= common * common:
        largest += 1
    while largest > 0 and squared_share(size * largest, criterion) > common * common:
        largest -= 1
    return largest if largest >= common else np.int64(0)


@entry("int64[:], int64[:], int64[:], Criterion, out bool[:] -> None")
def meets(shared, sizes, others, criterion, met):
    """Fill ``met`` (bool[n]): whether pairs with these |A∩B|, |A| and |B| (int64[n] each) meet the criterion."""
    for k in range(shared.size):
        met[k] = shared[k] >= least_shared(sizes[k], others[k], criterion)


@entry("uint64[:], int64, int64, int64, int64, int64 -> int64")
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


@entry("uint64[:], int64[:], int64[:], int64[:], Criterion, out int64[:] -> None")
def verify_pairs(hashes, offsets, sets_a, sets_b, criterion, shared):
    """Fill ``shared`` (int64[n]) with |A∩B| of each pair of sets, or −1 if it does not meet the criterion.

    Set k is ``hashes[offsets[k]:offsets[k + 1]]``; ``sets_a``, ``sets_b`` (int64[n]) are the numbers of the pairs.
    """
    for k in range(sets_a.size):
        begin_a, end_a = offsets[sets_a[k]], offsets[sets_a[k] + 1]
        begin_b, end_b = offsets[sets_b[k]], offsets[sets_b[k] + 1]
        least = least_shared(end_a - begin_a, end_b - begin_b, criterion)
        shared[k] = shared_at_least(hashes, begin_a, end_a, begin_b, end_b, least)


@entry("uint64[:], int64[:], int64[:], int64[:], int64[:], out uint64[:], out int64[:] -> int64")
def residues(hashes, offsets, members, firsts, bases, out, counts):
    """Write the hashes of each member of a group outside its base that are in no set of the base.

    Set k is ``hashes[offsets[k]:offsets[k + 1]]`` (uint64, ascending). ``members`` (int64) are the sets of all
    groups: ``members[firsts[g]:firsts[g + 1]]`` is group g, and its first ``bases[g]`` sets are the base. The
    hashes found go to ``out`` (uint64), member by member, their numbers to ``counts`` (int64[members]), 0 for a
    base. Returns the number of hashes written.
    """
    held, scratch = np.empty(0, np.uint64), np.empty(0, np.uint64)
    used = 0
    for g in range(bases.size):
        first, middle, until = firsts[g], firsts[g] + bases[g], firsts[g + 1]
        total = 0
        for k in range(first, middle):
            counts[k] = 0
            total += offsets[members[k] + 1] - offsets[members[k]]
        if held.size < total:
            held, scratch = np.empty(2 * total, np.uint64), np.empty(2 * total, np.uint64)
        at = 0
        for k in range(first, middle):
            start, n = offsets[members[k]], offsets[members[k] + 1] - offsets[members[k]]
            for i in range(n):
                held[at + i] = hashes[start + i]
            at += n
        size = sort_distinct(held, total, scratch) if bases[g] > 1 else total
        for k in range(middle, until):
            before = used
            used = _missing(hashes, offsets[members[k]], offsets[members[k] + 1], held, size, out, used)
            counts[k] = used - before
    return used


@inner
def _missing(hashes, start, stop, held, size, out, used):
    """Append to ``out`` what of ``hashes[start:stop]`` is not in ``held[:size]``, both ascending.

    Each search begins where the last one ended and doubles its steps, so that a small set costs little in a large
    base.
    """
    low = 0
    for i in range(start, stop):
        value = hashes[i]
        high, step = low, 1
        while high < size and held[high] < value:
            low = high + 1
            high += step
            step *= 2
        low = first_within(held, low, min(high, size), value)
        if low == size or held[low] != value:
            out[used] = value
            used += 1
    return used


_63 = np.int64(63)
_ONE = np.uint64(1)
_AT_ONCE = 8
"""Words between two checks whether the bound is reached."""

_MOST_FOLDS = 4
"""Sets whose word counts differ by more than this factor are not compared: folding costs more than it saves."""


@entry("int64[:] -> int64[:]")
def parity_words(sizes):
    """Return int64[n + 1]: the first word of each set; a power of two of words, two bits or more per element."""
    begin = np.zeros(sizes.size + 1, np.int64)
    for x in range(sizes.size):
        words = np.int64(1)
        while 32 * words < sizes[x]:
            words *= 2
        begin[x + 1] = begin[x] + words
    return begin


@entry("uint64[:], int64[:], int64[:], int64[:], out uint64[:] -> None")
def fill_parities(hashes, starts, sizes, begin, words):
    """Fill ``words`` (uint64, zeros) with the parities of sets, from ``begin[x]`` on (``parity_words``)."""
    for x in range(starts.size):
        mask = np.uint64(64 * (begin[x + 1] - begin[x]) - 1)
        for i in range(starts[x], starts[x] + sizes[x]):
            bit = np.int64(hashes[i] & mask)
            words[begin[x] + (bit >> 6)] ^= _ONE << np.uint64(bit & _63)


@inner(inline=True)
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
