"""The bytes of a CSV file as Arrow's reader expects them, plain or disguised as Latin-1."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.io.readers.lines import BYTE_ORDER_MARK, Stream


class CsvBytes:
    """A file object for Arrow; with ``latin``, each byte of the file becomes the character of that number.

    A truncated file just ends early, and ``error`` has the reason.
    """

    closed = False

    def __init__(self, stream: Stream, latin: bool) -> None:
        self._stream = stream
        self._latin = latin
        self._waiting = b""
        self._started = False

    @property
    def error(self) -> BaseException | None:
        """The error that ended the file early."""
        return self._stream.error

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end."""
        if not self._latin:
            return self._stream.read(size)
        while len(self._waiting) < size and (part := self._stream.read(size)):
            if not self._started:  # Arrow would not recognise the byte order mark in its disguise
                part, self._started = part.removeprefix(BYTE_ORDER_MARK), True
            self._waiting += part.decode("latin-1").encode()
        given, self._waiting = self._waiting[:size], self._waiting[size:]
        return given

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self.closed = True

    def __enter__(self) -> CsvBytes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def as_latin(name: str) -> str:
    """Return a name in its Latin-1 disguise."""
    return name.encode().decode("latin-1")


def from_latin(text: str) -> str:
    """Return the text behind a disguise; invalid UTF-8 is replaced."""
    return text.encode("latin-1", "replace").decode("utf-8", "replace")


def restored(table: Any, names: Sequence[str]) -> Any:
    """Return the table with the original bytes of the file in all its strings."""
    columns = [pa.chunked_array([_restored(a) for a in c.chunks], pa.string()) for c in table.columns]
    return pa.Table.from_arrays(columns, names=list(names))


def _restored(array: Any) -> Any:
    if not len(array):
        return array
    offsets = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]
    data = array.buffers()[2]
    text = bytes(data[int(offsets[0]) : int(offsets[-1])]).decode() if data is not None else ""
    ends = np.cumsum(pc.utf8_length(array).to_numpy(zero_copy_only=False), dtype=np.int32)
    starts = np.concatenate((np.zeros(1, np.int32), ends))
    return pa.StringArray.from_buffers(len(array), pa.py_buffer(starts), pa.py_buffer(text.encode("latin-1")))
