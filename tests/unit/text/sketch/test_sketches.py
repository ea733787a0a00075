"""MinHash by itself: families, sketches that are merged, compared and stored."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import neardup as nd
from neardup.errors import FormatError, InputError, SettingError
from neardup.text.sketch.minhash import MinHash, MinHashSketch
from neardup.text.sketch.provenance import estimate
from support import reference, strategies
from support.messages import has_parts

KINDS = ("one-permutation", "classic")
FAMILIES = st.builds(
    lambda slots, sketch, length, unit: MinHash(slots, sketch=sketch, length=length, unit=unit),
    st.sampled_from([1, 2, 16, 128]),
    st.sampled_from(KINDS),
    st.sampled_from([1, 2, 5]),
    st.sampled_from(["word", "char"]),
)
ANY_SLOTS = st.builds(MinHash, st.sampled_from([3, 6, 100, 129]), sketch=st.just("classic"), length=st.just(2))
"""Only where the first bits of a hash choose a slot these must be a power of two."""
IDS = st.lists(strategies.words64(), max_size=40)
TEXTS = ["The night is dark and the moon is red.", "", "the moon is red", "Ünïcode — 東京", " …"]


def ids(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.uint64)


# Families


@given(st.lists(strategies.any_text(), max_size=4), st.one_of(FAMILIES, ANY_SLOTS))
def test_signatures_of_texts(texts: list[str], family: MinHash) -> None:
    form = family.settings
    made = family.sketch(texts)
    assert made.shape == (len(texts), form.sketch.slots)
    assert made.dtype == np.uint32
    for k, text in enumerate(texts):
        hashes = reference.shingle_hashes(reference.unit_hashes(text, form.shingles.unit), form.shingles.length)
        signature, chosen = reference.sketch_set(hashes, form.sketch.slots, form.sketch.sketch)
        assert made[k].tolist() == signature
        one = family.of(text)
        assert one.values.tolist() == signature
        assert one.bucketed.tolist() == chosen
        assert one.is_empty == (not hashes)


@given(IDS, st.one_of(FAMILIES, ANY_SLOTS))
def test_signatures_of_ids(numbers: list[int], family: MinHash) -> None:
    mixed = [reference.mix64(number) for number in numbers]
    form = family.settings.sketch
    signature, chosen = reference.sketch_set(mixed, form.slots, form.sketch)
    made = family.of_ids(ids(numbers))
    assert made.of_ids
    assert made.values.tolist() == signature
    assert made.bucketed.tolist() == chosen


@given(st.lists(IDS, max_size=5), FAMILIES)
def test_many_sets_of_ids_at_once(sets: list[list[int]], family: MinHash) -> None:
    offsets = np.cumsum([0, *map(len, sets)])
    signatures, chosen = family.sketch_ids(ids([number for numbers in sets for number in numbers]), offsets)
    one_by_one = [family.of_ids(ids(numbers)) for numbers in sets]
    assert signatures.tolist() == [one.values.tolist() for one in one_by_one]
    assert chosen.tolist() == [one.bucketed.tolist() for one in one_by_one]


def test_ids_in_any_form() -> None:
    family = MinHash(16)
    for same in ([1, 2, 3], (3, 2, 1), np.array([1, 2, 3], np.int32), [3, 1, 2, 2], range(1, 4), ids([1, 2, 3])):
        assert family.of_ids(same) == family.of_ids([1, 2, 3])
    assert family.of_ids([]).is_empty


def test_large_ids_are_not_rounded() -> None:
    family = MinHash(128)
    assert family.of_ids([2**63, 1]) != family.of_ids([2**63 + 1, 1])
    assert family.of_ids([2**63, 1]) == family.of_ids(ids([2**63, 1]))


@pytest.mark.parametrize("numbers", [[0.5, 1.5], [-1, 2], ["a"], {1, 2}, None], ids=str)
def test_what_is_no_list_of_ids(numbers: Any) -> None:
    with pytest.raises(InputError):
        MinHash(16).of_ids(numbers)


# Input


def arrow_inputs() -> list[Any]:
    array = pa.array(TEXTS)
    pieces = [pa.array(part, pa.string()) for part in (TEXTS[:2], [], TEXTS[2:])]
    encoded = [text.encode() for text in TEXTS]
    return [
        tuple(TEXTS),
        *(array.cast(kind) for kind in (pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view())),
        array.dictionary_encode(),
        pa.array(["x", *TEXTS, "y"]).slice(1, len(TEXTS)),
        pa.chunked_array(pieces),
        pa.chunked_array([array.dictionary_encode()]),
        pa.chunked_array([array.cast(pa.string_view())]),
        pa.array(encoded, pa.binary_view()),
        pd.Series(TEXTS, dtype="string[pyarrow]"),
        pd.Series(TEXTS),
        pl.Series(TEXTS),
    ]


@pytest.mark.parametrize(
    "texts", arrow_inputs(), ids=lambda texts: str(getattr(texts, "type", type(texts).__name__))
)
def test_arrays_of_texts(texts: Any) -> None:
    family = MinHash(16, length=2)
    assert family.sketch(texts).tolist() == family.sketch(TEXTS).tolist()


def test_polars_categories() -> None:
    family = MinHash(16, length=2)
    assert family.sketch(pl.Series(TEXTS, dtype=pl.Categorical)).tolist() == family.sketch(TEXTS).tolist()


@pytest.mark.parametrize(
    "wrap", [lambda a: a.cast(pa.binary_view()), pa.Array.dictionary_encode], ids=["view", "dictionary"]
)
def test_ill_formed_bytes_in_every_array(wrap: Callable[[pa.Array], pa.Array]) -> None:
    family = MinHash(16, length=1)
    array = pa.array([b"a \xff b", b"c"], pa.binary())
    assert family.sketch(wrap(array)).tolist() == family.sketch(array).tolist()


def test_an_array_with_view_in_its_name() -> None:
    with pytest.raises(InputError, match="list_view"):
        MinHash(16).sketch(pa.array([["a"]], pa.list_view(pa.string())))


def test_nulls_are_like_texts_without_a_token() -> None:
    family = MinHash(16)
    for texts in (
        ["a", None],
        pa.array(["a", None]),
        pl.Series(["a", None]),
        pa.array(["a", None]).dictionary_encode(),
    ):
        assert family.sketch(texts).tolist() == family.sketch(["a", ""]).tolist()


@pytest.mark.parametrize(
    "nothing",
    [[], (), pa.array([], pa.string()), pa.chunked_array([], pa.string()), pl.Series([], dtype=pl.String)],
)
def test_no_texts(nothing: Any) -> None:
    assert MinHash(16).sketch(nothing).shape == (0, 16)


def test_lone_surrogates_are_replaced() -> None:
    family = MinHash(16, unit="char", length=2)
    # three bytes each that are no UTF-8, as a file would have them
    assert family.of("a\ud800b\udfff") == family.of("a\ufffd\ufffd\ufffdb\ufffd\ufffd\ufffd")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", 1], "The list holds int at position 1. Allowed: str, or None for no text"),
        ([b"a"], "The list holds bytes at position 0."),
        (
            pa.array([1, 2]),
            "nor a column of strings: the column holds int64. Allowed: A table, data frame or string",
        ),
        (pa.array([["a"]]), "the column holds list<"),
        (pl.Series([1.5]), "the column holds Float64."),
        ("one text", "The texts are one str. Allowed: A list of str, or Arrow data. Try: Use of() for a single"),
        (None, "Cannot take documents from NoneType."),
    ],
    ids=["int", "bytes", "int64", "lists", "double", "str", "nothing"],
)
def test_what_is_no_list_of_texts(texts: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        MinHash(16).sketch(texts)
    assert message in str(caught.value)


def test_settings_of_a_family() -> None:
    with pytest.raises(SettingError, match=r"slots is 5000\. Allowed: .*1 to 4,096"):
        MinHash(5000)
    with pytest.raises(SettingError):
        MinHash(100)


def test_a_hundred_classic_slots_from_end_to_end() -> None:
    """Merged, stored, in a file, planned and searched."""
    family = MinHash(100, sketch="classic", length=2)
    one, other = family.of(TEXTS[0]), family.of(TEXTS[2])
    assert MinHashSketch.from_bytes(bytes(one)) == one
    assert (one | other).resemblance(one) >= 0.9  # all of the other is in this one
    stored = nd.read_signatures(family.to_arrow(range(5), family.sketch(TEXTS)))
    assert stored.values.tolist() == family.sketch(TEXTS).tolist()
    assert sum(nd.plan(0.8, 0.99, slots=100).bands) == 100
    texts = [" ".join(f"word{n}" for n in range(start, start + 60)) for start in (0, 2, 200)]
    found = nd.find(texts, threshold=0.8, method="lsh", sketch="classic", slots=100)
    assert found.pairs.select(["id_a", "id_b", "shared"]).to_pylist() == [{"id_a": 0, "id_b": 1, "shared": 54}]


def test_reprs_are_short() -> None:
    family = MinHash(256, sketch="classic")
    assert repr(family) == "MinHash(slots=256, length=5, unit='word', sketch='classic')"
    assert eval(repr(family)).settings == family.settings
    assert repr(family.of(TEXTS[0])) == "MinHashSketch(classic MinHash with 256 slots of 5-word shingles)"
    assert repr(MinHash().of_ids([1])) == (
        "MinHashSketch(one-permutation of ids MinHash with 128 slots of 5-word shingles)"
    )


# Merging


@given(IDS, IDS, FAMILIES)
@example([], [], MinHash(2))
@example([], [1], MinHash(2))
@example([1], [2], MinHash(128))
def test_a_merged_sketch_is_that_of_the_union(a: list[int], b: list[int], family: MinHash) -> None:
    one, other = family.of_ids(ids(a)), family.of_ids(ids(b))
    assert one | other == family.of_ids(ids(a + b))
    assert one | other == other | one
    assert one | one == one
    assert one | family.of_ids(ids([])) == one


@given(st.lists(IDS, min_size=1, max_size=6), st.sampled_from(KINDS))
def test_many_sketches_merge_in_any_order(sets: list[list[int]], sketch: str) -> None:
    family = MinHash(16, sketch=sketch)
    whole = family.of_ids(ids([number for numbers in sets for number in numbers]))
    for order in (sets, sets[::-1]):
        merged = family.of_ids(ids(order[0]))
        for numbers in order[1:]:
            merged = merged | family.of_ids(ids(numbers))
        assert merged == whole


@given(strategies.mixed_text(), strategies.mixed_text())
def test_sketches_of_texts_merge(first: str, second: str) -> None:
    """Single words as shingles, so that the shingles of the joined texts are those of both."""
    family = MinHash(16, length=1)
    assert family.of(first) | family.of(second) == family.of(first + " . " + second)


# Comparing


@given(IDS, IDS, FAMILIES)
def test_resemblance_counts_matching_slots(a: list[int], b: list[int], family: MinHash) -> None:
    one, other = family.of_ids(ids(a)), family.of_ids(ids(b))
    slots = family.settings.sketch.slots
    matches = sum(x == y for x, y in zip(one.values.tolist(), other.values.tolist(), strict=True))
    expected = matches if bool(a) == bool(b) else 0
    assert one.resemblance(other) == other.resemblance(one) == estimate(expected, slots)
    assert one.resemblance(one).value == 1


def test_an_estimate_of_one_half() -> None:
    family = MinHash(4096)
    found = family.of_ids(range(3000)).resemblance(family.of_ids(range(1000, 4000)))
    assert found.low < 0.5 < found.high
    assert found.slots == 4096


def test_equality_and_hash() -> None:
    family = MinHash(16)
    one, same, other = family.of("a b"), family.of("A  B"), family.of("c")
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != bytes(one)
    assert len({one, same, other}) == 2


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (MinHash(16).of("a"), "one-permutation MinHash with 16 slots of 5-word shingles"),
        (MinHash(8, sketch="classic").of("a"), "classic MinHash with 8 slots of 5-word shingles"),
        (MinHash(8, length=3).of("a"), "one-permutation MinHash with 8 slots of 3-word shingles"),
        (MinHash(8, unit="char").of("a"), "one-permutation MinHash with 8 slots of 5-char shingles"),
        (MinHash(8).of_ids([1]), "one-permutation of ids MinHash with 8 slots of 5-word shingles"),
    ],
    ids=["slots", "sketch", "length", "unit", "ids"],
)
@pytest.mark.parametrize("use", [MinHashSketch.resemblance, MinHashSketch.__or__], ids=["resemblance", "or"])
def test_sketches_of_two_families(other: MinHashSketch, words: str, use: Callable[..., object]) -> None:
    mine = MinHash(8).of("a")
    with pytest.raises(FormatError) as caught:
        use(mine, other)
    assert has_parts(
        str(caught.value), "one-permutation MinHash", "8 slots of 5-word shingles", words, "Allowed: ", "Try: "
    )


def test_settings_that_do_not_change_a_sketch_do_not_matter() -> None:
    assert MinHash(8).of("a") | MinHash(8).of("b") == MinHash(8).of("b") | MinHash(8).of("a")


# Storing


@given(st.one_of(st.none(), IDS), strategies.mixed_text(), FAMILIES)
def test_bytes_and_back(numbers: list[int] | None, text: str, family: MinHash) -> None:
    made = family.of(text) if numbers is None else family.of_ids(ids(numbers))
    again = MinHashSketch.from_bytes(bytes(made))
    assert again == made
    assert bytes(again) == bytes(made)
    assert again.values.tolist() == made.values.tolist()
    assert again.bucketed.tolist() == made.bucketed.tolist()
    assert again.of_ids == made.of_ids == (numbers is not None)
    assert (again.settings.shingles, again.settings.sketch) == (family.settings.shingles, family.settings.sketch)
    assert again | made == made  # what is read can be merged
    assert again.resemblance(made).value == 1


def test_the_bytes_are_those_of_the_format() -> None:
    made = MinHash(2, length=3, unit="char", sketch="classic").of("abc")
    a, b = made.values.tolist()
    assert bytes(made) == b"NDMH\x02\x01\x01\x03\x02\x00\x0f\x00\x00" + struct.pack("<II", a, b) + b"\x00"
    full = MinHash(16).of_ids(range(1000))
    assert bytes(full)[-2:] == b"\xff\xff"


STORED = bytes(MinHash(16).of("a b c"))
NO_SKETCH = "These bytes are not a MinHash sketch. Allowed: The result of bytes(sketch)."
THIS = "Allowed: This program makes and reads format 2 and Unicode 15.0.0. Try: Sketch the texts again."


def changed(at: int, byte: int) -> bytes:
    return STORED[:at] + bytes([byte]) + STORED[at + 1 :]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", NO_SKETCH),
        (b"NDMH", NO_SKETCH),
        (STORED[:12], NO_SKETCH),
        (b"PK\x03\x04" + STORED[4:], NO_SKETCH),
        (changed(4, 1), f"The sketch has format 1 and Unicode 15.0.0. {THIS}"),
        (changed(10, 16), f"The sketch has format 2 and Unicode 16.0.0. {THIS}"),
        (changed(12, 1), f"The sketch has format 2 and Unicode 15.0.1. {THIS}"),
        (STORED[:-1], "The sketch is damaged: 78 bytes for 16 slots."),
        (STORED + b"\0", "The sketch is damaged: 80 bytes for 16 slots."),
        (STORED[:13], "The sketch is damaged: 13 bytes for 16 slots."),
        (changed(5, 4), "The sketch is damaged: 79 bytes for 16 slots."),
        (changed(6, 2), "The sketch is damaged: 79 bytes for 16 slots."),
        (changed(8, 32), "The sketch is damaged: 79 bytes for 32 slots."),
    ],
    ids=["nothing", "magic only", "half a header", "another magic", "version", "Unicode", "Unicode update",
         "cut", "too long", "header only", "family", "unit", "slots"],
)  # fmt: skip
def test_bytes_that_are_no_sketch_of_this_program(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        MinHashSketch.from_bytes(data)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "data",
    [changed(7, 0), changed(7, 65), STORED[:8] + b"\x03\0" + STORED[10:26]],
    ids=["length 0", "length 65", "3 slots"],
)
def test_settings_that_no_sketch_has(data: bytes) -> None:
    with pytest.raises(FormatError):
        MinHashSketch.from_bytes(data)


def test_stored_bytes_of_any_kind_of_buffer() -> None:
    assert MinHashSketch.from_bytes(bytearray(STORED)) == MinHash(16).of("a b c")
