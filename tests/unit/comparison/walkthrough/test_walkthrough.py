"""The published walk-through number by number, and each table against another way to work it out."""

from __future__ import annotations

import json
import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import neardup as nd
from neardup.comparison.walkthrough import EXAMPLE, Explanation
from neardup.comparison.walkthrough.families import FAMILIES, prime_above
from neardup.comparison.walkthrough.record import CommonChunk, contributions
from neardup.text.lsh.bands import Plan
from neardup.unicode import shingles
from support import reference
from support.messages import each_has_parts, has_parts

PUBLISHED = [(4, 9), (14, 4), (8, 14), (3, 10)]
SHINGLES = [
    *("and the moon", "can see moon", "dark and the", "i can see", "in the night", "is dark and"),
    *("is red the", "moon in the", "moon is red", "night is dark", "night is red", "red the night"),
    *("see moon is", "the moon in", "the moon is", "the night is"),
]
HELD = [
    *([1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]),
    *([1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [1, 1, 1]),
]
PERMUTATIONS = [
    *([13, 1, 5, 13], [0, 15, 13, 16], [4, 12, 4, 2], [8, 9, 12, 5], [12, 6, 3, 8]),
    *([16, 3, 11, 11], [3, 0, 2, 14], [7, 14, 10, 0], [11, 11, 1, 3], [15, 8, 9, 6]),
]
"""The rows of the table that were published."""


def row_numbers(rows: int) -> NDArray[np.uint64]:
    return np.arange(1, rows + 1, dtype=np.uint64)


BOTH = pytest.mark.parametrize("how", [{"seed": 1}, {"coefficients": PUBLISHED}, {}], ids=str)


def example(**how: object) -> dict[str, object]:
    return nd.explain(EXAMPLE, **how).as_dict()  # type: ignore[arg-type]


@BOTH
def test_published_shingles(how: dict[str, object]) -> None:
    tables = example(**how)
    assert [row["shingle"] for row in tables["shingles"]] == SHINGLES
    assert [row["row"] for row in tables["shingles"]] == list(range(1, 17))
    assert [row["in"] for row in tables["shingles"]] == HELD
    assert tables["distinct_shingles"] == 16


@BOTH
def test_published_permutations_and_signatures(how: dict[str, object]) -> None:
    (drawn,) = example(**how)["drawn"]
    assert drawn["functions"] == [f"({a}·x + {b}) mod 17" for a, b in PUBLISHED]
    assert drawn["permutations"][:10] == PERMUTATIONS
    assert [row[0] for row in drawn["permutations"]][:10] == [13, 0, 4, 8, 12, 16, 3, 7, 11, 15]
    assert len(drawn["permutations"]) == 16
    assert drawn["signatures"] == [[1, 0, 2], [1, 0, 5], [1, 1, 0], [2, 3, 0]]


@BOTH
def test_published_similarities(how: dict[str, object]) -> None:
    tables = example(**how)
    assert [(pair["a"], pair["b"]) for pair in tables["pairs"]] == [("A", "B"), ("A", "C"), ("B", "C")]
    assert [round(pair["resemblance"], 2) for pair in tables["pairs"]] == [0.25, 0.09, 0.08]
    assert [(pair["shared"], pair["union"]) for pair in tables["pairs"]] == [(3, 12), (1, 11), (1, 12)]
    assert [found["value"] for found in tables["drawn"][0]["estimates"]] == [0.25, 0, 0]
    assert [found["equal"] for found in tables["drawn"][0]["estimates"]] == [1, 0, 0]


def test_published_contributions_of_a_chunk() -> None:
    chunks = contributions(5)
    assert [chunk.words for chunk in chunks] == list(range(3, 101))
    assert [chunk.chunk_union for chunk in chunks] == [0, 0, *range(5, 101)]
    assert [chunk.resemblance for chunk in chunks] == [0, 0, *range(1, 97)]
    assert [chunk.chunk_longest for chunk in chunks] == [chunk.chunk_union for chunk in chunks]


@given(st.integers(1, 12), st.data())
def test_a_chunk_adds_the_shingles_that_the_texts_then_share(length: int, data: st.DataObject) -> None:
    chunk = data.draw(st.sampled_from(contributions(length)))
    common = " ".join(f"common{i}" for i in range(chunk.words))
    first, second = (" ".join(f"{side}{i}" for i in range(20)) for side in ("left", "right"))
    shared = shingles(f"{first} {common} {first}", length) & shingles(f"{second} {common} {second}", length)
    assert len(shared) == chunk.resemblance
    covered = {token for shingle in shared for token in shingle}
    assert len(covered) == chunk.chunk_union == chunk.chunk_longest


def test_chunks_start_at_one_word_and_end_at_a_hundred() -> None:
    assert contributions(1)[0] == CommonChunk(1, 1, 1, 1)
    assert [contributions(64)[0].words, contributions(64)[-1].words] == [62, 100]


def test_a_prime_above() -> None:
    primes = [n for n in range(2, 3000) if all(n % d for d in range(2, n))]
    assert [prime_above(n) for n in range(2990)] == [min(p for p in primes if p > n) for n in range(2990)]


def test_a_part_of_a_sketch_is_named() -> None:
    six, eight, classic = (
        FAMILIES[name](row_numbers(9), slots, 1, None).says
        for name, slots in (("one-permutation", 6), ("one-permutation", 8), ("classic", 6))
    )
    assert "first 6 of 8" in six.removeprefix(eight)
    assert "The first" not in eight + classic


@pytest.mark.parametrize("rows", [1, 2, 16, 100, 158])
def test_values_are_the_formulas_written_out(rows: int) -> None:
    slots, numbers = 40, range(1, rows + 1)
    p, shift = prime_above(rows), 32 - rows.bit_length()
    for name, ending in (("mod-p", f"mod {p}"), ("multiply-shift", f"mod 2^32 >> {shift}")):
        hashed = FAMILIES[name](row_numbers(rows), slots, 7, None)
        for formula, column in zip(hashed.functions, hashed.values.T.tolist(), strict=True):
            written = re.fullmatch(r"\((\d+)·x \+ (\d+)\) (.*)", formula)
            assert written is not None
            assert written[3] == ending
            sums = [int(written[1]) * x + int(written[2]) for x in numbers]
            assert column == [s % p if name == "mod-p" else s % 2**32 >> shift for s in sums]
    constants = reference.coefficients(slots)
    classic = FAMILIES["classic"](row_numbers(rows), slots, 1, None).values
    for j, (a, b) in enumerate(constants):
        assert classic[:, j].tolist() == [reference.classic_slot([reference.mix64(x)], a, b) for x in numbers]


@pytest.mark.parametrize("seed", [1, 2, 99])
def test_mod_p_orders_the_rows_and_uses_every_coefficient_before_one_again(seed: int) -> None:
    hashed = FAMILIES["mod-p"](row_numbers(16), 40, seed, None)
    assert all(len(set(column)) == 16 for column in hashed.values.T.tolist())
    drawn = [re.findall(r"\d+", formula)[:2] for formula in hashed.functions]
    for block in (drawn[:16], drawn[16:32]):
        assert {a for a, _ in block} == {b for _, b in block} == set(map(str, range(1, 17)))


@pytest.mark.parametrize("name", ["mod-p", "multiply-shift", "classic", "permutations"])
def test_more_slots_keep_the_first_functions(name: str) -> None:
    few, many = (FAMILIES[name](row_numbers(30), slots, 5, None).values for slots in (9, 100))
    assert (few == many[:, :9]).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_seed_draws_the_same_again_and_another_others(name: str) -> None:
    first, again, other = (FAMILIES[name](row_numbers(30), 8, seed, None).values for seed in (5, 5, 6))
    assert (first == again).all()
    assert (first != other).any()


SETS = st.lists(st.booleans(), min_size=1, max_size=60)


@pytest.mark.parametrize("name", ["classic", "one-permutation"])
@given(held=SETS, slots=st.sampled_from([1, 4, 16, 64]))
def test_the_rule_shown_gives_the_signatures_of_this_program(name: str, held: list[bool], slots: int) -> None:
    """The smallest value of single rows, among those that chose the slot, is the sketch of the set."""
    values, rows = FAMILIES[name](row_numbers(len(held)), slots, 1, None).signature(np.array(held))
    numbers = [number for number, is_held in enumerate(held, 1) if is_held]
    sketch = nd.MinHash(slots, sketch=name).of_ids(numbers)
    if numbers:
        assert values.tolist() == sketch.values.tolist()
        assert set((rows + 1).tolist()) <= set(numbers)
    else:
        assert set(rows.tolist()) == {-1}


@pytest.mark.parametrize("family", FAMILIES)
def test_signatures_are_the_smallest_values_and_name_their_rows(family: str) -> None:
    tables = nd.explain(EXAMPLE, family=family, slots=12)
    drawn = tables.drawn[0]
    for document, held in enumerate(tables.held.T):
        numbers = np.flatnonzero(held)
        for slot in range(12):
            value, row = drawn.signatures[slot, document], drawn.origins[slot, document]
            assert row in numbers
            assert drawn.permutations[row, slot] == value
            chose = [n for n in numbers if drawn.chosen is not None and drawn.chosen[n, slot]]
            assert value == min(drawn.permutations[n, slot] for n in chose or numbers)


WORDS = st.lists(st.sampled_from("abcd"), max_size=12).map(" ".join)


@given(texts=st.lists(WORDS, min_size=2, max_size=5), length=st.integers(1, 4), rows=st.integers(1, 3))
def test_pairs_and_bands_against_sets(texts: list[str], length: int, rows: int) -> None:
    tables = nd.explain(texts, length=length, slots=7, band_rows=rows)
    sets = [shingles(text, length) for text in texts]
    (drawn,) = tables.drawn
    assert drawn.bands is not None
    assert drawn.bands.left_over == 7 % rows
    count = 7 // rows
    signature = [tuple(column) for column in drawn.signatures.T.tolist()]
    for pair, (a, b) in zip(tables.pairs, combinations(range(len(sets)), 2), strict=True):
        assert (pair.a, pair.b, pair.shared, pair.union) == (a, b, len(sets[a] & sets[b]), len(sets[a] | sets[b]))
        shared = sum(
            signature[a][i * rows : (i + 1) * rows] == signature[b][i * rows : (i + 1) * rows]
            for i in range(count)
        )
        assert drawn.bands.shared_count(pair) == (shared if sets[a] and sets[b] else 0)
        planned = Plan(0.5, 0.5, 7, (rows,) * count).probability(pair.resemblance)
        assert drawn.bands.probability(pair) == pytest.approx(planned if pair.union else 0, abs=1e-12)


def test_the_documents_of_a_bucket_agree_in_the_band() -> None:
    tables = nd.explain(["a b c d", "a b c d", "x y z"], band_rows=2)
    assert tables.as_dict()["drawn"][0]["bands"]["buckets"] == [[["A", "B"], ["C"]]] * 2


def test_documents_without_a_shingle_are_equal_and_in_no_bucket() -> None:
    tables = nd.explain(["", "!", "a b c"], band_rows=1)
    assert [pair.resemblance for pair in tables.pairs] == [1, 0, 0]
    assert [found.value for found in tables.drawn[0].estimates] == [1, 0, 0]
    assert [tables.drawn[0].bands.shared_count(pair) for pair in tables.pairs] == [0, 0, 0]  # type: ignore[union-attr]
    assert tables.as_dict()["drawn"][0]["signatures"][0][:2] == [None, None]
    assert "count as equal" in tables.notes[0]


def test_a_document_shorter_than_a_shingle_is_one() -> None:
    tables = nd.explain(["a b", "a b c d"])
    assert tables.shingles == ("a b", "a b c", "b c d")
    assert [has_parts(note, "shorter than a shingle", "one shingle") for note in tables.notes] == [True]
    assert nd.explain(["a b c", "a b c d"]).notes == ()


def test_families_and_numbers_of_slots_are_combined() -> None:
    tables = nd.explain(EXAMPLE, family=["mod-p", "classic"], slots=[4, 9])
    made = [(drawn.family, drawn.slots) for drawn in tables.drawn]
    assert made == [("mod-p", 4), ("mod-p", 9), ("classic", 4), ("classic", 9)]
    assert [drawn.family for drawn in nd.explain(EXAMPLE, family="all").drawn] == list(FAMILIES)


def test_shingles_of_characters() -> None:
    tables = nd.explain(["a b", "A c"], unit="char", length=2)
    assert tables.shingles == (" b", " c", "a ")
    assert tables.chunks == ()
    assert "␣b" in tables.text()


def test_what_is_cut_still_counts() -> None:
    words = [f"w{i}" for i in range(300)]
    tables = nd.explain([" ".join(words), " ".join(words[:200])], slots=40)
    data = tables.as_dict()
    assert (data["distinct_shingles"], len(data["shingles"])) == (298, 200)
    assert (len(data["drawn"][0]["permutations"]), len(data["drawn"][0]["permutations"][0])) == (200, 16)
    assert len(data["drawn"][0]["signatures"]) == 40
    assert (data["pairs"][0]["shared"], data["pairs"][0]["union"]) == (198, 298)
    assert each_has_parts(data["notes"], ("first 200 of 298", "all are"), ("16 hash functions", "all are"))


SHAPE: dict[str, object] = {
    "documents": [{"label": str, "name": str, "beginning": str, "words": int, "shingles": int}],
    "unit": str,
    "length": int,
    "seed": int,
    "first_row": int,
    "distinct_shingles": int,
    "shingles": [{"row": int, "shingle": str, "in": [int]}],
    "pairs": [
        {"a": str, "b": str, "shared": int, "size_a": int, "size_b": int, "union": int, "resemblance": float}
    ],
    "drawn": [
        {
            "family": str,
            "slots": int,
            "says": str,
            "caution": str,
            "functions": [str],
            "permutations": [[int]],
            "chosen": [[int]],
            "permutes": [int],
            "signatures": [[int]],
            "estimates": [
                {"a": str, "b": str, "equal": int, "value": float, "low": float, "high": float, "coverage": float}
            ],
            "bands": {
                "rows": int,
                "left_over": int,
                "buckets": [[[str]]],
                "pairs": [{"a": str, "b": str, "shared_bands": int, "probability": float}],
            },
        }
    ],
    "chunks": [{"words": int, "chunk_longest": int, "chunk_union": int, "resemblance": int}],
    "notes": [str],
}


def fits(value: object, shape: object) -> bool:
    if isinstance(shape, dict):
        return (
            isinstance(value, dict)
            and value.keys() == shape.keys()
            and all(fits(value[key], shape[key]) for key in shape)
        )
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(item, shape[0]) for item in value)
    return type(value) is shape


def schema_keys(shape: object) -> set[str]:
    if isinstance(shape, dict):
        return set(shape) | {key for part in shape.values() for key in schema_keys(part)}
    return schema_keys(shape[0]) if isinstance(shape, list) else set()


def test_plain_data_has_one_shape() -> None:
    tables = nd.explain(EXAMPLE, family="one-permutation", slots=32, band_rows=3)
    assert fits(json.loads(json.dumps(tables.as_dict())), SHAPE)
    plain = json.loads(json.dumps(nd.explain(EXAMPLE).as_dict()))
    assert plain["drawn"][0]["chosen"] is None
    assert plain["drawn"][0]["bands"]["rows"] == 1


def test_it_names_itself_shortly() -> None:
    tables = nd.explain(EXAMPLE, slots=[4, 8])
    assert isinstance(tables, Explanation)
    assert repr(tables) == "Explanation(3 documents, 16 shingles; mod-p 4, mod-p 8)"
    assert str(tables) == tables.text(80)
