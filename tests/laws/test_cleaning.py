"""Text that is left out: every result is that of the texts from which it was removed by hand."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import neardup as nd
from neardup.collection.records import NearCopy
from neardup.errors import InputError, SettingError
from neardup.settings import Cleaning, Settings
from neardup.text.cleaning import cleaner_of
from neardup.text.sketch.cleaning import clean_texts
from neardup.text.units import read
from neardup.unicode import tokens
from support.reference_cleaning import by_hand, masked, remaining

MASKS = (r"\d{4}-\d\d-\d\d", r"(?i)re: ?")
STOP_WORDS = ("the", "of", "don't", "и")
RULES: dict[str, Any] = {"mask": MASKS, "ignore_numbers": True, "stop_words": STOP_WORDS}
BODIES = (
    "the harbour office asks for the keys of the blue shed by noon and for the book of the tides",
    "please pay the invoice of the printer and send the receipt to the treasurer of the club",
    "Straße und Café: и погода сегодня хорошая, море спокойное, ветер слабый и тёплый весь день",
    "東京の天気は今日も良いです。明日は雨が降るでしょう。傘を持って行きましょう。",
)


@cache
def texts() -> tuple[str, ...]:
    """Letters of few kinds, each with another date and number, and some that differ in more."""
    made = []
    for number, body in enumerate(BODIES):
        made += [f"RE: {body}, on 2024-0{day}-1{number} page {day}{number} ٣٤" for day in range(1, 5)]
        made.append(f"re:{body.replace(' and ', ' or ')} don't")
    return (*made, made[0], "2024-01-01 12 the of", "", "7")


def hand(text: str) -> str:
    return by_hand(text, MASKS, True, STOP_WORDS)


@pytest.mark.parametrize(
    "how",
    [
        {"method": "exact"},
        {"method": "lsh", "slots": 64},
        {"sketch": "simhash", "features": "word", "distance": 8},
        {"measure": "vocabulary"},
        {"measure": "multiset"},
        {"measure": "lcs"},
        {"measure": "chunk-longest", "length": 3},
    ],
    ids=lambda how: "-".join(map(str, how.values())),
)
def test_a_run_finds_the_pairs_of_the_texts_cleaned_by_hand(how: dict[str, Any]) -> None:
    given = texts()
    found = nd.find(list(given), threshold=0.6, pairs="all", **how, **RULES)
    expected = nd.find([hand(text) for text in given], threshold=0.6, pairs="all", **how)
    # equal remains are copies there and pairs here: compare the sets of all that are together
    assert together(found) == together(expected)
    assert len(found.pairs) > len(expected.pairs)
    counted = {(row["id_a"], row["id_b"]): row for row in found.pairs.to_pylist()}
    for row in expected.pairs.to_pylist():
        assert counted[row["id_a"], row["id_b"]] == row
    assert [row.kind for row in found.run.not_judged.listed] == [
        "all text left out",
        "without text",
        "all text left out",
    ]


def together(found: Any) -> set[tuple[Any, Any]]:
    """All pairs of documents that are pairs or copies, copies of the ends included."""
    copies = [(row["copy_of"], row["id"]) for row in found.copies.to_pylist()]
    of = {copy: first for first, copy in copies}
    ids = range(len(texts()))
    ends = {(row["id_a"], row["id_b"]) for row in found.pairs.to_pylist()}
    found_ends = ends | {(b, a) for a, b in ends}
    return {
        (a, b)
        for a in ids
        for b in ids
        if a < b and (of.get(a, a) == of.get(b, b) or (of.get(a, a), of.get(b, b)) in found_ends)
    }


def test_copies_stay_copies_of_the_text() -> None:
    found = nd.find(
        ["pay 12 coins by noon today", "pay 13 coins by noon today", "Pay 12 coins by noon, today"],
        ignore_numbers=True,
        length=2,
    )
    assert [(row["copy_of"], row["id"]) for row in found.copies.to_pylist()] == [(0, 2)]
    assert [(row["id_a"], row["id_b"], row["resemblance"]) for row in found.pairs.to_pylist()] == [(0, 1, 1.0)]


def test_the_length_of_a_text_is_that_of_all_of_it() -> None:
    short, long = "pay the coins by noon", "pay the coins by noon 1 2 3 4 5"
    assert nd.find([short, long], ignore_numbers=True, length=2).groups["id"].to_pylist()[0] == 1


def test_places_and_documents_are_counted() -> None:
    left_out = nd.find(list(texts()), **RULES).run.left_out
    assert left_out is not None
    expected = [sum(len(re.findall(mask, text)) for text in texts()) for mask in MASKS]
    assert [rule.places for rule in left_out.masks] == expected
    assert [rule.documents for rule in left_out.masks] == [
        sum(bool(re.search(mask, text)) for text in texts()) for mask in MASKS
    ]
    after = [tokens(masked(text, MASKS)) for text in texts()]
    numbers = sum(token.isdecimal() for found in after for token in found)
    words = {token for word in STOP_WORDS for token in tokens(word)}
    assert left_out.numbers.places == numbers
    assert left_out.stop_words.places == sum(token in words for found in after for token in found)
    assert nd.find(["one text"]).run.left_out is None


@pytest.mark.parametrize("unit", ["word", "char"])
def test_a_column_and_a_text_are_cleaned_alike(unit: str) -> None:
    settings = Settings.of(**RULES)
    column = pa.array([None, *texts()])
    made = clean_texts(column, settings).texts.to_pylist()
    for text, left in zip(("", *texts()), made, strict=True):
        reading = read(text, cleaner=cleaner_of(settings.cleaning))
        assert read(left.decode()).units(unit == "word").strings == reading.units(unit == "word").strings
        if unit == "word":
            assert reading.words.strings == remaining(text, MASKS, True, STOP_WORDS)


def test_a_text_in_another_layout_is_cleaned_alike() -> None:
    settings = Settings.of(**RULES)
    expected = clean_texts(pa.array(texts()), settings).texts.to_pylist()
    for type_ in (pa.large_string(), pa.binary(), pa.large_binary()):
        sliced = pa.array(["before", *texts(), "after"]).cast(type_).slice(1, len(texts()))
        assert clean_texts(sliced, settings).texts.to_pylist() == expected


def test_bytes_that_are_not_text_are_matched_by_nothing() -> None:
    settings = Settings.of(mask=[r"\d+", r"\pL+"])
    raw = [b"a 12 \xff\xfe 3 \xc3", b"\xff", b"\xed\xa0\x80 5"]
    assert clean_texts(pa.array(raw), settings).texts.to_pylist() == [
        b"     \xff\xfe   \xc3",
        b"\xff",
        b"\xed\xa0\x80  ",
    ]
    reading = read("a \ud800 12", cleaner=cleaner_of(Cleaning(mask=(r"\d+",))))
    assert reading.words.strings == ["a"]
    assert reading.left_out.tolist() == [[4, 6]]


def test_a_comparison_is_that_of_the_texts_cleaned_by_hand() -> None:
    for a, b in ((0, 1), (5, 9), (10, 12), (15, 19)):
        one, other = texts()[a], texts()[b]
        found, expected = nd.compare(one, other, length=2, **RULES), nd.compare(hand(one), hand(other), length=2)
        assert without_simhash(found) == without_simhash(expected)
        for chunk in found.chunks():
            assert one[slice(*chunk["span_a"])] == chunk["text_a"]
        blank = blanked(one, found.left_out_a.tolist()), blanked(other, found.left_out_b.tolist())
        assert nd.compare(*blank, length=2).measures == found.measures
        assert [tokens(text) for text in blank] == [
            remaining(text, MASKS, True, STOP_WORDS) for text in (one, other)
        ]
    left_out = nd.compare(texts()[0], texts()[1], **RULES).as_dict()["left_out"]
    assert left_out["a"] == {"masks": [1, 1], "numbers": 2, "stop_words": 7}


def without_simhash(found: Any) -> dict[str, Any]:
    """The measures on words: the features of SimHash have punctuation, which the texts by hand lack."""
    return {name: value for name, value in found.measures.items() if name != "simhash_distance"}


def blanked(text: str, spans: list[list[int]]) -> str:
    for begin, end in spans:
        text = text[:begin] + " " * (end - begin) + text[end:]
    return text


def test_a_result_compares_as_its_run_did() -> None:
    found = nd.find(list(texts()), threshold=0.6, **RULES)
    row = found.pairs.to_pylist()[0]
    assert found.compare(row["id_a"], row["id_b"]).measures["resemblance"] == row["resemblance"]


def counted(near: NearCopy) -> dict[str, Any]:
    """A near copy without what is said of its characters: they are those of the texts as they were given."""
    return {name: value for name, value in near.as_dict().items() if name not in ("copy", "difference")}


def test_a_collection_is_that_of_the_texts_cleaned_by_hand(tmp_path: Path) -> None:
    given = texts()
    with (
        nd.Collection(tmp_path / "a.neardup", **RULES) as masked_ones,
        nd.Collection(tmp_path / "b.neardup") as by_hands,
    ):
        ids = [f"d{number}" for number in range(len(given))]
        table = pa.table({"id": ids, "text": list(given)})
        found = masked_ones.add(table, id="id", near=0.6)
        expected = by_hands.add(pa.table({"id": ids, "text": [hand(text) for text in given]}), id="id", near=0.6)
        assert [counted(one) for one in found.near] == [counted(one) for one in expected.near]
        query = "FINGERPRINT:d0_50"
        hits, others = masked_ones.search(query).hits, by_hands.search(query).hits
        assert [(hit.id, hit.evidence and hit.evidence.shared) for hit in hits] == [
            (hit.id, hit.evidence and hit.evidence.shared) for hit in others
        ]
        assert hits
        assert masked_ones.search("2024").hits  # words are found in all text
        same = masked_ones.compare("d0", "d1").measures
        assert same["resemblance"] == by_hands.compare("d0", "d1").measures["resemblance"]
    with nd.Collection(tmp_path / "a.neardup") as again:
        assert again.settings.fingerprint.cleaning == Settings.of(**RULES).cleaning
    with pytest.raises(SettingError):
        nd.Collection(tmp_path / "a.neardup", ignore_numbers=False)


def test_a_large_text_is_cleaned_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from neardup.collection import entries
    from neardup.collection.entries import entries_of
    from neardup.collection.settings import CollectionSettings
    from neardup.errors import LimitError
    from neardup.runtime import Deadline

    settings = CollectionSettings.of(**RULES)
    text = " ".join(texts())
    whole = entries_of(pa.array([text]), ["a"], [{}], settings)
    monkeypatch.setattr(entries, "PORTION", 100)
    made = entries.portioned_data(text.encode(), settings, Deadline(60, lambda: LimitError("late", "", "")))
    assert np.array_equal(made.shingles.size, whole.shingles[0])
    assert np.array_equal(made.signature, whole.signatures[0])
    assert (made.stream, made.tokens) == (whole.streams[0], whole.tokens[0])


def test_parts_are_those_of_one_run_and_a_mix_is_refused(tmp_path: Path) -> None:
    halves = (texts()[:12], texts()[12:])
    for number, half in enumerate(halves):
        lines = (json.dumps({"id": f"{number}-{k}", "text": text}) for k, text in enumerate(half))
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    inputs = [tmp_path / "0.jsonl", tmp_path / "1.jsonl"]
    for number, file in enumerate(inputs):
        nd.fingerprint_part(file, tmp_path / f"fp{number}", threshold=0.6, **RULES)
    merged = nd.merge([tmp_path / "fp0", tmp_path / "fp1"])
    whole = nd.find(inputs, threshold=0.6, **RULES)
    assert merged.pairs.sort_by([("id_a", "ascending"), ("id_b", "ascending")]) == whole.pairs.sort_by(
        [("id_a", "ascending"), ("id_b", "ascending")]
    )
    assert merged.run.left_out == whole.run.left_out
    nd.fingerprint_part(inputs[1], tmp_path / "fp2", threshold=0.6, ignore_numbers=True)
    with pytest.raises(InputError):
        nd.merge([tmp_path / "fp0", tmp_path / "fp2"])


def test_base_text_and_common_text_are_cleaned_too(tmp_path: Path) -> None:
    form = tmp_path / "form.txt"
    form.write_text("the harbour office 1999 asks of 12 for the keys", encoding="utf-8")
    plain = tmp_path / "plain.txt"
    plain.write_text(hand(form.read_text(encoding="utf-8")), encoding="utf-8")
    given = list(texts())
    found = nd.find(given, ignore=form, threshold=0.5, length=2, **RULES)
    expected = nd.find([hand(text) for text in given], ignore=plain, threshold=0.5, length=2)
    assert together(found) == together(expected)
    # a token of its own keeps the texts cleaned by hand from being copies
    own = [f"{text} own{k}" for k, text in enumerate(given) if hand(text)]
    common = nd.find(own, ignore_common=0.2, length=3, **RULES).common
    again = nd.find([hand(text) for text in own], ignore_common=0.2, length=3).common
    assert common is not None
    assert len(common)
    assert common == again


def test_a_run_on_spark_refuses_it_by_name() -> None:
    from neardup.spark.job import checked

    with pytest.raises(SettingError, match=r"mask \\d\+, ignore_numbers, stop_words words:the"):
        checked({"mask": [r"\d+"], "ignore_numbers": True, "stop_words": ["the"]})
