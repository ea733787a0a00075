"""The criterion a pair must meet, and its similarity: every measure as a formula over |A∩B|, |A| and |B|.

A measure combines the *features* it counts with a formula over the counts. Shingles, words, and shingles with
repeats are sets. For a measure of text in order, |A∩B| is the common text, and |A| and |B| are the tokens of the
documents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.kernels.sets import CONTAINMENT, DICE, LARGER, OVERLAP, RESEMBLANCE, Criterion
from neardup.settings import Features, Search, ratio
from neardup.tables import Bools, Floats, Int64s, column


class Measure(NamedTuple):
    """The features a measure counts, and its ``formula`` over the counts, by the kernels' number."""

    features: Features
    formula: int


MEASURES = {
    "resemblance": Measure("shingles", RESEMBLANCE),
    "containment": Measure("shingles", CONTAINMENT),
    "overlap": Measure("shingles", OVERLAP),
    "bag-of-words": Measure("words", RESEMBLANCE),
    "multiset": Measure("occurrences", RESEMBLANCE),
    "chunk-longest": Measure("tokens", LARGER),
    "chunk-union": Measure("tokens", RESEMBLANCE),
    "lcs": Measure("tokens", DICE),
}
"""The measures of ``settings.Search``; the ones over tokens count common text."""

NUMBERS = {name: measure.formula for name, measure in MEASURES.items()}
"""The formula of each measure."""


def criterion_of(search: Search) -> Criterion:
    """The measure and the threshold of a run, in whole numbers.

    >>> criterion_of(Search(threshold=0.8))
    Criterion(numerator=4, denominator=5, measure=0)
    >>> criterion_of(Search(threshold=0.8, measure="lcs"))  # 2·common / (a + b) ≥ 4/5: common / (a + b) ≥ 4/10
    Criterion(numerator=4, denominator=10, measure=4)
    """
    formula = MEASURES[search.measure].formula
    numerator, denominator = ratio(search.threshold)
    return Criterion(numerator, denominator * _times(formula), formula)


def _times(measure: int) -> int:
    """The factor of |A∩B| in the measure; the criterion of the kernels counts it once."""
    return 2 if measure == DICE else 1


def every_pair(measure: int) -> Criterion:
    """The criterion that any pair meets."""
    return Criterion(0, 1, measure)


def whole(shared: Int64s, size: Int64s, other: Int64s, measure: int) -> Int64s:
    """int64[n]: the denominator of the measure, shared / whole, seen from the set of ``size`` (int64[n]).

    With DICE the measure is 2 · shared / whole.
    """
    if measure == RESEMBLANCE:
        return size + other - shared
    if measure == LARGER:
        return np.maximum(size, other)
    if measure == DICE:
        return size + other
    return size if measure == CONTAINMENT else np.minimum(size, other)


def similarity_of(shared: Int64s, size: Int64s, other: Int64s, measure: int) -> Floats:
    """float64[n]: the measure of pairs, seen from the sets of ``size``; only containment has a direction."""
    return _times(measure) * shared / np.maximum(whole(shared, size, other, measure), 1)


def shared_by(similarity: Floats, size: Int64s, other: Int64s, measure: int) -> Int64s:
    """int64[n]: the |A∩B| from which :func:`similarity_of` computed these similarities; its inverse.

    >>> sizes = np.array([60]), np.array([61])
    >>> shared_by(similarity_of(np.array([57]), *sizes, RESEMBLANCE), *sizes, RESEMBLANCE)
    array([57])
    """
    if measure == RESEMBLANCE:  # J = s / (a + b − s)
        shared = similarity * (size + other) / (1 + similarity)
    else:
        shared = similarity * whole(np.zeros_like(size), size, other, measure) / _times(measure)
    return np.rint(shared).astype(np.int64)


def at_least(pairs: pa.Table, criterion: Criterion) -> Bools:
    """bool[pairs]: which pairs of a VERIFIED table meet the criterion."""
    shared, size_a, size_b = (column(pairs, name) for name in ("shared", "size_a", "size_b"))
    # containment holds if either direction reaches it, and the smaller set's containment is the overlap
    measure = OVERLAP if criterion.measure == CONTAINMENT else criterion.measure
    enough: Bools = shared * criterion.denominator >= criterion.numerator * whole(shared, size_a, size_b, measure)
    return enough
