"""A new file, compressed like the input, the same bytes for the same content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neardup.io.containers.codecs import packing


class CompressedFile:
    """A file for writing, which must not exist. Raises OSError."""

    def __init__(self, path: Path, compression: str | None) -> None:
        self._raw = open(path, "xb")  # noqa: SIM115 - closed in close
        self._file = packing(self._raw, compression)
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
