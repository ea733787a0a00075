"""What is shown of a comparison, cut from whole texts at once, against twins that put it together by pieces."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neardup as nd
from neardup.comparison.show.cells import TextRows, escaped
from neardup.comparison.show.lines import COLOURS, as_text, facts_of
from neardup.comparison.show.sheets import STYLES, Sheet
from neardup.comparison.show.spelling import spelled
from neardup.display import painted, visible
from neardup.kernels.show.marked import Page
from neardup.text.codepoints import codepoints_of, of_each, text_of
from support import reference_shown as twin
from support.compared_texts import made_text, pairs
from support.strategies import any_text

BLANKS = "a b  c\n\n\n\t\u3000\u3000 \xa0 d\xa0e   東京 e\u0301\u200d\n \n x"


def spaced() -> st.SearchStrategy[str]:
    """Text with much white space, wide letters and marks."""
    return st.text(st.sampled_from(BLANKS), max_size=80)


def shown_pairs() -> st.SearchStrategy[tuple[str, str]]:
    long = made_text().map(lambda text: f"{text}\n" * 8)
    return st.one_of(pairs(), st.tuples(spaced(), spaced()), st.tuples(long, long))


@given(st.one_of(any_text(), st.text(), spaced()))
@settings(deadline=None)
def test_code_points_and_back(text: str) -> None:
    assert text_of(codepoints_of(text)) == text
    assert of_each(codepoints_of(text), ord, np.int64).tolist() == list(map(ord, text))


@given(st.one_of(any_text(), st.text(st.sampled_from("a\r\n\t<&>'\x1b\u202e\ud800"), max_size=30)))
@pytest.mark.parametrize("of", [visible, escaped], ids=["terminal", "page"])
@settings(deadline=None)
def test_texts_are_spelled_out_as_a_whole_as_in_pieces(of: Callable[[str], str], text: str) -> None:
    found = spelled(text, of)
    assert found.text == of(text)
    at = found.at(np.arange(len(text) + 1))
    for k in range(len(text)):
        if text[k : k + 2] != "\r\n":
            assert found.text[at[k] : at[k + 1]] == of(text[k])
    assert at[-1] == len(found.text)


@given(
    st.lists(st.lists(st.tuples(st.one_of(spaced(), made_text()), st.integers(0, 3)), max_size=4), max_size=4),
    st.integers(2, 40),
)
@settings(max_examples=300, deadline=None)
def test_lines_are_those_of_the_twin(rows: list[list[tuple[str, int]]], width: int) -> None:
    rows = [[(visible(text).replace("\t", "    "), style) for text, style in row] for row in rows]
    parts = [(text, style) for row in rows for text, style in [*row, ("", 0)]]
    lengths = np.cumsum([0, *(len(text) for text, _ in parts)])
    bounds = np.cumsum([0, *(sum(len(text) for text, _ in row) for row in rows)])
    page = Page(
        codepoints_of("".join(text for text, _ in parts)),
        lengths[:-1],
        np.array([style for _, style in parts], np.int8),
        bounds,
    )
    sheets = Sheet(page, width, {}), Sheet(page, width, COLOURS)
    for k, row in enumerate(rows):
        expected = twin.wrapped([(text, STYLES[style]) for text, style in row], width)
        lines = np.arange(sheets[0].first[k], sheets[0].first[k + 1])
        assert list(sheets[0].strings(lines)) == ["".join(text for text, _ in line) for line in expected]
        assert list(sheets[1].strings(lines)) == ["".join(painted(line, COLOURS)) for line in expected]
        assert sheets[0].columns[lines].tolist() == [
            sum(twin.columns(text) for text, _ in line) for line in expected
        ]
        assert sheets[0].filled(lines) == [bool(line) for line in expected]


@given(shown_pairs(), st.sampled_from([60, 61, 80, 99, 100, 101, 140]), st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_terminal_shows_what_the_twin_shows(
    texts: tuple[str, str], width: int, colour: bool, full: bool
) -> None:
    found = nd.compare(*texts, length=3)
    lines = list(as_text(found, ("A", "B"), width, colour=colour, full=full))
    rows = list(twin.rows_as_text(found.alignment, width, COLOURS if colour else {}, full))
    below = [*rows, "", *facts_of(found, width)]
    head = lines[: len(lines) - len(below)]
    assert lines[len(head) :] == below
    assert "┼" in head[-1] if width >= 100 else head[-1] == ""


@given(shown_pairs(), st.sampled_from(["word", "char"]))
@settings(max_examples=300, deadline=None)
def test_a_page_shows_what_the_twin_shows(texts: tuple[str, str], unit: str) -> None:
    found = nd.compare(*texts, length=3, unit=unit)
    rows = TextRows(found, "")
    assert list(rows.rows(0, len(found.alignment.table))) == list(twin.rows_as_html(found))
