"""The file of a collection: created atomically, refused if it is anything else, never overwritten.

A file with two names would have two logs: SQLite locks a file, but finds its log by the name the file was opened
by. So every process that opens a collection locks a byte that represents this name, far beyond the end of the
file, and checks whether another process has locked a different one.

The log beside a file must belong to it: SQLite would apply any log of the right name to any file. Each transaction
writes a record into the file: a random name for the state it creates, and the name of the state before. The first
state in a log follows the state of the file, or, if the log was partly copied into the file, the log contains the
state of the file. For a file that replaced another one, neither is true.

Files of earlier format versions are converted in numbered steps; version 2 is the first that was released.
"""

import os
import re
import sqlite3
import struct
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from errno import ENOENT
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias
from urllib.parse import quote
from uuid import uuid4

from neardup.collection.contract import StoreUnavailableError
from neardup.collection.settings import CollectionSettings
from neardup.collection.store import schema
from neardup.collection.store.failures import damaged_error, not_a_collection_error, translated_errors
from neardup.collection.store.header import header_of, require_current, settings_of
from neardup.collection.store.schema import FORMAT_VERSION, WITH_BASE_TEXTS
from neardup.errors import FormatError, InputError, OutputError

try:
    from fcntl import F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_RDLCK, F_UNLCK, F_WRLCK, fcntl
except ImportError:  # locks of open files exist only on Linux; elsewhere only this process is checked
    HAS_LOCKS = False
else:
    HAS_LOCKS = True

_AREA, _NAMES = 1 << 62, 1 << 32
"""The first byte for names, and their number. SQLite locks bytes from 1 << 30 on."""
_FLOCK = struct.Struct("hhqqi0q")
"""``struct flock``: kind, whence, begin, length, process."""

