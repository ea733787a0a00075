"""What a column of a Parquet row group decodes to, from the headers of its pages, before it is decoded.

A dictionary page of some kilobytes may hold a value of a hundred megabytes, and a million rows may repeat it; the
footer tells of neither. Headers are Thrift's compact protocol (parquet.thrift, PageHeader).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

_HEADER_BYTES = 4096
_MOST_HEADER_BYTES = 8 << 20
_DICTIONARY_PAGE = 2
_DICTIONARY_CODES = (2, 8)  # PLAIN_DICTIONARY, RLE_DICTIONARY
_BOOLS, _BYTE, _INTS, _DOUBLE, _BINARY, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12


@dataclass(frozen=True)
class Page:
    """One page: ``values`` in it, coded by the dictionary or not, and its size when it is unpacked."""

    is_dictionary: bool
    coded: bool
    values: int
    unpacked: int


def pages_of(file: Any, column: Any) -> Iterator[Page]:
    """Yield the pages of a column chunk, ``column`` as the footer describes it.

    Raises ArrowInvalid where there is no page, OSError when the file cannot be read.
    """
    starts = (column.dictionary_page_offset, column.data_page_offset)
    at = min(offset for offset in starts if offset is not None and offset > 0)
    end = at + column.total_compressed_size
    while at < end:
        header, length = _header(file, at)
        stored = header.get(3, 0)
        data = header.get(5) or header.get(8) or {}
        if length + stored <= 0:
            raise pa.ArrowInvalid("a page without a length")
        encoding = data.get(2 if 5 in header else 4)
        yield Page(
            header.get(1) == _DICTIONARY_PAGE, encoding in _DICTIONARY_CODES, data.get(1, 0), header.get(2, 0)
        )
        at += length + stored


def _header(file: Any, at: int) -> tuple[dict[int, Any], int]:
    """Return the fields of the page header at a place in the file, and its length."""
    size = _HEADER_BYTES
    while True:
        file.seek(at)
        data = bytes(file.read(size))
        try:
            fields, length = _struct(data, 0, 0)
        except IndexError:
            if len(data) < size or size >= _MOST_HEADER_BYTES:
                raise pa.ArrowInvalid(f"no page header at {at}") from None
            size *= 16
        else:
            if fields.get(2, 0) < 0 or fields.get(3, 0) < 0:
                raise pa.ArrowInvalid(f"a page of negative size at {at}")
            return fields, length


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
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
        fields[number], at = _value(data, at, kind, depth)


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if depth > 8:
        raise pa.ArrowInvalid("a page header nested too deeply")
    if kind in _BOOLS:
        return kind == _BOOLS[0], at
    if kind == _BYTE:
        return data[at], at + 1
    if kind in _INTS:
        return _zigzag(data, at)
    if kind == _DOUBLE:
        return None, at + 8
    if kind == _BINARY:
        length, at = _varint(data, at)
        if at + length > len(data):
            raise IndexError
        return None, at + length
    if kind in _LISTS:
        return _list(data, at, depth)
    if kind == _STRUCT:
        return _struct(data, at, depth + 1)
    raise pa.ArrowInvalid(f"no page header: field of type {kind}")


def _list(data: bytes, at: int, depth: int) -> tuple[None, int]:
    head = data[at]
    count, kind, at = head >> 4, head & 15, at + 1
    if count == 15:
        count, at = _varint(data, at)
    for _ in range(min(count, len(data))):
        _, at = _value(data, at, kind, depth + 1) if kind not in _BOOLS else (None, at + 1)
    return None, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 70:
            raise pa.ArrowInvalid("no page header: a number without end")


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
