"""Sorting of 64-bit keys, with keys as bad as they come, against the naive twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.kernels.sorting import equal_runs, sort_distinct, sorted_by_key
from support import reference, reference_search, strategies

DIGIT = 11
BAD_KEYS = {
    "none": [],
    "one": [7],
    "all equal": [2**63 + 5] * 100,
    "only low bits differ": [(1 << 50) + value % 7 for value in range(100)],
    "only low bits differ, falling": [(1 << 50) + 100 - value for value in range(100)],
    "only top bits differ": [(value * 5 % 8) << 61 for value in range(100)],
    "top and low bits differ": [((value % 3) << 62) | (value * 7 % 5) for value in range(100)],
    "least and greatest": [0, 2**64 - 1] * 50,
    "falling": [2**64 - 1 - (value << 40) for value in range(100)],
    "twice each": [reference.mix64(value // 2) for value in range(100)],
}


def runs(keys: list[int], passes: int) -> list[list[int]]:
    """Return the groups of equal keys by both kernels, in the order they give."""
    array = np.array(keys, np.uint64)
    order = sorted_by_key(array, passes)
    starts, sizes = equal_runs(array, order, DIGIT * passes)
    assert sorted(order.tolist()) == list(range(len(keys)))
    assert [keys[i] for i in order] == sorted(keys)
    return [order[start : start + size].tolist() for start, size in zip(starts, sizes, strict=True)]


def distinct(values: list[int], spare: int = 0) -> list[int]:
    """Return the values that ``sort_distinct`` leaves; the memory behind the values must not change."""
    hashes = np.array(values + [42] * spare, np.uint64)
    n = sort_distinct(hashes, len(values), np.zeros(len(values), np.uint64))
    assert hashes[len(values) :].tolist() == [42] * spare
    return [int(value) for value in hashes[:n]]


KEYS = st.lists(strategies.words64(), max_size=60).flatmap(
    lambda keys: st.just(keys) if not keys else st.lists(st.sampled_from(keys), max_size=60)
)


@given(KEYS, st.integers(1, 4))
def test_sorted_by_top_bits(keys: list[int], passes: int) -> None:
    order = sorted_by_key(np.array(keys, np.uint64), passes)
    assert order.tolist() == reference_search.sorted_by_top(keys, DIGIT * passes)
    assert order.dtype == np.int32


@given(KEYS, st.integers(1, 4))
def test_runs_of_equal_keys(keys: list[int], passes: int) -> None:
    assert runs(keys, passes) == reference_search.equal_runs(keys)


@pytest.mark.parametrize("passes", [1, 2, 3, 4])
@pytest.mark.parametrize("keys", BAD_KEYS.values(), ids=BAD_KEYS)
def test_runs_of_bad_keys(keys: list[int], passes: int) -> None:
    assert runs(keys, passes) == reference_search.equal_runs(keys)


@given(KEYS, st.integers(0, 3))
@example([5, 5], 1)
def test_distinct_values(values: list[int], spare: int) -> None:
    assert distinct(values, spare) == reference_search.sort_distinct(values)


@pytest.mark.parametrize("keys", BAD_KEYS.values(), ids=BAD_KEYS)
def test_distinct_values_of_bad_keys(keys: list[int]) -> None:
    assert distinct(keys, 2) == reference_search.sort_distinct(keys)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 64, 65, 66, 1000, 1 << 16, (1 << 16) + 1, 200_000])
def test_distinct_values_of_many(size: int) -> None:
    """Sizes at which the number of cells changes, and beyond the last; one value in eight twice."""
    values = [reference.mix64(number - number % 8 // 7) for number in range(size)]
    assert distinct(values) == reference_search.sort_distinct(values)


@pytest.mark.parametrize("crowd", [63, 64, 65, 66, 500])
def test_distinct_values_of_one_crowded_cell(crowd: int) -> None:
    values = [crowd - number for number in range(crowd)] + [reference.mix64(number) for number in range(50)]
    assert distinct(values + values[:9]) == reference_search.sort_distinct(values)
