"""The plain operations on words agree with the compiled ones, so that interpreted kernels are the same kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels import bits, plain_bits
from neardup.kernels.compiler import INTERPRETED, part
from support.strategies import words64

pytestmark = pytest.mark.skipif(INTERPRETED, reason="compares with the compiled operations")
BELOW_PRIME = st.integers(0, plain_bits.PRIME61 - 1) | st.just(plain_bits.PRIME61 - 1)
FOLDED = st.integers(0, (1 << 61) + 3)
BELOW_60 = st.integers(0, (1 << 60) - 1)


@part
def of_bytes(data, index):  # type: ignore[no-untyped-def]
    masks = bits.word_mask(data, index), bits.low_line_mask(data, index), bits.high_mask(data, index)
    return bits.load64(data, index), *masks, bits.white_mask(data, index), bits.odd_mask(data, index)


@part
def of_products(a, b):  # type: ignore[no-untyped-def]
    return bits.fold128(a, b), bits.high_half(a, b), bits.trailing_zeros(a), bits.bit_count(a)


@part
def product61(a, b):  # type: ignore[no-untyped-def]
    return bits.multiply61(a, b)


@part
def polynomial61(value, powers, a, b, c, d):  # type: ignore[no-untyped-def]
    return bits.four_steps61(value, powers, a, b, c, d)


@part
def counted_bits(counts, words, index):  # type: ignore[no-untyped-def]
    bits.add_bits(counts, words, index)


@given(st.binary(min_size=64, max_size=90), st.data())
def test_bytes(data: bytes, draw: st.DataObject) -> None:
    index = draw.draw(st.integers(0, len(data) - 64))
    array = np.frombuffer(data, np.uint8)
    names = ("load64", "word_mask", "low_line_mask", "high_mask", "white_mask", "odd_mask")
    plain = tuple(getattr(plain_bits, name)(array, index) for name in names)
    assert plain == of_bytes(array, index)
    with pytest.raises(IndexError):
        plain_bits.word_mask(array, len(data) - 63)


def test_each_byte_is_in_the_same_classes() -> None:
    for array in np.arange(256, dtype=np.uint8).reshape(4, 64):
        assert plain_bits.word_mask(array, 0) == of_bytes(array, 0)[1]


@given(words64(), words64())
def test_products_and_counts(a: Any, b: Any) -> None:
    a, b = np.uint64(a), np.uint64(b)
    plain = plain_bits.fold128(a, b), plain_bits.high_half(a, b), plain_bits.trailing_zeros(a)
    assert (*plain, plain_bits.bit_count(a)) == of_products(a, b)


@given(BELOW_PRIME, BELOW_PRIME)
def test_products_modulo_the_prime(a: int, b: int) -> None:
    assert plain_bits.multiply61(a, b) == product61(np.uint64(a), np.uint64(b))


@given(FOLDED, st.tuples(FOLDED, FOLDED, FOLDED, FOLDED), st.tuples(BELOW_60, BELOW_60, BELOW_60, BELOW_60))
def test_polynomials(
    value: int, powers: tuple[int, int, int, int], coefficients: tuple[int, int, int, int]
) -> None:
    given_ = np.uint64(value), tuple(map(np.uint64, powers)), *map(np.uint64, coefficients)
    assert plain_bits.four_steps61(value, powers, *coefficients) == polynomial61(*given_)


@given(st.lists(words64(), min_size=8, max_size=12), st.lists(st.integers(0, 255), min_size=64, max_size=64))
def test_bits_are_added_to_their_counters(words: list[int], before: list[int]) -> None:
    array, index = np.array(words, np.uint64), len(words) - 8
    compiled, plain = np.array(before, np.uint8), np.array(before, np.uint8)
    counted_bits(compiled, array, index)
    plain_bits.add_bits(plain, array, index)
    assert plain.tolist() == compiled.tolist()
