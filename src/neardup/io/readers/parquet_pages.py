"""Footers of Parquet files and the headers of their pages: sizes, places and encodings.

The headers of pages show what the footer does not: a dictionary page of some kilobytes may contain a value of a
hundred megabytes, and a million rows may repeat it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from neardup.io.readers import thrift

CODECS = ("none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4")
PLAIN, PLAIN_DICTIONARY = 0, 2
_BYTE_ARRAY = 6
_MAGIC = b"PAR1"
_MOST_FOOTER_BYTES = 1 << 30

_HEADER_BYTES = 4096
_MOST_HEADER_BYTES = 8 << 20
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_DICTIONARY_CODES = (2, 8)  # PLAIN_DICTIONARY, RLE_DICTIONARY


@dataclass(frozen=True)
class StoredColumn:
    """A column of a row group: its place, its stored and unpacked sizes, and its encodings."""

    path: str
    is_bytes: bool
    codec: str
    encodings: frozenset[int]
    values: int
    unpacked: int
    stored: int
    start: int
    has_dictionary: bool
    has_statistics: bool


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
        found = thrift.struct_at(bytes(file.read(length)), 0)[0]
    except IndexError as error:
        raise pa.ArrowInvalid(f"the footer is damaged: {error}") from error
    groups = tuple(_group(thrift.struct_of(group)) for group in thrift.list_of(found, 4))
    if [group.rows for group in groups] != [
        metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)
    ]:
        raise pa.ArrowInvalid("the footer is damaged: its row groups cannot be distinguished")
    # some writers count no rows for the file as a whole; the groups are read
    if thrift.number_of(found, 3) not in (0, sum(group.rows for group in groups)):
        raise pa.ArrowInvalid("the footer is damaged: its row groups have other rows than the file")
    if any(len(group.columns) != metadata.num_columns for group in groups):
        raise pa.ArrowInvalid("the footer is damaged: a row group has other columns than the file")
    return groups


def _group(fields: thrift.Fields) -> FooterGroup:
    columns = tuple(_column(thrift.struct_of(column)) for column in thrift.list_of(fields, 1))
    return FooterGroup(thrift.number_of(fields, 3), thrift.number_of(fields, 2), columns)


def _column(fields: thrift.Fields) -> StoredColumn:
    said = thrift.struct_of(fields.get(3))
    codec = thrift.number_of(said, 4)
    if codec >= len(CODECS):
        raise pa.ArrowInvalid(f"the footer is damaged: compression {codec} is unknown")
    starts = [thrift.number_of(said, key) for key in (9, 11) if key in said]
    return StoredColumn(
        path=b".".join(part for part in thrift.list_of(said, 3) if isinstance(part, bytes)).decode(),
        is_bytes=thrift.number_of(said, 1) == _BYTE_ARRAY,
        codec=CODECS[codec],
        encodings=frozenset(code for code in thrift.list_of(said, 2) if isinstance(code, int)),
        values=thrift.number_of(said, 5),
        unpacked=thrift.number_of(said, 6),
        stored=thrift.number_of(said, 7),
        start=min((start for start in starts if start), default=0),
        has_dictionary=11 in said,
        has_statistics=12 in said,
    )


@dataclass(frozen=True)
class ParquetPage:
    """One page: the number of ``values``, whether the dictionary codes them, its unpacked and stored sizes.

    ``at`` is the place in the file of its header of ``header`` bytes.
    """

    is_dictionary: bool
    coded: bool
    values: int
    unpacked: int
    stored: int
    at: int
    header: int

    @property
    def end(self) -> int:
        """The place behind it in the file."""
        return self.at + self.header + self.stored


def pages_of(file: Any, column: StoredColumn) -> Iterator[ParquetPage]:
    """Yield the pages of a column chunk.

    Raises ArrowInvalid if the bytes are not a page, OSError when the file cannot be read.
    """
    at, end = column.start, column.start + column.stored
    while at < end:
        header, length = _header(file, at)
        kind = thrift.number_of(header, 1)
        said = thrift.struct_of(header.get({_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}.get(kind, -1), {}))
        encoding = said.get(2 if kind == _DATA else 4)
        page = ParquetPage(
            kind == _DICTIONARY,
            encoding in _DICTIONARY_CODES,
            thrift.number_of(said, 1, 0),
            thrift.number_of(header, 2),
            thrift.number_of(header, 3),
            at,
            length,
        )
        yield page
        at = page.end


def _header(file: Any, at: int) -> tuple[thrift.Fields, int]:
    """Return the page header at a place in the file, and its length."""
    size = _HEADER_BYTES
    while True:
        file.seek(at)
        data = bytes(file.read(size))
        try:
            return thrift.struct_at(data, 0)
        except IndexError:
            if len(data) < size or size >= _MOST_HEADER_BYTES:
                raise pa.ArrowInvalid(f"no page header at {at}") from None
            size *= 16
