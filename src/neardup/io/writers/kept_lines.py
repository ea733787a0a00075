"""Kept JSONL lines, byte for byte as in the input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from neardup.io.readers.base import NativeLines
from neardup.io.readers.lines import with_keys
from neardup.io.writers.compressed import CompressedFile


class LinesSink:
    """Writes lines; further columns are appended to each line's object."""

    def __init__(self, path: Path, compression: str | None) -> None:
        self.path = path
        self._file = CompressedFile(path, compression)

    @property
    def size(self) -> int:
        """The bytes written so far."""
        return self._file.size

    def expect(self, size: int) -> None:
        """Do nothing: rows are written as they come."""

    def prepare(self, native: NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> list[Any] | None:
        """Return the kept pieces of the block."""
        return line_pieces(native, keep, extra)

    def write(self, item: list[Any]) -> None:
        """Write the pieces."""
        for piece in item:
            self._file.write(piece)

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


def line_pieces(native: NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> list[Any] | None:
    """Return the kept lines of a block in pieces, with the extra columns in their objects; None without any."""
    return list(_pieces(native, keep) if extra is None else _annotated(native, keep, extra)) or None


def _pieces(native: NativeLines, keep: npt.NDArray[np.bool_]) -> Iterator[Any]:
    """Yield each run of kept lines that are adjacent in the block as one piece."""
    starts, ends = native.starts[keep], native.ends[keep]
    if not len(starts):
        return
    breaks = np.flatnonzero(starts[1:] != ends[:-1])
    firsts = starts[np.concatenate(([0], breaks + 1))].tolist()
    lasts = ends[np.concatenate((breaks, [len(ends) - 1]))].tolist()
    data = memoryview(native.data)
    for first, last in zip(firsts, lasts, strict=True):
        yield data[first:last]
    if not native.data.endswith(b"\n", 0, lasts[-1]):
        yield b"\n"


def _annotated(native: NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> Iterator[bytes]:
    rows = extra.to_pylist()
    for i in np.flatnonzero(keep).tolist():
        line = native.data[native.starts[i] : native.ends[i]]
        yield with_keys(line, msgspec.json.encode(rows[i]))
