"""Comparing two texts: the result, its forms, and the refusals."""

import json
import random
from typing import Any

import pytest
from hypothesis import given

import neardup as nd
from neardup.comparison import compare as measures
from neardup.comparison import matching
from neardup.comparison.result import DESCRIPTIONS
from neardup.errors import SettingError
from neardup.kernels.match import tiling
from neardup.settings.stop_words import chosen, words_of
from neardup.text.cleaning import stop_word_hashes
from neardup.text.sketch.simhash import distance, simhash
from neardup.unicode import shingles, tokens
from support.reference_hamming import simhash as simhash_twin
from support.strategies import any_text, edited_pair

NAMES = [
    "tokens_a",
    "tokens_b",
    "shingles_a",
    "shingles_b",
    "shared",
    "resemblance",
    "containment_a",
    "containment_b",
    "overlap",
    "overlap_max",
    "dice",
    "cosine",
    "vocabulary",
    "multiset",
    "chunk_longest_literal",
    "chunk_union_literal",
    "chunk_longest_information",
    "chunk_union_information",
    "common_literal",
    "common_literal_upper_bound",
    "common_information",
    "chunks_literal",
    "chunk_shortest_literal",
    "resemblance_by_chunks",
    "lcs",
    "minhash",
    "simhash_distance",
]
OLD = "Pay 1200 to the harbour office by Friday, and bring the keys of the blue shed at noon."
NEW = "By the way: bring the keys of the blue shed at noon, and pay 1300 to the harbour office by Friday."


def test_every_measure_is_there_in_order_and_described() -> None:
    assert list(nd.compare(OLD, NEW).measures) == list(DESCRIPTIONS) == NAMES
    assert {about.kind for about in DESCRIPTIONS.values()} == {"exact", "bound", "estimate"}
    assert [name for name in NAMES if DESCRIPTIONS[name].kind == "estimate"] == [
        "resemblance_by_chunks",
        "minhash",
        "simhash_distance",
    ]
    for about in DESCRIPTIONS.values():
        assert about.sentence[0].isupper()
        assert about.sentence.endswith(".")
        assert len(about.sentence) < 160


def test_chunks_are_quoted_from_the_originals() -> None:
    found = nd.compare(OLD, NEW)
    shared = [(6, "to the harbour office by Friday"), (9, "bring the keys of the blue shed at noon")]
    assert [(chunk["tokens"], chunk["text_a"]) for chunk in found.chunks()] == shared
    assert [(chunk["tokens"], chunk["text_b"]) for chunk in found.chunks()] == shared
    for chunk in found.chunks():
        assert OLD[slice(*chunk["span_a"])] == chunk["text_a"]
        assert NEW[slice(*chunk["span_b"])] == chunk["text_b"]


def test_plain_data_survives_json() -> None:
    assert nd.compare(OLD, NEW, stop_words=["the", "by"]).as_dict()["settings"]["stop_words"] == 2
    found = nd.compare(OLD, OLD + " " + NEW)
    data = found.as_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["settings"] == {
        "length": 5,
        "unit": "word",
        "min_chunk": 5,
        "ignore_numbers": False,
        "stop_words": 0,
    }
    assert (data["degraded"], data["caps"], data["proven"]) == (False, [], True)
    evidence = data["evidence"]
    begin, end = evidence["spans_b"][-1]
    assert f"{OLD} {NEW}"[begin:end] == "Friday"
    assert evidence["tiles"] == [[0, 0, 18]]
    assert evidence["redundant_a"] == []
    # what is appended repeats, but for "by the way" and "and pay 1300"
    assert evidence["redundant_b"] == [[21, 30], [33, 39]]
    assert evidence["matched_b"] == [[0, 18]]


@given(edited_pair())
def test_set_measures_are_those_of_the_sets(texts: tuple[str, str]) -> None:
    for unit, length in (("word", 2), ("char", 4)):
        found = nd.compare(*texts, length=length, unit=unit).measures  # type: ignore[arg-type]
        a, b = (shingles(text, length, unit) for text in texts)  # type: ignore[arg-type]
        bags = [set(tokens(text)) for text in texts]
        assert (found["shingles_a"], found["shingles_b"], found["shared"]) == (len(a), len(b), len(a & b))
        if a and b:
            assert found["resemblance"] == len(a & b) / len(a | b)
            assert found["containment_a"] == len(a & b) / len(a)
            assert found["containment_b"] == len(a & b) / len(b)
            assert found["overlap"] == len(a & b) / min(len(a), len(b))
            assert found["overlap_max"] == len(a & b) / max(len(a), len(b))
            assert found["cosine"] == pytest.approx(len(a & b) / (len(a) * len(b)) ** 0.5, rel=1e-15)
            assert found["dice"] == 2 * len(a & b) / (len(a) + len(b))
        if bags[0] | bags[1]:
            assert found["vocabulary"] == len(bags[0] & bags[1]) / len(bags[0] | bags[1])


