"""Texts that look like the output of OCR: the stated test, none among real texts, and the note of a run."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import neardup as nd
from neardup.cli.demo_documents import documents_path
from neardup.deduplication.join.first_pass import BEGINNING, LOOKED_AT, scans
from support import shared_data
from support.messages import has_parts

PLAIN = "the boiler in the basement will be taken out and replaced on electric heaters in the winter months "
SCANNED = "the boi1er in the basement will be taken out and rep1aced on e1ectric heaters in the winter months "


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_a_text_with_errors_is_recognised_and_others_are_not(kind: pa.DataType) -> None:
    others = [
        PLAIN,
        SCANNED,
        None,
        "",
        "utf8 mp3 file1 page1 i18n H2O 1st 2nd covid19",
        SCANNED + 50 * PLAIN,
        "ab\x00",
    ]
    texts = pa.array(others, pa.string()).cast(kind)
    assert scans(texts, "word") == [1]
    assert scans(texts, "char") == []
    assert scans(texts.slice(0, 0), "word") == []


def test_two_errors_are_too_few_and_so_is_one_in_many_words() -> None:
    words = ["d0es", "wou1d", "1etters"]
    texts = [
        " ".join(words[:2]),
        " ".join(words),
        " ".join([*words, *["word"] * 297]),
        " ".join([*words, *["w"] * 298]),
    ]
    assert scans(pa.array(texts), "word") == [1, 2]


def test_of_many_texts_some_are_looked_at_and_of_long_ones_the_beginning() -> None:
    many = scans(pa.array([SCANNED] * 10_000), "word")
    assert (len(many), many[0], many[-1]) == (LOOKED_AT, 0, 9_999)
    assert scans(pa.array(["x" * BEGINNING + SCANNED]), "word") == []


@pytest.mark.parametrize("name", [*shared_data.WORD_SETS, *shared_data.CHAR_SETS])
def test_no_text_of_the_real_sets_looks_like_a_scan(name: str) -> None:
    texts = list(shared_data.documents(name).values())
    for first in range(0, len(texts), LOOKED_AT):
        assert scans(pa.array(texts[first : first + LOOKED_AT]), "word") == []


def test_the_run_names_a_scan_and_the_way_to_its_typed_original() -> None:
    rows = [json.loads(line) for line in documents_path().read_text(encoding="utf-8").splitlines()]
    table = pa.Table.from_pylist(rows)
    pair = {"notice-heating-works", "notice-heating-works-fax"}

    def has_pair(found: nd.Found) -> bool:
        return pair in [{row["id_a"], row["id_b"]} for row in found.pairs.to_pylist()]

    by_words, by_characters = (
        nd.find(table, text="text", id="id"),
        nd.find(table, text="text", id="id", unit="char"),
    )
    [note] = [note for note in by_words.run.notes if "OCR" in note]
    assert has_parts(note, "1 text of 104", "notice-heating-works-fax", "--unit char")
    assert not any("OCR" in note for note in by_characters.run.notes)
    assert (has_pair(by_words), has_pair(by_characters)) == (False, True)


def test_only_new_documents_are_reported() -> None:
    found = nd.find([PLAIN], against=[SCANNED])
    assert not any("OCR" in note for note in found.run.notes)


CODE = """for (i1map = x0ab; i1map < n1col; i1map++) { out1[i1map] = a|bc(u0to, v1ew); }
if (m1ap == NULL || i0bj->f1le) return fa1l(p0int, s1ze | fl0at);
"""


COLOURS = (
    "Comments are f0ff00 and d0c1ab, strings are e0a0ff, names are b1ead0, and keywords have the colour a0cafe. "
    * 9
)
CHOICES = (
    "The first word is one of open|close, read|write or left|right, and the second one of now|then or here|there. "
    * 9
)
REPEATED = (
    "The functions fft1d, fft1d and fft1d are those of one dimension, as are fft1d, fft1d, fft1d and fft1d. " * 9
)
NUMBERED = (
    "Set va1ue_2 and fie1d_3, then ca1l4 with va1ue_5, and 1ast of all fie1d_6 and wou1d_7, as the manual says. "
    * 9
)


def test_names_in_source_code_are_no_errors_of_ocr() -> None:
    texts = [
        CODE,
        CODE * 5,
        SCANNED,
        COLOURS,
        CHOICES,
        REPEATED,
        NUMBERED,
        SCANNED.replace("rep1aced", "rep|aced"),
    ]
    assert scans(pa.array(texts), "word") == [2, 7]
