"""Arrow's CSV record stream, extended to number rejected records and to handle long records and broken files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from neardup.io.readers.base import RAW_CHARACTERS
from neardup.io.readers.csv_bytes import CsvBytes, as_latin, from_latin, restored
from neardup.io.readers.csv_long import LeftOutBytes, WithoutCuts, cuts_of
from neardup.io.readers.dialect import Dialect
from neardup.io.readers.encodings import HEAD_BYTES
from neardup.io.readers.files import UNREADABLE
from neardup.io.readers.limits import ROW_BYTES, too_long
from neardup.io.readers.lines import BYTE_ORDER_MARK, Stream

# Arrow refuses a record longer than a block; the file is then read again with blocks this many times larger.
_GROW = 8
_RECORD = "a record, or the text after an unclosed quote,"


@dataclass(frozen=True)
class Rejected:
    """A record with too few or too many fields."""

    record: int
    reason: str
    raw: str


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive records: ``records`` in all, including the ``rejected`` ones, which are not in the table.

    ``cuts``: the parts of the file left out so far; they are in no batch.
    """

    first: int
    records: int
    table: Any
    rejected: tuple[Rejected, ...]
    cuts: tuple[LeftOutBytes, ...] = ()


class CsvStream:
    """The records of one file from its start; a failure ends the stream and is kept in ``error``.

    Arrow passes a rejected record as str and stops if it is not UTF-8. So the file is first read with no record
    rejected. At the first record that must be rejected, the file is read again as Latin-1, in which every byte is
    a character, and the values are converted back to their original bytes.
    """

    def __init__(
        self,
        opened: Callable[[], Stream],
        dialect: Dialect,
        header: Sequence[str],
        names: Sequence[str],
        block_bytes: int,
    ) -> None:
        self._opened, self._dialect = opened, dialect
        self._header, self._names = header, names
        self._block = self._usual_block = block_bytes
        self._latin = False
        self._rejected: dict[int, Rejected] = {}
        self.cuts: list[LeftOutBytes] = []
        self.records = 0
        self.error: BaseException | None = None

    def batches(self) -> Iterator[Batch]:
        """Yield the records in batches; the same batches in every pass over an unchanged file."""
        held: Batch | None = None
        for batch in self._all():
            if held is not None:
                yield held
            held = batch
        if held is not None:
            yield held if self.error is None else self._without_last(held)

    def _all(self) -> Iterator[Batch]:
        while True:
            try:
                yield from self._from(self.records)
                break
            except UNREADABLE as error:
                if not self._adapt(str(error)):
                    self.error = self.error or error
                    break
        yield from self._trailing()

    def _adapt(self, message: str) -> bool:
        """Change how the file is read so that it gets past the failure, or return False."""
        if _straddles(message):
            if self._block >= ROW_BYTES:
                return self._cut()
            self._block = min(self._block * _GROW, ROW_BYTES)
            return True
        if "Expected" in message and not self._latin:
            self._latin = True
            return True
        return False

    def _cut(self) -> bool:
        """Leave out the records that are too long; return False if none is found."""
        width = len(self._header)
        found = cuts_of(self._stream, self._dialect, width, self.records, ROW_BYTES)
        if not found:
            self.error = pa.ArrowInvalid(too_long(_RECORD))
            return False
        self._block = self._usual_block  # the others may be short
        # earlier cuts come first in the file, and the search did not see them
        gone = sum(cut.end - cut.start for cut in self.cuts)
        self.cuts += [replace(cut, start=cut.start + gone, end=cut.end + gone) for cut in found]
        return True

    def _stream(self) -> Any:
        return WithoutCuts(self._opened(), self.cuts) if self.cuts else self._opened()

    def _from(self, skip: int) -> Iterator[Batch]:
        """Yield the batches from record ``skip`` on; an earlier attempt yielded those before."""
        with CsvBytes(self._stream(), self._latin) as file, pa.PythonFile(file, "r") as stream:
            with open_records(stream, self._dialect, self._block, **self._options()) as reader:
                record = 0
                for batch in reader:
                    end = self._end(record, batch.num_rows)
                    if end > skip:
                        yield self._batch(max(record, skip), record, end, batch)
                        self.records = end
                    record = end
                    self._rejected = {n: bad for n, bad in self._rejected.items() if n >= end}
            self.error = file.error

    def _options(self) -> dict[str, Any]:
        header, names = self._header, self._names
        if self._latin:
            header, names = [as_latin(n) for n in header], [as_latin(n) for n in names]
        return {"header": header, "names": names, "reject": self._reject if self._latin else None}

    def _reject(self, row: Any) -> str:
        record = row.number - 2  # Arrow counts from 1 and counts the header
        reason = f"{row.actual_columns} fields instead of {row.expected_columns}"
        raw = from_latin(str(row.text)[: 4 * RAW_CHARACTERS])[:RAW_CHARACTERS]
        self._rejected[record] = Rejected(record, reason, raw)
        return "skip"

    def _end(self, record: int, good: int) -> int:
        """Return the number after the last of ``good`` good records from ``record`` on."""
        end = record + good
        for number in sorted(self._rejected):
            if number >= end:
                break
            end += number >= record
        return end

    def _batch(self, first: int, start: int, end: int, batch: Any) -> Batch:
        """Return the records from ``first`` to ``end`` of a batch that begins with record ``start``."""
        bad = [self._rejected[n] for n in sorted(self._rejected) if first <= n < end]
        skipped_bad = sum(start <= n < first for n in self._rejected)
        table = pa.Table.from_batches([batch]).slice(first - start - skipped_bad)
        if self._latin:
            table = restored(table, self._names)
        return Batch(first, end - first, table, tuple(bad), tuple(self.cuts))

    def _trailing(self) -> Iterator[Batch]:
        """Yield the rejected records after the last good one."""
        bad = [self._rejected[n] for n in sorted(self._rejected) if n >= self.records]
        if bad:
            first, self.records = self.records, bad[-1].record + 1
            schema = pa.schema([(name, pa.string()) for name in self._names])
            yield Batch(first, self.records - first, schema.empty_table(), tuple(bad), tuple(self.cuts))

    def _without_last(self, batch: Batch) -> Batch:
        """Leave out the record in which a broken file ended: it may be cut off and still look whole."""
        last = batch.first + batch.records - 1
        if not batch.records or (batch.rejected and batch.rejected[-1].record == last):
            return batch
        self.records = last
        return replace(batch, records=batch.records - 1, table=batch.table.slice(0, batch.table.num_rows - 1))


