"""Tables in files of every format: the cells of a row are one line below their heads, with the same words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import InputError
from neardup.io.formats import extract, tables
from neardup.text.units import words

MARKS = re.compile(r"(?m)^---(?: \| ---)+$")


def page(markup: str) -> str:
    return extract(markup.encode(), "a.html")


def hashes(text: str) -> list[int]:
    """The tokens of a text."""
    listed: list[int] = words(text).hashes.tolist()
    return listed


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<table><tr><th>Item<th>Amount<tr><td>Pump<td>1,200", "Item | Amount\n--- | ---\nPump | 1,200"),
        ("<table><thead><tr><td>a<td>b</thead>\n<tr>\n<td>c\n<td>d", "a | b\n--- | ---\nc | d"),
        ("<table><thead><tr><td>a<td>b<tr><td>c<td>d<tbody><tr><td>e<td>f", "a | b\nc | d\n--- | ---\ne | f"),
        ("<table><tr><td>a<td>b<tr><th>c<th>d<tr><td>e<td>f", "a | b\nc | d\ne | f"),  # heads are above
        ("<table><tr><th>a<td>b<tr><th>c<td>d", "a | b\nc | d"),  # heads of rows
        ("<table><tr><th>a<th>b</table>c", "a | b\nc"),  # no row below
        ("<table><tr><th>a<tr><td>b", "a\nb"),  # one column
        ("<table><tr><th>a<th>b<tr><td>c<td>d</table>e|f", "a | b\n--- | ---\nc | d\n\ne|f"),
        ("<table><tr><td>one\n two<td><p>three<p>four", "one two | three four"),
        ("<table><tr><td>a<td> <td>b<td>", "a |  | b"),
        ("<table><tr><td>a|b<td>c", r"a\|b | c"),
        ("<table><tr><td> <td>alone<p>here", "alone\nhere"),  # a cell alone has its lines
        ("<table><tr><th>a<th>b<tr><td><td>alone<p>here", "a | b\n--- | ---\n | alone here"),
        ("<table><tr><td>a<td><ul><li>b<li>c</ul>", "a\nb\nc"),
        ("<table><tr><td>a<td><table><tr><td>b<td>c</table></table>", "a\nb | c"),
        (
            "<table><tr><th>a<th>b<tr><td>c<td><table><tr><th>d<th>e<tr><td>f<td>g</table></table>h",
            "a | b\n--- | ---\nc | d e f g\n\nh",
        ),
        ("<table><tr><th>a<th>b<th>c<tr><td colspan=2>d<td>e", "a | b | c\n--- | --- | ---\nd |  | e"),
        (
            "<table><tr><th>a<th>b<th>c<tr><td>d<td rowspan=2>e<td>f<tr><td>g<td>h<tr><td>i<td>j<td>k",
            "a | b | c\n--- | --- | ---\nd | e | f\ng |  | h\ni | j | k",
        ),
        ("<table><tr><td rowspan=2>a<td>b<tr><td>c<td>d", "a | b\n | c | d"),
        ("<table><caption>a <b>b</b> <i>c</i></caption><tr><td>d<td>e", "a b c\nd | e"),
        ("<tr><td>a<td>b", "a\nb"),  # no table
        ("</table><table></tr><td>a<td>b</table></table>c", "a | b\nc"),
        ("<table><tr><td>a<select><option>b<td>c", "a | bc"),
    ],
)
def test_the_cells_of_a_row_are_one_line(markup: str, text: str) -> None:
    lines = [line for line in page(markup).split("\n") if line]
    assert lines == [line for line in text.split("\n") if line]
    if "\n\n" in text:
        assert "\n\n" in page(markup)  # the end of the table


def test_long_rows_without_heads_keep_their_lines() -> None:
    long = "word " * (tables.ROW_CHARACTERS // 5)
    assert page(f"<table><tr><td>{long}<td>b").split("\n")[-1] == "b"
    assert page(f"<table><tr><td>{long[6:]}<td>b").endswith("word  | b".replace("  ", " "))
    assert page(f"<table><tr><th>a<th>b<tr><td>{long}<td>b").endswith("word | b")


TAGS = ["table", "/table", "tr", "/tr", "td", "/td", "th", "/th", "thead", "/thead", "tbody", "caption", "p", "/p"]
TAGS += [
    "ul",
    "/ul",
    "b",
    "/b",
    "br",
    "td rowspan=3",
    "td colspan=2",
    "th rowspan=2 colspan=2",
    "select",
    "/select",
]
PIECES = st.one_of(
    st.sampled_from(TAGS).map(lambda tag: f"<{tag}>"),
    st.sampled_from(["one", "1,200.50", " ", "\n", "a|b", "|", "-", "don't", "x.", "\xa0", "naïve"]),
)


@given(st.lists(PIECES, max_size=60).map("".join))
def test_tables_have_the_words_of_the_page_without_tables(markup: str) -> None:
    without = re.sub(r"<(/?)(?:table|tr|td|th|thead|tbody|caption)\b[^>]*>", r"<\1div>", markup)
    assert hashes(page(markup)) == hashes(page(without))
    assert not MARKS.search(page(without))


@given(st.lists(st.lists(st.text("ab|1 -\n\\", max_size=5), min_size=2, max_size=4), min_size=2, max_size=5))
def test_cells_are_read_back_from_the_lines(rows: list[list[str]]) -> None:
    heads = [f"h{column}" for column in range(4)]
    markup = "".join(f"<tr>{''.join(f'<td>{cell}' for cell in row)}" for row in rows)
    lines = page(f"<p>x<table><tr>{''.join(f'<th>{head}' for head in heads)}{markup}").split("\n")
    filled = [[" ".join(cell.split()) for cell in row] for row in rows if "".join(row).split()]
    if not filled:
        return
    assert lines[:3] == ["x", " | ".join(heads), "--- | --- | --- | ---"]
    for line, row in zip(lines[3:], filled, strict=True):
        cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)]
        assert cells + [""] * (len(row) - len(cells)) == row


@pytest.mark.parametrize(
    "markup",
    [
        "<table><tr>" + "<td>x" * 50_000,
        "<table><tr><td>" * 20_000 + "x " * 20_000,
        "<table><tr><th>a<th>b<tr><td>" * 5_000 + "x " * 20_000,
        "<table>" + "<tr><td rowspan=65534 colspan=1000>x<td>y" * 2_000,
        "<table><tr>" + "<td rowspan=65534>" * 200 + "<tr><td rowspan=9>" * 10_000,
        "<td>" * 50_000 + "</table>" * 50_000,
    ],
    ids=["cells", "nested", "nested heads", "spans", "covered", "no table"],
)
def test_hostile_tables_have_their_words(markup: str) -> None:
    # bounded work, which a limit of characters or the linear reading ends
    assert len(hashes(page(markup))) == len(hashes(re.sub("<[^>]*>", "\n", markup)))


def test_spans_do_not_make_a_text_too_long() -> None:
    made = tables.TableRows()
    row = [tables.TableCell("", columns=1000), tables.TableCell("x"), tables.TableCell("y")]
    assert (made.line(row) or "").count("|") == tables.MOST_SPANNED + 1
    long = [tables.TableCell("x" * 16_000_000, is_head=True)] * 2
    assert made.line(long) is None  # heads are above
    made = tables.TableRows()
    made.line(long)
    with pytest.raises(InputError) as refused:
        made.line(long)
    assert refused.value.given == tables.contents.long_error().given
