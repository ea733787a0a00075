"""The MinHash of full-text engines: against its naive twin, read, scored, merged, banded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.errors import FormatError, InputError, SettingError
from neardup.text.lsh.index import band_probability
from neardup.text.sketch.buckets import BucketMinHash
from support import reference, reference_families

EMPTY = 2**64 - 1
IDS = st.lists(st.integers(0, 300), max_size=60)
FORMS = st.tuples(st.sampled_from([1, 2, 3]), st.sampled_from([1, 2, 3, 8, 64, 512]), st.sampled_from([1, 2, 5]))


def mixed(numbers: list[int]) -> set[int]:
    return {reference.mix64(number) for number in numbers}


def of(form: tuple[int, int, int], rotation: bool) -> BucketMinHash:
    count, buckets, size = form
    return BucketMinHash(count, buckets, size, with_rotation=rotation and size == 1 and buckets > 1)


def signed(family: BucketMinHash, *sets: list[int]) -> np.ndarray:
    return family.sketch_ids([number for numbers in sets for number in numbers], np.cumsum([0, *map(len, sets)]))


@given(IDS, FORMS, st.booleans())
def test_the_smallest_hashes_of_every_bucket(
    numbers: list[int], form: tuple[int, int, int], rotation: bool
) -> None:
    family = of(form, rotation)
    cells = reference_families.bucketed(mixed(numbers), *form, family.with_rotation)
    expected = [value for cell in cells for value in cell + [EMPTY] * (form[2] - len(cell))]
    assert family.of_ids(numbers).values.tolist() == expected


@given(IDS, IDS, FORMS, st.booleans())
def test_reading_and_scoring(a: list[int], b: list[int], form: tuple[int, int, int], rotation: bool) -> None:
    family = of(form, rotation)
    made = signed(family, a, b)
    both, told = reference_families.read(mixed(a), mixed(b), *form)
    assert family.counts(made, [(0, 1), (1, 0)]).tolist() == [[both, told]] * 2
    assert family.resemblances(made, [(0, 1)])[0] == (both / told if told else 1)
    cells = [reference_families.bucketed(mixed(numbers), *form, family.with_rotation) for numbers in (a, b)]
    scores = family.engine_scores(made, [(0, 1), (1, 0)]).tolist()
    expected = [reference_families.engine_score(*pair, form[1]) for pair in (cells, cells[::-1])]
    assert scores == pytest.approx(expected)
    one, other = family.of_ids(a), family.of_ids(b)
    assert one.resemblance(other).value == (float(a == b) if not a or not b else both / told)


@given(IDS, IDS, FORMS, st.booleans())
def test_a_merged_signature_is_that_of_the_union(
    a: list[int], b: list[int], form: tuple[int, int, int], rotation: bool
) -> None:
    family = of(form, rotation)
    assert family.of_ids(a) | family.of_ids(b) == family.of_ids(a + b)


def test_signatures_of_texts() -> None:
    texts = ["The night is dark and the moon is red.", "", "Ünïcode — 東京 は 夜"]
    family = BucketMinHash(2, 8, length=2)
    made = family.sketch(texts)
    for k, text in enumerate(texts):
        hashes = set(reference.shingle_hashes(reference.unit_hashes(text, "word"), 2))
        cells = reference_families.bucketed(hashes, 2, 8, 1, True)
        assert made[k].tolist() == [value for cell in cells for value in cell or [EMPTY]]


def test_rotation_is_the_default_where_it_is_possible() -> None:
    """As in the engines: with more than one bucket that holds one hash."""
    assert BucketMinHash().with_rotation
    assert not BucketMinHash(hash_set_size=2).with_rotation
    assert not BucketMinHash(bucket_count=1).with_rotation
    assert not BucketMinHash(with_rotation=False).with_rotation
    assert BucketMinHash().slots == 512


@pytest.mark.parametrize(
    ("similarity", "probability", "rows"),
    [(0.8, 0.9995, 5), (0.2, 0.005, 5), (0.5, 0.5, 4), (0.9, 0.9, 12), (1.0, 0.999, 100)],
)
def test_the_most_rows_that_reach_the_probability(similarity: float, probability: float, rows: int) -> None:
    """100 slots; the first two are examples of chapter 3 of Mining of Massive Datasets."""
    found = BucketMinHash(bucket_count=100).band_rows(similarity, probability)
    assert band_probability(similarity, 100, found, wrap=True) >= probability
    assert all(band_probability(similarity, 100, r, wrap=True) < probability for r in range(found + 1, 101))
    assert found == rows


def test_the_last_band_takes_up_the_first_slots_again() -> None:
    """100 slots at .9: nine bands of twelve rows, where eight leave four slots over."""
    family = BucketMinHash(bucket_count=100)
    rows = family.band_rows(0.9, 0.9)
    lsh = family.lsh(family.sketch(["a b c d e f", "a b c d e f g"]), 0.9, 0.9)
    assert (lsh.rows, lsh.bands, lsh.unused) == (rows, -(-100 // rows), 0)
    assert lsh.probability(0.9) >= 0.9 > band_probability(0.9, 100, rows + 1, wrap=True)


def test_empty_buckets_agree_with_nothing() -> None:
    family = BucketMinHash(bucket_count=64, with_rotation=False)
    made = signed(family, [1, 2], [3, 4], [], [], [1, 2])
    lsh = family.lsh(made, 0.5, 0.5)
    assert lsh.pairs().num_rows == 0  # two shingles leave most buckets empty, those of equal documents too
    assert family.resemblances(made, [(0, 4), (2, 3), (0, 2)]).tolist() == [1, 1, 0]
    rotated = BucketMinHash(bucket_count=64)
    found = rotated.lsh(signed(rotated, [1, 2], [3, 4], [], [], [1, 2]), 0.5, 0.5).pairs().to_pylist()
    assert found == [{"a": 0, "b": 4, "agreeing": 64}]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BucketMinHash(0), "hash_count is 0"),
        (lambda: BucketMinHash(bucket_count=70_000), "bucket_count is 70000"),
        (lambda: BucketMinHash(hash_set_size=-1), "hash_set_size is -1"),
        (lambda: BucketMinHash(64, 1024, 2), "A signature would have 131072 values. Allowed: 65536 at most"),
        (lambda: BucketMinHash(hash_set_size=2, with_rotation=True), "buckets that cannot rotate"),
        (lambda: BucketMinHash(bucket_count=1, with_rotation=True), "buckets that cannot rotate"),
        (lambda: BucketMinHash(hash_set_size=2).band_rows(0.8, 0.9), "no bands of sets of 2 hashes"),
        (lambda: BucketMinHash().band_rows(0.8, 1.0), r"recall is 1\.0. Allowed: a threshold above 0"),
        (lambda: BucketMinHash().band_rows(0, 0.5), "threshold is 0 "),
        (
            lambda: BucketMinHash(bucket_count=2).band_rows(0.1, 0.9),
            r"no bands find pairs at 0\.1.*At most 0\.1899",
        ),
        (lambda: nd.BBit(BucketMinHash()), "BBit is to be of BucketMinHash"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        make()


def test_signatures_of_another_form() -> None:
    with pytest.raises(InputError):
        BucketMinHash().resemblances(np.zeros((2, 16), np.uint64), [(0, 1)])
    with pytest.raises(FormatError):
        BucketMinHash().of("a").resemblance(BucketMinHash(with_rotation=False).of("a"))
