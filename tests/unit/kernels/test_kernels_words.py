"""ASCII text to token hashes: masks, loads, products and the token scan against their naive twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray

from neardup.kernels import bits as memory
from neardup.kernels.text.hashing import AS_IS, LOWER, PADDING, hash_token, hash_tokens, is_ascii, token_edges
from neardup.text.keys import PUBLIC
from support import reference, strategies

JUNK = b"aZ_9" * 16
"""Surrounds a text: token characters, so that reading too far or too early shows."""


@njit
def word_mask(data: NDArray[np.uint8], at: int) -> np.uint64:
    return memory.word_mask(data, at)


@njit
def low_line_mask(data: NDArray[np.uint8], at: int) -> np.uint64:
    return memory.low_line_mask(data, at)


@njit
def high_mask(data: NDArray[np.uint8], at: int) -> np.uint64:
    return memory.high_mask(data, at)


@njit
def load64(data: NDArray[np.uint8], at: int) -> np.uint64:
    return memory.load64(data, at)


@njit
def fold128(a: np.uint64, b: np.uint64) -> np.uint64:
    return memory.fold128(a, b)


@njit
def trailing_zeros(value: np.uint64) -> int:
    return memory.trailing_zeros(value)


def in_junk(text: bytes, shift: int = 0) -> tuple[NDArray[np.uint8], int, int]:
    """Return a buffer with the text in it, and where it starts and ends."""
    start = len(JUNK) + shift
    data = np.frombuffer(JUNK + b"q" * shift + text + JUNK, np.uint8)
    return data, start, start + len(text)


def kernel_tokens(text: bytes, shift: int = 0) -> list[int]:
    """Return the published hashes of the tokens, from buffers of exactly the size that is asked for."""
    data, start, end = in_junk(text, shift)
    out = np.zeros((len(text) + 1) // 2 + 1, np.uint64)
    edges = np.zeros(len(text) + 81, np.int64)
    out[-1] = edges[-1] = 42
    n = token_edges(data, start, end, edges[:-1])
    hash_tokens(data, edges, n, LOWER, PUBLIC, out)
    assert (out[-1], edges[-1]) == (42, 42)
    return [int(value) for value in out[:n]]


def test_every_byte_in_every_lane() -> None:
    data = bytes(range(256)) + bytes(range(256)) + bytes(PADDING)
    array = np.frombuffer(data, np.uint8)
    for at in range(256):
        assert int(word_mask(array, at)) == reference.word_mask(data[at : at + 64])
        assert int(low_line_mask(array, at)) == reference.low_line_mask(data[at : at + 64])
        assert int(high_mask(array, at)) == reference.high_mask(data[at : at + 64])


@given(st.binary(min_size=8, max_size=40), st.data())
def test_loads_are_little_endian_from_any_address(text: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 8))
    assert int(load64(np.frombuffer(text, np.uint8), at)) == int.from_bytes(text[at : at + 8], "little")


@given(strategies.words64(), strategies.words64())
def test_folded_product(a: int, b: int) -> None:
    assert int(fold128(np.uint64(a), np.uint64(b))) == reference.fold128(a, b)


def test_trailing_zeros() -> None:
    assert [trailing_zeros(np.uint64(1 << bit)) for bit in range(64)] == list(range(64))
    assert trailing_zeros(np.uint64(0b1011000)) == 3
    assert trailing_zeros(np.uint64(0)) == 64


@given(st.binary(min_size=1, max_size=70), st.integers(0, 9))
def test_hash_of_a_token_as_it_is(token: bytes, shift: int) -> None:
    assert int(hash_token(*in_junk(token, shift), AS_IS)) == reference.hash_bytes(token)


@pytest.mark.parametrize("size", range(1, 40))
def test_hash_of_a_token_of_every_size_and_case(size: int) -> None:
    token = ("Ab_9zQ7x" * 5)[:size]
    written = token.lower().replace("_", "\x7f").encode()
    value = int(hash_token(*in_junk(token.encode()), LOWER))
    assert value == int(hash_token(*in_junk(written), AS_IS)) == reference.hash_token(token.lower())


def test_tokens_that_share_bytes_hash_apart() -> None:
    """Prefixes, tokens of one repeated letter, and those whose middle words agree or change places."""
    tokens = [b"a" * n for n in range(1, 60)] + [b"ab" * n for n in range(1, 30)]
    tokens += [b"x" * 8 + middle + b"y" * 8 for middle in (b"12345678abcdefgh", b"abcdefgh12345678", b"1", b"")]
    assert len({int(hash_token(*in_junk(token), AS_IS)) for token in tokens}) == len(tokens)


@given(st.binary(max_size=200), st.integers(0, 3))
@example(b"a" * 64 + b"\x80", 0)
@example(b"a" * 63 + b"\x80", 1)
def test_is_ascii_looks_at_the_text_and_no_further(text: bytes, shift: int) -> None:
    data = np.frombuffer(b"\xff" * shift + text + b"\xff" * PADDING, np.uint8)
    assert bool(is_ascii(data, shift, shift + len(text))) == text.isascii()


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 127, 128, 129])
def test_is_ascii_finds_one_byte_anywhere(size: int) -> None:
    for at in range(size):
        text = bytearray(b"a" * size)
        text[at] = 0x80
        data, start, end = in_junk(bytes(text))
        assert not is_ascii(data, start, end)
    assert is_ascii(*in_junk(b"a" * size))


@given(strategies.ascii_text(), st.integers(0, 3))
@example("", 0)
@example("a", 0)
@example("_" * 64, 0)
@example("_" * 64 + "a", 0)
@example("a" + "_" * 64 + "b_", 0)
@example("__init__ _a_ _ snake_case _", 0)
@example("a" * 64 + " b", 0)
@example("." * 63 + "a" * 2 + "." * 63 + "a", 0)
def test_tokens_of_ascii_text(text: str, shift: int) -> None:
    assert kernel_tokens(text.encode(), shift) == reference.ascii_tokens(text.encode())


@given(st.text("aB_ .", min_size=50, max_size=300))
def test_tokens_that_begin_and_end_around_the_64_byte_steps(text: str) -> None:
    assert kernel_tokens(text.encode()) == reference.ascii_tokens(text.encode())


@pytest.mark.parametrize("size", range(60, 70))
def test_one_letter_words_fill_the_whole_output(size: int) -> None:
    text = b"a " * size
    assert kernel_tokens(text[:-1]) == [reference.hash_token("a")] * size


@given(strategies.ascii_text())
def test_the_ascii_path_is_the_scan_rule_on_ascii(text: str) -> None:
    assert kernel_tokens(text.encode()) == [reference.hash_token(token) for token in reference.tokens(text)]
