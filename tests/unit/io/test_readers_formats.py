"""Folders of documents in many formats, and single documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from neardup.errors import InputError, install
from neardup.io.formats.content import Content
from neardup.io.formats.extractor import Extractor
from neardup.io.readers import open_documents, read_document, text_files
from neardup.io.readers.base import NativeFiles
from support.made_files import docx_of, eml_of, html_of, make_folder, msg_of, pdf_of
from support.messages import each_has_parts
from support.reading import read_all

TEXT = "a few words & more"
FILES = {
    "a.docx": docx_of(TEXT),
    "b.EML": eml_of(TEXT),
    "c.html": html_of(TEXT),
    "d.md": TEXT.encode(),
    "e.msg": msg_of(TEXT),
    "sub/f.pdf": pdf_of(TEXT),
}
BROKEN = {"a.pdf": b"%PDF-1.4 nothing", "c.docx": b"PK\x03\x04", "e.html": b"", "f.msg": b"no"}


def test_a_folder_of_all_formats(tmp_path: Path) -> None:
    documents = open_documents(make_folder(tmp_path / "d", FILES))
    rows, numbers, problems = read_all(documents, ["id", "text"])
    assert rows == [{"id": name.encode(), "text": TEXT.encode()} for name in FILES]
    assert numbers == list(range(len(FILES)))
    assert not problems
    assert {name: read_document(tmp_path / "d" / name) for name in FILES} == dict.fromkeys(FILES, TEXT)


def test_files_that_cannot_be_read_are_problems_with_their_reasons(tmp_path: Path) -> None:
    documents = open_documents(make_folder(tmp_path / "d", {**BROKEN, "b.txt": b"b", "d.pdf": pdf_of("d")}))
    rows, numbers, problems = read_all(documents, ["text"])
    assert [row["text"] for row in rows] == [b"b", b"d", b""]
    assert numbers == [1, 3, 4]
    assert [(problem.source, problem.row) for problem in problems] == [(str(tmp_path / "d"), k) for k in (0, 2, 5)]
    told = [
        "cannot read a.pdf: It is not a PDF",
        "cannot read c.docx: It is not a DOCX",
        "cannot read f.msg: It is not an Outl",
    ]
    assert [problem.reason[: len(start)] for problem, start in zip(problems, told, strict=True)] == told


def test_native_rows_are_the_files_themselves(tmp_path: Path) -> None:
    documents = open_documents(make_folder(tmp_path / "d", FILES | {"g.pdf": b""}))
    (chunk,) = documents.chunks()
    native = chunk.read_native()
    assert isinstance(native, NativeFiles)
    assert [source.read_bytes() for source in native.sources] == list(FILES.values())
    assert [problem.row for problem in native.problems] == [5]


def test_without_the_extra_a_file_is_a_problem_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = b"raise ModuleNotFoundError(name=__name__)"
    stubs = make_folder(tmp_path / "stubs", {f"{name}.py": missing for name in ("pypdfium2", "olefile")})
    monkeypatch.syspath_prepend(stubs)
    rows, _, problems = read_all(open_documents(make_folder(tmp_path / "d", FILES)), ["id"])
    assert [row["id"] for row in rows] == [b"a.docx", b"b.EML", b"c.html", b"d.md"]
    assert each_has_parts(
        [problem.reason for problem in problems],
        ("e.msg", "needs olefile", "not installed", install("formats")),
        ("sub/f.pdf", "needs pypdfium2", "not installed", install("formats")),
    )


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []
    read = Extractor.read

    def counting(self: Extractor, data: bytes, name: str, seconds: float) -> Content:
        calls.append(f"{Path(name).name} {seconds:g}")
        return read(self, data, name, seconds)

    monkeypatch.setattr(Extractor, "read", counting)
    return calls


def test_texts_are_extracted_once_while_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch)
    monkeypatch.setattr(text_files._Known, "__init__", _with_room(len(TEXT)))
    documents = open_documents(
        make_folder(tmp_path / "d", {name: FILES[name] for name in ("a.docx", "c.html", "d.md")})
    )
    for _ in range(3):
        for chunk in documents.chunks():
            assert chunk.read(["text"]).table.num_rows == 3
    # the first text fills the room; the other is extracted again, with a longer time limit
    assert calls == ["a.docx 60", "c.html 60", "c.html 600", "c.html 600"]


def _with_room(room: int):  # type: ignore[no-untyped-def]
    make = text_files._Known.__init__
    return lambda self, *given: make(self, *given, texts=text_files.ExtractedTexts(room))


def test_a_file_that_turns_bad_between_two_passes_is_an_error(tmp_path: Path) -> None:
    documents = open_documents(make_folder(tmp_path / "d", {"a.txt": b"a", "b.txt": b"b"}))
    for chunk in documents.chunks():
        chunk.read(["text"])
    (tmp_path / "d" / "a.txt").unlink()
    with pytest.raises(InputError, match=r"a\.txt changed while"):
        next(iter(documents.chunks())).read(["text"])


def test_a_file_that_turns_good_between_two_passes_stays_a_problem(tmp_path: Path) -> None:
    documents = open_documents(make_folder(tmp_path / "d", {"a.pdf": b"", "b.txt": b"b"}))
    (chunk,) = documents.chunks()
    assert chunk.read(["text"]).row_numbers.tolist() == [1]
    (tmp_path / "d" / "a.pdf").write_bytes(FILES["sub/f.pdf"])
    assert chunk.read(["text"]).row_numbers.tolist() == [1]


def test_single_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path, {**BROKEN, "data.csv": b"a,b\n", "x.txt": b"\xff\x00a"})
    assert read_document(str(tmp_path / "data.csv")) == "a,b\n"
    assert read_document(tmp_path / "x.txt") == "�\0a"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_document("~/e.html") == ""
    for name, told in [
        ("a.pdf", r"Cannot read .*a\.pdf: It is not a PDF file, or is damaged"),
        ("none.pdf", r"There is no file .*none\.pdf"),
        ("", "is a folder. Allowed: One file"),
    ]:
        with pytest.raises(InputError, match=told):
            read_document(tmp_path / name)


def test_a_document_behind_a_url(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    make_folder(tmp_path, {"f.pdf": FILES["sub/f.pdf"]})
    assert read_document(f"file://{tmp_path}/f.pdf") == TEXT
    with pytest.raises(InputError):
        read_document(f"file://{tmp_path}/g.pdf")
