from __future__ import annotations

import os
from pathlib import Path

import pytest

from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents, open_files
from neardup.io.readers.base import NativeFiles
from support.made_files import make_folder
from support.messages import assert_refused
from support.reading import read_all

FILES = {
    "b.txt": b"b",
    "a.md": b"a\xff\x00",
    "sub/c": b"",
    "sub/.hidden": b"no",
    ".git/x": b"no",
    "z.csv": b"z",
}


def test_a_folder_of_mixed_files_is_one_document_a_file(tmp_path: Path) -> None:
    documents = open_documents(make_folder(tmp_path / "d", FILES))
    assert documents.format == "text"
    assert choose_columns(documents, None, None).id == "id"
    got, numbers, problems = read_all(documents, ["id", "text"])
    assert got == [
        {"id": b"a.md", "text": b"a\xff\x00"},
        {"id": b"b.txt", "text": b"b"},
        {"id": b"sub/c", "text": b""},
    ]
    assert numbers == [0, 1, 2]
    assert [(problem.file, problem.kind) for problem in problems] == [("z.csv", "data file")]


def test_chunks_by_size(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "d", {f"{i:03}.txt": b"x" * (i * 1000) for i in range(100)})
    documents = open_documents(folder, chunk_bytes=200_000)
    got, numbers, _ = read_all(documents, ["text"])
    assert [len(row["text"]) for row in got] == [i * 1000 for i in range(100)]
    assert numbers == list(range(100))
    assert len(list(documents.chunks())) > 20


def test_an_unreadable_file_is_a_problem(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "d", {f"{i}.txt": b"x" for i in range(3)})
    documents = open_documents(folder)
    (folder / "1.txt").unlink()
    _, numbers, problems = read_all(documents, ["id"])
    assert numbers == [0, 2]
    assert [(p.source, p.row) for p in problems] == [(str(folder), 1)]
    assert "1.txt" in problems[0].reason


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside = make_folder(tmp_path / "outside", {"secret.txt": b"no"})
    folder = make_folder(tmp_path / "d", {"a.txt": b"a"})
    (folder / "out.txt").symlink_to(outside / "secret.txt")
    (folder / "out").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    (folder / "in.txt").symlink_to("a.txt")
    (folder / "gone.txt").symlink_to("nothing")
    os.mkfifo(folder / "pipe.txt")
    got, _, _ = read_all(open_documents(folder), ["id"])
    assert [row["id"] for row in got] == [b"a.txt", b"in.txt"]


def test_names_that_are_no_unicode(tmp_path: Path) -> None:
    make_folder(tmp_path / "d", {"a.txt": b"a"})
    (tmp_path / "d" / os.fsdecode(b"\xff.txt")).write_bytes(b"b")
    got, _, _ = read_all(open_documents(tmp_path / "d"), ["id", "text"])
    assert {row["id"].decode(): row["text"] for row in got} == {"a.txt": b"a", "\\xff.txt": b"b"}


def test_single_files_and_lists_of_files(tmp_path: Path) -> None:
    make_folder(tmp_path, {"a.txt": b"a", "b.md": b"b"})
    paths = [tmp_path / "b.md", tmp_path / "a.txt", tmp_path / "b.md"]
    got, _, _ = read_all(open_documents(paths), ["id", "text"])
    assert [row["text"] for row in got] == [b"b", b"a"]
    assert [row["id"].decode() for row in got] == [str(path) for path in paths[:2]]
    assert read_all(open_documents(str(paths[0])), ["text"])[0] == [{"text": b"b"}]


def test_two_folders_keep_their_files_apart(tmp_path: Path) -> None:
    make_folder(tmp_path / "one", {"a.txt": b"1"})
    make_folder(tmp_path / "two", {"a.txt": b"2"})
    documents = open_files([tmp_path / "one", tmp_path / "two"])
    got, _, _ = read_all(documents, ["id"])
    assert [row["id"].decode() for row in got] == [str(tmp_path / "one/a.txt"), str(tmp_path / "two/a.txt")]
    native = next(iter(documents.chunks())).read_native()
    assert isinstance(native, NativeFiles)


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.jsonl", "jsonl"), ("a.NDJSON", "jsonl"), ("a.json", "jsonl"), ("a.csv", "csv"), ("a.tsv", "csv")],
)
def test_a_folder_of_data_files(tmp_path: Path, name: str, format: str) -> None:
    content = b'{"text":"a"}\n' if format == "jsonl" else b"text\na\n"
    folder = make_folder(tmp_path / "d", {name: content, "sub/" + name: content, "_SUCCESS": b"", ".x.crc": b"1"})
    documents = open_documents(folder)
    assert documents.format == format
    assert documents.names == (str(folder / name), str(folder / "sub" / name))
    assert len(read_all(documents, ["text"])[0]) == 2


def test_patterns_and_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path, {"d/1.txt": b"1", "d/e/2.txt": b"2", "d/3.md": b"3", "d/x[1].txt": b"4"})
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(read_all(open_documents("~/d/**/*.txt"), ["text"])[0]) == 3
    assert read_all(open_documents(f"{tmp_path}/d/x[1].txt"), ["text"])[0] == [{"text": b"4"}]
    with pytest.raises(InputError, match="No file matches"):
        open_documents(f"{tmp_path}/*.pdf")


def test_nothing_there(tmp_path: Path) -> None:
    assert_refused(
        (InputError, "no file or folder", lambda: open_documents(tmp_path / "nothing")),
        (InputError, "has no files", lambda: open_documents(tmp_path)),
        (InputError, "No input", lambda: open_files([])),
    )
