"""The probability that no band agrees, against its naive twins."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from neardup.kernels.sketch.agreement import no_band_agrees, none_whole
from neardup.text.lsh.bands import plan
from support import reference_recall

BANDS = [(1,), (4,), (1, 1), (2, 1), (2, 2), (1, 1, 1), (3, 2, 2), (4, 4, 3), (1, 5)]


def missed(pairs: list[tuple[int, int]], bands: tuple[int, ...]) -> list[float]:
    shared, union = np.ascontiguousarray(np.array(pairs, np.int64).T)
    out = np.empty(len(pairs))
    no_band_agrees(shared, union, none_whole(np.array(bands)), out)
    return out.tolist()


@pytest.mark.parametrize("bands", BANDS)
def test_bands_that_are_whole_by_chance(bands: tuple[int, ...]) -> None:
    expected = [float(reference_recall.none_whole(bands, n)) for n in range(sum(bands) + 1)]
    assert none_whole(np.array(bands)) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.part(2)
@pytest.mark.parametrize("bands", [(1,), (2,), (1, 1), (2, 1), (2, 2), (1, 3)])
def test_small_sets(bands: tuple[int, ...]) -> None:
    pairs = [(shared, union) for union in range(1, 5) for shared in range(union + 1)]
    expected = [float(reference_recall.no_band_agrees(*pair, bands)) for pair in pairs]
    assert missed(pairs, bands) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("slots", [1, 16, 128, 512])
@pytest.mark.parametrize("threshold", [0.8, 0.9])
def test_large_sets_follow_the_curve(slots: int, threshold: float) -> None:
    """Where slots are few beside the shingles, drawing without replacement is as good as with."""
    bands = plan(threshold, 0.7, slots)
    union = 10_000_000
    pairs = [(int(share * union), union) for share in (0.3, 0.6, threshold, 0.93)]
    curve = [1 - bands.probability(shared / union) for shared, _ in pairs]
    assert missed(pairs, bands.bands) == pytest.approx(curve, rel=5e-3, abs=1e-12)


def test_equal_sets_are_not_missed() -> None:
    assert missed([(1, 1), (7, 7), (5000, 5000)], plan(0.8).bands) == [0, 0, 0]


def test_sets_that_differ_in_one_shingle_of_many_cannot_break_two_bands() -> None:
    """One shingle wins one slot of 128 at most, when every slot is chosen."""
    assert missed([(99_999, 100_000)], plan(0.8).bands)[0] < 1e-12


def test_a_pair_does_not_depend_on_those_beside_it() -> None:
    bands = plan(0.7, 0.9).bands
    pairs = [(shared, union) for union in (1, 3, 30, 200, 900, 40_000) for shared in (union * 7 // 10, union - 1)]
    assert missed(pairs, bands) == [missed([pair], bands)[0] for pair in pairs]


def test_more_in_common_is_found_more_often() -> None:
    for union in (10, 100, 1000):
        chances = missed([(shared, union) for shared in range(0, union + 1, max(1, union // 50))], plan(0.8).bands)
        assert all(b <= a + 1e-12 for a, b in pairwise(chances))
        assert chances[0] == pytest.approx(1)
        assert chances[-1] == 0
