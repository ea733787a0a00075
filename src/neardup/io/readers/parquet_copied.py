"""The text of Parquet files as pages: copied without being decoded, or decoded only where rows are wanted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.io.readers.arrow_rows import chosen, size_of
from neardup.io.readers.arrow_types import is_bytes, row_lengths
from neardup.io.readers.base import Natives, NativeWithoutText, Problem, RowNumbers
from neardup.io.readers.limits import ROW_BYTES, too_long
from neardup.io.readers.parquet_runs import PagedColumn

_GROUP_BYTES = 8 << 20
"""Text of a row group from which on its pages are copied."""

_OLD_CODECS = {3, 5}
"""LZO, and LZ4 as Hadoop frames it: nothing writes them any more."""

RUN_BYTES = 8 << 20
"""Unpacked text of pages that a thread reads at a time."""


class CopiedFiles(Protocol):
    """Parquet files that are read without their text."""

    names: tuple[str, ...]
    schema: Any

    def common(self, position: int, table: Any, schema: Any) -> Any:
        """Return decoded rows with the columns of a schema."""

    def require_unchanged(self, position: int) -> None:
        """Raise InputError if a file has changed since it was first opened."""

    def own_schema(self, position: int) -> Any:
        """Return the schema of a readable file."""

    def natives_without_text(self, text: CopiedText, wanted: Collection[int] | None) -> Natives:
        """Yield each wanted chunk, and a function that reads its native rows without the text."""


@dataclass(frozen=True)
class CopiedText:
    """The text of Parquet files as pages that can be copied: by position of the file, one for each row group.

    ``apart``: each file is written by itself, with its own columns.
    """

    owner: CopiedFiles
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

    def natives(self, wanted: Collection[int] | None) -> Natives:
        """Yield each wanted chunk, and a function that reads its native rows without the text."""
        return self.owner.natives_without_text(self, wanted)

    def texts(self, position: int, numbers: RowNumbers) -> Iterator[tuple[int, Callable[[], pa.Array]]]:
        """Yield, for some rows (ascending) of a file, how many texts follow, and a function that reads these."""
        for column in self.pages[position]:
            first, end = np.searchsorted(numbers, (column.first, column.first + column.rows)).tolist()
            mine = numbers[first:end]
            for begin, end in column.runs(np.diff(np.searchsorted(mine, column.firsts)) > 0, RUN_BYTES):
                some = mine[slice(*np.searchsorted(mine, column.firsts[[begin, end]]).tolist())]
                yield len(some), partial(self._some, position, column, begin, end, some)

    def _some(self, position: int, column: PagedColumn, begin: int, end: int, numbers: RowNumbers) -> pa.Array:
        self.owner.require_unchanged(position)
        found = [values for _, values in column.chosen(begin, end, numbers)]
        texts = pa.concat_arrays(found)
        stored = self.owner.schema.field(self.name).type
        return texts if is_bytes(stored) else texts.view(pa.string())

    def native(
        self, position: int, table: Any, numbers: RowNumbers, problems: Sequence[Problem]
    ) -> NativeWithoutText:
        """Return decoded rows without the text and without rows that are too long."""
        common = self.owner.common(position, table, self.others_of(position))
        long = self._too_long(position, common, numbers)
        if len(long):
            name = self.owner.names[position]
            problems = (*problems, *(Problem(name, row, too_long("the row")) for row in numbers[long].tolist()))
            fits = np.ones(len(numbers), np.bool_)
            fits[long] = False
            common, numbers = chosen(common, fits) if common.num_columns else common, numbers[fits]
        return NativeWithoutText(numbers, common, tuple(problems), position)

    def _too_long(self, position: int, table: Any, numbers: RowNumbers) -> RowNumbers:
        """Return the places of the rows that are longer than a row may be."""
        largest = max((column.largest for column in self.pages[position]), default=0)
        if size_of(table) + largest <= ROW_BYTES:
            return np.empty(0, np.int64)
        lengths = row_lengths(table) if table.num_columns else np.zeros(len(numbers), np.int64)
        doubtful = np.flatnonzero(lengths + largest > ROW_BYTES)
        return doubtful[lengths[doubtful] + self._lengths(position, numbers[doubtful]) > ROW_BYTES]

    def _lengths(self, position: int, numbers: RowNumbers) -> RowNumbers:
        """Return the lengths of the texts of some rows."""
        lengths = np.zeros(len(numbers), np.int64)
        for column in self.pages[position]:
            pages = np.searchsorted(column.firsts, numbers, side="right") - 1
            for page in np.unique(pages[(pages >= 0) & (pages < len(column.pages))]).tolist():
                mine = np.flatnonzero(pages == page)
                found = [values for _, values in column.chosen(page, page + 1, numbers[mine])]
                lengths[mine] = np.asarray(pc.fill_null(pc.binary_length(pa.concat_arrays(found)), 0))
        return lengths
