"""Sorted sets of hashes: how much two share, exactly and with the early exit, against the naive twins."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.kernels.compiler import part
from neardup.kernels.formulas import CONTAINMENT, COSINE, DICE, LARGER, OVERLAP, RESEMBLANCE, SHARED
from neardup.kernels.sets import (
    ANY_SIZE,
    fewest_shared,
    largest_partner,
    least_shared,
    meets,
    shared_at_least,
    smallest_partner,
    value,
    verify_pairs,
)
from support import reference_search, strategies
from support.made_sets import criterion

THRESHOLDS = st.one_of(
    st.sampled_from([Fraction(3, 10), Fraction(1, 2), Fraction(4, 5), Fraction(9, 10), Fraction(1)]),
    st.fractions(Fraction(1, 1000), 1, max_denominator=1000),
)
ELEMENTS = st.one_of(st.integers(0, 12), strategies.words64())
SETS = st.sets(ELEMENTS, min_size=1, max_size=20)


def laid_out(sets: list[set[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return (hashes, offsets) of the sets, each sorted."""
    hashes = np.array([value for values in sets for value in sorted(values)], np.uint64)
    return hashes, np.cumsum([0, *map(len, sets)])


@given(st.integers(0, 200), st.integers(0, 200), THRESHOLDS)
@example(0, 0, Fraction(1))
def test_least_shared(size_a: int, size_b: int, threshold: Fraction) -> None:
    expected = reference_search.least_shared(size_a, size_b, threshold)
    assert least_shared(size_a, size_b, criterion(threshold)) == expected


def test_least_shared_of_large_sets_is_not_rounded() -> None:
    """Numerators have six decimals and sets millions of shingles: where floating point would be off by one."""
    for size in (10**6, 10**7 + 1, 2**31 - 1):
        shared = least_shared(size, size, criterion(Fraction(999_999, 1_000_000)))
        threshold = Fraction(999_999, 1_000_000)
        assert Fraction(shared, 2 * size - shared) >= threshold > Fraction(shared - 1, 2 * size - shared + 1)


VALUES = {
    RESEMBLANCE: lambda shared, a, b: Fraction(shared, a + b - shared),
    CONTAINMENT: lambda shared, a, b: max(Fraction(shared, a), Fraction(shared, b)),
    OVERLAP: lambda shared, a, b: Fraction(shared, min(a, b)),
    LARGER: lambda shared, a, b: Fraction(shared, max(a, b)),
    DICE: lambda shared, a, b: Fraction(2 * shared, a + b),
    COSINE: lambda shared, a, b: Fraction(shared * shared, a * b),
}
POWER = {COSINE: 2}
"""The power of the measure that VALUES has."""


@part
def _bounds(size, other, common, asked):
    least, smallest = least_shared(size, other, asked), smallest_partner(size, asked)
    return least, smallest, largest_partner(size, common, asked), fewest_shared(size, asked)


@pytest.mark.parametrize("formula", VALUES)
@given(
    size=st.integers(1, 30),
    other=st.integers(1, 30),
    spare=st.integers(0, 30),
    threshold=st.fractions(Fraction(1, 20), 1, max_denominator=20),
)
@example(size=1, other=1, spare=0, threshold=Fraction(1))
def test_the_bounds_of_each_formula(formula: int, size: int, other: int, spare: int, threshold: Fraction) -> None:
    """Against the smallest and greatest numbers that brute force accepts."""
    value_of, common = VALUES[formula], max(size - spare, 0)
    least, smallest, largest, fewest = _bounds(size, other, common, criterion(threshold, formula))
    threshold **= POWER.get(formula, 1)
    shared = range(size + other)  # also more than can be shared, which least_shared may demand
    assert least == min(s for s in shared if value_of(s, size, other) >= threshold)
    same = min(s for s in range(size + 1) if value_of(s, size, size) >= threshold)
    assert smallest == min(b for b in range(1, 100) if value_of(min(size, b), size, b) >= threshold)
    partners = [b for b in range(1, 500 * size) if value_of(min(common, b), size, b) >= threshold]
    assert fewest == (same if formula in (CONTAINMENT, OVERLAP) else smallest)
    assert largest == (ANY_SIZE if partners[-1:] == [500 * size - 1] else max(partners, default=0))


LARGE = st.one_of(st.integers(1, 2**31 - 1), st.sampled_from([10**6, 2**31 - 1]))


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 30), st.integers(1, 40))
def test_the_bounds_of_a_number_of_shared_elements(size: int, other: int, spare: int, number: int) -> None:
    common = max(size - spare, 0)
    bounds = _bounds(size, other, common, criterion(Fraction(number), SHARED))
    assert bounds == (number, number, ANY_SIZE if common >= number else 0, number)


