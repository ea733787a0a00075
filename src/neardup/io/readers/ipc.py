"""Arrow IPC files and streams (``.arrow``, ``.feather``): a chunk is several record batches, or part of one."""

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from neardup.io.readers.arrow import in_blocks, is_text, is_view
from neardup.io.readers.base import CHUNK_BYTES, Chunk, Format, Sink
from neardup.io.readers.files import UNREADABLE
from neardup.io.readers.sources import Source
from neardup.io.readers.tables import TableChunk, TableDocuments
from neardup.io.writers.kept_formats import ArrowSink, extended_schema

MAGIC, _TAIL_MAGIC = b"ARROW1\0\0", b"ARROW1"
_CODECS = {0: "lz4", 1: "zstd"}
_HEADER, _COMPRESSION, _CODEC = 2, 3, 0
_BATCHES = 3
_MOST_MESSAGES = 1000
"""Dictionaries come before the first batch."""

_MAGIC, _OLD = b"ARROW1", b"FEA1"


def codec_of(file: Any) -> str | None:
    """Return the codec of the first batch of an open file: lz4, zstd, or None for plain buffers or no batch."""
    try:
        file.seek(_first_batch(file) if bytes(file.read(len(MAGIC))) == MAGIC else 0)
        reader = pa.ipc.MessageReader.open_stream(file)
        for _ in range(_MOST_MESSAGES):
            message = reader.read_next_message()
            if message.type == "record batch":
                return _in_batch(bytes(message.metadata))
    except (StopIteration, EOFError, OSError, ValueError, pa.ArrowException, struct.error):
        pass
    return None


def _first_batch(file: Any) -> int:
    """The place of the first batch of a file with random access, whose other messages need not be a stream.

    Raises EOFError for a file without batches.
    """
    end = file.seek(0, os.SEEK_END) - len(_TAIL_MAGIC) - 4
    file.seek(end)
    (size,) = struct.unpack("<i", bytes(file.read(4)))
    if not 0 < size <= end:
        raise EOFError
    file.seek(end - size)
    footer = bytes(file.read(size))
    blocks = _table_in(footer, struct.unpack_from("<I", footer)[0], _BATCHES)
    if blocks is None or not struct.unpack_from("<I", footer, blocks)[0]:
        raise EOFError
    return int(struct.unpack_from("<q", footer, blocks + 4)[0])


def _in_batch(data: bytes) -> str | None:
    batch = _table_in(data, struct.unpack_from("<I", data)[0], _HEADER)
    compression = None if batch is None else _table_in(data, batch, _COMPRESSION)
    if compression is None:
        return None
    place = _field(data, compression, _CODEC)
    return _CODECS.get(0 if place is None else struct.unpack_from("<b", data, place)[0])


def _table_in(data: bytes, table: int, field: int) -> int | None:
    """The place of the table that a field of another table refers to."""
    place = _field(data, table, field)
    return None if place is None else int(place + struct.unpack_from("<I", data, place)[0])


def _field(data: bytes, table: int, field: int) -> int | None:
    """The place of a field of a table; None where it has its default."""
    fields = table - struct.unpack_from("<i", data, table)[0]
    if fields < 0 or 4 + 2 * field >= struct.unpack_from("<H", data, fields)[0]:
        return None
    offset = struct.unpack_from("<H", data, fields + 4 + 2 * field)[0]
    return table + offset if offset else None


class IpcDocuments(TableDocuments):
    """Files of Arrow record batches, as saved by ``datasets`` and Feather: with random access or as a stream.

    Batches are read in order by the iterating thread, and checked before they are used.
    """

    format: Format = "ipc"
    failure = "not an Arrow file"
    kept_name = "kept.arrow"

    def __init__(self, sources: Sequence[Source], chunk_bytes: int = CHUNK_BYTES) -> None:
        super().__init__(sources)
        self._chunk_bytes = chunk_bytes
        self.settle(self.read_heads(self._read_schema, "an Arrow file", "A whole Arrow IPC file or stream"))

    def open_sink(self, path: Path, position: int | None, extra: Any, threads: int) -> Sink:
        """Open a stream or a file with random access, with the codec, as the file (None: the first one) is."""
        alike = (
            next(i for i in range(len(self.sources)) if i not in self.failures) if position is None else position
        )
        with self.sources[alike].open() as file:
            codec = codec_of(file)
        schema = self.schema if position is None else self.own_schema(position)
        return ArrowSink(
            path, extended_schema(schema, extra), stream=not _has_index(self.sources[alike]), codec=codec
        )

    def _read_schema(self, position: int) -> Any:
        with _open_batches(self.sources[position]) as (schema, _):
            schema.names  # noqa: B018 - a name that is not UTF-8 fails now, not in the middle
            return schema

    def pieces(
        self, position: int, first: int, want: Callable[[int], bool], columns: Sequence[str] | None
    ) -> Iterator[Chunk | None]:
        """Yield the chunks of one file."""
        index, row = first, 0
        failures: list[Exception] = []
        try:
            with _open_batches(self.sources[position]) as (_, batches):
                for table in in_blocks(_sound(batches, failures), self._chunk_bytes):
                    yield TableChunk(index, self, position, row, table) if want(index) else None
                    index, row = index + 1, row + table.num_rows
        except UNREADABLE as error:
            failures.append(error)
        if failures:
            self.require_unchanged(position)
            yield self.rest_lost(position, index, failures[0], row)


@contextmanager
def _open_batches(source: Source) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open a file of either kind and yield its schema and its batches."""
    with source.open() as file:
        if _has_index(source):
            reader = pa.ipc.open_file(file)
            yield reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))
        else:
            stream = pa.ipc.open_stream(file)
            yield stream.schema, iter(stream)


def _has_index(source: Source) -> bool:
    with source.open() as file:
        head = bytes(file.read(len(_MAGIC)))
    if head.startswith(_OLD):
        raise pa.ArrowInvalid("it is in the first version of Feather; write it again as Feather version 2")
    return head == _MAGIC


def _sound(batches: Iterator[Any], failures: list[Exception]) -> Iterator[Any]:
    """Yield checked batches as tables; the first damaged one ends them, and its error is added to ``failures``."""
    try:
        for batch in batches:
            # offsets and indices of a damaged file may point anywhere, so they are checked before any use
            batch.validate(full=False)
            _require_sound(batch)
            yield pa.Table.from_batches([batch])
    except UNREADABLE as error:
        failures.append(error)


def _require_sound(batch: Any) -> None:
    """Raise ArrowInvalid unless offsets and indices stay inside their buffers; bytes need not be UTF-8."""
    for column in batch.columns:
        if is_view(column.type):
            column = column.view(pa.binary_view())
        elif is_text(column.type):
            large = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
            column = column.view(pa.large_binary() if large else pa.binary())
        column.validate(full=True)
