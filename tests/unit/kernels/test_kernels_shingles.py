"""Unit hashes to shingle hashes and stream keys, against their naive twins."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.kernels.shingles import mix64, mix_all, shingle_hashes, stream_key
from neardup.text.keys import PUBLIC
from support import reference, strategies


def units(**sizes: int) -> st.SearchStrategy[list[int]]:
    return st.lists(strategies.words64(), **sizes)


def kernel_shingles(values: list[int], length: int) -> list[int]:
    tokens = np.array([*values, 2**64 - 1, 2**64 - 1], np.uint64)  # bytes behind the text must not count
    out = np.zeros(max(len(values), 1), np.uint64)
    n = shingle_hashes(tokens, len(values), length, PUBLIC.shingles, out)
    return [int(value) for value in out[:n]]


def kernel_key(values: list[int]) -> tuple[int, int]:
    high, low = stream_key(np.array([*values, 2**64 - 1], np.uint64), len(values))
    return int(high), int(low)


@given(units(max_size=20))
def test_mixing(values: list[int]) -> None:
    out = np.zeros(len(values), np.uint64)
    mix_all(np.array(values, np.uint64), out)
    assert out.tolist() == [reference.mix64(value) for value in values]
    assert [int(mix64(np.uint64(value))) for value in values] == out.tolist()


def test_multipliers_are_odd_and_distinct() -> None:
    first, *keys = PUBLIC.shingles.tolist()
    assert first == reference.GOLD
    assert keys == [reference.shingle_key(position) for position in range(64)]
    assert all(key % 2 for key in keys)
    assert len(set(keys)) == 64


@given(units(max_size=24), st.integers(1, 10))
@example([], 1)
@example([0], 1)
@example([0, 0, 0, 0, 0], 5)
@example([2**64 - 1] * 9, 8)
def test_shingle_hashes(values: list[int], length: int) -> None:
    assert kernel_shingles(values, length) == reference.shingle_hashes(values, length)


@given(units(min_size=1, max_size=12))
def test_a_short_text_has_one_shingle_that_is_no_shingle_of_a_longer_one(values: list[int]) -> None:
    """The same tokens as the whole of a short text and as a full shingle are different shingles."""
    for length in (len(values) + 1, 64):
        assert len(kernel_shingles(values, length)) == 1
        assert kernel_shingles(values, length) != kernel_shingles(values, len(values))
        assert kernel_shingles(values, length) == kernel_shingles(values, 50)


def test_the_order_of_tokens_counts() -> None:
    assert (
        len({*kernel_shingles([1, 2, 3], 3), *kernel_shingles([3, 2, 1], 3), *kernel_shingles([2, 1, 3], 3)}) == 3
    )


@given(units(max_size=24))
@example([])
@example([0] * 4)
@example([1, 2, 3, 4, 5])
def test_stream_key(values: list[int]) -> None:
    assert kernel_key(values) == reference.stream_key(values)


def test_stream_keys_of_like_sequences_differ() -> None:
    """Repeats of one token, of zero, lanes that change places, and a token moved to the rest."""
    sequences = [[value] * n for value in (0, 1, 5, 2**64 - 1) for n in range(1, 40)]
    sequences += [[], [1, 2, 3, 4], [2, 1, 3, 4], [1, 2, 4, 3], [4, 3, 2, 1], [1, 2, 3, 4, 1], [1, 1, 2, 3, 4]]
    keys = [kernel_key(values) for values in sequences]
    assert len({high for high, _ in keys}) == len({low for _, low in keys}) == len(sequences)
