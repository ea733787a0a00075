"""A new file, compressed like the input, the same bytes for the same content."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa

# The default of gzip itself; Python's 9 takes several times as long for a percent of size.
GZIP_LEVEL = 6


class CompressedFile:
    """A file for writing, which must not exist. Raises OSError."""

    def __init__(self, path: Path, compression: str | None) -> None:
        self._raw = open(path, "xb")  # noqa: SIM115 - closed in close
        self._file = _packed(self._raw, compression)
        self.closed = False

    @property
    def size(self) -> int:
        """The bytes of the file so far, without those that the compressor holds."""
        return self._raw.tell()

    def write(self, data: Any) -> int:
        """Append the data."""
        return int(self._file.write(data) or 0)

    def flush(self) -> None:
        """Do nothing: the file is flushed when it is closed."""

    def close(self) -> None:
        """Finish the file."""
        try:
            if not self.closed and self._file is not self._raw:
                self._file.close()
        finally:
            self.closed = True
            self._raw.close()


def _packed(raw: Any, compression: str | None) -> Any:
    """Return the file that compresses into ``raw``."""
    if compression is None:
        return raw
    if compression == "gzip":  # without a name and a time, which would differ from run to run
        return gzip.GzipFile("", "wb", GZIP_LEVEL, raw, mtime=0)
    return pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), compression)
