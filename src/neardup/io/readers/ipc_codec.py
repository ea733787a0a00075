"""The codec of the buffers of an Arrow file or stream, which Arrow decompresses but does not report.

Source: the flatbuffers of Message.fbs of the Arrow format: Message.header, RecordBatch.compression,
BodyCompression.codec; and of File.fbs: Footer.recordBatches.
"""

from __future__ import annotations

import os
import struct
from typing import Any

import pyarrow as pa

MAGIC, _TAIL_MAGIC = b"ARROW1\0\0", b"ARROW1"
_CODECS = {0: "lz4", 1: "zstd"}
_HEADER, _COMPRESSION, _CODEC = 2, 3, 0
_BATCHES = 3
_MOST_MESSAGES = 1000
"""Dictionaries come before the first batch."""


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
