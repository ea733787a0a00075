"""What the error bars of ``explain`` promise, over many seeds: 95 of 100 hold the exact value, and which do not.

Limits: a share that is measured over T seeds is compared at 6.2 standard errors of T independent trials, outside
of which a normal variable is with probability 6·10⁻¹⁰. The seeds are fixed.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from math import comb, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from neardup.comparison.walkthrough import EXAMPLE
from neardup.comparison.walkthrough.families import FAMILIES
from neardup.text.sketch.provenance import estimate
from neardup.unicode import shingles
from support.full_run import FULL
from support.paths import DOCS

SEEDS, SIGMAS = 500, 6.2
SEEDS_OF_MEANS = SEEDS if FULL else 150
SLOTS = (50, 100, 200, 400)
PAGE = DOCS / "explanation" / "walkthrough.md"
SETS = [shingles(text, 3) for text in EXAMPLE]
HELD = np.array([[row in found for found in SETS] for row in sorted(set().union(*SETS))])
PAIRS = list(combinations(range(3), 2))
EXACT = [len(SETS[a] & SETS[b]) / len(SETS[a] | SETS[b]) for a, b in PAIRS]


@cache
def matches(family: str, slots: int, seeds: int = SEEDS) -> NDArray[np.int64]:
    """Return int64[seeds, pairs]: equal values of each pair under the functions of each seed."""
    made = np.empty((seeds, len(PAIRS)), np.int64)
    for i in range(seeds):
        hashed = FAMILIES[family](np.arange(1, len(HELD) + 1, dtype=np.uint64), slots, i + 1, None)
        signatures = [hashed.signature(column)[0] for column in HELD.T]
        made[i] = [(signatures[a] == signatures[b]).sum() for a, b in PAIRS]
    return made


def covered(family: str, slots: int, pair: int) -> float:
    """Return the share of seeds whose interval holds the exact value."""
    found = [estimate(int(equal), slots) for equal in matches(family, slots)[:, pair]]
    return float(np.mean([one.low <= EXACT[pair] <= one.high for one in found]))


def promised(slots: int, exact: float) -> float:
    """Return what that share is for independent slots without bias: a sum over the binomial distribution."""
    total = 0.0
    for equal in range(slots + 1):
        found = estimate(equal, slots)
        if found.low <= exact <= found.high:
            total += comb(slots, equal) * exact**equal * (1 - exact) ** (slots - equal)
    return total


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("pair", range(3))
def test_classic_error_bars_hold_the_exact_value_as_often_as_promised(slots: int, pair: int) -> None:
    share = promised(slots, EXACT[pair])
    assert 0.92 < share < 0.98
    assert abs(covered("classic", slots, pair) - share) < SIGMAS * sqrt(share * (1 - share) / SEEDS)


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("pair", range(3))
def test_one_permutation_error_bars_hold_it_at_least_as_often(slots: int, pair: int) -> None:
    """Its slots repeat each other less than independent ones, so its estimates vary less."""
    share = promised(slots, EXACT[pair])
    assert covered("one-permutation", slots, pair) > share - SIGMAS * sqrt(share * (1 - share) / SEEDS)


@pytest.mark.parametrize("family", ["classic", "one-permutation", "permutations"])
@pytest.mark.parametrize("slots", [50, 400])
def test_random_permutations_and_the_families_of_this_program_do_not_lean(family: str, slots: int) -> None:
    means = matches(family, slots).mean(axis=0) / slots
    for mean, exact in zip(means, EXACT, strict=True):
        assert abs(mean - exact) < SIGMAS * sqrt(exact * (1 - exact) / slots / SEEDS)


def share_of_all_functions(pair: int) -> float:
    """Return how many of all 256 functions (a·x + b) mod 17, a and b from 1 to 16, give the pair equal values."""
    equal = 0
    for a, b in product(range(1, 17), repeat=2):
        values = [(a * x + b) % 17 for x in range(1, 17)]
        first, second = (min(v for v, held in zip(values, HELD[:, d], strict=True) if held) for d in PAIRS[pair])
        equal += first == second
    return equal / 256


def test_mod_p_leans_to_the_mean_of_its_functions() -> None:
    """The documented bias: no number of slots comes nearer to the exact value than all functions together."""
    limits = [share_of_all_functions(pair) for pair in range(3)]
    assert [round(limit, 3) for limit in limits] == [0.242, 0.082, 0.086]
    assert [round(exact, 3) for exact in EXACT] == [0.25, 0.091, 0.083]
    means = matches("mod-p", 400, SEEDS_OF_MEANS).mean(axis=0) / 400
    for mean, limit in zip(means, limits, strict=True):
        assert abs(mean - limit) < SIGMAS * sqrt(limit * (1 - limit) / 400 / SEEDS_OF_MEANS)


def test_a_larger_prime_does_not_cure_it() -> None:
    rng, p, draws = np.random.default_rng(5), 10_007, 200_000
    a, b = rng.integers(1, p, (draws, 1)), rng.integers(0, p, (draws, 1))
    numbers = np.arange(1, 17)
    smallest = [((a * numbers[column] + b) % p).min(axis=1) for column in HELD.T]
    shares = [float((smallest[first] == smallest[second]).mean()) for first, second in PAIRS]
    # one standard error is at most .001
    assert shares == pytest.approx([0.264, 0.111, 0.115], abs=0.004)
    assert all(share - exact > 0.01 for share, exact in zip(shares, EXACT, strict=True))


def test_multiply_shift_leans_upwards_by_its_collisions() -> None:
    """The documented bias: with as many bits as the number of rows has, two rows often share a value."""
    means = matches("multiply-shift", 400, SEEDS_OF_MEANS).mean(axis=0) / 400
    assert all(mean - exact > 0.08 for mean, exact in zip(means, EXACT, strict=True))
    assert all(covered("multiply-shift", 200, pair) < 0.2 for pair in range(3))
    assert all(covered("mod-p", 200, pair) > 0.85 for pair in range(3))


@pytest.mark.part(2)
@pytest.mark.parametrize("slots", SLOTS)
def test_the_page_has_these_shares(slots: int) -> None:
    shares = (" ".join(f"{covered(family, slots, pair):.2f}" for pair in range(3)) for family in FAMILIES)
    row = f"| {slots} | " + " | ".join(shares).replace("0.", ".") + " |"
    assert row in PAGE.read_text(encoding="utf-8"), row
