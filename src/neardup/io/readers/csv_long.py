"""Find the CSV records that are too long for memory, without holding them, and leave them out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from neardup.io.readers.dialect import Dialect
from neardup.io.readers.limits import too_long
from neardup.io.readers.lines import BYTE_ORDER_MARK, Stream

_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class LeftOutBytes:
    """Bytes ``start`` to ``end`` of a file (in UTF-8) that are left out, after ``before`` records that are not.

    If ``closed``, they are one record. Otherwise a quote in them is never closed, and the number of records in
    them is unknown.
    """

    before: int
    start: int
    end: int
    closed: bool

    @property
    def reason(self) -> str:
        """The reason for leaving these bytes out, and their range."""
        left = f"bytes {self.start:,} to {self.end - 1:,} are left out"
        if self.closed:
            return f"{too_long('the record')}; {left}"
        what = "the text after an unclosed quote"
        return f"{too_long(what)}; {left} with all rows in them, and reading goes on at the next whole record"


@dataclass(frozen=True)
class _Found:
    """A record: its place, its number of fields, and whether its last quote is closed."""

    start: int
    end: int
    fields: int
    closed: bool
    empty: bool = False


class WithoutCuts:
    """A stream that leaves out some ranges of bytes, in ascending order."""

    def __init__(self, stream: Stream, cuts: Sequence[LeftOutBytes]) -> None:
        self._stream, self._cuts = stream, list(cuts)
        self._at = 0
        self._waiting = b""

    @property
    def error(self) -> BaseException | None:
        """The error that ended the file early."""
        return self._stream.error

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end."""
        parts, count = [], 0
        while count < size:
            cut = self._cuts[0] if self._cuts else None
            if cut is not None and self._at == cut.start:
                self._at += self.skip(cut.end - cut.start)
                del self._cuts[0]
                continue
            most = size - count if cut is None else min(size - count, cut.start - self._at)
            if not (part := self._exactly(most)):
                break
            parts.append(part)
            count, self._at = count + len(part), self._at + len(part)
        return b"".join(parts)

    def skip(self, count: int) -> int:
        """Read up to ``count`` stored bytes and discard them; return how many there were."""
        left = count
        while left and (part := self._exactly(min(left, _READ_BYTES))):
            left -= len(part)
        return count - left

    def _exactly(self, size: int) -> bytes:
        """Return at most ``size`` bytes; a compressed stream may return more than requested."""
        data = self._waiting or self._stream.read(size)
        self._waiting = data[size:]
        return data[:size]

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def cuts_of(
    opened: Callable[[], Stream], dialect: Dialect, width: int, given: int, most: int
) -> list[LeftOutBytes]:
    """Return the cuts after the first ``given`` records such that no remaining record is longer than ``most``.

    A record with correct quoting and ``width`` fields is left out alone. After any other, reading resumes at the
    first whole record of that width behind the limit; the next failure starts another search.
    """
    cuts: list[LeftOutBytes] = []
    records = -1  # the first is the header
    with closing(opened()) as stream:
        for found in _records(stream, dialect):
            if found.end - found.start <= most or records < given:
                records += not found.empty  # Arrow does not count empty records either
                continue
            cut = LeftOutBytes(records, found.start, found.end, closed=True)
            if not found.closed or found.fields != width:
                cuts.append(_resumed(opened, dialect, width, replace(cut, closed=False), most))
                break
            cuts.append(cut)
    return cuts


def _resumed(
    opened: Callable[[], Stream], dialect: Dialect, width: int, cut: LeftOutBytes, most: int
) -> LeftOutBytes:
    """Return the cut extended to the first whole record behind the limit that has ``width`` fields."""
    with closing(WithoutCuts(opened(), ())) as stream:
        limit = stream.skip(cut.start + most)
        for number, found in enumerate(_records(stream, dialect)):  # the first is the rest of a line
            if number and found.closed and found.fields == width and found.end - found.start <= most:
                return replace(cut, end=limit + found.start)
            end = limit + found.end
    return replace(cut, end=end)


def _records(stream: Stream | WithoutCuts, dialect: Dialect) -> Iterator[_Found]:
    """Yield the records as Arrow splits them: quotes count at the start of a field, then in pairs within it."""
    delimiter, quote = dialect.delimiter.encode(), dialect.quote.encode()
    stop = re.compile(b"[" + re.escape(delimiter) + b"\r\n]")
    offset = start = 0
    ended: _Found | None = None  # by a carriage return, which a line feed may follow
    fields, fresh, quoted, after_quote = 1, True, False, False
    while block := stream.read(_READ_BYTES):
        at = len(BYTE_ORDER_MARK) if not offset and block.startswith(BYTE_ORDER_MARK) else 0
        while at < len(block):
            if ended is not None:
                if block[at : at + 1] == b"\n":
                    ended, start, at = replace(ended, end=ended.end + 1), start + 1, at + 1
                yield ended
                ended = None
                continue
            starts_quote = block[at : at + 1] == quote
            if quoted and not after_quote:
                at = block.find(quote, at) + 1
                if not at:
                    break
                after_quote = True
            elif (after_quote or fresh) and starts_quote:  # a quote for a quote, or one that opens a field
                quoted, after_quote, fresh = True, False, False
                at += 1
            else:
                quoted = after_quote = fresh = False
                found = stop.search(block, at)
                if found is None:
                    break
                at, fresh = found.end(), True
                if found.group() == delimiter:
                    fields += 1
                else:
                    ended = _Found(start, offset + at, fields, closed=True, empty=offset + at - 1 == start)
                    start, fields = offset + at, 1
                    if found.group() == b"\n":
                        yield ended
                        ended = None
        offset += len(block)
    if ended is not None:
        yield ended
    if start < offset:
        yield _Found(start, offset, fields, closed=not quoted or after_quote)
