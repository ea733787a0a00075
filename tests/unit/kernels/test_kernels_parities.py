"""Parities of sets never say that two sets differ in more than they do."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels.sets import differ_in_more, fill_parities, parity_words
from support import made_sets, strategies


def parities(sets: list[set[int]]) -> tuple[np.ndarray, np.ndarray]:
    hashes, starts, sizes = made_sets.laid_out(sets)
    begin = parity_words(sizes)
    words = np.zeros(int(begin[-1]), np.uint64)
    fill_parities(hashes, starts, sizes, begin, words)
    return words, begin


def naive(values: set[int], words: int) -> int:
    """Return the parities as one number of 64 · ``words`` bits."""
    made = 0
    for value in values:
        made ^= 1 << value % (64 * words)
    return made


SETS = st.lists(st.sets(strategies.words64(), max_size=200), min_size=2, max_size=6)


@given(SETS)
def test_words(sets: list[set[int]]) -> None:
    words, begin = parities(sets)
    for values, (low, high) in zip(sets, pairwise(begin.tolist()), strict=True):
        assert high - low == max(1, 1 << max(0, (len(values) - 1) // 32).bit_length())
        made = sum(int(word) << 64 * k for k, word in enumerate(words[low:high]))
        assert made == naive(values, high - low)


@given(SETS, st.integers(0, 300))
def test_the_bound(sets: list[set[int]], most: int) -> None:
    """As the naive twin by the shorter words; never more than the sets differ in."""
    words, begin = parities(sets)
    lengths = np.diff(begin).tolist()
    for x, a in enumerate(sets):
        for y, b in enumerate(sets):
            shorter, longer = sorted((lengths[x], lengths[y]))
            apart = (naive(a, shorter) ^ naive(b, shorter)).bit_count() if longer <= 4 * shorter else 0
            assert apart <= len(a ^ b)
            assert differ_in_more(words, begin, x, y, most) == (apart > most)
            assert not differ_in_more(words, begin, x, y, len(a ^ b))


def test_unlike_sets_are_told() -> None:
    """What the words are for: at J about .6 hardly a pair is left to be counted at a threshold of .8."""
    random = np.random.default_rng(3)
    pool = random.integers(0, 2**64, 500, dtype=np.uint64)
    sets = [set(random.choice(pool, 380, replace=False).tolist()) for _ in range(60)]
    words, begin = parities(sets)
    most = 2 * 380 - 2 * 338  # |A∩B| ≥ 338 of twice 380 is J ≥ .8
    left = sum(not differ_in_more(words, begin, x, y, most) for x in range(60) for y in range(x))
    assert left <= 60 * 59 // 2 // 20


def test_large_sets_are_compared_word_by_word() -> None:
    """More words than are compared at once."""
    random = np.random.default_rng(4)
    pool = [int(value) for value in random.integers(0, 2**64, 1000, dtype=np.uint64)]
    sets = [set(pool[:900]), set(pool[50:950]), set(pool[100:])]
    words, begin = parities(sets)
    length = int(begin[1])
    assert length >= 32
    for x, y in ((0, 1), (1, 2), (0, 2), (2, 0)):
        apart = (naive(sets[x], length) ^ naive(sets[y], length)).bit_count()
        assert [differ_in_more(words, begin, x, y, apart - k) for k in (0, 1)] == [False, True]
