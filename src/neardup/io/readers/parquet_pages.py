"""Predict the decoded size of a column of a Parquet row group from the headers of its pages.

A dictionary page of some kilobytes may contain a value of a hundred megabytes, and a million rows may repeat it;
the footer shows neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from neardup.io.readers.parquet_footer import PLAIN, StoredColumn
from neardup.io.readers.thrift import Fields, number_of, struct_at, struct_of

_HEADER_BYTES = 4096
_MOST_HEADER_BYTES = 8 << 20
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_RLE = 3
_DICTIONARY_CODES = (2, 8)  # PLAIN_DICTIONARY, RLE_DICTIONARY


@dataclass(frozen=True)
class ParquetPage:
    """One page: the number of ``values``, whether the dictionary codes them, its unpacked and stored sizes.

    ``at`` is its place in the file, the place of its header of ``header`` bytes. ``plain``: the values are stored
    one after the other, with levels as all writers of today encode them.
    """

    is_dictionary: bool
    coded: bool
    values: int
    unpacked: int
    stored: int
    at: int
    header: int
    plain: bool

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
        kind = number_of(header, 1)
        said = struct_of(header.get({_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}.get(kind, -1), {}))
        encoding = said.get(2 if kind == _DATA else 4)
        page = ParquetPage(
            kind == _DICTIONARY,
            encoding in _DICTIONARY_CODES,
            number_of(said, 1, 0),
            number_of(header, 2),
            number_of(header, 3),
            at,
            length,
            encoding == PLAIN and (kind == _DATA_2 or (kind == _DATA and said.get(3) == _RLE)),
        )
        yield page
        at = page.end


def _header(file: Any, at: int) -> tuple[Fields, int]:
    """Return the page header at a place in the file, and its length."""
    size = _HEADER_BYTES
    while True:
        file.seek(at)
        data = bytes(file.read(size))
        try:
            return struct_at(data, 0)
        except IndexError:
            if len(data) < size or size >= _MOST_HEADER_BYTES:
                raise pa.ArrowInvalid(f"no page header at {at}") from None
            size *= 16
