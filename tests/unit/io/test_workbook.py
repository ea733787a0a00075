"""The cells of workbooks: values as they are stored, for each cell by itself."""

from __future__ import annotations

import io
import time
from datetime import date, datetime, timedelta
from datetime import time as clock
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.io.formats import extract
from neardup.io.formats.workbook import kind_of_code, moment
from support.made_files import relations
from support.made_office import SHEET, xlsx, xlsx_of

ITEMS = ["rope", "anchor", "lamp", "chain", "buoy"]


def text_of(data: bytes) -> str:
    return extract(data, "a.xlsx")


def test_a_row_is_a_line_and_an_empty_cell_counts() -> None:
    assert text_of(xlsx_of([["name", None, "sum"], ["crane", None, 40], [None, None, "far"]])) == (
        "Sheet\nname |  | sum\ncrane |  | 40\n |  | far"
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_the_shortest_text_that_is_the_same_number(value: float) -> None:
    text = text_of(xlsx_of([[value]])).splitlines()[1]
    assert float(text) == value
    assert len(text) <= max(len(repr(value)), 16)


def test_a_number_does_not_depend_on_the_others_of_its_column() -> None:
    prices: list[Any] = [10.5, 11.5, 12.5, 13.5, 1234567890.5]
    whole = text_of(xlsx_of([[item, price, 100] for item, price in zip(ITEMS, prices, strict=True)])).splitlines()
    for place in range(5):
        for other, written in ((13.125, "13.125"), (None, None), (0.1 + 0.2, "0.30000000000000004"), (7, "7")):
            rows: list[list[Any]] = [[item, price, 100] for item, price in zip(ITEMS, prices, strict=True)]
            rows[place][1] = other
            changed = text_of(xlsx_of(rows)).splitlines()
            assert [k for k in range(6) if changed[k] != whole[k]] == [place + 1]
            assert changed[place + 1] == f"{ITEMS[place]} | {written or ''} | 100"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("<c><v>0.10000000000000001</v></c>", "0.1"),
        ("<c><v>1E3</v></c>", "1000"),
        ("<c><v>-0.5</v></c>", "-0.5"),
        ("<c><v>12345678901234567890</v></c>", "12345678901234567890"),
        ('<c t="b"><v>1</v></c>', "TRUE"),
        ('<c t="e"><v>#DIV/0!</v></c>', "#DIV/0!"),
        ("<c><f>1+1</f><v>2</v></c>", "2"),
        ('<c t="str"><f>A1&amp;"x"</f><v>yx</v></c>', "yx"),
        ('<c t="str"><f>""</f><v></v></c>', ""),
        ("<c><f>SUM(A1:A9)</f><v></v></c>", "=SUM(A1:A9)"),
        ("<c><f>SUM(A1:A9)</f></c>", "=SUM(A1:A9)"),
        ('<c t="inlineStr"><is><r><t>two </t></r><r><t>runs</t></r></is></c>', "two runs"),
        ('<c t="inlineStr"><is><t>a_x000D_b _x005F_x0041_</t></is></c>', "a b _x0041_"),
        ('<c t="d"><v>2024-05-01T10:00:00</v></c>', "2024-05-01T10:00:00"),
        ('<c t="s"><v>9</v></c>', ""),
        ('<c s="x"><v>no number</v></c>', "no number"),
        ('<c s="1"/>', ""),
    ],
)
def test_each_kind_of_cell(cell: str, text: str) -> None:
    assert text_of(xlsx(f'<row><c t="inlineStr"><is><t>x</t></is></c></row><row>{cell}</row>')) == (
        f"Sheet\nx\n{text}".strip()
    )


def test_dates_times_and_spans_of_openpyxl() -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    values = {
        date(2024, 5, 1): "2024-05-01",
        datetime(2024, 5, 1): "2024-05-01",
        datetime(2024, 5, 1, 18, 30): "2024-05-01T18:30:00",
        datetime(1900, 1, 1): "1900-01-01",
        clock(18, 30, 5): "18:30:05",
        timedelta(hours=37, minutes=5): "37:05:00",
    }
    for epoch in (None, openpyxl.utils.datetime.CALENDAR_MAC_1904):
        book = openpyxl.Workbook()
        if epoch:
            book.epoch = epoch
        shown = {value: text for value, text in values.items() if not epoch or value != datetime(1900, 1, 1)}
        for value in shown:
            book.active.append(["x", value])
        data = io.BytesIO()
        book.save(data)
        assert [line.partition(" | ")[2] for line in text_of(data.getvalue()).splitlines()[1:]] == [
            *shown.values()
        ]


