"""Arrow files and streams, compressed or with dictionaries, are rows; the first version of Feather is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents
from support.reading import read_all

TEXTS = [f"text {i // 2}" for i in range(40)]
PLAIN = pa.table({"id": range(40), "text": TEXTS})
DICTIONARY = PLAIN.set_column(1, "text", PLAIN["text"].dictionary_encode())


@pytest.mark.parametrize(
    ("name", "compression", "made"),
    [
        ("a.arrow", None, pa.ipc.new_file),
        ("a.feather", "lz4", pa.ipc.new_file),
        ("a.ipc", "zstd", pa.ipc.new_stream),
        ("a.arrows", None, pa.ipc.new_stream),
    ],
)
@pytest.mark.parametrize("table", [PLAIN, DICTIONARY], ids=["plain", "dictionary"])
def test_every_kind_is_read(
    tmp_path: Path, name: str, compression: str | None, table: pa.Table, made: Callable[..., Any]
) -> None:
    path, options = tmp_path / name, pa.ipc.IpcWriteOptions(compression=compression)
    with made(str(path), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=15)
    documents = open_documents(path)
    choose_columns(documents, "text", "id")
    rows, _, problems = read_all(documents, ["id", "text"])
    assert problems == []
    assert [row["id"] for row in rows] == list(range(40))
    assert [text if isinstance(text, str) else text.decode() for text in (row["text"] for row in rows)] == TEXTS


def test_the_first_version_of_feather_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.feather").write_bytes(b"FEA1" + bytes(100) + b"FEA1")
    with pytest.raises(InputError, match="first version of"):
        open_documents(tmp_path / "a.feather")


def test_a_text_of_a_dictionary_counts_in_each_row(tmp_path: Path) -> None:
    """A chunk has at most as many bytes of text as asked for, not as many as the file has."""
    long = pa.array(["word " * 2000, "other " * 10])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 500 + [1] * 500, pa.int32()), long)
    table = pa.table({"text": column})
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as file:
        file.write_table(table)
    documents = open_documents(tmp_path / "a.arrow", chunk_bytes=100_000)
    sizes = [chunk.read(["text"]).table["text"].nbytes for chunk in documents.chunks()]
    assert sum(sizes) > 5_000_000
    assert max(sizes) < 120_000
