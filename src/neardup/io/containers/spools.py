"""Unnamed working files that hold unpacked or piped bytes, and stretches of files that are read side by side.

Documents are read several times and by several threads; a pipe or a compressed archive can be read once, in order.
"""

import io
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from tempfile import TemporaryFile, gettempdir
from threading import Lock
from typing import IO, Any, Protocol

from neardup.display import size
from neardup.errors import InputError
from neardup.io.containers.base import ROOM_BYTES

_BLOCK = 1 << 20
LOOK_EVERY = 64 << 20
"""The room on the disk is looked at once for this many bytes."""

STDIN = "-"
"""The name of standard input on the command line, and its path."""

_LOCK = Lock()


def read_at(file: IO[bytes], lock: AbstractContextManager[Any], offset: int, length: int) -> bytes:
    """Return the bytes of a place in a file that several threads read; fewer only at its end."""
    if hasattr(os, "pread"):
        return os.pread(file.fileno(), length, offset)
    with lock:
        file.seek(offset)
        return file.read(length)


class Readable(Protocol):
    """Bytes at any place, read by several threads."""

    def at(self, offset: int, length: int) -> bytes:
        """Return the bytes of a place, fewer only at the end."""


class Held:
    """An open file that any number of threads read at any place; closed with its last user."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._lock = file, Lock()
        self.length = file.seek(0, os.SEEK_END)

    def at(self, offset: int, length: int) -> bytes:
        """Return the bytes of a place, fewer only at the end of the file."""
        return read_at(self._file, self._lock, offset, length)

    def stretch(self, offset: int = 0, length: int | None = None) -> "Stretch":
        """Return a part of the file as a file of its own."""
        return Stretch(self, offset, self.length - offset if length is None else length)

    def __del__(self) -> None:
        self._file.close()


class Stretch(io.RawIOBase):
    """A part of a held file, with its own position."""

    def __init__(self, held: Readable, offset: int, length: int) -> None:
        super().__init__()
        self._held, self._offset, self._length, self._at = held, offset, length, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Read all bytes up to ``size``, fewer only at the end."""
        left = max(0, self._length - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        parts, at = [], 0
        while at < wanted:
            part = self._held.at(self._offset + self._at, wanted - at)
            if not part:
                raise OSError("the file is shorter than it was")
            parts.append(part)
            at, self._at = at + len(part), self._at + len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def spool_stream(
    read: Callable[[int], bytes],
    name: str,
    most: int | None = None,
    rest: Callable[[int], bytes] | None = None,
) -> tuple[Held, str | None]:
    """Copy a stream into an unnamed file, which disappears with its last user, however the process ends.

    Returns the file, and the reason for which the stream ended early, or None: it is damaged, cut off, or has more
    than ``most`` bytes. ``rest`` returns the bytes after a number of them, which a failed read has lost. The file
    is in the folder for temporary files. Raises InputError if there is no room.
    """
    folder = gettempdir()
    file = TemporaryFile(prefix="neardup-")  # noqa: SIM115 - closed with its last user
    length, reason = 0, None
    try:
        while True:
            try:
                block = bytes(read(_BLOCK if most is None else min(_BLOCK, most + 1 - length)))
            except (OSError, EOFError) as error:
                reason = str(error) or type(error).__name__
                file.write(b"" if rest is None else rest(length))
                break
            if not block:
                break
            if length // LOOK_EVERY != (length + len(block)) // LOOK_EVERY or not length:
                _require_room(folder, name, length)
            file.write(block)
            length += len(block)
            if most is not None and length > most:
                reason = f"it unpacks to more than {size(most)}"
                break
        file.flush()
    except OSError as error:
        file.close()
        raise _no_room_error(folder, name, length, error.strerror or str(error)) from error
    except BaseException:
        file.close()
        raise
    return Held(file), reason


def _require_room(folder: str, name: str, length: int) -> None:
    if shutil.disk_usage(folder).free < ROOM_BYTES:
        raise _no_room_error(folder, name, length, f"less than {size(ROOM_BYTES)} are free")


def _no_room_error(folder: str, name: str, length: int, why: str) -> InputError:
    return InputError(
        f"{name} has more bytes than there is room for in {folder}: {why} after {size(length)}",
        "Room there for the unpacked bytes, since documents are read several times",
        "Set TMPDIR to a folder with more room, or unpack the documents into a folder first",
    )


_read: list[tuple[Any, Held]] = []
"""Standard input as an object, and its content; another one if a caller in this process exchanges it."""


def read_stdin() -> int:
    """Read standard input to its end into a working file; return the number of bytes.

    Raises InputError at a terminal, for the second time, and if there is no room.
    """
    with _LOCK:
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError(
                "Standard input is a terminal",
                "Documents through a pipe or from a file, one JSON object a line",
                "neardup dedup - -o out < documents.jsonl",
            )
        if _read and _read[0][0] is sys.stdin:
            raise InputError(
                "- was given twice", "Standard input once, in one place", "Write the documents to a file first"
            )
        held, reason = spool_stream(sys.stdin.buffer.read, "standard input")
        if reason is not None:
            raise InputError(f"Standard input cannot be read: {reason}", "A pipe or a file")
        _read[:] = [(sys.stdin, held)]
        return held.length


def piped_input() -> Held:
    """Return standard input as it was read. Raises OSError in another process than the one that read it."""
    if not _read:
        raise OSError("it was standard input of another process")
    return _read[0][1]
