"""What theory says of samples, measured: no bias, the variance of drawing without replacement, the intervals.

Two sets of n ids share c of them. K hashes of the union of u are seen (at least the floor, else those below the
limit); given K the number of them in both sets is hypergeometric, so that

  E Ĵ = J,  Var Ĵ = J(1 − J)/K · (u − K)/(u − 1),  and the same of the containment with the hashes of A.

Measured numbers are compared with the theory at 6.2 standard errors (5.7·10⁻¹⁰ outside, for a normal variable);
there are 240 comparisons, so a correct sketch fails with probability below 2·10⁻⁷. The seeds are fixed.
"""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import neardup as nd
from neardup.text.intervals import wilson
from support.full_run import FULL

SIGMAS = 6.2
TRIALS = 3000 if FULL else 1200


class Cell(NamedTuple):
    family: str
    size_a: int
    size_b: int
    common: int

    @property
    def union(self) -> int:
        return self.size_a + self.size_b - self.common


FAMILIES = {
    "scale 4": nd.SampledShingles(4, 8),
    "scale 16": nd.SampledShingles(16, 32),
    "bottom 32": nd.BottomK(32),
}
SIZES = [(40, 40, 30), (40, 40, 36), (100, 100, 40), (700, 700, 600), (700, 700, 100), (100, 1200, 60),
         (100, 1200, 100), (1200, 100, 60)]  # fmt: skip
CELLS = [Cell(family, *sizes) for family in FAMILIES for sizes in SIZES]
WITH_ID = {"ids": lambda cell: "-".join(map(str, cell))}


@cache
def measured(cell: Cell) -> NDArray[np.int64]:
    """Return int64[trials, 3]: seen in both, in A, in B, of pairs of random sets."""
    rng = np.random.default_rng(sum(cell[1:]))
    ids = rng.integers(0, 2**64, (TRIALS, cell.union), dtype=np.uint64)
    a, b = ids[:, : cell.size_a].ravel(), ids[:, cell.size_a - cell.common :].ravel()
    family = FAMILIES[cell.family]
    one = family.sketch_ids(a, np.arange(TRIALS + 1) * cell.size_a)
    other = family.sketch_ids(b, np.arange(TRIALS + 1) * cell.size_b)
    return one.counts(np.arange(TRIALS)[:, None].repeat(2, axis=1), other)


def standardised(
    hits: NDArray[np.int64], drawn: NDArray[np.int64], share: float, whole: int
) -> NDArray[np.float64]:
    """Return (hits/drawn − share) over its standard deviation when ``drawn`` of ``whole`` are drawn."""
    known = (drawn > 0) & (drawn < whole)
    hits, drawn = hits[known], drawn[known]
    variance = share * (1 - share) / drawn * (whole - drawn) / (whole - 1)
    return (hits / drawn - share) / np.sqrt(variance)


def checked(off: NDArray[np.float64]) -> None:
    """Assert mean 0 and variance 1."""
    assert len(off) > TRIALS / 2
    assert abs(off.mean()) < SIGMAS / sqrt(len(off))
    assert abs((off**2).mean() - 1) < SIGMAS * (off**2).std() / sqrt(len(off))


@pytest.mark.parametrize("cell", CELLS, **WITH_ID)
def test_resemblance_has_no_bias_and_the_variance_of_the_theory(cell: Cell) -> None:
    both, in_a, in_b = measured(cell).T
    checked(standardised(both, in_a + in_b - both, cell.common / cell.union, cell.union))


@pytest.mark.parametrize("cell", [c for c in CELLS if c.common < c.size_a], **WITH_ID)
def test_containment_has_no_bias_and_the_variance_of_the_theory(cell: Cell) -> None:
    both, in_a, _ = measured(cell).T
    checked(standardised(both, in_a, cell.common / cell.size_a, cell.size_a))


@pytest.mark.parametrize("cell", CELLS, **WITH_ID)
def test_a_contained_document_is_contained(cell: Cell) -> None:
    both, in_a, in_b = measured(cell).T
    if cell.common == cell.size_a:
        assert (both == in_a).all()
    assert (both <= np.minimum(in_a, in_b)).all()


@pytest.mark.parametrize("cell", CELLS, **WITH_ID)
def test_intervals_hold_the_truth(cell: Cell) -> None:
    """The interval's formula for the counts of each trial; a whole number of hits leaves it at 93 % and more."""
    both, in_a, in_b = measured(cell).T
    unseen = 1 - FAMILIES[cell.family].limit / 2**64
    for hits, trials, truth in (
        (both, in_a + in_b - both, cell.common / cell.union),
        (both, in_a, cell.common / cell.size_a),
    ):
        held = [
            m == 0 or (found := wilson(h / m, m / unseen)).low <= truth <= found.high
            for h, m in zip(hits.tolist(), trials.tolist(), strict=True)
        ]
        assert np.mean(held) > 0.93 - SIGMAS * sqrt(0.07 * 0.93 / TRIALS)


def test_the_interval_of_a_sample_is_the_one_tested_here() -> None:
    family = nd.SampledShingles(4, 8)
    one, other = family.of_ids(range(500)), family.of_ids(range(250, 900))
    found = one.resemblance(other)
    expected = wilson(found.value, found.slots / (1 - 1 / 4))
    assert (found.low, found.high) == (expected.low, expected.high)
    assert found.low < 250 / 900 < found.high


@pytest.mark.part(2)
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("size", [5, 31, 33, 60, 500, 3000])
def test_the_estimated_size_has_no_bias(family: nd.SampledShingles, size: int) -> None:
    ids = np.random.default_rng(size).integers(0, 2**64, TRIALS * size, dtype=np.uint64)
    made = family.sketch_ids(ids, np.arange(TRIALS + 1) * size)
    sizes = np.array([made[k].size for k in range(TRIALS)])
    assert abs(sizes.mean() - size) <= SIGMAS * sizes.std() / sqrt(TRIALS)
