"""Data sets of pyarrow (``pyarrow.dataset``): scanned again for each pass, and never held whole."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import pyarrow as pa

from neardup.errors import InputError
from neardup.io.frames.spool import in_blocks
from neardup.io.readers.arrow_rows import chosen, no_rows_of, schema_columns
from neardup.io.readers.arrow_types import fitted
from neardup.io.readers.base import CHUNK_BYTES, Chunk
from neardup.io.readers.memory import ObjectChunk, ObjectDocuments
from neardup.tables import Bools

_AHEAD = 2
"""Batches and fragments that are read ahead; the default of pyarrow holds gigabytes of long texts."""


class ScannedDocuments(ObjectDocuments):
    """A data set of files. The first pass over all rows defines the chunks, in runs of rows of the scan."""

    def __init__(self, data: Any, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._schema = data.schema
        super().__init__(schema_columns(self._schema, "The data set"))
        self._data, self._chunk_bytes = data, chunk_bytes
        self._bounds: list[int] | None = None

    def type_of(self, name: str) -> pa.DataType:
        """The type of a column."""
        return self._schema.field(name).type

    @cached_property
    def native_schema(self) -> pa.Schema:
        """The schema of native rows, with its metadata."""
        return self._schema

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[Chunk]:
        """Yield the chunks, with these columns decoded."""
        names = list(dict.fromkeys(columns or ())) or self._schema.names
        if self._bounds is None:
            yield from self._first_pass(wanted, names)
            return
        chosen = None if wanted is None else frozenset(wanted)
        last = len(self._bounds) if chosen is None else max(chosen, default=-1) + 1
        for index, table in enumerate(self._again(names, last)):
            first = self._bounds[index]
            if chosen is None or index in chosen:
                yield ObjectChunk(index, first, first + table.num_rows, self, table)

    def _first_pass(self, wanted: Collection[int] | None, names: list[str]) -> Iterator[Chunk]:
        bounds = [0]
        for index, table in enumerate(in_blocks(self._tables(names), self._chunk_bytes)):
            if wanted is None or index in wanted:
                yield ObjectChunk(index, bounds[-1], bounds[-1] + table.num_rows, self, table)
            bounds.append(bounds[-1] + table.num_rows)
        self._bounds = bounds

    def _again(self, names: list[str], last: int) -> Iterator[pa.Table]:
        """Yield the first ``last`` chunks. Raises InputError if there are more or fewer rows than before."""
        assert self._bounds is not None
        tables, held = self._tables(names), no_rows_of(self._schema).select(names)
        for first, until in list(pairwise(self._bounds))[:last]:
            parts, rows = [held], held.num_rows
            while rows < until - first:
                table = next(tables, None)
                if table is None:
                    raise _changed()
                parts.append(table)
                rows += table.num_rows
            whole = pa.concat_tables(parts)
            yield whole.slice(0, until - first)
            held = whole.slice(until - first)
        if last >= len(self._bounds) and (held.num_rows or next(tables, None) is not None):
            raise _changed()

    def _tables(self, names: list[str]) -> Iterator[pa.Table]:
        batches = self._data.to_batches(
            columns=names, batch_readahead=_AHEAD, fragment_readahead=_AHEAD, batch_size=8192
        )
        schema = pa.schema([self._schema.field(name) for name in names])
        try:
            for batch in batches:
                if batch.num_rows:
                    yield fitted(pa.Table.from_batches([batch]), schema)
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"The data set cannot be read: {error}", "Files that can be read to their end", "Check them"
            ) from error

    def table_of(self, chunk: ObjectChunk, names: Sequence[str]) -> pa.Table:
        """Return columns of a chunk, which is decoded already."""
        return chunk.held.select(list(names))

    def give_back(self, stays: Bools) -> pa.RecordBatchReader:
        """Return a reader of the rows that stay; it scans the data set once more."""

        def batches() -> Iterator[pa.RecordBatch]:
            first = 0
            for table in self._tables(self._schema.names):
                until = first + table.num_rows
                if until > len(stays):
                    raise _changed()
                yield from chosen(table, stays[first:until]).to_batches()
                first = until
            if first < len(stays):
                raise _changed()

        return pa.RecordBatchReader.from_batches(self._schema, batches())


def _changed() -> InputError:
    return InputError(
        "The data set has other rows than before",
        "Files that do not change while they are used",
        "Start again when nothing writes to them",
    )
