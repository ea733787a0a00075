"""What theory says of signatures, measured: no bias, the right variance, bands that agree as often as they should.

Two sets of n ids share c of them, J = c / (2n − c). Over T pairs of random sets a correct sketch of k slots has,
for its estimate Ĵ, which is the share of equal slots but for small copies,

  E Ĵ = J                                           exactly, in every family: every slot is min-wise
  Var Ĵ = J(1 − J)/k for independent slots, less for one-permutation, which draws nearly without replacement
          (.59 of it at n = 100, where most slots are chosen by a shingle; near 1 at n = 5 and n = 5000);
          (1 − J)(J + 1/(2ᵇ − 1))/k for b bits of independent slots
  P(r given slots equal) = Jʳ for independent slots; between Π (c − i)/(u − i), i < r, which is drawing without
          replacement from the u ids of the union, and Jʳ for one-permutation

Limits: each measured number is compared with the theory at 6.2 standard errors, outside of which a normal variable
is with probability 5.7·10⁻¹⁰. There are 341 cells with 5 comparisons each at most, so a correct sketch fails this
file with probability below 1705 · 5.7·10⁻¹⁰ = 10⁻⁶. The seeds are fixed. Over row numbers, which count
up, the textbook's functions do lean; how much is measured here too, so that the page that says so stays true.
"""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import neardup as nd
from support.full_run import FULL
from support.overlapping_sets import SIGMAS, WITH_ID, Cell

SLOTS = 128
EVENTS = 400
"""Bands are judged where at least this many equal ones are expected: fewer are not near normal."""

