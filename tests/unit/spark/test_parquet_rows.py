"""Kept rows become the bytes of Parquet, cut where Spark's writer of text puts the byte that it adds."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.spark.files import END, ParquetColumns, as_stored, carrier


def kinds(schema: pa.Schema) -> ParquetColumns:
    return ParquetColumns(schema.with_metadata({"made": "by a test"}), schema, "zstd", int96=False)


def file_of(given: ParquetColumns, batches: list[pa.RecordBatch], group: int = 1 << 26) -> bytes:
    """The bytes that Spark writes."""
    pieces = [batch["value"].view(pa.binary()) for batch in given.encode(iter(batches), group)]
    return b"".join(value.as_py() + END.encode() for piece in pieces for value in piece)


@pytest.mark.parametrize("group", [1, 1 << 26])
def test_the_pieces_and_their_ends_are_one_file(group: int) -> None:
    rows = pa.table({"id": range(3000), "text": [f"11 words of row {k}" for k in range(3000)]})
    given = kinds(rows.schema)
    made = pq.ParquetFile(io.BytesIO(file_of(given, rows.to_batches(max_chunksize=1000), group)))
    assert made.read().equals(rows)
    assert made.schema_arrow.metadata == {b"made": b"by a test"}
    assert made.metadata.num_row_groups == (3 if group == 1 else 1)
    assert made.metadata.row_group(0).column(1).compression == "ZSTD"


def test_without_rows_nothing_is_written_by_a_task() -> None:
    given = kinds(pa.schema([("id", pa.int64())]))
    assert not file_of(given, [pa.record_batch([pa.array([], pa.int64())], ["id"])])
    assert pq.read_table(io.BytesIO(given.without_rows())).equals(given.schema.empty_table())


def test_half_floats_come_back_from_their_bytes_within_other_types() -> None:
    half = pa.array([np.float16(1.5), None, np.float16(-2)], pa.float16())
    for made, as_bytes in (
        (half, pa.binary(2)),
        (pa.ListArray.from_arrays(pa.array([0, 2, 3]), half), pa.list_(pa.binary(2))),
        (
            pa.StructArray.from_arrays([half, pa.array(["a", None, "c"])], ["half", "text"]),
            pa.struct([("half", pa.binary(2)), ("text", pa.string())]),
        ),
    ):
        carried = made.view(as_bytes).cast(carrier(made.type))
        assert as_stored(carried, made.type).equals(made)


def test_a_value_that_its_type_has_no_room_for_is_an_error() -> None:
    with pytest.raises(pa.ArrowInvalid):
        as_stored(pa.array([256]), pa.uint8())
    with pytest.raises(pa.ArrowInvalid):
        as_stored(pa.array([1], pa.timestamp("us", "UTC")), pa.timestamp("ms", "UTC"))
