"""Malicious files: each causes a clean error within its limits, and the next file is read normally."""

from __future__ import annotations

import io
import itertools
import os
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neardup.errors import InputError
from neardup.io.formats import content, extract, refuse_size
from neardup.io.formats import pdf as pdf_format
from neardup.io.formats.extractor import Extractor
from support.made_files import (
    docx,
    docx_of,
    eml_of,
    html_of,
    msg_of,
    packed_stream,
    pdf,
    pdf_of,
    pdf_of_streams,
    stream,
    zip_of,
)
from support.made_office import SHEET, epub_of, odf, pptx_of, xlsx, xlsx_of

WORDS = "A few words that are long enough to be packed into every format.\nAnd a second line of them."
GOOD = {
    "a.html": html_of(WORDS),
    "a.docx": docx_of(WORDS),
    "a.eml": eml_of(WORDS, "a subject"),
    "a.msg": msg_of(WORDS, "a subject"),
    "a.pdf": pdf_of(WORDS, WORDS),
    "a.xlsx": xlsx_of([[WORDS, 7], [WORDS]]),
    "a.pptx": pptx_of(WORDS, WORDS, comment="no"),
    "a.epub": epub_of(WORDS, WORDS),
    "a.odt": odf("text", f"<text:p>{WORDS}</text:p>"),
    "a.rtf": rb"{\rtf1 {\pict 00}%b\par}" % WORDS.encode(),
}
STRINGS = f"<sst {SHEET}><si><t>{'long ' * 9}</t><rPh><t>no</t></rPh></si></sst>"
ROW = (
    '<table:table-row table:number-rows-repeated="%d"><table:table-cell table:number-columns-repeated="%d">'
    "<text:p>x</text:p></table:table-cell></table:table-row>"
)
LONG = {
    "a.docx": GOOD["a.docx"],
    "a.pdf": GOOD["a.pdf"],
    "separators.xlsx": xlsx('<row r="1"><c r="XFD1"><v>7</v></c></row>'),
    "repeated.xlsx": xlsx(
        '<row><c t="s"><v>0</v></c></row>' * 2,
        of_book={"strings.xml": "sharedStrings"},
        parts={"xl/strings.xml": STRINGS},
    ),
    "many.pptx": pptx_of(*["one slide"] * 9),
    "columns.ods": odf("spreadsheet", f"<table:table>{ROW % (1, 1000)}</table:table>"),
    "rows.ods": odf("spreadsheet", f"<table:table>{ROW % (1000, 1)}</table:table>"),
}
"""Files with a text of more than 50 characters."""


@pytest.fixture
def extractor() -> Iterator[Extractor]:
    with Extractor() as made:
        yield made


@pytest.fixture(scope="module")
def lasting() -> Iterator[Extractor]:
    with Extractor() as made:
        yield made


def outcome(extractor: Extractor, data: bytes, name: str) -> str:
    """Return the text, or the reason for its refusal; no other error is expected."""
    try:
        return extractor.extract(data, name, seconds=20)
    except InputError as error:
        return f"refused: {error}"


