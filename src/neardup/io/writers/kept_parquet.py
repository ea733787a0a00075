"""Kept rows as Parquet, laid out like the input: its row groups are encoded in threads.

Arrow encodes a file in one thread. Here row groups are encoded as files in memory. The bytes of pages do not
depend on their place, so they are written one after the other before one footer, with the offsets changed.
"""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.io.readers import thrift
from neardup.io.readers.arrow import no_rows_of, size_of
from neardup.io.readers.base import NativeTable
from neardup.io.readers.parquet_pages import PLAIN, PLAIN_DICTIONARY, FooterGroup, StoredColumn
from neardup.io.writers.kept_formats import kept_rows
from neardup.runtime import worker_count

# A row group is closed at this size even if the input's were bigger, since it is held in memory.
GROUP_BYTES = 32 << 20
# Writers abandon a dictionary beyond a limit (1 MB of values in most of them) and continue with plain values. The
# footer does not record this, but the size shows it: indices take at most 4 bytes a value, texts more.
_DICTIONARY_BYTES, _INDEX_BYTES = 2 << 20, 4
_DEFAULT_ROWS = 1 << 20
_GROUPS_A_FILE = 8
"""A file of about one size has this many row groups or more."""
# Each holds a row group; the reader of a file with one big row group, a single thread, decodes no faster.
_ENCODERS, _GROUPS_AN_ENCODER = 4, 2
_ROOM_AN_ENCODER = 4 * GROUP_BYTES
MAGIC = b"PAR1"
_TAIL = 8
# Fields of parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData.
_FILE_ROWS, _GROUPS = 3, 4
_COLUMNS, _UNPACKED, _GROUP_ROWS, _BEGIN, _STORED = 1, 2, 3, 5, 6
_FILE_OFFSET, _COLUMN = 2, 3
_PLACES, _BLOOM = (9, 10, 11), (14, 15)


