"""Passages in common: runs against every pair of places, and texts read at once against ``units.words``."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels.match.lcs import longest_run
from neardup.kernels.match.passages import located_tokens, passages
from neardup.kernels.shingles import shingle_hashes
from neardup.text.keys import key_of
from neardup.text.units import words
from neardup.unicode import codepoints_of, unicode_tables
from support.strategies import any_text

KEY = key_of(bytes(32))

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


@given(any_text() | st.text("aé_\u0301\u2026\u00ad\ufb01\u6771 ½ßI\ud800", max_size=40))
def test_tokens_and_their_places_are_those_of_words(text: str) -> None:
    expected = words(text, KEY)
    hashes, places = located_tokens(codepoints_of(text), unicode_tables(), KEY)
    assert hashes.tolist() == expected.hashes.tolist()
    assert places.tolist() == expected.spans.tolist()


def test_shingles_that_do_not_count_end_a_passage() -> None:
    """The kernel alone; ``test_collection_passages.py`` compares whole passages."""
    codepoints = codepoints_of("a b c d e f")
    single = words("a b c d e f", KEY).hashes
    every = np.empty(6, np.uint64)
    shingles = every[: shingle_hashes(single, 6, 1, KEY.shingles, every)]
    order = np.argsort(shingles)
    rule, nothing = np.array([1, 100]), np.empty(0, np.uint64)
    found = []
    for ignored in (nothing, shingles[3:4]):
        asked = shingles[order], order.astype(np.int64), ignored
        found.append(passages(codepoints, np.array([0, 11]), asked, unicode_tables(), KEY, rule).tolist())
    assert found == [[[0, 0, 6, 0, 11]], [[0, 0, 3, 0, 5]]]
