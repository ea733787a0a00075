"""Parquet: a chunk is some row groups, or some rows of a row group that is too big to decode at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import InputError
from neardup.readers.arrow_types import is_text, plain, schema_columns
from neardup.readers.base import (
    CHUNK_BYTES,
    Chunk,
    Format,
    NativeRows,
    NativeTable,
    Problem,
    Rows,
    failure_text,
    no_rows,
)
from neardup.readers.files import UNREADABLE, FileDocuments
from neardup.readers.parquet_plan import Part, exact_slices, plan
from neardup.readers.sources import Source


class ParquetDocuments(FileDocuments):
    """Parquet files that all have the same columns."""

    format: Format = "parquet"

    def __init__(self, sources: Sequence[Source], chunk_bytes: int = CHUNK_BYTES) -> None:
        super().__init__(sources)
        self._chunk_bytes = chunk_bytes
        self._failures: dict[int, str] = {}
        self._plans: dict[int, list[Part]] = {}
        self.metadata: list[Any] = [self._read_footer(i) for i in range(len(self.sources))]
        self.schema = self._common_schema()
        self.columns = schema_columns(self.schema, self.names[0])

    def _read_footer(self, position: int) -> Any:
        try:
            with open_parquet(self.sources[position]) as file:
                file.schema_arrow  # noqa: B018 - a type Arrow cannot read is found now, not in the middle
                return file.metadata
        except UNREADABLE as error:
            self._failures[position] = failure_text(error)
            return None

    def _common_schema(self) -> Any:
        good = [i for i, metadata in enumerate(self.metadata) if metadata is not None]
        if not good:
            raise InputError(
                f"{self.names[0]} is not a Parquet file that can be read: {self._failures[0]}",
                "A whole Parquet file",
                "Check that it was written to the end, and that its name has the right extension",
            )
        schema = self.metadata[good[0]].schema.to_arrow_schema()
        for i in good[1:]:
            other = self.metadata[i].schema.to_arrow_schema()
            _check_same(schema, other, self.names[good[0]], self.names[i])
            schema = _nullable_like(schema, other)
        return schema

    def pieces(
        self, position: int, first: int, want: Callable[[int], bool], columns: Sequence[str] | None
    ) -> Iterator[Chunk | None]:
        """Yield the chunks of one file."""
        if position in self._failures:
            yield self.failed(position, first, f"not a Parquet file: {self._failures[position]}")
            return
        index = first
        for part in self._plan(position):
            indexes = range(index, index + part.chunks)
            index += part.chunks
            if not any(map(want, indexes)):
                yield from (None for _ in indexes)
            elif part.batch_rows is None:
                yield _GroupsChunk(indexes[0], self, position, part)
            else:
                yield from self._stream(position, part, indexes, want, columns)

    def _plan(self, position: int) -> list[Part]:
        if position not in self._plans:
            with self.open(position) as file:
                self._plans[position] = plan(file, self._chunk_bytes)
        return self._plans[position]

    def _stream(
        self,
        position: int,
        part: Part,
        indexes: range,
        want: Callable[[int], bool],
        columns: Sequence[str] | None,
    ) -> Iterator[Chunk | None]:
        """Decode a big row group here, a batch at a time: its pages can only be read in order."""
        assert part.batch_rows is not None
        last = max(filter(want, indexes))
        row = part.first_row
        try:
            with self.open(position) as file:
                names = None if columns is None else list(dict.fromkeys(columns))
                batches = file.iter_batches(part.batch_rows, part.groups, names, use_threads=False)
                for index, table in zip(indexes, exact_slices(batches, part.batch_rows), strict=False):
                    yield _TableChunk(index, self, position, row, table) if want(index) else None
                    row += table.num_rows
                    if index == last:
                        break
        except UNREADABLE as error:
            yield from self._lost(position, part, indexes, want, row, error)
            return
        yield from (None for index in indexes if index > last)

    def _lost(
        self,
        position: int,
        part: Part,
        indexes: range,
        want: Callable[[int], bool],
        row: int,
        error: BaseException,
    ) -> Iterator[Chunk | None]:
        """Yield the problem and, so that later chunks keep their numbers, chunks without rows."""
        assert part.batch_rows is not None
        failed, *rest = indexes[(row - part.first_row) // part.batch_rows :]
        end = part.first_row + part.rows
        yield self.failed(position, failed, lost_rows(row, end, error), row) if want(failed) else None
        for index in rest:
            empty = self.schema.empty_table()
            yield _TableChunk(index, self, position, end, empty) if want(index) else None

    def open(self, position: int) -> Any:
        """Open one of the files, without reading its footer again."""
        return open_parquet(self.sources[position], self.metadata[position])

    def no_native(self) -> NativeRows:
        """Return an empty table with all columns."""
        return NativeTable(no_rows(), self.schema.empty_table())

    def native(self, table: Any) -> Any:
        """Return the table in the column order and types of the first file."""
        table = table.select(self.schema.names)
        return table if table.schema.equals(self.schema) else table.cast(self.schema)


@dataclass(frozen=True)
class _GroupsChunk:
    """One or more whole row groups, decoded by whoever reads the chunk."""

    index: int
    owner: ParquetDocuments
    position: int
    part: Part

    @property
    def source(self) -> str:
        return self.owner.names[self.position]

    def read(self, columns: Sequence[str]) -> Rows:
        table, row_numbers, problems = self._decode(list(dict.fromkeys(columns)))
        return Rows(plain(table.select(list(columns))), row_numbers, problems)

    def read_native(self) -> NativeRows:
        table, row_numbers, problems = self._decode(None)
        return NativeTable(row_numbers, self.owner.native(table), problems)

    def _decode(self, columns: list[str] | None) -> tuple[Any, Any, tuple[Problem, ...]]:
        part = self.part
        try:
            with self.owner.open(self.position) as file:
                table = file.read_row_groups(part.groups, columns, use_threads=False)
        except UNREADABLE:
            return self._rescue(columns)
        return table, np.arange(part.first_row, part.first_row + part.rows), ()

    def _rescue(self, columns: list[str] | None) -> tuple[Any, Any, tuple[Problem, ...]]:
        """Read the row groups one by one, so that a damaged one takes no other with it."""
        tables, numbers, problems = [self._empty(columns)], [no_rows()], []
        row = self.part.first_row
        for group in self.part.groups:
            end = row + self.owner.metadata[self.position].row_group(group).num_rows
            try:
                with self.owner.open(self.position) as file:
                    tables.append(file.read_row_group(group, columns, use_threads=False))
                numbers.append(np.arange(row, end))
            except UNREADABLE as error:
                problems.append(Problem(self.source, row, lost_rows(row, end, error)))
            row = end
        return pa.concat_tables(tables), np.concatenate(numbers), tuple(problems)

    def _empty(self, columns: list[str] | None) -> Any:
        schema = self.owner.metadata[self.position].schema.to_arrow_schema()
        empty = schema.empty_table()
        return empty if columns is None else empty.select([n for n in schema.names if n in columns])


@dataclass(frozen=True, eq=False)
class _TableChunk:
    """Some rows of a big row group, decoded already."""

    index: int
    owner: ParquetDocuments
    position: int
    first_row: int
    table: Any

    @property
    def source(self) -> str:
        return self.owner.names[self.position]

    def read(self, columns: Sequence[str]) -> Rows:
        return Rows(plain(self.table.select(list(columns))), self._row_numbers())

    def read_native(self) -> NativeRows:
        return NativeTable(self._row_numbers(), self.owner.native(self.table))

    def _row_numbers(self) -> Any:
        return np.arange(self.first_row, self.first_row + self.table.num_rows)


def open_parquet(source: Source, metadata: Any = None) -> Any:
    """Open a Parquet file to be read a column chunk at a time."""
    # pre_buffer would load the column chunks of all row groups asked for at once, a big row group whole.
    if source.is_local:
        return pq.ParquetFile(source.path, metadata=metadata, memory_map=True, pre_buffer=False)
    # Without a map, a buffer keeps a big column chunk from being fetched whole.
    return pq.ParquetFile(source.open_raw(), metadata=metadata, buffer_size=1 << 20, pre_buffer=False)


def lost_rows(start: int, end: int, error: BaseException) -> str:
    """Say which rows a damaged row group takes with it."""
    return f"rows {start} to {end - 1} are lost, their row group cannot be read: {failure_text(error)}"


def _check_same(schema: Any, other: Any, first: str, name: str) -> None:
    for column in dict.fromkeys((*schema.names, *other.names)):
        here = schema.field(column).type if column in schema.names else None
        there = other.field(column).type if column in other.names else None
        if here is None or there is None or not (here.equals(there) or (is_text(here) and is_text(there))):
            raise InputError(
                f'The column "{column}" is {there or "missing"} in {name} but {here or "missing"} in {first}',
                "All files of one input have the same columns",
                "Run the files apart, or rewrite them with one schema",
            )


def _nullable_like(schema: Any, other: Any) -> Any:
    for i, field in enumerate(schema):
        if not field.nullable and other.field(field.name).nullable:
            schema = schema.set(i, field.with_nullable(True))
    return schema
