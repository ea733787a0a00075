"""Parquet: a chunk is several row groups, or some rows of a row group that is too big to decode at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.io.readers import base
from neardup.io.readers.arrow import no_rows_of, row_lengths
from neardup.io.readers.files import UNREADABLE
from neardup.io.readers.parquet_pages import FooterGroup, ParquetPage, StoredColumn, pages_of, read_footer
from neardup.io.readers.sources import Source
from neardup.io.readers.tables import TableChunk, TableDocuments
from neardup.io.writers.kept_formats import extended_schema
from neardup.io.writers.kept_parquet import ParquetSink, layout_of

# A row group up to this size is decoded in one piece by a worker, which holds several times its bytes; others are
# streamed.
BIG_GROUP_BYTES = 16 << 20

# To read one row, the rows before it in its row group are decoded in batches of about this size.
_SMALL_BATCH_BYTES = 1 << 20

# In a dictionary, the length precedes each value.
_LENGTH_BYTES = 4

# Rows per batch when sizes are looked up, where a dictionary may repeat large values.
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class RowGroups:
    """Consecutive row groups that make one chunk, or one big row group that makes several.

    ``refused``: why a row group cannot be decoded within the limits.
    """

    groups: tuple[int, ...]
    first_row: int
    rows: int
    batch_rows: int | None = None
    refused: str | None = None

    @property
    def chunks(self) -> int:
        """Number of chunks this part is cut into."""
        return 1 if self.batch_rows is None else -(-self.rows // self.batch_rows)


@dataclass(frozen=True)
class Decoded:
    """The decoded size of a row group, and the size of the largest value that rows may repeat, in bytes."""

    size: int
    largest: int = 0


def plan(
    groups: Sequence[FooterGroup],
    file: Any,
    dictionaries: Callable[[str], Any],
    chunk_bytes: int,
    *,
    all_headers: bool = True,
) -> list[RowGroups]:
    """Cut a file into parts: small row groups together, middle ones alone, big ones in batches.

    ``file``: the file as bytes; ``dictionaries`` opens it as Parquet, so that one column keeps its dictionary.
    ``all_headers``: read the header of every page, since the footer may understate the unpacked sizes.
    """
    parts: list[RowGroups] = []
    held: list[int] = []
    held_bytes = row = start = 0

    def close() -> None:
        nonlocal held, held_bytes
        if held:
            parts.append(RowGroups(tuple(held), start, row - start))
        held, held_bytes = [], 0

    for group, stored in enumerate(groups):
        rows = stored.rows
        try:
            told = _unpacked_size(stored, group, file) if all_headers else 0
            decoded = decoded_size(stored, group, file, dictionaries, told)
        except _TooLargeError as error:
            close()
            parts.append(RowGroups((group,), row, rows, None, str(error)))
            row += rows
            continue
        if held and held_bytes + decoded.size > chunk_bytes:
            close()
        if decoded.size > max(BIG_GROUP_BYTES, chunk_bytes):
            batch = rows * chunk_bytes // decoded.size
            if decoded.largest:
                batch = min(batch, BIG_GROUP_BYTES // decoded.largest)
            close()
            parts.append(RowGroups((group,), row, rows, max(1, batch)))
        elif rows:
            start = start if held else row
            held.append(group)
            held_bytes += decoded.size
        row += rows
    close()
    return parts


def plan_group(
    groups: Sequence[FooterGroup], group: int, file: Any, dictionaries: Callable[[str], Any]
) -> RowGroups:
    """Plan one row group to be read in small batches, within the same limits as ``plan``."""
    stored, first = groups[group], sum(earlier.rows for earlier in groups[:group])
    try:
        decoded = decoded_size(stored, group, file, dictionaries, _unpacked_size(stored, group, file))
    except _TooLargeError as error:
        return RowGroups((group,), first, stored.rows, None, str(error))
    batch = stored.rows * _SMALL_BATCH_BYTES // max(1, decoded.size)
    if decoded.largest:
        batch = min(batch, BIG_GROUP_BYTES // decoded.largest)
    return RowGroups((group,), first, stored.rows, max(1, batch))


class _TooLargeError(Exception):
    """A row group over a limit."""


def _unpacked_size(stored: FooterGroup, group: int, file: Any) -> int:
    """Return the unpacked size of a row group by its page headers, which Arrow trusts when it allocates memory."""
    size = 0
    for column in stored.columns:
        try:
            for page in pages_of(file, column):
                size += page.unpacked
                if page.is_dictionary and column.is_bytes:
                    continue  # decoded_size has a limit for it
                if page.unpacked > max(base.PAGE_BYTES, base.PAGE_RATIO * page.stored):
                    raise _TooLargeError(
                        f"a page of column {column.path} in row group {group} has {page.stored:,} bytes and "
                        f"unpacks to {page.unpacked:,}; at most {base.PAGE_BYTES >> 20} MB are unpacked, or "
                        f"{base.PAGE_RATIO} times the stored bytes"
                    )
        except (OSError, ValueError, pa.ArrowException):
            continue  # a damaged column is reported when it is read
    return size


def decoded_size(
    stored: FooterGroup, group: int, file: Any, dictionaries: Callable[[str], Any], told: int = 0
) -> Decoded:
    """Return the decoded size of a row group in bytes, counting each repetition of a dictionary value.

    ``told``: the size by the headers of its pages, which the footer may understate.
    """
    size, largest = max(stored.unpacked, told), 0
    for column in stored.columns:
        if not column.is_bytes or not column.has_dictionary:
            continue
        try:
            repeated = _dictionary_size(file, column, dictionaries, group)
        except (OSError, ValueError, pa.ArrowException):
            continue  # a damaged column is reported when it is read
        size, largest = size + repeated.size, max(largest, repeated.largest)
    return Decoded(size, largest)


def _dictionary_size(file: Any, column: StoredColumn, dictionaries: Callable[[str], Any], group: int) -> Decoded:
    """Return the size of the rows whose values are in the dictionary."""
    found = pages_of(file, column)
    first = next(found, None)
    if first is None or not first.is_dictionary:
        return Decoded(0)
    if first.unpacked > base.DICTIONARY_BYTES:
        raise _TooLargeError(
            f"the different values of its column {column.path} take {first.unpacked >> 20} MB, "
            f"at most {base.DICTIONARY_BYTES >> 20} MB are read"
        )
    if first.unpacked > (base.ROW_BYTES + _LENGTH_BYTES) * max(1, first.values):
        raise _TooLargeError(base.too_long(f"a value of its column {column.path}"))
    if first.unpacked * column.values <= BIG_GROUP_BYTES:
        return Decoded(0)  # however often they are repeated
    coded = sum(page.values for page in takewhile(_is_coded, found))
    return _measured_rows(dictionaries, column, group, coded)


def _is_coded(page: ParquetPage) -> bool:
    return page.coded


def _measured_rows(dictionaries: Callable[[str], Any], column: StoredColumn, group: int, coded: int) -> Decoded:
    """Add up the values of the first rows by the dictionary, without decoding them."""
    name = column.path
    size = largest = seen = 0
    if "." in name:  # inside a list or a struct, where Arrow returns no dictionary: assume the worst
        return Decoded(column.unpacked * max(1, column.values), base.ROW_BYTES)
    with dictionaries(name) as file:
        for batch in file.iter_batches(min(coded, _ROWS_AT_ONCE) or 1, [group], [name], use_threads=False):
            lengths = row_lengths(pa.Table.from_batches([batch]))
            size, seen = size + int(lengths.sum()), seen + len(lengths)
            largest = max(largest, int(lengths.max(initial=0)))
            if seen >= coded:
                break
    if largest > base.ROW_BYTES:
        raise _TooLargeError(base.too_long(f"a value of its column {name}"))
    return Decoded(size, largest)


def exact_slices(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield tables of exactly ``rows`` rows (the last may be shorter), without copying.

    The batch boundaries of a decoder depend on the columns decoded, but a chunk must have the same rows in every
    pass.
    """
    held: list[Any] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        while count >= rows:
            table = pa.Table.from_batches(held)
            yield table.slice(0, rows)
            held, count = table.slice(rows).to_batches(), count - rows
    if count:
        yield pa.Table.from_batches(held)