_READ = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""The flags of a descriptor that reads, which closes with the process and translates nothing."""

_held: "dict[tuple[int, int], OpenFile]" = {}
_guard = threading.Lock()


@dataclass(eq=False)
class OpenFile:
    """An open file. ``alone``: no other process had it open when this one opened it.

    It stays open until the last connection of this process is closed: closing any descriptor of a file releases
    the locks that the process has on it (POSIX), including those of SQLite.
    """

    key: tuple[int, int]
    name: bytes
    descriptors: list[int]
    alone: bool = True
    users: int = field(default=0)

    def read(self, size: int, at: int) -> bytes:
        """Read ``size`` bytes from ``at`` on, fewer at the end of the file."""
        with _guard:
            os.lseek(self.descriptors[0], at, os.SEEK_SET)
            return os.read(self.descriptors[0], size)

    def size(self) -> int:
        """The size of the file in bytes."""
        return os.fstat(self.descriptors[0]).st_size

    def release(self) -> None:
        """Remove one user; the last one closes the file."""
        with _guard:
            self.users -= 1
            if self.users == 0:
                del _held[self.key]
                for descriptor in self.descriptors:
                    os.close(descriptor)


def hold(path: Path) -> OpenFile:
    """Open a file for use under this name. Raises InputError if it is open under another one."""
    try:
        name = _name(path)
        with _guard:
            held = _held_file(path) or _open_held(path, name)
            if held.name != name:
                raise _elsewhere_error(path)
            held.users += 1
            _held[held.key] = held
            return held
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", "A collection file") from error


def _held_file(path: Path) -> OpenFile | None:
    found = os.stat(path)
    return _held.get((found.st_dev, found.st_ino))


def _open_held(path: Path, name: bytes) -> OpenFile:
    descriptor = os.open(path, _READ)
    found = os.fstat(descriptor)
    key = (found.st_dev, found.st_ino)
    if key in _held:  # the file was moved to this path just now
        _held[key].descriptors.append(descriptor)
        return _held[key]
    others = _lock_name(descriptor, name)
    if others is None:
        os.close(descriptor)
        raise _elsewhere_error(path)
    if HAS_LOCKS and not os.path.exists(path):  # remove_untouched was quicker
        os.close(descriptor)
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
    return OpenFile(key, name, [descriptor], alone=not others)


def remove_untouched(path: Path) -> bool:
    """Remove a collection in which nothing was ever stored, and that nobody has open; return whether it is gone.

    Who opens it meanwhile finds the lock of its name taken, or the file gone, and so stores nothing in a file
    without a name.
    """
    try:
        with _guard:
            if not HAS_LOCKS or _held_file(path):
                return False
            descriptor = os.open(path, os.O_RDWR | _READ)
            try:
                byte = _AREA + int.from_bytes(_name(path)[:4], "big")
                fcntl(descriptor, F_OFD_SETLK, _FLOCK.pack(F_WRLCK, os.SEEK_SET, byte, 1, 0))
                if not _is_untouched(descriptor) or os.path.exists(os.path.realpath(path) + "-wal"):
                    return False
                os.unlink(path)
                return True
            finally:
                os.close(descriptor)
    except OSError:  # somebody has it open, or it cannot be removed
        return False


def _is_untouched(descriptor: int) -> bool:
    """Whether the file is in its first state."""
    head = os.read(descriptor, 18)
    size = int.from_bytes(head[16:18], "big")
    os.lseek(descriptor, size * (_RECORD_PAGE - 1), os.SEEK_SET)
    record = _parsed_record(os.read(descriptor, size)) if size else None
    return record is not None and record.before == _NONE.encode()


def _lock_name(descriptor: int, name: bytes) -> bool | None:
    """Lock the byte of a name, and return whether others have locked it, too.

    None if they have locked another one.
    """
    if not HAS_LOCKS:
        return False
    byte = _AREA + int.from_bytes(name[:4], "big")
    try:
        # waits only for remove_untouched, which holds its lock for the time of a few system calls
        fcntl(descriptor, F_OFD_SETLKW, _FLOCK.pack(F_RDLCK, os.SEEK_SET, byte, 1, 0))
        if _is_locked(descriptor, _AREA, byte - _AREA) or _is_locked(
            descriptor, byte + 1, _AREA + _NAMES - byte - 1
        ):
            return None
        return _is_locked(descriptor, byte, 1)
    except OSError:  # a file system without locks; SQLite reports that if it needs them
        return False


def _is_locked(descriptor: int, begin: int, length: int) -> bool:
    """Whether another process, or another descriptor, has locked any byte of the range."""
    if length == 0:
        return False
    asked = _FLOCK.pack(F_WRLCK, os.SEEK_SET, begin, length, 0)
    return bool(_FLOCK.unpack(fcntl(descriptor, F_OFD_GETLK, asked))[0] != F_UNLCK)


def _name(path: Path) -> bytes:
    """A digest of a name: SQLite follows links, and puts the log beside the file that they lead to."""
    real = Path(os.path.realpath(path))
    folder = os.stat(real.parent)
    return blake2b(os.fsencode(f"{folder.st_dev} {folder.st_ino} {real.name}"), digest_size=16).digest()


def _elsewhere_error(path: Path) -> InputError:
    return InputError(
        f"{path} is open under another name",
        "One name at a time: each name has a log of its own, and changes in the other one would be lost",
        "Use that name, or close the file there first",
    )


LOG_KEY = "log"
"""The key of the record in the table ``header``, whose only page is the second one of the file."""
_RECORD_PAGE = 2
_NONE = "-" * 32
_RECORD = re.compile(rb"state ([0-9a-f]{32}) after ([0-9a-f-]{32}) schema ([0-9a-f]{8}) ([0-9a-f]{8})")
_HEADER, _FRAME = 32, 24
_LOG_MAGIC = (0x377F0682, 0x377F0683)
_TRIES = 3
"""Another program may be writing, so a mismatch is read again."""


class Record(NamedTuple):
    """A state, the one before, and the schema cookie that it followed on (``PRAGMA schema_version``)."""

    state: bytes
    before: bytes
    cookie: int


def first_record(cookie: int) -> str:
    """The record of a new file."""
    return _state_record(_NONE, cookie)


@contextmanager
def recorded_state(connection: sqlite3.Connection) -> Iterator[None]:
    """Record a new state if the transaction changes anything within the block."""
    cookie, changes = schema_cookie(connection), connection.total_changes
    yield
    if connection.total_changes != changes and connection.in_transaction:  # SQLite ends it when the disk is full
        advance(connection, cookie)


def advance(connection: sqlite3.Connection, cookie: int) -> None:
    """Record that the transaction creates a new state; ``cookie`` is the schema cookie from before."""
    known = connection.execute("SELECT value FROM header WHERE key = ?", (LOG_KEY,)).fetchone()
    found = _parsed_record(str(known[0]).encode()) if known else None
    before = found.state.decode() if found else _NONE
    connection.execute("INSERT OR REPLACE INTO header VALUES (?, ?)", (LOG_KEY, _state_record(before, cookie)))


def schema_cookie(connection: sqlite3.Connection) -> int:
    """A number that changes with the tables."""
    (cookie,) = connection.execute("PRAGMA schema_version").fetchone()
    return int(cookie)


def require_own_log(file: OpenFile, path: Path) -> None:
    """Raise FormatError if the log beside a file belongs to another file.

    Call it before SQLite applies the log.
    """
    if not file.alone or file.users > 1:  # another user has it open and has checked
        return
    log = Path(os.path.realpath(path) + "-wal")
    for _ in range(_TRIES):
        if _belongs(file, log):
            return
    raise FormatError(
        f"The log {log} does not belong to {path}: it holds changes of another file or of another copy of it",
        "A file with its own log; nothing was changed",
        f"To use the file as it is, move {log.name} and {log.name[:-3]}shm away; "
        "to keep the changes in the log, put the file back that lay beside it",
    )


def _belongs(file: OpenFile, log: Path) -> bool:
    head = file.read(100, 0)
    size = int.from_bytes(head[16:18], "big")
    size = 1 << 16 if size == 1 else size
    logged = _log_records(log, size)
    if logged is None:
        return True
    records, cookies = logged
    own = _parsed_record(file.read(size, size * (_RECORD_PAGE - 1)))
    if own is None:  # made before records existed, or half overwritten when the power failed
        return not records or records[0].before == _NONE.encode() or _has_torn_record(file, size)
    if not records:
        return False
    follows = own.state == records[0].before or any(own.state == record.state for record in records)
    return follows and int.from_bytes(head[40:44], "big") in cookies | {record.cookie for record in records}


def _log_records(log: Path, size: int) -> tuple[list[Record], set[int]] | None:
    """The records of the committed transactions of a log, and its schema cookies; None without committed ones."""
    try:
        with log.open("rb") as file:
            head = file.read(_HEADER)
            if len(head) < _HEADER or int.from_bytes(head[:4], "big") not in _LOG_MAGIC:
                return None  # empty, or ignored by SQLite
            if int.from_bytes(head[8:12], "big") != size:
                return [], set()
            return _committed_records(file, head[16:24], size)
    except FileNotFoundError:
        return None


def _committed_records(file: BinaryIO, salts: bytes, size: int) -> tuple[list[Record], set[int]] | None:
    # read, not mapped into memory: a log shortened meanwhile would end this process
    records: list[Record] = []
    cookies: set[int] = set()
    found: tuple[list[Record], set[int]] | None = None
    while len(head := file.read(_FRAME)) == _FRAME and head[8:16] == salts:  # others: of an earlier use of the log
        number, commit = int.from_bytes(head[:4], "big"), head[4:8] != b"\0\0\0\0"
        if number > _RECORD_PAGE:
            file.seek(size, os.SEEK_CUR)
        else:
            page = file.read(size)
            record = _parsed_record(page) if number == _RECORD_PAGE else None
            records += [record] if record else []
            cookies |= {int.from_bytes(page[40:44], "big")} if number == 1 else set()
        if commit:
            found = list(records), set(cookies)
    return found


def _state_record(before: str, cookie: int) -> str:
    text = f"state {uuid4().hex} after {before} schema {cookie & 0xFFFF_FFFF:08x}"
    return f"{text} {zlib.crc32(text.encode()):08x}"


def _parsed_record(page: bytes) -> Record | None:
    found = _RECORD.search(page)
    if found is None or int(found[4], 16) != zlib.crc32(found[0][: -len(found[4]) - 1]):
        return None
    return Record(found[1], found[2], int(found[3], 16))


def _has_torn_record(file: OpenFile, size: int) -> bool:
    return b"state " in file.read(size, size * (_RECORD_PAGE - 1))


Steps: TypeAlias = Mapping[int, Callable[[sqlite3.Connection], None]]

STEPS: Steps = {}
"""``STEPS[n]`` converts the tables of version n to those of version n + 1."""


_WITH_MORE = f", and {WITH_BASE_TEXTS} if there is boilerplate"


def migrate(
    connection: sqlite3.Connection, where: str, steps: Steps = STEPS, wanted: int = FORMAT_VERSION
) -> None:
    """Convert the tables to the ``wanted`` version, all in one transaction, or leave them unchanged."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        for version in range(found, wanted):
            if version not in steps:
                require_current(found, where, steps, wanted, _WITH_MORE)
            advance(connection, schema_cookie(connection))
            steps[version](connection)
            connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


