"""Cutting a stream of bytes into blocks of whole lines, and a block into lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neardup.errors import InputError
from neardup.readers.base import failure_text
from neardup.readers.files import UNREADABLE
from neardup.readers.sources import Source

Positions = npt.NDArray[np.int64]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# When a compressed stream breaks, what one read had decompressed is got again byte by byte.
_COMPRESSED_READ = 64 << 10


@dataclass(frozen=True)
class Span:
    """Where a block of lines lies in a plain file."""

    offset: int
    length: int
    first_row: int


class Stream:
    """The content of a file; a failure ends it like the end of the file and is kept in ``error``."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._file = source.open()
        self._given = 0
        self._step = _COMPRESSED_READ if source.compression else None
        self.error: BaseException | None = None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end."""
        if self._step is None:
            return self._read(size)
        parts, count = [], 0
        while count < size and (part := self._read(self._step)):
            parts.append(part)
            count += len(part)
        return b"".join(parts)

    def _read(self, size: int) -> bytes:
        if self.error is not None:
            return b""
        try:
            data = bytes(self._file.read(size))
        except UNREADABLE as error:
            self.error = error
            data = b"" if self._step is None else self._rescue(self._step)
        self._given += len(data)
        return data

    def _rescue(self, step: int) -> bytes:
        """Get what the failing read had decompressed and lost: again up to there, then byte by byte."""
        saved: list[bytes] = []
        try:
            self._file.close()
            self._file = self._source.open()
            left = self._given
            while left:
                left -= len(self._file.read(min(step, left)))
            while len(saved) < step and (byte := self._file.read(1)):
                saved.append(byte)
        except UNREADABLE:
            pass  # the failure that was met before
        return b"".join(saved)


def line_blocks(read: Callable[[int], bytes], size: int) -> Iterator[bytes]:
    """Yield blocks of about ``size`` bytes that end with a line; a longer line is a block of its own."""
    rest: list[bytes] = []
    while part := read(size):
        cut = part.rfind(b"\n") + 1
        if cut:
            yield b"".join((*rest, part[:cut]))
            rest = []
        if cut < len(part):
            rest.append(part[cut:])
    if rest:
        yield b"".join(rest)


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


def _before(data: npt.NDArray[np.uint8], starts: Positions, ends: Positions, byte: int) -> Positions:
    """Return the ends moved one back where the last byte is the given one."""
    last: Any = data[np.maximum(ends - 1, 0)] if len(data) else data
    return np.where((ends > starts) & (last == byte), ends - 1, ends)


def read_span(path: str, span: Span) -> bytes:
    """Read one block of lines again."""
    try:
        with open(path, "rb") as file:
            file.seek(span.offset)
            block = file.read(span.length)
    except OSError as error:
        raise _changed(path, failure_text(error)) from error
    if len(block) < span.length:
        raise _changed(path, "it is shorter now")
    return block


def _changed(path: str, how: str) -> InputError:
    return InputError(
        f"{path} changed while it was being worked on: {how}",
        "Files that stay as they are until the run has ended",
        "Run again when nothing writes to the file",
    )
