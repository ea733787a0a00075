"""CSV and TSV: decoded in order by the iterating thread, since a quoted field may contain line ends.

The end of a record can only be found by parsing from the start of the file, so a chunk is a piece of Arrow's
record stream. Arrow is fast, but it neither numbers the records it rejects nor gets past a long or a broken one;
from its first failure on, the reader of the standard library is used. Every column is a string; no value is
converted to a number, a date or a null.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from neardup.display import counted
from neardup.io.readers import base
from neardup.io.readers.files import UNREADABLE
from neardup.io.readers.lines import BYTE_ORDER_MARK, HEAD_BYTES, Stream, StreamDocuments
from neardup.io.readers.sources import Source, suffix_of
from neardup.io.readers.tables import TableChunk, TableDocuments
from neardup.io.writers.kept_formats import CsvSink, extended_schema
from neardup.settings import ReadingSettings

AUTO = ReadingSettings()
TAB = "\t"

# The kinds of the columns are guessed from this many first rows.
SAMPLE_ROWS = 100

DELIMITERS = ",;\t|"
"""Delimiters that sniffing can find; any other must be given explicitly."""

# The sniffer's patterns may take time quadratic in the length of their input.
_SNIFFED_BYTES = 8 << 10
_LINES = 50

_READ_BYTES = 256 << 10
_NAMING = re.compile(rb"(?:\xef\xbb\xbf)?sep=([^\"\r\n])\r?\n", re.IGNORECASE)

# How the parser sees them: each byte as a character.
_MARK, _LINE_END = BYTE_ORDER_MARK.decode("latin-1"), ("\n", "\r")

# A record that is too long is looked through for its end this many times as far as it may be long.
_FAR = 4

_AT_START, _PLAIN, _QUOTED, _AT_QUOTE = range(4)


class CsvDocuments(StreamDocuments, TableDocuments):
    """CSV or TSV files that all have the same header."""

    format: base.Format = "csv"
    failure = "cannot read the header"

    def __init__(
        self, sources: Sequence[Source], chunk_bytes: int = base.CHUNK_BYTES, reading: ReadingSettings = AUTO
    ) -> None:
        super().__init__(sources)
        self._chunk_bytes = chunk_bytes
        self.find_charsets(reading.encoding)
        self._skipped: dict[int, int] = {}
        self.dialects = [self._dialect(i, reading.delimiter) for i in range(len(self.sources))]
        self.findings.notes += self._dialect_notes()
        called, allowed = "a CSV file with a header row", "A first row with the names of the columns"
        self.headers = self.read_heads(self._header, called, allowed)
        self.settle([None if header is None else _strings_of(header) for header in self.headers])
        self._partition = [field.with_type(pa.string()) for field in self._partition]  # as all values of CSV
        self.schema = pa.schema([*self._stored, *self._partition])
        self.columns = self._kinds()

    def stream(self, position: int) -> Stream:
        """Open a file, behind the line that only names its delimiter."""
        stream, left = super().stream(position), self._skipped.get(position, 0)
        while left and (part := stream.read(left)):
            left -= len(part)
        return stream

    def _records(self, position: int) -> Stream:
        """Open a file whose records have no byte order marks before them."""
        stream = self.stream(position)
        stream.quote = self.dialects[position].quote.encode()
        return stream

    @property
    def delimiter(self) -> str:
        """The field separator of the first file."""
        return self.dialects[0].delimiter

    def _dialect(self, position: int, asked: str) -> "Dialect":
        """Find the dialect of a file, and refuse a file with too many columns before they are processed."""
        source = self.sources[position]
        try:
            with closing(self.stream(position)) as stream:
                head = stream.read(HEAD_BYTES)
        except UNREADABLE:
            return Dialect(usual_delimiter(source))  # the failure recurs when the header is read
        naming = _NAMING.match(head)  # Excel reads this line, and shows it as no row
        if naming:
            self._skipped[position] = naming.end()
            asked, head = naming[1].decode() if asked == "auto" else asked, head[naming.end() :]
        dialect = dialect_of(source, head, asked)
        base.refuse_columns(source.name, head.split(b"\n", 1)[0].count(dialect.delimiter.encode()) + 1)
        return dialect

    def _dialect_notes(self) -> list[str]:
        sniffed: dict[str, list[str]] = {}
        for name, dialect in zip(self.names, self.dialects, strict=True):
            if dialect.sniffed:
                sniffed.setdefault(dialect.delimiter, []).append(name)
        return [
            f"delimiter: {'tab' if delimiter == TAB else delimiter} (guessed from {base.names_in_words(names)}; "
            "set it with --delimiter)"
            for delimiter, names in sniffed.items()
        ]

    def _header(self, position: int) -> tuple[str, ...]:
        return header_of(partial(self.stream, position), self.dialects[position])

    def _kinds(self) -> tuple[base.Column, ...]:
        names = self._stored.names
        for chunk in islice(self.chunks(), len(self.sources)):
            table = chunk.read(names).table.slice(0, SAMPLE_ROWS)
            if table.num_rows:
                return tuple(base.Column(name, _kind(table[name])) for name in names)
        return tuple(base.Column(name, "text") for name in names)

    @property
    def kept_name(self) -> str:
        """``kept.csv`` or ``kept.tsv``, compressed like the input."""
        return f"kept{'.tsv' if self.delimiter == TAB else '.csv'}{suffix_of(self.compression)}"

    def open_sink(self, path: Path, position: int | None, extra: Any, threads: int) -> base.Sink:
        """Open a file for records; those of one file have its order, delimiter and compression."""
        if position is None:
            return CsvSink(path, extended_schema(self.schema, extra), self.delimiter, self.compression)
        schema, delimiter = self.own_schema(position), self.dialects[position].delimiter
        return CsvSink(path, extended_schema(schema, extra), delimiter, self.sources[position].compression)

    def pieces(
        self, position: int, first: int, want: Callable[[int], bool], columns: Sequence[str] | None
    ) -> Iterator[base.Chunk | None]:
        """Yield the chunks of one file."""
        stream = CsvStream(
            self.names[position],
            partial(self._records, position),
            self.dialects[position],
            self.headers[position],
            self.in_file(columns) or self._stored.names,
            self._chunk_bytes,
        )
        index = first
        for batch in stream.batches():
            yield _RecordsChunk(index, self, position, batch.first, batch.table, batch) if want(index) else None
            index += 1
        if stream.error is not None:
            yield self.rest_lost(position, index, stream.error, stream.records)


@dataclass(frozen=True, eq=False)
class _RecordsChunk(TableChunk):
    """Some records of one file, decoded already."""

    batch: "Batch"

    def decode(self, columns: list[str] | None) -> tuple[Any, base.RowNumbers, tuple[base.Problem, ...]]:
        """Return the good records, their numbers, and the problems of the others."""
        good = np.ones(self.batch.records, np.bool_)
        good[[problem.row - self.first_row for problem in self.batch.rejected if problem.row is not None]] = False
        return self.table, np.flatnonzero(good) + self.first_row, self.batch.rejected


def _strings_of(header: Sequence[str]) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in header])


def _kind(column: Any) -> base.Kind:
    """Return integer or number if all non-empty values can be parsed as such."""
    values = column.filter(pc.not_equal(pc.binary_length(column), 0))
    for kind, type_ in (("integer", pa.int64()), ("number", pa.float64())):
        try:
            if len(values) and pc.cast(values, type_) is not None:
                return kind  # type: ignore[return-value]
        except (pa.ArrowException, UnicodeDecodeError):
            continue
    return "text"


@dataclass(frozen=True)
class Dialect:
    """The field delimiter, the quote character, and whether both were found by sniffing."""

    delimiter: str
    quote: str = '"'
    sniffed: bool = False


def usual_delimiter(source: Source) -> str:
    """Return the tab for ``.tsv`` files, the comma for others."""
    return "\t" if ".tsv" in source.path.lower()[-8:] else ","


def dialect_of(source: Source, head: bytes, asked: str = "auto") -> Dialect:
    r"""Return the dialect of a file that begins with ``head`` (UTF-8); ``asked`` is a delimiter, tab or auto.

    Keeps the usual delimiter unless only another one splits the first lines into equal numbers of fields.

    >>> dialect_of(Source("a.csv", "a.csv"), b"id;text\n1;a, b\n2;c\n").delimiter
    ';'
    """
    usual = Dialect(usual_delimiter(source))
    if asked != "auto":
        return Dialect("\t" if asked == "tab" else asked)
    lines = _lines(head)
    if not lines or _fits(lines, usual):
        return usual
    try:
        found = csv.Sniffer().sniff("".join(lines), DELIMITERS)
    except csv.Error:
        return usual
    quote = "'" if found.quotechar == "'" and '"' not in "".join(lines) else '"'
    sniffed = Dialect(found.delimiter, quote, sniffed=True)
    return sniffed if _fits(lines, sniffed) else usual


def _lines(head: bytes) -> list[str]:
    """Return the first whole lines."""
    text = head[:_SNIFFED_BYTES].decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "")
    lines = text.splitlines(keepends=True)
    return lines[:_LINES] if len(head) <= _SNIFFED_BYTES else lines[:-1][:_LINES]


def _fits(lines: list[str], dialect: Dialect) -> bool:
    """Return whether all records have the same number of fields, at least two."""
    try:
        rows = csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)
        widths = [len(row) for row in islice(rows, _LINES) if row]
    except csv.Error:
        return False
    whole = widths[:-1] or widths  # the last record may continue after these lines
    return len(set(whole)) == 1 and whole[0] > 1


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive records: ``records`` in all, including the ``rejected`` ones, which are not in the table."""

    first: int
    records: int
    table: Any
    rejected: tuple[base.Problem, ...] = ()


