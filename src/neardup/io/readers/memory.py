"""Rows that are held by this process: any run of them becomes an Arrow table, and some of them are given back."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers import arrow
from neardup.io.readers.base import CHUNK_BYTES, Column, Findings, Format, NativeRows, NativeTable, ReadRows, Sink
from neardup.io.readers.fields import FieldPath, VirtualColumns
from neardup.io.writers.kept_formats import extended_schema
from neardup.io.writers.kept_parquet import ParquetSink
from neardup.tables import Bools

NAME = "input"

GivenBack = Callable[[Bools], Any]
"""Returns the rows for which an array is true, in the type of the caller's object."""


class HeldRows(ABC):
    """Rows of the caller: a frame, a list, a data set. ``len`` is their number, which must not change.

    ``size_bytes``: their size in memory, if that is known without reading. ``step``: number of rows that may be
    measured at a time: few, where measuring makes a copy of them. ``given``: the columns of the text and the id,
    if the form of the rows says which they are, so that neither is guessed.
    """

    columns: tuple[Column, ...]
    size_bytes: int | None = None
    step = 4096
    given: tuple[str | None, str | None] = None, None

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @abstractmethod
    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column. Raises InputError for values without one."""

    @abstractmethod
    def table(self, start: int, stop: int, names: Sequence[str]) -> pa.Table:
        """Return these columns of some rows; threads may call it at the same time."""

    @abstractmethod
    def rows_that_stay(self, stays: Bools) -> Any:
        """Return the rows for which ``stays`` (bool[rows]) is true, in the type of the caller's object."""

    def require(self, text: str) -> None:  # noqa: B027 - the kinds of most columns say what they hold
        """Raise InputError if a value of the column cannot be a text."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of all columns. Raises InputError for a column that Arrow has no type for."""
        return pa.schema([(column.name, self.type_of(column.name)) for column in self.columns])


class ArrowRows(HeldRows):
    """The rows of a table; ``back`` returns some of them in the type of the object that it was made from."""

    step = arrow.CHUNK_ROWS

    def __init__(self, table: pa.Table, back: GivenBack | None = None) -> None:
        self.whole, self.size_bytes = table, arrow.size_of(table)
        self.columns = arrow.schema_columns(table.schema, "The table")
        self._back = back or (lambda stays: arrow.chosen(table, stays))

    def __len__(self) -> int:
        return int(self.whole.num_rows)

    @property
    def schema(self) -> pa.Schema:
        """The schema, with its metadata."""
        return self.whole.schema

    def type_of(self, name: str) -> pa.DataType:
        """The type of a column."""
        return self.whole.schema.field(name).type

    def table(self, start: int, stop: int, names: Sequence[str]) -> pa.Table:
        """Return a slice, without a copy."""
        return self.whole.slice(start, stop - start).select(list(names))

    def rows_that_stay(self, stays: Bools) -> Any:
        """Return the rows that stay."""
        return self._back(stays)


