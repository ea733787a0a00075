"""Thrift's compact protocol, of Parquet footers and page headers: read without trusting the data, and written.

Arrow reads both as well, but ends the process when some numbers in them contradict each other.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa

Fields: TypeAlias = dict[int, Any]
"""The fields of a struct by number: numbers, bools, bytes, lists and structs."""

RawFields: TypeAlias = dict[int, tuple[int, bytes]]
"""The fields of a struct by number as they are stored: the type of each and its bytes, to be written again."""

_TRUE, _FALSE, _BYTE, _INT16, _INT32, _INT64, _DOUBLE = 1, 2, 3, 4, 5, 6, 7
_BINARY, _LIST, _SET, _STRUCT = 8, 9, 10, 12
_DEEPEST = 40


def struct_at(data: bytes, at: int, depth: int = 0) -> tuple[Fields, int]:
    """Return the struct at a place, and its end. Raises IndexError if ``data`` ends before that."""
    if depth > _DEEPEST:
        raise pa.ArrowInvalid("metadata nested too deeply")
    return _struct(data, at, depth, raw=False)


def raw_struct_at(data: bytes, at: int) -> tuple[RawFields, int]:
    """Return the struct at a place with its fields as stored, and its end. Raises as ``struct_at``."""
    return _struct(data, at, 0, raw=True)


def raw_structs(data: bytes) -> list[RawFields]:
    """Return the structs of a stored list."""
    count, _, at = _list_head(data, 0)
    structs = []
    for _ in range(count):
        fields, at = raw_struct_at(data, at)
        structs.append(fields)
    return structs


def _struct(data: bytes, at: int, depth: int, *, raw: bool) -> tuple[dict[int, Any], int]:
    fields: dict[int, Any] = {}
    number = 0
    while True:
        head = data[at]
        at += 1
        if not head:
            return fields, at
        step, kind = head >> 4, head & 15
        if step:
            number += step
        else:
            number, at = _zigzag(data, at)
        begin, value = at, kind == _TRUE
        if kind not in (_TRUE, _FALSE):
            value, at = _value(data, at, kind, depth)
        fields[number] = (kind, data[begin:at]) if raw else value


def struct_of(value: Any) -> Fields:
    """Return a field that must be a struct."""
    if not isinstance(value, dict):
        raise pa.ArrowInvalid("a part of the metadata is not there")
    return value


def number_of(fields: Fields, key: int, otherwise: int | None = None) -> int:
    """Return a field that must be a number and not negative."""
    value = fields.get(key, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise pa.ArrowInvalid(f"a number of the metadata is {value!r}")
    return value


def list_of(fields: Fields, key: int) -> list[Any]:
    """Return a field that must be a list; an empty one if it is missing."""
    value = fields.get(key, [])
    if not isinstance(value, list):
        raise pa.ArrowInvalid("a list of the metadata is none")
    return value


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (_INT16, _INT32, _INT64):
        return _zigzag(data, at)
    if kind == _BINARY:
        length, at = _varint(data, at)
        if at + length > len(data):
            raise IndexError("the metadata ends in the middle of a value")
        return data[at : at + length], at + length
    if kind == _STRUCT:
        return struct_at(data, at, depth + 1)
    if kind in (_LIST, _SET):
        return _list(data, at, depth + 1)
    if kind in (_BYTE, _TRUE, _FALSE):  # in a list a bool is a byte
        return data[at], at + 1
    if kind == _DOUBLE:
        return None, at + 8
    raise pa.ArrowInvalid(f"no metadata of Parquet: a field of type {kind}")


def _list(data: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    if depth > _DEEPEST:
        raise pa.ArrowInvalid("metadata nested too deeply")
    count, kind, at = _list_head(data, at)
    if count > len(data) - at:  # each needs at least one byte
        raise IndexError("the metadata ends in the middle of a list")
    values = []
    for _ in range(count):
        value, at = _value(data, at, kind, depth)
        values.append(value)
    return values, at


def _list_head(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the number of values in a list, their type, and the place of the first."""
    count, kind, at = data[at] >> 4, data[at] & 15, at + 1
    if count == 15:
        count, at = _varint(data, at)
    return count, kind, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise pa.ArrowInvalid("no metadata of Parquet: a number without end")


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def struct_bytes(fields: RawFields) -> bytes:
    """Return a struct as bytes.

    >>> struct_bytes({1: int64(2), 3: int64(-1)}).hex()
    '1604260100'
    """
    encoded, before = bytearray(), 0
    for number in sorted(fields):
        kind, stored = fields[number]
        step = number - before
        encoded += bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + _zigzag_bytes(number)
        encoded += stored
        before = number
    return bytes(encoded) + b"\0"


def int64(value: int) -> tuple[int, bytes]:
    """Return a field of 64 bits."""
    return _INT64, _zigzag_bytes(value)


def struct(fields: RawFields) -> tuple[int, bytes]:
    """Return a field with a struct."""
    return _STRUCT, struct_bytes(fields)


def structs(values: Sequence[RawFields]) -> tuple[int, bytes]:
    """Return a field with a list of structs."""
    return _LIST, _head(len(values), _STRUCT) + b"".join(map(struct_bytes, values))


def _head(count: int, kind: int) -> bytes:
    return bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + _varint_bytes(count)


def _zigzag_bytes(value: int) -> bytes:
    return _varint_bytes(value << 1 if value >= 0 else (-value << 1) - 1)


def _varint_bytes(value: int) -> bytes:
    encoded = bytearray()
    while value >= 128:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