class CsvStream:
    """The records of one file from its start; a failure ends the stream and is kept in ``error``.

    The values are the bytes of the file, as strings that need not be UTF-8.
    """

    def __init__(
        self,
        name: str,
        opened: Callable[[], Stream],
        dialect: Dialect,
        header: Sequence[str],
        names: Sequence[str],
        block_bytes: int,
    ) -> None:
        self._name, self._opened, self._dialect = name, opened, dialect
        self._header, self._names = header, names
        self._block = block_bytes
        self.records = 0
        self.error: BaseException | None = None
        self._quotes = 0

    def batches(self) -> Iterator[Batch]:
        """Yield the records in batches; the same batches in every pass over an unchanged file."""
        last: Batch | None = None
        for batch in self._all():
            if last is not None:
                yield last
            last = batch
        if last is not None and self.error is None:
            yield self._without_unclosed(last) if self._quotes % 2 else last
        elif last is not None:
            yield self._without_last(last)

    def _without_unclosed(self, batch: Batch) -> Batch:
        """Reject the last record if the end of the file is within a quoted field: rows are in that field."""
        unclosed = unclosed_quote(self._opened, self._dialect)
        if unclosed is None or not batch.records:
            return batch
        line, count, size, raw = unclosed
        if size > base.ROW_BYTES:  # the reader has ended this row at the limit, said so, and read on behind it
            return batch
        lines = f"the rest of the file, {counted(count, 'line')}, is one field, and the rows in it are not read"
        reason = f"the quote that opens in line {line:,} is never closed: {lines}"
        last = batch.first + batch.records - 1
        problem = base.Problem(self._name, last, reason, base.rejected_text(raw))
        if batch.rejected and batch.rejected[-1].row == last:
            return replace(batch, rejected=(*batch.rejected[:-1], problem))
        table = batch.table.slice(0, batch.table.num_rows - 1)
        return replace(batch, table=table, rejected=(*batch.rejected, problem))

    def _all(self) -> Iterator[Batch]:
        try:
            try:
                yield from self._by_arrow()
            except pa.ArrowInvalid:
                yield from self._by_reader()
        except UNREADABLE as error:
            self.error = self.error or error

    def _by_arrow(self) -> Iterator[Batch]:
        with closing(_ArrowFile(self._opened(), self._dialect.quote)) as file, pa.PythonFile(file, "r") as stream:
            options = pacsv.ConvertOptions(
                check_utf8=False,
                strings_can_be_null=False,
                column_types=dict.fromkeys(self._header, pa.string()),
                include_columns=list(self._names),
            )
            parsing = pacsv.ParseOptions(
                delimiter=self._dialect.delimiter, quote_char=self._dialect.quote, newlines_in_values=True
            )
            reading = pacsv.ReadOptions(use_threads=False, block_size=self._block)
            try:
                with pacsv.open_csv(stream, reading, parsing, options) as reader:
                    for batch in reader:
                        first, self.records = self.records, self.records + batch.num_rows
                        yield Batch(first, batch.num_rows, pa.Table.from_batches([batch]))
            except pa.ArrowException:  # of a file that ended within a record
                file.raise_failure()
                raise
            file.raise_failure()
            self.error, self._quotes = file.error, file.quotes

    def _by_reader(self) -> Iterator[Batch]:
        """Yield the records after those that Arrow has read, all of which were rows."""
        width, columns = len(self._header), [list(self._header).index(name) for name in self._names]
        first, begun = self.records, 0
        rows: list[list[str]] = []
        rejected: list[base.Problem] = []
        with closing(_Records(self._opened, self._dialect)) as records:
            each = records.fields(width)
            for _ in range(self.records + 1):  # the header is a record, too
                next(each)
            for fields in each:
                if isinstance(fields, str):
                    rejected.append(base.Problem(self._name, self.records, fields, ""))
                elif len(fields) != width:
                    reason = f"{len(fields)} fields instead of {width}"
                    rejected.append(base.Problem(self._name, self.records, reason, records.raw))
                else:
                    rows.append([fields[column] for column in columns])
                self.records += 1
                begun = begun or records.start
                if records.offset - begun >= self._block:
                    yield Batch(first, self.records - first, self._table(rows), tuple(rejected))
                    first, rows, rejected, begun = self.records, [], [], records.offset
            self.error, self._quotes = records.error, records.quotes
        if self.records > first:
            yield Batch(first, self.records - first, self._table(rows), tuple(rejected))

    def _table(self, rows: list[list[str]]) -> Any:
        values = list(zip(*rows, strict=True)) if rows else [()] * len(self._names)
        return pa.Table.from_arrays([_strings(column) for column in values], names=list(self._names))

    def _without_last(self, batch: Batch) -> Batch:
        """Leave out the record in which a broken file ended: it may be cut off and still look whole."""
        last = batch.first + batch.records - 1
        if not batch.records or (batch.rejected and batch.rejected[-1].row == last):
            return batch
        self.records = last
        return replace(batch, records=batch.records - 1, table=batch.table.slice(0, batch.table.num_rows - 1))


