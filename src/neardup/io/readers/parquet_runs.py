"""Runs of pages of one Parquet column, decoded alone: the other pages of the row group are not read.

Arrow decodes a column chunk from its beginning. Here some of its pages become a file in memory with one column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.io.readers.parquet_footer import FooterGroup, StoredColumn
from neardup.io.readers.parquet_pages import ParquetPage, pages_of
from neardup.io.readers.sources import Source
from neardup.io.writers.parquet_parts import binaries, binary, int32, int32s, int64, struct, struct_bytes, structs
from neardup.tables import Bools, Int64s

_MAGIC, _NAME = b"PAR1", b"v"
_BYTE_ARRAY, _REQUIRED, _OPTIONAL = 6, 0, 1
_DICTIONARY_BYTES = 4 << 20
"""A bigger dictionary would be unpacked too often."""
_BATCH_ROWS, _BATCH_BYTES = 1 << 12, 64 << 20
"""Values that are decoded at once, and the most bytes if all repeat the largest one of a dictionary."""


@dataclass(frozen=True)
class PagedColumn:
    """The pages of a column of strings in a row group, whose first row is ``first`` in its file.

    Page k holds the rows ``firsts[k]`` … ``firsts[k + 1] − 1`` of the file.
    """

    source: Source
    column: StoredColumn
    nullable: bool
    first: int
    rows: int
    dictionary: ParquetPage | None
    pages: tuple[ParquetPage, ...]

    @cached_property
    def firsts(self) -> Int64s:
        """int64[pages + 1]: the first row of each page, and the end."""
        return self.first + np.cumsum([0, *(page.values for page in self.pages)])

    @property
    def largest(self) -> int:
        """Upper bound for the size of a value, in bytes."""
        return max((page.unpacked for page in (*self.pages, self.dictionary) if page), default=0)

    def stored(self, begin: int, end: int) -> bytes:
        """Return the bytes of the pages ``begin`` … ``end − 1``."""
        with self.source.open_raw() as file:
            return self._bytes(file, self.pages[begin].at, self.pages[end - 1].end)

    def runs(self, wanted: Bools, most: int) -> Iterator[tuple[int, int]]:
        """Yield begin and end of each run of ``wanted`` pages (bool[pages]) of about ``most`` unpacked bytes."""
        begin = 0
        while begin < len(self.pages):
            end, unpacked = begin, 0
            while end < len(self.pages) and wanted[end] and unpacked < most:
                unpacked += self.pages[end].unpacked
                end += 1
            if end > begin:
                yield begin, end
            begin = max(end, begin + 1)

    def chosen(self, begin: int, end: int, numbers: Int64s) -> Iterator[tuple[Int64s, pa.Array]]:
        """Yield rows of the pages ``begin`` … ``end − 1`` (ascending numbers in the file), and their values."""
        first = int(self.firsts[begin])
        for values in self._values(begin, end):
            some = numbers[slice(*np.searchsorted(numbers, (first, first + len(values))).tolist())]
            if len(some) == len(values):
                yield some, values
            elif len(some):
                yield some, values.take(pa.array(some - first))
            first += len(values)

    def _values(self, begin: int, end: int) -> Iterator[pa.Array]:
        """Yield the values of the pages ``begin`` … ``end − 1`` as binary arrays."""
        coded = self.dictionary if any(page.coded for page in self.pages[begin:end]) else None
        with self.source.open_raw() as file:
            head = b"" if coded is None else self._bytes(file, coded.at, coded.end)
            data = self._bytes(file, self.pages[begin].at, self.pages[end - 1].end)
        chosen = [*([coded] if coded else []), *self.pages[begin:end]]
        footer = self._footer(chosen, len(head))
        made = b"".join((_MAGIC, head, data, footer, len(footer).to_bytes(4, "little"), _MAGIC))
        opened = pq.ParquetFile(pa.BufferReader(made), page_checksum_verification=True)
        batch_rows = (
            _BATCH_ROWS if coded is None else max(1, min(_BATCH_ROWS, _BATCH_BYTES // (coded.unpacked + 1)))
        )
        for batch in opened.iter_batches(batch_rows, use_threads=False):
            yield batch.column(0)

    def _bytes(self, file: Any, begin: int, end: int) -> bytes:
        file.seek(begin)
        found = bytes(file.read(end - begin))
        if len(found) != end - begin:
            raise pa.ArrowInvalid("the file ends in the middle of a page")
        return found

    def _footer(self, pages: list[ParquetPage], dictionary_bytes: int) -> bytes:
        rows = sum(page.values for page in pages if not page.is_dictionary)
        stored = sum(page.header + page.stored for page in pages)
        unpacked = sum(page.header + page.unpacked for page in pages)
        column = {
            1: int32(_BYTE_ARRAY),
            2: int32s(sorted(self.column.encodings)),
            3: binaries([_NAME]),
            4: int32(self.column.codec_number),
            5: int64(rows),
            6: int64(unpacked),
            7: int64(stored),
            9: int64(len(_MAGIC) + dictionary_bytes),
        }
        if dictionary_bytes:
            column[11] = int64(len(_MAGIC))
        group = {1: structs([{2: int64(0), 3: struct(column)}]), 2: int64(unpacked), 3: int64(rows)}
        repetition = _OPTIONAL if self.nullable else _REQUIRED
        leaf = {1: int32(_BYTE_ARRAY), 3: int32(repetition), 4: binary(_NAME)}
        schema = structs([{4: binary(b"s"), 5: int32(1)}, leaf])
        return struct_bytes({1: int32(2), 2: schema, 3: int64(rows), 4: structs([group])})


def paged(source: Source, groups: tuple[FooterGroup, ...], metadata: Any, name: str) -> list[PagedColumn] | None:
    """Return the pages of a column in each row group; None if they cannot be decoded apart.

    They can if the column holds strings or bytes without nesting, most of them in plain pages.
    """
    leaf = next((i for i in range(metadata.num_columns) if metadata.schema.column(i).path == name), None)
    if leaf is None or not source.is_local:
        return None
    about = metadata.schema.column(leaf)
    if about.physical_type != "BYTE_ARRAY" or about.max_repetition_level or about.max_definition_level > 1:
        return None
    found, first = [], 0
    with source.open_raw() as file:
        for group in groups:
            column = group.columns[leaf]
            try:
                pages = list(pages_of(file, column))
            except (OSError, ValueError, pa.ArrowException):
                return None
            dictionary = pages.pop(0) if pages and pages[0].is_dictionary else None
            if (dictionary and dictionary.unpacked > _DICTIONARY_BYTES) or not _are_all(pages, group.rows):
                return None
            nullable = about.max_definition_level == 1
            found.append(PagedColumn(source, column, nullable, first, group.rows, dictionary, tuple(pages)))
            first += group.rows
    return found


def _are_all(pages: list[ParquetPage], rows: int) -> bool:
    """Whether these are data pages that hold all rows of their row group."""
    return sum(page.values for page in pages) == rows and not any(page.is_dictionary for page in pages)
