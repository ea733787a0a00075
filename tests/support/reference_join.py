"""Brute-force join of thousands of sets: every shared shingle counted, integers to decide.

Nothing is hashed, filtered or bounded: |A∩B| of all pairs comes from walking, for each set, through the whole
lists of all sets that have one of its shingles. What counts as a pair is one function of (|A∩B|, |A|, |B|).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Criterion = Callable[[Ints, Ints, Ints], NDArray[np.bool_]]
"""(|A∩B|, |A|, |B|) of some pairs → which of them are at or above the threshold."""


@dataclass(frozen=True)
class NaiveSets:
    """Set k is ``members[offsets[k]:offsets[k + 1]]``: numbers of shingles, each once."""

    members: Ints
    offsets: Ints

    @property
    def sizes(self) -> Ints:
        return np.diff(self.offsets)


@dataclass(frozen=True)
class Joined:
    """Pairs a < b by (a, b), with |A∩B|, |A| and |B|."""

    a: Ints
    b: Ints
    shared: Ints
    size_a: Ints
    size_b: Ints

    def rows(self) -> list[tuple[int, ...]]:
        columns = (self.a, self.b, self.shared, self.size_a, self.size_b)
        return list(zip(*(column.tolist() for column in columns), strict=True))


# --- criteria: cross-multiplied, so that nothing is rounded


def resemblance(least: Fraction) -> Criterion:
    """|A∩B| / |A∪B| ≥ least."""
    return lambda shared, a, b: shared * least.denominator >= least.numerator * (a + b - shared)


def overlap(least: Fraction) -> Criterion:
    """|A∩B| / min(|A|, |B|) ≥ least."""
    return lambda shared, a, b: shared * least.denominator >= least.numerator * np.minimum(a, b)


def larger(least: Fraction) -> Criterion:
    """|A∩B| / max(|A|, |B|) ≥ least."""
    return lambda shared, a, b: shared * least.denominator >= least.numerator * np.maximum(a, b)


def dice(least: Fraction) -> Criterion:
    """2·|A∩B| / (|A| + |B|) ≥ least."""
    return lambda shared, a, b: 2 * shared * least.denominator >= least.numerator * (a + b)


def cosine(least: Fraction) -> Criterion:
    """|A∩B| / √(|A|·|B|) ≥ least, squared; for a few elements, whose squares are small."""
    return lambda shared, a, b: (shared * least.denominator) ** 2 >= least.numerator**2 * a * b


# --- sets


def sets_of_numbers(sets: Sequence[set[int]]) -> NaiveSets:
    """Return sets of any numbers as sets of numbers from 0 on."""
    values = [value for values in sets for value in values]
    number_of = {value: k for k, value in enumerate(sorted(set(values)))}
    members = np.array([number_of[value] for value in values], np.int64)
    return NaiveSets(members, np.cumsum([0, *map(len, sets)]).astype(np.int64))


# --- the join


def join(sets: NaiveSets, criterion: Criterion) -> Joined:
    """Return every pair that shares a shingle and meets the criterion, by a complete inverted index."""
    sizes, n = sets.sizes, len(sets.offsets) - 1
    document = np.repeat(np.arange(n), sizes)
    listed = document[np.argsort(sets.members, kind="stable")]  # for each shingle its documents, ascending
    lengths = np.bincount(sets.members)
    starts = np.cumsum(lengths) - lengths
    entered = np.zeros(len(lengths), np.int64)  # of each list, the documents before the present one
    found = []
    for b in range(n):
        own = sets.members[sets.offsets[b] : sets.offsets[b + 1]]
        before = entered[own]
        at = np.repeat(starts[own] - (np.cumsum(before) - before), before) + np.arange(before.sum())
        shared = np.bincount(listed[at], minlength=1)
        a = np.flatnonzero(shared)
        a = a[criterion(shared[a], sizes[a], np.full(len(a), sizes[b]))]
        found.append(np.stack([a, np.full(len(a), b), shared[a]]))
        entered[own] += 1
    a, b, shared = np.concatenate([np.zeros((3, 0), np.int64), *found], axis=1)
    order = np.lexsort((b, a))
    a, b, shared = a[order], b[order], shared[order]
    return Joined(a, b, shared, sizes[a], sizes[b])


def cosine_of(shared: int, size_a: int, size_b: int) -> float:
    """|A∩B| / √(|A|·|B|): of whole numbers if it can be, else the root of the square."""
    root = isqrt(size_a * size_b)
    return shared / root if root**2 == size_a * size_b else sqrt(shared**2 / (size_a * size_b))


# --- the same for a few collections of any elements, without numbers


def counted_pairs(
    left: Sequence[Iterable[object]], right: Sequence[Iterable[object]] | None, measure: str, least: Fraction
) -> list[tuple[int, int, float, int, int, int]]:
    """Return (place, place, similarity, |A∩B|, |A|, |B|) of pairs of ``left`` and ``right``, or of ``left``."""
    rows = []
    counts = [
        [Counter(one if measure == "multiset" else set(one)) for one in side] for side in (left, right or ())
    ]
    numbers = combinations(range(len(left)), 2) if right is None else product(range(len(left)), range(len(right)))
    for a, b in numbers:
        one, other = counts[0][a], counts[right is not None][b]
        shared, size_a, size_b = (each.total() for each in (one & other, one, other))
        if not shared:
            continue
        held = min(size_a, size_b) if right is None else size_a
        smaller, larger = sorted((size_a, size_b))
        wholes = {"containment": held, "overlap": smaller, "overlap-max": larger, "dice": (size_a + size_b) / 2}
        whole = wholes.get(measure, size_a + size_b - shared)
        share, enough = shared / whole, shared / Fraction(whole) >= least
        if measure == "cosine":
            share, enough = cosine_of(shared, size_a, size_b), shared**2 >= least**2 * size_a * size_b
        if enough:
            rows.append((a, b, share, shared, size_a, size_b))
    return rows


# --- sets whose elements have weights


def weighted_by(
    sides: Sequence[Sequence[dict[int, float]]], weights: str | dict[int, float] | None
) -> list[list[dict[int, Fraction]]]:
    """Return the sets with each weight times the weight of its element, rounded once to float64."""
    every = [one for side in sides for one in side]
    factors = dict.fromkeys({element for one in every for element in one}, Fraction(1))
    for element in factors:
        if weights == "tf-idf":
            having = sum(one.get(element, 0) > 0 for one in every)
            idf = math.log((1 + len(every)) / (1 + having)) + 1
            factors[element] = Fraction(round(idf * 2**32), 2**32)
        elif isinstance(weights, dict):
            factors[element] = Fraction(weights[element])
    product = [[{e: Fraction(float(w * factors[e])) for e, w in one.items()} for one in side] for side in sides]
    return [[{e: w for e, w in one.items() if w} for one in side] for side in product]


def weighted_pairs(
    sides: Sequence[Sequence[dict[int, Fraction]]], measure: str, least: Fraction
) -> list[tuple[int, int, float, float, float, float]]:
    """Return the rows of pairs by the definitions of weighted resemblance or cosine, decided in fractions."""
    left, right = sides[0], sides[-1]
    numbers = (
        combinations(range(len(left)), 2) if len(sides) == 1 else product(range(len(left)), range(len(right)))
    )
    rows = []
    for a, b in numbers:
        one, other = left[a], right[b]
        both, either = one.keys() & other.keys(), one.keys() | other.keys()
        if not both:
            continue
        if measure == "weighted-cosine":
            shared = sum((one[e] * other[e] for e in both), Fraction())
            sizes = [sum((w * w for w in each.values()), Fraction()) for each in (one, other)]
            enough = shared**2 >= least**2 * sizes[0] * sizes[1]
            value, norms = math.sqrt(shared**2 / (sizes[0] * sizes[1])), [*map(math.sqrt, sizes)]
            row = (a, b, value, float(shared), *norms)
        else:
            shared = sum((min(one[e], other[e]) for e in both), Fraction())
            whole = sum((max(one.get(e, 0), other.get(e, 0)) for e in either), Fraction())
            enough = shared >= least * whole
            row = (a, b, float(shared / whole), float(shared), *(float(sum(w.values())) for w in (one, other)))
        if enough:
            rows.append(row)
    return rows
