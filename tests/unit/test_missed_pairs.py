"""The estimate of missed pairs holds what it says: unbiased, and its interval covers the truth."""

from __future__ import annotations

import numpy as np
import pytest

from neardup.plan import plan
from neardup.recall import found_with, missed_pairs
from neardup.tables import verified_table


def pairs_of(similarities: np.ndarray, union: int = 1000):
    shared = np.round(similarities * union).astype(np.int64)
    n = np.arange(len(shared))
    size = (union + shared) // 2
    return verified_table(n, n + len(n), shared, size, union + shared - size)


@pytest.mark.parametrize(("threshold", "recall"), [(0.8, 0.9), (0.5, 0.9), (0.7, 0.95)])
def test_the_interval_covers_the_truth(threshold: float, recall: float) -> None:
    """2 000 runs over 1 500 pairs: 95 % ± 4.5 standard errors of the coverage (.0049 each)."""
    rng = np.random.default_rng(11)
    bands = plan(threshold, recall)
    true = pairs_of(rng.uniform(threshold, min(1.0, threshold + 0.15), 1500))
    chance = found_with(bands, "classic", true)
    covered, estimates, missed = 0, [], []
    for _ in range(2000):
        found = rng.random(len(chance)) < chance
        estimate = missed_pairs(chance[found])
        truth = int((~found).sum())
        covered += estimate.low <= truth <= estimate.high
        estimates.append(estimate.value)
        missed.append(truth)
    assert 0.928 <= covered / 2000 <= 0.972
    # unbiased: the mean error is within 4.5 of its standard errors
    error = np.array(estimates) - np.array(missed)
    assert abs(error.mean()) <= 4.5 * error.std() / np.sqrt(2000)


def test_classic_bands_follow_the_curve() -> None:
    bands = plan(0.8, 0.99)
    values = np.array([0.5, 0.7, 0.8, 0.95, 1.0])
    assert found_with(bands, "classic", pairs_of(values)) == pytest.approx([bands.probability(v) for v in values])


def test_small_sets_are_found_more_rarely_than_the_curve_says() -> None:
    """Drawing without replacement: never above the curve, and equal to it for large sets and for equal sets."""
    bands = plan(0.8, 0.99)
    values = np.array([0.5, 0.8, 0.9])
    small, large = (found_with(bands, "one-permutation", pairs_of(values, union)) for union in (20, 1_000_000))
    curve = np.array([bands.probability(v) for v in values])
    assert (small < curve).all()
    assert large == pytest.approx(curve, abs=1e-4)
    assert found_with(bands, "one-permutation", pairs_of(np.array([1.0]), 3)) == pytest.approx([1.0])


def test_nothing_found_says_nothing_missed() -> None:
    nothing = missed_pairs(np.empty(0))
    assert (nothing.value, nothing.low, nothing.high, nothing.recall) == (0.0, 0.0, 0.0, 1.0)