class _ArrowFile:
    """A stream as a file object for Arrow. A truncated file just ends early, and ``error`` has the reason.

    Arrow reads ahead in a thread of its own, and may be reading when a failure in a record closes the file. The
    file that is opened next would have the same number, and that thread would take bytes of it. So closing waits.

    Any other error of reading ends the file, too, and is raised by the thread that iterates. If it passed through
    Arrow, the thread that reads would hold it last, and with its traceback the reader; as this waits for that
    thread when it is freed, each such error would block one of the few threads of Arrow for ever.
    """

    closed = False

    def __init__(self, stream: Stream, quote: str) -> None:
        self._stream, self._lock, self._quote = stream, Lock(), quote.encode()
        self.quotes = 0
        self._failure: Exception | None = None

    def read(self, size: int) -> bytes:
        """Read the next bytes; none after a failure, which is kept."""
        with self._lock:
            if self.closed or self._failure:
                return b""
            try:
                part = self._stream.read(size)
            except Exception as error:
                self._failure, part = error, b""
        self.quotes += part.count(self._quote)
        return part

    def raise_failure(self) -> None:
        """Raise the error of reading, if there is one."""
        if self._failure is not None:
            raise self._failure

    @property
    def error(self) -> BaseException | None:
        return self._stream.error

    def close(self) -> None:
        with self._lock:
            self._stream.close()
            self.closed = True


