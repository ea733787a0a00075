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

Sums of float64 have rounding errors: the caller lowers t by more than these, and decides about pairs close to t.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.declarations import Float64s, Int64s, record


@record
class WeightedRows(NamedTuple):
    """Sets with weights: set x is at the places from ``offsets[x]`` to ``offsets[x + 1]``, and is not empty."""

    elements: Int64s  # int64[places] ascending in each set, the rarest first
    weights: Float64s  # float64[places] above 0
    rest: Float64s  # float64[places]: see above
    offsets: Int64s  # int64[sets + 1]


@record
class ElementLists(NamedTuple):
    """The sets with an element in their prefix: ``members[first[k]:first[k + 1]]`` for element k, ascending."""

    first: Int64s  # int64[elements + 1]
    members: Int64s  # int64[entries]
    places: Int64s  # int64[entries] the place of the element in the set


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


@entry(
    "WeightedRows, WeightedRows, ElementLists, int64[:], int64[:, :], (int64, int64), float64, bool"
    " -> (int64[:, :], float64[:])"
)
def weighted_pairs(left, right, lists, probes, spans, chosen, least, by_product):
    """Return the pairs (int64[n, 2]) with ``chosen`` sets of the left side, and Σ min or Σ products (float64[n]).

    ``chosen`` are the first set and the one after the last. Set x looks up its places before ``probes[x]``
    (int64[sets]), and may be a pair with the sets of the right side from ``spans[x, 0]`` to ``spans[x, 1]``
    (int64[sets, 2]). ``lists`` are those of the right side. A pair has a measure of ``least`` or above, which is
    the threshold less the rounding errors.
    """
    pairs, common, used = np.empty((64, 2), np.int64), np.empty(64, np.float64), 0
    seen = np.full(right.offsets.size - 1, -1, np.int64)
    for x in range(chosen[0], chosen[1]):
        begin, end = left.offsets[x], left.offsets[x + 1]
        whole = left.rest[begin]
        for i in range(begin, probes[x]):
            k = left.elements[i]
            low, high = lists.first[k], lists.first[k + 1]
            while low < high:  # the first member of the span
                middle = (low + high) // 2
                if lists.members[middle] < spans[x, 0]:
                    low = middle + 1
                else:
                    high = middle
            for member in range(low, lists.first[k + 1]):
                y = lists.members[member]
                if y >= spans[x, 1]:
                    break
                if seen[y] == x:
                    continue
                seen[y] = x
                other = right.rest[right.offsets[y]]
                needed = least * whole * other if by_product else least / (1.0 + least) * (whole + other)
                total = _common(
                    left, right, i, end, lists.places[member], right.offsets[y + 1], needed, by_product
                )
                if total < 0.0:
                    continue
                if used == common.size:
                    longer, more = np.empty((2 * used, 2), np.int64), np.empty(2 * used, np.float64)
                    for row in range(used):
                        longer[row, 0], longer[row, 1], more[row] = pairs[row, 0], pairs[row, 1], common[row]
                    pairs, common = longer, more
                pairs[used, 0], pairs[used, 1], common[used] = x, y, total
                used += 1
    return pairs[:used].copy(), common[:used].copy()
