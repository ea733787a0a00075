"""The repetition within a document: the published figures by sets of characters, and examples by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.corpus.repetition.documents import DUPLICATE, TOP, document_table, own_repetition
from neardup.deduplication.run.pipeline import Meter
from neardup.runtime import Silent
from neardup.text.units import words
from support.reference_passages import own_shares


@given(st.lists(st.sampled_from(["a", "bb", "c,", "dd\n", "é"]), max_size=40).map(" ".join))
def test_shares_of_n_grams_are_those_of_sets_of_characters(text: str) -> None:
    read = words(text)
    own = own_repetition(text, read.hashes, read.spans)
    spans = [(begin, end) for begin, end in read.spans.tolist()]
    for n, share in zip(TOP, own.top, strict=True):
        assert round(share * len(text)) == own_shares(read.strings, spans, n)[0]
    for n, share in zip(DUPLICATE, own.duplicate, strict=True):
        assert round(share * len(text)) == own_shares(read.strings, spans, n)[1]


@pytest.mark.parametrize(
    ("text", "lines", "paragraphs"),
    [
        ("", (0, 0), (0, 0)),
        ("one\n one \r\n\ntwo", (1 / 3, 3 / 15), (0, 0)),
        ("a b\nc\n\na b\nc\n\n\na b\nc", (4 / 6, 8 / 20), (2 / 3, 10 / 20)),
    ],
)
def test_lines_and_paragraphs_that_repeat_are_counted(
    text: str, lines: tuple[float, float], paragraphs: tuple[float, float]
) -> None:
    own = own_repetition(text, np.empty(0, np.uint64), np.empty((0, 2), np.int64))
    assert own.lines == pytest.approx(lines)
    assert own.paragraphs == pytest.approx(paragraphs)


def test_the_table_has_the_longest_passage_that_a_document_repeats() -> None:
    phrase = " ".join(f"w{k}" for k in range(12))
    found = nd.passages([f"{phrase} and {phrase}", f"{phrase} once", "nothing"], length=5)
    rows = document_table(found, Meter(Silent())).to_pylist()
    assert [row["longest_own_passage"] for row in rows] == [12, 0, 0]
    assert [row["repeated_tokens"] for row in rows] == [24, 12, 0]
    assert rows[0]["repeated_10_grams"] > 0.9 > rows[1]["repeated_10_grams"] == 0