@given(edited_pair())
def test_estimates_are_those_of_the_sketches(texts: tuple[str, str]) -> None:
    found = nd.compare(*texts, length=3).measures
    family = nd.MinHash(length=3)
    if all(map(tokens, texts)):
        expected = family.of(texts[0]).resemblance(family.of(texts[1]))
        assert found["minhash"] == {
            "estimate": expected.value,
            "low": expected.low,
            "high": expected.high,
            "slots": 128,
        }
    assert found["simhash_distance"] == distance(*map(simhash_twin, texts))


@given(any_text())
def test_simhash_is_that_of_the_twin(text: str) -> None:
    assert simhash(text) == simhash_twin(text)


def test_the_sketch_of_an_empty_text_is_like_no_other() -> None:
    assert nd.compare("", "").measures["minhash"]["estimate"] == 1
    assert nd.compare("", "word").measures["minhash"]["estimate"] == 0


def test_min_chunk_is_free_of_the_shingle_length() -> None:
    strict = nd.compare(OLD, NEW, min_chunk=7)
    assert strict.measures["chunks_literal"] == 1
    assert strict.measures["resemblance"] == nd.compare(OLD, NEW).measures["resemblance"]
    assert nd.compare(OLD, NEW, length=3).measures["chunks_literal"] >= 2


def test_numbers_are_ignored_before_everything() -> None:
    a, b = "Invoice 17 of 2023: due in 30 days", "Invoice 18 of 2024: due in 14 days"
    found, without = (
        nd.compare(a, b, ignore_numbers=True),
        nd.compare("Invoice of: due in days", "Invoice of: due in days"),
    )
    assert found.measures == without.measures
    assert [chunk["text_a"] for chunk in found.chunks()] == [a]


def test_stop_words_are_left_out_before_everything() -> None:
    a, b = "The cat and the hat", "the dog and THE hat"
    assert nd.compare(a, b).measures["vocabulary"] == 3 / 5
    found = nd.compare(a, b, stop_words=["The", "AND"])
    assert found.measures == nd.compare("cat hat", "dog hat").measures
    assert found.left_out_a.tolist() == [[0, 3], [8, 11], [12, 15]]
    only = nd.compare("the and", "and", stop_words=["the", "and"]).measures
    assert only["vocabulary"] == 1


def test_stop_words_by_language() -> None:
    pytest.importorskip("stopwordsiso")
    assert nd.compare("The cat and hat", "a dog or hat", stop_words="en").measures["vocabulary"] == 1 / 3
    assert {"und", "nicht"} <= set(words_of("de"))
    assert len(stop_word_hashes(str(chosen("EN")))) > 500
    with pytest.raises(SettingError, match=r"'xx' .*stop words.*Allowed: .*af, "):
        nd.compare("a", "b", stop_words="xx")


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "stopwordsiso", None)
    with pytest.raises(SettingError, match=r'pip install "\.\[stopwords\]" .*words themselves'):
        nd.compare("a", "b", stop_words="en")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"length": 0}, "length"),
        ({"unit": "line"}, "unit"),
        ({"min_chunk": 0}, "min_chunk = 0 is not possible"),
        ({"min_chunk": 2.5}, "min_chunk = 2.5 is not possible"),
        ({"stop_words": [3]}, "another type than str"),
    ],
)
def test_impossible_settings_are_refused(chosen: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        nd.compare("a", "b", **chosen)


def test_caps_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(1)
    texts = tuple(" ".join(chosen.choices(("one", "two"), k=300)) for _ in range(2))
    assert not nd.compare(*texts).degraded
    monkeypatch.setattr(matching.literal, "__defaults__", (5, 1))
    monkeypatch.setattr(matching.lcs, "__defaults__", (1,))
    found = nd.compare(*texts)
    assert found.degraded
    assert found.caps == (tiling.TILING_CAP, tiling.LCS_CAP)
    assert found.as_dict()["caps"] == list(found.caps)
    assert found.measures["common_literal"] <= found.measures["common_literal_upper_bound"]


def test_a_comparison_shows_itself_in_a_line() -> None:
    assert repr(nd.compare(*map(" ".join, ("abcdef", "abcdeg")))) == (
        "Comparison(resemblance 0.333, chunk_longest_literal 0.833, chunk_union_literal 0.714, lcs 0.833)"
    )
    assert measures.Comparison is nd.Comparison