@pytest.mark.parametrize("name", GOOD)
def test_a_file_cut_off_anywhere_is_read_or_refused(name: str, lasting: Extractor) -> None:
    whole = GOOD[name]
    ends = range(0, len(whole), max(1, len(whole) // 50))
    told = [outcome(lasting, whole[:end], name) for end in ends]
    assert not [text for text in told if "crashed" in text or "took more" in text]
    # web pages have no required end
    assert any(text.startswith("refused: ") for text in told) or name == "a.html"
    assert lasting.extract(whole, name) == extract(whole, name)


@pytest.mark.parametrize("name", GOOD)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(0, 255)), min_size=1, max_size=20))
def test_a_file_with_wrong_bytes_is_read_or_refused(
    name: str, lasting: Extractor, places: list[tuple[int, int]]
) -> None:
    wrong = bytearray(GOOD[name])
    for place, byte in places:
        wrong[place % len(wrong)] = byte
    assert isinstance(outcome(lasting, bytes(wrong), name), str)
    assert lasting.extract(GOOD["a.html"], "a.html") == extract(GOOD["a.html"], "a.html")


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 1])
def test_a_zip_bomb_is_refused_where_the_limit_is(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "UNPACKED_BYTES", 1 << 20)
    with zipfile.ZipFile(io.BytesIO(docx(b"<a/>"))) as archive:
        others = sum(info.file_size for info in archive.infolist()) - len(b"<a/>")
    bomb = docx(b"<a>" + b" " * (size - others - 7) + b"</a>")
    assert len(bomb) < 10_000
    assert extract(docx_of("x"), "a.docx") == "x"
    if size <= 1 << 20:
        assert extract(bomb, "a.docx") == ""
    else:
        with pytest.raises(InputError, match="more than 1 MB"):
            extract(bomb, "a.docx")


@pytest.mark.parametrize("name", LONG)
def test_a_text_that_is_too_long_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(extract(LONG[name], name)) > 50
    for place in ("content.TEXT_CHARACTERS", "pdf.TEXT_CHARACTERS"):
        monkeypatch.setattr(f"neardup.io.formats.{place}", 50)
    assert f"{content.TEXT_CHARACTERS // 10**6} million characters" in str(content.long_error())
    with pytest.raises(InputError, match=r"more than .* million characters"):
        extract(LONG[name], name)


def test_a_text_of_the_greatest_length_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    document = pypdfium2.PdfDocument(GOOD["a.pdf"])
    length = sum(len(page.get_textpage().get_text_range()) for page in document)
    whole = extract(GOOD["a.pdf"], "a.pdf")
    monkeypatch.setattr(pdf_format, "TEXT_CHARACTERS", length)
    assert extract(GOOD["a.pdf"], "a.pdf") == whole
    monkeypatch.setattr(pdf_format, "TEXT_CHARACTERS", length - 1)
    with pytest.raises(InputError):
        extract(GOOD["a.pdf"], "a.pdf")


@pytest.mark.parametrize(
    "declared",
    [
        '<!DOCTYPE a [<!ENTITY b "lol"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>',
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd">',
    ],
)
def test_document_types_with_their_entities_are_refused(declared: str) -> None:
    with pytest.raises(InputError):
        extract(docx(f"{declared}<a>&b;</a>".encode()), "a.docx")


def test_deep_nesting(lasting: Extractor) -> None:
    deep = 100_000
    assert lasting.extract(b"<div>" * deep + b"words", "a.html") == "words"
    body = "<w:p>" * deep + "<w:r><w:t>words</w:t></w:r>" + "</w:p>" * deep
    assert lasting.extract(docx(body), "a.docx") == "words"
    assert lasting.extract(pdf_of_streams([stream(b"[" * deep)]), "a.pdf") == ""


def nested_mail(depth: int) -> bytes:
    layers = (f"Content-Type: multipart/mixed; boundary=x{i}\n\n--x{i}\n" for i in range(depth))
    return "".join(layers).encode() + b"\nwords"


