"""Samples of shingles: against their naive twins, merged, compared across scales, and what is refused."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import neardup as nd
from neardup.errors import FormatError, InputError, SettingError
from neardup.kernels.sketch.samples import ALL, common
from neardup.text.sketch.samples import BottomK, SampledShingles
from support import reference, reference_families, strategies

TEXTS = ["The night is dark and the moon is red.", "", "the moon is red", "Ünïcode — 東京 は 夜", " …"]
IDS = st.lists(st.integers(0, 200), max_size=150)
FAMILIES = st.builds(
    SampledShingles, st.sampled_from([1, 2, 4, 16, 1000]), st.sampled_from([0, 1, 2, 5, 32])
) | st.builds(BottomK, st.sampled_from([1, 3, 16, 64]))


def scale_of(family: SampledShingles) -> int | None:
    return None if isinstance(family, BottomK) else family.scale


def mixed(numbers: list[int]) -> set[int]:
    return {reference.mix64(number) for number in numbers}


@given(IDS, FAMILIES)
def test_the_sample_of_ids(numbers: list[int], family: SampledShingles) -> None:
    expected = reference_families.sample(mixed(numbers), scale_of(family), family.floor)
    assert family.of_ids(numbers).hashes.tolist() == expected


@given(
    st.lists(strategies.any_text(), max_size=4),
    st.sampled_from([1, 2, 16]),
    st.sampled_from([1, 5]),
    st.sampled_from(["word", "char"]),
)
def test_the_samples_of_texts(texts: list[str], scale: int, floor: int, unit: str) -> None:
    family = SampledShingles(scale, floor, length=2, unit=unit)
    made = family.sketch(texts)
    assert len(made) == len(texts)
    for k, text in enumerate(texts):
        hashes = set(reference.shingle_hashes(reference.unit_hashes(text, unit), 2))
        expected = reference_families.sample(hashes, scale, floor)
        assert made.hashes[made.offsets[k] : made.offsets[k + 1]].tolist() == expected
        assert family.of(text) == made[k]


def test_long_documents_and_many_of_them() -> None:
    """More shingles than the first buffers hold, in several Arrow chunks."""
    texts = [" ".join(f"w{i * i % (97 + k)}x{i % 1000}" for i in range(20_000)) for k in range(3)]
    chunked = pa.chunked_array([pa.array(texts[:1]), pa.array(texts[1:])])
    family = SampledShingles(8)
    made = family.sketch(chunked)
    for k, text in enumerate(texts):
        hashes = set(reference.shingle_hashes(reference.unit_hashes(text, "word"), 5))
        assert made[k].hashes.tolist() == reference_families.sample(hashes, 8, 32)


@given(IDS, IDS, FAMILIES)
@example([], [], SampledShingles())
@example([], [1], SampledShingles(16, 1))
def test_a_merged_sample_is_that_of_the_union(a: list[int], b: list[int], family: SampledShingles) -> None:
    one, other = family.of_ids(a), family.of_ids(b)
    assert one | other == family.of_ids(a + b) == other | one
    assert one | one == one
    assert hash(one | other) == hash(family.of_ids(b + a))


@given(IDS, IDS, FAMILIES)
def test_what_two_samples_tell_is_the_sample_of_the_union(
    a: list[int], b: list[int], family: SampledShingles
) -> None:
    one, other = family.of_ids(a), family.of_ids(b)
    expected = reference_families.common(mixed(a), mixed(b), scale_of(family), family.floor)
    together = family.sketch_ids(a + b, np.cumsum([0, len(a), len(b)]))
    assert tuple(together.counts([(0, 1)])[0].tolist()) == expected
    both, in_a, in_b = expected
    found = one.resemblance(other)
    union = in_a + in_b - both
    if union or (not (a or b) and one.is_whole):
        assert found == other.resemblance(one)
        assert found.value == (both / union if a or b else 1)
        assert found.low <= found.value <= found.high
        assert together.resemblances([(0, 1)]).tolist() == [found.value]
    else:  # samples without a floor may show nothing
        assert (family.floor, isnan(found.value), found.low, found.high) == (0, True, 0, 1)
        assert np.isnan(together.resemblances([(0, 1)])).all()
    contained = one.containment(other)
    assert contained.slots == in_a
    if in_a:
        assert contained.value == both / in_a
        assert contained.low <= contained.value <= contained.high
    bulk = together.containments([(0, 1)])[0]
    assert bulk == contained.value or (isnan(bulk) and isnan(contained.value))


@given(IDS, IDS, st.integers(1, 40), st.integers(1, 40), st.integers(1, 9), st.integers(1, 9))
def test_samples_of_two_scales_are_compared_by_the_coarser(
    a: list[int], b: list[int], floor_a: int, floor_b: int, scale_a: int, scale_b: int
) -> None:
    fine, coarse = SampledShingles(scale_a, floor_a), SampledShingles(scale_b, floor_b)
    both = SampledShingles(max(scale_a, scale_b), min(floor_a, floor_b))
    found = fine.of_ids(a).resemblance(coarse.of_ids(b))
    if not (fine.of_ids(a).is_whole and coarse.of_ids(b).is_whole):
        assert found.value == both.of_ids(a).resemblance(both.of_ids(b)).value
    else:
        assert found.value == SampledShingles(1).of_ids(a).resemblance(SampledShingles(1).of_ids(b)).value


@given(IDS, IDS, st.integers(0, 40), st.integers(0, 40), st.integers(1, 9), st.integers(1, 9))
def test_the_sample_of_an_intersection(
    a: list[int], b: list[int], floor_a: int, floor_b: int, scale_a: int, scale_b: int
) -> None:
    """It is the sample of the intersected sets by its own family, whose floor is as high as the samples tell."""
    one, other = SampledShingles(scale_a, floor_a).of_ids(a), SampledShingles(scale_b, floor_b).of_ids(b)
    both, in_both = one & other, mixed(a) & mixed(b)
    assert both == other & one
    scale, floor = max(scale_a, scale_b), min(floor_a, floor_b)
    assert both.family.scale == scale
    assert both.hashes.tolist() == reference_families.sample(in_both, scale, both.family.floor)
    if one.is_whole and other.is_whole:
        assert both == SampledShingles(scale, floor).of_ids(sorted(set(a) & set(b)))
    elif len(set(one.hashes.tolist()) & set(other.hashes.tolist())) < floor:
        assert both.family.floor >= len(both.hashes)
    if both.is_whole:
        assert both.hashes.tolist() == sorted(in_both)
    assert (both & one).hashes.tolist() == (both & other).hashes.tolist()


@given(IDS, st.sampled_from([1, 2, 3, 8]), st.integers(0, 40), st.integers(1, 9))
def test_a_coarser_sample_is_that_of_the_document(numbers: list[int], scale: int, floor: int, times: int) -> None:
    fine, coarse = SampledShingles(scale, floor), SampledShingles(scale * times, floor)
    assert fine.of_ids(numbers).downsample(scale * times) == coarse.of_ids(numbers)
    offsets = np.array([0, len(numbers), len(numbers), len(numbers) + 3])
    samples = fine.sketch_ids([*numbers, 7, 8, 9], offsets).downsample(scale * times)
    expected = coarse.sketch_ids([*numbers, 7, 8, 9], offsets)
    assert (samples.hashes.tolist(), samples.offsets.tolist()) == (
        expected.hashes.tolist(),
        expected.offsets.tolist(),
    )
    assert samples.provenance == expected.provenance
    assert BottomK(9).of_ids(numbers).downsample(times) == BottomK(times).of_ids(numbers)
    for finer in (
        lambda: fine.of_ids(numbers).downsample(scale - 1),
        lambda: BottomK(9).of_ids(numbers).downsample(10),
    ):
        with pytest.raises(SettingError):
            finer()


@given(IDS, IDS)
def test_scale_one_is_exact(a: list[int], b: list[int]) -> None:
    one, other = SampledShingles(1).of_ids(a), SampledShingles(1).of_ids(b)
    set_a, set_b = set(a), set(b)
    found, contained = one.resemblance(other), one.containment(other)
    assert found.value == found.low == found.high == (len(set_a & set_b) / len(set_a | set_b) if a or b else 1)
    assert contained.value == contained.low == contained.high
    assert contained.value == (len(set_a & set_b) / len(set_a) if a else float(not b))
    assert one.size == len(set_a)


def test_a_hash_of_all_ones_is_in_the_sample_of_scale_one() -> None:
    top = np.array([5, 2**64 - 1], np.uint64)
    assert common(top, top, ALL, 1, False) == (2, 2, 2)


def test_a_short_document_in_a_long_one() -> None:
    """Where the samples give no estimate the answer is not a number."""
    family = SampledShingles(1000, 4)
    short, long = family.of_ids([1]), family.of_ids(range(10, 50_000))
    found = short.containment(long)
    assert isnan(found.value)
    assert (found.low, found.high, found.slots) == (0, 1, 0)
    assert family.of_ids([]).containment(long).value == 0
    assert family.of_ids([]).containment(family.of_ids([])).value == 1


def test_a_sample_says_what_it_counted() -> None:
    found = SampledShingles(4).of_ids(range(400)).containment(SampledShingles(4).of_ids(range(200, 4000)))
    assert str(found).endswith(f"{found.slots} sampled shingles)")
    family = SampledShingles(4)
    assert repr(family) == "SampledShingles(scale=4, floor=32)"
    assert repr(family.of_ids(range(9))) == f"Sample(9 hashes, {family!r}, of ids)"
    assert repr(family.sketch(["a text", "and one more", ""])) == f"Samples(3 documents, 2 hashes, {family!r})"


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (SampledShingles(length=3).of("a"), "of texts, length 3, unit word"),
        (SampledShingles(unit="char").of("a"), "length 5, unit char"),
        (SampledShingles().of_ids([1]), "of ids"),
        (BottomK(32).of("a"), "bottom-k (version 2, Unicode 15.0.0, k 32, of texts"),
    ],
    ids=["length", "unit", "ids", "family"],
)
def test_samples_that_cannot_be_compared(other: Any, words: str) -> None:
    mine = SampledShingles().of("a")
    for use in (lambda: mine.resemblance(other), lambda: mine.containment(other), lambda: mine | other):
        with pytest.raises(FormatError) as caught:
            use()
        assert "sampled shingles (version 2, Unicode 15.0.0, scale 16, floor 32" in str(caught.value)
        assert words in str(caught.value)


def test_samples_of_two_scales_are_not_merged() -> None:
    with pytest.raises(FormatError):
        SampledShingles().of("a") | SampledShingles(8).of("a")
    for other in (BottomK(3).of("a"), SampledShingles().of_ids([1])):
        with pytest.raises(FormatError):
            BottomK(3).of("a") & other


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"scale": 0}, "scale is 0. Allowed: A whole number from 1"),
        ({"scale": 2.0}, r"scale is 2\.0"),
        ({"floor": -1}, "floor is -1"),
        ({"floor": True}, "floor is True"),
        ({"length": 0}, "length is 0"),
    ],
)
def test_parameters_that_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        SampledShingles(**values)


@pytest.mark.parametrize("pair", [(0, 5), (-1, 0), (5, 0)])
def test_pairs_of_documents_that_are_not_there(pair: tuple[int, int]) -> None:
    made = SampledShingles().sketch(TEXTS)
    with pytest.raises(InputError, match=r"0 to 4 .*first column .*4 in the second"):
        made.resemblances([pair])
    with pytest.raises(IndexError):
        made[5]
    assert made[-1] == made[4]


def test_no_texts() -> None:
    assert len(nd.SampledShingles().sketch([])) == 0
    assert nd.SampledShingles().sketch([]).resemblances([]).tolist() == []
