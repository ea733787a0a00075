"""Kept rows in numbered files of about one size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from neardup.io.readers.arrow_types import cut_by_bytes, row_lengths
from neardup.io.readers.base import NativeLines, NativeTable, SizedSink

_PARTS = 32
"""A file is filled in this many portions or more, so that its size is right within a few percent."""
_MOST = 8 << 20
"""Bytes of a portion, at most."""


class ShardsSink:
    """Writes rows into ``kept-00000``, ``kept-00001`` …; the next file begins when one has reached ``size`` bytes.

    ``open_one`` opens the file ``kept`` of the format in a folder; rows wait in memory as in a file of
    ``expected`` bytes (0: ``size``). The sizes of files follow from the rows alone.
    """

    def __init__(self, path: Path, open_one: Callable[[Path], SizedSink], size: int, expected: int = 0) -> None:
        self.path = path
        self._open_one, self._size, self._expected = open_one, size, expected or size
        self._portion = min(max(size // _PARTS, 1), _MOST)
        path.mkdir(exist_ok=True)
        self.names: list[str] = []
        self.rows: list[int] = []
        self._sink: SizedSink | None = None

    def prepare(self, native: NativeTable | NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Return the rows; they are chosen when their file is open."""
        return (native, keep, extra) if keep.any() else None

    def write(self, item: Any) -> None:
        """Write the kept rows into the current file, and begin the next when it is full."""
        native, keep, extra = item
        for begin, end in self._portions(native):
            if not keep[begin:end].any():
                continue
            if self._sink is not None and self._sink.size >= self._size:
                self._end_file()
            sink = self._sink or self._next()
            more = None if extra is None else extra.slice(begin, end - begin)
            sink.write(sink.prepare(_slice(native, begin, end), keep[begin:end], more))
            self.rows[-1] += int(keep[begin:end].sum())

    def close(self) -> None:
        """Finish the last file; without any row, one file without rows is written."""
        if not self.names:
            self._next()
        if self._sink is not None:
            self._end_file()

    def _portions(self, native: NativeTable | NativeLines) -> Iterator[tuple[int, int]]:
        lines = isinstance(native, NativeLines)
        lengths = native.ends - native.starts if lines else row_lengths(native.table)  # type: ignore[union-attr]
        yield from pairwise([0, *cut_by_bytes(np.maximum(lengths, 1), self._portion)])

    def _next(self) -> SizedSink:
        folder = self.path / f".{len(self.rows):05}"
        folder.mkdir()
        self._sink = self._open_one(folder)
        self._sink.expect(self._expected)
        self.names.append(self._sink.path.name.replace("kept", f"kept-{len(self.rows):05}", 1))
        self.rows.append(0)
        return self._sink

    def _end_file(self) -> None:
        sink, self._sink = self._sink, None
        assert sink is not None
        sink.close()
        sink.path.rename(self.path / self.names[-1])
        sink.path.parent.rmdir()


def _slice(native: NativeTable | NativeLines, begin: int, end: int) -> NativeTable | NativeLines:
    numbers = native.row_numbers[begin:end]
    if isinstance(native, NativeLines):
        return replace(native, row_numbers=numbers, starts=native.starts[begin:end], ends=native.ends[begin:end])
    return replace(native, row_numbers=numbers, table=native.table.slice(begin, end - begin))
