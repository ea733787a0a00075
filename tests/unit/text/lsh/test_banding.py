"""LSH over signatures that others made: candidates and pairs against the naive twin, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.errors import InputError, SettingError
from neardup.text.lsh import index as banding
from neardup.text.lsh.index import LSH, band_probability, most_rows
from support import reference_families
from support.messages import has_parts

TYPES = ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8")


@st.composite
def signatures(draw: st.DrawFn) -> np.ndarray:
    """Few different values, the largest of the type among them, so that bands agree."""
    kind = np.dtype(draw(st.sampled_from(TYPES)))
    values = st.sampled_from([0, 1, int(np.iinfo(kind).max), int(np.iinfo(kind).min)])
    slots = draw(st.integers(1, 7))
    rows = draw(st.lists(st.lists(values, min_size=slots, max_size=slots), max_size=12))
    return np.array(rows, kind).reshape(-1, slots)


@given(signatures(), st.integers(1, 7), st.booleans(), st.sampled_from([None, 0, 1]))
def test_candidates_and_pairs(made: np.ndarray, rows: int, wrap: bool, empty: int | None) -> None:
    rows = min(rows, made.shape[1])
    lsh = LSH(made, rows, wrap=wrap, empty=empty)
    mark = empty
    if empty is None and made.dtype.kind == "u":
        mark = int(np.iinfo(made.dtype).max)
    expected = reference_families.candidates(made.tolist(), rows, wrap, mark)
    assert [lsh.candidates(i).tolist() for i in range(len(made))] == [list(map(list, row)) for row in expected]
    pairs = sorted((i, j, agreeing) for i, row in enumerate(expected) for j, agreeing in row if i < j)
    assert list(zip(*lsh.pairs().to_pydict().values(), strict=True)) == pairs
    assert lsh.bands == len(reference_families.bands(made.shape[1], rows, wrap))
    assert lsh.unused == (0 if wrap else made.shape[1] % rows)
    assert len(lsh) == len(made)


def test_answers_one_by_one_and_pairs_in_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    made = np.random.default_rng(3).integers(0, 3, (60, 6))
    whole = LSH(made, 2)
    expected = [whole.candidates(i).tolist() for i in range(60)]
    pairs = whole.pairs()
    monkeypatch.setattr(banding, "PREPARED", 50)
    single = LSH(made, 2)
    assert [single.candidates(i).tolist() for i in range(60)] == expected
    assert single.pairs().equals(pairs)
    assert pairs.num_rows * 2 == sum(map(len, expected)) > 100


def test_arrays_that_do_not_lie_in_one_piece() -> None:
    made = np.random.default_rng(5).integers(0, 3, (40, 12), np.uint16)
    for view in (made[::2], made[:, ::3], made.T, np.asfortranarray(made)):
        assert LSH(view, 2).pairs().equals(LSH(view.copy(order="C"), 2).pairs())


def test_values_of_signed_and_unsigned_types_agree_alike() -> None:
    made = np.random.default_rng(6).integers(-2, 2, (80, 8))
    assert LSH(made, 3).pairs().equals(LSH(made.view(np.uint64), 3, empty=77).pairs())


def test_what_only_the_last_band_finds() -> None:
    """Two documents that agree in the slots left over and in the first ones, and nowhere else."""
    made = np.arange(22).reshape(2, 11)
    made[1, 9:] = made[0, 9:]
    made[1, :2] = made[0, :2]
    assert LSH(made, 4).pairs().num_rows == 0
    lsh = LSH(made, 4, wrap=True)  # slots 8, 9, 10 and 0
    assert lsh.pairs().num_rows == 0
    made[1, 8] = made[0, 8]
    lsh = LSH(made, 4, wrap=True)
    assert lsh.pairs().to_pylist() == [{"a": 0, "b": 1, "agreeing": 5}]
    assert has_parts(repr(lsh), "3 bands of 4 rows", "0 of 11 slots in no band")
    made[1, 0] += 100
    assert LSH(made, 4, wrap=True).pairs().num_rows == 0


@pytest.mark.parametrize(("slots", "rows"), [(7, 2), (12, 4), (9, 4), (3, 2), (5, 5), (20, 6)])
@pytest.mark.parametrize("wrap", [False, True])
def test_a_band_agrees_as_often_as_reckoned(slots: int, rows: int, wrap: bool) -> None:
    """Independent slots that agree with probability .7, against the formula at 6 standard errors."""
    trials, rng = 20_000, np.random.default_rng(slots * rows)
    first = rng.integers(0, 2**62, (trials, slots))
    second = np.where(rng.random((trials, slots)) < 0.7, first, first + 1)
    lsh = LSH(np.concatenate([first, second]), rows, wrap=wrap)
    found = lsh.pairs().num_rows / trials
    expected = lsh.probability(0.7)
    assert abs(found - expected) < 6 * (expected * (1 - expected) / trials) ** 0.5 + 1e-12
    assert band_probability(1.0, slots, rows, wrap) == 1
    assert band_probability(0.0, slots, rows, wrap) == 0


def test_signatures_of_a_family_and_empty_texts() -> None:
    texts = ["the moon is red tonight over the quiet harbour town"] * 2 + ["", " … "]
    lsh = LSH(nd.MinHash(64).sketch(texts), rows=8)
    assert lsh.pairs().to_pylist() == [{"a": 0, "b": 1, "agreeing": 64}]
    assert lsh.candidates(2).tolist() == []
    assert lsh.largest_bucket == 2


@pytest.mark.parametrize("number", [-1, 3, 10**6])
def test_a_document_that_is_not_there(number: int) -> None:
    with pytest.raises(IndexError, match="there are 3 documents"):
        LSH(np.zeros((3, 4), int), 2).candidates(number)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ([[1, 2]], "The signatures are a list. Allowed: A numpy array"),
        (np.zeros(4, int), r"The signatures have the shape \[4\]"),
        (np.zeros((4, 0), int), r"The signatures have the shape \[4, 0\]"),
        (np.zeros((2, 3, 4), int), r"The signatures have the shape \[2, 3, 4\]"),
        (np.zeros((2, 4)), "The signatures are of type float64. Allowed: int8 to int64"),
        (np.zeros((2, 4), bool), "The signatures are of type bool"),
        (np.zeros((2, 4), object), "The signatures are of type object"),
    ],
)
def test_what_is_no_array_of_signatures(made: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        LSH(made, 2)


def test_bands_are_planned_when_no_rows_are_given() -> None:
    """With 20 rows, as it was, 6.7 % of the pairs at .8 were found, without a word."""
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2**32, (2000, 128), np.uint32)
    second = np.where(rng.random(first.shape) < 0.8, first, rng.integers(0, 2**32, first.shape, np.uint32))
    lsh = LSH(np.concatenate([first, second]))
    assert (lsh.rows, lsh.bands) == (6, 21)
    assert lsh.probability(0.8) >= 0.99 > band_probability(0.8, 128, 7)
    pairs = {(row["a"], row["b"]) for row in lsh.pairs().to_pylist()}
    assert len(pairs & {(n, n + 2000) for n in range(2000)}) >= 0.99 * 2000
    assert LSH(first, threshold=0.5, recall=0.9).rows == 3
    assert LSH(first, 20).rows == 20


@given(st.integers(1, 300), st.floats(0.05, 1), st.floats(0.01, 0.999), st.booleans())
def test_as_many_rows_as_reach_the_recall(slots: int, threshold: float, recall: float, wrap: bool) -> None:
    reached = [n for n in range(1, slots + 1) if band_probability(threshold, slots, n, wrap) >= recall]
    if reached:
        assert most_rows(threshold, recall, slots, wrap) == max(reached)
        return
    with pytest.raises(SettingError, match=f"With {slots} slots no bands"):
        most_rows(threshold, recall, slots, wrap)


NO_ROWS = r"whole number from 1 .*slots, 4"


@pytest.mark.parametrize(
    ("slots", "given", "message"),
    [
        *[(4, {"rows": rows}, NO_ROWS) for rows in (0, 5, -1, 2.0, True, "2")],
        (2, {}, r"With 2 slots no bands find pairs at 0\.8 with probability 0\.99\. Allowed: At most 0\.9600"),
        (128, {"threshold": 0}, r"threshold is 0 and recall is 0\.99\. Allowed: a threshold above 0"),
        (128, {"recall": 1}, "a recall above 0 and below 1"),
        (4, {"rows": 2, "empty": 300}, r"empty is 300\. Allowed: .*uint8"),
    ],
)
def test_what_cannot_be_planned(slots: int, given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        LSH(np.zeros((3, slots), np.uint8), **given)


def test_too_many_pairs_are_refused_and_single_answers_are_not() -> None:
    lsh = LSH(np.zeros((30_000, 2), np.uint8), 1)
    assert lsh.largest_bucket == 30_000
    with pytest.raises(InputError, match="899,970,000 pairs, 30,000 documents"):
        lsh.pairs()
    assert lsh.candidates(7)[:3].tolist() == [[0, 2], [1, 2], [2, 2]]


def test_no_documents() -> None:
    lsh = LSH(np.zeros((0, 4), np.uint32), 2)
    assert lsh.pairs().num_rows == 0
    assert lsh.largest_bucket == 1
