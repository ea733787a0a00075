"""Arrow arrays of texts to fingerprints and shingle sets, end to end, against the naive twins."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.kernels.text.hashing import BLOCK, ODD, PADDING, hash_characters, stream_values
from neardup.settings import Settings
from neardup.settings.measures import Features
from neardup.text.keys import PUBLIC, new_key
from neardup.text.sketch.documents import fingerprint, shingle_sets, sign, sign_with_sets
from support import reference, reference_search, strategies

TYPES = st.sampled_from([pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
TEXTS = st.lists(st.one_of(st.none(), st.just(""), strategies.ascii_text(), strategies.any_text()), max_size=6)
FORMS = st.builds(
    lambda unit, length, sketch, slots: Settings.of(unit=unit, length=length, sketch=sketch, slots=slots),
    st.sampled_from(["word", "char"]),
    st.integers(1, 8),
    st.sampled_from(["one-permutation", "classic"]),
    st.sampled_from([1, 2, 16]),
)
PLAIN = Settings.of(slots=4, length=2)


def check(array: pa.Array, texts: Sequence[str | None], form: Settings) -> None:
    """Compare fingerprints and shingle sets of an array with those of the twins."""
    units = [reference.unit_hashes(text or "", form.shingles.unit) for text in texts]
    hashes = [reference.shingle_hashes(values, form.shingles.length) for values in units]
    made = fingerprint(array, form).to_pydict()
    assert made["units"] == [len(values) for values in units]
    assert list(zip(made["key_high"], made["key_low"], strict=True)) == list(map(reference.stream_key, units))
    for k, values in enumerate(hashes):
        if values:  # the signature of a text without units means nothing
            expected, _ = reference.sketch_set(values, form.sketch.slots, form.sketch.sketch)
            assert made["signature"][k] == expected
    rows = np.arange(len(texts), dtype=np.int64)[::-1].copy()
    sets = shingle_sets(array, rows, form, PUBLIC)
    found = [sets.hashes[sets.offsets[k] : sets.offsets[k + 1]].tolist() for k in range(len(rows))]
    assert found == [reference_search.sort_distinct(values) for values in reversed(hashes)]
    assert sets.sizes.tolist() == list(map(len, found))


@cache
def known() -> frozenset[str]:
    return frozenset(strategies.comparable())


def array_of(texts: Sequence[str | None], kind: pa.DataType) -> pa.Array:
    stored = texts if pa.types.is_string(kind) or pa.types.is_large_string(kind) else list(map(encoded, texts))
    return pa.array(stored, kind)


def encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8")


@given(TEXTS, TYPES, FORMS)
@example([], pa.string(), PLAIN)
@example([""], pa.string(), PLAIN)
@example([None], pa.large_binary(), PLAIN)
@example(["", None, ""], pa.binary(), PLAIN)
def test_arrays_of_every_type(texts: list[str | None], kind: pa.DataType, form: Settings) -> None:
    check(array_of(texts, kind), texts, form)


@given(TEXTS, FORMS, st.sampled_from(["shingles", "occurrences"]))
@example(["a b a b a b", "", "w" * 9 + " " + "x" * 200, "é " * 9, "one two"], PLAIN, "occurrences")
def test_one_pass_makes_the_keys_and_the_sets_of_two(
    texts: list[str | None], form: Settings, features: Features
) -> None:
    array, key = pa.array(texts, pa.string()), new_key()
    keys, expected = np.empty((len(texts), 2), np.uint64), np.empty((len(texts), 2), np.uint64)
    units, invalid, sets = sign_with_sets(array, form, keys, key, features)
    counted = sign(array, form, np.empty((len(texts), 0), np.uint32), expected, key)
    alone = shingle_sets(array, np.arange(len(texts)), form, key, features)
    assert np.array_equal(keys, expected)
    made, parts = (units, invalid, sets.hashes, sets.offsets), (*counted, alone.hashes, alone.offsets)
    for one, other in zip(made, parts, strict=True):
        assert np.array_equal(one, other)


@given(TEXTS, TYPES, FORMS, st.integers(0, 6), st.integers(0, 6))
@example(["a", "b c"], pa.string(), PLAIN, 2, 0)
def test_slices(texts: list[str | None], kind: pa.DataType, form: Settings, start: int, size: int) -> None:
    check(array_of(texts, kind).slice(start, size), texts[start : start + size], form)


@given(st.lists(st.one_of(strategies.ascii_text(), strategies.mixed_text()), max_size=6), FORMS)
def test_what_stands_behind_a_text_does_not_count(texts: list[str], form: Settings) -> None:
    """The buffer ends with the last text; in memory, letters follow it."""
    data = "".join(texts).encode("utf-8")
    ends = np.cumsum([0, *(len(text.encode("utf-8")) for text in texts)]).astype(np.int32)
    values = pa.py_buffer(data + b"z" * 2 * PADDING).slice(0, len(data))
    check(pa.Array.from_buffers(pa.string(), len(texts), [None, pa.py_buffer(ends), values]), texts, form)


@given(st.text("aé ", min_size=1, max_size=4), st.integers(0, 3 * PADDING), st.integers(0, 2 * PADDING))
def test_texts_around_the_last_bytes_of_the_buffer(text: str, before: int, behind: int) -> None:
    """One text close to the end after a text before it, and another, unused, behind it."""
    texts = ["b " * (before // 2), text, "c" * behind]
    array = pa.array(texts, pa.string())
    check(array, texts, PLAIN)
    check(array.slice(0, 2), texts[:2], PLAIN)
    check(array.slice(1, 1), texts[1:2], PLAIN)


@pytest.mark.skipif(sys.platform == "win32", reason="needs mprotect")
@pytest.mark.parametrize("text", ["", "a", "é", "word" * 20, "one two " * 30 + "x", "東京" * 30, "é " + "b" * 64])
def test_no_byte_behind_the_buffer_is_read(text: str) -> None:
    """The text ends where the readable memory does: any load beyond it would be a segmentation fault."""
    data, page = text.encode("utf-8"), mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    memory[page - len(data) : page] = data
    first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert protect(first + page, page, 0) == 0
    try:
        values = pa.foreign_buffer(first + page - len(data), len(data), memory)
        ends = pa.py_buffer(np.array([0, 0, len(data)], np.int32))
        array = pa.Array.from_buffers(pa.string(), 2, [None, ends, values])
        for unit in ("word", "char"):
            check(array, ["", text], Settings.of(slots=4, length=2, unit=unit))
    finally:
        protect(first + page, page, mmap.PROT_READ | mmap.PROT_WRITE)


@given(st.lists(st.binary(max_size=30), max_size=5), st.sampled_from([pa.binary(), pa.large_binary()]))
def test_ill_formed_bytes_are_replaced_and_counted(values: list[bytes], kind: pa.DataType) -> None:
    # bytes that happen to be U+FFFD itself are no error; without 0xBD at hand there are none
    values = [value.replace(b"\xbd", b"") for value in values]
    texts = [value.decode("utf-8", errors="replace") for value in values]
    texts = [text if known().issuperset(text) else "" for text in texts]
    values = [value if text else b"" for value, text in zip(values, texts, strict=True)]
    array = pa.array(values, kind)
    check(array, texts, PLAIN)
    assert fingerprint(array, PLAIN).column("invalid").to_pylist() == [text.count("\ufffd") for text in texts]


@pytest.mark.parametrize("text", ["a " * 5000, "é " * 5000, "a" * 9000, "東" * 5000], ids=["a ", "é ", "a", "東"])
def test_texts_larger_than_the_scratch(text: str) -> None:
    for unit in ("word", "char"):
        check(pa.array(["x", text, "y z"]), ["x", text, "y z"], Settings.of(slots=2, length=3, unit=unit))


@pytest.mark.parametrize("sketch", ["one-permutation", "classic"])
def test_a_long_text_in_blocks_has_the_signature_and_the_key_of_the_whole(sketch: str) -> None:
    """A few different shingles leave slots empty, which the second sweep over the blocks fills."""
    key, form = new_key(), Settings.of(slots=16, length=3, unit="char", sketch=sketch)
    draw = np.random.default_rng(4)
    for text in ("".join(draw.choice(list("abcdefgh"), 4 * BLOCK + 77)), "ab" * (2 * BLOCK + 3)):
        twin = reference.shingle_hashes(reference.unit_hashes(text, "char"), 3)
        whole, _ = reference.sketch_set(twin, 16, sketch)
        keys, signatures = np.empty((2, 2), np.uint64), np.empty((2, 16), np.uint32)
        sign(pa.array(["y z", text]), form, signatures, keys, key)
        assert signatures[1].tolist() == whole
        halves = np.empty((2, len(text)), np.uint64)
        hash_characters(np.frombuffer(text.encode("utf-32-le"), np.uint32), len(text), key, halves[0])
        halves[1] = (
            key.tokens[ODD] * (np.frombuffer(text.encode("utf-32-le"), np.uint32) + np.uint64(1))
        ) >> np.uint64(4)
        assert keys[1].tolist() == list(stream_values(halves[0] >> np.uint64(4), halves[1], len(text), key.stream))


def test_a_long_text_of_words_in_blocks_has_the_key_of_the_whole() -> None:
    """The stream of tokens is folded block by block on both ways to it."""
    key, form = new_key(), Settings.of(slots=2, length=2)
    text = " ".join(f"w{number} a_long_word_{number}" for number in range(BLOCK // 2 + 9))
    other = text[:-1] + chr(ord(text[-1]) ^ 1)
    made = []
    for slots in (2, 0):
        keys = np.empty((3, 2), np.uint64)
        sign(pa.array([text, other, text]), form, np.empty((3, slots), np.uint32), keys, key)
        made.append(keys.tolist())
    keys = np.empty((3, 2), np.uint64)
    sign_with_sets(pa.array([text, other, text]), form, keys, key, "shingles")
    assert made[0] == made[1] == keys.tolist()
    assert keys[0].tolist() == keys[2].tolist()
    assert (keys[0] != keys[1]).all()


def test_rows_may_repeat_and_stand_in_any_order() -> None:
    array = pa.array(["a b", "c", None, "c d e"])
    sets = shingle_sets(array, np.array([3, 0, 3, 2], np.int64), PLAIN, PUBLIC)
    first, second, third, last = np.split(sets.hashes, sets.offsets[1:-1])
    assert first.tolist() == third.tolist()
    assert [len(first), len(second), len(last)] == [2, 1, 0]
    assert shingle_sets(array, np.empty(0, np.int64), PLAIN, PUBLIC).offsets.tolist() == [0]


def test_a_word_and_its_accented_twin_meet_on_both_paths() -> None:
    """The ASCII path and the Unicode path give an ASCII token the same hash, '_' and case included."""
    ascii_only, with_accent = "Some_Words HERE x_1", "Some_Words HERE x_1 é"
    one = PLAIN.of(length=1, slots=2)
    sets = shingle_sets(pa.array([ascii_only, with_accent]), np.array([0, 1], np.int64), one, PUBLIC)
    first, second = (set(sets.hashes[a:b].tolist()) for a, b in ((0, sets.offsets[1]), sets.offsets[1:]))
    assert first < second
    assert len(second - first) == 1
