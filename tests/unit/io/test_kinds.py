"""Files without text, recognised by their bytes regardless of their names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import struct
import sys
import tarfile
import wave
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from neardup.errors import InputError
from neardup.io.formats.kinds import HEAD_BYTES, NotTextError, kind_of, refuse_kind
from neardup.io.readers import open_documents, read_document
from neardup.io.readers.text_files import read_stream
from support.made_files import msg_of, pdf_of, zip_of
from support.messages import has_parts

GERMAN = "Die Größe der Straße überrascht: schöne Grüße aus Köln!\n"
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю.\n"
CHINESE = "港口的预算明年将增加，新起重机需要四万元。\n"
JAPANESE = "港の予算は来年増えます。新しいクレーンには四万円が必要です。\n"

WIDTHS = ("16", "16-le", "16-be", "32", "32-le", "32-be")


def packed(seed: int, length: int = 5000) -> bytes:
    return random.Random(seed).randbytes(length)


def tar() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    return made.getvalue()


def table(format: str) -> bytes:
    rows, made = pa.table({"text": ["words"]}), io.BytesIO()
    if format == "parquet":
        pq.write_table(rows, made)
    elif format == "orc":
        orc.write_table(rows, made)
    else:
        with (pa.ipc.new_file if format == "arrow" else pa.ipc.new_stream)(made, rows.schema) as writer:
            writer.write_table(rows)
    return made.getvalue()


def sound() -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(struct.pack("<400h", *range(-200, 200)))
    return made.getvalue()


def open_document(kind: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", f"application/{kind}")
        archive.writestr("content.xml", "<x/>")
    return made.getvalue()


NO_TEXT = [
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image"),
    (b"\xff\xd8\xff\xe0\0\x10JFIF\0" + packed(1), "image"),
    (b"GIF89a\1\0\1\0\0\0\0;", "image"),
    (b"II*\0\x08\0\0\0" + bytes(20), "image"),
    (b"RIFF\x24\0\0\0WEBPVP8 " + bytes(20), "image"),
    (b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0" + bytes(40), "image"),
    (zip_of({"a.txt": "a"}), "zip"),
    (zip_of({}), "zip"),
    (zip_of({"[Content_Types].xml": "x", "xl/workbook.xml": "x"}), "spreadsheet"),
    (zip_of({"[Content_Types].xml": "x", "ppt/presentation.xml": "x"}), "presentation"),
    (zip_of({"_rels/.rels": "x", "word/document.xml": "x"}), "word document"),
    (open_document("vnd.oasis.opendocument.text"), "opendocument text"),
    (open_document("vnd.oasis.opendocument.spreadsheet"), "spreadsheet"),
    (open_document("epub+zip"), "e-book"),
    (gzip.compress(b"words"), "gzip"),
    (bz2.compress(b"words" * 300), "bzip2"),
    (lzma.compress(b"words"), "xz"),
    (b"\x28\xb5\x2f\xfd\x04\x00" + packed(2), "zstd"),
    (b"7z\xbc\xaf\x27\x1c\0\4" + packed(3), "7z"),
    (tar(), "tar"),
    (table("arrow"), "arrow"),
    (table("stream"), "arrow"),
    (table("parquet"), "parquet"),
    (table("orc"), "orc"),
    (b"SQLite format 3\0" + bytes(80), "sqlite"),
    (sound(), "audio"),
    (b"\0\0\0\x20ftypisom" + bytes(40), "video"),
    (b"wOF2\0\1\0\0" + bytes(40), "font"),
    (b"MZ\x90\0\3\0\0\0" + bytes(100), "program"),
    (b"\0asm\1\0\0\0", "program"),
    (Path(sys.executable).resolve().read_bytes()[:HEAD_BYTES], "program"),
    (pdf_of("words") + bytes(20), "pdf"),
    (msg_of("words"), "office file"),
    (packed(4), "binary"),
    (packed(5).replace(b"\0", b"\1"), "binary"),
    (bytes(100), "binary"),
    (struct.pack("<500i", *range(500)), "binary"),
]


@pytest.mark.parametrize(("data", "kind"), NO_TEXT, ids=[f"{k}-{kind}" for k, (_, kind) in enumerate(NO_TEXT)])
def test_files_without_text_are_known_by_their_bytes(data: bytes, kind: str) -> None:
    for name in ("a", "a.txt", "a.md", "folder/a.bin"):
        assert kind_of(data[:HEAD_BYTES], name) == kind


def test_old_office_files_are_told_apart_by_their_names() -> None:
    found = [kind_of(msg_of("words"), f"a{suffix}") for suffix in (".doc", ".XLS", ".ppt", ".msg")]
    assert found == ["word document", "spreadsheet", "presentation", "outlook message"]


TEXTS = [
    *((GERMAN * 40).encode(name) for name in ("utf-8", "latin-1", "cp1252", "cp437", "mac-roman", "iso8859-15")),
    *((RUSSIAN * 40).encode(name) for name in ("utf-8", "cp1251", "koi8-r", "iso8859-5", "cp866", "mac-cyrillic")),
    *((CHINESE * 40).encode(name) for name in ("gbk", "gb18030", "hz")),
    *((JAPANESE * 40).encode(name) for name in ("shift-jis", "euc-jp", "iso2022-jp")),
    *(text.encode(f"utf-{width}") for text in (GERMAN * 9, RUSSIAN * 9, CHINESE) for width in WIDTHS),
    "привет".encode("utf-16-le"),
    b"",
    b"\n",
    b"\xe9",
    b"a string of C\0",
    b"BMW sells cars; MZ, PAR1, BZh, ID3 and OTTO are words",
    b"PK is a name",
    b"Obj oriented, wOFF, GIF89a is a version, Rar! is a shout",
    b"8=FIX.4.2\x019=65\x0135=A\x0149=SERVER\x0156=CLIENT\x01",  # fields separated by controls
    b"\x1b[31mred\x1b[0m\n" * 50,
    b"a line of a log\n" * 2000 + b"\0" + b"another line\n" * 2000,  # written during a crash
    GERMAN.encode()[:9] * 1,
    (CHINESE * 2000).encode()[:HEAD_BYTES],  # the last character is cut off
]  # fmt: skip


@pytest.mark.parametrize("data", TEXTS, ids=map(str, range(len(TEXTS))))
def test_texts_in_any_encoding_are_texts(data: bytes) -> None:
    assert kind_of(data[:HEAD_BYTES], "a") is None
    refuse_kind(data[:HEAD_BYTES], "a.txt")


def test_mailboxes_and_texts_that_begin_like_one() -> None:
    box = b"From ann@example.org Mon Jan  6 10:00:00 2020\nSubject: boats\n\nThree.\n"
    # one mail saved as text is a text
    assert [kind_of(box, name) for name in ("inbox", "a.mbox", "a.txt")] == [None, "mailbox", None]
    more = box + b"\n" + box
    assert [kind_of(more, name) for name in ("inbox", "a.mbox", "a.txt")] == ["mailbox", "mailbox", None]
    assert kind_of(box.replace(b"Subject:", b"The subject"), "a.mbox") is None
    assert kind_of(b"From here to there it is far.\nSubject: none", "a") is None


def test_what_holds_no_text_is_refused_with_what_to_do() -> None:
    with pytest.raises(NotTextError) as refused:
        refuse_kind(zip_of({"a.txt": "a"}), "a")
    assert refused.value.kind == "zip"
    assert has_parts(str(refused.value), "not text (zip)", "Allowed: Text, HTML, PDF", "Try: ", "suffix", "unpack")


def test_single_files_that_hold_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    with pytest.raises(InputError, match=r"Cannot read .*a\.txt: It is not text \(image\)"):
        read_document(path)
    with pytest.raises(InputError):
        read_stream(io.BytesIO(path.read_bytes()))


def test_of_a_large_file_without_text_only_the_beginning_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.iso").write_bytes(bytes(3 << 20))
    (tmp_path / "b").write_bytes(pdf_of("words") + bytes(3 << 20))  # a PDF without a suffix
    read: list[str] = []
    source = type(open_documents(tmp_path).sources[0])  # type: ignore[attr-defined]
    whole = source.read_bytes
    monkeypatch.setattr(source, "read_bytes", lambda self: read.append(self.name) or whole(self))
    (chunk,) = open_documents(tmp_path).chunks()
    rows = chunk.read(["id", "text"])
    assert rows.table.to_pylist() == [{"id": "b", "text": b"words"}]
    assert [(problem.file, problem.kind) for problem in rows.problems] == [("a.iso", "binary")]
    assert read == ["b"]
