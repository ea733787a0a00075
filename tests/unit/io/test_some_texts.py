from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents, parquet, parquet_pages
from neardup.io.readers.parquet import ParquetDocuments
from support.made_texts import Writer, edited

ROWS = 1500
RANDOM = np.random.default_rng(4)
TEXTS = [RANDOM.bytes(int(RANDOM.integers(1, 60))).hex() if i % 40 else None for i in range(ROWS)]
TABLE = pa.table({"id": range(ROWS), "text": TEXTS})
SMALL = {"data_page_size": 1000, "write_batch_size": 16, "dictionary_pagesize_limit": 4000}


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_pages, "_GROUP_BYTES", 0)
    monkeypatch.setattr(parquet_pages, "RUN_BYTES", 4000)


def opened(path: Path) -> tuple[ParquetDocuments, dict[int, np.ndarray[Any, Any]]]:
    """The documents, and the row numbers of each chunk."""
    documents = open_documents(path, chunk_bytes=20_000)
    choose_columns(documents, "text", "id")
    assert isinstance(documents, ParquetDocuments)
    return documents, {chunk.index: chunk.read(["text"]).row_numbers for chunk in documents.chunks()}


@pytest.mark.part(3)
@pytest.mark.parametrize("share", [0.002, 0.1, 1])
@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 400, "compression": "zstd", "data_page_version": "2.0"},
        {"use_dictionary": False, "compression": "none"},
        {"compression": "gzip", "write_page_checksum": True},
    ],
)
def test_the_texts_are_those_of_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, big: bool, options: dict[str, Any]
) -> None:
    if big:
        monkeypatch.setattr(parquet, "BIG_GROUP_BYTES", 1000)
    (tmp_path / "in").mkdir()
    pq.write_table(TABLE.slice(0, 500), tmp_path / "in" / "1.parquet", **SMALL, **options)
    pq.write_table(TABLE.slice(500), tmp_path / "in" / "2.parquet", **SMALL, **options)
    documents, numbers = opened(tmp_path / "in")
    wanted = {
        index: rows[np.random.default_rng(index).random(len(rows)) < share] for index, rows in numbers.items()
    }
    wanted = {index: rows for index, rows in wanted.items() if len(rows)}
    first_of = {index: 0 if documents.file_of(index) == 0 else 500 for index in wanted}
    found = documents.some_texts(wanted)
    assert found is not None
    texts = []
    for count, load in found:
        some = load()
        assert len(some) == count
        assert some.type == pa.string()
        texts += some.to_pylist()
    assert texts == [TEXTS[first_of[index] + row] for index, rows in wanted.items() for row in rows.tolist()]


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "in.parquet", **SMALL)
    documents, numbers = opened(tmp_path / "in.parquet")
    found = documents.some_texts(numbers)
    assert found is not None
    pq.write_table(TABLE.slice(1), tmp_path / "in.parquet", **SMALL)
    with pytest.raises(InputError, match="changed"):
        [load() for _, load in found]


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"id": range(9000), "text": ["x" * 60_000 + str(i % 9) for i in range(4000)] + ["y"] * 5000}),
        pa.table({"id": range(9), "text": pa.array(["a", "b", "c"] * 3).dictionary_encode()}),
    ],
)
def test_texts_that_are_repeated_are_read_in_chunks(tmp_path: Path, table: pa.Table) -> None:
    pq.write_table(table, tmp_path / "in.parquet")
    documents, numbers = opened(tmp_path / "in.parquet")
    assert documents.some_texts(numbers) is None


@pytest.mark.parametrize("method", ["lsh", "exact"])
def test_a_run_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    writer, texts = Writer(seed=9), []
    for _ in range(60):
        words = writer.words(200)
        texts += [" ".join(words), " ".join(edited(words, 0.8, writer)), " ".join(edited(words, 0.7, writer))]
    pq.write_table(pa.table({"id": range(180), "text": texts}), tmp_path / "in.parquet", **SMALL)
    by_pages = nd.find(tmp_path / "in.parquet", threshold=0.5, method=method)
    monkeypatch.setattr(parquet_pages, "_GROUP_BYTES", 1 << 30)
    by_chunks = nd.find(tmp_path / "in.parquet", threshold=0.5, method=method)
    assert by_pages.pairs.num_rows > 50
    assert by_pages.pairs.equals(by_chunks.pairs)
    assert by_pages.groups.equals(by_chunks.groups)
