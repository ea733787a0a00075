"""Tables in files of every format: the cells of a row are one line below their heads, with the same words."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import InputError
from neardup.io.formats import extract, tables
from neardup.text.units import words
from support.made_files import docx
from support.made_office import odf, xlsx

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


Cells = list[list[str]]


def as_html(rows: Cells, heads: bool) -> bytes:
    tag = ["th" if heads and not number else "td" for number in range(len(rows))]
    lines = ("".join(f"<{tag[n]}><p>{escape(cell)}" for cell in row) for n, row in enumerate(rows))
    return f"<p>above<table><tr>{'<tr>'.join(lines)}</table><p>below".encode()


def as_docx(rows: Cells, heads: bool) -> bytes:
    def paragraph(text: str) -> str:
        return f'<w:p><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'

    made = ""
    for number, row in enumerate(rows):
        properties = "<w:trPr><w:tblHeader/></w:trPr>" if heads and not number else ""
        cells = "".join(f"<w:tc><w:tcPr/>{paragraph(cell)}</w:tc>" for cell in row)
        made += f"<w:tr>{properties}{cells}</w:tr>"
    return docx(f"{paragraph('above')}<w:tbl>{made}</w:tbl>{paragraph('below')}")


def as_odt(rows: Cells, heads: bool) -> bytes:
    made = [
        "<table:table-row>"
        + "".join(f"<table:table-cell><text:p>{escape(cell)}</text:p></table:table-cell>" for cell in row)
        + "</table:table-row>"
        for row in rows
    ]
    made[:1] = [f"<table:table-header-rows>{made[0]}</table:table-header-rows>"] if heads else made[:1]
    table = f"<table:table>{''.join(made)}</table:table>"
    return odf("text", f"<text:p>above</text:p>{table}<text:p>below</text:p>")


def as_rtf(rows: Cells, heads: bool) -> bytes:
    made = ""
    for number, row in enumerate(rows):
        cells = "".join("\\intbl " + re.sub(r"([\\{}])", r"\\\1", cell) + "\\cell " for cell in row)
        made += "\\trowd" + "\\trhdr" * (heads and not number) + cells + "\\row "
    return f"{{\\rtf1 above\\par {made}\\pard below}}".encode()


FORMATS: dict[str, Callable[[Cells, bool], bytes]] = {
    "html": as_html,
    "docx": as_docx,
    "odt": as_odt,
    "rtf": as_rtf,
}
WORDS = st.lists(st.text("ab1,.|-", min_size=1, max_size=4), max_size=3).map(" ".join)
ROWS = st.integers(2, 4).flatmap(
    lambda size: st.lists(st.lists(WORDS, min_size=size, max_size=size), min_size=1, max_size=4)
)


@given(ROWS, st.booleans())
def test_all_formats_give_the_same_lines_of_the_same_table(rows: Cells, heads: bool) -> None:
    rows = [["first", "row"], *rows] if heads else rows
    texts = {form: extract(made(rows, heads), f"a.{form}") for form, made in FORMATS.items()}
    assert len({tuple(filter(None, text.split("\n"))) for text in texts.values()}) == 1, texts
    # naively: the words of the cells in order, and a row of several cells on a line
    assert hashes(texts["docx"]) == hashes("\n".join(["above", *(cell for row in rows for cell in row), "below"]))
    lines = list(filter(None, texts["docx"].split("\n")))
    filled = [row for row in rows if any(row)]
    assert len(lines) == 2 + len(filled) + (heads and len(filled) > 1)


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_with_heads_ends_with_an_empty_line(form: str) -> None:
    text = extract(FORMATS[form]([["Item", "Amount"], ["Pump", "1,200"]], True), f"a.{form}")
    assert re.sub("\n+", "\n", text) == "above\nItem | Amount\n--- | ---\nPump | 1,200\nbelow"
    assert "1,200\n\nbelow" in text
    text = extract(FORMATS[form]([["Item", "Amount"], ["Pump", "1,200"]], False), f"a.{form}")
    assert re.sub("\n+", "\n", text) == "above\nItem | Amount\nPump | 1,200\nbelow"


def test_cells_of_word_that_are_merged_nested_or_indented() -> None:
    def cell(text: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{text}</w:tc>"

    a, b, c, d = (f"<w:p><w:r><w:t>{letter}</w:t></w:r></w:p>" for letter in "abcd")
    head = f"<w:tr><w:trPr><w:tblHeader/></w:trPr>{cell(a)}{cell(b)}{cell(c)}</w:tr>"
    nested = f"<w:tbl><w:tr>{cell(a)}{cell(b)}</w:tr></w:tbl>"
    spanning = cell(a, '<w:gridSpan w:val="2"/>')
    rows = {
        f"<w:tr>{spanning}{cell(b + c)}</w:tr>": "a |  | b c",
        f'<w:tr><w:trPr><w:gridBefore w:val="2"/></w:trPr>{cell(d)}</w:tr>': " |  | d",
        f"<w:tr>{cell(d)}{cell(nested)}</w:tr>": "d | a b",
        f"<w:tr>{cell('<w:p/>')}{cell(d)}</w:tr>": " | d",
    }
    for row, line in rows.items():
        below = "a | b | c\n--- | --- | ---\n" + line
        assert extract(docx(f"<w:tbl>{head}{row}</w:tbl>"), "a.docx") == below
    assert extract(docx(f"<w:tbl><w:tr>{cell(d)}{cell(nested)}</w:tr></w:tbl>"), "a.docx") == "d\na | b"
    off = head.replace("tblHeader", 'tblHeader w:val="0"')
    assert extract(docx(f"<w:tbl>{off}<w:tr>{cell(d)}{cell(d)}</w:tr></w:tbl>"), "a.docx") == "a | b | c\nd | d"


def test_cells_of_opendocument_that_are_merged_nested_or_repeated() -> None:
    def cell(text: str, more: str = "") -> str:
        return f"<table:table-cell{more}>{text}</table:table-cell>"

    a, b = "<text:p>a</text:p>", "<text:p>b</text:p>"
    row = "<table:table-row%s>%s</table:table-row>"
    head = f"<table:table-header-rows>{row % ('', cell(a) + cell(b))}</table:table-header-rows>"
    nested = f"<table:table>{head}{row % ('', cell(a) + cell(b))}</table:table>"
    for rows, text in {
        row % ("", cell(a) + cell(nested)): "a\na | b\n--- | ---\na | b",
        head + row % ("", cell(a) + cell(nested)): "a | b\n--- | ---\na | a b a b",
        head + row % (' table:number-rows-repeated="2"', cell(a) + cell(b)): "a | b\n--- | ---\na | b\na | b",
        row % ("", cell("") + cell(a, ' table:number-columns-repeated="2"')): " | a | a",
    }.items():
        assert extract(odf("text", f"<table:table>{rows}</table:table>"), "a.odt") == text.strip()


TEXT, NUMBER = '<c t="inlineStr"><is><t>%s</t></is></c>', "<c><v>%s</v></c>"


@pytest.mark.parametrize(
    ("rows", "heads"),
    [
        (["ab", "c1"], True),
        (["x", "ab", "c1"], True),  # below a title
        (["ab", "cd", "e1"], False),  # two rows of texts
        (["aa", "c1"], False),  # equal texts
        (["a1", "b2"], False),
        (["ab", "1"], True),
        (["a", "1"], False),  # one column
    ],
)
def test_the_first_texts_of_a_sheet_are_heads_above_numbers(rows: list[str], heads: bool) -> None:
    made = ("".join((NUMBER if cell.isdecimal() else TEXT) % cell for cell in row) for row in rows)
    text = extract(xlsx("".join(f"<row>{row}</row>" for row in made)), "a.xlsx")
    lines = [" | ".join(row) for row in rows]
    mark = ["--- | ---"] if heads else []
    assert text.split("\n") == ["Sheet", *lines[:-1], *mark, lines[-1]]
    cells = (
        "".join(
            f'<table:table-cell office:value-type="float" office:value="{cell}"/>'
            if cell.isdecimal()
            else f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>'
            for cell in row
        )
        for row in rows
    )
    sheet = "".join(f"<table:table-row>{row}</table:table-row>" for row in cells)
    assert extract(odf("spreadsheet", f'<table:table table:name="Sheet">{sheet}</table:table>'), "a.ods") == text


@pytest.mark.parametrize("gap", ['<row r="3"/><row r="4">', '<row r="4">'])
def test_an_empty_row_of_a_sheet_ends_its_heads(gap: str) -> None:
    first = f'<row r="1">{TEXT % "Item"}{TEXT % "Sold"}</row><row r="2">{TEXT % "Pump"}{NUMBER % 7}</row>'
    text = extract(xlsx(f"{first}{gap}{TEXT % 'a'}{TEXT % 'b'}</row>"), "a.xlsx")
    assert text == "Sheet\nItem | Sold\n--- | ---\nPump | 7\n\na | b"
