"""LSH finds what its plan says: the number of found pairs against the sum of their probabilities.

Every pair with exact resemblance J is proposed with probability ``plan.probability(J)``, so the number of proposed
pairs among independent ones is a Poisson-binomial variable, whose tails ``made_texts.chance`` gives exactly.

Pairs of real texts are made independent by two means. Only one pair of a *family* (texts that hang together by
J ≥ .1) is taken at a time. And since the seeds of the sketch are fixed, the texts are seeded instead: the same
suffix behind every token leaves every exact J as it is, and makes every hash another.

Limits: slots of one-permutation are not quite independent, which moves the curve by up to 1.5 points at its
middle (simulated for sets of 50 shingles or more), and less towards its ends: SLACK. Beyond that both tails must
be above 10⁻⁹; with fewer than 120 comparisons a correct program fails with a probability below
120 · 2 · 10⁻⁹ = 2.4·10⁻⁷.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import neardup as nd
from neardup.deduplication.join.candidates import SignatureBands, band_candidates
from support import reference, shared_data
from support.full_run import FULL
from support.made_texts import Writer, chance, edited, punctuated, resemblance

SLACK = 0.015
LEAST_TAIL = 1e-9
SEEDS = 16 if FULL else 4
PAIRS = 400 if FULL else 200
SKETCHES = ("one-permutation", "classic")
EDGES = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]

Pair = tuple[int, int]


def sketched(texts: Sequence[str], sketch: str) -> np.ndarray:
    return nd.MinHash(sketch=sketch).sketch(list(texts))


def proposed(signatures: np.ndarray, plan: nd.Plan) -> set[Pair]:
    """Return the candidate pairs among the texts with these signatures."""
    keys = SignatureBands([signatures], plan)
    found = band_candidates(keys, len(plan.bands), 0, 1, lambda amount: None)
    assert len(found.hub) == 0
    table = found.pairs.table()
    return set(zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True))


def check(probabilities: Sequence[float], found: int, what: str) -> None:
    """Fail when the number of found pairs is too small or too large for their probabilities."""
    slack = [4 * SLACK * p * (1 - p) for p in probabilities]
    too_few, _ = chance([p - s for p, s in zip(probabilities, slack, strict=True)], found)
    _, too_many = chance([p + s for p, s in zip(probabilities, slack, strict=True)], found)
    print(f"{what}: {found} of {len(probabilities)} found, {sum(probabilities):.1f} expected")
    assert too_few > LEAST_TAIL
    assert too_many > LEAST_TAIL


# --- real texts


@cache
def usable(name: str) -> frozenset[int]:
    """Return the texts with 50 shingles or more whose tokens stay one token with a suffix."""
    vocabulary = {token for of_text in shared_data.tokens(name) for token in of_text}
    whole = {token for token in vocabulary if reference.tokens(token + "x1") == [token + "x1"]}
    sizes = list(map(len, shared_data.sets(name)))
    return frozenset(
        k for k, of_text in enumerate(shared_data.tokens(name)) if sizes[k] >= 50 and whole.issuperset(of_text)
    )


def seeded_texts(name: str, seed: int) -> list[str]:
    """Return the texts with the seed behind every token."""
    return [" ".join(f"{token}x{seed}" for token in of_text) for of_text in shared_data.tokens(name)]


def thinned(name: str, low: float, high: float, seed: int) -> dict[Pair, float]:
    """Return at most one pair of each family with low ≤ J < high, and its J."""
    counted, choose = shared_data.all_pairs(name), random.Random(seed)
    chosen = {}
    for pairs in shared_data.pairs_by_family(name, low, high).values():
        fit = [pair for pair in pairs if usable(name).issuperset(pair)]
        if fit:
            pair = choose.choice(fit)
            chosen[pair] = counted[pair].resemblance
    return chosen


@pytest.mark.part(2)
@pytest.mark.parametrize("sketch", SKETCHES)
def test_real_texts_are_proposed_as_the_curve_says(sketch: str) -> None:
    plans = {threshold: nd.plan(threshold, 0.99) for threshold in (0.7, 0.8, 0.9)}
    expected: dict[tuple[float, float], list[float]] = {(t, low): [] for t in plans for low in EDGES[:-1]}
    found = dict.fromkeys(expected, 0)
    for name in shared_data.here(shared_data.PROSE):
        for seed in range(SEEDS):
            signatures = sketched(seeded_texts(name, seed), sketch)
            for threshold, plan in plans.items():
                pairs = proposed(signatures, plan)
                for low, high in pairwise(EDGES):
                    chosen = thinned(name, low, high, seed)
                    expected[threshold, low] += map(plan.probability, chosen.values())
                    found[threshold, low] += len(pairs & chosen.keys())
    for (threshold, low), probabilities in expected.items():
        assert len(probabilities) >= 12.5 * SEEDS
        check(probabilities, found[threshold, low], f"{sketch}, plan for {threshold}, J from {low}")


# --- made texts


@cache
def made_pairs(target: float) -> tuple[list[str], list[float]]:
    """Return PAIRS texts of 250 to 350 words, each followed by an edit of it, and the exact J of each two."""
    writer = Writer(seed=round(target * 100))
    texts, exact = [], []
    for _ in range(PAIRS):
        words = writer.words(writer.random.randint(250, 350))
        changed = edited(words, target, writer)
        texts += [punctuated(words), punctuated(changed)]
        exact.append(resemblance(words, changed))
    return texts, exact


@pytest.mark.part(4)
@pytest.mark.parametrize("sketch", SKETCHES)
@pytest.mark.parametrize("target", [0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
def test_word_edits_are_proposed_as_the_curve_says(sketch: str, target: float) -> None:
    texts, exact = made_pairs(target)
    signatures = sketched(texts, sketch)
    assert target <= min(exact) <= max(exact) < target + 0.04
    for threshold in (0.5, 0.7, 0.8, 0.9):
        plan = nd.plan(threshold, 0.99)
        pairs = proposed(signatures, plan)
        found = sum((2 * k, 2 * k + 1) in pairs for k in range(len(exact)))
        check(list(map(plan.probability, exact)), found, f"{sketch}, plan for {threshold}, J about {target}")


@pytest.mark.part(3)
@pytest.mark.parametrize("target", [0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
def test_word_edits_are_found_at_a_threshold_that_is_planned_for(target: float) -> None:
    # a pair at or above the threshold is missed with probability 10⁻⁶ at most: one of 400 with 4·10⁻⁴, which may
    # happen, two with 8·10⁻⁸, and that in one of the six cases with 5·10⁻⁷
    texts, exact = made_pairs(target)
    found = nd.find(texts, threshold=target, method="lsh", recall=0.999999).pairs.to_pylist()
    pairs = {(row["id_a"], row["id_b"]): row["resemblance"] for row in found}
    wanted = {(2 * k, 2 * k + 1): j for k, j in enumerate(exact)}
    assert len(wanted.keys() - pairs.keys()) <= 1
    assert pairs.items() <= wanted.items()
