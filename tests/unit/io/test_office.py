"""Presentations, spreadsheets, e-books and the main content of pages: whole, hostile, and without the extra."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from neardup.errors import InputError
from neardup.io.formats import content, extract, packages, read
from neardup.io.formats.extractor import Extractor
from neardup.io.readers import choose_columns, open_documents, read_document
from neardup.settings import ReadingSettings
from support.made_files import docx_of, msg_of, zip_of

openpyxl = pytest.importorskip("openpyxl", reason="needs the extra office")
pptx = pytest.importorskip("pptx", reason="needs the extra office")

_DOCTYPE = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'


def pptx_of(*lines: str) -> bytes:
    made = pptx.Presentation()
    for line in lines:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = "A plan", line
        slide.notes_slide.notes_text_frame.text = "said aloud"
    made.core_properties.title = "The harbour"
    data = io.BytesIO()
    made.save(data)
    return data.getvalue()


def xlsx_of(*rows: list[Any]) -> bytes:
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    data = io.BytesIO()
    made.save(data)
    return data.getvalue()


def epub_of(*chapters: str) -> bytes:
    names = [f"{number}.xhtml" for number in range(len(chapters))]
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in names)
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    book = f"<package><metadata><dc:title>A book</dc:title></metadata><manifest>{items}</manifest>"
    place = "<container><rootfiles><rootfile full-path='book.opf'/></rootfiles></container>"
    pages = {
        name: f"<!DOCTYPE html><html><body><p>{text}</p></body></html>"
        for name, text in zip(names, chapters, strict=True)
    }
    return zip_of(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": place,
            "book.opf": f"{book}<spine>{spine}</spine></package>".replace("<metadata>", '<metadata xmlns:dc="d">'),
            **pages,
        }
    )


def with_part(data: bytes, name: str, content: str | bytes) -> bytes:
    """An office file with one part exchanged."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            if info.filename != name:
                new.writestr(info.filename, old.read(info))
        new.writestr(name, content)
    return made.getvalue()


PAGE = (
    b"<html><head><title>The harbour</title></head><body><nav>home about contact</nav><article><h1>Cranes</h1>"
    b"<p>The crane of the harbour was repaired in the spring, and it lifts forty tons since then. The board "
    b"thanked all who had helped, and asked for a report on the northern pier before the summer.</p></article>"
    b"<footer>imprint privacy</footer></body></html>"
)


def test_texts_and_metadata() -> None:
    slides = read(pptx_of("first point", "second point"), "a.pptx")
    words = "# A plan {} point ### Notes: said aloud"
    assert slides.text.split() == f"{words.format('first')} {words.format('second')}".split()
    assert slides.metadata["title"] == "The harbour"
    sheet = extract(xlsx_of(["name", None, "sum"], ["crane", None, 40], [None, None, "far"]), "a.xlsx")
    assert [word for word in sheet.split() if word.strip("|-")] == [
        "##",
        "Sheet",
        "name",
        "sum",
        "crane",
        "40",
        "far",
    ]
    book = read(epub_of("chapter one", "chapter two"), "a.epub")
    assert book.text.split("\n\n")[-2:] == ["chapter one", "chapter two"]
    assert book.metadata == {"title": "A book"}


def test_the_main_content_of_a_page() -> None:
    everything, main = read(PAGE, "a.html"), read(PAGE, "a.html", "main")
    assert "imprint" in everything.text
    assert main.text.startswith("Cranes\nThe crane of the harbour")
    assert "imprint" not in main.text
    assert main.metadata == everything.metadata == {"title": "The harbour"}
    assert read(b"", "a.html", "main").text == ""
    assert read(b"<p>", "a.html", "main").text == ""


def test_the_setting_reaches_the_process_that_reads(tmp_path: Path) -> None:
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
        ("a.pptx", docx_of("x"), "not a file of the type PPTX"),
        ("a.xlsx", zip_of({"x": "y"}), "not a file of the type XLSX"),
        ("a.epub", zip_of({"x": "y"}), "not a file of the type EPUB"),
        ("a.pptx", pptx_of("x")[:2000], "damaged"),
        ("a.pptx", with_part(pptx_of("x"), "ppt/presentation.xml", _DOCTYPE), "declares a document type"),
        ("a.xlsx", with_part(xlsx_of(["x"]), "xl/workbook.xml", _DOCTYPE.encode("utf-16")), "document type"),
        ("a.epub", with_part(epub_of("x"), "book.opf", _DOCTYPE), "damaged"),
    ],
)
def test_wrong_and_hostile_bytes(name: str, data: bytes, told: str) -> None:
    with pytest.raises(InputError, match=told):
        extract(data, name)


@pytest.mark.parametrize("make", [pptx_of, epub_of, lambda text: xlsx_of([text])])
def test_bombs_are_refused_before_they_are_unpacked(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    name = {pptx_of: "a.pptx", epub_of: "a.epub"}.get(make, "a.xlsx")
    bomb = with_part(make("x"), "media/image.bin", bytes(3 << 20))
    assert content.UNPACKED_BYTES > 3 << 20
    monkeypatch.setattr(content, "UNPACKED_BYTES", 2 << 20)
    with pytest.raises(InputError, match="more than 2 MB"):
        extract(bomb, name)


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    link = "<img src='http://example.org/a.png'/><link rel='stylesheet' href='http://example.org/a.css'/>"
    extract(epub_of(f"text {link}"), "a.epub")
    extract(PAGE.replace(b"<article>", b"<article>" + link.encode()), "a.html", "main")


@pytest.mark.parametrize(
    ("name", "data", "module", "extra"),
    [
        ("a.pptx", zip_of({"x": "y"}), "markitdown", "office"),
        ("a.xlsx", zip_of({"x": "y"}), "markitdown", "office"),
        ("a.epub", zip_of({"x": "y"}), "markitdown", "office"),
        ("a.html", PAGE, "trafilatura", "web"),
    ],
)
def test_without_the_extra(
    name: str, data: bytes, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf'needs {module}, .* not installed\. Try: pip install "\.\[{extra}\]"'):
        extract(data, name, "main")


def test_a_presentation_is_read_in_the_separate_process_and_its_library_is_recorded() -> None:
    with Extractor() as extractor:
        assert "first point" in extractor.extract(pptx_of("first point"), "a.pptx")
    assert {"markitdown", "trafilatura", "python-pptx", "openpyxl"} <= packages().keys()


def test_no_library_leaves_anything_in_the_home_folder(tmp_path: Path) -> None:
    """onnxruntime, which markitdown imports, stored a device id there, and had a thread that sends events."""
    pytest.importorskip("onnxruntime")
    file, home = tmp_path / "a.xlsx", tmp_path / "home"
    file.write_bytes(xlsx_of(["one table"]))
    home.mkdir()
    code = (
        "import os, sys\n"
        "from neardup.io.formats import office\n"
        "office.load()\n"
        "print(office.read_xlsx(open(sys.argv[1], 'rb').read()).text)\n"
        "print('onnxruntime' in sys.modules)\n"
    )
    folders = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "XDG_DATA_HOME": str(home)}
    inherited = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    done = subprocess.run(
        [sys.executable, "-c", code, file], env=inherited | folders, capture_output=True, text=True, check=True
    )
    assert "one table" in done.stdout
    assert done.stdout.endswith("True\n")
    assert not list(home.rglob("*onnxruntime*"))
