"""What is shown of a comparison, cut from whole texts at once, against twins that put it together by pieces."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import neardup as nd
from neardup.comparison.show.page import ComparisonBody
from neardup.comparison.show.terminal import COLOURS, Styled, _Inline, _rows, _TwoColumns
from neardup.comparison.show.words import part_of, restyled_rows
from neardup.display import colour_line, visible
from neardup.display.view import shown
from neardup.unicode import codepoints_of, of_each, text_of
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
def test_code_points_and_back(text: str) -> None:
    assert text_of(codepoints_of(text)) == text
    assert of_each(codepoints_of(text), ord, np.int64).tolist() == list(map(ord, text))


@given(st.text(st.sampled_from("a\r\n\t<&>'\x1b\u202e\ud800"), max_size=30), st.data())
@pytest.mark.parametrize("of", [visible, shown], ids=["terminal", "page"])
def test_texts_are_shown_in_pieces_as_in_one(of: Callable[[str], str], text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=5).map(sorted))
    parts = [part_of(text, begin, end) for begin, end in pairwise([0, *cuts, len(text)])]
    assert "".join(map(of, parts)) == of(text)


@given(
    st.lists(st.tuples(st.one_of(spaced(), made_text()), st.integers(0, 3)), max_size=6),
    st.integers(2, 40),
)
def test_lines_are_those_of_the_twin(parts: list[tuple[str, int]], width: int) -> None:
    styles = ("", "removed", "added", "note")
    row = [(visible(text).replace("\t", "    "), styles[style]) for text, style in parts]
    styled, expected = Styled(row, width), twin.wrapped(row, width)
    assert list(styled.strings({})) == ["".join(text for text, _ in line) for line in expected]
    assert list(styled.strings(COLOURS)) == ["".join(colour_line(line, COLOURS)) for line in expected]
    widths = [sum(twin.columns(text) for text, _ in line) for line in expected]
    assert [cut.columns for cut in styled.cuts] == widths
    assert [bool(cut) for cut in styled.cuts] == [bool(line) for line in expected]


@example(("", "Pay 13 by Friday\n\n"), 60, True, False)  # a blank line has no colour
@given(shown_pairs(), st.sampled_from([60, 61, 80, 99, 100, 101, 140]), st.booleans(), st.booleans())
def test_a_terminal_shows_what_the_twin_shows(
    texts: tuple[str, str], width: int, colour: bool, full: bool
) -> None:
    alignment, codes = nd.compare(*texts, length=3).alignment, COLOURS if colour else {}
    body = (_TwoColumns if width >= 100 else _Inline)(alignment, width, codes, restyled_rows(alignment))
    found = list(_rows(body, alignment.table.kinds, full))
    assert found == list(twin.rows_as_text(alignment, width, codes, full))


@given(shown_pairs(), st.sampled_from(["word", "char"]))
def test_a_page_shows_what_the_twin_shows(texts: tuple[str, str], unit: str) -> None:
    found = nd.compare(*texts, length=3, unit=unit)
    body = ComparisonBody(found, ("A", "B"), full=True, prefix="", level=2)
    texts = str(body.html("texts")).replace("</tr>\n<tr", "</tr><tr")
    assert "".join(twin.rows_as_html(found)) in texts


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_hard_line_ends_flow_and_end_no_rows(end: str) -> None:
    """Lines of mails and PDF that were cut in both texts are one paragraph, with one space for each line end."""
    line = "the harbour office is closed on Friday and on all the days after it"
    lines = [f"{line}{end}{line}{end}{line}.", "All others stay open.", "One more here."]
    texts = [f"{end}{end}".join([*lines[: 2 + which], "The end."]) for which in (0, 1)]
    found = nd.compare(*texts)
    bodies = [ComparisonBody(found, ("A", "B"), True, "", 2, flowed=flowed) for flowed in (False, True)]
    assert [body.has_hard_lines for body in bodies] == [True, True]
    assert [body.count for body in bodies] == [1, 1]
    (written, flowed) = ([kind for kind, _, _ in body.rows.rows(0, len(body.rows._kinds))] for body in bodies)
    assert len(written) - len(flowed) == 2
    shown = [str(body.html("texts")) for body in bodies]
    assert f"{line} {line} {line}." in shown[1]
    assert f"{line} " not in shown[0]


def test_equal_text_of_wide_characters_is_folded_like_other_text() -> None:
    before, after = "港口办公室将于星期五关闭。" * 7, "货物可以存放在仓库中。" * 7
    found = nd.compare(*(f"{before}费用为每天{price}百元。{after}" for price in "三四"))
    body = ComparisonBody(found, ("A", "B"), False, "", 2)
    cells = [cell for _, _, both in body.rows.rows(0, len(body.rows._kinds)) for cell in both]
    cut = [piece.match for cell in cells for piece in cell.pieces or () if piece.kind == "cut"]
    assert len(cut) == 4  # on both sides, before and after the difference
    assert all(isinstance(units, int) and units > 50 for units in cut)


def test_a_sentence_that_a_hard_line_end_cuts_is_in_one_row_with_its_difference() -> None:
    before = "the harbour office is closed on Friday and on all the days after it,\n"
    after = "as the works on the quay need more days than those that were planned.\n"
    texts = [f"{before}and all {boats} berth at the northern quay for as long as this lasts,\n" for boats in "xy"]
    found = nd.compare(*(f"A notice.\n\n{text}{after}\nThe end." for text in texts))
    bodies = [ComparisonBody(found, ("A", "B"), True, "", 2, flowed=flowed) for flowed in (False, True)]
    assert [body.count for body in bodies] == [1, 1]
    kinds, cells = zip(*((kind, both) for kind, _, both in bodies[1].rows.rows(0, 3)), strict=True)
    assert kinds == ("equal same", "changed", "equal same")
    words = "".join(part for piece in cells[1][0].pieces for part, _ in piece.parts)
    assert words.split() == (texts[0] + after).split()


def test_equal_text_before_a_difference_is_folded_from_its_row_on() -> None:
    equal = (
        "no. due Rate (see -\n\nby no. paid, was sum 5,000.00 5,000.00 no. May Rate (see, - X; a.b) "
        "to 5,000.00 (see by sum to! the not rate Rate a.b) the 5,000.00 is Rate. the"
    )
    shown = nd.compare(f"{equal} 5,000.00 by. ", f"{equal} -5,000,00 by, ")._repr_html_()
    assert shown.count('<summary dir="ltr">38 equal tokens</summary>by no. paid') == 2