FAMILIES: dict[str, Any] = {
    "classic": nd.MinHash(SLOTS, sketch="classic"),
    "one-permutation": nd.MinHash(SLOTS),
    "mod-p": nd.ModP(SLOTS),
    "multiply-shift": nd.MultiplyShift(SLOTS),
    "8 bits of classic": nd.BBit(nd.MinHash(SLOTS, sketch="classic")),
    "8 bits of one-permutation": nd.BBit(nd.MinHash(SLOTS)),
    "16 bits of mod-p": nd.BBit(nd.ModP(SLOTS), 16),
    "1 bits of classic": nd.BBit(nd.MinHash(SLOTS, sketch="classic"), 1),
    "3 bits of classic": nd.BBit(nd.MinHash(SLOTS, sketch="classic"), 3),
}
MINHASH = ("classic", "one-permutation")
KINDS = ("random", "consecutive", "multiples of 2**20", "even")
SIMILARITIES = (0.3, 0.5, 0.8, 0.95)
IN_FULL = {1: 1000, 5: 8000, 10: 8000, 30: 8000, 100: 8000, 300: 4000, 700: 2000, 3000: 600, 5000: 600}
TRIALS = IN_FULL if FULL else {n: trials // 2 for n, trials in IN_FULL.items()}
OTHERS = (5, 30, 100, 700, 3000)
"""The sizes of sets for the families beside MinHash."""


def of_independent_slots(family: str) -> bool:
    return "one-permutation" not in family


def variance(cell: Cell) -> float:
    """That of the estimate from one slot, if slots are independent."""
    bits = getattr(FAMILIES[cell.family], "bits", 0) if "bits of" in cell.family else 0
    chance = 1 / (2**bits - 1) if bits else 0
    return (1 - cell.exact) * (cell.exact + chance)


def made_ids(kind: str, trials: int, width: int, seed: int, top: int = 2**64) -> NDArray[np.uint64]:
    """Return uint64[trials, width]: distinct ids, each row a set of its own; structured ones ascend."""
    rng = np.random.default_rng(seed)
    if kind == "random":
        return rng.integers(0, top, (trials, width), dtype=np.uint64)
    first = np.arange(trials, dtype=np.uint64)[:, None] * np.uint64(width)
    counted = first + np.arange(width, dtype=np.uint64) + np.uint64(seed)
    step = {"consecutive": 1, "even": 2, "multiples of 2**20": 1 << 20}[kind]
    return counted * np.uint64(step)


@cache
def signed(cell: Cell) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the signatures of the two sets of every trial."""
    trials, family = TRIALS[cell.n], FAMILIES[cell.family]
    top = 2**64 if cell.family in MINHASH else nd.ModP().prime
    ids = made_ids(cell.ids, trials, cell.union, cell.n * 1000 + cell.common, top)
    one, other = (family.sketch_ids(side, np.arange(trials + 1) * cell.n) for side in cell.sides(ids))
    return (one[0], other[0]) if cell.family in MINHASH else (one, other)


@cache
def estimates(cell: Cell) -> NDArray[np.float64]:
    one, other = signed(cell)
    if cell.family in MINHASH:
        return (one == other).mean(axis=1)
    pairs = np.arange(len(one))[:, None].repeat(2, axis=1)
    return FAMILIES[cell.family].resemblances(one, pairs, other)


CELLS = [
    *(
        Cell(family, n, similarity, kind)
        for family in MINHASH
        for kind in KINDS
        for n in TRIALS
        for similarity in SIMILARITIES
        if n not in (1, 3000)
    ),
    *(
        Cell(family, n, similarity)
        for family in FAMILIES
        for n in OTHERS
        for similarity in SIMILARITIES
        if family not in MINHASH
    ),
]
CELLS = [cell for cell in CELLS if cell.exact < 1]
# The same part of the cells in each test, since sketching takes most of the time. Five has no divisor in common
# with the 26 cells of each kind of ids, so every size occurs with every similarity.


@pytest.mark.part(5)
@pytest.mark.parametrize("cell", CELLS, **WITH_ID)
def test_resemblance_is_estimated_without_bias(cell: Cell) -> None:
    found = estimates(cell)
    # the theoretical variance of independent slots bounds that of one-permutation from above
    assert abs(found.mean() - cell.exact) < SIGMAS * sqrt(variance(cell) / SLOTS / len(found))


@pytest.mark.part(5)
@pytest.mark.parametrize("cell", CELLS, **WITH_ID)
def test_the_variance_is_that_of_independent_slots_or_less(cell: Cell) -> None:
    off = estimates(cell) - cell.exact
    ideal = variance(cell) / SLOTS
    ratio = (off**2).mean() / ideal
    # (off²) has the variance E off⁴ − (E off²)²
    error = (off**2).std() / ideal / sqrt(len(off))
    low, high = (1.0, 1.0) if of_independent_slots(cell.family) else (0.4, 1.05)
    assert low - SIGMAS * error < ratio < high + SIGMAS * error


@pytest.mark.part(5)
@pytest.mark.parametrize("cell", [cell for cell in CELLS if "bits of" not in cell.family], **WITH_ID)
def test_a_band_agrees_as_often_as_the_plan_reckons(cell: Cell) -> None:
    for rows in (4, 6, 8):
        check_bands(cell, rows)


def check_bands(cell: Cell, rows: int) -> None:
    one, other = signed(cell)
    bands = (one == other)[:, : SLOTS // rows * rows].reshape(len(one), -1, rows).all(axis=2)
    ideal = cell.exact**rows
    if ideal * bands.size < EVENTS:
        assert bands.sum() < EVENTS + SIGMAS * sqrt(EVENTS)  # rare, and no more than that can be said
        return
    share = bands.mean(axis=1)
    error = share.std() / ideal / sqrt(len(share))
    ratio = share.mean() / ideal
    assert ratio < 1 + SIGMAS * error
    least = 1 if of_independent_slots(cell.family) else without_replacement(cell, rows)
    assert ratio > least - SIGMAS * error


def without_replacement(cell: Cell, rows: int) -> float:
    """Return P(r different ids drawn from the union are all common) / Jʳ."""
    drawn = 1.0
    for i in range(rows):
        drawn *= max(cell.common - i, 0) / max(cell.union - i, 1) / cell.exact
    return drawn


@pytest.mark.parametrize("family", MINHASH)
@pytest.mark.parametrize("kind", KINDS)
def test_sets_of_one_id_agree_everywhere_or_nowhere(family: str, kind: str) -> None:
    same, different = (signed(Cell(family, 1, similarity, kind)) for similarity in (0.5, 0.3))
    assert (same[0] == same[1]).all()
    # two values of 32 bits: 128 000 slots at most agree by chance 3·10⁻⁵ times, 3 times with p < 10⁻¹³
    assert (different[0] == different[1]).sum() < 3


def test_a_signature_has_slots_of_its_own() -> None:
    """Slots that copy each other would pass the tests of the mean: no two of them hold one value."""
    for family in MINHASH:
        ids = made_ids("random", 200, 300, seed=7)
        signatures = nd.MinHash(SLOTS, sketch=family).sketch_ids(ids.ravel(), np.arange(201) * 300)[0]
        values, counts = np.unique(signatures, return_counts=True)
        # 25 600 minima of 300 values lie below 2³²/300 · 10: 2.3 chance repeats are expected, 40 at p < 10⁻³⁰
        assert (counts > 1).sum() < 40
        assert len(values) > 25_500


@pytest.mark.part(2)
@pytest.mark.parametrize("n", [1, 5, 100, 5000])
@pytest.mark.parametrize("family", MINHASH)
def test_the_size_of_a_set_is_estimated_without_bias(family: str, n: int) -> None:
    """n̂ is (k − 1) / Σ of exponentials of rate n: unbiased, with variance n² / (k − 2) or less (Cohen 1997)."""
    trials, error = 400, 1 / sqrt(SLOTS - 2)
    sizes = [FAMILIES[family].of_ids(ids).size for ids in made_ids("random", trials, n, seed=31)]
    shares = np.array([size.value / n for size in sizes])
    assert abs(shares.mean() - 1) < SIGMAS * error / sqrt(trials)
    assert shares.std() < error * (1 + SIGMAS / sqrt(2 * trials))
    covered = np.mean([size.low <= n <= size.high for size in sizes])
    assert covered > 0.95 - SIGMAS * sqrt(0.05 * 0.95 / trials)
    assert sizes[0].error == pytest.approx(sizes[0].value * error, rel=0.01)


@pytest.mark.part(2)
@pytest.mark.parametrize("weights", ["counts", "gamma", "heavy", "tiny", "huge", "equal"])
@pytest.mark.parametrize("shared", [0.2, 0.6, 0.95])
def test_weighted_resemblance_is_estimated_without_bias(weights: str, shared: float) -> None:
    """Σ min / Σ max of two sets whose weights differ, summed by the definition; slots are independent."""
    rng, trials, width = np.random.default_rng([len(weights), round(100 * shared)]), 400, 40
    drawn = {
        "counts": lambda: rng.integers(1, 9, width).astype(np.float64),
        "gamma": lambda: rng.gamma(2.0, 1.0, width),
        "heavy": lambda: rng.pareto(1.0, width) + 0.001,
        "tiny": lambda: rng.gamma(2.0, 1.0, width) * 1e-310,
        "huge": lambda: rng.gamma(2.0, 1.0, width) * 1e306,
        "equal": lambda: np.ones(width),
    }[weights]
    sides: list[list[dict[int, float]]] = [[], []]
    exact = []
    for trial in range(trials):
        one, other, common = drawn(), drawn(), rng.random(width) < shared
        other = np.where(common, one, np.where(rng.random(width) < 0.5, other, 0))
        exact.append((np.minimum(one, other) / 1e4).sum() / (np.maximum(one, other) / 1e4).sum())
        for side, values in zip(sides, (one, other), strict=True):
            side.append({trial * width + k: float(value) for k, value in enumerate(values)})
    family = nd.WeightedMinHash(SLOTS)
    one, other = (family.sketch_weights(side) for side in sides)
    off = (one == other).mean(axis=1) - np.array(exact)
    variances = np.array(exact) * (1 - np.array(exact)) / SLOTS
    assert abs(off.mean()) < SIGMAS * sqrt(variances.mean() / trials)
    ratio, error = (off**2).mean() / variances.mean(), (off**2).std() / variances.mean() / sqrt(trials)
    assert 1 - SIGMAS * error < ratio < 1 + SIGMAS * error


def lean(family: Any, rows: int, common: int, top: int) -> float:
    """Return the mean error over random subsets of the row numbers 1 … ``top``."""
    rng, trials, pairs = np.random.default_rng(9), 400, []
    sets = []
    for _ in range(trials):
        drawn = rng.permutation(top)[: 2 * rows - common] + 1
        sets += [drawn[:rows], drawn[rows - common :]]
    pairs = np.arange(2 * trials).reshape(-1, 2)
    made = family.sketch_ids(np.concatenate(sets), np.arange(2 * trials + 1) * rows)
    return float(family.resemblances(made, pairs).mean() - common / (2 * rows - common))


def test_over_few_row_numbers_values_of_few_bits_lean() -> None:
    """60 of 100 rows, half of them shared: with 7 bits, as many as there are rows, by several hundredths."""
    assert lean(nd.MultiplyShift(SLOTS, bits=7), 60, 40, 100) > 0.03
    assert abs(lean(nd.ModP(SLOTS, prime=101), 60, 40, 100)) < 0.02


def test_over_consecutive_rows_functions_lean_and_mixed_ones_do_not() -> None:
    """Rows 1 … 150 and 76 … 225 share a third: one pair, the mean over 40 seeds of 1024 slots."""
    offsets = np.array([0, 150, 300])
    rows = np.concatenate([np.arange(1, 151), np.arange(76, 226)])
    found = {
        kind: np.mean([made.resemblances(made.sketch_ids(rows, offsets), [(0, 1)])[0] for made in families])
        for kind, families in {
            "mod-p": [nd.ModP(1024, seed=seed) for seed in range(40)],
            "multiply-shift": [nd.MultiplyShift(1024, seed=seed) for seed in range(40)],
        }.items()
    }
    error = sqrt(2 / 9 / 1024 / 40)
    leaning = {kind: abs(value - 1 / 3) / error for kind, value in found.items()}
    assert max(leaning.values()) > SIGMAS
    family = nd.MinHash(4096, sketch="classic")
    mixed = family.resemblances(family.sketch_ids(rows, offsets)[0], [(0, 1)])[0]
    assert abs(mixed - 1 / 3) < SIGMAS * sqrt(2 / 9 / 4096)
