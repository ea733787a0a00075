"""The estimate of missed pairs, and what is said where little or nothing was found."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from neardup.deduplication.join.misses import missed_with, of_pairs
from neardup.deduplication.run.account import Interval
from neardup.deduplication.run.recall import missed_pairs, predicted_recall
from neardup.text.lsh.bands import plan


def failures(misses: int, finds: int, chance: float) -> float:
    """P(this number of misses before the given number of finds), each a miss with ``chance``."""
    return comb(misses + finds - 1, misses) * chance**misses * (1 - chance) ** finds


def test_classic_bands_follow_the_curve() -> None:
    bands = plan(0.8, 0.99)
    shared = np.array([500, 700, 800, 950, 1000])
    missed = missed_with(bands, "classic", shared, np.full(5, 1000))
    assert 1 - missed == pytest.approx([bands.probability(s / 1000) for s in shared])


def test_different_slots_for_different_shingles_miss_more_rarely() -> None:
    """Below the curve above the threshold, most where slots and shingles are as many; the order is kept."""
    bands = plan(0.8, 0.99)
    union = np.array([1_000_000, 100, 30, 100, 1_000_000])
    shared = union * 8 // 10
    one, classic = (missed_with(bands, sketch, shared, union) for sketch in ("one-permutation", "classic"))
    assert one[[0, 4]] == pytest.approx(classic[[0, 4]], rel=1e-3)
    assert one[1] == one[3] < one[2] < classic[2]
    assert missed_with(bands, "one-permutation", np.array([3]), np.array([3])) == pytest.approx([0])


@pytest.mark.parametrize("chance", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("found", [0, 1, 5, 40, 300])
def test_the_interval_holds_the_likeliest_numbers(found: int, chance: float) -> None:
    """With one chance for all, the truth is negative binomial: its probabilities are added up by hand."""
    interval = missed_pairs(of_pairs(np.full(found, chance)), chance)
    inside = {n: failures(n, found + 1, chance) for n in range(int(interval.low), int(interval.high) + 1)}
    outside = failures(int(interval.high) + 1, found + 1, chance)
    if interval.low > 0:
        outside = max(outside, failures(int(interval.low) - 1, found + 1, chance))
    # an end that is there only to hold the estimate may be less likely
    middle = [p for n, p in inside.items() if not abs(n - interval.estimated) < 1]
    assert min(middle, default=1.0) >= outside * (1 - 1e-9)
    weight = sum(inside.values())
    assert weight >= 0.94
    if max(outside, *(p for n, p in inside.items() if n in (interval.low, interval.high))) < 0.02:
        assert weight <= 0.96
    assert interval.estimated == pytest.approx(found * chance / (1 - chance))
    assert interval.low <= interval.estimated <= interval.high


def test_nothing_found_may_mean_little_missed() -> None:
    nothing = np.empty(0)
    assert missed_pairs(of_pairs(nothing), 0.01) == Interval(0.0, 0, 0)
    assert missed_pairs(of_pairs(nothing), 0.1) == Interval(0.0, 0, 1)
    assert missed_pairs(of_pairs(nothing), 0.5) == Interval(0.0, 0, 4)
    assert missed_pairs(of_pairs(nothing), 0.0) == Interval(0.0, 0, 0)


def test_pairs_that_cannot_be_missed_have_no_missed_companions() -> None:
    assert missed_pairs(of_pairs(np.zeros(100_000)), 0.0) == Interval(0.0, 0, 0)


def test_millions_of_pairs() -> None:
    """As wide as the normal approximation says, which is good there."""
    interval = missed_pairs(of_pairs(np.full(5_000_000, 0.02)), 0.02)
    spread = 1.96 * np.sqrt(5e6 * 0.02) / 0.98
    assert interval.low == pytest.approx(interval.estimated - spread, abs=2)
    assert interval.high == pytest.approx(interval.estimated + spread, abs=2)


def test_predicted_recall_turns_the_interval_round() -> None:
    assert predicted_recall(90, Interval(10.0, 5, 30)) == Interval(0.9, 0.75, 90 / 95)
    assert predicted_recall(0, Interval(0.0, 0, 1)) == Interval(1.0, 0.0, 1.0)
    assert predicted_recall(0, Interval(0.0, 0, 0)) == Interval(1.0, 1.0, 1.0)
