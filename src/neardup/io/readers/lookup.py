"""Read one row of a file: by its recorded place, or by walking through the chunks before it."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, time
from functools import lru_cache, partial
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers import open_sources
from neardup.io.readers.base import ROW_BYTES, Chunk, Column, Documents, FailedChunk, ReadRows, too_long
from neardup.io.readers.csv_records import Batch, CsvStream, dialect_of, header_of
from neardup.io.readers.digests import open_regular
from neardup.io.readers.fields import VirtualColumns
from neardup.io.readers.folders import Discovered
from neardup.io.readers.json_records import Parser
from neardup.io.readers.lines import BYTE_ORDER_MARK
from neardup.io.readers.parquet import ParquetDocuments
from neardup.io.readers.places import Recorded
from neardup.settings import ReadingSettings

_HEAD_BYTES, _BLOCK_BYTES = 64 << 10, 1 << 20
_READ_BYTES = 64 << 10
MOST_FIELDS = 30
_PLAIN = (str, int, float, date, time)


@dataclass(frozen=True)
class Read:
    """The bytes of a text, and the id in its row where ids have a column."""

    text: bytes
    id: str | int | None = None


def read_row(file: Recorded, row: int, reading: ReadingSettings) -> Read:
    """Return one row of a recorded file. Raises InputError for a row that is not there or was rejected."""
    names = [file.text] if file.id is None else [file.text, file.id]
    at = int(np.searchsorted([first for first, _ in file.stretches], row, side="right")) - 1
    offset = file.stretches[at][1] if at >= 0 and row >= 0 else None
    if offset is not None and file.format in ("jsonl", "csv"):
        end = file.stretches[at + 1][1] if at + 1 < len(file.stretches) else None
        stretch = _Stretch(file, file.stretches[at][0], offset, end)
        found = _line(stretch, row) if file.format == "jsonl" else _record(stretch, row, reading)
    else:
        found = row_of(opened(file, reading), 0 if file.format == "text" else row, names)
    text = found[file.text][0].as_py()
    id = None if file.id is None or file.format == "text" else found[file.id][0].as_py()
    return Read(as_bytes(text), id.decode("utf-8", "replace") if isinstance(id, bytes) else id)


def read_fields(file: Recorded, row: int, reading: ReadingSettings) -> dict[str, Any]:
    """Return the other values of one row of a recorded file, at most MOST_FIELDS, without lists and records.

    Files that are one document each have none. Raises InputError as ``read_row`` does.
    """
    if file.format == "text":
        return {}
    at = int(np.searchsorted([first for first, _ in file.stretches], row, side="right")) - 1
    offset = file.stretches[at][1] if at >= 0 and row >= 0 else None
    if offset is not None and file.format in ("jsonl", "csv"):
        end = file.stretches[at + 1][1] if at + 1 < len(file.stretches) else None
        stretch = _Stretch(file, file.stretches[at][0], offset, end)
        found = (
            _decoded(_line_bytes(stretch, row)) if file.format == "jsonl" else _record(stretch, row, reading, True)
        )
    else:
        documents = opened(file, reading)
        found = row_of(documents, row, [column.name for column in documents.columns])
    values = found if isinstance(found, dict) else found.to_pylist()[0]
    plain = {name: value for name, value in values.items() if isinstance(value, _PLAIN)}
    return {name: plain[name] for name in list(plain)[:MOST_FIELDS] if name not in (file.text, file.id)}


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # the columns of a run may still be readable
        return {}
    return found if isinstance(found, dict) else {}


def opened(file: Recorded, reading: ReadingSettings) -> Documents:
    """Open a recorded file as documents, which enforce its columns."""
    documents = open_sources(Discovered(file.format, file.name, (file.source,)), reading)
    documents.require(file.text, file.id)
    return documents


def row_of(documents: Documents, row: int, names: Sequence[str], source: str | None = None) -> pa.Table:
    """Return a row as a table with these columns, from the documents of one file or the file named ``source``.

    Raises InputError for a row that is not there, or that was rejected, with the reason.
    """
    if isinstance(documents, ParquetDocuments) and len(documents.sources) == 1:
        single = documents.row(row, names)
        if single is not None and len(single.row_numbers):
            return single.table
        if single is not None:
            raise rejected(documents.names[0], row, single.problems[0].reason)
    held: Chunk | None = None
    lost: FailedChunk | None = None
    for chunk in documents.chunks(None, names):
        if source is not None and chunk.source != source:
            continue
        if isinstance(chunk, FailedChunk):
            lost = chunk if (chunk.problem.row or 0) <= row else lost
        elif chunk.first_row > row:
            break
        else:
            held = chunk
    rows = None if held is None else held.read(names)
    if rows is not None:
        at = np.flatnonzero(rows.row_numbers == row)
        if len(at):
            return rows.table.slice(int(at[0]), 1)
    raise _absent(source or documents.names[0], row, rows, lost)


def _absent(name: str, row: int, rows: ReadRows | None, lost: FailedChunk | None) -> InputError:
    problems = [] if rows is None else [problem for problem in rows.problems if problem.row == row]
    if lost is not None:
        problems.append(lost.problem)
    if problems:
        return rejected(name, row, problems[0].reason)
    last = int(rows.row_numbers[-1]) if rows is not None and len(rows.row_numbers) else None
    allowed = "A file with rows" if last is None else f"Rows 0 to {last:,}"
    return InputError(f"{name} has no row {row:,}", allowed, "Rows are numbered from 0")


def rejected(name: str, row: int, reason: str) -> InputError:
    """Return the error for a row that cannot be read as a document."""
    return InputError(f"Row {row:,} of {name} is not a document: {reason}", "A row that a run would accept")


@dataclass(frozen=True)
class _Stretch:
    """A part of a file: its first row, its first byte, and the byte after it (None: the end of the file)."""

    file: Recorded
    first: int
    offset: int
    end: int | None

    @property
    def columns(self) -> list[str]:
        return [self.file.text] if self.file.id is None else [self.file.text, self.file.id]

    def absent(self, row: int, last: int) -> InputError:
        """Return the error for a row after the ``last`` one of the stretch."""
        allowed = f"Rows 0 to {self.first + last:,}"
        return InputError(f"{self.file.name} has no row {row:,}", allowed, "Rows are numbered from 0")


class _Part:
    """Some bytes of a file, after a header; a stream as the CSV reader expects it."""

    error: BaseException | None = None

    def __init__(self, path: str, offset: int, end: int | None, head: bytes = b"") -> None:
        self._file, self._head = open_regular(path), head
        self._file.seek(offset)
        self._left = None if end is None else max(0, end - offset)

    def read(self, size: int) -> bytes:
        """Return the next bytes, fewer than ``size`` only before the end."""
        if self._head:
            given, self._head = self._head[:size], self._head[size:]
            return given
        data = bytes(self._file.read(size if self._left is None else min(size, self._left)))
        if self._left is not None:
            self._left -= len(data)
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _bytes(path: str, offset: int, end: int | None, most: int) -> bytes:
    with closing(_Part(path, offset, end)) as part:
        return part.read(most)


def _line(stretch: _Stretch, row: int) -> pa.Table:
    """Read a row of JSONL."""
    file, line = stretch.file, _line_bytes(stretch, row)
    known = tuple(Column(name, "other") for name in _decoded(line))
    parsed = Parser(known, file.text, file.id).parse(line, ())
    if not len(parsed.lines):
        raise rejected(file.name, row, parsed.reasons[0] if parsed.reasons else "the line is empty")
    return pa.table({name: parsed.column(name) for name in stretch.columns})


def _line_bytes(stretch: _Stretch, row: int) -> bytes:
    """Return the line that many line ends after the start of its stretch."""
    file, number = stretch.file, row - stretch.first
    before, offset = _mark(stretch, number)
    with closing(_Part(file.path, offset, stretch.end)) as part:
        line, lines = _nth_line(part, number - before)
    if line is None:
        raise stretch.absent(row, before + lines - 1)
    if row == 0:
        line = line.removeprefix(BYTE_ORDER_MARK)
    if len(line) > ROW_BYTES:
        raise rejected(file.name, row, too_long("the line"))
    return line


def _mark(stretch: _Stretch, number: int) -> tuple[int, int]:
    """Return a place in a stretch at which to begin to look for a line: the lines before it, and its offset."""
    found = os.stat(stretch.file.path)
    marks = _marks(stretch.file.path, (found.st_mtime_ns, found.st_size), stretch.offset, stretch.end)
    at = bisect_right(marks, number, key=lambda mark: mark[0]) - 1
    return marks[at]


@lru_cache(maxsize=4096)
def _marks(path: str, _: tuple[int, int], offset: int, end: int | None) -> tuple[tuple[int, int], ...]:
    """Return places in a part of a file, one in each block; a changed file (time and size) has others."""
    marks, lines, at = [(0, offset)], 0, offset
    with closing(_Part(path, offset, end)) as part:
        while block := part.read(_READ_BYTES):
            first = block.find(b"\n")
            if first >= 0 and at > offset:
                marks.append((lines + 1, at + first + 1))
            lines += block.count(b"\n")
            at += len(block)
    return tuple(marks)


def _nth_line(part: _Part, number: int) -> tuple[bytes | None, int]:
    """Return a line, cut behind the limit of a row, or None and the number of lines; reads no further."""
    before, held = 0, b""
    while block := part.read(_READ_BYTES):
        ends = block.count(b"\n")
        if before + ends >= number:
            start = 0
            for _ in range(number - before):
                start = block.index(b"\n", start) + 1
            held = block[start:]
            while b"\n" not in held and len(held) <= ROW_BYTES and (more := part.read(_READ_BYTES)):
                held += more
            return (held.partition(b"\n")[0], 0) if held else (None, number)
        before += ends
        open_line = not block.endswith(b"\n")
        held = block[-1:] if open_line else b""
    return None, before + bool(held)


def _record(stretch: _Stretch, row: int, reading: ReadingSettings, whole: bool = False) -> pa.Table:
    """Read a row of CSV: its stretch is parsed as if it followed the header; ``whole``: all columns."""
    file, wanted, last = stretch.file, row - stretch.first, -1
    header_end = next(offset for _, offset in file.stretches if offset is not None)
    head = _bytes(file.path, 0, header_end, ROW_BYTES)
    dialect = dialect_of(file.source, _bytes(file.path, 0, None, _HEAD_BYTES), reading.delimiter)
    opened: Any = partial(_Part, file.path, stretch.offset, stretch.end, head)
    of_head: Any = partial(_Part, file.path, 0, 0, head)
    header = header_of(of_head, dialect)
    virtual = VirtualColumns.of(header, file.text, file.id)
    names = list(header) if whole else virtual.roots(stretch.columns)
    stream = CsvStream(opened, dialect, header, names, _BLOCK_BYTES)
    found: pa.Table | None = None
    for batch in stream.batches():
        if last < wanted < batch.first + batch.records:
            found = _in_batch(batch, wanted, file.name, row)
            if stretch.end is None:
                break
        # Arrow reads ahead in a thread that calls Python: a stretch is read to its end, so that nothing goes on
        last = batch.first + batch.records - 1
    if found is None:
        raise stretch.absent(row, last)
    return found if whole else virtual.table(found, stretch.columns)


def _in_batch(batch: Batch, wanted: int, name: str, row: int) -> pa.Table:
    for bad in batch.rejected:
        if bad.record == wanted:
            raise rejected(name, row, bad.reason)
    place = wanted - batch.first - sum(bad.record < wanted for bad in batch.rejected)
    return batch.table.slice(place, 1)


def as_bytes(text: Any) -> bytes:
    """Return a value of a text column as UTF-8; no text is an empty one."""
    if text is None:
        return b""
    return text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogatepass")
