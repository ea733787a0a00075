from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.io.writers.kept_parquet import EncodedFile, Layout, ParquetSink, PartsWriter, encode_table

ROWS = 1000
TABLE = pa.table(
    {
        "text": [f"text {i} " * (i % 7) for i in range(ROWS)],
        "none": pa.array([None] * ROWS, pa.string()),
        "lang": pa.array(["en", "de"] * (ROWS // 2)).dictionary_encode(),
        "tags": [[i, None] if i % 3 else None for i in range(ROWS)],
        "deep": [{"a": float(i), "b": [str(i)]} for i in range(ROWS)],
    }
).replace_schema_metadata({"made": "by hand"})
OPTIONS: list[dict[str, Any]] = [
    {},
    {"compression": "zstd", "data_page_version": "2.0"},
    {"use_dictionary": False},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("sizes", [[], [ROWS], [300, 1, 699]])
def test_the_file_is_the_one_that_arrow_writes_in_one_thread(
    tmp_path: Path, options: dict[str, Any], sizes: list[int]
) -> None:
    file = PartsWriter(tmp_path / "parts.parquet", encode_table(TABLE.schema.empty_table(), **options))
    first = 0
    with pq.ParquetWriter(tmp_path / "arrow.parquet", TABLE.schema, **options) as whole:
        for size in sizes:
            group = TABLE.slice(first, size)
            file.add(encode_table(group, **options))
            whole.write_table(group)
            first += size
    file.close()
    if int(pa.__version__.split(".")[0]) >= 20:  # before, Arrow writes some places of the first group differently
        assert (tmp_path / "parts.parquet").read_bytes() == (tmp_path / "arrow.parquet").read_bytes()
    assert pq.read_table(tmp_path / "parts.parquet").equals(pq.read_table(tmp_path / "arrow.parquet"))
    assert pl.read_parquet(tmp_path / "parts.parquet").height == first


def test_indexes_and_filters_are_left_out_because_their_places_change(tmp_path: Path) -> None:
    part = encode_table(TABLE, write_page_index=True)
    file = PartsWriter(tmp_path / "parts.parquet", encode_table(TABLE.schema.empty_table()))
    file.add(part)
    file.add(part)
    file.close()
    column = pq.read_metadata(tmp_path / "parts.parquet").row_group(1).column(0)
    assert not column.has_offset_index
    assert not column.has_column_index
    assert pq.read_table(tmp_path / "parts.parquet").equals(pa.concat_tables([TABLE, TABLE]))


def test_no_byte_depends_on_the_number_of_threads(tmp_path: Path) -> None:
    keep = np.random.default_rng(3).random(ROWS) < 0.7
    for threads in (1, 2, 9):
        sink = ParquetSink(tmp_path / f"{threads}.parquet", TABLE.schema, Layout(rows=64), threads)
        for first in range(0, ROWS, 90):
            sink.write(TABLE.slice(first, 90).filter(pa.array(keep[first : first + 90])))
        sink.close()
    one = (tmp_path / "1.parquet").read_bytes()
    assert EncodedFile(one).rows == keep.sum()
    assert (tmp_path / "2.parquet").read_bytes() == one
    assert (tmp_path / "9.parquet").read_bytes() == one
    assert pq.read_table(tmp_path / "1.parquet").equals(TABLE.filter(pa.array(keep)))
