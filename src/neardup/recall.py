"""How many pairs an LSH run missed, estimated from those it found.

Every found pair has exact integers, so the probability π that LSH finds a pair like it is known. A pair found with
probability π stands for 1/π pairs, found and missed (Horvitz and Thompson 1952): the expected number of missed
pairs is Σ (1/π − 1), unbiased whatever the corpus, with variance Σ (1 − π)/π².
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pyarrow as pa

from neardup.intervals import Z95
from neardup.plan import Plan
from neardup.tables import Floats, column


@dataclass(frozen=True)
class Missed:
    """Estimated number of missed pairs with its 95 % interval, beside ``found`` pairs."""

    found: int
    value: float
    low: float
    high: float

    @property
    def recall(self) -> float:
        """Estimated share of the pairs that were found."""
        return self.found / (self.found + self.value) if self.found else 1.0


def found_with(plan: Plan, sketch: str, pairs: pa.Table) -> Floats:
    """π of each pair of a VERIFIED table: the probability that the bands of ``plan`` propose it.

    Classic slots are independent: a band of r rows agrees with probability J^r. The slots of a one-permutation
    sketch are drawn without replacement, at worst all from one set, so that a band agrees with probability
    Π (s − i)/(u − i), i < r, for s shared of u shingles in the union; that lower bound is used, and the number of
    missed pairs rather over- than understated.
    """
    shared = column(pairs, "shared").astype(np.float64)
    union = column(pairs, "size_a") + column(pairs, "size_b") - shared
    missed = np.ones(len(shared))
    for rows in sorted(set(plan.bands)):
        agree = np.ones(len(shared))
        for i in range(rows):
            drawn = i if sketch == "one-permutation" else 0
            # a set smaller than the band cannot be drawn from any further: its slots repeat
            agree *= np.where(shared == union, 1.0, np.maximum(shared - drawn, 0) / np.maximum(union - drawn, 1))
        missed *= (1 - agree) ** plan.bands.count(rows)
    return 1 - missed


def missed_pairs(probabilities: Floats) -> Missed:
    """The estimate from the π of every found pair.

    >>> round(missed_pairs(np.full(99, 0.99)).value, 6)
    1.0
    """
    # a pair that could hardly be found at all would stand for millions: it is no evidence of as many others
    likely = probabilities[probabilities > 1e-3]
    value = float((1 / likely - 1).sum())
    spread = Z95 * sqrt(float(((1 - likely) / likely**2).sum()))
    return Missed(len(probabilities), value, max(0.0, value - spread), value + spread)
