"""A Parquet file made of column chunks that were encoded apart, each in a thread of its own.

Arrow encodes a file in one thread. Here row groups are encoded as files in memory. The bytes of pages do not
depend on their place, so they are written one after the other before one footer, with the offsets changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.io.readers.thrift import RawFields, number_of, raw_struct_at, raw_structs, struct_at

MAGIC = b"PAR1"
_TAIL = 8
# Fields of parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData.
_FILE_ROWS, _GROUPS = 3, 4
_COLUMNS, _UNPACKED, _GROUP_ROWS, _BEGIN, _STORED = 1, 2, 3, 5, 6
_FILE_OFFSET, _COLUMN, _INDEXES = 2, 3, (4, 5, 6, 7)
VALUES, CHUNK_UNPACKED, CHUNK_STORED, DATA_PAGE = 5, 6, 7, 9
_INDEX_PAGE, _DICTIONARY_PAGE, _BLOOM = 10, 11, (14, 15)


@dataclass(frozen=True)
class EncodedChunk:
    """A column chunk: the fields of its ColumnMetaData, and its pages, which began at an ``offset``."""

    column: RawFields
    pages: Any
    offset: int


@dataclass(frozen=True)
class EncodedFile:
    """A Parquet file in memory with at most one row group."""

    data: Any

    @property
    def footer(self) -> RawFields:
        """The fields of its footer."""
        length = int.from_bytes(self.data[-_TAIL:-4], "little")
        return raw_struct_at(bytes(self.data[-_TAIL - length : -_TAIL]), 0)[0]

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return numbers_in(self.footer, _FILE_ROWS)[0]

    def chunks(self) -> Iterator[EncodedChunk]:
        """Yield its column chunks."""
        for group in raw_structs(self.footer[_GROUPS][1]):
            for chunk in raw_structs(group[_COLUMNS][1]):
                column, _ = raw_struct_at(chunk[_COLUMN][1], 0)
                begin = min(at for at in numbers_in(column, DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE) if at)
                (stored,) = numbers_in(column, CHUNK_STORED)
                yield EncodedChunk(column, self.data[begin : begin + stored], begin)


def encoded(table: Any, **options: Any) -> EncodedFile:
    """Encode a table as one row group; ``options`` are those of ``pyarrow.parquet.ParquetWriter``."""
    out = pa.BufferOutputStream()
    with pq.ParquetWriter(out, table.schema, **options) as writer:
        if table.num_rows:
            writer.write_table(table, row_group_size=table.num_rows)
    return EncodedFile(memoryview(out.getvalue()))


def numbers_in(fields: RawFields, *numbers: int) -> list[int]:
    """Return the values of those of the fields that exist."""
    known = struct_at(struct_bytes({number: fields[number] for number in numbers if number in fields}), 0)[0]
    return [number_of(known, number) for number in known]


class PartsWriter:
    """Writes a file column chunk by column chunk; ``head`` is a file without rows that has its schema."""

    def __init__(self, path: Path, head: EncodedFile) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 - closed in close
        self._footer = head.footer
        self._groups: list[RawFields] = []
        self._columns: list[RawFields] = []
        self._rows = self._at = 0
        self.write(MAGIC)

    @property
    def place(self) -> int:
        """The offset of the next byte."""
        return self._at

    def write(self, data: Any) -> None:
        """Write pages of the next column chunk."""
        self._file.write(data)
        self._at += len(data)

    def add(self, chunk: EncodedChunk) -> None:
        """Write a column chunk of the current row group."""
        moved = self._at - chunk.offset
        self.write(chunk.pages)
        self.end_chunk(chunk.column, moved)

    def end_chunk(self, column: RawFields, moved: int) -> None:
        """End a column chunk whose pages are written; the offsets in its fields are ``moved`` by this much."""
        fields = {number: field for number, field in column.items() if number not in _BLOOM}
        for number in (DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE):
            if number in column and (offset := numbers_in(column, number)[0]):
                fields[number] = int64(offset + moved)
        self._columns.append(fields)

    def end_group(self, rows: int) -> None:
        """End a row group whose column chunks are written."""
        sizes = [numbers_in(column, CHUNK_UNPACKED, CHUNK_STORED) for column in self._columns]
        unpacked, stored = (sum(size) for size in zip(*sizes, strict=True))
        self._groups.append(
            {
                _COLUMNS: structs([{_FILE_OFFSET: int64(0), _COLUMN: struct(column)} for column in self._columns]),
                _UNPACKED: int64(unpacked),
                _GROUP_ROWS: int64(rows),
                _BEGIN: int64(self._at - stored),
                _STORED: int64(stored),
            }
        )
        self._columns = []
        self._rows += rows

    def close(self) -> None:
        """Write the footer."""
        with self._file:
            groups = {_FILE_ROWS: int64(self._rows), _GROUPS: structs(self._groups)}
            footer = struct_bytes({**self._footer, **groups})
            self.write(footer + len(footer).to_bytes(4, "little") + MAGIC)


def add_group(file: PartsWriter, part: EncodedFile) -> None:
    """Write the row group of a part."""
    for chunk in part.chunks():
        file.add(chunk)
    file.end_group(part.rows)


def struct_bytes(fields: RawFields) -> bytes:
    """Return a struct.

    >>> struct_bytes({1: int32(2), 3: int64(-1)}).hex()
    '1504260100'
    """
    made, before = bytearray(), 0
    for number in sorted(fields):
        kind, stored = fields[number]
        step = number - before
        made += bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + _zigzag(number)
        made += stored
        before = number
    return bytes(made) + b"\0"


_INT32, _INT64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


def int32(value: int) -> tuple[int, bytes]:
    """Return a field of 32 bits."""
    return _INT32, _zigzag(value)


def int64(value: int) -> tuple[int, bytes]:
    """Return a field of 64 bits."""
    return _INT64, _zigzag(value)


def struct(fields: RawFields) -> tuple[int, bytes]:
    """Return a field with a struct."""
    return _STRUCT, struct_bytes(fields)


def structs(values: Sequence[RawFields]) -> tuple[int, bytes]:
    """Return a field with a list of structs."""
    return _LIST, _head(len(values), _STRUCT) + b"".join(map(struct_bytes, values))


def int32s(values: Sequence[int]) -> tuple[int, bytes]:
    """Return a field with a list of numbers of 32 bits."""
    return _LIST, _head(len(values), _INT32) + b"".join(map(_zigzag, values))


def binary(value: bytes) -> tuple[int, bytes]:
    """Return a field with bytes."""
    return _BINARY, _varint(len(value)) + value


def binaries(values: Sequence[bytes]) -> tuple[int, bytes]:
    """Return a field with a list of bytes."""
    return _LIST, _head(len(values), _BINARY) + b"".join(binary(value)[1] for value in values)


def truth(value: bool) -> tuple[int, bytes]:
    """Return a field that is true or false."""
    return (1 if value else 2), b""


def _head(count: int, kind: int) -> bytes:
    return bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + _varint(count)


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _varint(value: int) -> bytes:
    made = bytearray()
    while value >= 128:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)
