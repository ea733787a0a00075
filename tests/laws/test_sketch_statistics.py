"""What theory says of a MinHash, measured: no bias, the right variance, bands that agree as often as they should.

Two sets of n ids share c of them, J = c / (2n − c). Over T pairs of random sets a correct sketch of k slots has,
for m = the share of equal slots,

  E m = J                                           exactly, in both families: every slot is min-wise
  Var m = J(1 − J)/k for classic, less for one-permutation, whose slots draw nearly without replacement
          (.59 of it at n = 100, where most slots are chosen by a shingle; near 1 at n = 5 and n = 5000)
  P(r given slots equal) = Jʳ for classic; between Π (c − i)/(u − i), i < r, which is drawing without
          replacement from the u ids of the union, and Jʳ for one-permutation

Limits: each measured number is compared with the theory at 6.2 standard errors, outside of which a normal
variable is with probability 5.7·10⁻¹⁰. There are 208 cells with 5 comparisons each, so a correct sketch fails this
file with probability below 1040 · 5.7·10⁻¹⁰ = 6·10⁻⁷. The seeds are fixed.
"""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import neardup as nd
from support.full_run import FULL
from support.overlapping_sets import SIGMAS, WITH_ID, Cell

SLOTS = 128
EVENTS = 400
"""Bands are judged where at least this many equal ones are expected: fewer are not near normal."""