class ObjectDocuments:
    """Rows of an object of the caller as documents: every row is good, and becomes Arrow data when it is read."""

    format: Format = "arrow"

    def __init__(self, columns: tuple[Column, ...], size_bytes: int | None = None) -> None:
        self.names: tuple[str, ...] = (NAME,)
        self.findings = Findings()
        self.columns, self.size_bytes = columns, size_bytes
        self.virtual = VirtualColumns()

    def require(self, text: str, id: str | None) -> None:
        """Accept any row: the kind of a column says that it holds texts."""
        self.virtual = VirtualColumns.of([column.name for column in self.columns], text, id)

    def whole_columns(self, text: str) -> list[str]:
        """Return the columns that a text needs as a whole, not for a field of their records."""
        return [path.root for path in self.virtual.made.get(text, (FieldPath(text),)) if not path.steps]

    def offer(self, fields: Mapping[str, tuple[FieldPath, pa.DataType]]) -> None:
        """Offer fields of records as columns."""
        self.virtual = self.virtual.with_values(fields)

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column. Raises InputError for values without one."""
        raise NotImplementedError

    def table_of(self, chunk: "ObjectChunk", names: Sequence[str]) -> pa.Table:
        """Return columns of a chunk; threads may call it at the same time."""
        raise NotImplementedError

    @cached_property
    def bounds(self) -> list[int]:
        """The first row of each chunk, and the end."""
        raise NotImplementedError

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> "Iterator[ObjectChunk]":
        """Yield runs of rows, which are read when they are needed."""
        chosen = None if wanted is None else frozenset(wanted)
        for index, (start, end) in enumerate(pairwise(self.bounds)):
            if chosen is None or index in chosen:
                yield ObjectChunk(index, start, end, self)

    @cached_property
    def native_schema(self) -> pa.Schema:
        """The schema of native rows. Raises InputError for a column that Arrow has no type for."""
        return pa.schema([(column.name, self.type_of(column.name)) for column in self.columns])

    def sink(self, folder: Path, extra: Any, threads: int = 1) -> Sink:
        """Open ``kept.parquet``, without views, which pyarrow before 21 cannot write to Parquet."""
        schema = extended_schema(arrow.without_views(self.native_schema), extra)
        return ParquetSink(folder / "kept.parquet", schema, threads=threads)


@dataclass(frozen=True, eq=False)
class ObjectChunk:
    """The rows ``first_row`` … ``stop`` − 1 of an object; ``held`` are the ones that were read already."""

    index: int
    first_row: int
    stop: int
    owner: ObjectDocuments
    held: Any = None
    source: str = NAME

    def read(self, columns: Sequence[str]) -> ReadRows:
        """Read the requested columns."""
        virtual = self.owner.virtual
        found = self.owner.table_of(self, virtual.roots(columns))
        return ReadRows(arrow.plain(virtual.table(found, columns)), self._row_numbers())

    def read_native(self) -> NativeRows:
        """Return the rows with all their columns. Raises InputError for a column that Arrow has no type for."""
        schema = self.owner.native_schema
        return NativeTable(
            self._row_numbers(), arrow.fitted_table(self.owner.table_of(self, schema.names), schema)
        )

    def _row_numbers(self) -> Any:
        return np.arange(self.first_row, self.stop)


class HeldDocuments(ObjectDocuments):
    """Rows that are held by this process: chunks are runs of rows, which are read when they are needed."""

    def __init__(self, rows: HeldRows, chunk_bytes: int = CHUNK_BYTES) -> None:
        super().__init__(rows.columns, rows.size_bytes)
        self.rows = rows
        self.count, self.given = len(rows), rows.given
        self._chunk_bytes = chunk_bytes

    def require(self, text: str, id: str | None) -> None:
        """Refuse a column with values that are not texts."""
        super().require(text, id)
        for name in self.whole_columns(text):
            self.rows.require(name)

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column. Raises InputError for values without one."""
        return self.rows.type_of(name)

    @cached_property
    def native_schema(self) -> pa.Schema:
        """The schema of native rows. Raises InputError for a column that Arrow has no type for."""
        return self.rows.schema

    @cached_property
    def bounds(self) -> list[int]:
        """The ends of runs of at most ``chunk_bytes`` of text and ``CHUNK_ROWS`` rows, after 0."""
        return [0, *self._ends()]

    def table_of(self, chunk: ObjectChunk, names: Sequence[str]) -> pa.Table:
        """Return columns of a chunk. Raises InputError if the object has changed."""
        self._require_unchanged()
        return self.rows.table(chunk.first_row, chunk.stop, names)

    def give_back(self, stays: Bools) -> Any:
        """Return the rows that stay, in the type of the caller's object. Raises InputError if it has changed."""
        self._require_unchanged()
        return self.rows.rows_that_stay(stays)

    def _require_unchanged(self) -> None:
        if len(self.rows) != self.count:
            raise InputError(
                f"The documents have changed: there were {self.count:,} rows, and there are {len(self.rows):,}",
                "The object that was given, unchanged",
                "Give a copy of it",
            )

    def _ends(self) -> Iterator[int]:
        texts = [column.name for column in self.columns if column.kind == "text"]
        for first in range(0, self.count, arrow.CHUNK_ROWS):
            until = min(first + arrow.CHUNK_ROWS, self.count)
            if not texts:
                yield until
                continue
            steps = range(first, until, self.rows.step)
            parts = (self.rows.table(at, min(at + self.rows.step, until), texts) for at in steps)
            lengths = np.concatenate([arrow.row_lengths(part) for part in parts])
            yield from (first + end for end in arrow.cut_by_bytes(lengths, self._chunk_bytes))
