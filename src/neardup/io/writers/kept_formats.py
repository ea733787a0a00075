"""Kept rows in the formats of data files: JSONL byte for byte, CSV, Arrow, and Parquet laid out like the input."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv

from neardup.io.containers.codecs import packing
from neardup.io.readers.arrow import chosen, may_compress, no_rows_of, size_of
from neardup.io.readers.base import NativeLines, NativeTable
from neardup.io.readers.lines import with_keys
from neardup.io.readers.parquet_pages import PLAIN, PLAIN_DICTIONARY, FooterGroup, StoredColumn
from neardup.io.writers.parquet_parts import EncodedFile, PartsWriter, add_group, encoded


class CompressedFile:
    """A file for writing, which must not exist. Raises OSError."""

    def __init__(self, path: Path, compression: str | None) -> None:
        self._raw = open(path, "xb")  # noqa: SIM115 - closed in close
        self._file = packing(self._raw, compression)
        self.closed = False

    def tell(self) -> int:
        """The bytes of the file so far, without those that the compressor holds."""
        return self._raw.tell()

    def write(self, data: Any) -> int:
        """Append the data."""
        return int(self._file.write(data) or 0)

    def flush(self) -> None:
        """Do nothing: the file is flushed when it is closed."""

    def close(self) -> None:
        """Finish the file."""
        try:
            if not self.closed and self._file is not self._raw:
                self._file.close()
        finally:
            self.closed = True
            self._raw.close()


class _FileSink:
    """Writes the rows of tables into one file as they come."""

    def __init__(self, path: Path, compression: str | None) -> None:
        self.path = path
        self._file = CompressedFile(path, compression)

    @property
    def size(self) -> int:
        """The bytes written so far."""
        return self._file.tell()

    def expect(self, size: int) -> None:
        """Do nothing: rows are written as they come."""

    def prepare(self, native: Any, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Return the kept rows with the extra columns."""
        return kept_rows(native.table, keep, extra)

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


class LinesSink(_FileSink):
    """Writes lines; further columns are appended to each line's object."""

    def prepare(self, native: NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> list[Any] | None:
        """Return the kept pieces of the block."""
        return line_pieces(native, keep, extra)

    def write(self, item: list[Any]) -> None:
        """Write the pieces."""
        for piece in item:
            self._file.write(piece)


class CsvSink(_FileSink):
    """Writes kept rows with the delimiter and compression of the input."""

    def __init__(self, path: Path, schema: Any, delimiter: str, compression: str | None) -> None:
        super().__init__(path, compression)
        self._writer = pacsv.CSVWriter(self._file, schema, write_options=pacsv.WriteOptions(delimiter=delimiter))

    def write(self, item: Any) -> None:
        """Write the rows."""
        self._writer.write_table(item)

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()
        super().close()


class ArrowSink(_FileSink):
    """Writes the kept rows of each chunk as record batches, to a stream or to a file with random access."""

    def __init__(self, path: Path, schema: Any, *, stream: bool, codec: str | None = None) -> None:
        super().__init__(path, None)
        self._schema = schema
        opened = pa.ipc.new_stream if stream else pa.ipc.new_file
        compression = codec if may_compress(schema) else None
        # batches of several chunks may have different dictionaries for one column
        options = pa.ipc.IpcWriteOptions(unify_dictionaries=not stream, compression=compression)
        self._writer = opened(self._file, schema, options=options)

    def write(self, item: Any) -> None:
        """Write the rows."""
        self._writer.write_table(item if item.schema.equals(self._schema) else item.cast(self._schema))

    def close(self) -> None:
        """Finish the file."""
        try:
            self._writer.close()
        finally:
            super().close()


def line_pieces(native: NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> list[Any] | None:
    """Return the kept lines of a block in pieces, with the extra columns in their objects; None without any."""
    return list(_pieces(native, keep) if extra is None else _annotated(native, keep, extra)) or None


def _pieces(native: NativeLines, keep: npt.NDArray[np.bool_]) -> Iterator[Any]:
    """Yield each run of kept lines that are adjacent in the block as one piece."""
    starts, ends = native.starts[keep], native.ends[keep]
    if not len(starts):
        return
    breaks = np.flatnonzero(starts[1:] != ends[:-1])
    firsts = starts[np.concatenate(([0], breaks + 1))].tolist()
    lasts = ends[np.concatenate((breaks, [len(ends) - 1]))].tolist()
    data = memoryview(native.data)
    for first, last in zip(firsts, lasts, strict=True):
        yield data[first:last]
    if not native.data.endswith(b"\n", 0, lasts[-1]):
        yield b"\n"


def _annotated(native: NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> Iterator[bytes]:
    rows = extra.to_pylist()
    for i in np.flatnonzero(keep).tolist():
        line = native.data[native.starts[i] : native.ends[i]]
        yield with_keys(line, msgspec.json.encode(rows[i]))


# A row group is closed at this size even if the input's were bigger, since it is held in memory.
GROUP_BYTES = 64 << 20

# Writers abandon a dictionary beyond a limit (1 MB of values in most of them) and continue with plain values. The
# footer does not record this, but the size shows it: indices take at most 4 bytes a value, texts more.
_DICTIONARY_BYTES, _INDEX_BYTES = 2 << 20, 4

_DEFAULT_ROWS = 1 << 20

_GROUPS_A_FILE = 8
"""A file of about one size has this many row groups or more."""

# Each holds a row group; the reader of a file with one big row group, a single thread, decodes no faster.
_ENCODERS = 4


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
        return encoded(
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
            self._add_groups(until=self._threads)
            group = table.slice(first, self._rows)
            self._encoding.append(self._pool.submit(self._encode, group))
            self._given_bytes += size_of(group)
            if self._share is None:
                self._share = len(self._encoding[-1].result().data) / max(1, self._given_bytes)

    def _add_groups(self, until: int) -> None:
        """Write row groups until only this many are being encoded."""
        while len(self._encoding) > until:
            add_group(self._file, self._encoding.popleft().result())


def kept_rows(table: Any, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
    """Return the rows for which ``keep`` is true, with the columns of ``extra``, or None if there are none."""
    if extra is not None:
        for field, column in zip(extra.schema, extra.columns, strict=True):
            table = table.append_column(field, column)
    return chosen(table, keep) if keep.any() else None


def extended(schema: Any, extra: Any) -> Any:
    """Return the schema with the columns of the schema ``extra`` (None: as it is)."""
    for field in extra or ():
        schema = schema.append(field)
    return schema


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