_PAGE = 8192
"""Bytes of a page.

In a page of half the size, a text of 2 kB would be alone, and a fifth of the file empty (measured).
"""
_MAGIC = b"SQLite format 3\0"

# Measured on a million documents. FULL: changes that add() acknowledged survive a power cut too, for .3 ms a
# commit. More pages between checkpoints make nothing faster, and the requests beside a checkpoint slower.
_PRAGMAS = (
    "synchronous = FULL",
    "wal_autocheckpoint = 1000",
    "journal_size_limit = 134217728",
    "temp_store = MEMORY",
    "secure_delete = ON",
    "trusted_schema = OFF",
)
_MAPPED = 1 << 30


def read_settings(size: int) -> Sequence[str]:
    """Return the settings of a connection that reads a file of ``size`` bytes; a cache is in KiB.

    Its cache is void after each change by another connection, a memory map is not: with a change for every five
    requests, a search takes 3 to 10 % more of the processor without it (measured). But the first access to a page
    of it takes twice as long as ``pread``: the slowest searches among a million documents take 15 % more with it
    (measured). A file of more than 1 GB is not mapped, since most of its pages are seldom read.
    """
    mapped = _MAPPED if size <= _MAPPED else 0
    return (*_PRAGMAS, f"mmap_size = {mapped}", f"cache_size = -{32 << 10}")


