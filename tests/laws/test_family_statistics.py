"""The laws of the default sketch, for the families beside it: no bias, the right variance, bands that agree.

Two sets of n random ids share c of them, J = c / (2n − c). Over T pairs, with the estimate Ĵ of k slots,

  E Ĵ = J;  Var Ĵ = J(1 − J)/k for functions a·x + b over random ids;
  for b bits a slot E Ĵ = J too, and Var Ĵ = (1 − J)(J + 1/(2ᵇ − 1))/k over independent slots;
  P(r given slots equal) = Jʳ.

Limits as in test_sketch_statistics.py: 6.2 standard errors, some 200 comparisons, so that a correct sketch fails
with probability below 2·10⁻⁷. The seeds are fixed. Over row numbers, which count up, the textbook's functions do
lean; how much is measured here too, so that the page that says so stays true.
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
IN_FULL = {5: 4000, 30: 4000, 100: 4000, 700: 1000, 3000: 400}
TRIALS = IN_FULL if FULL else {n: trials // 4 for n, trials in IN_FULL.items()}

FAMILIES: dict[str, Any] = {
    "mod-p": nd.ModP(SLOTS),
    "multiply-shift": nd.MultiplyShift(SLOTS),
    "8 bits of classic": nd.BBit(nd.MinHash(SLOTS, sketch="classic")),
    "8 bits of one-permutation": nd.BBit(nd.MinHash(SLOTS)),
    "16 bits of mod-p": nd.BBit(nd.ModP(SLOTS), 16),
}
INDEPENDENT = [name for name in FAMILIES if "one-permutation" not in name]


def variance(cell: Cell) -> float:
    """That of the estimate from one slot, if slots are independent."""
    bits = getattr(FAMILIES[cell.family], "bits", 0) if "bits of" in cell.family else 0
    chance = 1 / (2**bits - 1) if bits else 0
    return (1 - cell.exact) * (cell.exact + chance)


CELLS = [Cell(name, n, similarity) for name in FAMILIES for n in TRIALS for similarity in (0.3, 0.5, 0.8, 0.95)]
CELLS = [cell for cell in CELLS if cell.exact < 1]
# The same part of the cells in each test, since sketching takes most of the time.


@cache
def signed(cell: Cell) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the signatures of the two sets of every trial."""
    trials = TRIALS[cell.n]
    rng = np.random.default_rng(cell.n * 1000 + cell.common)
    ids = rng.integers(0, nd.ModP().prime, (trials, cell.union), dtype=np.uint64)
    offsets, family = np.arange(trials + 1) * cell.n, FAMILIES[cell.family]
    one, other = cell.sides(ids)
    return family.sketch_ids(one, offsets), family.sketch_ids(other, offsets)


@cache
def estimates(cell: Cell) -> NDArray[np.float64]:
    one, other = signed(cell)
    pairs = np.arange(len(one))[:, None].repeat(2, axis=1)
    return FAMILIES[cell.family].resemblances(one, pairs, other)


@pytest.mark.part(7)
@pytest.mark.parametrize("cell", CELLS, **WITH_ID)
def test_there_is_no_bias(cell: Cell) -> None:
    found = estimates(cell)
    assert abs(found.mean() - cell.exact) < SIGMAS * sqrt(variance(cell) / SLOTS / len(found))


@pytest.mark.part(7)
@pytest.mark.parametrize("cell", CELLS, **WITH_ID)
def test_the_variance_is_that_of_independent_slots_or_less(cell: Cell) -> None:
    off = estimates(cell) - cell.exact
    ideal = variance(cell) / SLOTS
    ratio, error = (off**2).mean() / ideal, (off**2).std() / ideal / sqrt(len(off))
    low, high = (1.0, 1.0) if cell.family in INDEPENDENT else (0.4, 1.05)
    assert low - SIGMAS * error < ratio < high + SIGMAS * error


@pytest.mark.part(7)
@pytest.mark.parametrize("cell", [c for c in CELLS if "bits of" not in c.family], **WITH_ID)
def test_a_band_agrees_as_often_as_reckoned(cell: Cell) -> None:
    for rows in (4, 8):
        check_bands(cell, rows)


def check_bands(cell: Cell, rows: int) -> None:
    one, other = signed(cell)
    bands = (one == other).reshape(len(one), -1, rows).all(axis=2)
    ideal = cell.exact**rows
    if ideal * bands.size < EVENTS:
        assert bands.sum() < EVENTS + SIGMAS * sqrt(EVENTS)
        return
    share = bands.mean(axis=1)
    assert abs(share.mean() / ideal - 1) < SIGMAS * share.std() / ideal / sqrt(len(share))


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
