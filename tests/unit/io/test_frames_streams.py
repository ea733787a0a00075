"""Streams wait in blocks on disk, data sets are scanned again, and values of Python become columns."""

from __future__ import annotations

import datetime
import gc
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from neardup.errors import InputError
from neardup.io.frames import streams
from neardup.io.frames.data_sets import ScannedDocuments
from neardup.io.frames.python import ValueTypes
from neardup.io.frames.streams import Spool
from neardup.io.readers import open_documents
from neardup.io.readers.arrow import in_blocks
from support.reading import read_all

RECORDS = [{"text": f"text {i} " * (i % 9), "id": i, "lists": [i] * (i % 3)} for i in range(500)]
TABLE = pa.Table.from_pylist(RECORDS)


def test_blocks_come_back_in_any_order_from_memory_and_from_disk() -> None:
    spool, blocks = Spool(held=100), [bytes([i]) * (30 + i) for i in range(20)]
    for block in blocks:
        spool.append(block)
    assert len(spool) == 20
    assert spool.on_disk == sum(map(len, blocks[3:]))
    order = list(range(20))
    random.Random(1).shuffle(order)
    assert all(bytes(spool.read(i)) == blocks[i] for i in order)


def test_the_file_of_a_spool_in_a_cycle_is_closed_without_a_warning() -> None:
    """The collector may finish the file before its owner; a ResourceWarning would fail this test at its end."""
    spool = Spool(held=0)
    spool.append(b"text")
    cycle: list[Any] = [spool]
    cycle.append(cycle)
    del spool, cycle
    gc.collect()


@pytest.mark.parametrize("name", ["records", "texts", "batches", "reader"])
def test_streams_on_disk_are_read_as_often_as_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Spool] = []
    monkeypatch.setattr(streams, "Spool", lambda: made.append(Spool(held=3000)) or made[-1])
    given: dict[str, Any] = {
        "records": iter(RECORDS),
        "texts": (record["text"] for record in RECORDS),
        "batches": iter(TABLE.to_batches(max_chunksize=50)),
        "reader": TABLE.to_reader(max_chunksize=50),
    }
    documents: Any = open_documents(given[name], chunk_bytes=2000)
    assert made[0].on_disk > 3000
    assert len(made[0]) > 5
    names = ["text"] if name == "texts" else ["text", "id"]
    expected = [
        {key: record[key].encode() if key == "text" else record[key] for key in names} for record in RECORDS
    ]
    for _ in range(2):
        assert read_all(documents, names) == (expected, list(range(500)), [])
    stays = np.arange(500) % 7 == 0
    back = list(documents.give_back(stays))
    rows = [row for part in back for row in part.to_pylist()] if name in ("batches", "reader") else back
    wanted = [record["text"] if name == "texts" else record for record in RECORDS[::7]]
    assert rows == wanted


def test_tables_are_joined_and_cut_to_the_size_of_a_chunk() -> None:
    sizes = [3, 1, 0, 400, 5, 2]
    tables = [pa.table({"text": ["x" * 10] * size}) for size in sizes]
    blocks = list(in_blocks(tables, chunk_bytes=500))
    assert sum(block.num_rows for block in blocks) == sum(sizes)
    assert max(block.nbytes for block in blocks) <= 500 + 64
    assert blocks[0].num_rows == 4
    long = pa.table({"text": ["x" * 10_000, "y", "z" * 10_000]})
    assert [block.num_rows for block in in_blocks([long], chunk_bytes=500)] == [1, 1, 1]


class Growing:
    """A data set whose files grow: each scan yields more rows."""

    schema = pa.schema([("text", pa.string())])

    def __init__(self, *rows: int) -> None:
        self.rows = list(rows)

    def to_batches(self, columns: Any, **how: Any) -> Iterator[pa.RecordBatch]:
        texts = [f"text number {i}" for i in range(self.rows.pop(0))]
        return iter(pa.table({"text": texts}).to_batches(max_chunksize=30))


@pytest.mark.parametrize("later", [90, 110])
def test_a_data_set_with_other_rows_at_the_second_scan_is_refused(later: int) -> None:
    documents = ScannedDocuments(Growing(100, later), chunk_bytes=200)
    assert sum(len(chunk.read(["text"]).row_numbers) for chunk in documents.chunks()) == 100
    back = ScannedDocuments(Growing(later)).give_back(np.ones(100, np.bool_))
    for read in (lambda: list(documents.chunks()), back.read_all):
        with pytest.raises(InputError, match="other rows"):
            read()


def test_chunks_of_a_data_set_are_the_same_at_every_scan() -> None:
    documents = ScannedDocuments(Growing(100, 100, 100), chunk_bytes=200)
    first = {chunk.index: (chunk.first_row, chunk.read(["text"]).table) for chunk in documents.chunks()}
    assert len(first) > 5
    again = {chunk.index: (chunk.first_row, chunk.read(["text"]).table) for chunk in documents.chunks()}
    some = {chunk.index: (chunk.first_row, chunk.read(["text"]).table) for chunk in documents.chunks({3, 1})}
    assert again == first
    assert some == {index: first[index] for index in (1, 3)}


NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["a", None, NAN], "text", pa.large_string()),
        ([b"a", "b"], "text", pa.large_string()),
        (["a", 5, None], "text", pa.large_string()),
        ([1, None, np.int32(2)], "integer", pa.int64()),
        ([1, 2.5, Decimal("1.5")], "number", pa.float64()),
        ([True, None], "truth", pa.bool_()),
        ([True, 1], "other", None),
        ([None], "text", pa.large_string()),
        ([datetime.date(2026, 1, 1), None], "other", pa.date32()),
        ([datetime.datetime(2026, 1, 1)], "other", pa.timestamp("us")),
        ([[1], [2, 3]], "other", pa.list_(pa.int64())),
        ([{"a": 1}], "other", pa.struct([("a", pa.int64())])),
    ],
)
def test_kinds_of_columns_of_values(values: list[Any], kind: str, expected: Any) -> None:
    found = ValueTypes()
    found.add(values[:1])
    found.add(values[1:])
    assert found.kind == kind
    if expected is None:
        with pytest.raises(InputError):
            found.type(values, "column")
    else:
        assert found.type(values, "column") == expected


def test_numbers_beyond_64_bits_are_refused() -> None:
    found = ValueTypes()
    found.add([1 << 80])
    with pytest.raises(InputError):
        found.array([1 << 80], "n")
