"""Kept rows in one folder for each value of a column: ``kept/lang=de``, as Hive names partitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from neardup.io.readers.base import Sink
from neardup.io.readers.kinds import NULL_PARTITION
from neardup.tables import Int64s

_LONGEST = 120
"""Characters of a value in the name of a folder; a longer one is cut, and a digest follows."""
_BROKEN = re.compile("%[0-9A-F]?$")


def value_folder(column: str, value: str | None) -> str:
    """Return the name of the folder for a value, which leads nowhere else whatever the value is.

    >>> value_folder("lang", "de"), value_folder("box", "../a b"), value_folder("box", None)
    ('lang=de', 'box=..%2Fa%20b', 'box=__HIVE_DEFAULT_PARTITION__')
    """
    return f"{_quoted(column)}={NULL_PARTITION if value is None else _quoted(value)}"


def _quoted(text: str) -> str:
    quoted = quote(text, safe="", errors="replace")
    if text == NULL_PARTITION:
        return quoted.replace("_", "%5F", 1)
    if len(quoted) <= _LONGEST:
        return quoted
    digest = sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{_BROKEN.sub('', quoted[: _LONGEST - 17])}-{digest}"


class SplitSink:
    """Writes the rows of some values, each into the file of its value; ``open_one`` opens it in a folder."""

    def __init__(self, path: Path, open_one: Callable[[Path], Sink], folders: Sequence[str], first: int) -> None:
        self.path = path
        self._open_one, self._folders, self._first = open_one, folders, first
        self._sinks: dict[int, Sink] = {}
        self.rows: dict[int, int] = {}
        path.mkdir(exist_ok=True)

    def prepare(self, native: Any, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Refuse rows without their values."""
        raise TypeError("the rows of a split need their values")

    def prepare_split(self, native: Any, keep: npt.NDArray[np.bool_], extra: Any, codes: Int64s) -> Any:
        """Return the rows with their values; they are chosen when the files are open."""
        mine = keep & (codes >= self._first) & (codes < self._first + len(self._folders))
        return (native, mine, extra, codes) if mine.any() else None

    def write(self, item: Any) -> None:
        """Write the kept rows of each value."""
        native, keep, extra, codes = item
        for code in np.unique(codes[keep]).tolist():
            mine = keep & (codes == code)
            sink = self._sinks.get(code) or self._opened(code)
            self.rows[code] += int(mine.sum())
            sink.write(sink.prepare(native, mine, extra))

    def close(self) -> None:
        """Finish all files."""
        for sink in self._sinks.values():
            sink.close()

    def _opened(self, code: int) -> Sink:
        folder = self.path / self._folders[code - self._first]
        folder.mkdir()
        self._sinks[code] = self._open_one(folder)
        self.rows[code] = 0
        return self._sinks[code]
