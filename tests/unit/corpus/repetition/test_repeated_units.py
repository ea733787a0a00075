"""Lines, paragraphs and sentences that occur more than once: against a dictionary of their tokens."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.corpus.repetition.units import unit_edges
from neardup.errors import SettingError
from neardup.text.units import words

PIECES = ["Red fox. ", "Blue fox runs! ", "no", "\n", "\n\n", "\r\n \r\n", "— ", "GREEN hill\n", "狐。"]
TEXTS = st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), min_size=1, max_size=4)


@given(TEXTS, st.sampled_from(["line", "paragraph", "sentence"]), st.integers(1, 3))
def test_whole_units_are_found_with_all_their_places(texts: list[str], unit: str, least: int) -> None:
    places = defaultdict(list)
    for number, text in enumerate(texts):
        edges = unit_edges(text, unit).tolist()  # type: ignore[arg-type]
        for begin, end in pairwise(edges):
            if end - begin >= least:
                places[tuple(words(text).strings[begin:end])].append((number, begin))
    expected = sorted(value for value in places.values() if len(value) > 1)
    found = nd.passages(texts, unit=unit, length=least)
    rows = found.places.to_pylist()
    listed = [
        [(row["row"], row["first_token"]) for row in rows if row["passage"] == number]
        for number in range(found.passages.num_rows)
    ]
    assert listed == expected
    for row in rows:
        text = texts[row["row"]].encode()[row["begin"] : row["end"]].decode()
        assert len(words(text)) == row["tokens"]


def test_units_end_where_a_reader_sees_an_end() -> None:
    text = "One two. Three\n\n=====\nfour\nfive 五。六"
    assert unit_edges(text, "line").tolist() == [0, 3, 4, 7]
    assert unit_edges(text, "sentence").tolist() == [0, 2, 3, 4, 6, 7]
    assert unit_edges(text, "paragraph").tolist() == [0, 3, 7]
    assert unit_edges("", "line").tolist() == [0]


@pytest.mark.parametrize(("unit", "length"), [("page", 5), ("line", 0), ("passage", 1)])
def test_units_and_lengths_out_of_range_are_refused(unit: str, length: int) -> None:
    with pytest.raises(SettingError):
        nd.passages(["a"], unit=unit, length=length)