def test_the_calendar_of_1900() -> None:
    days = [moment(float(day), "d", False) for day in (0, 1, 59, 60, 61, 2_958_465)]
    assert days == ["1900-01-00", "1900-01-01", "1900-02-28", "1900-02-29", "1900-03-01", "9999-12-31"]
    assert moment(0.0, "d", True) == "1904-01-01"
    assert moment(-1.0, "d", False) is None
    assert moment(3e6, "d", False) is None
    assert moment(45413.5000001, "dt", False) == "2024-05-01T12:00:00.009"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("General", ""),
        ("0.00E+00", ""),
        ('#,##0.00 "EUR"', ""),
        ('0 "days"', ""),
        ("[Red]-0.00", ""),
        ("[$-407]d. mmmm yyyy", "d"),
        ('yyyy"year"m"month"', "d"),
        ("mmm", "d"),
        ("mm:ss", "t"),
        ("h:mm AM/PM", "t"),
        ("dd/mm/yyyy hh:mm", "dt"),
        ("[hh]:mm:ss", "s"),
        (r"\d0", ""),
        ("_d0_d", ""),
    ],
)
def test_a_format_is_one_of_dates_if_it_shows_them(code: str, kind: str) -> None:
    assert kind_of_code(code) == kind


def test_a_workbook_without_content_has_no_text() -> None:
    assert text_of(xlsx_of([], name="A sheet")) == ""
    assert text_of(xlsx('<row r="1"><c r="A1" s="1"/></row>', name="A sheet")) == ""
    assert text_of(xlsx_of([["x"]], name="A sheet")) == "A sheet\nx"


def test_hidden_sheets_comments_text_boxes_and_prints_are_read_and_named() -> None:
    """A workbook of XlsxWriter."""
    xlsxwriter = pytest.importorskip("xlsxwriter", reason="xlsxwriter is not installed")
    data = io.BytesIO()
    with xlsxwriter.Workbook(data) as book:
        first, second = book.add_worksheet("Stock"), book.add_worksheet("Old")
        book.add_worksheet("Empty")
        first.write_row(0, 0, ["rope", 10.5])
        first.write_comment("B1", "too dear", {"author": "Ann"})
        first.insert_textbox("D4", "mind the step")
        first.set_header('&L&"Arial,Bold"Draft &K00FF00one&RPage &P of &N')
        chart = book.add_chart({"type": "line"})
        chart.set_title({"name": "Prices"})
        chart.add_series({"values": "=Stock!$B$1:$B$2"})
        first.insert_chart("F6", chart)
        second.write("A1", "anchor")
        second.hide()
    lines = [" ".join(line.split()) for line in text_of(data.getvalue()).splitlines() if line.strip()]
    assert lines == [
        *("Stock", "rope | 10.5", "Comment on B1, Ann: too dear", "Prices", "mind the step", "Draft one Page of"),
        *("Old (hidden)", "anchor", "Empty"),
    ]


def test_comments_in_threads() -> None:
    space = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
    comment = '<threadedComment ref="B2" personId="p"><text>why?</text></threadedComment>'
    thread = f'<ThreadedComments xmlns="{space}">{comment}</ThreadedComments>'
    people = f'<personList xmlns="{space}"><person id="p" displayName="Ann"/></personList>'
    comment = '<comment ref="B2" authorId="0"><text><t>[Threaded comment]</t></text></comment>'
    old = f"<comments {SHEET}><authors><author>tc=1</author></authors>{comment}</comments>"
    made = xlsx(
        "<row><c><v>7</v></c></row>",
        of_sheet={"../thread.xml": "threadedComment", "../old.xml": "comments"},
        of_book={"people.xml": "person"},
        parts={"xl/thread.xml": thread, "xl/old.xml": old, "xl/people.xml": people},
    )
    assert text_of(made) == "Sheet\n7\nComment on B2, Ann: why?"


def test_texts_of_drawings_in_groups_and_diagrams() -> None:
    spaces = (
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
        'xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    )
    paragraph = "<a:p><a:r><a:t>%s</a:t></a:r></a:p>"
    made = xlsx(
        "",
        of_sheet={"../drawing.xml": "drawing"},
        parts={
            "xl/drawing.xml": f'<x {spaces}><g><g>{paragraph % "grouped"}</g></g><d:relIds r:dm="r1"/></x>',
            "xl/_rels/drawing.xml.rels": relations({"data.xml": "diagramData"}),
            "xl/data.xml": f"<x {spaces}>{paragraph % 'drawn'}</x>",
        },
    )
    assert text_of(made) == "Sheet\ngrouped\ndrawn"


def test_millions_of_empty_cells_and_far_cells_take_no_room() -> None:
    begin = time.process_time()
    cells = '<c s="1"/>' * 100
    empty = "".join(f'<row r="{row}">{cells}</row>' for row in range(1, 3001))
    far = '<row r="1048576"><c r="XFD1048576"><v>7</v></c></row>'
    dimension = '<dimension ref="A1:XFD1048576"/>'
    text = text_of(xlsx(empty + far, after=dimension))
    assert text.endswith("| 7")
    assert text.count("|") == 16_383
    assert time.process_time() - begin < 10
