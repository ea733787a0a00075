"""Parquet: a chunk is several row groups, or some rows of a row group that is too big to decode at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.io.readers.arrow_rows import no_rows_of
from neardup.io.readers.base import (
    CHUNK_BYTES,
    Chunk,
    Format,
    NativeRows,
    Natives,
    NativeWithoutText,
    Problem,
    ReadRows,
    RowNumbers,
    Separate,
    Sink,
    failure_text,
    no_rows,
    own_natives,
)
from neardup.io.readers.files import UNREADABLE
from neardup.io.readers.parquet_copied import CopiedText
from neardup.io.readers.parquet_footer import FooterGroup, read_footer
from neardup.io.readers.parquet_plan import (
    BIG_GROUP_BYTES,
    RowGroups,
    exact_slices,
    plan,
    plan_group,
    without_columns,
)
from neardup.io.readers.parquet_runs import paged
from neardup.io.readers.sources import Source
from neardup.io.readers.tables import TableChunk, TableDocuments
from neardup.io.writers.kept_formats import ParquetSink, extended, layout_of
from neardup.io.writers.kept_pages import PagesSink


class ParquetDocuments(TableDocuments):
    """Parquet files that all have the same columns.

    They are read, not mapped: truncating a mapped file during the read ends the process.
    """

    format: Format = "parquet"

    def __init__(self, sources: Sequence[Source], chunk_bytes: int = CHUNK_BYTES) -> None:
        super().__init__(sources)
        self._chunk_bytes = chunk_bytes
        self._plans: dict[int, list[RowGroups]] = {}
        self.footers: dict[int, tuple[FooterGroup, ...]] = {}
        self.metadata = self.read_heads(self._read_footer, "a Parquet file", "A whole Parquet file")
        self.settle([None if found is None else found.schema.to_arrow_schema() for found in self.metadata])

    def sink(self, folder: Path, extra: Any, threads: int = 1) -> Sink:
        """Open ``kept.parquet``, laid out like the first file."""
        more = [*(extra.names if extra is not None else ()), *self.partition_names]
        layout = layout_of(self.footers[min(self.footers)], more)
        return ParquetSink(folder / "kept.parquet", extended(self.schema, extra), layout, threads)

    def copying_sink(self, folder: Path, extra: Any, threads: int) -> PagesSink | None:
        """Open ``kept.parquet`` so that pages of text whose rows all stay are copied; None if they cannot be."""
        text = self._copied_text
        if text is None:
            return None
        more = [*(extra.names if extra is not None else ()), *self.partition_names]
        layout = layout_of(self.footers[min(self.footers)], more)
        return PagesSink(folder / "kept.parquet", extended(self.schema, extra), layout, threads, text)

    def separate(self, extra: Any, threads: int, judged: bool) -> Separate:
        """Return how to write the row groups of each file apart, laid out like the file; pages are copied."""
        text = replace(self._pages, apart=True) if judged and self._pages else None
        text = text if text is not None and text.is_worthwhile else None

        def opened(position: int, path: Path) -> Sink | None:
            if position in self.failures:
                return None
            layout = layout_of(self.footers[position], extra.names if extra is not None else ())
            asked = (path, extended(self.own_schema(position), extra), layout, threads)
            return ParquetSink(*asked) if text is None else PagesSink(*asked, text)

        def natives(wanted: Collection[int] | None) -> Natives:
            return own_natives(self.chunks(wanted, None)) if text is None else text.natives(wanted)

        return Separate(natives, opened)

    def natives_without_text(self, text: CopiedText, wanted: Collection[int] | None) -> Natives:
        """Yield each wanted chunk, and a function that reads its native rows without the text."""
        names = [name for name in text.others.names if name not in self.partition_names]
        for chunk in self.chunks(wanted, names):
            yield chunk, partial(_without_text, text, chunk, names)

    @property
    def _copied_text(self) -> CopiedText | None:
        """The text as pages, if they can be copied in all files and most of them are plain."""
        return self._pages if self._pages is not None and self._pages.is_worthwhile else None

    @cached_property
    def _pages(self) -> CopiedText | None:
        """The text as pages, if they can be copied in all files."""
        name, pages = self.text, {}
        stored_others = len(self.schema) - len(self.partition_names) - 1
        if name is None or name in self.virtual or (self._unified and name in self._unified.mixed):
            return None
        if self.partition_names and not stored_others:  # the partition would have no rows to be repeated for
            return None
        for position in self.footers:
            found = paged(self.sources[position], self.footers[position], self.metadata[position], name)
            if found is None or not self._is_modest(position):
                return None
            pages[position] = found
        return CopiedText(self, name, pages)

    def _is_modest(self, position: int) -> bool:
        """Whether the rows of a file need little more memory than the file states, as values may be repeated."""
        decoded = [
            (part, part.rows * self._chunk_bytes // part.batch_rows)
            for part in self._plan(position)
            if part.batch_rows
        ]
        stated = [self.footers[position][group].unpacked for part, _ in decoded for group in part.groups]
        refused = any(part.refused for part in self._plan(position))
        return not refused and sum(size for _, size in decoded) <= sum(stated) + BIG_GROUP_BYTES

    def some_texts(self, wanted: Mapping[int, RowNumbers]) -> Iterator[tuple[int, Callable[[], Any]]] | None:
        """See ``SomeTexts``: only the pages with these rows are decoded.

        None before a pass over all chunks has ended: the file of a chunk is not known yet.
        """
        text = None if None in self._counts else self._copied_text
        return None if text is None else self._some_texts(text, wanted)

    def _some_texts(
        self, text: CopiedText, wanted: Mapping[int, RowNumbers]
    ) -> Iterator[tuple[int, Callable[[], Any]]]:
        of_files: dict[int, list[RowNumbers]] = {}
        for chunk in sorted(wanted):
            of_files.setdefault(self.file_of(chunk), []).append(wanted[chunk])
        for position, numbers in of_files.items():
            yield from text.texts(position, np.concatenate(numbers))

    def _read_footer(self, position: int) -> Any:
        with open_parquet(self.sources[position]) as file, self.sources[position].open_raw() as raw:
            # a type that Arrow cannot read, or a name that is not UTF-8, fails now, not in the middle
            file.schema_arrow.names  # noqa: B018
            self.footers[position] = read_footer(raw, file.metadata)
            return file.metadata

    def pieces(
        self, position: int, first: int, want: Callable[[int], bool], columns: Sequence[str] | None
    ) -> Iterator[Chunk | None]:
        """Yield the chunks of one file."""
        if position in self.failures:
            yield self.failed(position, first, f"not a Parquet file: {self.failures[position]}")
            return
        index = first
        for part in self._plan(position):
            indexes = range(index, index + part.chunks)
            index += part.chunks
            if not any(map(want, indexes)):
                yield from (None for _ in indexes)
            elif part.refused is not None:
                reason = lost_rows(part.first_row, part.first_row + part.rows, part.refused)
                yield self.failed(position, indexes[0], reason, part.first_row)
            elif part.batch_rows is None:
                yield _GroupsChunk(indexes[0], self, position, part)
            else:
                yield from self._stream(position, part, indexes, want, columns)

    def row(self, row: int, columns: Sequence[str]) -> ReadRows | None:
        """Decode a row of the first file: its row group up to the row. None for a row that is not there."""
        if self.failures:
            return None
        ends = np.cumsum([group.rows for group in self.footers[0]])
        group = int(np.searchsorted(ends, row, side="right"))
        if row < 0 or group == len(ends):
            return None
        with self.sources[0].open_raw() as raw:
            part = plan_group(self.footers[0], group, raw, partial(self.open, 0))
        end = part.first_row + part.rows
        try:
            if part.batch_rows is None:
                raise pa.ArrowInvalid(part.refused)
            with self.open(0) as file:
                first = part.first_row
                for batch in file.iter_batches(part.batch_rows, [group], self.in_file(columns), use_threads=False):
                    if row < first + batch.num_rows:
                        table = pa.Table.from_batches([batch.slice(row - first, 1)])
                        return self.rows(0, table, np.array([row]), columns)
                    first += batch.num_rows
        except UNREADABLE as error:
            problem = Problem(self.names[0], row, lost_rows(part.first_row, end, error))
            return ReadRows(self.empty(0), no_rows(), (problem,))
        return None

    def _plan(self, position: int) -> list[RowGroups]:
        if position not in self._plans:
            with self.sources[position].open_raw() as raw:
                opened = partial(self.open, position)
                # at a URL, reading a header fetches the bytes around it: the whole file would be fetched once more
                self._plans[position] = plan(
                    self.footers[position],
                    raw,
                    opened,
                    self._chunk_bytes,
                    all_headers=not self.sources[position].is_remote,
                )
        return self._plans[position]

    def _stream(
        self,
        position: int,
        part: RowGroups,
        indexes: range,
        want: Callable[[int], bool],
        columns: Sequence[str] | None,
    ) -> Iterator[Chunk | None]:
        """Decode a big row group here, a batch at a time: its pages can only be read in order."""
        assert part.batch_rows is not None
        last = max(filter(want, indexes))
        row = part.first_row
        try:
            with self.open(position) as file:
                names = self.in_file(columns)
                tables = (
                    without_columns(part.rows, part.batch_rows)
                    if names == []
                    else exact_slices(
                        file.iter_batches(part.batch_rows, part.groups, names, use_threads=False), part.batch_rows
                    )
                )
                for index, table in zip(indexes, tables, strict=False):
                    yield TableChunk(index, self, position, row, table) if want(index) else None
                    row += table.num_rows
                    if index == last:
                        break
        except UNREADABLE as error:
            self.require_unchanged(position)
            yield from self._lost(position, part, indexes, want, row, error)
            return
        yield from (None for index in indexes if index > last)

    def _lost(
        self,
        position: int,
        part: RowGroups,
        indexes: range,
        want: Callable[[int], bool],
        row: int,
        error: BaseException,
    ) -> Iterator[Chunk | None]:
        """Yield the problem and, so that later chunks keep their numbers, chunks without rows."""
        assert part.batch_rows is not None
        failed, *rest = indexes[(row - part.first_row) // part.batch_rows :]
        end = part.first_row + part.rows
        yield self.failed(position, failed, lost_rows(row, end, error), row) if want(failed) else None
        for index in rest:
            empty = self.empty(position)
            yield TableChunk(index, self, position, end, empty) if want(index) else None

    def open(self, position: int, dictionary: str | None = None) -> Any:
        """Open one of the files, without reading its footer again; one column may keep its dictionary."""
        return open_parquet(self.sources[position], self.metadata[position], dictionary)

    def empty(self, position: int) -> Any:
        """Return decoded rows of a file, without any row."""
        return no_rows_of(self.metadata[position].schema.to_arrow_schema())


@dataclass(frozen=True)
class _GroupsChunk:
    """One or more whole row groups, decoded by the thread that reads the chunk."""

    index: int
    owner: ParquetDocuments
    position: int
    part: RowGroups

    @property
    def source(self) -> str:
        return self.owner.names[self.position]

    @property
    def first_row(self) -> int:
        return self.part.first_row

    def read(self, columns: Sequence[str]) -> ReadRows:
        table, row_numbers, problems = self.decode(self.owner.in_file(columns))
        rows = self.owner.rows(self.position, table, row_numbers, columns)
        return replace(rows, problems=(*problems, *rows.problems))

    def read_native(self, *, own: bool = False) -> NativeRows:
        table, row_numbers, problems = self.decode(None)
        native = self.owner.native(self.position, table, row_numbers, own=own)
        return replace(native, problems=(*problems, *native.problems))

    def decode(self, columns: list[str] | None) -> tuple[Any, Any, tuple[Problem, ...]]:
        """Return the rows that can be decoded, their numbers in the file, and the problems of the others."""
        part = self.part
        self.owner.require_unchanged(self.position)
        try:
            with self.owner.open(self.position) as file:
                table = file.read_row_groups(part.groups, columns, use_threads=False)
        except UNREADABLE:
            self.owner.require_unchanged(self.position)
            return self._rescue(columns)
        return table, np.arange(part.first_row, part.first_row + part.rows), ()

    def _rescue(self, columns: list[str] | None) -> tuple[Any, Any, tuple[Problem, ...]]:
        """Read the row groups one by one, so that a damaged one does not affect the others."""
        tables, numbers, problems = [self._empty(columns)], [no_rows()], []
        row = self.part.first_row
        for group in self.part.groups:
            end = row + self.owner.footers[self.position][group].rows
            try:
                with self.owner.open(self.position) as file:
                    found = file.read_row_group(group, columns, use_threads=False)
                    tables.append(found if columns is None else found.select(columns))
                numbers.append(np.arange(row, end))
            except UNREADABLE as error:
                problems.append(Problem(self.source, row, lost_rows(row, end, error)))
            row = end
        return pa.concat_tables(tables), np.concatenate(numbers), tuple(problems)

    def _empty(self, columns: list[str] | None) -> Any:
        empty = self.owner.empty(self.position)
        return empty if columns is None else empty.select(columns)


def _without_text(text: CopiedText, chunk: Chunk, names: list[str]) -> NativeRows:
    """Read the native rows of a chunk without the text."""
    if isinstance(chunk, _GroupsChunk):
        return text.native(chunk.position, *chunk.decode(names))
    if isinstance(chunk, TableChunk):
        return text.native(chunk.position, chunk.table, chunk.row_numbers(), ())
    return NativeWithoutText(no_rows(), no_rows_of(text.others))


def open_parquet(source: Source, metadata: Any = None, dictionary: str | None = None) -> Any:
    """Open a Parquet file to read it a page at a time, verifying its checksums if it has them."""
    # pre_buffer would load the column chunks of all requested row groups at once, a big row group as a whole
    return pq.ParquetFile(
        source.open_raw(),
        metadata=metadata,
        read_dictionary=None if dictionary is None else [dictionary],
        buffer_size=1 << 20,
        pre_buffer=False,
        page_checksum_verification=True,
    )


def lost_rows(start: int, end: int, error: BaseException | str) -> str:
    """Return the reason that lists the rows lost with a damaged row group."""
    why = error if isinstance(error, str) else failure_text(error)
    return f"rows {start} to {end - 1} are lost, their row group cannot be read: {why}"
