"""The codec of the buffers of an Arrow file or stream, which Arrow decompresses but does not report.

Source: the flatbuffers of Message.fbs of the Arrow format: Message.header, RecordBatch.compression,
BodyCompression.codec.
"""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa

MAGIC = b"ARROW1\0\0"
_CODECS = {0: "lz4", 1: "zstd"}
_HEADER, _COMPRESSION, _CODEC = 2, 3, 0
_MOST_MESSAGES = 1000
"""Dictionaries come before the first batch."""


def codec_of(file: Any) -> str | None:
    """Return the codec of the first batch of an open file: lz4, zstd, or None for plain buffers or no batch."""
    if bytes(file.read(len(MAGIC))) != MAGIC:  # a file with random access begins with its magic, then a stream
        file.seek(0)
    try:
        reader = pa.ipc.MessageReader.open_stream(file)
        for _ in range(_MOST_MESSAGES):
            message = reader.read_next_message()
            if message.type == "record batch":
                return _in_batch(bytes(message.metadata))
    except (StopIteration, EOFError, OSError, pa.ArrowException, struct.error):
        pass
    return None


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
