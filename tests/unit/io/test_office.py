"""Presentations, e-books and the main content of pages, and what all packages have in common."""

from __future__ import annotations

import io
import re
import socket
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from neardup.errors import InputError
from neardup.io.formats import SUFFIXES, content, extract, packages, read
from neardup.io.formats.extractor import Extractor
from neardup.io.readers import choose_columns, open_documents, read_document
from neardup.settings import ReadingSettings
from support.made_files import docx_of, msg_of, zip_of
from support.made_office import epub_of, pptx_of, with_part, xlsx_of

_DOCTYPE = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'
STRICT = r"http://purl.oclc.org/ooxml/\1/"
MAKERS: dict[str, Any] = {
    "docx": docx_of,
    "pptx": pptx_of,
    "xlsx": lambda text: xlsx_of([[text]]),
    "epub": epub_of,
}

PAGE = (
    b"<html><head><title>The harbour</title></head><body><nav>home about contact</nav><article><h1>Cranes</h1>"
    b"<p>The crane of the harbour was repaired in the spring, and it lifts forty tons since then. The board "
    b"thanked all who had helped, and asked for a report on the northern pier before the summer.</p></article>"
    b"<footer>imprint privacy</footer></body></html>"
)


def test_the_main_content_of_a_page() -> None:
    pytest.importorskip("trafilatura", reason="needs the extra web")
    everything, main = read(PAGE, "a.html"), read(PAGE, "a.html", "main")
    assert "imprint" in everything.text
    assert main.text.startswith("Cranes\nThe crane of the harbour")
    assert "imprint" not in main.text
    assert main.metadata == everything.metadata == {"title": "The harbour"}
    assert read(b"", "a.html", "main").text == ""
    assert read(b"<p>", "a.html", "main").text == ""


def test_the_setting_reaches_the_process_that_reads(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura", reason="needs the extra web")
    (tmp_path / "a.html").write_bytes(PAGE)
    documents = open_documents(tmp_path, reading=ReadingSettings(pages="main"))
    choose_columns(documents, None, None)
    (chunk,) = documents.chunks()
    assert b"imprint" not in chunk.read(["text"]).table["text"][0].as_py()
    assert "imprint" in read_document(tmp_path / "a.html")


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.pptx", b"words", "not a PPTX file"),
        ("a.xlsx", msg_of("x"), "protected by a password, or an old .xls file"),
        ("a.xlsx", zip_of({"x": "y"}), "not an XLSX file, or is damaged"),
        ("a.epub", zip_of({"x": "y"}), "not an EPUB file, or is damaged"),
        ("a.pptx", pptx_of("x")[:1000], "damaged"),
        ("a.pptx", with_part(pptx_of("x"), "ppt/presentation.xml", _DOCTYPE), "declares a document type"),
        ("a.xlsx", with_part(xlsx_of([["x"]]), "xl/workbook.xml", _DOCTYPE.encode("utf-16")), "document type"),
        ("a.epub", with_part(epub_of("x"), "book.opf", _DOCTYPE), "document type"),
        ("a.epub", with_part(epub_of("x"), "0.xhtml", None), "damaged"),
    ],
)
def test_wrong_and_hostile_bytes(name: str, data: bytes, told: str) -> None:
    with pytest.raises(InputError, match=told):
        extract(data, name)


