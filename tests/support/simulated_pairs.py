"""Pairs of random sets, sketched with the real kernel, and whole runs of LSH over many pairs.

The tests and ``benchmarks/recall.py`` share it: what the one asserts, the other writes into a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from neardup.deduplication.join.misses import missed_with, of_pairs
from neardup.deduplication.run.recall import missed_pairs
from neardup.kernels.sketch.minhash import sketch_sets
from neardup.text.lsh.bands import Plan, plan
from neardup.text.sketch.documents import classic_coefficients

KINDS = 20_000
"""The number of different pairs drawn for a regime; each run takes its pairs from these."""

_HASHES = 2_000_000
"""The number of hashes drawn at a time."""


def missed_by_the_kernel(
    shared: int, union: int, bands: Plan, sketch: str, trials: int, seed: int
) -> NDArray[np.bool_]:
    """bool[trials]: whether no band agrees, for pairs of random sets with given numbers of shingles.

    The shingles that only one of the two has are dealt one to two, so that the sizes differ.
    """
    rng = np.random.default_rng(seed)
    alone = (union - shared) // 3
    first = shared + alone
    missed = []
    for begin in range(0, trials, max(1, _HASHES // union)):
        n = min(trials - begin, max(1, _HASHES // union))
        hashes = rng.integers(0, 2**64, (n, union), dtype=np.uint64)
        a = _signatures(hashes[:, :first], bands.slots, sketch)
        b = _signatures(np.concatenate((hashes[:, :shared], hashes[:, first:]), axis=1), bands.slots, sketch)
        missed.append(no_band_equal(a == b, bands))
    return np.concatenate(missed)


def _signatures(hashes: NDArray[np.uint64], slots: int, sketch: str) -> NDArray[np.uint32]:
    n, size = hashes.shape
    out, chosen = np.empty((n, slots), np.uint32), np.empty((n, slots), np.bool_)
    flat, offsets = np.ascontiguousarray(hashes).ravel(), np.arange(n + 1) * size
    sketch_sets(flat, offsets, sketch == "classic", *classic_coefficients(slots), out, chosen)
    return out


def no_band_equal(equal: NDArray[np.bool_], bands: Plan) -> NDArray[np.bool_]:
    """bool[n]: in which rows of ``equal`` (bool[n, slots]) no band is true from end to end."""
    starts = np.cumsum([0, *bands.bands[:-1]])
    missed: NDArray[np.bool_] = ~np.logical_and.reduceat(equal, starts, axis=1).any(axis=1)
    return missed


@dataclass(frozen=True)
class Regime:
    """A corpus of independent pairs, and a plan to find them with."""

    threshold: float
    recall: float
    pairs: int
    spread: str
    """Resemblances: "uniform" from the threshold to 1, "bunched" with half of them within 3.4 % of that way."""
    sketch: str

    @property
    def plan(self) -> Plan:
        return plan(self.threshold, self.recall)


@dataclass(frozen=True)
class Coverage:
    """How often the interval held the number of missed pairs, and how that number was estimated.

    ``missed`` and ``estimated`` are means over the runs; ``bias`` is their difference in standard errors.
    """

    runs: int
    held: float
    missed: float
    estimated: float
    bias: float

    @property
    def error(self) -> float:
        """Standard error of ``held`` if it is .95."""
        return sqrt(0.95 * 0.05 / self.runs)


@cache
def kinds(threshold: float, spread: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(shared, union) of KINDS pairs at or above the threshold, unions from 20 to 2 000 shingles."""
    rng = np.random.default_rng(17)
    union = np.exp(rng.uniform(np.log(20), np.log(2000), KINDS)).astype(np.int64)
    above = rng.uniform(0, 1, KINDS) if spread == "uniform" else rng.beta(1, 20, KINDS)
    return np.ceil((threshold + (1 - threshold) * above) * union - 1e-9).astype(np.int64), union


def coverage(regime: Regime, runs: int, seed: int = 0) -> Coverage:
    """Run LSH ``runs`` times over other pairs of the regime and look where the truth lies."""
    rng = np.random.default_rng(seed)
    bands = regime.plan
    chances = missed_with(bands, regime.sketch, *kinds(regime.threshold, regime.spread))
    at_threshold = 1 - bands.probability(regime.threshold)
    held, missed, estimated = 0, np.empty(runs), np.empty(runs)
    for run in range(runs):
        of = chances[rng.integers(0, KINDS, regime.pairs)]
        lost = rng.random(regime.pairs) < of
        interval = missed_pairs(of_pairs(of[~lost]), at_threshold)
        missed[run], estimated[run] = lost.sum(), interval.estimated
        held += int(interval.low <= missed[run] <= interval.high)
    return _coverage(held, missed, estimated)


def coverage_by_the_kernel(regime: Regime, runs: int, seed: int = 0) -> Coverage:
    """The same with pairs whose sets are drawn and sketched; pairs of 40 kinds, in equal numbers."""
    bands = regime.plan
    shared, union = (values[:40] for values in kinds(regime.threshold, regime.spread))
    chances = missed_with(bands, regime.sketch, shared, union)
    at_threshold, each = 1 - bands.probability(regime.threshold), regime.pairs // 40
    lost = np.array(
        [
            missed_by_the_kernel(int(s), int(u), bands, regime.sketch, runs * each, seed * 1000 + k)
            for k, (s, u) in enumerate(zip(shared, union, strict=True))
        ]
    ).reshape(40, runs, each)
    of = np.repeat(chances, each)
    intervals = [missed_pairs(of_pairs(of[~lost[:, run].ravel()]), at_threshold) for run in range(runs)]
    missed = lost.sum(axis=(0, 2)).astype(float)
    estimated = np.array([interval.estimated for interval in intervals])
    held = sum(interval.low <= truth <= interval.high for interval, truth in zip(intervals, missed, strict=True))
    return _coverage(held, missed, estimated)


def _coverage(held: int, missed: NDArray[np.float64], estimated: NDArray[np.float64]) -> Coverage:
    runs, off = len(missed), estimated - missed
    bias = off.mean() / max(off.std() / sqrt(runs), 1e-12)
    return Coverage(runs, held / runs, float(missed.mean()), float(estimated.mean()), float(bias))