LOCK = b"/Encrypt << /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -1 >>" % (b"41" * 32, b"42" * 32)
PAGES = b"<< /Type /Pages /Count 1000000 /Kids [2 0 R 2 0 R] >>"


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.docx", zip_of({"a": "b"}), "damaged"),
        ("a.docx", zip_of({"_rels/.rels": "<a/>"}), "without a document"),
        ("a.docx", docx(b"<a><b></a>"), "damaged"),
        ("a.eml", nested_mail(150), "nested more than 100 deep"),
        ("a.eml", nested_mail(3000), "nested more than 100 deep"),
        ("a.pdf", pdf_of_streams([stream(b"")], LOCK + b" /ID [<41> <41>]"), "by a password"),
        ("a.pdf", pdf([b"<< /Type /Catalog /Pages 2 0 R >>", PAGES]), r"1000000 pages\. Allowed: At most 20000"),
    ],
    ids=range(7),
)
def test_a_file_that_is_no_document_nested_or_locked(name: str, data: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        extract(data, name)


def test_a_packed_stream_in_a_pdf_that_is_packed_again(lasting: Extractor) -> None:
    bomb = pdf_of_streams([packed_stream(b" " * (64 << 20), times=3)])
    assert len(bomb) < 10_000
    assert lasting.extract(bomb, "a.pdf") == ""


def test_files_that_are_too_large() -> None:
    refuse_size(content.FILE_BYTES)
    refuse_size(None)
    with pytest.raises(InputError, match=r"It has 256 MB\. Allowed: At most 256 MB"):
        refuse_size(content.FILE_BYTES + 1)


def test_a_file_that_takes_too_long_is_given_up(extractor: Extractor) -> None:
    with pytest.raises(InputError, match=r"took more than 0\.5 seconds"):
        extractor.extract(pdf_of_streams([packed_stream(b"q " * 50_000_000)]), "a.pdf", seconds=0.5)
    assert extractor.extract(GOOD["a.docx"], "a.docx") == WORDS


STUB = """
import ctypes
import os
class PdfiumError(Exception): pass
class PdfDocument:
    def __init__(self, data):
        print("not an answer", flush=True)
        os.write(1, b"T" + bytes(8))
        if b"crash" in data:
            os.abort()
        if b"memory" in data:
            bytearray(8 << 30)
        raise ValueError("something\\0new")
"""


def test_a_parser_that_crashes_prints_or_eats_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extractor: Extractor
) -> None:
    (tmp_path / "pypdfium2.py").write_text(STUB)
    monkeypatch.syspath_prepend(tmp_path)
    told = {
        "crash": "crashed on it",
        "memory": "needs more than 3 GB",
        "else": "It is damaged: ValueError: something",
    }
    for what, message in told.items():
        with pytest.raises(InputError, match=message):
            extractor.extract(b"%PDF-1.4 " + what.encode(), "a.pdf")
    assert extractor.extract(GOOD["a.eml"], "a.eml").startswith("a subject")


def test_modules_in_the_folder_one_happens_to_be_in_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extractor: Extractor
) -> None:
    (tmp_path / "pypdfium2.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    assert extractor.extract(GOOD["a.pdf"], "a.pdf").split() == (WORDS + " " + WORDS).split()


def test_nothing_is_fetched_and_nothing_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extractor: Extractor
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        page = f"<link rel=stylesheet href={url}><img src={url}><script src={url}></script>a"
        assert extractor.extract(page.encode(), "a.html") == "a"
        linked = f'<w:p><w:r><w:pict><v:imagedata xmlns:v="urn:v" src="{url}"/></w:pict><w:t>a</w:t></w:r></w:p>'
        assert extractor.extract(docx(linked), "a.docx") == "a"
        action = f"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /URI /URI ({url}) >> >>".encode()
        made = pdf_of("a").replace(b"<< /Type /Catalog /Pages 2 0 R >>", action)
        assert extractor.extract(made, "a.pdf") == "a"
        with pytest.raises(BlockingIOError):
            server.accept()
    with pytest.raises(InputError):
        extractor.extract(pdf_of_streams([packed_stream(b"q " * 50_000_000)]), "a.pdf", seconds=0.2)
    assert os.listdir(tmp_path) == []


def test_the_process_ends_with_its_extractor() -> None:
    with Extractor() as made:
        made.extract(GOOD["a.html"], "a.html")
        process = made._process
        assert process is not None
        assert process.poll() is None
    assert process.poll() is not None


def test_one_process_reads_many_files(extractor: Extractor) -> None:
    seen = set()
    for name, _ in itertools.product(GOOD, range(3)):
        assert extractor.extract(GOOD[name], name) == extract(GOOD[name], name)
        assert extractor._process is not None
        seen.add(extractor._process.pid)
    assert len(seen) == 1
