"""Pages of Parquet columns: their sizes and places, and some of them decoded or copied alone.

Arrow decodes a column chunk from its beginning; here some of its pages become a file in memory with one column.
The headers of pages show what the footer does not: a dictionary page of some kilobytes may contain a value of a
hundred megabytes, and a million rows may repeat it.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.io.readers import base, thrift
from neardup.io.readers.arrow import chosen, is_bytes, no_rows_of, row_lengths, size_of
from neardup.io.readers.sources import Source
from neardup.io.readers.tables import TableChunk, TableDocuments
from neardup.tables import Bools, Int64s

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
    statistics = said.get(12)
    known = statistics if isinstance(statistics, dict) else {}
    starts = [thrift.number_of(said, key) for key in (9, 11) if key in said]
    return StoredColumn(
        path=b".".join(part for part in thrift.list_of(said, 3) if isinstance(part, bytes)).decode(),
        is_bytes=thrift.number_of(said, 1) == _BYTE_ARRAY,
        codec=CODECS[codec],
        codec_number=codec,
        encodings=frozenset(code for code in thrift.list_of(said, 2) if isinstance(code, int)),
        values=thrift.number_of(said, 5),
        unpacked=thrift.number_of(said, 6),
        stored=thrift.number_of(said, 7),
        start=min((start for start in starts if start), default=0),
        has_dictionary=11 in said,
        has_statistics=12 in said,
        nulls=known[3] if isinstance(known.get(3), int) else None,
        least=_bytes_of(known, 6),
        greatest=_bytes_of(known, 5),
    )


def _bytes_of(fields: thrift.Fields, key: int) -> bytes | None:
    value = fields.get(key)
    return value if isinstance(value, bytes) else None


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
            encoding == PLAIN and (kind == _DATA_2 or (kind == _DATA and said.get(3) == _RLE)),
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


_NAME, _REQUIRED, _OPTIONAL = b"v", 0, 1
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
            1: thrift.int32(_BYTE_ARRAY),
            2: thrift.int32s(sorted(self.column.encodings)),
            3: thrift.binaries([_NAME]),
            4: thrift.int32(self.column.codec_number),
            5: thrift.int64(rows),
            6: thrift.int64(unpacked),
            7: thrift.int64(stored),
            9: thrift.int64(len(_MAGIC) + dictionary_bytes),
        }
        if dictionary_bytes:
            column[11] = thrift.int64(len(_MAGIC))
        group = {
            1: thrift.structs([{2: thrift.int64(0), 3: thrift.struct(column)}]),
            2: thrift.int64(unpacked),
            3: thrift.int64(rows),
        }
        repetition = _OPTIONAL if self.nullable else _REQUIRED
        leaf = {1: thrift.int32(_BYTE_ARRAY), 3: thrift.int32(repetition), 4: thrift.binary(_NAME)}
        schema = thrift.structs([{4: thrift.binary(b"s"), 5: thrift.int32(1)}, leaf])
        return thrift.struct_bytes(
            {1: thrift.int32(2), 2: schema, 3: thrift.int64(rows), 4: thrift.structs([group])}
        )


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


_GROUP_BYTES = 8 << 20
"""Text of a row group from which on its pages are copied."""

_OLD_CODECS = {3, 5}
"""LZO, and LZ4 as Hadoop frames it: nothing writes them any more."""

RUN_BYTES = 8 << 20
"""Unpacked text of pages that a thread reads at a time."""


@dataclass(frozen=True)
class CopiedText:
    """The text of Parquet files as pages that can be copied: by position of the file, one for each row group.

    ``apart``: each file is written by itself, with its own columns.
    """

    owner: TableDocuments
    name: str
    pages: dict[int, list[PagedColumn]]
    apart: bool = False

    @property
    def others(self) -> Any:
        """The schema of the other columns of all files."""
        return self._without_text(self.owner.schema)

    def others_of(self, position: int) -> Any:
        """Return the schema of the other columns of the rows of a file."""
        return self._without_text(self.owner.own_schema(position)) if self.apart else self.others

    def _without_text(self, schema: Any) -> Any:
        return schema.remove(schema.get_field_index(self.name))

    @property
    def is_worthwhile(self) -> bool:
        """Whether pages of plain values are most of the text: a dictionary comes first in each row group."""
        columns = [column for of_file in self.pages.values() for column in of_file if column.rows]
        codecs = {column.column.codec_number for column in columns}
        if not codecs or codecs & _OLD_CODECS or (len(codecs) > 1 and not self.apart):
            return False
        if sum(column.column.unpacked for column in columns) < _GROUP_BYTES * len(columns):
            return False
        plain = sum(page.values for column in columns for page in column.pages if page.plain)
        return 2 * plain >= sum(column.rows for column in columns)

    def natives(self, wanted: Collection[int] | None) -> base.Natives:
        """Yield each wanted chunk, and a function that reads its native rows without the text."""
        names = [name for name in self.others.names if name not in self.owner.partition_names]
        for chunk in self.owner.chunks(wanted, names):
            yield chunk, partial(self._native, chunk, names)

    def _native(self, chunk: base.Chunk, names: list[str]) -> base.NativeWithoutText:
        """Read the native rows of a chunk, without rows that are too long."""
        if not isinstance(chunk, TableChunk):
            return base.NativeWithoutText(base.no_rows(), no_rows_of(self.others))
        position, owner = chunk.position, self.owner
        table, numbers, problems = chunk.decode(names)
        common = owner.common(position, table, self.others_of(position))
        long = self._too_long(position, common, numbers)
        if len(long):
            name = owner.names[position]
            problems = (
                *problems,
                *(base.Problem(name, row, base.too_long("the row")) for row in numbers[long].tolist()),
            )
            fits = np.ones(len(numbers), np.bool_)
            fits[long] = False
            common, numbers = chosen(common, fits) if common.num_columns else common, numbers[fits]
        return base.NativeWithoutText(numbers, common, problems, position)

    def texts(self, position: int, numbers: base.RowNumbers) -> Iterator[tuple[int, Callable[[], pa.Array]]]:
        """Yield, for some rows (ascending) of a file, how many texts follow, and a function that reads these."""
        for column in self.pages[position]:
            first, end = np.searchsorted(numbers, (column.first, column.first + column.rows)).tolist()
            mine = numbers[first:end]
            for begin, end in column.runs(np.diff(np.searchsorted(mine, column.firsts)) > 0, RUN_BYTES):
                some = mine[slice(*np.searchsorted(mine, column.firsts[[begin, end]]).tolist())]
                yield len(some), partial(self._some, position, column, begin, end, some)

    def _some(
        self, position: int, column: PagedColumn, begin: int, end: int, numbers: base.RowNumbers
    ) -> pa.Array:
        self.owner.require_unchanged(position)
        found = [values for _, values in column.chosen(begin, end, numbers)]
        texts = pa.concat_arrays(found)
        stored = self.owner.schema.field(self.name).type
        return texts if is_bytes(stored) else texts.view(pa.string())

    def _too_long(self, position: int, table: Any, numbers: base.RowNumbers) -> base.RowNumbers:
        """Return the places of the rows that are longer than a row may be."""
        largest = max((column.largest for column in self.pages[position]), default=0)
        if size_of(table) + largest <= base.ROW_BYTES:
            return np.empty(0, np.int64)
        lengths = row_lengths(table) if table.num_columns else np.zeros(len(numbers), np.int64)
        doubtful = np.flatnonzero(lengths + largest > base.ROW_BYTES)
        return doubtful[lengths[doubtful] + self._lengths(position, numbers[doubtful]) > base.ROW_BYTES]

    def _lengths(self, position: int, numbers: base.RowNumbers) -> base.RowNumbers:
        """Return the lengths of the texts of some rows."""
        lengths = np.zeros(len(numbers), np.int64)
        for column in self.pages[position]:
            pages = np.searchsorted(column.firsts, numbers, side="right") - 1
            for page in np.unique(pages[(pages >= 0) & (pages < len(column.pages))]).tolist():
                mine = np.flatnonzero(pages == page)
                found = [values for _, values in column.chosen(page, page + 1, numbers[mine])]
                lengths[mine] = np.asarray(pc.fill_null(pc.binary_length(pa.concat_arrays(found)), 0))
        return lengths
