"""Kept Parquet rows whose text is copied page by page: a page is encoded again only if some of its rows go.

Decoding, filtering and encoding text takes most of the time of writing. Most rows stay, so most pages do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.io.readers.arrow import chosen, no_rows_of, size_of
from neardup.io.readers.base import NativeTable, NativeWithoutText
from neardup.io.readers.parquet_pages import RUN_BYTES, CopiedText, PagedColumn
from neardup.io.readers.thrift import RawFields
from neardup.io.writers.kept_formats import GROUP_BYTES, Layout
from neardup.io.writers.parquet_parts import (
    CHUNK_STORED,
    CHUNK_UNPACKED,
    VALUES,
    EncodedFile,
    PartsWriter,
    binaries,
    binary,
    int32,
    int32s,
    int64,
    numbers_in,
    struct,
    truth,
)
from neardup.runtime import ordered_map
from neardup.tables import Int64s

_BYTE_ARRAY, _PLAIN, _RLE = 6, 0, 3


@dataclass(frozen=True)
class _Rows:
    """Some rows of a file that stay: their numbers, ascending, and a table of their other columns."""

    position: int
    numbers: Int64s
    table: Any

    def slice(self, begin: int, end: int) -> _Rows:
        """Return some of the rows."""
        return _Rows(self.position, self.numbers[begin:end], self.table.slice(begin, end - begin))


@dataclass(frozen=True)
class _Run:
    """Consecutive pages: to be copied, or, with the ``numbers`` of the rows that stay, to be encoded again."""

    column: PagedColumn
    begin: int
    end: int
    numbers: Int64s | None


@dataclass(frozen=True)
class _Pages:
    """Pages to write, the number of their rows, and their unpacked size with headers."""

    data: list[Any]
    rows: int
    unpacked: int


class PagesSink:
    """Collects the other columns of the kept rows into row groups, and writes each with the pages of the text."""

    def __init__(self, path: Path, schema: Any, layout: Layout, threads: int, text: CopiedText) -> None:
        self.path, self.text = path, text
        self._layout, self._threads = layout, threads
        self._others = schema.remove(schema.get_field_index(text.name))
        head = layout.encode(no_rows_of(schema))
        leaves = pq.read_metadata(pa.BufferReader(head.data)).schema
        self._leaf = next(i for i in range(len(leaves)) if leaves.column(i).path == text.name)
        codecs, level = layout.compression, (layout.level or {}).get(text.name)
        codec = codecs if isinstance(codecs, str) else codecs[text.name]
        self._text_layout = Layout(0, codec, None if level is None else {"v": level}, False, False)
        self._value = pa.field("v", pa.binary(), leaves.column(self._leaf).max_definition_level == 1)
        self._file = PartsWriter(path, head)
        self._held: list[_Rows] = []
        self._held_rows = self._held_bytes = 0

    def prepare(self, native: NativeTable, keep: npt.NDArray[np.bool_], extra: Any) -> _Rows | None:
        """Return the numbers of the kept rows, and their other columns."""
        if not keep.any():
            return None
        assert isinstance(native, NativeWithoutText)
        columns = [*native.table.columns, *(extra.columns if extra is not None else ())]
        table = no_rows_of(self._others)
        if columns:
            table = chosen(pa.Table.from_arrays(columns, schema=self._others), keep)
        return _Rows(native.position, native.row_numbers[keep], table)

    def write(self, item: _Rows) -> None:
        """Collect rows until they make a row group."""
        most = self._layout.rows
        while self._held_rows + len(item.numbers) >= most:
            cut = most - self._held_rows
            self._hold(item.slice(0, cut))
            self._write_group()
            item = item.slice(cut, len(item.numbers))
        self._hold(item)
        if self._held_bytes >= GROUP_BYTES:
            self._write_group()

    def close(self) -> None:
        """Write the remaining rows and the footer."""
        try:
            if self._held_rows:
                self._write_group()
        finally:
            self._file.close()

    def _hold(self, rows: _Rows) -> None:
        if len(rows.numbers):
            self._held.append(rows)
            self._held_rows += len(rows.numbers)
            self._held_bytes += size_of(rows.table)

    def _write_group(self) -> None:
        """Write a row group of the rows held."""
        held, rows = self._held, self._held_rows
        self._held, self._held_rows, self._held_bytes = [], 0, 0
        works: list[Callable[[], Any]] = [partial(self._encode_others, [rows.table for rows in held])]
        works += [partial(self._pages_of, run) for run in self._runs(held)]
        done = ordered_map(lambda work: work(), works, self._threads)
        others = next(done)
        chunks = list(others.chunks()) if others is not None else []
        for chunk in chunks[: self._leaf]:
            self._file.add(chunk)
        self._write_text(held, done, rows)
        for chunk in chunks[self._leaf :]:
            self._file.add(chunk)
        self._file.end_group(rows)

    def _write_text(self, held: list[_Rows], done: Iterator[Any], rows: int) -> None:
        """Write the column chunk of the text."""
        begin, unpacked, values = self._file.place, 0, 0
        for pages in done:
            for data in pages.data:
                self._file.write(data)
            unpacked, values = unpacked + pages.unpacked, values + pages.rows
        if values != rows:
            raise pa.ArrowInvalid(f"{values} texts were copied for {rows} rows")
        columns = [column for column, _ in self._columns(held)]
        fields: RawFields = {
            1: int32(_BYTE_ARRAY),
            2: int32s([_PLAIN, _RLE]),
            3: binaries([self.text.name.encode()]),
            4: int32(columns[0].column.codec_number),
            VALUES: int64(rows),
            CHUNK_UNPACKED: int64(unpacked),
            CHUNK_STORED: int64(self._file.place - begin),
            9: int64(begin),
        }
        statistics = _statistics(columns, rows)
        self._file.end_chunk({**fields, 12: struct(statistics)} if statistics else fields, 0)

    def _columns(self, held: list[_Rows]) -> Iterator[tuple[PagedColumn, Int64s]]:
        """Yield the row groups of the input in which rows stay, and the numbers of these rows."""
        positions = [rows.position for rows in held]
        for some in np.split(np.arange(len(held)), np.flatnonzero(np.diff(positions)) + 1):
            numbers = np.concatenate([held[k].numbers for k in some.tolist()])
            for column in self.text.pages[held[int(some[0])].position]:
                begin, end = np.searchsorted(numbers, (column.first, column.first + column.rows)).tolist()
                if begin < end:
                    yield column, numbers[begin:end]

    def _runs(self, held: list[_Rows]) -> Iterator[_Run]:
        """Yield the pages in which rows stay, adjacent ones of one kind together."""
        for column, numbers in self._columns(held):
            ends = np.searchsorted(numbers, column.firsts)
            stay = np.diff(ends)
            whole = np.array([page.plain and page.values for page in column.pages]) == stay
            copied = [(begin, end, None) for begin, end in column.runs(whole & (stay > 0), RUN_BYTES)]
            again = column.runs(~whole & (stay > 0), RUN_BYTES)
            partly = [(begin, end, numbers[ends[begin] : ends[end]]) for begin, end in again]
            yield from (_Run(column, *run) for run in sorted([*copied, *partly], key=lambda run: run[0]))

    def _encode_others(self, tables: list[Any]) -> EncodedFile | None:
        return self._layout.encode(pa.concat_tables(tables)) if len(self._others) else None

    def _pages_of(self, run: _Run) -> _Pages:
        """Return the pages of a run as they are to be written."""
        column, pages = run.column, run.column.pages[run.begin : run.end]
        if run.numbers is None:
            unpacked = sum(page.header + page.unpacked for page in pages)
            return _Pages([column.stored(run.begin, run.end)], sum(page.values for page in pages), unpacked)
        data, unpacked, schema = [], 0, pa.schema([self._value])
        for _, values in column.chosen(run.begin, run.end, run.numbers):
            for chunk in self._text_layout.encode(pa.Table.from_arrays([values], schema=schema)).chunks():
                data.append(chunk.pages)
                unpacked += numbers_in(chunk.column, CHUNK_UNPACKED)[0]
        return _Pages(data, len(run.numbers), unpacked)


def _statistics(columns: list[PagedColumn], rows: int) -> RawFields:
    """Return the statistics of the text: bounds of all values of the row groups from which its rows come."""
    of_input = [column.column for column in columns]
    statistics: RawFields = {}
    nulls = [column.nulls for column in of_input]
    whole = sum(column.rows for column in columns) == rows
    if all(count == 0 or (whole and count is not None) for count in nulls):
        statistics[3] = int64(sum(count or 0 for count in nulls))
    least = [column.least for column in of_input if column.least is not None]
    greatest = [column.greatest for column in of_input if column.greatest is not None]
    if len(least) == len(greatest) == len(of_input):
        statistics |= {5: binary(max(greatest)), 6: binary(min(least)), 7: truth(False), 8: truth(False)}
    return statistics
