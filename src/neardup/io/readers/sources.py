"""One file of the input: local or behind a URL, plain or compressed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from neardup.errors import InputError
from neardup.io.containers.codecs import codec_of, unpacking

Stamp: TypeAlias = tuple[int, int, int]
"""Time of the last change in nanoseconds, size, inode number: a different stamp means different content."""


@dataclass(frozen=True)
class Source:
    """A file: ``name`` is for display, ``path`` for opening, ``partition`` comes from its folders."""

    name: str
    path: str
    size: int | None = None
    partition: tuple[tuple[str, str | None], ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether the file can be opened without fsspec."""
        return "://" not in self.path

    @property
    def compression(self) -> str | None:
        """Codec of the whole file, by its extension."""
        return codec_of(self.path)

    def stamp(self) -> Stamp | None:
        """Return a stamp that shows whether the file has changed; None for a missing or remote file."""
        try:
            found = os.stat(self.path) if self.is_local else None
        except OSError:
            return None
        return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)

    def open_raw(self) -> Any:
        """Open the bytes of the file as an Arrow input stream with random access."""
        if self.is_local:
            return pa.OSFile(self.path)
        system, path = filesystem(self.path)
        return pa.PythonFile(system.open(path, "rb"), mode="r")

    def open(self) -> Any:
        """Open the content of the file, decompressed."""
        raw = self.open_raw()
        return unpacking(raw, self.compression) if self.compression else raw

    def read_bytes(self) -> bytes:
        """Return the whole file as it is stored."""
        if self.is_local:
            with open(self.path, "rb") as file:
                return file.read()
        system, path = filesystem(self.path)
        return bytes(system.cat_file(path))


def require_same(source: Source, before: Stamp | None) -> None:
    """Raise InputError if a file has changed since ``before``."""
    now = source.stamp()
    if now != before:
        raise changed(source.path, "it is gone" if now is None else "its size or its time is another")


def changed(path: str, how: str) -> InputError:
    """Return the error for a file that has changed since an earlier pass."""
    return InputError(
        f"{path} changed while it was being worked on: {how}",
        "Files that stay as they are until the run has ended",
        "Run again when nothing writes to the file",
    )


def filesystem(url: str) -> tuple[Any, str]:
    """Return the fsspec filesystem of a URL and the path within it."""
    try:
        import fsspec
    except ImportError:
        raise InputError(
            f"{url} is a URL, and fsspec is not installed",
            "Files, and URLs that fsspec reads",
            'pip install "neardup[remote]"',
        ) from None
    try:
        system, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError, OSError) as error:
        raise InputError(
            f"Cannot reach {url}: {error}",
            "A URL that fsspec and its plugins can open",
            "Check the URL and install the plugin of its protocol",
        ) from error
    return system, str(path)
