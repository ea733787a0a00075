"""Files of lines, read as streams of UTF-8 in blocks of whole lines: the common base of JSONL and CSV."""

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neardup.io.containers.codecs import STEP, rest_after
from neardup.io.formats.charsets import UTF_8, Charset, charset_of
from neardup.io.readers.base import ROW_BYTES, failure_text
from neardup.io.readers.files import UNREADABLE, FileDocuments
from neardup.io.readers.sources import Source, changed_error

Positions = npt.NDArray[np.int64]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LATER_MARK = re.compile(rb"(?<=[\r\n])\xef\xbb\xbf")
_CUT_MARK = re.compile(rb"(?<=[\r\n])\xef\xbb?\Z")

# Bytes kept from the start of a line that is too long, to show them.
_BEGINNING = 4096

HEAD_BYTES = 1 << 20
"""Number of bytes examined at the beginning."""

PLACES, PLACE_BYTES = 16, 64 << 10
"""Number of places examined further on, in files that are neither compressed nor remote."""

_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_HIGH = bytes(range(128, 256))


@dataclass(frozen=True)
class Span:
    """The place of a block of lines in a plain file; a line too long to be read is a block alone."""

    offset: int
    length: int
    first_row: int
    too_long: bytes | None = None


@dataclass(frozen=True)
class LongLine:
    """A line longer than the limit for a row: its beginning, and its length in bytes."""

    beginning: bytes
    length: int


class Stream:
    """The content of a file in UTF-8; a failure ends it like the end of the file and is kept in ``error``.

    With a ``quote`` it has no byte order mark at the beginning of a line, unless a quoted field is open there:
    each of the files that somebody has put together had one.
    """

    def __init__(self, source: Source, charset: Charset = UTF_8) -> None:
        self._source = source
        self._file = source.open()
        self._given = 0
        self._step = STEP if source.compression else None
        self._decoder = None if charset.encoding == "utf-8" else _decoder(charset.encoding)
        self._waiting = bytearray()
        self.quote: bytes | None = None
        self._quotes, self._line_end, self._rest = 0, b"", b""
        self.error: BaseException | None = None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, size: int) -> bytes:
        """Read the next ``size`` bytes, fewer at the end, and where marks are left out."""
        if self.quote is None:
            return self._read_decoded(size)
        while part := self._read_decoded(size):
            if given := self._without_marks(part, self.quote):
                return given
        given, self._rest = self._rest, b""
        return given

    def _without_marks(self, part: bytes, quote: bytes) -> bytes:
        """Return the part, and what was held back before it, without marks; the beginning of one is held back."""
        before = len(self._line_end)
        whole = self._line_end + self._rest + part
        cut = _CUT_MARK.search(whole)
        whole, self._rest = (whole[: cut.start()], cut[0]) if cut else (whole, b"")
        quotes, counted_to, parts, begin = self._quotes, before, [], before
        for mark in _LATER_MARK.finditer(whole) if BYTE_ORDER_MARK in whole else ():
            quotes += whole.count(quote, counted_to, mark.start())
            counted_to = mark.start()
            if quotes % 2 == 0:
                parts.append(whole[begin : mark.start()])
                begin = mark.end()
        self._quotes = quotes + whole.count(quote, counted_to)
        self._line_end = whole[-1:] if whole.endswith((b"\n", b"\r")) else b""
        return b"".join((*parts, whole[begin:]))

    def _read_decoded(self, size: int) -> bytes:
        if self._decoder is None:
            return self._read_stored(size)
        while len(self._waiting) < size and self._decoder is not None:
            part = self._read_stored(size)
            self._waiting += self._decoder.decode(part, final=not part).encode("utf-8", "replace")
            if not part:
                break
        given = bytes(self._waiting[:size])
        del self._waiting[:size]
        return given

    def _read_stored(self, size: int) -> bytes:
        if self._step is None:
            return self._read(size)
        parts, count = [], 0
        while count < size and (part := self._read(self._step)):
            parts.append(part)
            count += len(part)
        return b"".join(parts)

    def _read(self, size: int) -> bytes:
        """Read the next bytes of the file; after damage, the rest that can be unpacked."""
        if self.error is not None:
            return b""
        try:
            data = bytes(self._file.read(size))
        except UNREADABLE as error:
            self.error = error
            self._file.close()
            data = b"" if self._step is None else rest_after(self._source.open, self._given)
        self._given += len(data)
        return data


def line_blocks(read: Callable[[int], bytes], size: int, longest: int = ROW_BYTES) -> Iterator[bytes | LongLine]:
    """Yield blocks of about ``size`` bytes that end with a line; a longer line is a block of its own.

    Only the beginning of a line of more than ``longest`` bytes is held.
    """
    rest: list[bytes] = []
    held = 0
    while part := read(size):
        first = part.find(b"\n") + 1 or len(part)
        if held + first > longest:
            beginning = b"".join((*rest, part[:_BEGINNING]))[:_BEGINNING]
            line, part = _skip_line(read, size, part)
            yield LongLine(beginning, held + line)
            rest, held = [], 0
        cut = part.rfind(b"\n") + 1
        if cut:
            yield b"".join((*rest, part[:cut]))
            rest, held = [], 0
        if cut < len(part):
            rest.append(part[cut:])
            held += len(part) - cut
    if rest:
        yield b"".join(rest)