FAMILIES = ("classic", "one-permutation")
SIZES = (1, 5, 10, 30, 100, 300, 700, 5000)
SIMILARITIES = (0.3, 0.5, 0.8, 0.95)
IN_FULL = {1: 1000, 5: 8000, 10: 8000, 30: 8000, 100: 8000, 300: 4000, 700: 2000, 5000: 600}
TRIALS = IN_FULL if FULL else {n: trials // 2 for n, trials in IN_FULL.items()}


def made_ids(kind: str, trials: int, width: int, seed: int) -> NDArray[np.uint64]:
    """Return uint64[trials, width]: distinct ids, each row a set of its own; structured ones ascend."""
    rng = np.random.default_rng(seed)
    if kind == "random":
        return rng.integers(0, 2**64, (trials, width), dtype=np.uint64)
    first = np.arange(trials, dtype=np.uint64)[:, None] * np.uint64(width)
    counted = first + np.arange(width, dtype=np.uint64) + np.uint64(seed)
    step = {"consecutive": 1, "even": 2, "multiples of 2**20": 1 << 20}[kind]
    return counted * np.uint64(step)


@cache
def equal_slots(cell: Cell) -> NDArray[np.bool_]:
    """Return bool[trials, SLOTS]: which slots of the two sets of each trial agree."""
    trials = TRIALS[cell.n]
    ids = made_ids(cell.ids, trials, cell.union, seed=cell.n * 1000 + cell.common)
    family = nd.MinHash(SLOTS, sketch=cell.family)
    one, other = (family.sketch_ids(side, np.arange(trials + 1) * cell.n)[0] for side in cell.sides(ids))
    return one == other


CELLS = [
    Cell(family, n, similarity, kind)
    for family in FAMILIES
    for kind in ("random", "consecutive", "multiples of 2**20", "even")
    for n in SIZES
    for similarity in SIMILARITIES
    if n != 1 and Cell(family, n, similarity).exact < 1
]
# The same part of the cells in each test, since sketching takes most of the time. Five has no divisor in common
# with the 26 cells of each kind of ids, so every size occurs with every similarity.


@pytest.mark.part(5)
@pytest.mark.parametrize("cell", CELLS, **WITH_ID)
def test_the_share_of_equal_slots_estimates_the_resemblance_without_bias(cell: Cell) -> None:
    means = equal_slots(cell).mean(axis=1)
    # the theoretical variance bounds that of both families from above
    error = sqrt(cell.exact * (1 - cell.exact) / SLOTS / len(means))
    assert abs(means.mean() - cell.exact) < SIGMAS * error


@pytest.mark.part(5)
@pytest.mark.parametrize("cell", CELLS, **WITH_ID)
def test_the_variance_is_that_of_independent_slots_or_less(cell: Cell) -> None:
    means = equal_slots(cell).mean(axis=1)
    off = means - cell.exact
    ideal = cell.exact * (1 - cell.exact) / SLOTS
    ratio = (off**2).mean() / ideal
    # (off²) has the variance E off⁴ − (E off²)²
    error = (off**2).std() / ideal / sqrt(len(means))
    low, high = (1.0, 1.0) if cell.family == "classic" else (0.4, 1.05)
    assert low - SIGMAS * error < ratio < high + SIGMAS * error


@pytest.mark.part(5)
@pytest.mark.parametrize("cell", CELLS, **WITH_ID)
def test_a_band_agrees_as_often_as_the_plan_reckons(cell: Cell) -> None:
    for rows in (4, 6, 8):
        check_bands(cell, rows)


def check_bands(cell: Cell, rows: int) -> None:
    slots = equal_slots(cell)
    bands = slots[:, : SLOTS // rows * rows].reshape(len(slots), -1, rows).all(axis=2)
    ideal = cell.exact**rows
    if ideal * bands.size < EVENTS:
        assert bands.sum() < EVENTS + SIGMAS * sqrt(EVENTS)  # rare, and no more than that can be said
        return
    share = bands.mean(axis=1)
    error = share.std() / ideal / sqrt(len(share))
    ratio = share.mean() / ideal
    assert ratio < 1 + SIGMAS * error
    assert ratio > (1 if cell.family == "classic" else without_replacement(cell, rows)) - SIGMAS * error


def without_replacement(cell: Cell, rows: int) -> float:
    """Return P(r different ids drawn from the union are all common) / Jʳ."""
    drawn = 1.0
    for i in range(rows):
        drawn *= max(cell.common - i, 0) / max(cell.union - i, 1) / cell.exact
    return drawn


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["random", "consecutive", "multiples of 2**20", "even"])
def test_sets_of_one_id_agree_everywhere_or_nowhere(family: str, kind: str) -> None:
    same, different = (equal_slots(Cell(family, 1, similarity, kind)) for similarity in (0.5, 0.3))
    assert same.all()
    # two values of 32 bits: 128 000 slots at most agree by chance 3·10⁻⁵ times, 3 times with p < 10⁻¹³
    assert different.sum() < 3


def test_a_signature_has_slots_of_its_own() -> None:
    """Slots that copy each other would pass the tests of the mean: no two of them hold one value."""
    for family in FAMILIES:
        ids = made_ids("random", 200, 300, seed=7)
        signatures = nd.MinHash(SLOTS, sketch=family).sketch_ids(ids.ravel(), np.arange(201) * 300)[0]
        values, counts = np.unique(signatures, return_counts=True)
        # 25 600 minima of 300 values lie below 2³²/300 · 10: 2.3 chance repeats are expected, 40 at p < 10⁻³⁰
        assert (counts > 1).sum() < 40
        assert len(values) > 25_500


ID_LISTS = st.lists(st.integers(0, 2**64 - 1), max_size=300)


@pytest.mark.parametrize("family", FAMILIES)
@given(first=ID_LISTS, second=ID_LISTS, third=ID_LISTS, slots=st.sampled_from([1, 2, 16, 128]))
def test_merging_sketches_is_sketching_the_union(
    family: str, first: list[int], second: list[int], third: list[int], slots: int
) -> None:
    hashing = nd.MinHash(slots, sketch=family)

    def of(ids: list[int]) -> object:
        return hashing.of_ids(np.array(ids, np.uint64))

    a, b, c = of(first), of(second), of(third)
    assert a | b == of(first + second) == of(list({*first, *second})) == b | a
    assert (a | b) | c == a | (b | c) == of(third + second + first)
    assert a | a == a
    assert a | of([]) == a
