"""Frames and series of any library that narwhals knows, in memory or lazy.

A lazy frame is executed once, batch by batch; the rows that stay come back as a lazy frame.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import InputError
from neardup.io.frames.arrow import from_table, no_texts_error
from neardup.io.frames.python import ValueTypes, text_array, typed_values
from neardup.io.frames.streams import Portions, Returned, as_reader, batches_of, spooled_tables
from neardup.io.readers.arrow import kind_of
from neardup.io.readers.base import CHUNK_BYTES, Column, Documents
from neardup.io.readers.memory import HeldRows
from neardup.tables import Bools, one_array


class FrameRows(HeldRows):
    """The rows of a data frame; columns become Arrow data run by run, when they are needed.

    Columns of Python objects (``dtype=object`` of pandas) have the kind of all their values; only those that are
    used must have an Arrow type.
    """

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self._frame = frame
        self._names = require_names(frame.columns)
        self._types: dict[str, pa.DataType] = {}
        self._objects: dict[str, ValueTypes] = {}
        head = frame[:0]
        for position, (name, dtype) in enumerate(zip(self._names, frame.schema.values(), strict=True)):
            type_ = arrow_type(head[:, position], dtype)
            if type_ is None:
                self._objects[name] = found = ValueTypes()
                found.add(frame[:, position].to_list())
            else:
                self._types[name] = type_
        self.columns = tuple(Column(name, self._kind(name)) for name in self._names)

    def _kind(self, name: str) -> Any:
        return self._objects[name].kind if name in self._objects else kind_of(self._types[name])

    def __len__(self) -> int:
        return len(self._frame)

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column, for objects that of all its values."""
        if name not in self._types:
            values = self._frame[:, self._names.index(name)].to_list()
            self._types[name] = self._objects[name].type(values, name)
        return self._types[name]

    def table(self, start: int, stop: int, names: Sequence[str]) -> pa.Table:
        """Return columns of some rows."""
        part = self._frame[start:stop]
        return pa.table([self._column(part, name) for name in names], names=list(names))

    def _column(self, part: nw.DataFrame[Any], name: str) -> Any:
        series = part[:, self._names.index(name)]
        if name in self._objects:
            return typed_values(self._objects[name], series.to_list(), name, self.type_of(name))
        return column_of(series, self._types[name], name)

    def require(self, text: str) -> None:
        """Raise InputError if a value of the column is not a string."""
        if text in self._objects:
            self._objects[text].require_texts(self._frame[:, self._names.index(text)].to_list(), text)

    def rows_that_stay(self, stays: Bools) -> Any:
        """Return the rows that stay, with their index if the frame has one."""
        return self._frame[np.flatnonzero(stays)].to_native()


class SeriesRows(FrameRows):
    """The values of a series of strings as rows with the one column ``text``."""

    def __init__(self, series: nw.Series[Any]) -> None:
        super().__init__(series.alias("text").to_frame())
        self._series = series
        if "text" in self._types and self.columns[0].kind != "text":
            raise no_texts_error(series.to_native(), f"the column holds {series.dtype}")
        if "text" in self._objects and not self._objects["text"].is_text:
            types = sorted(each.__name__ for each in self._objects["text"].types)
            raise no_texts_error(series.to_native(), f"it holds {', '.join(types[:3])}")

    def rows_that_stay(self, stays: Bools) -> Any:
        """Return the values that stay, with their index if the series has one."""
        return self._series[np.flatnonzero(stays)].to_native()


def require_names(columns: Sequence[Any]) -> list[str]:
    """Return the names of columns as strings. Raises InputError if two are the same."""
    names = [str(name) for name in columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f'The table has the column "{twice}" more than once',
            "Every column needs a name of its own",
            "Rename or drop one of them",
        )
    return names


def arrow_type(nothing: nw.Series[Any], dtype: Any) -> pa.DataType | None:
    """The Arrow type of a series, from an empty part of it; None for Python objects of any types."""
    if dtype == nw.Object:
        return None
    try:
        found = arrow_array(nothing).type
    except (pa.ArrowException, TypeError, ValueError):
        return None
    # an empty column of str objects has no type of its own
    return pa.large_string() if dtype == nw.String and pa.types.is_null(found) else found


def arrow_array(series: nw.Series[Any]) -> pa.Array | pa.ChunkedArray:
    """Return the values of a series in their order.

    Arrow asks once in a process whether pandas can be imported. Where it could not at that time, Arrow takes a
    series for a sequence, and reads it by label. So the values of pandas, and of its likes, are handed over
    without their index. Raises what Arrow and numpy raise for values without an Arrow type.
    """
    if not series.implementation.is_pandas_like() or series.implementation.is_cudf():
        return series.to_arrow()
    return _array_of_pandas(series.to_pandas().array)


def _array_of_pandas(values: Any) -> pa.Array | pa.ChunkedArray:
    if hasattr(values, "__arrow_array__"):
        return pa.array(values)
    if hasattr(values, "categories"):
        codes, names = pa.array(values.codes, mask=values.codes < 0), _array_of_pandas(values.categories.array)
        names = one_array(names) if isinstance(names, pa.ChunkedArray) else names
        return pa.DictionaryArray.from_arrays(codes, names, ordered=values.ordered)
    zone = getattr(values.dtype, "tz", None)
    if zone is not None:
        type_ = pa.timestamp(values.unit, tz=pa.lib.tzinfo_to_string(zone))
        return pa.array(np.asarray(values.tz_convert(None)), type_)
    return pa.array(np.asarray(values), from_pandas=True)


def column_of(series: nw.Series[Any], type_: pa.DataType, name: str) -> Any:
    """Return a series as an Arrow array of a type. Raises InputError for values that do not fit."""
    try:
        array = arrow_array(series)
        return array if array.type.equals(type_) else pc.cast(array, type_)
    except UnicodeEncodeError:
        return text_array(series.to_list())
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f'The values of "{name}" cannot be used: {error}',
            "A column with values of one type",
            "Convert them, or leave that column out",
        ) from error


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

    def lazy_frame(portions: Callable[[], Portions]) -> Any:
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

    return lazy_frame


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
