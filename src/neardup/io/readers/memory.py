"""Documents in memory: Arrow tables, any object with Arrow data, lists of strings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers.arrow_types import is_text, kind_of, plain, row_lengths, schema_columns, without_views
from neardup.io.readers.base import CHUNK_BYTES, Chunk, Format, NativeRows, NativeTable, ReadRows, Sink
from neardup.io.readers.fields import VirtualColumns
from neardup.io.readers.findings import Findings
from neardup.io.writers.kept_parquet import ParquetSink, extended

# Bounds the per-row work of a chunk when the texts are very short.
CHUNK_ROWS = 65536

NAME = "input"


class ArrowDocuments:
    """A table in memory; chunks are slices of it, without copies."""

    format: Format = "arrow"

    def __init__(self, table: Any, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.table = table
        # The schema of native rows, without views: Arrow can neither filter nor write views everywhere.
        self.schema = without_views(table.schema)
        self.names = (NAME,)
        self.findings = Findings()
        self.columns = schema_columns(table.schema, "The table")
        self.size_bytes: int | None = _size(table)
        self.virtual = VirtualColumns()
        self._chunk_bytes = chunk_bytes
        self._bounds: list[int] | None = None

    def require(self, text: str, id: str | None) -> None:
        """Accept any row: columns of a table have types."""
        self.virtual = VirtualColumns.of(self.table.column_names, text, id)

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[Chunk]:
        """Yield slices of at most ``chunk_bytes`` of text and ``CHUNK_ROWS`` rows."""
        if self._bounds is None:
            self._bounds = [0, *_ends(self.table, self._chunk_bytes)]
        chosen = None if wanted is None else frozenset(wanted)
        for index, (start, end) in enumerate(pairwise(self._bounds)):
            if chosen is None or index in chosen:
                yield _SliceChunk(index, start, self.table.slice(start, end - start), self.schema, self.virtual)

    def sink(self, folder: Path, extra: Any, threads: int = 1) -> Sink:
        """Open ``kept.parquet``."""
        return ParquetSink(folder / "kept.parquet", extended(self.schema, extra), threads=threads)


def _size(table: Any) -> int:
    try:
        return int(table.nbytes)
    except pa.ArrowTypeError:  # pyarrow before 24 cannot compute the size of string views
        return int(table.get_total_buffer_size())


@dataclass(frozen=True, eq=False)
class _SliceChunk:
    index: int
    first_row: int
    table: Any
    schema: Any
    virtual: VirtualColumns
    source: str = NAME

    def read(self, columns: Sequence[str]) -> ReadRows:
        return ReadRows(plain(self.virtual.table(self.table, columns)), self._row_numbers())

    def read_native(self) -> NativeRows:
        same = self.table.schema.equals(self.schema)
        return NativeTable(self._row_numbers(), self.table if same else self.table.cast(self.schema))

    def _row_numbers(self) -> Any:
        return np.arange(self.first_row, self.first_row + self.table.num_rows)


def _ends(table: Any, chunk_bytes: int) -> Iterator[int]:
    texts = table.select([field.name for field in table.schema if kind_of(field.type) == "text"])
    for start in range(0, table.num_rows, CHUNK_ROWS):
        rows = min(CHUNK_ROWS, table.num_rows - start)
        yield from (start + end for end in cut_by_bytes(row_lengths(texts.slice(start, rows)), chunk_bytes))
        # The lengths of a table without text columns are an empty array: keep its rows in one chunk.
        if not texts.num_columns:
            yield start + rows


def cut_by_bytes(lengths: Any, chunk_bytes: int) -> Iterator[int]:
    """Yield the ends of runs of at most ``chunk_bytes`` each; a longer item is a run of its own."""
    totals = np.cumsum(lengths)
    start, before = 0, 0
    while start < len(totals):
        fits = int(np.searchsorted(totals, before + chunk_bytes, side="right"))
        start = max(fits, start + 1)
        before = int(totals[start - 1])
        yield start


def from_strings(texts: Sequence[object], chunk_bytes: int = CHUNK_BYTES) -> ArrowDocuments:
    """Return documents made of Python strings; their ids are 0, 1, 2 ..."""
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"The list holds {type(text).__name__} at position {position}",
                "A list of str (texts) or a list of pathlib.Path (files)",
                "Convert or drop that item",
            )
    try:
        array = pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        # Lone surrogates have no UTF-8 form; as bytes they reach the kernel that counts and replaces them.
        encoded = [str(text).encode("utf-8", "surrogatepass") for text in texts]
        array = pa.array(encoded, pa.large_binary())
    return ArrowDocuments(pa.table({"text": array}), chunk_bytes)


def from_arrow(data: Any, chunk_bytes: int = CHUNK_BYTES) -> ArrowDocuments:
    """Return documents from any object with an Arrow capsule: a table, or one column of strings."""
    table = _hugging_face(data)
    try:
        if table is None:
            table = _table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"{type(data).__name__} is neither a table nor a column of strings: {error}",
            "A table, data frame or string column with an Arrow interface",
            "Convert it to a pyarrow.Table",
        ) from error
    return ArrowDocuments(table, chunk_bytes)


def _table(data: Any) -> Any:
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return _one_column(data)
    if hasattr(data, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(data).read_all()
        except pa.ArrowInvalid:  # a stream of plain arrays, not of record batches
            return _one_column(pa.chunked_array(data))
    array = pa.array(data)
    return pa.table(data) if pa.types.is_struct(array.type) else _one_column(array)


def _one_column(array: Any) -> Any:
    type_ = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if not is_text(type_):
        raise TypeError(f"the column holds {array.type}")
    return pa.table({"text": array})


def _hugging_face(data: Any) -> Any:
    """Return the table of a Hugging Face dataset that has no Arrow capsule, else None."""
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return None
    # A filtered or shuffled dataset is its table plus a list of indices; requesting rows applies both.
    if getattr(data, "_indices", None) is not None and hasattr(data, "with_format"):
        return data.with_format("arrow")[:]
    return data.data.table


def is_arrow(data: object) -> bool:
    """Return whether the object can be read as Arrow data."""
    capsule = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    return capsule or hasattr(getattr(data, "data", None), "table")
