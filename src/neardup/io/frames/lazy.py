"""Lazy frames and relations: executed once, batch by batch; the rows that stay come back as a lazy frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import narwhals as nw
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.frames.arrow import from_table
from neardup.io.frames.spool import Portions, Returned
from neardup.io.frames.streams import as_reader, batches_of, spooled_tables
from neardup.io.readers.base import CHUNK_BYTES, Documents


def from_lazy(frame: nw.LazyFrame[Any], chunk_bytes: int = CHUNK_BYTES) -> Documents:
    """Execute a lazy frame once. Polars, DuckDB and all with an Arrow stream yield batches, others one table.

    What stays of polars is a LazyFrame, of DuckDB a relation of the default connection; of others it is a
    ``RecordBatchReader`` or a table. Raises InputError for a frame of Spark.
    """
    native = frame.to_native()
    if frame.implementation.is_spark_like():
        raise InputError(
            f"{type(native).__name__} is a frame of Spark, whose rows may not fit into this process",
            "Frames of this machine",
            "Use neardup.spark.dedup, which runs on the cluster",
        )
    if frame.implementation.is_polars():
        # another evaluation may return the rows in another order, so it is neither read nor filtered twice
        tables = (batch.to_arrow() for batch in native.collect_batches(maintain_order=True))
        return spooled_tables(tables, native.clear().collect().to_arrow().schema, _as_lazy_polars, chunk_bytes)
    if hasattr(native, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(native)
        returned = _as_relation if frame.implementation.is_duckdb() else as_reader
        return spooled_tables(map(_table, reader), reader.schema, returned, chunk_bytes)
    return from_table(frame.collect("pyarrow").to_native(), None, chunk_bytes)


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _as_lazy_polars(schema: pa.Schema) -> Returned:
    """A scan that reads the rows again each time it is executed."""
    import polars as pl
    from polars.io.plugins import register_io_source

    def returned(portions: Callable[[], Portions]) -> Any:
        def scan(columns: Any, predicate: Any, most: int | None, batch_size: int | None) -> Iterator[Any]:
            left = most  # of the rows here, before the predicate
            for table in portions():
                part = table if left is None else table.slice(0, left)
                frame = pl.from_arrow(part if columns is None else part.select(columns))
                yield frame if predicate is None else frame.filter(predicate)
                left = None if left is None else left - part.num_rows
                if left == 0:
                    return

        return register_io_source(scan, schema=pl.from_arrow(schema.empty_table()).schema)  # type: ignore[union-attr]

    return returned


def _as_relation(schema: pa.Schema) -> Returned:
    """A relation that reads the rows again each time it is executed."""
    import duckdb

    return lambda portions: duckdb.from_arrow(_Scanned(schema, portions))


class _Scanned:
    """Rows with a new Arrow stream for each reader."""

    def __init__(self, schema: pa.Schema, portions: Callable[[], Portions]) -> None:
        self._schema, self._portions = schema, portions

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader = pa.RecordBatchReader.from_batches(self._schema, batches_of(self._portions()))
        return reader.__arrow_c_stream__(requested_schema)
