"""The criterion that two documents must meet to be a pair, and the columns by which they may be a pair.

The similarity is computed from |A∩B|, |A| and |B| by the formula of a measure.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from neardup.kernels import sets
from neardup.kernels.formulas import COSINE, HELD, OVERLAP
from neardup.kernels.sets import Criterion
from neardup.settings import MEASURES, SearchSettings, ratio
from neardup.tables import Bools, Floats, Int32s, Int64s, UInt64s, column


def criterion_of(search: SearchSettings) -> Criterion:
    """The measure and the threshold of a run, in whole numbers.

    >>> criterion_of(SearchSettings(threshold=0.8))
    Criterion(numerator=4, denominator=5, measure=0)
    """
    return Criterion(*ratio(search.threshold), MEASURES[search.measure].formula)


def formula_of_old(search: SearchSettings, side: str) -> int:
    """The formula of the pairs of new documents with those of the reference set, seen from the new ones.

    >>> formula_of_old(SearchSettings(measure="containment"), "old-in-new") == HELD
    True
    """
    directions = {"old-in-new": HELD, "either": OVERLAP}
    return directions.get(side, MEASURES[search.measure].formula)


def every_pair(formula: int) -> Criterion:
    """The criterion that any pair meets."""
    return Criterion(0, 1, formula)


def whole(shared: Int64s, size: Int64s, other: Int64s, formula: int) -> Int64s:
    """int64[n]: the denominator of the measure, seen from the set of ``size`` (int64[n])."""
    seen: Int64s = sets.whole(shared, size, other, formula)
    return seen


def similarity_of(shared: Int64s, size: Int64s, other: Int64s, formula: int) -> Floats:
    """float64[n]: the measure of pairs, seen from the sets of ``size``; only containment has a direction."""
    similarity: Floats = sets.value(shared, size, other, formula)
    return similarity


def shared_by(similarity: Floats, size: Int64s, other: Int64s, formula: int) -> Int64s:
    """int64[n]: the |A∩B| from which :func:`similarity_of` computed these similarities; its inverse.

    With s shared elements the similarity is v = c·s / (w − d·s), so that s = v·w / (c + v·d). A cosine is
    v = s / √w. The rounding of v moves s by less than a half while s is below 2⁵⁰.

    >>> sizes = np.array([60]), np.array([61])
    >>> formula = MEASURES["resemblance"].formula
    >>> shared_by(similarity_of(np.array([57]), *sizes, formula), *sizes, formula)
    array([57])
    """
    one = np.ones_like(size)
    disjoint = whole(one - 1, size, other, formula)
    if formula == COSINE:
        disjoint = np.sqrt(disjoint)
    fall = whole(one - 1, size, other, formula) - whole(one, size, other, formula)
    shared: Int64s = np.rint(similarity * disjoint / (sets.part(one, formula) + similarity * fall)).astype(
        np.int64
    )
    return shared


def takes_any_subset(formula: int) -> bool:
    """Whether a set meets any criterion with each of its subsets, however small.

    >>> takes_any_subset(MEASURES["overlap"].formula), takes_any_subset(MEASURES["resemblance"].formula)
    (True, False)
    """
    return formula != COSINE and bool(sets.whole(0, 0, 1, formula) == 0)


def at_least(pairs: pa.Table, criterion: Criterion) -> Bools:
    """bool[pairs]: which pairs of a VERIFIED table meet the criterion."""
    shared, size_a, size_b = (column(pairs, name) for name in ("shared", "size_a", "size_b"))
    enough = np.empty(len(shared), np.bool_)
    sets.meets(shared, size_a, size_b, criterion, enough)
    return enough


def _nothing() -> UInt64s:
    return np.empty(0, np.uint64)


@dataclass(frozen=True, eq=False)
class Related:
    """A hash of the values of each document, or of each row: equal for equal values. Empty: all are related.

    ``within`` and ``across`` are uint64[n].
    """

    within: UInt64s = field(default_factory=_nothing)
    across: UInt64s = field(default_factory=_nothing)

    @property
    def restricts(self) -> bool:
        """Whether some documents are not related to others."""
        return bool(len(self.within) or len(self.across))

    def of(self, rows: Int64s) -> "Related":
        """The same for some of the rows only, in that order."""
        return Related(
            self.within[rows] if len(self.within) else self.within,
            self.across[rows] if len(self.across) else self.across,
        )

    def simplify(self) -> "Related":
        """The same relations; if all have the same value within, nothing needs to be kept apart."""
        several = len(self.within) > 0 and bool((self.within != self.within[0]).any())
        return self if several else Related(across=self.across)

    def may_pair(self, a: Int64s, b: Int64s) -> Bools:
        """bool[n]: whether the documents a[k], b[k] may be a pair."""
        may = np.ones(len(a), np.bool_)
        if len(self.within):
            may &= self.within[a] == self.within[b]
        if len(self.across):
            may &= self.across[a] != self.across[b]
        return may

    def apart(self, hashes: UInt64s, owner: Int32s | Int64s) -> UInt64s:
        """Hashes that are equal only for equal ``hashes`` (uint64[n]) of owners with the same ``within`` value."""
        return hashes ^ self.within[owner] if len(self.within) else hashes

    def pairs(self, table: pa.Table) -> Bools:
        """bool[n]: which rows of a table with columns a and b are of documents that may be a pair."""
        return self.may_pair(column(table, "a"), column(table, "b"))


EVERYONE = Related()
"""All documents are related to all others."""
