"""Thrift's compact protocol as bytes: the values that a Parquet footer consists of."""

from __future__ import annotations

from collections.abc import Sequence

from neardup.io.readers.thrift import RawFields

_INT32, _INT64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


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