def without_columns(rows: int, batch_rows: int) -> Iterator[Any]:
    """Yield tables of as many rows as ``exact_slices`` yields, without a column of the file."""
    for first in range(0, rows, batch_rows):
        yield pa.table({"": pa.nulls(min(batch_rows, rows - first))})


class ParquetDocuments(TableDocuments):
    """Parquet files that all have the same columns.

    They are read, not mapped: truncating a mapped file during the read ends the process.
    """

    format: base.Format = "parquet"
    failure = "not a Parquet file"
    kept_name = "kept.parquet"

    def __init__(self, sources: Sequence[Source], chunk_bytes: int = base.CHUNK_BYTES) -> None:
        super().__init__(sources)
        self._chunk_bytes = chunk_bytes
        self._plans: dict[int, list[RowGroups]] = {}
        self._group_plans: dict[int, RowGroups] = {}
        self.footers: dict[int, tuple[FooterGroup, ...]] = {}
        self.metadata = self.read_heads(self._read_footer, "a Parquet file", "A whole Parquet file")
        self.settle([None if found is None else found.schema.to_arrow_schema() for found in self.metadata])

    def open_sink(self, path: Path, position: int | None, extra: Any, threads: int) -> base.Sink:
        """Open a file laid out like that at a position, None: like the first."""
        more = () if extra is None else extra.names
        if position is None:
            schema, layout = (
                self.schema,
                layout_of(self.footers[min(self.footers)], [*more, *self.partition_names]),
            )
        else:
            schema, layout = self.own_schema(position), layout_of(self.footers[position], more)
        schema = extended_schema(schema, extra)
        return ParquetSink(path, schema, layout, threads)

    def _read_footer(self, position: int) -> Any:
        with open_parquet(self.sources[position]) as file, self.sources[position].open_raw() as raw:
            # a type that Arrow cannot read, or a name that is not UTF-8, fails now, not in the middle
            file.schema_arrow.names  # noqa: B018
            self.footers[position] = read_footer(raw, file.metadata)
            return file.metadata

    def pieces(
        self, position: int, first: int, want: Callable[[int], bool], columns: Sequence[str] | None
    ) -> Iterator[base.Chunk | None]:
        """Yield the chunks of one file."""
        index = first
        for part in self._plan(position):
            indexes = range(index, index + part.chunks)
            index += part.chunks
            if not any(map(want, indexes)):
                yield from (None for _ in indexes)
            elif part.refused is not None:
                reason = lost_rows(part.first_row, part.first_row + part.rows, part.refused)
                yield self.failed_chunk(position, indexes[0], reason, part.first_row)
            elif part.batch_rows is None:
                yield _GroupsChunk(indexes[0], self, position, part.first_row, None, part)
            else:
                yield from self._stream(position, part, indexes, want, columns)

    def row(self, row: int, columns: Sequence[str]) -> base.ReadRows | None:
        """Decode a row of the first file: its row group up to the row. None for a row that is not there."""
        if self.failures:
            return None
        ends = np.cumsum([group.rows for group in self.footers[0]])
        group = int(np.searchsorted(ends, row, side="right"))
        if row < 0 or group == len(ends):
            return None
        try:
            with self.open(0) as file:
                batches = self._rows_in(file, group, np.array([row]), columns)
                return next((self.rows(0, table, numbers, columns) for table, numbers in batches), None)
        except UNREADABLE as error:
            end = int(ends[group])
            problem = base.Problem(self.names[0], row, lost_rows(end - self.footers[0][group].rows, end, error))
            return base.ReadRows(self.empty(0), base.no_rows(), (problem,))

    def some_rows(self, rows: base.RowNumbers, columns: Sequence[str]) -> Iterator[base.ReadRows]:
        """Decode rows (ascending) of the first file, each row group once; unreadable ones are left out."""
        groups = np.searchsorted(np.cumsum([group.rows for group in self.footers[0]]), rows, side="right")
        parts: list[tuple[Any, base.RowNumbers]] = []
        with suppress(*UNREADABLE):  # ``row`` gives the reason
            with self.open(0) as file:
                for group in np.unique(groups).tolist():
                    with suppress(*UNREADABLE):
                        parts += self._rows_in(file, group, rows[groups == group], columns)
            if parts:
                tables, numbers = zip(*parts, strict=True)
                yield self.rows(0, pa.concat_tables(tables), np.concatenate(numbers), columns)

    def _rows_in(
        self, file: Any, group: int, rows: base.RowNumbers, columns: Sequence[str]
    ) -> Iterator[tuple[Any, base.RowNumbers]]:
        """Decode a row group of the first file up to the last of ``rows`` (ascending), and yield these."""
        part = self._group_plan(group)
        if part.batch_rows is None:
            raise pa.ArrowInvalid(part.refused)
        first, after = part.first_row, 0
        for batch in file.iter_batches(part.batch_rows, [group], self.in_file(columns), use_threads=False):
            before, after = after, int(np.searchsorted(rows, first + batch.num_rows))
            if before < after:
                wanted = rows[before:after]
                yield pa.Table.from_batches([batch.take(pa.array(wanted - first))]), wanted
            if after == len(rows):
                return
            first += batch.num_rows

    def _group_plan(self, group: int) -> RowGroups:
        """Return how to read a row group of the first file in small batches."""
        if group not in self._group_plans:
            with self.sources[0].open_raw() as raw:
                self._group_plans[group] = plan_group(self.footers[0], group, raw, partial(self.open, 0))
        return self._group_plans[group]

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
    ) -> Iterator[base.Chunk | None]:
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
            yield from self._lost_chunks(position, part, indexes, want, row, error)
            return
        yield from (None for index in indexes if index > last)

    def _lost_chunks(
        self,
        position: int,
        part: RowGroups,
        indexes: range,
        want: Callable[[int], bool],
        row: int,
        error: BaseException,
    ) -> Iterator[base.Chunk | None]:
        """Yield the problem and, so that later chunks keep their numbers, chunks without rows."""
        assert part.batch_rows is not None
        failed, *rest = indexes[(row - part.first_row) // part.batch_rows :]
        end = part.first_row + part.rows
        yield self.failed_chunk(position, failed, lost_rows(row, end, error), row) if want(failed) else None
        for index in rest:
            empty = self.empty(position)
            yield TableChunk(index, self, position, end, empty) if want(index) else None

    def open(self, position: int, dictionary: str | None = None) -> Any:
        """Open one of the files, without reading its footer again; one column may keep its dictionary."""
        return open_parquet(self.sources[position], self.metadata[position], dictionary)

    def empty(self, position: int) -> Any:
        """Return decoded rows of a file, without any row."""
        return no_rows_of(self.metadata[position].schema.to_arrow_schema())


@dataclass(frozen=True, eq=False)
class _GroupsChunk(TableChunk):
    """One or more whole row groups, decoded by the thread that reads the chunk."""

    owner: ParquetDocuments
    part: RowGroups

    def decode(self, columns: list[str] | None) -> tuple[Any, Any, tuple[base.Problem, ...]]:
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

    def _rescue(self, columns: list[str] | None) -> tuple[Any, Any, tuple[base.Problem, ...]]:
        """Read the row groups one by one, so that a damaged one does not affect the others."""
        tables, numbers, problems = [self._empty(columns)], [base.no_rows()], []
        row = self.part.first_row
        for group in self.part.groups:
            end = row + self.owner.footers[self.position][group].rows
            try:
                with self.owner.open(self.position) as file:
                    found = file.read_row_group(group, columns, use_threads=False)
                    tables.append(found if columns is None else found.select(columns))
                numbers.append(np.arange(row, end))
            except UNREADABLE as error:
                problems.append(base.Problem(self.source, row, lost_rows(row, end, error)))
            row = end
        return pa.concat_tables(tables), np.concatenate(numbers), tuple(problems)

    def _empty(self, columns: list[str] | None) -> Any:
        empty = self.owner.empty(self.position)
        return empty if columns is None else empty.select(columns)


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
    why = error if isinstance(error, str) else base.failure_text(error)
    return f"rows {start} to {end - 1} are lost, their row group cannot be read: {why}"