def open_records(
    stream: Any, dialect: Dialect, block: int, header: Sequence[str], names: Sequence[str], reject: Any
) -> Any:
    """Open Arrow's reader so that every value is a string with the bytes of the file."""
    return pacsv.open_csv(
        stream,
        # Without threads every rejected record comes with its number.
        pacsv.ReadOptions(use_threads=False, block_size=block),
        pacsv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote,
            newlines_in_values=True,
            invalid_row_handler=reject,
        ),
        pacsv.ConvertOptions(
            check_utf8=False,
            strings_can_be_null=False,
            column_types=dict.fromkeys(header, pa.string()),
            include_columns=list(names),
        ),
    )


def header_of(opened: Callable[[], Stream], dialect: Dialect) -> tuple[str, ...]:
    """Return the names in the first record of the file."""
    block = HEAD_BYTES
    while True:
        file = CsvBytes(opened(), latin=True)
        try:
            with (
                file,
                pa.PythonFile(file, "r") as stream,
                open_records(stream, dialect, block, (), (), lambda row: "skip") as reader,
            ):
                return tuple(name.encode("latin-1").decode() for name in reader.schema.names)
        except UnicodeDecodeError as error:
            raise pa.ArrowInvalid("the names of the columns are not UTF-8") from error
        except pa.ArrowInvalid as error:
            if file.error is not None:  # a cut off file is not an empty one
                raise file.error from error
            if not _straddles(str(error)):
                raise
            if block >= ROW_BYTES:
                raise pa.ArrowInvalid(too_long(_RECORD)) from error
            block = min(block * _GROW, ROW_BYTES)


def header_in(head: bytes, dialect: Dialect) -> tuple[str, ...]:
    """Return the names in the bytes of a header, which Arrow parses in this thread."""
    latin = head.removeprefix(BYTE_ORDER_MARK).decode("latin-1").encode()
    with open_records(pa.BufferReader(latin), dialect, len(latin) + 1, (), (), lambda row: "skip") as reader:
        return tuple(name.encode("latin-1").decode() for name in reader.schema.names)


def _straddles(message: str) -> bool:
    return "straddl" in message or "cannot find the end" in message.lower()