def writer_threads(threads: int, room: int | None) -> int:
    """Return how many of ``threads`` (0: one per core) may write within the bytes ``room`` (None: any).

    Row groups do not become smaller, because a limit changes no byte of a result.

    >>> writer_threads(4, None), writer_threads(4, 300_000_000), writer_threads(4, 0)
    (4, 2, 1)
    """
    workers = worker_count(threads)
    return workers if room is None else max(1, min(workers, room // _ROOM_AN_ENCODER))


def waiting_bytes(group: int, threads: int) -> int:
    """Return the bytes of kept rows that wait, if ``group`` are those of the largest row group of the input.

    One group is filled, and each encoder has one and its pages.
    """
    return min(group, GROUP_BYTES) * (1 + _GROUPS_AN_ENCODER * min(threads, _ENCODERS))


@dataclass(frozen=True)
class EncodedFile:
    """A Parquet file in memory with at most one row group."""

    data: Any

    @property
    def footer(self) -> thrift.RawFields:
        """The fields of its footer."""
        length = int.from_bytes(self.data[-_TAIL:-4], "little")
        return thrift.raw_struct_at(bytes(self.data[-_TAIL - length : -_TAIL]), 0)[0]

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return numbers_in(self.footer, _FILE_ROWS)[0]


def encode_table(table: Any, **options: Any) -> EncodedFile:
    """Encode a table as one row group; ``options`` are those of ``pyarrow.parquet.ParquetWriter``."""
    out = pa.BufferOutputStream()
    with pq.ParquetWriter(out, table.schema, **options) as writer:
        if table.num_rows:
            writer.write_table(table, row_group_size=table.num_rows)
    return EncodedFile(memoryview(out.getvalue()))


def numbers_in(fields: thrift.RawFields, *numbers: int) -> list[int]:
    """Return the values of those of the fields that exist."""
    known = thrift.struct_at(
        thrift.struct_bytes({number: fields[number] for number in numbers if number in fields}), 0
    )[0]
    return [thrift.number_of(known, number) for number in known]


class PartsWriter:
    """Writes a file row group by row group; ``head`` is a file without rows that has its schema."""

    def __init__(self, path: Path, head: EncodedFile) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 - closed in close
        self._footer = head.footer
        self._groups: list[thrift.RawFields] = []
        self._rows = self._place = 0
        self._write(MAGIC)

    def _write(self, data: Any) -> None:
        self._file.write(data)
        self._place += len(data)

    def add(self, part: EncodedFile) -> None:
        """Write the row group of a part, whose pages follow its magic number."""
        (group,) = thrift.raw_structs(part.footer[_GROUPS][1])
        (stored,), begin = numbers_in(group, _STORED), self._place
        self._write(part.data[len(MAGIC) : len(MAGIC) + stored])
        columns = [
            {_FILE_OFFSET: thrift.int64(0), _COLUMN: thrift.struct(_moved_metadata(chunk, begin - len(MAGIC)))}
            for chunk in thrift.raw_structs(group[_COLUMNS][1])
        ]
        same = {number: group[number] for number in (_UNPACKED, _GROUP_ROWS, _STORED)}
        self._groups.append({_COLUMNS: thrift.structs(columns), _BEGIN: thrift.int64(begin), **same})
        self._rows += part.rows

    def close(self) -> None:
        """Write the footer."""
        with self._file:
            groups = {_FILE_ROWS: thrift.int64(self._rows), _GROUPS: thrift.structs(self._groups)}
            footer = thrift.struct_bytes({**self._footer, **groups})
            self._write(footer + len(footer).to_bytes(4, "little") + MAGIC)


def _moved_metadata(chunk: thrift.RawFields, by: int) -> thrift.RawFields:
    """Return the metadata of a column chunk whose pages moved ``by`` bytes, without filters."""
    column, _ = thrift.raw_struct_at(chunk[_COLUMN][1], 0)
    for number in set(_PLACES) & set(column):
        (offset,) = numbers_in(column, number)
        column[number] = thrift.int64(offset + by if offset else 0)
    return {number: field for number, field in column.items() if number not in _BLOOM}


@dataclass(frozen=True)
class Layout:
    """The layout of a file's row groups; by default that of data which was in memory."""

    rows: int = _DEFAULT_ROWS
    compression: str | dict[str, str] = "snappy"
    level: dict[str, int] | None = None
    dictionary: bool | list[str] = True
    statistics: bool | list[str] = True

    def encode(self, table: Any) -> EncodedFile:
        """Encode a table as one row group with this layout."""
        return encode_table(
            table,
            compression=self.compression,
            compression_level=self.level,
            use_dictionary=self.dictionary,
            write_statistics=self.statistics,
        )


IN_MEMORY = Layout()


class ParquetSink:
    """Collects kept rows into row groups, encodes these in threads and writes them in order."""

    def __init__(self, path: Path, schema: Any, layout: Layout = IN_MEMORY, threads: int = 1) -> None:
        self.path = path
        self._rows, self._encode, self._schema = layout.rows, layout.encode, schema
        self._file = PartsWriter(path, self._encode(no_rows_of(schema)))
        self._threads = min(threads, _ENCODERS)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="neardup-encoder")
        self._encoding: deque[Future[EncodedFile]] = deque()
        self._held: list[Any] = []
        self._held_rows = self._held_bytes = 0
        self._group_bytes = GROUP_BYTES
        self._given_bytes = 0
        self._share: float | None = 1.0

    @property
    def size(self) -> int:
        """The bytes of the file so far, as the first row group shows how much smaller they get."""
        return int((self._given_bytes + self._held_bytes) * (self._share or 1.0))

    def expect(self, size: int) -> None:
        """Make row groups small enough for a file of about this many bytes."""
        self._group_bytes = min(GROUP_BYTES, max(1, size // _GROUPS_A_FILE))
        self._share = None

    def prepare(self, native: NativeTable, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Return the kept rows with the extra columns."""
        return kept_rows(native.table, keep, extra)

    def write(self, item: Any) -> None:
        """Collect rows until they make a row group."""
        self._held.append(item)
        self._held_rows += item.num_rows
        self._held_bytes += size_of(item)
        if self._held_rows >= self._rows or self._held_bytes >= self._group_bytes:
            self._write_groups()

    def close(self) -> None:
        """Write the remaining rows and the footer."""
        try:
            if self._held_rows:
                self._write_groups()
            if self._held_rows:
                self._write_table(self._take())
            self._add_groups(until=0)
        finally:
            self._pool.shutdown(cancel_futures=True)
            self._file.close()

    def _write_groups(self) -> None:
        """Write full row groups; the remaining rows start the next."""
        table = self._take()
        rest = table.num_rows % self._rows if table.num_rows > self._rows else 0
        self._write_table(table.slice(0, table.num_rows - rest))
        if rest:
            left = table.slice(table.num_rows - rest)
            self._held, self._held_rows, self._held_bytes = [left], rest, size_of(left)

    def _take(self) -> Any:
        table = pa.concat_tables(self._held)
        self._held, self._held_rows, self._held_bytes = [], 0, 0
        return table

    def _write_table(self, table: Any) -> None:
        if not table.schema.equals(self._schema):
            table = table.cast(self._schema)
        for first in range(0, table.num_rows, self._rows):
            self._add_groups(until=self._threads - 1)
            group = table.slice(first, self._rows)
            self._encoding.append(self._pool.submit(self._encode, group))
            self._given_bytes += size_of(group)
            if self._share is None:
                self._share = len(self._encoding[-1].result().data) / max(1, self._given_bytes)

    def _add_groups(self, until: int) -> None:
        """Write row groups until only this many are being encoded."""
        while len(self._encoding) > until:
            self._file.add(self._encoding.popleft().result())


def layout_of(groups: Sequence[FooterGroup], more: Sequence[str]) -> Layout:
    """Return the layout of a file with these row groups: their size, and codec and encodings by column.

    The columns ``more`` are not in the file; they use the codec of its first column.
    """
    if not groups:
        return IN_MEMORY
    columns = groups[0].columns
    codecs = dict.fromkeys(more, columns[0].codec)
    codecs |= {column.path: column.codec for column in columns}
    # Arrow's gzip level is 9, which takes several times as long as the usual 6 for a percent of size.
    levels = {path: 6 for path, codec in codecs.items() if codec == "gzip"}
    return Layout(
        rows=max(1, *(group.rows for group in groups)),
        compression=codecs,
        level=levels or None,
        dictionary=[*more, *(column.path for column in columns if is_dictionary(column))],
        statistics=[*more, *(column.path for column in columns if column.has_statistics)],
    )


def is_dictionary(column: StoredColumn) -> bool:
    """Return whether all values of a column chunk are dictionary indices."""
    if not column.has_dictionary or {PLAIN_DICTIONARY, PLAIN} <= column.encodings:
        return False
    return column.unpacked <= _DICTIONARY_BYTES + _INDEX_BYTES * column.values
