"""The criterion a pair must meet, and its similarity: every measure as a formula over |A∩B|, |A| and |B|.

A measure combines the *features* it counts with a formula over the counts. Shingles, words, and shingles with
repeats are sets. For a measure of text in order, |A∩B| is the common text, and |A| and |B| are the tokens of the
documents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.kernels import sets
from neardup.kernels.formulas import CONTAINMENT, DICE, LARGER, OVERLAP, RESEMBLANCE
from neardup.kernels.sets import Criterion
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
    """
    return Criterion(*ratio(search.threshold), MEASURES[search.measure].formula)


def every_pair(measure: int) -> Criterion:
    """The criterion that any pair meets."""
    return Criterion(0, 1, measure)


def whole(shared: Int64s, size: Int64s, other: Int64s, formula: int) -> Int64s:
    """int64[n]: the denominator of the measure, seen from the set of ``size`` (int64[n])."""
    seen: Int64s = sets.whole(shared, size, other, formula)
    return seen


def similarity_of(shared: Int64s, size: Int64s, other: Int64s, formula: int) -> Floats:
    """float64[n]: the measure of pairs, seen from the sets of ``size``; only containment has a direction."""
    similarity: Floats = sets.part(shared, formula) / np.maximum(whole(shared, size, other, formula), 1)
    return similarity


def shared_by(similarity: Floats, size: Int64s, other: Int64s, formula: int) -> Int64s:
    """int64[n]: the |A∩B| from which :func:`similarity_of` computed these similarities; its inverse.

    With s shared elements the similarity is v = c·s / (w − d·s), so that s = v·w / (c + v·d).

    >>> sizes = np.array([60]), np.array([61])
    >>> shared_by(similarity_of(np.array([57]), *sizes, RESEMBLANCE), *sizes, RESEMBLANCE)
    array([57])
    """
    one = np.ones_like(size)
    disjoint = whole(one - 1, size, other, formula)
    fall = disjoint - whole(one, size, other, formula)
    return np.rint(similarity * disjoint / (sets.part(one, formula) + similarity * fall)).astype(np.int64)


def at_least(pairs: pa.Table, criterion: Criterion) -> Bools:
    """bool[pairs]: which pairs of a VERIFIED table meet the criterion."""
    shared, size_a, size_b = (column(pairs, name) for name in ("shared", "size_a", "size_b"))
    # containment holds if either direction reaches it: that of the smaller set
    most = whole(shared, np.minimum(size_a, size_b), np.maximum(size_a, size_b), criterion.measure)
    shares = sets.part(shared, criterion.measure)
    enough: Bools = shares * criterion.denominator >= criterion.numerator * most
    return enough
