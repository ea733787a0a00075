"""The table of parts that are named and not read has a row for each office format, and each row its samples."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest

from neardup.io.attachments import unread_of
from neardup.io.formats import read
from support.made_files import RELATION, WORD, docx, relations
from support.made_office import epub_of, odf, pptx_of, with_part, xlsx
from support.paths import DOCS

TABLE = (DOCS / "reference" / "formats.md").read_text(encoding="utf-8").partition("| part of an office file |")[2]
ROWS = dict(re.findall(r"^\| ([A-Z, ]+) \| ([^|]*) \|", TABLE.partition("\n\n")[0], re.MULTILINE))
PICTURE = '<x:docPr xmlns:x="x" descr="a crane"/>'


def kinds(data: bytes, name: str) -> set[str]:
    """The kinds that a document has beside its text, which is one word."""
    found = read(data, name)
    assert found.text.split()[-1] == "read"
    return {one.name for one in unread_of(found.attachments)}


def with_parts(data: bytes, folder: str, name: str, more: Mapping[str, str], known: Mapping[str, str]) -> bytes:
    """An Office file whose part has these relations, the known ones first; further parts have a byte each."""
    data = with_part(data, f"{folder}_rels/{name}.rels", relations({**known, **more}))
    for target in more:
        data = with_part(data, f"{folder}{target}", b"x")
    return data


MEDIA = {"a.png": "image", "b.wav": "audio", "c.bin": "oleObject"}


def word() -> set[str]:
    run = "<w:r><w:t>%s</w:t></w:r>"
    body = (
        f"<w:p>{run % 'read'}<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        f"<w:ruby><w:rt>{run % 'up'}</w:rt></w:ruby>"
        f"<w:r><w:rPr><w:vanish/></w:rPr><w:t>unseen</w:t></w:r>{PICTURE}</w:p>"
    )
    comments = f'<w:x {WORD} {RELATION}><w:comment w:author="Ann"><w:p>{run % "no"}</w:p></w:comment></w:x>'
    more = {**MEDIA, "d.html": "aFChunk", "e.xml": "control", "f.bin": "vbaProject"}
    data = docx(body, comments=comments)
    return kinds(with_parts(data, "word/", "document.xml", more, {"comments.xml": "comments"}), "a.docm")


def sheet() -> set[str]:
    row = '<row><c t="str"><f>A2</f><v>read</v></c></row>'
    data = xlsx(row, of_sheet={}, parts={"xl/sheets/drawing.xml": f"<x>{PICTURE}</x>"})
    more = {**MEDIA, "e.xml": "ctrlProp", "f.bin": "vbaProject"}
    return kinds(with_parts(data, "xl/sheets/", "a.xml", more, {"drawing.xml": "drawing"}), "a.xlsm")


def show() -> set[str]:
    data = with_parts(pptx_of("read", body=PICTURE), "ppt/slides/", "1.xml", {**MEDIA, "f.bin": "vbaProject"}, {})
    return kinds(data, "a.pptm")


FRAME = (
    '<draw:frame><draw:image xlink:href="Pictures/a.png"/><svg:desc>a crane</svg:desc></draw:frame>'
    '<draw:frame><draw:object-ole xlink:href="./Object 1"/></draw:frame>'
    '<draw:frame><draw:plugin xlink:href="Media/b.wav"/></draw:frame>'
)


def open_document(kind: str, body: str, name: str) -> set[str]:
    data = odf(kind, body)
    for part in ("Pictures/a.png", "Object 1", "Media/b.wav", "Basic/Standard/Module1.xml"):
        data = with_part(data, part, b"x")
    return kinds(data, name)


def open_text() -> set[str]:
    note = "<office:annotation><dc:creator>Ann</dc:creator><text:p>no</text:p></office:annotation>"
    changes = "<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion></text:tracked-changes>"
    hidden = '<text:section text:display="none"><text:p>unseen</text:p></text:section>'
    ruby = "<text:ruby><text:ruby-base>read</text:ruby-base><text:ruby-text>up</text:ruby-text></text:ruby>"
    return open_document("text", f"{changes}{hidden}<text:p>{FRAME}{ruby}{note}</text:p>", "a.odt")


def open_sheet() -> set[str]:
    changes = "<table:tracked-changes><text:p>gone</text:p></table:tracked-changes>"
    cell = f'<table:table-cell table:formula="of:=[.A2]"><text:p>read</text:p>{FRAME}</table:table-cell>'
    table = f"<table:table><table:table-row>{cell}</table:table-row></table:table>"
    return open_document("spreadsheet", changes + table, "a.ods")


def open_show() -> set[str]:
    page = f"<draw:page>{FRAME}<draw:frame><text:p>read</text:p></draw:frame></draw:page>"
    return open_document("presentation", page, "a.odp")


def rich_text() -> set[str]:
    marked = rb"{\deleted gone}{\v unseen}{\*\atnauthor Ann}{\*\annotation no}"
    return kinds(rb"{\rtf1 %b{\pict 00}{\object{\*\objdata 01}}read}" % marked, "a.rtf")


def book() -> set[str]:
    files = {"a.png": "image/png", "b.mp3": "audio/mpeg"}
    items = "".join(f'<item id="{name}" href="{name}" media-type="{kind}"/>' for name, kind in files.items())
    page = '<item id="0" href="0.xhtml" media-type="application/xhtml+xml"/>'
    package = f'<package><manifest>{page}{items}</manifest><spine><itemref idref="0"/></spine></package>'
    data = with_part(epub_of("read"), "book.opf", package)
    for name in files:
        data = with_part(data, name, b"x")
    return kinds(data, "a.epub")


SAMPLES: dict[str, list[Callable[[], set[str]]]] = {
    "DOCX": [word],
    "ODT": [open_text],
    "RTF": [rich_text],
    "XLSX": [sheet],
    "ODS": [open_sheet],
    "PPTX, ODP": [show, open_show],
    "EPUB": [book],
}


@pytest.mark.parametrize("format", SAMPLES)
def test_the_samples_of_a_row_have_its_kinds(format: str) -> None:
    for sample in SAMPLES[format]:
        assert sample() == set(re.findall("`([^`]+)`", ROWS[format]))


def test_each_row_has_a_sample() -> None:
    assert ROWS.keys() == SAMPLES.keys()