@pytest.mark.parametrize("format", MAKERS)
def test_bombs_are_refused_before_they_are_unpacked(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = with_part(MAKERS[format]("x"), "media/image.bin", bytes(3 << 20))
    assert content.UNPACKED_BYTES > 3 << 20
    monkeypatch.setattr(content, "UNPACKED_BYTES", 2 << 20)
    with pytest.raises(InputError):
        extract(bomb, f"a.{format}")


@pytest.mark.parametrize("format", MAKERS)
def test_a_part_that_lies_about_its_size_is_refused(format: str) -> None:
    """zipfile reads no further than the directory claims, and then compares the checksum."""
    data = bytearray(with_part(MAKERS[format]("x"), "other.xml", b"<a>" + b" " * 10_000 + b"</a>"))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        whole = archive.getinfo("other.xml").file_size
    place = data.rindex(b"other.xml") - 22  # the unpacked size in the directory (APPNOTE.TXT, 4.3.12)
    assert data[place : place + 4] == whole.to_bytes(4, "little")
    data[place : place + 4] = (10).to_bytes(4, "little")
    assert "x" in extract(bytes(data), f"a.{format}")  # not a part of the document


def test_the_twins_of_each_format_are_read_alike() -> None:
    for suffix, format in SUFFIXES.items():
        if format in MAKERS:
            assert extract(MAKERS[format]("one harbour"), f"a{suffix}") == extract(
                MAKERS[format]("one harbour"), f"a.{format}"
            )
    twins = {suffix for suffix, format in SUFFIXES.items() if format in MAKERS and suffix != f".{format}"}
    assert {".docm", ".dotx", ".dotm", ".xlsm", ".xltx", ".xltm", ".pptm", ".ppsx", ".potx"} <= twins


@pytest.mark.parametrize("format", ["docx", "pptx", "xlsx"])
def test_strict_files_are_read_alike(format: str) -> None:
    data, changed = MAKERS[format]("one harbour"), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            part = old.read(name).decode()
            # the package's own relations have one namespace
            new.writestr(name, re.sub(r"http://schemas.openxmlformats.org/(\w+ml|office\w+)/2006/", STRICT, part))
    assert changed.getvalue() != data
    assert extract(changed.getvalue(), f"a.{format}") == extract(data, f"a.{format}")


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    link = "<img src='http://example.org/a.png'/><link rel='stylesheet' href='http://example.org/a.css'/>"
    assert "text" in extract(epub_of(f"text {link}"), "a.epub")
    assert "text" in extract(pptx_of("text", linked="http://example.org/a.png"), "a.pptx")


def test_without_the_extra_for_main_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(InputError):
        extract(PAGE, "a.html", "main")


@pytest.mark.parametrize("format", MAKERS)
def test_office_files_are_read_in_the_separate_process_without_any_library(format: str) -> None:
    with Extractor() as extractor:
        assert "first point" in extractor.extract(MAKERS[format]("first point"), f"a.{format}")
    assert not {"openpyxl", "python-pptx"} & packages().keys()


def test_slides_in_order_with_tables_groups_and_notes() -> None:
    """A presentation of python-pptx."""
    pptx = pytest.importorskip("pptx", reason="python-pptx is not installed")
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    made = pptx.Presentation()
    first, second, third = (made.slides.add_slide(made.slide_layouts[5]) for _ in range(3))
    first.shapes.title.text = "A plan"
    table = first.shapes.add_table(2, 3, 0, 0, 9000, 9000).table
    for place, text in {(0, 0): "shed", (0, 2): "area", (1, 0): "north\nhall"}.items():
        table.cell(*place).text = text
    group = first.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 9000, 9000).text_frame.text = "in a group"
    first.notes_slide.notes_text_frame.text = "said aloud"
    chart = CategoryChartData()
    chart.categories = ["007", "2019"]
    chart.add_series("Ships", (13.125, 100.0))
    second.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 9000, 9000, chart)
    third.shapes.title.text = "Secret"
    third._element.set("show", "0")
    made.core_properties.title = "The harbour"
    data = io.BytesIO()
    made.save(data)
    slides = read(data.getvalue(), "a.pptx")
    plan = ("A plan", "shed |  | area", "north hall |  |", "in a group", "Notes: said aloud")
    shown = ["\n".join(plan), "Ships\n007\n2019\n13.125\n100", "(hidden slide)\nSecret"]
    assert slides.text.split("\n\n") == shown
    assert slides.metadata["title"] == "The harbour"


def test_comments_and_the_text_of_masters() -> None:
    body = "<p:txBody><a:p><a:r><a:t>%s</a:t></a:r></a:p></p:txBody>"
    place = f'<p:sp><p:nvPr><p:ph type="title"/></p:nvPr>{body % "Click"}</p:sp>'
    made = pptx_of("first", comment="7", layout=f"{place}<p:sp>{body % 'Harbour board'}</p:sp>")
    assert extract(made, "a.pptx") == "first\nComment, Ann: 7\n\nHarbour board"


def test_comments_in_threads_come_before_their_replies() -> None:
    spaces = (
        'xmlns:c="http://schemas.microsoft.com/office/powerpoint/2018/8/main" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    )
    words = "<c:txBody><a:p><a:r><a:t>%s</a:t></a:r></a:p><a:p><a:r><a:t>now</a:t></a:r></a:p></c:txBody>"
    replies = f'<c:replyLst><c:reply authorId="u2">{words % "no"}</c:reply></c:replyLst>'
    thread = f'<c:cmLst {spaces}><c:cm authorId="u1">{replies}{words % "pay"}</c:cm></c:cmLst>'
    people = f'<c:authorLst {spaces}><c:author id="u1" name="Ann"/><c:author id="u2" name="Bob"/></c:authorLst>'
    made = with_part(with_part(pptx_of("7", comment="x"), "ppt/comments.xml", thread), "ppt/authors.xml", people)
    assert extract(made, "a.pptx").split("\n") == ["7", "Comment, Ann: pay", "now", "Comment, Bob: no", "now"]


def test_numbers_of_slides_are_no_text() -> None:
    field = '<a:p><a:fld type="slidenum"><a:t>7</a:t></a:fld><a:r><a:t> of the harbour</a:t></a:r></a:p>'
    assert extract(pptx_of("first", body=field), "a.pptx") == "first\n of the harbour"


def test_pages_of_a_book_in_reading_order_with_their_notes() -> None:
    note = '<aside epub:type="footnote">a note</aside>'
    book = read(epub_of("chapter one", f"chapter two {note}", order=(1, 0)), "a.epub")
    assert book.text.split() == ["chapter", "two", "a", "note", "chapter", "one"]
    assert book.metadata == {"title": "A book"}


def test_a_book_with_encrypted_pages_is_refused() -> None:
    locked = (
        '<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:CipherData>'
        '<enc:CipherReference URI="%s"/></enc:CipherData></enc:EncryptedData></encryption>'
    )
    with pytest.raises(InputError, match="encrypted"):
        extract(with_part(epub_of("x"), "META-INF/encryption.xml", locked % "0.xhtml"), "a.epub")
    assert extract(with_part(epub_of("x"), "META-INF/encryption.xml", locked % "font.otf"), "a.epub") == "x"


def test_a_book_without_namespaces_is_read() -> None:
    item = '<item id="a" href="0.xhtml" media-type="text/html"/>'
    plain = f'<package><manifest>{item}</manifest><spine><itemref idref="a"/></spine></package>'
    assert extract(with_part(epub_of("old"), "book.opf", plain), "a.epub") == "old"
