"""A cell of a table is shown with the head of its column, where its row differs; the text is as it was."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup.comparison.alignment import heads_of
from neardup.comparison.show.words import differences_of

A = "Prices of pumps.\nItem | Amount\n--- | ---\nPump | 1,200.00\nValve | 300.00\n\nAll net | of tax."
B = A.replace("300", "320").replace("tax", "taxes")
HEAD = re.compile(r'<span class="column" title="head of the column">(.*?): </span>')


@pytest.mark.parametrize(
    ("text", "heads"),
    [
        ("a | b\n--- | ---\nc | d", {"c": "a", "d": "b"}),
        ("| a | b |\n|---|:-:|\n| c | d |\n|| d |", {"c": "a", "d": "b"}),
        ("a | b\r\n--- | ---\r\nc | d\r\n\r\ne | f", {"c": "a", "d": "b"}),
        ("a | b\n--- | ---\n | d", {"d": "b"}),
        ("a | b\n--- | ---\nwithout columns\nc | d", {"c": "a", "d": "b"}),
        ("a | b\n--- | ---\nc | d | e", {}),  # more cells than heads
        ("a | b | c\n--- | ---\nd | e", {}),  # more heads than the mark
        ("a \\| b | c\n--- | ---\nd\\|e | f", {"d": "a | b", "f": "c"}),
        ("a | b\n---\nc | d", {}),  # a rule
        (
            "a | b\n--- | ---\nc | d\ne | f\n--- | ---\ng | h",
            {"c": "a", "d": "b", "e": "a", "f": "b", "g": "e", "h": "f"},
        ),
        ("--- | ---\nc | d", {}),
        ("no | table", {}),
    ],
)
def test_heads_are_those_above_the_mark(text: str, heads: dict[str, str]) -> None:
    assert {text[place]: head for place, head in heads_of(text)} == heads


CELLS = st.text("abc1 ,\\|-", max_size=4).map(str.strip).map(lambda cell: cell.rstrip("\\").replace("|", r"\|"))


@given(st.integers(2, 4), st.lists(st.lists(CELLS, min_size=2, max_size=5), max_size=6), st.booleans())
def test_heads_of_made_tables(columns: int, rows: list[list[str]], bordered: bool) -> None:
    """Naively: the places are counted while the table is written."""
    heads, border = [f"h{column}" for column in range(columns)], "|" * bordered
    text = f"{border}{'|'.join(heads)}{border}\n{border}{'|'.join(['-'] * columns)}{border}\n"
    expected = []
    for row in rows:
        text += border
        filled = max((number for number, cell in enumerate(row, 1) if cell), default=0)
        is_mark = all(re.fullmatch(":?-+:?", cell) for cell in row)
        if is_mark or filled < len(row):
            row = ["x"] * len(row)  # another mark, or cells that are not counted
        for column, cell in enumerate(row):
            expected += [(len(text), f"h{column}")] * bool(cell and len(row) <= columns)
            text += cell + "|" * (column + 1 < len(row))
        text += f"{border}\n"
    assert heads_of(text) == expected


def test_the_page_shows_heads_in_rows_that_differ() -> None:
    page = neardup.compare(A, B).html()
    cells = re.findall(r'<td dir="auto" lang="" data-side="(.)">(.*?)</td>', page, re.DOTALL)
    shown = [(side, HEAD.findall(cell)) for side, cell in cells if HEAD.search(cell)]
    assert shown == [("A", ["Item", "Amount"]), ("B", ["Item", "Amount"])]
    texts = ["", ""]
    for side, cell in cells:
        texts[side == "B"] += html.unescape(re.sub("<[^>]*>", "", HEAD.sub("", cell))) + "\n"
    assert [text.split() for text in texts] == [A.split(), B.split()]
    assert "</del><span" not in page.replace("<del>300.00", "")  # the head is not deleted with its cell
    assert HEAD.search(page.partition("<del>300.00")[0].rpartition("\n")[2])


@pytest.mark.parametrize(
    ("other", "heads"),
    [
        (B, [("Amount",), ()]),  # the last row is no table
        (A.replace("Valve | 300", "Tap | 250"), [("Item", "Amount")]),
        (A.replace("Valve | 300.00\n", ""), [("Item", "Amount")]),
        (A.replace("Amount", "Sum"), [()]),
    ],
)
def test_the_list_of_differences_names_the_heads_of_changed_cells(
    other: str, heads: list[tuple[str, ...]]
) -> None:
    for found in (neardup.compare(A, other), neardup.compare(other, A)):
        assert [one.heads for one in differences_of(found.alignment, 9)] == heads
        assert [tuple(one["heads"]) for one in found.as_dict()["differences"]["changed"]] == heads


def test_plain_data_has_a_long_head_in_full() -> None:
    """A program compares it; a line for readers has its beginning."""
    long = "Amount due in euros without tax, freight and insurance"
    found = neardup.compare(A.replace("Amount", long), B.replace("Amount", long))
    assert found.as_dict()["differences"]["changed"][0]["heads"] == [long]
    [(beginning,), _] = [one.heads for one in differences_of(found.alignment, 9)]
    assert beginning.endswith("…")
    assert long.startswith(beginning[:-1])


def test_heads_in_the_list_are_escaped() -> None:
    page = neardup.compare(A.replace("Amount", "<b>&"), B.replace("Amount", "<b>&")).html()
    assert "</a> (&lt;b&gt;&amp;) <q" in page


def test_a_head_within_a_deletion_is_outside_of_it() -> None:
    page = neardup.compare(A, A.replace("Valve | 300.00\n", "")).html()
    assert '</del><span class="column"' in page.replace("\n", "")
    assert not re.search(r"<del>(?:(?!</del>).)*<span class=.column", page, re.DOTALL)


def test_heads_are_escaped() -> None:
    page = neardup.compare(A.replace("Amount", "<b>&"), B.replace("Amount", "<b>&")).html()
    assert "&lt;b&gt;&amp;: </span>" in page


@pytest.mark.parametrize(
    ("width", "line"), [(80, "(Item:) Valve | (Amount:) [-300.00-]"), (120, "(Item:) Valve | (Amount:)")]
)
def test_the_terminal_shows_heads_in_brackets(width: int, line: str) -> None:
    shown = neardup.compare(A, B).text(width=width)
    assert line in shown
    assert "(head:)" in shown
    assert "(Item:) Pump" not in shown  # an equal row
    assert "(head:)" not in neardup.compare("a | b", "a | c").text(width=width)
