"""The rules that choose among gaps, against naive counts and true families."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from neardup.corpus.advice import outlook
from neardup.corpus.advice.gap import (
    STEP,
    CutLinks,
    Gap,
    Gaps,
    LinkTree,
    _places,
    find_gaps,
    groups_at,
    largest_usual,
)
from neardup.corpus.advice.sample import KINDS, SharedCounts
from support.reference_advice import components

Matrix = np.ndarray[Any, Any]


def noisy_families(seed: int, inside: float = 0.7) -> tuple[Matrix, Matrix]:
    """Return similarities of families of one to five documents and strangers, and the family of each document."""
    draw = np.random.default_rng(seed)
    number = np.repeat(np.arange(70), draw.choice([1, 1, 1, 2, 3, 5], 70))
    noise = draw.beta(2, 5, (len(number), len(number)))
    noise = np.maximum(noise, noise.T)
    same = number[:, None] == number
    similar = np.where(same, inside + (1 - inside) * noise, 0.2 * noise).astype(np.float32)
    np.fill_diagonal(similar, 0)
    return similar, number


def gaps_of(similar: Matrix) -> Gaps:
    shared, false = np.full(similar.shape, 1000, np.int32), np.zeros(similar.shape, np.bool_)
    return find_gaps(similar, shared, 0.0, false)


def pairs_of(groups: list[int]) -> set[tuple[int, int]]:
    return {(a, b) for a, b in combinations(range(len(groups)), 2) if groups[a] == groups[b]}


@pytest.mark.parametrize("seed", range(6))
def test_the_expected_f1_is_that_of_the_true_families(seed: int) -> None:
    similar, family = noisy_families(seed)
    best = gaps_of(similar).gaps[0]
    found, true = pairs_of(components(similar, best.threshold)), pairs_of(family.tolist())
    f1 = 2 * len(found & true) / (len(found) + len(true))
    assert best.cut.expected == pytest.approx(f1, abs=0.05)


@pytest.mark.parametrize("seed", range(6))
def test_hardly_a_stranger_is_linked_at_the_precise_threshold(seed: int) -> None:
    similar, family = noisy_families(seed, inside=0.3)
    precise = gaps_of(similar).precise
    found, true = pairs_of(components(similar, precise)), pairs_of(family.tolist())
    assert found
    assert len(found - true) <= 0.05 * len(found)


@pytest.mark.parametrize("seed", range(6))
def test_the_slope_of_a_gap_is_no_gap(seed: int) -> None:
    gaps = gaps_of(noisy_families(seed, inside=0.4)[0]).gaps
    assert gaps[0].cut.expected == max(one.cut.expected for one in gaps)
    for one, other in combinations(gaps, 2):
        lows, highs = _places(np.array([one.low, other.low])), _places(np.array([one.high, other.high]))
        assert lows.max() - highs.min() > 1.5 * STEP


def candidate(
    pairs: int, *, links: int = 20, expected: float = 0.97, width: float = 1.0, largest: int = 3
) -> outlook._Candidate:
    """Return a gap of this width around .3, by words in runs of five."""
    middle = _places(np.array([0.3]))[0]
    low, high = (1 / np.cosh((middle + side * width / 2) / 2) ** 2 for side in (-1, 1))
    right = expected * pairs
    cut = CutLinks(0.3, links, pairs, largest, right, 0.0, links * (1 / expected - 1), expected)
    n = 100
    counts = SharedCounts(KINDS[0], np.zeros((n, n), np.int32), np.full(n, 50))
    tree = LinkTree(np.zeros(n - 1), np.arange(n - 1), np.arange(1, n))
    view = outlook.Viewed([counts], np.zeros((n, n), np.bool_))
    return outlook._Candidate(view, counts, "resemblance", tree, Gap(float(low), float(high), cut), 0.0)


def some_candidates(seed: int) -> list[outlook._Candidate]:
    draw = np.random.default_rng(seed)
    return [
        candidate(
            int(draw.integers(20, 2000)),
            links=int(draw.integers(8, 95)),
            expected=float(draw.uniform(0.9, 1.0)),
            width=float(draw.uniform(0.1, 2.0)),
            largest=int(draw.integers(2, 40)),
        )
        for _ in range(int(draw.integers(1, 9)))
    ]


@pytest.mark.parametrize("seed", range(20))
def test_lumps_are_left_out_where_other_gaps_are_clear(seed: int) -> None:
    """At first the wide gaps with few pairs, without large groups if one without is clear and wide; else any."""
    found = some_candidates(seed)
    chosen = outlook._without_lumps(found, 100)
    assert chosen
    assert set(chosen) <= set(found)
    few = [one for one in found if one.gap.cut.pairs / 4950 <= outlook.TOO_MANY]
    assert set(chosen) <= set(few or found)
    usual = [one for one in few if one.gap.width >= outlook.NARROW and one.gap.cut.largest <= largest_usual(100)]
    if any(one.gap.width >= outlook.WIDE and one.gap.cut.expected >= outlook.SURE for one in usual):
        assert chosen == usual
    elif wide := [one for one in few if one.gap.width >= outlook.NARROW]:
        assert chosen == wide


@pytest.mark.parametrize("seed", range(20))
def test_a_clear_gap_that_links_other_pairs_is_a_doubt(seed: int) -> None:
    found = some_candidates(seed)
    found = [replace(one, view=found[0].view) for one in found]
    for best in found:
        pairs, expected, width = best.gap.cut.pairs, best.gap.cut.expected, best.gap.width
        more = [
            other.gap.cut.pairs - pairs
            for other in found
            if other.gap.cut.expected >= outlook.SURE and other.gap.width >= outlook.NARROW
        ]
        fewer = [
            pairs - other.gap.cut.pairs
            for other in found
            if other.gap.width >= width >= outlook.WIDE and expected - other.gap.cut.expected <= outlook.UNCLEAR
        ]
        doubt = outlook._rivalled(best, found)
        if max(more, default=0) > outlook.MANY * pairs:
            assert f"links {max(more):,} pairs more" in doubt
        elif max(fewer, default=0) > outlook.MANY * pairs:
            assert f"links {max(fewer):,} pairs fewer" in doubt
        else:
            assert doubt == ""


def test_text_of_templates_that_counts_is_a_doubt() -> None:
    one = candidate(20)
    false = np.zeros((30, 30), np.bool_)
    false[3, 7:12] = false[7:12, 3] = True
    best = replace(one, view=replace(one.view, false=false))
    assert outlook._rivalled(one, [one]) == ""
    assert "6 documents" in outlook._rivalled(best, [best])


@pytest.mark.parametrize(
    ("shares", "doubt"), [((0.1, 0.02), True), ((0, 0), True), ((0.1, 0), False), ((0, 0.1), False)]
)
def test_a_gap_with_fewer_pairs_counts_if_both_leave_out_common_text_or_neither(
    shares: tuple[float, float], doubt: bool
) -> None:
    """With all text, pairs of a template hide the others, so it has fewer gaps, of near copies alone."""
    best, other = candidate(30), candidate(20)
    best, other = (
        replace(one, view=replace(one.view, ignore_common=share))
        for one, share in zip((best, other), shares, strict=True)
    )
    said = outlook._rivalled(best, [best, other])
    assert bool(said) == doubt
    assert "10 pairs fewer" in said or not doubt


@pytest.mark.parametrize(("others", "doubt"), [(0, False), (15, False), (30, True)])
def test_pairs_that_other_shingles_find_are_a_doubt_from_a_tenth_on(others: int, doubt: bool) -> None:
    said = outlook._doubt(candidate(100, expected=0.99), 0.0, others, 100)
    assert bool(said) == doubt
    assert f"{others} pairs" in said or not doubt


@pytest.mark.parametrize("seed", range(4))
def test_pairs_that_other_shingles_find_are_counted(seed: int) -> None:
    """Pairs within the groups that another view makes above all strangers, and not within those of the gap."""
    similar, _ = noisy_families(seed)
    other, _ = noisy_families(seed + 100)
    n = min(len(similar), len(other))
    first, second = gaps_of(similar[:n, :n]), gaps_of(other[:n, :n])
    one = candidate(20)
    best = outlook._Candidate(one.view, one.counts, "resemblance", first.tree, first.gaps[0], 0.0)
    own = pairs_of(groups_at(first.tree, best.gap.threshold).tolist())
    naive = [len(pairs_of(components(other[:n, :n], second.precise)) - own)]
    naive += [len(pairs_of(components(similar[:n, :n], first.precise)) - own)]
    assert outlook._others(best, [first, second]) == max(naive) > 0


@pytest.mark.parametrize(
    ("links", "largest", "width", "cautious"),
    [(80, 10, 0.5, True), (81, 10, 0.5, False), (80, 11, 0.5, False), (80, 10, 0.2, False)],
)
def test_a_cautious_gap_leaves_strangers_and_no_large_group(
    links: int, largest: int, width: float, cautious: bool
) -> None:
    one = candidate(100, links=links, largest=largest, width=width)
    assert outlook._is_cautious(one, 100) == cautious


@pytest.mark.parametrize("seed", range(10))
def test_the_best_gap_is_that_of_the_highest_worth(seed: int) -> None:
    """Every gap but the clearest ones is charged with the pairs that the clear ones find, and it does not."""
    found = some_candidates(seed)
    best, most = outlook._best(found)
    assert best is not None
    clear = max(one.gap.cut.expected for one in found) - outlook.UNCLEAR
    assert most == max(one.gap.cut.right for one in found if one.gap.cut.expected >= clear)
    for one in found:
        assert one.worth(most) <= best.worth(most)
        true_pairs = max(most, one.gap.cut.right / one.gap.cut.expected)
        precision, recall = one.gap.cut.right / one.gap.cut.pairs, one.gap.cut.right / true_pairs
        assert one.expected(most) == pytest.approx(2 * precision * recall / (precision + recall), rel=0.03)
    assert outlook._best([]) == (None, 0.0)