@given(LARGE, LARGE, LARGE, st.fractions(Fraction(1, 10**6), 1, max_denominator=10**6))
@example(2**31 - 1, 2**31 - 1, 2**31 - 1, Fraction(999_999, 1_000_000))
@example(2**31 - 1, 2**31 - 2, 10**9, Fraction(1, 2**31 - 1))
@example(5, 100, 5, Fraction(1, 7))
def test_the_bounds_of_the_cosine_are_not_rounded(size: int, other: int, common: int, threshold: Fraction) -> None:
    """For sets of up to 2³¹ elements, in whole numbers of any size."""
    common, square = min(size, common), threshold * threshold
    least, smallest, largest, fewest = map(int, _bounds(size, other, common, criterion(threshold, COSINE)))
    assert least * least >= square * size * other > max(least - 1, -1) * abs(least - 1)
    assert fewest == smallest >= square * size > smallest - 1
    quotient = int(Fraction(common * common, size) / square)
    assert largest == (ANY_SIZE if quotient >= 2**31 - 1 else quotient if quotient >= common else 0)


@pytest.mark.parametrize("formula", VALUES)
def test_an_empty_set_has_no_partner_of_a_size(formula: int) -> None:
    assert _bounds(0, 5, 0, criterion(Fraction(1, 2), formula))[2] in (0, ANY_SIZE)


@given(st.lists(st.tuples(SETS, SETS), max_size=6), THRESHOLDS, st.sampled_from([*VALUES]))
def test_pairs_meet_a_criterion_by_their_counts(
    pairs: list[tuple[set[int], set[int]]], threshold: Fraction, formula: int
) -> None:
    counts = [(len(a & b), len(a), len(b)) for a, b in pairs]
    met = np.empty(len(pairs), np.bool_)
    meets(*np.array(counts, np.int64).reshape(-1, 3).T.copy(), criterion(threshold, formula), met)
    least = threshold ** POWER.get(formula, 1)
    assert met.tolist() == [VALUES[formula](*counted) >= least for counted in counts]


@given(st.integers(0, 3000), st.integers(1, 3000), st.integers(1, 3000))
def test_a_cosine_is_rounded_once_where_it_has_no_root(shared: int, size: int, more: int) -> None:
    """A pair exactly at .7 is not shown as .699; and equal cosines are equal floats."""
    assert float(value(shared, size, size, COSINE)) == shared / size
    assert float(value(shared * more, size * more**2, size, COSINE)) == shared / size
    whole = float((Decimal(size) * more).sqrt())
    assert float(value(shared, size, more, COSINE)) == pytest.approx(shared / whole, rel=1e-15, abs=0)
    twice = value(2 * shared, 2 * size, 2 * more, COSINE), value(3 * shared, 3 * size, 3 * more, COSINE)
    assert {float(one) for one in twice} == {float(value(shared, size, more, COSINE))}


@given(SETS, SETS, st.integers(-3, 25))
def test_shared_at_least(a: set[int], b: set[int], least: int) -> None:
    hashes, offsets = laid_out([{7}, a, {0, 1, 2}, b, {3}])
    found = shared_at_least(hashes, offsets[1], offsets[2], offsets[3], offsets[4], least)
    assert found == reference_search.shared_at_least(a, b, least)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 45))
def test_shared_at_least_of_sets_that_differ_at_one_end(common: int, low: int, high: int, least: int) -> None:
    """The bound falls early, late or in both sets at once."""
    a = set(range(100, 100 + common)) | set(range(low))
    b = set(range(100, 100 + common)) | set(range(200, 200 + high))
    hashes, offsets = laid_out([a, b])
    expected = reference_search.shared_at_least(a, b, least)
    assert shared_at_least(hashes, 0, offsets[1], offsets[1], offsets[2], least) == expected
    assert shared_at_least(hashes, offsets[1], offsets[2], 0, offsets[1], least) == expected


@given(st.one_of(strategies.families(), st.lists(SETS, max_size=8)), THRESHOLDS)
def test_verified_pairs(sets: list[set[int]], threshold: Fraction) -> None:
    hashes, offsets = laid_out(sets)
    ends = [(a, b) for a in range(len(sets)) for b in range(len(sets))]
    left, right = (np.array([pair[side] for pair in ends], np.int64) for side in (0, 1))
    shared = np.full(len(ends), 99, np.int64)
    verify_pairs(hashes, offsets, left, right, criterion(threshold), shared)
    assert shared.tolist() == [reference_search.verified(sets[a], sets[b], threshold) for a, b in ends]


def test_a_pair_exactly_at_the_threshold_counts() -> None:
    a, b = set(range(8)), set(range(10))
    hashes, offsets = laid_out([a, b])
    shared, zero, one = np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1, np.int64)
    verify_pairs(hashes, offsets, zero, one, criterion(Fraction(4, 5)), shared)
    assert shared.tolist() == [8]
    verify_pairs(hashes, offsets, zero, one, criterion(Fraction(800_001, 1_000_000)), shared)
    assert shared.tolist() == [-1]
