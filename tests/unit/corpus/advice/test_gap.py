"""The gaps in the similarities of all pairs, against naive counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from neardup.corpus.advice import gap, outlook
from neardup.corpus.advice.gap import Gap, find_gaps, groups_at, spanning_tree
from support.reference_advice import components, principal


def matrix(n: int, seed: int) -> np.ndarray[Any, Any]:
    drawn = np.random.default_rng(seed).random((n, n)).astype(np.float32)
    found = np.maximum(drawn, drawn.T)
    np.fill_diagonal(found, 0)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_tree_links_what_the_pairs_link(seed: int) -> None:
    similar = matrix(30, seed)
    tree = spanning_tree(similar)
    assert (np.diff(tree.similarity) <= 0).all()
    for threshold in (0.5, 0.9, 0.97, 0.995):
        ours, naive = groups_at(tree, threshold).tolist(), components(similar, threshold)
        assert [ours.index(k) for k in ours] == [naive.index(k) for k in naive]


@pytest.mark.parametrize("n", [0, 1])
def test_no_document_and_one_document_have_no_tree(n: int) -> None:
    tree = spanning_tree(np.zeros((n, n), np.float32))
    assert len(tree.similarity) == 0
    assert groups_at(tree, 0.5).tolist() == [0]


def families(sizes: list[int], inside: float, outside: float, seed: int = 1) -> np.ndarray[Any, Any]:
    """Return similarities close to ``inside`` within families and below ``outside`` between them."""
    number = np.repeat(np.arange(len(sizes)), sizes)
    noise = matrix(len(number), seed)
    found = np.where(number[:, None] == number, inside * (0.9 + noise / 10), outside * noise).astype(np.float32)
    np.fill_diagonal(found, 0)
    return found


MANY = 1000
"""Shingles that any two documents share, so that one more or less does not count."""


def gaps_of(similar: np.ndarray[Any, Any], false: np.ndarray[Any, Any] | None = None) -> tuple[Gap, ...]:
    n = len(similar)
    none = np.zeros((n, n), np.bool_)
    return find_gaps(similar, np.full((n, n), MANY, np.int32), 0.0, none if false is None else false).gaps


@pytest.mark.parametrize(("inside", "outside"), [(0.9, 0.3), (0.5, 0.1), (0.2, 0.05), (0.95, 0.6)])
def test_the_gap_is_between_strangers_and_relatives(inside: float, outside: float) -> None:
    sizes = [4, 3, 2, 2, 5, *[1] * 30]
    similar = families(sizes, inside, outside)
    found = gaps_of(similar)[0]
    assert found.cut.expected >= outlook.SURE
    assert outside * 0.8 < found.threshold <= inside
    assert found.low <= found.threshold <= found.high
    often = Counter(groups_at(spanning_tree(similar), found.threshold).tolist())
    assert sorted(often.values(), reverse=True) == sorted(sizes, reverse=True)
    assert found.cut.pairs == sum(size * (size - 1) // 2 for size in sizes)
    assert found.cut.links == sum(size - 1 for size in sizes)
    assert found.cut.largest == max(sizes)


def test_a_continuum_has_no_clear_gap() -> None:
    place = np.sort(np.random.default_rng(3).random(120)) * 12
    similar = np.exp(-np.abs(place[:, None] - place)).astype(np.float32)
    np.fill_diagonal(similar, 0)
    assert not [
        one for one in gaps_of(similar) if one.cut.expected >= outlook.SURE and one.width >= outlook.NARROW
    ]


def test_known_strangers_raise_the_gap_above_them() -> None:
    sizes = [12, 3, 3, 2, *[1] * 20]
    similar, false = families(sizes, 0.9, 0.1), np.zeros((sum(sizes), sum(sizes)), np.bool_)
    similar[:12, :12] *= 0.7
    false[:12, :12] = ~np.eye(12, dtype=bool)
    before, after = gaps_of(similar), gaps_of(similar, false)
    assert min(one.low for one in before) < 0.5
    assert min(one.low for one in after) >= np.quantile(similar[false], 0.99) - 0.02


def test_a_link_by_one_shingle_is_no_better_than_strangers() -> None:
    similar = families([2] * 12 + [1] * 20, 0.2, 0.0)
    assert gaps_of(similar)
    by_one = np.ones(similar.shape, np.int32)
    assert find_gaps(similar, by_one, 0.0, np.zeros(similar.shape, np.bool_)).gaps == ()


def test_groups_of_many_below_the_level_of_chance_are_no_relatives() -> None:
    similar = families([20, *[1] * 40], 0.3, 0.05)
    shared, false = np.full(similar.shape, MANY, np.int32), np.zeros(similar.shape, np.bool_)
    assert find_gaps(similar, shared, 0.1, false).gaps
    assert find_gaps(similar, shared, 0.5, false).gaps == ()


@pytest.mark.parametrize("seed", range(3))
def test_each_cut_counts_the_groups_of_its_threshold(seed: int) -> None:
    similar = families([5, 3, 2, 2, *[1] * 12], 0.7, 0.3, seed)
    tree = spanning_tree(similar)
    cuts = [*gap._cuts(similar, np.full(similar.shape, MANY, np.int32), tree)]
    for cut in cuts[::5]:
        often = Counter(components(similar, cut.threshold)).values()
        assert (cut.largest, cut.links) == (max(often), len(similar) - len(often))
        assert cut.pairs == sum(count * (count - 1) // 2 for count in often)
    assert len({cut.links for cut in cuts}) > 3


@pytest.mark.parametrize("seed", range(4))
def test_the_errors_beyond_a_tail_are_expected_from_what_is_before_it(seed: int) -> None:
    distances = np.random.default_rng(seed).exponential(1.0, 4000)
    for end in (1.0, 2.0, 3.0):
        beyond = int((distances >= end).sum())
        assert gap._beyond(distances[distances < end], end) == pytest.approx(beyond, rel=0.25)


def test_a_tail_that_does_not_fall_off_has_much_beyond_it() -> None:
    even = np.linspace(0, 1, 30)
    assert gap._beyond(even, 1.0) > len(even)
    assert gap._beyond(even, 10.0) < 0.01
    for nothing in (np.zeros(0), np.zeros(5), even[:2]):
        assert gap._beyond(nothing, 1.0) == 0


@pytest.mark.parametrize("seed", range(3))
def test_groups_around_representatives_are_those_of_the_definition(seed: int) -> None:
    similar = matrix(40, seed)
    units = np.random.default_rng(seed).integers(1, 20, 40)
    for threshold in (0.9, 0.97):
        ours = outlook._principal(similar, threshold, units).tolist()
        assert ours == principal(similar, threshold, units.tolist())