WRITING = (*_PRAGMAS, "mmap_size = 8589934592", f"cache_size = -{256 << 10}", "cell_size_check = ON")
"""Those of a connection that writes, so that damage does not spread.

To check the cells of each page takes half the time of reading texts (measured); rows have checksums of their own.
"""


def create_file(path: Path, settings: CollectionSettings) -> None:
    """Create an empty collection under another name next to ``path``, and give it its name at the end.

    If two processes or threads do this at once, one wins and both use its file.
    """
    made = path.with_name(f".{path.name[:80]}.{uuid4().hex}.new")
    try:
        with translated_errors(path, 0):
            connection = sqlite3.connect(_uri(made, "rwc"), uri=True, isolation_level=None)
            try:
                connection.execute(f"PRAGMA page_size = {_PAGE}")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                schema.create(connection)
                header = header_of(settings) | {LOG_KEY: first_record(schema_cookie(connection))}
                connection.executemany("INSERT INTO header VALUES (?, ?)", header.items())
                connection.execute("COMMIT")
            finally:
                connection.close()
        with suppress(FileExistsError):
            os.link(made, path)
    except StoreUnavailableError as error:
        raise OutputError(
            f"No collection can be made at {path}", "A folder that exists and may be written to", "Choose another"
        ) from error
    except OSError as error:
        raise OutputError(f"No collection can be made at {path}: {error.strerror}") from error
    finally:
        made.unlink(missing_ok=True)


State: TypeAlias = tuple[int, int, int, int]


def frozen_state(path: Path) -> State | None:
    """The device, inode, size and time of change of a file that nobody writes to; None if somebody may.

    Nobody does while it has no log. In a folder that may be written to, SQLite makes the log and finds this out.
    """
    real = os.path.realpath(path)
    if os.access(os.path.dirname(real), os.W_OK) or os.path.exists(real + "-wal"):
        return None
    try:
        status = os.stat(real)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def has_changed(path: Path, frozen: State) -> bool:
    """Whether a frozen file has changed; not if another file has its name: the open one stays as it was."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == frozen[:2] and frozen_state(path) != frozen


def connect(
    path: Path, pragmas: Sequence[str], *, readonly: bool, frozen: bool, wait: float
) -> sqlite3.Connection:
    """A connection with ``pragmas``, of ``read_settings`` or ``WRITING``; usable from any thread, one at a time.

    With ``frozen`` it makes no files for its locks beside the collection, and does not notice changes.
    """
    connection = sqlite3.connect(
        _uri(path, ("ro" if readonly else "rw") + "&immutable=1" * frozen),
        uri=True,
        isolation_level=None,
        timeout=wait,
        check_same_thread=False,
    )
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def require_collection(file: OpenFile, path: Path) -> None:
    """Raise FormatError unless the file begins like a collection and has its own log.

    Call it before SQLite opens the file.
    """
    try:
        begin, size = file.read(100, 0), file.size()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", "A collection file") from error
    if not begin.startswith(_MAGIC):
        raise not_a_collection_error(path, "it is empty" if not begin else "it is not an SQLite database")
    if int.from_bytes(begin[68:72], "big") != schema.APPLICATION_ID:
        raise not_a_collection_error(path, "it is the SQLite database of another program")
    page = int.from_bytes(begin[16:18], "big")
    if page == 0 or (size % page and not _has_log(path)):
        # SQLite would read zeros for a missing end; while there is a log, the end may just be being written
        raise damaged_error(path, "its end was cut off")
    require_own_log(file, path)


def checked_settings(connection: sqlite3.Connection, path: Path, *, upgrade: bool) -> CollectionSettings:
    """Return the settings of an opened collection. Raises FormatError for one that this version would misread."""
    if upgrade:
        migrate(connection, str(path))
    foreign = _foreign_objects(connection, path)
    if foreign:
        raise damaged_error(
            path, f"its tables are not those of a collection ({', '.join(map(repr, foreign[:3]))})"
        )
    header = dict(connection.execute("SELECT key, value FROM header"))
    header.pop(LOG_KEY, None)  # it changes all the time, and has a checksum of its own
    return settings_of(header, path)


def _foreign_objects(connection: sqlite3.Connection, path: Path) -> list[str]:
    connection.execute("BEGIN")  # one state: another process may be adding the first base text
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != schema.WITH_BASE_TEXTS:
            require_current(version, str(path), STEPS, FORMAT_VERSION, _WITH_MORE)
        return schema.foreign_objects(connection)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
