"""Disk space for arrays larger than a run's memory limit: unnamed files, which end with the process."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from threading import Lock
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from neardup.display import size
from neardup.errors import OutputError
from neardup.io.writers.journal import RunJournal
from neardup.tables import UInt64s

_BLOCK = 1 << 20


def scratch_array(length: int) -> UInt64s:
    """Return a uint64[length] array in an unnamed file, which disappears with the array.

    The file is in the system's folder for temporary files. Its space is allocated at once, since a kernel could
    not report a full disk. Raises OutputError when there is not enough.
    """
    if length == 0:
        return np.empty(0, np.uint64)
    try:
        with TemporaryFile(prefix="neardup-") as file:
            _take_room(file, 8 * length)
            return np.asarray(np.memmap(file, np.uint64, "r+", shape=length))
    except OSError as error:
        if error.errno == errno.ENOMEM:  # the file has its space, but this process may not map all of it
            raise MemoryError(f"{size(8 * length)} of a temporary file cannot be mapped") from error
        raise OutputError(
            f"There is no room for {size(8 * length)} in {gettempdir()}: {error.strerror}",
            "Room there for the shingles of the exact join that exceed its memory",
            "Set TMPDIR to a folder with more room, raise --memory, or choose --method lsh",
        ) from error


def _take_room(file: IO[bytes], size: int) -> None:
    """Set the size of the file and allocate disk space for all of it."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, size)
            return
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                raise
    # macOS, Windows, and file systems without preallocation: writing zeros allocates the space
    zeros = bytes(min(size, _BLOCK))
    for begin in range(0, size, _BLOCK):
        file.write(zeros[: size - begin])
    file.flush()


_PLACE: ContextVar[Path | None] = ContextVar("_PLACE", default=None)


_JOURNAL: ContextVar[RunJournal | None] = ContextVar("_JOURNAL", default=None)


@contextmanager
def working_in(folder: Path, journal: RunJournal | None = None) -> Iterator[None]:
    """Make working files in ``folder`` within the block, instead of the system's folder for temporary files.

    The file system of an output is usually the larger one, and never memory. Finished parts of runs within the
    block are kept in the ``journal``.
    """
    before = _PLACE.set(folder), _JOURNAL.set(journal)
    try:
        yield
    finally:
        _PLACE.reset(before[0])
        _JOURNAL.reset(before[1])


def journal_here() -> RunJournal | None:
    """The journal of the runs in this context."""
    return _JOURNAL.get()


class Scratch:
    """Room on disk for the working files of a run: unnamed files in ``folder`` (default: see ``working_in``).

    They disappear with their last user, at the latest when the process ends, however it ends. ``most`` is the
    largest number of bytes that they took so far.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or _PLACE.get() or Path(gettempdir())
        self.most = self._used = 0
        self._lock = Lock()

    def numbers(self, kind: npt.DTypeLike = np.uint64) -> NumberFile:
        """An empty file of numbers. Raises OutputError if the folder cannot be written into."""
        with self.failing_in_words(0):
            return NumberFile(TemporaryFile(prefix="neardup-", dir=self.folder, buffering=0), np.dtype(kind), self)

    def took(self, size: int) -> None:
        """Note that the files have grown by ``size`` bytes (negative: shrunk)."""
        with self._lock:
            self._used += size
            self.most = max(self.most, self._used)

    @contextmanager
    def failing_in_words(self, size_: int) -> Iterator[None]:
        """Turn an OSError within the block, while ``size_`` bytes are written, into an OutputError."""
        try:
            yield
        except OSError as error:
            wanted = f" ({size(size_)} after {size(self._used)})" if size_ else ""
            raise OutputError(
                f"Cannot write working files in {self.folder}{wanted}: {error.strerror or error}",
                "Room there for the part of the work that exceeds --memory",
                "Free some space, choose a file system with more room, or raise --memory; no file has changed",
            ) from error


class NumberFile:
    """A growing array in an unnamed file; appended to by one thread, read by any number."""

    def __init__(self, file: IO[bytes], kind: np.dtype[Any], scratch: Scratch) -> None:
        self._file, self.kind, self._scratch = file, kind, scratch
        self._length, self._lock = 0, Lock()

    def __len__(self) -> int:
        return self._length

    def append(self, numbers: npt.NDArray[Any]) -> None:
        """Write ``numbers`` behind those written before. Raises OutputError if there is no room."""
        data = memoryview(np.ascontiguousarray(numbers, self.kind).view(np.uint8).data)
        with self._lock, self._scratch.failing_in_words(len(data)):
            self._file.seek(self._length * self.kind.itemsize)
            written = 0
            while written < len(data):
                written += self._file.write(data[written:])
            self._length += len(numbers)
        self._scratch.took(len(data))

    def read(self, first: int = 0, until: int | None = None) -> npt.NDArray[Any]:
        """The numbers ``first`` … ``until`` − 1, in memory."""
        found = np.empty((self._length if until is None else until) - first, self.kind)
        if len(found):
            self.read_into(found, first)
        return found

    def read_into(self, found: npt.NDArray[Any], first: int) -> None:
        """Fill ``found`` with the numbers from ``first`` on."""
        view, at = memoryview(found.view(np.uint8).data), 0
        with self._lock, self._scratch.failing_in_words(0):
            self._file.seek(first * self.kind.itemsize)
            while at < len(view):
                got = self._file.readinto(view[at:])  # type: ignore[attr-defined]
                if not got:
                    raise OSError(errno.EIO, "a working file is shorter than it was")
                at += got

    def close(self) -> None:
        """Give the space back."""
        if not self._file.closed:
            self._file.close()
            self._scratch.took(-self._length * self.kind.itemsize)

    def __del__(self) -> None:
        self.close()
