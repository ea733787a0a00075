"""CSV and TSV: decoded in order by the iterating thread, since a quoted field may contain line ends.

The end of a record can only be found by parsing from the start of the file, so a chunk is a piece of Arrow's
record stream. Every column is a string; no value is converted to a number, a date or a null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import InputError
from neardup.io.readers.arrow import valid_strings
from neardup.io.readers.base import (
    CHUNK_BYTES,
    Chunk,
    Column,
    Format,
    Kind,
    NativeRows,
    NativeTable,
    Problem,
    ReadRows,
    RowNumbers,
    Sink,
    failure_text,
    named,
    refuse_columns,
)
from neardup.io.readers.csv_records import (
    Batch,
    CsvStream,
    Dialect,
    dialect_of,
    header_of,
    usual_delimiter,
)
from neardup.io.readers.fields import VirtualColumns
from neardup.io.readers.files import UNREADABLE, FileChunk
from neardup.io.readers.lines import HEAD_BYTES, StreamDocuments
from neardup.io.readers.sources import Source, suffix_of
from neardup.io.readers.tables import constant, partition_columns
from neardup.io.writers.kept_formats import CsvSink, extended
from neardup.settings import ReadingSettings

AUTO = ReadingSettings()
TAB = "\t"

# The kinds of the columns are guessed from this many first rows.
SAMPLE_ROWS = 100


class CsvDocuments(StreamDocuments):
    """CSV or TSV files that all have the same header."""

    format: Format = "csv"
    failure = "cannot read the header"

    def __init__(
        self, sources: Sequence[Source], chunk_bytes: int = CHUNK_BYTES, reading: ReadingSettings = AUTO
    ) -> None:
        super().__init__(sources)
        self._chunk_bytes = chunk_bytes
        self.find_charsets(reading.encoding)
        self.dialects = [self._dialect(i, reading.delimiter) for i in range(len(self.sources))]
        self.findings.notes += self._dialect_notes()
        self.headers = [self._header(i) for i in range(len(self.sources))]
        self.header = self._common_header()
        self.text: str | None = None
        self.virtual = VirtualColumns()
        partition, notes = partition_columns(self.sources, self.header)
        self.partition = [field.with_type(pa.string()) for field in partition]
        self.findings.notes += notes
        self.schema = pa.schema([*((name, pa.string()) for name in self.header), *self.partition])
        self.columns = self._kinds()

    def require(self, text: str, id: str | None) -> None:
        """Accept any record; names and values other than the text are made valid UTF-8."""
        self.text, self.virtual = text, VirtualColumns.of(self.schema.names, text, id)

    @property
    def delimiter(self) -> str:
        """The field separator of the first file."""
        return self.dialects[0].delimiter

    def _dialect(self, position: int, asked: str) -> Dialect:
        """Find the dialect of a file, and refuse a file with too many columns before they are processed."""
        source = self.sources[position]
        try:
            with closing(self.stream(position)) as stream:
                head = stream.read(HEAD_BYTES)
        except UNREADABLE:
            return Dialect(usual_delimiter(source))  # the failure recurs when the header is read
        dialect = dialect_of(source, head, asked)
        refuse_columns(source.name, head.split(b"\n", 1)[0].count(dialect.delimiter.encode()) + 1)
        return dialect

    def _dialect_notes(self) -> list[str]:
        sniffed: dict[str, list[str]] = {}
        for name, dialect in zip(self.names, self.dialects, strict=True):
            if dialect.sniffed:
                sniffed.setdefault(dialect.delimiter, []).append(name)
        return [
            f"delimiter: {'tab' if delimiter == TAB else delimiter} (guessed from {named(names)}; "
            "set it with --delimiter)"
            for delimiter, names in sniffed.items()
        ]

    def _header(self, position: int) -> tuple[str, ...]:
        try:
            return header_of(partial(self.stream, position), self.dialects[position])
        except UNREADABLE as error:
            self.failures[position] = failure_text(error)
            return ()

    def _common_header(self) -> tuple[str, ...]:
        good = [i for i in range(len(self.sources)) if i not in self.failures]
        if not good:
            raise InputError(
                f"{self.names[0]} has no header row: {self.failures[0]}",
                "A first row with the names of the columns",
                "Check that this is the right file, and the whole file",
            )
        first = self.headers[good[0]]
        for i in good:
            _check_header(self.names[good[0]], first, self.names[i], self.headers[i])
        return first

    def _kinds(self) -> tuple[Column, ...]:
        for chunk in islice(self.chunks(), len(self.sources)):
            table = chunk.read(self.header).table.slice(0, SAMPLE_ROWS)
            if table.num_rows:
                return tuple(Column(name, _kind(table[name])) for name in self.header)
        return tuple(Column(name, "text") for name in self.header)

    @property
    def kept_name(self) -> str:
        """``kept.csv`` or ``kept.tsv``, compressed like the input."""
        return f"kept{'.tsv' if self.delimiter == TAB else '.csv'}{suffix_of(self.compression)}"

    def open_sink(self, path: Path, position: int | None, extra: Any, threads: int) -> Sink:
        """Open a file for records; those of one file have its order, delimiter and compression."""
        if position is None:
            return CsvSink(path, extended(self.schema, extra), self.delimiter, self.compression)
        schema = pa.schema([(name, pa.string()) for name in self.headers[position]])
        delimiter = self.dialects[position].delimiter
        return CsvSink(path, extended(schema, extra), delimiter, self.sources[position].compression)

    def pieces(
        self, position: int, first: int, want: Callable[[int], bool], columns: Sequence[str] | None
    ) -> Iterator[Chunk | None]:
        """Yield the chunks of one file."""
        names = self.header if columns is None else tuple(self.virtual.roots(columns))
        stream = CsvStream(
            partial(self.stream, position),
            self.dialects[position],
            self.headers[position],
            names,
            self._chunk_bytes,
        )
        index = first
        for batch in stream.batches():
            yield _RecordsChunk(index, self, position, batch.first, batch) if want(index) else None
            index += 1
        if stream.error is not None:
            yield self.rest_lost(position, index, stream.error, stream.records)


@dataclass(frozen=True, eq=False)
class _RecordsChunk(FileChunk):
    """Some records of one file, decoded already."""

    owner: CsvDocuments
    batch: Batch

    def read(self, columns: Sequence[str]) -> ReadRows:
        table = self.owner.virtual.table(self.batch.table, columns)
        if self.owner.text is not None:
            table = valid_strings(table, self.owner.text)
        return ReadRows(table, self._row_numbers(), self._problems())

    def read_native(self, *, own: bool = False) -> NativeRows:
        table = self.batch.table
        if own:
            table = table.select(list(self.owner.headers[self.position]))
        for field in () if own else self.owner.partition:
            table = table.append_column(field, constant(self.owner.sources[self.position], field, table.num_rows))
        return NativeTable(self._row_numbers(), table, (), self.position)

    def _row_numbers(self) -> RowNumbers:
        good = np.ones(self.batch.records, np.bool_)
        good[[bad.record - self.batch.first for bad in self.batch.rejected]] = False
        return np.flatnonzero(good) + self.batch.first

    def _problems(self) -> tuple[Problem, ...]:
        return tuple(Problem(self.source, bad.record, bad.reason, bad.raw) for bad in self.batch.rejected)


def _kind(column: Any) -> Kind:
    """Return integer or number if all non-empty values can be parsed as such."""
    values = column.filter(pc.not_equal(pc.binary_length(column), 0))
    for kind, type_ in (("integer", pa.int64()), ("number", pa.float64())):
        try:
            if len(values) and pc.cast(values, type_) is not None:
                return kind  # type: ignore[return-value]
        except (pa.ArrowException, UnicodeDecodeError):
            continue
    return "text"


def _check_header(first: str, header: Sequence[str], name: str, other: Sequence[str]) -> None:
    for column in (*header, *other):
        if other.count(column) > 1:
            raise InputError(
                f'{name} has the column "{column}" more than once',
                "Every column needs a name of its own",
                "Rename one of them",
            )
        if column not in header or column not in other:
            raise InputError(
                f'The column "{column}" is in only one of {first} and {name}',
                "All files of one input have the same columns",
                "Run the files separately",
            )
