"""Features without base text, against lists and sets of Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels.sketch.base_text import (
    add_to_cells,
    drop_from_sets,
    in_full_cells,
    keep_others,
    mark_covered,
    table_of,
)
from neardup.kernels.text.hashing import Key
from neardup.settings import Settings
from neardup.settings.measures import Features
from neardup.text.keys import PUBLIC, key_of
from neardup.text.sketch.documents import base_text_of, count_left, left_sets, shingle_sets, sign, sign_left
from neardup.unicode import tokens
from support import reference_base_text as by_hand
from support.strategies import any_text

KEY = key_of(bytes(32))
WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "é"]), max_size=40).map(" ".join)
TEXTS = st.lists(st.one_of(WORDS, any_text()), min_size=1, max_size=6)
HASHES = st.lists(st.one_of(st.integers(0, 40), st.integers(0, 2**64 - 1)), max_size=60)


def sets_of(texts: list[str], key: Key, length: int, features: Features, base: list[str]) -> list[list[int]]:
    form, array = Settings.of(length=length), pa.array(texts)
    made = left_sets(array, np.arange(len(texts)), form, key, features, base_text_of(pa.array(base), form, key))
    return [part.tolist() for part in np.split(made.hashes, made.offsets[1:-1])]


@given(TEXTS, TEXTS, st.integers(1, 4))
def test_features_of_shingles_lose_the_shingles_of_the_base_text(
    texts: list[str], base: list[str], length: int
) -> None:
    ignored = by_hand.base_of(map(tokens, base), length)
    bags = [by_hand.counted(tokens(text), ignored, length) for text in texts]
    for features, expected in (
        ("shingles", [len(bag) for bag in bags]),
        ("occurrences", [bag.total() for bag in bags]),
    ):
        found = sets_of(texts, KEY, length, features, base)
        assert [len(part) for part in found] == expected
        for a, part_a in enumerate(found):
            for b, part_b in enumerate(found):
                both = bags[a] & bags[b] if features == "occurrences" else set(bags[a]) & set(bags[b])
                assert len(set(part_a) & set(part_b)) == (both.total() if isinstance(both, Counter) else len(both))


@given(TEXTS, TEXTS, st.integers(1, 4))
def test_features_of_units_are_those_of_the_text_that_is_cut_by_hand(
    texts: list[str], base: list[str], length: int
) -> None:
    ignored = by_hand.base_of(map(tokens, base), length)
    cut = [" ".join(by_hand.without(tokens(text), ignored, length)) for text in texts]
    for features in ("words", "bag", "tokens", "runs"):
        form = Settings.of(length=length)
        expected = shingle_sets(pa.array(cut), np.arange(len(cut)), form, KEY, features)
        if [tokens(text) for text in cut] != [by_hand.without(tokens(text), ignored, length) for text in texts]:
            continue  # some characters join their neighbours when a text is put together again
        assert sets_of(texts, KEY, length, features, base) == [
            part.tolist() for part in np.split(expected.hashes, expected.offsets[1:-1])
        ]


@given(TEXTS, TEXTS, st.integers(1, 4))
def test_counts_of_all_shingles_and_of_those_that_count(texts: list[str], base: list[str], length: int) -> None:
    form, ignored = Settings.of(length=length), by_hand.base_of(map(tokens, base), length)
    made = count_left(pa.array(texts), np.arange(len(texts)), form, KEY, base_text_of(pa.array(base), form, KEY))
    for text, counts in zip(texts, made.tolist(), strict=True):
        words = tokens(text)
        shingles = by_hand.base_of([words], length)
        left = by_hand.without(words, ignored, length)
        assert counts == [len(shingles), len(shingles - ignored), len(left)]


@pytest.mark.parametrize("sketch", ["one-permutation", "classic"])
def test_signatures_with_nothing_to_ignore_are_those_of_every_run(sketch: str) -> None:
    texts = ["the oven is sold out until spring " * k + f"and {k} more" for k in range(1, 30)]
    form = Settings.of(sketch=sketch, slots=64)
    base = base_text_of(pa.array(["something that is not in any of the texts"]), form, KEY)
    plain, keys = np.empty((len(texts), 64), np.uint32), np.empty((0, 2), np.uint64)
    sign(pa.array(texts), form, plain, keys)
    assert np.array_equal(sign_left(pa.array(texts), np.arange(len(texts)), form, base, 64), plain)
    assert base.table(PUBLIC) is not base.table(KEY)


@given(HASHES, HASHES, st.integers(1, 5))
def test_a_table_has_its_hashes_and_no_others(inside: list[int], asked: list[int], length: int) -> None:
    table = table_of(np.unique(np.array(inside, np.uint64)))
    hashes = np.array(asked, np.uint64)
    others = [value for value in asked if value not in inside]
    covered = np.zeros(len(asked) + length - 1, np.bool_)
    left = mark_covered(hashes, len(asked), len(covered) if asked else 0, table, covered)
    expected = [
        any(value in inside for value in asked[max(0, k - length + 1) : k + 1]) for k in range(len(covered))
    ]
    if asked:
        assert (covered.tolist(), left) == (expected, expected.count(False))
    offsets = np.array([0, len(asked) // 2, len(asked)])
    found, ends = drop_from_sets(hashes.copy(), offsets, np.array([True, False]), table)
    half = [value for value in asked[: len(asked) // 2] if value not in inside]
    assert found.tolist() == [*half, *asked[len(asked) // 2 :]]
    assert ends.tolist() == [0, len(half), len(found)]
    assert hashes[: keep_others(hashes, len(asked), table)].tolist() == others


@given(HASHES, st.integers(0, 3))
def test_cells_count_hashes_by_their_top_bits(values: list[int], most: int) -> None:
    hashes, cells, shift = np.array(values, np.uint64), np.zeros(8, np.uint32), np.uint64(61)
    add_to_cells(hashes, shift, cells)
    counts = Counter(value >> 61 for value in values)
    assert cells.tolist() == [counts[cell] for cell in range(8)]
    full = [place for place, value in enumerate(values) if counts[value >> 61] > most]
    assert in_full_cells(hashes, shift, cells, np.uint32(most)).tolist() == full