class _TooLongError(Exception):
    """The record that is read is longer than a row may be."""


class _Records:
    """The records of a file from ``csv.reader``, which sees each byte as the character of that number.

    ``start`` and ``offset`` are the places of the last record and of the byte after it.
    """

    def __init__(self, opened: Callable[[], Stream], dialect: Dialect) -> None:
        # The limit is one of the whole process, and only ever rises; a record is measured before it is reached.
        csv.field_size_limit(max(csv.field_size_limit(), 2 * base.ROW_BYTES))
        self._opened, self._dialect = opened, dialect
        self._open()

    def _open(self) -> None:
        self._stream = self._opened()
        self._blocks = _line_blocks(self._stream)
        # the lines of the last block, and of the record before it; those of the last record end at _end
        self._read, self._lines, self._end = list[str](), list[str](), 0
        self.start = self.offset = self.quotes = 0
        self._parse()

    def _parse(self) -> None:
        self._given = self._lines_given()
        self._reader = csv.reader(self._given, delimiter=self._dialect.delimiter, quotechar=self._dialect.quote)

    def _lines_given(self) -> Iterator[str]:
        """Yield the lines, which are held as long as the record lasts, up to the limit of a row."""
        for lines in self._blocks:
            if not self.offset and lines[0].startswith(_MARK):
                lines[0], self.offset = lines[0].removeprefix(_MARK), len(_MARK)
            self._read, self._end = [*self._read[self._end :], *lines], 0
            self.quotes += sum(line.count(self._dialect.quote) for line in lines)
            yield from lines
            if sum(map(len, self._read[self._end :])) > base.ROW_BYTES:
                raise _TooLongError

    @property
    def error(self) -> BaseException | None:
        """The error that ended the file early."""
        return self._stream.error

    @property
    def ended(self) -> bool:
        """Whether the last record has a line end."""
        return self._lines[-1].endswith(_LINE_END) and self._quotes % 2 == 0

    @property
    def raw(self) -> str:
        """The beginning of the last record."""
        text = "".join(self._lines)[: 4 * base.RAW_CHARACTERS].rstrip("\r\n")
        return text.encode("latin-1").decode("utf-8", "replace")[: base.RAW_CHARACTERS]

    @property
    def _quotes(self) -> int:
        return sum(line.count(self._dialect.quote) for line in self._lines)

    def close(self) -> None:
        self._stream.close()

    def fields(self, width: int | None = None) -> Iterator[list[str] | str]:
        """Yield the fields of each record, or, if it is longer than a row may be, why it is left out.

        If its last quote is closed, it is left out alone. Otherwise the records continue behind the limit, with
        the first one of ``width`` fields.
        """
        while (fields := self._next()) is not None:
            if fields:  # an empty line is no record, nor is it for Arrow
                yield fields
            elif (start := self.start) + base.ROW_BYTES < self.offset:
                if self._skip():
                    yield f"{base.too_long('the record')}; bytes {start:,} to {self.offset - 1:,} are left out"
                    continue
                whole = self._whole(start + base.ROW_BYTES, width)
                end = self.start if whole else self.offset
                yield (
                    f"{base.too_long('the text after an unclosed quote')}; bytes {start:,} to {end - 1:,} are "
                    "left out with all rows in them, and reading goes on at the next whole record"
                )
                if whole:
                    yield whole

    def _next(self) -> list[str] | str | None:
        """Return the fields of the next record, none of a long one; None at the end."""
        self.start, reader, before = self.offset, self._reader, self._reader.line_num
        fields: list[str] | str | None
        try:
            fields = next(reader, None)
        except _TooLongError:
            fields = []
            self._parse()
        except csv.Error as error:
            fields = str(error)
        self._take(reader.line_num - before)
        return fields if self.offset - self.start <= base.ROW_BYTES else []

    def _take(self, count: int) -> None:
        self._lines = self._read[self._end : self._end + count]
        self._end += count
        self.offset += sum(map(len, self._lines))

    def _skip(self) -> bool:
        """Read to the end of a long record, in which quotes come in pairs; return whether its end is found."""
        quotes, ended = self._quotes, self._lines[-1].endswith(_LINE_END)
        while quotes % 2 or not ended:
            if quotes % 2 and self.offset - self.start > _FAR * base.ROW_BYTES:
                return False
            line = next(self._given, "")
            if not line:
                return quotes % 2 == 0
            self._take(1)
            quotes, ended = quotes + line.count(self._dialect.quote), line.endswith(_LINE_END)
        return True

    def _whole(self, offset: int, width: int | None) -> list[str]:
        """Read the file again, and return the first record of that width behind an offset; empty at the end."""
        self.close()
        self._open()
        for line in self._given:
            self._take(1)
            if self.offset >= offset and line.endswith(_LINE_END):
                break
        while (fields := self._next()) is not None:
            if isinstance(fields, list) and len(fields) == width:
                return fields
        return []


