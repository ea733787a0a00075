"""The footer of a Parquet file: it describes the columns of each row group (parquet.thrift, FileMetaData)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from neardup.io.readers.thrift import Fields, list_of, number_of, struct_at, struct_of

CODECS = ("none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4")
PLAIN, PLAIN_DICTIONARY = 0, 2
_BYTE_ARRAY = 6
_MAGIC = b"PAR1"
_MOST_FOOTER_BYTES = 1 << 30


@dataclass(frozen=True)
class StoredColumn:
    """A column of a row group: its place, its stored and unpacked sizes, and its encodings.

    ``nulls`` is the number of its nulls, ``least`` and ``greatest`` bound its values, if the file states them.
    """

    path: str
    is_bytes: bool
    codec: str
    codec_number: int
    encodings: frozenset[int]
    values: int
    unpacked: int
    stored: int
    start: int
    has_dictionary: bool
    has_statistics: bool
    nulls: int | None
    least: bytes | None
    greatest: bytes | None


@dataclass(frozen=True)
class FooterGroup:
    """A row group."""

    rows: int
    unpacked: int
    columns: tuple[StoredColumn, ...]


def read_footer(file: Any, metadata: Any) -> tuple[FooterGroup, ...]:
    """Return the row groups of a file, open as bytes; ``metadata`` is Arrow's reading of it.

    Raises ArrowInvalid for a footer that contradicts itself.
    """
    size = file.size()
    file.seek(max(0, size - 8))
    tail = bytes(file.read(8))
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or not 0 < length <= min(size - 8, _MOST_FOOTER_BYTES):
        raise pa.ArrowInvalid("the file does not end as a Parquet file does")
    file.seek(size - 8 - length)
    try:
        found = struct_at(bytes(file.read(length)), 0)[0]
    except IndexError as error:
        raise pa.ArrowInvalid(f"the footer is damaged: {error}") from error
    groups = tuple(_group(struct_of(group)) for group in list_of(found, 4))
    if [group.rows for group in groups] != [
        metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)
    ]:
        raise pa.ArrowInvalid("the footer is damaged: its row groups cannot be distinguished")
    if sum(group.rows for group in groups) != number_of(found, 3):
        raise pa.ArrowInvalid("the footer is damaged: its row groups have other rows than the file")
    if any(len(group.columns) != metadata.num_columns for group in groups):
        raise pa.ArrowInvalid("the footer is damaged: a row group has other columns than the file")
    return groups


def _group(fields: Fields) -> FooterGroup:
    columns = tuple(_column(struct_of(column)) for column in list_of(fields, 1))
    return FooterGroup(number_of(fields, 3), number_of(fields, 2), columns)


def _column(fields: Fields) -> StoredColumn:
    said = struct_of(fields.get(3))
    codec = number_of(said, 4)
    if codec >= len(CODECS):
        raise pa.ArrowInvalid(f"the footer is damaged: compression {codec} is unknown")
    statistics = said.get(12)
    known = statistics if isinstance(statistics, dict) else {}
    starts = [number_of(said, key) for key in (9, 11) if key in said]
    return StoredColumn(
        path=b".".join(part for part in list_of(said, 3) if isinstance(part, bytes)).decode(),
        is_bytes=number_of(said, 1) == _BYTE_ARRAY,
        codec=CODECS[codec],
        codec_number=codec,
        encodings=frozenset(code for code in list_of(said, 2) if isinstance(code, int)),
        values=number_of(said, 5),
        unpacked=number_of(said, 6),
        stored=number_of(said, 7),
        start=min((start for start in starts if start), default=0),
        has_dictionary=11 in said,
        has_statistics=12 in said,
        nulls=known[3] if isinstance(known.get(3), int) else None,
        least=_bytes_of(known, 6),
        greatest=_bytes_of(known, 5),
    )


def _bytes_of(fields: Fields, key: int) -> bytes | None:
    value = fields.get(key)
    return value if isinstance(value, bytes) else None
