"""Disk space for arrays larger than a run's memory limit: unnamed files, which end with the process."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from threading import Lock
from typing import IO, Any, Self
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.display import size
from neardup.errors import OutputError
from neardup.io.writers.journal import RunJournal
from neardup.tables import UInt64s

_BLOCK = 1 << 20

TABLE_ROWS = 1 << 17
"""Rows of a table that are handled together: those of a row group."""


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

    def table(self) -> FiledTable:
        """A table that grows in a working file."""
        return FiledTable(self)

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


_MAPPED: WeakSet[mmap.mmap] = WeakSet()
"""The working files of this process that tables are mapped from."""


def drop_mapped() -> None:
    """Drop the pages of mapped tables from memory; whoever reads them again, reads the files."""
    for mapped in list(_MAPPED):
        if hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)


class FiledTable:
    """A table written batch by batch into an unnamed file, as a context manager; then ``table`` maps it."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        with scratch.failing_in_words(0):
            self._file = TemporaryFile(prefix="neardup-", dir=scratch.folder)  # noqa: SIM115
        self._writer: pa.RecordBatchStreamWriter | None = None
        self.table = pa.table({})

    def __enter__(self) -> Self:
        return self

    def add(self, table: pa.Table) -> None:
        """Write the next rows, in batches of at most TABLE_ROWS. Raises OutputError if there is no room."""
        before = self._file.tell()
        with self._scratch.failing_in_words(table.nbytes):
            if self._writer is None:
                self._writer = pa.ipc.new_stream(self._file, table.schema)
            self._writer.write_table(table.combine_chunks(), max_chunksize=TABLE_ROWS)
        self._scratch.took(self._file.tell() - before)

    def __exit__(self, *_: object) -> None:
        with self._file as file, self._scratch.failing_in_words(0):
            if self._writer is not None:
                self._writer.close()
                file.flush()
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # outlives the file
                _MAPPED.add(mapped)
                self.table = pa.ipc.open_stream(pa.py_buffer(mapped)).read_all()


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

    def mapped(self) -> npt.NDArray[Any]:
        """All numbers as an array that the system reads when it is used, and may drop from memory again."""
        if not self._length:
            return np.empty(0, self.kind)
        with self._scratch.failing_in_words(0):
            return np.asarray(np.memmap(self._file, self.kind, "r+", shape=self._length))

    def alike(self, length: int) -> npt.NDArray[Any]:
        """An array of this many numbers, mapped from a new file beside it. Raises OutputError without room."""
        file = self._scratch.numbers(self.kind)
        with self._scratch.failing_in_words(length * self.kind.itemsize):
            _take_room(file._file, length * self.kind.itemsize)
        file._length = length
        self._scratch.took(length * self.kind.itemsize)
        return file.mapped()

    def close(self) -> None:
        """Give the space back."""
        if not self._file.closed:
            self._file.close()
            self._scratch.took(-self._length * self.kind.itemsize)

    def __del__(self) -> None:
        self.close()
