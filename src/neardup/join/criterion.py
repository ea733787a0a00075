"""The criterion a pair must meet, and its similarity, from |A∩B|, |A| and |B| by the formula of a measure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from neardup.kernels import sets
from neardup.kernels.formulas import HELD, OVERLAP
from neardup.kernels.sets import Criterion
from neardup.measures import MEASURES
from neardup.settings import SearchSettings, ratio
from neardup.tables import Bools, Floats, Int64s, column


def criterion_of(search: SearchSettings) -> Criterion:
    """The measure and the threshold of a run, in whole numbers.

    >>> criterion_of(SearchSettings(threshold=0.8))
    Criterion(numerator=4, denominator=5, measure=0)
    """
    return Criterion(*ratio(search.threshold), MEASURES[search.measure].formula)


def formula_of_old(search: SearchSettings, held: str) -> int:
    """The formula of the pairs of new documents with those of the reference set, seen from the new ones.

    >>> formula_of_old(SearchSettings(measure="containment"), "old-in-new") == HELD
    True
    """
    directions = {"old-in-new": HELD, "either": OVERLAP}
    return directions.get(held, MEASURES[search.measure].formula)


def every_pair(formula: int) -> Criterion:
    """The criterion that any pair meets."""
    return Criterion(0, 1, formula)


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
    >>> formula = MEASURES["resemblance"].formula
    >>> shared_by(similarity_of(np.array([57]), *sizes, formula), *sizes, formula)
    array([57])
    """
    one = np.ones_like(size)
    disjoint = whole(one - 1, size, other, formula)
    fall = disjoint - whole(one, size, other, formula)
    shared: Int64s = np.rint(similarity * disjoint / (sets.part(one, formula) + similarity * fall)).astype(
        np.int64
    )
    return shared


def takes_any_subset(formula: int) -> bool:
    """Whether a set meets any criterion with each of its subsets, however small.

    >>> takes_any_subset(MEASURES["overlap"].formula), takes_any_subset(MEASURES["resemblance"].formula)
    (True, False)
    """
    return bool(sets.whole(0, 0, 1, formula) == 0)


def at_least(pairs: pa.Table, criterion: Criterion) -> Bools:
    """bool[pairs]: which pairs of a VERIFIED table meet the criterion."""
    shared, size_a, size_b = (column(pairs, name) for name in ("shared", "size_a", "size_b"))
    # containment holds if either direction reaches it: that of the smaller set
    most = whole(shared, np.minimum(size_a, size_b), np.maximum(size_a, size_b), criterion.measure)
    shares = sets.part(shared, criterion.measure)
    enough: Bools = shares * criterion.denominator >= criterion.numerator * most
    return enough