def _line_blocks(stream: Stream) -> Iterator[list[str]]:
    """Yield the lines of a stream with their ends, some at a time; one that is longer than a row may be is cut."""
    rest = bytearray()
    while part := stream.read(_READ_BYTES):
        if rest.endswith(b"\r") and not part.startswith(b"\n"):
            yield [rest.decode("latin-1")]
            rest.clear()
        first, *others = part.splitlines(keepends=True)
        rest += first
        if others:
            yield [rest.decode("latin-1"), *[line.decode("latin-1") for line in others[:-1]]]
            rest = bytearray(others[-1])
        if rest.endswith(b"\n") or len(rest) > base.ROW_BYTES:
            yield [rest.decode("latin-1")]
            rest.clear()
    if rest:
        yield [rest.decode("latin-1")]


def _strings(values: Sequence[str]) -> Any:
    """Return the bytes behind characters, as an array of strings."""
    offsets = np.fromiter(accumulate(map(len, values), initial=0), np.int32, len(values) + 1)
    data = "".join(values).encode("latin-1")
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(offsets), pa.py_buffer(data))


def unclosed_quote(opened: Callable[[], Stream], dialect: Dialect) -> tuple[int, int, int, bytes] | None:
    """Return the line where a quote opens that is never closed, the lines and bytes after it, and its first bytes.

    None if each quoted field ends. A field is quoted if it begins with a quote, as for Arrow.
    """
    quote, ends = dialect.quote.encode(), re.compile(b"[%b\r\n]" % re.escape(dialect.delimiter.encode()))
    line, begin, raw, state = 1, 0, b"", _AT_START
    done = opens = 0
    with closing(opened()) as stream:
        for block in iter(partial(stream.read, _READ_BYTES), b""):
            data, place, counted_to = block.removeprefix(BYTE_ORDER_MARK), 0, 0
            while place < len(data):
                if state in (_AT_START, _AT_QUOTE) and data.startswith(quote, place):
                    if state == _AT_START:
                        line, counted_to = line + data.count(b"\n", counted_to, place), place
                        begin, opens, raw = line, done + place, data[place : place + base.RAW_CHARACTERS]
                    place, state = place + 1, _QUOTED
                elif state == _QUOTED:
                    end = data.find(quote, place)
                    place, state = (len(data), state) if end < 0 else (end + 1, _AT_QUOTE)
                else:
                    end_of_field = ends.search(data, place)
                    place = len(data) if end_of_field is None else end_of_field.end()
                    state = _PLAIN if end_of_field is None else _AT_START
            line, done, last = line + data.count(b"\n", counted_to), done + len(data), data
    return None if state != _QUOTED else (begin, line - begin + (not last.endswith(b"\n")), done - opens, raw)


def header_of(opened: Callable[[], Stream], dialect: Dialect) -> tuple[str, ...]:
    """Return the names in the first record of a file. Raises an error of UNREADABLE if it has none."""
    with closing(_Records(opened, dialect)) as records:
        fields = next(records.fields(), None)
        if isinstance(fields, str):
            raise pa.ArrowInvalid(fields)
        if fields is None or not records.ended:
            # a cut off file is not an empty one
            raise records.error or pa.ArrowInvalid("no line ends the first row")
    try:
        return tuple(name.encode("latin-1").decode() for name in fields)
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid("the names of the columns are not UTF-8") from error
