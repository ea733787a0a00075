"""The longest common run of shingles against trying every pair of places."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels.match.lcs import longest_run

TEXTS = st.lists(st.integers(0, 4), max_size=30)


def placed(text: list[int]) -> tuple[np.ndarray, np.ndarray]:
    shingles = np.array(text, np.uint64)
    order = np.argsort(shingles, kind="stable")
    return shingles[order], order.astype(np.int64)


def naive(a: list[int], b: list[int]) -> tuple[int, int, int]:
    best = (-1, -1, 0)
    for j in range(len(b)):
        for i in range(len(a)):
            length = 0
            while i + length < len(a) and j + length < len(b) and a[i + length] == b[j + length]:
                length += 1
            if length > best[2]:
                best = (i, j, length)
    return best


@given(TEXTS, TEXTS)
def test_the_longest_run_is_the_first_of_the_longest(a: list[int], b: list[int]) -> None:
    assert longest_run(*placed(a), np.array(b, np.uint64), 1_000) == naive(a, b)


def test_endless_repeats_are_given_up() -> None:
    text = [7] * 2_000
    assert longest_run(*placed(text), np.array(text, np.uint64), 10_000) == (-1, -1, -1)
    assert longest_run(*placed(text), np.array(text, np.uint64), 4_000_000) == (0, 0, 2_000)
