"""Kept rows in one file for each file of the input, under its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from neardup.io.readers.base import NativeLines, NativeTable, Separate, Sink


class SeparateSink:
    """Writes the rows of one file of the input after the other; one output is open at a time.

    A file whose rows all go becomes a file without rows, so that each readable file has its output.
    """

    def __init__(self, path: Path, separate: Separate, places: Sequence[str]) -> None:
        self.path = path
        self._separate, self._places = separate, places
        self._position = -1
        self._sink: Sink | None = None
        self.rows = [0] * len(places)
        path.mkdir()

    def prepare(self, native: NativeTable | NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Return the rows; they are chosen when their file is open."""
        return (native, keep, extra) if keep.any() else None

    def write(self, item: Any) -> None:
        """Write the kept rows into the output of their file."""
        native, keep, extra = item
        self._go_to(native.position)
        assert self._sink is not None
        self.rows[native.position] += int(keep.sum())
        self._sink.write(self._sink.prepare(native, keep, extra))

    def close(self) -> None:
        """Finish the last file, and write those without rows after it."""
        self._go_to(len(self._places))

    def _go_to(self, position: int) -> None:
        """Finish the files before a position, and open the one there."""
        while self._position < position:
            sink, self._sink = self._sink, None
            if sink is not None:
                sink.close()
            self._position += 1
            if self._position < len(self._places):
                self._sink = self._opened(self._position)

    def _opened(self, position: int) -> Sink | None:
        path = self.path / self._places[position]
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():  # names that differ in case alone are one name on some file systems
            raise FileExistsError(17, "two files of the input have this name", str(path))
        return self._separate.open(position, path)
