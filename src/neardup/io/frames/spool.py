"""Streams are read once: their rows wait in blocks, the first ones in memory and all others in an unnamed file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from neardup.io.readers.arrow_rows import chosen, size_of
from neardup.io.readers.arrow_types import cut_by_bytes, fitted, row_lengths
from neardup.io.readers.base import CHUNK_BYTES, Chunk, Column
from neardup.io.readers.memory import CHUNK_ROWS, ObjectChunk, ObjectDocuments
from neardup.io.writers.scratch import NumberFile, Scratch
from neardup.tables import Bools

HELD_BYTES = 64 << 20
"""Bytes of blocks that stay in memory; small streams need no file."""


class Spool:
    """Blocks of bytes, in the order in which they were written; any thread may read them.

    The first ``held`` bytes are in memory, the others in an unnamed file in the folder for working files, which
    disappears with the spool. Raises OutputError if there is no room.
    """

    def __init__(self, held: int = HELD_BYTES) -> None:
        self._room = held
        self._blocks: list[Any | tuple[int, int]] = []
        self._file: NumberFile | None = None

    def __len__(self) -> int:
        return len(self._blocks)

    @property
    def on_disk(self) -> int:
        """Bytes in the file."""
        return 0 if self._file is None else len(self._file)

    def append(self, block: Any) -> None:
        """Write one block, an object with the buffer protocol."""
        size = memoryview(block).nbytes
        if size <= self._room:
            self._room -= size
            self._blocks.append(block)
            return
        self._room = 0
        if self._file is None:
            self._file = Scratch().numbers(np.uint8)
        start = len(self._file)
        self._file.append(np.frombuffer(block, np.uint8))
        self._blocks.append((start, start + size))

    def read(self, number: int) -> Any:
        """Return a block."""
        block = self._blocks[number]
        if not isinstance(block, tuple):
            return block
        assert self._file is not None
        return self._file.read(*block).data


class BlockContent(Protocol):
    """The meaning of the blocks of a spool."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns and their kinds."""

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column. Raises InputError for values without one."""

    def table(self, block: Any, names: Sequence[str]) -> pa.Table:
        """Return columns of the rows of a block."""

    def rows(self, block: Any, stays: Bools) -> Any:
        """Return the rows of a block that stay, as the caller's stream held them."""

    def require(self, text: str) -> None:
        """Raise InputError if a value of the column is not a text."""


Portions = Iterator[Any]
Returned = Callable[[Callable[[], Portions]], Any]
"""From a function that yields the rows that stay, portion by portion, to an object of the caller's type."""


class SpooledDocuments(ObjectDocuments):
    """The rows of a stream as documents: each block is a chunk. ``returned`` makes what ``give_back`` returns."""

    def __init__(self, spool: Spool, counts: Sequence[int], content: BlockContent, returned: Returned) -> None:
        super().__init__(content.columns)
        self.spool, self.content, self._returned = spool, content, returned
        self._bounds = np.concatenate([[0], np.cumsum(np.array(counts, np.int64))]).tolist()

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self._bounds[-1])

    def require(self, text: str, id: str | None) -> None:
        """Refuse a column with values that are not texts."""
        self.content.require(text)

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column. Raises InputError for values without one."""
        return self.content.type_of(name)

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[Chunk]:
        """Yield the blocks."""
        for index, (first, until) in enumerate(pairwise(self._bounds)):
            if wanted is None or index in wanted:
                yield ObjectChunk(index, first, until, self)

    def table_of(self, chunk: ObjectChunk, names: Sequence[str]) -> pa.Table:
        """Return columns of a block."""
        return self.content.table(self.spool.read(chunk.index), names)

    def give_back(self, stays: Bools) -> Any:
        """Return the rows that stay, in the type of the stream."""

        def portions() -> Portions:
            for index, (first, until) in enumerate(pairwise(self._bounds)):
                if stays[first:until].any():
                    yield self.content.rows(self.spool.read(index), stays[first:until])

        return self._returned(portions)


class TableContent:
    """Blocks that are streams of Arrow's IPC format, each with a schema of its own that fits the common one."""

    def __init__(self, schema: pa.Schema, columns: tuple[Column, ...]) -> None:
        self._schema, self.columns = schema, columns

    def type_of(self, name: str) -> pa.DataType:
        """The type of a column."""
        return self._schema.field(name).type

    def table(self, block: Any, names: Sequence[str]) -> pa.Table:
        """Return columns of the rows of a block, without decoding the others."""
        schema = pa.schema([self._schema.field(name) for name in names])
        return fitted(_read(block, list(dict.fromkeys(names))).select(list(names)), schema)

    def rows(self, block: Any, stays: Bools) -> pa.Table:
        """Return the rows of a block that stay, in the common schema."""
        return chosen(fitted(_read(block, self._schema.names), self._schema), stays)

    def require(self, text: str) -> None:
        """Accept any column: its kind says that it holds texts."""


def _read(block: Any, names: Sequence[str]) -> pa.Table:
    """Read columns of a block; null where the block lacks one."""
    held = pa.ipc.open_stream(pa.py_buffer(block)).schema
    included = [held.get_field_index(name) for name in names if name in held.names]
    options = pa.ipc.IpcReadOptions(included_fields=included or None)
    table = pa.ipc.open_stream(pa.py_buffer(block), options=options).read_all()
    for name in names:
        if name not in table.schema.names:
            table = table.append_column(name, pa.nulls(table.num_rows))
    return table


def written(table: pa.Table) -> Any:
    """Return a table as a block of ``TableContent``."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def in_blocks(tables: Iterable[pa.Table], chunk_bytes: int = CHUNK_BYTES) -> Iterator[pa.Table]:
    """Join small tables and cut large ones: at most ``chunk_bytes`` and ``CHUNK_ROWS`` rows, but one row at least.

    Tables of different schemas are not joined.
    """
    held: list[pa.Table] = []
    size = rows = 0
    for table in tables:
        differs = bool(held) and not held[0].schema.equals(table.schema)
        if held and (differs or size + size_of(table) > chunk_bytes or rows + table.num_rows > CHUNK_ROWS):
            yield pa.concat_tables(held)
            held, size, rows = [], 0, 0
        if size_of(table) > chunk_bytes or table.num_rows > CHUNK_ROWS:
            yield from _cut(table, chunk_bytes)
        elif table.num_rows:
            held.append(table)
            size, rows = size + size_of(table), rows + table.num_rows
    if held:
        yield pa.concat_tables(held)


def _cut(table: pa.Table, chunk_bytes: int) -> Iterator[pa.Table]:
    # a row costs at least its share of the columns that are not text
    others = max(0, size_of(table) - int(row_lengths(table).sum())) // table.num_rows
    costs = np.maximum(row_lengths(table) + others, chunk_bytes // CHUNK_ROWS + 1)
    start = 0
    for end in cut_by_bytes(costs, chunk_bytes):
        yield table.slice(start, end - start)
        start = end
