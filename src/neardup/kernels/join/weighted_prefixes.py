"""Exact joins of sets with weights: prefix lists of the rarest elements, and the pairs that meet in them.

The elements of each set are in one order of all elements, the rarest first. ``rest`` of a place bounds what the
element there and those after it can add to a pair:

- *weighted resemblance* Σ min / Σ max: rest is their sum of weights. Let W be the sum of a whole set. A pair with
  Σ min ≥ t·Σ max has Σ max = W(x) + W(y) − Σ min, so Σ min ≥ t/(1+t) · (W(x) + W(y)). Also Σ max ≥ W(x), so
  Σ min ≥ t·W(x), and W(y) ≥ t·W(x). If W(x) ≤ W(y), then Σ min ≥ 2t/(1+t) · W(x).
- *weighted cosine* x·y / (‖x‖·‖y‖): rest is the norm of these elements. The products of the elements from some
  places on add at most the product of both rests (Cauchy and Schwarz), and a pair needs x·y ≥ t·‖x‖·‖y‖.

*Prefix* of x: the places whose rest is at least t times the first rest, W(x) or ‖x‖. The first element, in the one
order, that both sets of a pair have is in both prefixes. Otherwise all elements that they share would be at places
of x, or of y, whose rest is below t·W(x), so that Σ min < t·W(x); or below t·‖x‖, so that x·y < t·‖x‖·‖y‖. The
prefixes are those of Chaudhuri, Ganti and Kaushik 2006 for weights, and of Anastasiu and Karypis 2014 ("L2AP") for
norms. So a pair is looked at where it first meets, and counted from there on while the rests leave room for it.

Where most elements are in many sets, prefixes are long, and most sets that meet in them are no pair. A set whose
prefix has many members then adds up the minima or products in the lists of all its elements, and merges nothing.
Both ways add in the same order.

Sums of float64 have rounding errors: the caller lowers t by more than these, and decides about pairs close to t.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.declarations import Float64s, Int64s, record
from neardup.kernels.sorting import first_within, with_space

_MERGED = 4
"""To merge a member of a prefix list costs about as much as this many additions (measured)."""


@record
class WeightedRows(NamedTuple):
    """Sets with weights: set x is at the places from ``offsets[x]`` to ``offsets[x + 1]``, and is not empty."""

    elements: Int64s  # int64[places] ascending in each set, the rarest first
    weights: Float64s  # float64[places] above 0
    rest: Float64s  # float64[places]: see above
    offsets: Int64s  # int64[sets + 1]


@record
class ElementLists(NamedTuple):
    """The sets with element k: two ascending lists, from ``first[2k]`` to ``first[2k + 1]`` to ``first[2k + 2]``.

    The first one has the sets with k in their prefix.
    """

    first: Int64s  # int64[2 · elements + 1]
    members: Int64s  # int64[entries]
    places: Int64s  # int64[entries] the place of the element in the set
    weights: Float64s  # float64[entries] its weight there


@entry("float64[:], int64[:], bool, out float64[:] -> None")
def fill_rests(weights, offsets, by_product, rest):
    """Fill ``rest`` (float64[places]) of sets: sums of weights, or norms if pairs are counted ``by_product``."""
    for x in range(offsets.size - 1):
        total = 0.0
        for i in range(offsets[x + 1] - 1, offsets[x] - 1, -1):
            total += weights[i] * weights[i] if by_product else weights[i]
            rest[i] = np.sqrt(total) if by_product else total


@part
def _common(left, right, i, end_i, j, end_j, least, by_product):
    """Return Σ min or Σ products from the places i and j on, or −1 once it must be below ``least``."""
    total = 0.0
    while i < end_i and j < end_j:
        rest, other = left.rest[i], right.rest[j]
        if total + (rest * other if by_product else min(rest, other)) < least:
            return -1.0
        a, b = left.elements[i], right.elements[j]
        if a == b:
            one, two = left.weights[i], right.weights[j]
            total += one * two if by_product else min(one, two)
        i += a <= b
        j += b <= a
    return total if total >= least else -1.0


@part(inline=True)
def _least_of(whole, other, least, by_product):
    """Return the least Σ min or Σ products of a pair of sets with these first rests."""
    return least * whole * other if by_product else least / (1.0 + least) * (whole + other)


@part
def _merge(left, right, lists, x, probe, spans, rule, out):
    """Set the ``totals`` of the sets that x meets in prefixes, 0 for those that are no pair; return their number.

    ``out`` are the totals and the sets ``met``. The totals of all others are −1. The entries of list n of x are
    from ``spans[n, 0]`` to before ``spans[n, 1]``. The ``rule`` is the least measure, and whether it has products.
    """
    (least, by_product), (totals, met) = rule, out
    count, first, end = 0, left.offsets[x], left.offsets[x + 1]
    whole = left.rest[first]
    for i in range(first, probe):
        for n in range(spans[2 * (i - first), 0], spans[2 * (i - first), 1]):
            y = lists.members[n]
            if totals[y] >= 0.0:
                continue
            needed = _least_of(whole, right.rest[right.offsets[y]], least, by_product)
            end_y = right.offsets[y + 1]
            total = _common(left, right, i, end, lists.places[n], end_y, needed, by_product)
            met[count], totals[y] = y, max(total, 0.0)
            count += 1
    return count


@part
def _add(left, lists, x, spans, by_product, out):
    """Like ``_merge``, for all sets that have an element of x; no total is left out."""
    totals, met = out
    count, first = 0, left.offsets[x]
    for number in range(2 * (left.offsets[x + 1] - first)):
        weight = left.weights[first + number // 2]
        for n in range(spans[number, 0], spans[number, 1]):
            y, other = lists.members[n], lists.weights[n]
            if totals[y] < 0.0:
                met[count], totals[y] = y, 0.0
                count += 1
            totals[y] += weight * other if by_product else min(weight, other)
    return count


@part
def _fill_spans(left, lists, x, begin, end, half, partners, spans):
    """Fill the ``spans`` of one of both lists of elements of x, from place ``begin`` on; return their entries."""
    total = np.int64(0)
    for i in range(begin, end):
        k, n = 2 * left.elements[i] + half, 2 * (i - left.offsets[x]) + half
        spans[n, 0] = first_within(lists.members, lists.first[k], lists.first[k + 1], partners[x, 0])
        spans[n, 1] = first_within(lists.members, spans[n, 0], lists.first[k + 1], partners[x, 1])
        total += spans[n, 1] - spans[n, 0]
    return total


@entry(
    "WeightedRows, WeightedRows, ElementLists, int64[:], int64[:, :], (int64, int64), float64, bool"
    " -> float64[:, :]"
)
def weighted_pairs(left, right, lists, probes, partners, chosen, least, by_product):
    """Return the pairs with ``chosen`` sets of the left side as rows (x, y, Σ min or Σ products), float64[n, 3].

    ``chosen`` are the first set and the one after the last. The prefix of x ends before the place ``probes[x]``
    (int64[sets]). Its partners are among the sets of the right side from ``partners[x, 0]`` to before
    ``partners[x, 1]`` (int64[sets, 2]), whose ``lists`` these are. A pair has a measure of ``least`` or above: the
    threshold less the rounding errors.
    """
    found, used = np.empty((64, 3), np.float64), 0  # which has the numbers of 2³² sets exactly
    sets, longest = right.offsets.size - 1, np.int64(0)
    totals, met = np.full(sets, -1.0), np.empty(sets, np.int64)
    for x in range(chosen[0], chosen[1]):
        longest = max(longest, left.offsets[x + 1] - left.offsets[x])
    spans = np.empty((2 * longest, 2), np.int64)
    for x in range(chosen[0], chosen[1]):
        first, probe, end = left.offsets[x], probes[x], left.offsets[x + 1]
        to_merge = _fill_spans(left, lists, x, first, probe, 0, partners, spans)
        to_add = to_merge
        if to_merge > end - first:  # else it is not worth the search
            to_add += _fill_spans(left, lists, x, probe, end, 0, partners, spans)
            to_add += _fill_spans(left, lists, x, first, end, 1, partners, spans)
        if to_merge <= end - first or _MERGED * to_merge < to_add:
            count = _merge(left, right, lists, x, probe, spans, (least, by_product), (totals, met))
        else:
            count = _add(left, lists, x, spans, by_product, (totals, met))
        for number in range(count):
            y = met[number]
            total, totals[y] = totals[y], -1.0
            if total < _least_of(left.rest[first], right.rest[right.offsets[y]], least, by_product):
                continue
            found = with_space(found, used)
            found[used, 0], found[used, 1], found[used, 2] = x, y, total
            used += 1
    return found[:used].copy()
