"""Sets whose elements have weights → the pairs that reach a threshold: Σ min / Σ max, or the cosine.

A weight is a float64, and the measure is defined on its exact value. Sums of float64 have rounding errors below a
known share. Pairs closer to the threshold are decided in whole numbers, so no pair at the threshold is missed,
whatever the order of the sums.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from neardup.io.inputs import SetElements
from neardup.kernels.join import ElementLists, WeightedRows, fill_rests, weighted_pairs
from neardup.runtime import ordered_map
from neardup.tables import Bools, Floats, Int64s

_DIGITS = 219
"""A float64 from 10^−50 on is a multiple of 2^−219."""

_IDF_DIGITS = 32
"""Rarities are multiples of 2^−32: logarithms may differ between machines in later digits."""

_SLICE = 1 << 12
"""Sets whose pairs one task looks for."""

_KEPT = 1 << 14
"""Sets that are held as whole numbers, at most."""


class WeightedPairs(NamedTuple):
    """Pairs of the sets a[k] and b[k], by these numbers: arrays of one length.

    ``shared`` is Σ min(w, w') with the sums of weights as sizes, or Σ w·w' with the norms.
    """

    a: Int64s
    b: Int64s
    similarity: Floats
    shared: Floats
    size_a: Floats
    size_b: Floats


class _Rows(NamedTuple):
    """The sets that are not empty, ordered by their ``totals``; their ``numbers`` in the collection."""

    rows: WeightedRows
    totals: Floats
    numbers: Int64s


def rarities(documents: Int64s, total: int) -> Floats:
    """Return the idf ln((1 + n)/(1 + df)) + 1 (float64) of elements; df are ``documents`` (int64), n is ``total``.

    It is the smoothed form of scikit-learn (``TfidfTransformer``, ``smooth_idf=True``), rounded to a multiple of
    2^−32. An element of every set has 1, and no element has less.

    >>> rarities(np.array([4, 1]), 4).round(4).tolist()
    [1.0, 1.9163]
    """
    idf = np.log((1 + total) / (1 + documents)) + 1
    rounded: Floats = np.ldexp(np.rint(np.ldexp(idf, _IDF_DIGITS)), -_IDF_DIGITS)
    return rounded


def weighted_similarity(one: SetElements, other: SetElements, by_product: bool) -> float:
    """Return Σ min / Σ max of two sets of different elements, or their cosine; 1 for two sets without weights."""
    _, i, j = np.intersect1d(one.numbers, other.numbers, return_indices=True)
    ours, theirs = one.weights[i], other.weights[j]
    if by_product:
        shared = math.fsum(ours * theirs)
        whole = math.sqrt(math.fsum(one.weights**2)) * math.sqrt(math.fsum(other.weights**2))
    else:
        least = np.minimum(ours, theirs)
        shared, whole = math.fsum(least), math.fsum([*one.weights, *other.weights, *-least])
    if not whole:
        return float(not one.weights.any() and not other.weights.any())
    return min(shared / whole, 1.0)


def join_weighted(
    sides: Sequence[SetElements], by_product: bool, threshold: tuple[int, int], threads: int
) -> WeightedPairs:
    """Return the pairs of one collection of sets, or of two, ordered by the numbers of the sets.

    The measure is Σ min / Σ max, ``by_product`` the cosine, and the threshold a fraction above 0, as (numerator,
    denominator). The different elements of each set have numbers from 0, alike in both, and weights of 0, or from
    10^−50 to 10^50. Sets without weights above 0 are in no pair. The same for any number of threads.
    """
    every = np.concatenate([side.numbers[side.weights > 0] for side in sides])
    documents = np.bincount(every, minlength=1)
    rank = np.empty(len(documents), np.int64)
    rank[np.argsort(documents, kind="stable")] = np.arange(len(documents))
    rows = [_rows_of(side, rank, by_product) for side in sides]
    left, right, alone = rows[0], rows[-1], len(sides) == 1
    longest = max((int(np.diff(each.rows.offsets).max(initial=0)) for each in rows), default=0)
    slack = (longest + 16) * 2.0**-49  # several times the errors of these sums, and of the formula
    value = threshold[0] / threshold[1]
    least = value * (1 - slack)
    shorter = 2 / (1 + least) if alone and not by_product else 1.0  # a set looks up no smaller ones
    probes = left.rows.offsets[:-1] + _prefix_sizes(left.rows, least * min(shorter, 1 / least))
    lists = _lists_of(right.rows, _prefix_sizes(right.rows, least), len(rank))
    partners = _partners(left, right, alone, 0.0 if by_product else least, slack)

    def work(first: int) -> Floats:
        chosen = first, min(first + _SLICE, len(left.numbers))
        joined: Floats = weighted_pairs(left.rows, right.rows, lists, probes, partners, chosen, least, by_product)
        return joined

    parts = ordered_map(work, range(0, len(left.numbers), _SLICE), threads)
    joined = np.concatenate([np.empty((0, 3)), *parts])
    pairs, shared = joined[:, :2].astype(np.int64), joined[:, 2]
    size_a, size_b = (side.rows.rest[side.rows.offsets[pairs[:, k]]] for k, side in enumerate((left, right)))
    similarity = shared / (size_a * size_b if by_product else size_a + size_b - shared)
    enough = similarity >= value * (1 + slack)
    close = np.flatnonzero(~enough)
    enough[close] = _reach_exactly(pairs[close], left.rows, right.rows, by_product, threshold)
    a, b = left.numbers[pairs[:, 0]], right.numbers[pairs[:, 1]]
    turned = a > b if alone else np.zeros(len(a), np.bool_)
    a, b = np.where(turned, b, a), np.where(turned, a, b)
    size_a, size_b = np.where(turned, size_b, size_a), np.where(turned, size_a, size_b)
    order = np.lexsort((b, a))
    order = order[enough[order]]
    shown = np.clip(similarity, value, 1.0)
    return WeightedPairs(*(values[order] for values in (a, b, shown, shared, size_a, size_b)))


def _rows_of(side: SetElements, rank: Int64s, by_product: bool) -> _Rows:
    """The sets with weights above 0, by their totals, with elements by rank."""
    owner = np.repeat(np.arange(len(side.sizes)), side.sizes)
    there = side.weights > 0
    owner, weights, elements = owner[there], side.weights[there], rank[side.numbers[there]]
    sizes = np.bincount(owner, minlength=len(side.sizes))
    totals: Any = np.bincount(owner, weights * weights if by_product else weights, minlength=len(sizes))
    numbers = np.argsort(totals, kind="stable")
    numbers = numbers[sizes[numbers] > 0]
    place = np.empty(len(sizes), np.int64)
    place[numbers] = np.arange(len(numbers))
    order = np.lexsort((elements, place[owner]))
    offsets = np.concatenate(([0], np.cumsum(sizes[numbers])))
    weights, rest = np.ascontiguousarray(weights[order]), np.empty(len(order))
    fill_rests(weights, offsets, by_product, rest)
    return _Rows(WeightedRows(elements[order], weights, rest, offsets), totals[numbers], numbers)


def _prefix_sizes(rows: WeightedRows, share: float) -> Int64s:
    """int64[sets]: the places of each set whose rest is at least this share of the whole."""
    sizes = np.diff(rows.offsets)
    inside = rows.rest >= share * np.repeat(rows.rest[rows.offsets[:-1]], sizes)
    before = np.concatenate(([0], np.cumsum(inside)))
    count: Int64s = before[rows.offsets[1:]] - before[rows.offsets[:-1]]
    return count


def _lists_of(rows: WeightedRows, prefixes: Int64s, elements: int) -> ElementLists:
    """The sets that have each of the ``elements``; ``prefixes`` are the sizes of theirs."""
    sizes = np.diff(rows.offsets)
    owner, places = np.repeat(np.arange(len(sizes)), sizes), np.arange(len(rows.elements))
    lists = 2 * rows.elements + (places >= np.repeat(rows.offsets[:-1] + prefixes, sizes))
    order = np.argsort(lists, kind="stable")
    first = np.concatenate(([0], np.cumsum(np.bincount(lists, minlength=2 * elements))))
    return ElementLists(first, owner[order], order, rows.weights[order])


def _partners(left: _Rows, right: _Rows, alone: bool, least: float, slack: float) -> Int64s:
    """int64[sets, 2]: the sets of the right side from ``least`` times the total of each on, up to its inverse.

    In one collection they begin after the set itself, so that each pair is found once. 0: any total will do.
    """
    count = len(left.totals)
    low, high = np.zeros(count, np.int64), np.full(count, len(right.totals))
    if least > 0:
        low = np.searchsorted(right.totals, left.totals * (least * (1 - slack)))
        high = np.searchsorted(right.totals, left.totals * ((1 + slack) / least), side="right")
    return np.column_stack((np.arange(1, count + 1) if alone else low, high))


def _reach_exactly(
    pairs: Int64s, left: WeightedRows, right: WeightedRows, by_product: bool, threshold: tuple[int, int]
) -> Bools:
    """bool[pairs]: whether each reaches the threshold, in whole numbers; once for all pairs of equal sets."""
    numbers: dict[tuple[bytes, bytes], int] = {}
    a, b = (_contents(rows, pairs[:, side], numbers) for side, rows in enumerate((left, right)))
    _, first, same = np.unique(a << 32 | b, return_index=True, return_inverse=True)

    @lru_cache(_KEPT)
    def whole(side: int, x: int) -> tuple[dict[int, int], int]:
        rows = (left, right)[side]
        span = slice(rows.offsets[x], rows.offsets[x + 1])
        weights = [*map(int, np.ldexp(rows.weights[span], _DIGITS).tolist())]
        total = sum(weight * weight for weight in weights) if by_product else sum(weights)
        return dict(zip(rows.elements[span].tolist(), weights, strict=True)), total

    numerator, denominator = threshold
    enough = np.empty(len(first), np.bool_)
    for k, (x, y) in enumerate(pairs[first].tolist()):
        (one, total), (other, second) = whole(0, x), whole(1, y)
        both = ((weight, other[element]) for element, weight in one.items() if element in other)
        if by_product:
            shared = sum(weight * theirs for weight, theirs in both)
            enough[k] = (denominator * shared) ** 2 >= numerator**2 * total * second
        else:
            shared = sum(min(pair) for pair in both)
            enough[k] = denominator * shared >= numerator * (total + second - shared)
    each: Bools = enough[same]
    return each


def _contents(rows: WeightedRows, sets: Int64s, numbers: dict[tuple[bytes, bytes], int]) -> Int64s:
    """int64[sets]: one number for all sets of the same elements and weights; ``numbers`` grow by new ones."""
    different, place = np.unique(sets, return_inverse=True)
    spans = [slice(rows.offsets[x], rows.offsets[x + 1]) for x in different]
    keys = [(rows.elements[span].tobytes(), rows.weights[span].tobytes()) for span in spans]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)[place]