def _skip_line(read: Callable[[int], bytes], size: int, part: bytes) -> tuple[int, bytes]:
    """Return the number of remaining bytes of the line, and the bytes read after it."""
    skipped = 0
    while part:
        end = part.find(b"\n") + 1
        if end:
            return skipped + end, part[end:]
        skipped += len(part)
        part = read(size)
    return skipped, b""


def count_lines(block: bytes) -> int:
    """Return the number of lines, the last one with or without a line end."""
    return block.count(b"\n") + (not block.endswith(b"\n") and bool(block))


def line_bounds(block: bytes) -> tuple[Positions, Positions, Positions]:
    r"""Return for each line its start, the end of its content (before ``\n`` or ``\r\n``), its end."""
    data = np.frombuffer(block, np.uint8)
    stops = np.flatnonzero(data == 0x0A) + 1
    if not block.endswith(b"\n") and block:
        stops = np.append(stops, len(block))
    starts = np.concatenate(([0], stops[:-1]))[: len(stops)]
    ends = _before(data, starts, _before(data, starts, stops, 0x0A), 0x0D)
    return starts, ends, stops


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder(encoding)("replace")


def _before(data: npt.NDArray[np.uint8], starts: Positions, ends: Positions, byte: int) -> Positions:
    """Return the ends, moved back by one where the last byte is the given one."""
    last: Any = data[np.maximum(ends - 1, 0)] if len(data) else data
    return np.where((ends > starts) & (last == byte), ends - 1, ends)


def read_span(path: str, span: Span) -> bytes:
    """Read one block of lines again."""
    try:
        with open(path, "rb") as file:
            file.seek(span.offset)
            block = file.read(span.length)
    except OSError as error:
        raise changed_error(path, failure_text(error)) from error
    if len(block) < span.length:
        raise changed_error(path, "it is shorter now")
    return block


def with_keys(line: bytes, item: bytes) -> bytes:
    """Append the keys of a second JSON object to the first, and leave the rest unchanged."""
    body = line.rstrip()
    end = line[len(body) :] or b"\n"
    inner = body[:-1].rstrip()
    comma = b"" if inner.endswith(b"{") and inner.strip() == b"{" else b", "
    return body[:-1].rstrip() + comma + item[1:] + (end if end.endswith(b"\n") else end + b"\n")


def charset_of_source(source: Source, asked: str = "auto") -> Charset:
    """Return the encoding of a file; ``asked`` overrides detection. Raises the errors of reading.

    Invalid UTF-8 outside the examined places is counted when the file is read.
    """
    if asked != "auto":
        return charset_of(b"", asked)
    with source.open() as file:
        head = bytes(file.read(HEAD_BYTES))
    if b"\0" in head and b"\0" not in head[:2] and not head.startswith(_MARKS):
        return UTF_8  # UTF-16 would show in the first character: a brace, a quote, a column name
    if len(head) < HEAD_BYTES:
        return charset_of(head)
    found = charset_of(_whole(head))
    if found != UTF_8 or source.compression or not source.is_local or source.size is None:
        return found
    parts = []
    with open(source.path, "rb") as plain:
        for place in range(1, PLACES + 1):
            plain.seek(max(HEAD_BYTES, (source.size - PLACE_BYTES) * place // PLACES))
            parts.append(_whole(plain.read(PLACE_BYTES)))
    return charset_of(_whole(head) + b"".join(parts))


def _whole(part: bytes) -> bytes:
    """Leave out a possible partial character at either end."""
    if part.startswith(_MARKS) or b"\0" in part:
        return part
    return part.rstrip(_HIGH) if part.startswith(b"\xef\xbb\xbf") else part.strip(_HIGH)


class StreamDocuments(FileDocuments):
    """Files that are read as a stream of bytes, which are UTF-8 or converted to it."""

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__(sources)
        self._charsets: list[Charset] = [UTF_8] * len(self.sources)

    @property
    def compression(self) -> str | None:
        """Codec of the files when all have the same, else None."""
        codecs = {source.compression for source in self.sources}
        return codecs.pop() if len(codecs) == 1 else None

    def find_charsets(self, asked: str) -> None:
        """Find the encoding of each file; an unreadable file is reported when it is read."""
        for position, source in enumerate(self.sources):
            self.take_stamp(position)
            try:
                found = charset_of_source(source, asked)
            except UNREADABLE:
                continue
            if found != UTF_8:
                self._charsets[position] = found
                self.findings.tell(source.name, found)

    def is_utf8(self, position: int) -> bool:
        """Whether the lines of a file can be found again by their place in it."""
        return self._charsets[position].encoding == "utf-8"

    def stream(self, position: int) -> Stream:
        """Open a file, from its start."""
        return Stream(self.sources[position], self._charsets[position])
