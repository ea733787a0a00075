from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.errors import InputError
from neardup.io.readers import open_documents, open_files
from neardup.io.readers.folders import format_of
from neardup.io.readers.sources import Source
from neardup.io.readers.text_files import document_name
from support.reading import read_all


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def parquet(texts: list[str]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": texts}), buffer, row_group_size=2)
    return buffer.getvalue()


def test_one_file_of_each_format(memory: fsspec.AbstractFileSystem) -> None:
    contents = {
        "a.parquet": parquet(["x"] * 5),
        "a.jsonl": b'{"text":"x"}\n' * 5,
        "a.csv": b"text\n" + b"x\n" * 5,
    }
    for name, content in contents.items():
        memory.pipe(f"/d/{name}", content)
        got, numbers, problems = read_all(open_documents(f"memory://d/{name}"), ["text"])
        assert (got, numbers, problems) == ([{"text": b"x"}] * 5, list(range(5)), [])
    memory.pipe("/d/a.txt", b"x")
    assert read_all(open_documents("memory://d/a.txt"), ["text"])[0] == [{"text": b"x"}]


@pytest.mark.parametrize(
    ("name", "packed", "format"),
    [
        ("a.jsonl", False, "jsonl"),
        ("a.jsonl.gz", True, "jsonl"),
        ("a.csv", False, "csv"),
        ("a.txt", False, "text"),
    ],
)
def test_the_format_of_a_signed_link_is_that_of_its_name(name: str, packed: bool, format: str) -> None:
    for end in ("?X-Amz-Signature=5f0c&part=a.b", "?file=other.parquet#here", "#a.xz", ""):
        source = Source(name, f"HTTPS://host/d/{name}{end}")
        assert format_of(source.path) == format
        assert (source.compression == "gzip") is packed
        assert document_name(source).endswith(f"/d/{name.removesuffix('.gz')}")
    assert format_of("d/what?.jsonl") == format_of("s3://bucket/what?.jsonl") == "jsonl"


def test_patterns_folders_and_lists(memory: fsspec.AbstractFileSystem) -> None:
    for i in range(3):
        memory.pipe(f"/d/{i}.parquet", parquet([str(i)] * 3))
    for documents in (
        open_documents("memory://d/*.parquet"),
        open_documents("memory://d"),
        open_files([f"memory://d/{i}.parquet" for i in range(3)]),
    ):
        assert len(documents.names) == 3
        assert [row["text"] for row in read_all(documents, ["text"])[0]] == [b"0"] * 3 + [b"1"] * 3 + [b"2"] * 3


def test_a_folder_of_texts(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe("/d/a.txt", b"a")
    memory.pipe("/d/sub/b.md", b"b")
    got, _, _ = read_all(open_documents("memory://d"), ["id", "text"])
    assert got == [{"id": b"a.txt", "text": b"a"}, {"id": b"sub/b.md", "text": b"b"}]


def test_nothing_there(memory: fsspec.AbstractFileSystem) -> None:
    for url in ("memory://d/nothing.jsonl", "memory://d/*.jsonl", "nosuchprotocol://x/y"):
        with pytest.raises(InputError):
            open_documents(url)


def test_without_fsspec_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError):
        open_documents("s3://bucket/x.parquet")
