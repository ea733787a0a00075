"""What theory says of the bucketed MinHash, measured: what is read without bias, and what an engine would score.

Two sets of n random ids share c of them, J = c / (2n − c). In every bucket the smallest hashes of the union are
told, m in all buckets together; m depends on the hash values, not on which id has which. Given m, the number in
both is hypergeometric for one hash function: E Ĵ = J, Var Ĵ = J(1 − J)/m · (u − m)/(u − 1).

Limits: 6.2 standard errors, 90 comparisons; the seeds are fixed. The engine's score is measured to be as wrong as
the page on fingerprints says.
"""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

import neardup as nd
from support.full_run import FULL
from support.overlapping_sets import SIGMAS, WITH_ID, Cell

IN_FULL = {5: 3000, 30: 3000, 100: 3000, 400: 1500, 2000: 400}
TRIALS = IN_FULL if FULL else {n: trials // 2 for n, trials in IN_FULL.items()}
FAMILIES = {
    "512 buckets": nd.BucketMinHash(),
    "64 buckets": nd.BucketMinHash(bucket_count=64, with_rotation=False),
    "50 buckets of 3": nd.BucketMinHash(bucket_count=50, hash_set_size=3),
}


CELLS = [Cell(name, n, similarity) for name in FAMILIES for n in TRIALS for similarity in (0.3, 0.5, 0.8)]


def signed(family: nd.BucketMinHash, cell: Cell) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the signatures of the two sets of every trial."""
    trials = TRIALS[cell.n]
    rng = np.random.default_rng(cell.n * 1000 + cell.common)
    ids = rng.integers(0, 2**64, (trials, cell.union), dtype=np.uint64)
    offsets = np.arange(trials + 1) * cell.n
    one, other = cell.sides(ids)
    return family.sketch_ids(one, offsets), family.sketch_ids(other, offsets)


def pairs_of(trials: int) -> NDArray[np.int64]:
    return np.arange(trials)[:, None].repeat(2, axis=1)


@cache
def counted(cell: Cell) -> NDArray[np.int64]:
    one, other = signed(FAMILIES[cell.family], cell)
    return FAMILIES[cell.family].counts(one, pairs_of(len(one)), other)


@pytest.mark.parametrize("cell", CELLS, **WITH_ID)
def test_it_is_read_without_bias_and_varies_as_drawing_without_replacement(cell: Cell) -> None:
    both, told = counted(cell).T
    part = told < cell.union  # nothing is estimated of a union that is known whole
    assert (both[~part] == cell.common).all()
    both, told = both[part], told[part]
    if len(both) < 100:
        return
    variance = cell.exact * (1 - cell.exact) / told * (cell.union - told) / (cell.union - 1)
    off = (both / told - cell.exact) / np.sqrt(variance)
    assert abs(off.mean()) < SIGMAS / sqrt(len(off))
    assert abs((off**2).mean() - 1) < SIGMAS * (off**2).std() / sqrt(len(off))


@pytest.mark.parametrize("n", TRIALS)
def test_rotation_changes_nothing_of_what_is_read(n: int) -> None:
    cell = Cell("512 buckets", n, 0.5)
    plain = nd.BucketMinHash(with_rotation=False)
    one, other = signed(plain, cell)
    assert np.array_equal(plain.counts(one, pairs_of(len(one)), other), counted(cell))


def test_several_hash_functions_vary_less() -> None:
    cell = Cell("64 buckets", 100, 0.5)
    family = nd.BucketMinHash(4, 64)
    one, other = signed(family, cell)
    found = family.resemblances(one, pairs_of(len(one)), other)
    both, told = counted(cell).T
    assert abs(found.mean() - cell.exact) < SIGMAS * found.std() / sqrt(len(found))
    assert 0.2 < found.var() / (both / told).var() < 0.3


def test_an_engine_misstates_short_documents() -> None:
    """Its score spreads far more than chance allows for what it looked at, and is not the resemblance."""
    spread, scores = {}, {}
    for n in (30, 2000):
        cell = Cell("512 buckets", n, 0.5)
        one, other = signed(FAMILIES[cell.family], cell)
        found = FAMILIES[cell.family].engine_scores(one, pairs_of(len(one)), other)
        unbiased = FAMILIES[cell.family].resemblances(one, pairs_of(len(one)), other)
        spread[n], scores[n] = found.std() / unbiased.std(), found.mean()
    contained = 2 / 3  # of either document in the other, for a resemblance of one half
    assert abs(scores[30] - contained) < 0.02  # short: containment
    assert abs(scores[2000] - 0.5) < 0.03  # long: resemblance
    assert spread[30] > 2


def test_rotation_finds_bands_of_short_documents_too_often() -> None:
    """Copies stand side by side: rows of a band agree together."""
    cell, rows = Cell("512 buckets", 100, 0.5), 8
    one, other = signed(FAMILIES[cell.family], cell)
    bands = (one == other).reshape(len(one), -1, rows).all(axis=2)
    assert bands.mean() > 10 * 0.5**rows
    long = Cell("64 buckets", 2000, 0.5)
    one, other = signed(FAMILIES[long.family], long)
    bands = (one == other).reshape(len(one), -1, 4).all(axis=2).mean(axis=1)
    assert abs(bands.mean() - 0.5**4) < SIGMAS * bands.std() / sqrt(len(bands))


def test_pairs_are_found_as_often_as_the_bands_were_chosen_for() -> None:
    """Long documents at the similarity asked for: the padded last band included."""
    cell = Cell("64 buckets", 2000, 0.5)
    family = FAMILIES[cell.family]
    one, other = signed(family, cell)
    lsh = family.lsh(np.concatenate([one, other]), 0.5, 0.9)
    assert lsh.slots % lsh.rows
    found = sum(row["b"] - row["a"] == len(one) for row in lsh.pairs().to_pylist()) / len(one)
    expected = lsh.probability(0.5)
    assert expected >= 0.9
    assert abs(found - expected) < SIGMAS * sqrt(expected * (1 - expected) / len(one))
