"""Working files of a run: unnamed ones, and the journal, which a killed run leaves for the next one."""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import shutil
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, gettempdir
from threading import Lock
from typing import IO, Any, Protocol, Self
from weakref import WeakSet, finalize

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.display import printable, size
from neardup.errors import InputError, OutputError
from neardup.io.place import shown_values
from neardup.io.writers.filesystem import flush_folder, is_private, unwritable_error
from neardup.tables import UInt64s

_BLOCK = 1 << 20

TABLE_ROWS = 1 << 17
"""Rows of a table that are handled together: those of a row group."""

_PLACE: ContextVar[Path | None] = ContextVar("_PLACE", default=None)

_MAPPED: WeakSet[mmap.mmap] = WeakSet()
"""The working files of this process that tables are mapped from."""

_HEAD = struct.Struct("<QH16s")
"""Length of the part, length of its name, digest of both."""
_ABOUT, _LOG = "about.json", "log"

_LONGEST = 50
"""Characters of an output's name in that of its journal; four bytes each, a file name has at most 255."""

_SYNC = 1 << 28
"""The log is flushed to the disk whenever it has grown by this many bytes."""


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
            f"{unwritable_error(gettempdir(), error).given}; {size(8 * length)} are needed",
            "Room there for the shingles of the exact join that exceed its memory",
            "Set TMPDIR to a folder with more room, raise --memory, or choose --method lsh",
        ) from error


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new temporary folder, removed at the end of the block. Raises OutputError if none can be made."""
    try:
        folder = TemporaryDirectory(prefix="neardup-", ignore_cleanup_errors=True)
    except OSError as error:
        raise OutputError(
            unwritable_error(gettempdir(), error).given,
            "A folder for temporary files",
            "Set TMPDIR to a folder that may be written to",
        ) from error
    with folder:
        yield Path(folder.name)


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


@contextmanager
def working_in(folder: Path | None, journal: FinishedParts | None = None) -> Iterator[None]:
    """Make working files in ``folder`` within the block; None: in the system's folder for temporary files.

    The file system of an output is usually the larger one, and never memory. Finished parts of runs within the
    block are kept in the ``journal``.
    """
    before = _PLACE.set(folder), _JOURNAL.set(journal)
    try:
        yield
    finally:
        _PLACE.reset(before[0])
        _JOURNAL.reset(before[1])


def journal_here() -> FinishedParts | None:
    """The journal of the runs in this context."""
    return _JOURNAL.get()


_JOURNAL: ContextVar[FinishedParts | None] = ContextVar("_JOURNAL", default=None)


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
                unwritable_error(f"working files in {self.folder}{wanted}", error).given,
                "Room there for the part of the work that exceeds --memory",
                "Free some space, choose a file system with more room, or raise --memory; no file has changed",
            ) from error


def drop_mapped() -> None:
    """Drop the pages of mapped tables from memory; whoever reads them again, reads the files."""
    for mapped in list(_MAPPED):
        _drop(mapped)


def drop_pages(array: npt.NDArray[Any]) -> None:
    """Drop the pages of an array that a working file is mapped to from memory; others stay as they are."""
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None:
        _drop(base)


def _drop(mapped: mmap.mmap) -> None:
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
        # in a cycle the file may be collected first, and warn that it is open; this runs before
        finalize(self, file.close)

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
        """Read the numbers ``first`` … ``until`` − 1, in memory."""
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

    def mapped_array(self) -> npt.NDArray[Any]:
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
        return file.mapped_array()

    def close(self) -> None:
        """Give the space back."""
        if not self._file.closed:
            self._file.close()
            self._scratch.took(-self._length * self.kind.itemsize)

    def __del__(self) -> None:
        self.close()


class FinishedParts(Protocol):
    """Finished parts of a run by name, and the ``secret`` of its key."""

    secret: bytes

    def get(self, name: str) -> pa.Table | None:
        """The part of this name, None if there is none."""

    def put(self, name: str, table: pa.Table) -> None:
        """Put a finished part."""


class RunJournal:
    """The finished parts of the run that ``about`` describes, by name; used by several threads.

    ``secret`` is that of the run that began the journal, else the given one. Raises InputError if the journal is
    that of another run, and OutputError if it cannot be written.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any], secret: bytes) -> None:
        self.folder, self._lock = folder, Lock()
        self._places: dict[str, tuple[int, int, bytes]] = {}
        try:
            self.secret = self._begin(shown_values(msgspec.to_builtins(dict(about))), secret)
            self._file: IO[bytes] = open(folder / _LOG, "a+b", buffering=0)  # noqa: SIM115
            self._scan()
        except OSError as error:
            raise self._failed_error(error) from error
        self._unflushed = 0

    @classmethod
    def reopen(cls, folder: Path) -> tuple[RunJournal, dict[str, Any]]:
        """Open a journal that exists, and return its run. Raises InputError if there is none."""
        try:
            about = msgspec.json.decode((folder / _ABOUT).read_bytes(), type=_About)
            return cls(folder, about.run, bytes.fromhex(about.secret)), about.run
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise InputError(
                f"There are no finished parts in {printable(str(folder))}", "A folder of neardup passages --scan"
            ) from error

    def _begin(self, about: dict[str, Any], secret: bytes) -> bytes:
        if os.path.lexists(self.folder) and not is_private(self.folder):
            raise self._refused_error("it is not a private folder of this user")
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.folder / _ABOUT
        if not path.exists():
            made = msgspec.json.encode(_About(secret.hex(), about))
            partial = path.with_suffix(".partial")
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(made)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
            flush_folder(self.folder)
            return secret
        try:
            found = msgspec.json.decode(path.read_bytes(), type=_About)
            known = bytes.fromhex(found.secret)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self._refused_error(f"{_ABOUT} cannot be read") from error
        # both are compared as JSON, which knows no tuples
        now = msgspec.json.decode(msgspec.json.encode(about))
        if differences := list(_differences(found.run, now)):
            raise self._refused_error("; ".join(differences))
        return known

    def _scan(self) -> None:
        """Find the parts, and cut off a torn one at the end."""
        end, size = 0, os.fstat(self._file.fileno()).st_size
        while size - end >= _HEAD.size:
            self._file.seek(end)
            length, name_length, digest = _HEAD.unpack(self._file.read(_HEAD.size))
            begin = end + _HEAD.size + name_length
            if begin + length > size:
                break
            name = self._file.read(name_length).decode("utf-8", "replace")
            self._places[name] = (begin, length, digest)
            end = begin + length
        self._file.truncate(end)
        self._end = end

    def __len__(self) -> int:
        return len(self._places)

    def get(self, name: str) -> pa.Table | None:
        """The part of this name, None if there is none or it is damaged."""
        place = self._places.get(name)
        if place is None:
            return None
        begin, length, digest = place
        with self._lock:
            self._file.seek(begin)
            data = bytearray()
            while len(data) < length and (more := self._file.read(length - len(data))):
                data += more
        if _digest(name, data) != digest:
            return None
        return pa.ipc.open_stream(pa.py_buffer(bytes(data))).read_all()

    def put(self, name: str, table: pa.Table) -> None:
        """Put a finished part at the end. Raises OutputError if there is no room."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        data, encoded = memoryview(sink.getvalue()), name.encode()
        head = _HEAD.pack(len(data), len(encoded), _digest(name, data))
        with self._lock:
            try:
                for piece in (memoryview(head + encoded), data):
                    while len(piece):
                        piece = piece[self._file.write(piece) :]
                self._unflushed += len(data)
                if self._unflushed > _SYNC:
                    os.fsync(self._file.fileno())
                    self._unflushed = 0
            except OSError as error:
                raise self._failed_error(error) from error
            begin = self._end + len(head) + len(encoded)
            self._places[name] = (begin, len(data), head[-16:])
            self._end = begin + len(data)

    def close(self) -> None:
        """Close the files; the journal stays."""
        self._file.close()

    def _failed_error(self, error: OSError) -> OutputError:
        return OutputError(
            unwritable_error(f"the finished parts in {self.folder}", error).given,
            "Room there for the fingerprints of all documents",
            "Make room and give the same command again, or leave out --resume",
        )

    def _refused_error(self, why: str) -> InputError:
        return InputError(
            f"The run begun in {self.folder} cannot go on: {printable(why)}",
            "The same inputs, settings and version as when it began",
            "Give the same command as before; or remove that folder to begin anew",
        )


class _About(msgspec.Struct, forbid_unknown_fields=True):
    secret: str
    run: dict[str, Any]


def journal_of(out: Path) -> Path:
    """The folder of the journal of a run that writes ``out``."""
    target = Path(os.path.abspath(os.path.expanduser(out)))
    if len(target.name) <= _LONGEST:
        return target.parent / f".{target.name}.resume"
    # two long names may begin alike
    digest = hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()
    return target.parent / f".{target.name[: _LONGEST // 2]}.{digest}.resume"


def discard(out: Path) -> None:
    """Remove the journal of runs that write ``out``, if there is one of ours."""
    folder = journal_of(out)
    if is_private(folder):
        shutil.rmtree(folder, ignore_errors=True)


def _digest(name: str, data: bytes | bytearray | memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=16, key=hashlib.sha256(name.encode()).digest()).digest()


def _differences(before: Any, now: Any, name: str = "") -> list[str]:
    """Name what differs between two plain values."""
    if isinstance(before, dict) and isinstance(now, dict):
        found = []
        for key in dict.fromkeys((*before, *now)):
            found += _differences(before.get(key), now.get(key), f"{name} {key}".strip())
        return found
    return [] if before == now else [f"{name} was {_value_text(before)} and is {_value_text(now)}"]


def _value_text(value: Any) -> str:
    said = "absent" if value is None else str(value)
    return said if len(said) <= 80 else f"{said[:79]}…"
