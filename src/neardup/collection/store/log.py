"""Check that the log beside a file belongs to it: SQLite would apply any log of the right name to any file.

Each transaction writes a record into the file: a random name for the state it creates, and the name of the state
before. The first state in a log follows the state of the file, or, if the log was partly copied into the file, the
log contains the state of the file. For a file that replaced another one, neither is true.
"""

from __future__ import annotations

import os
import re
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple
from uuid import uuid4

from neardup.collection.store.holding import OpenFile
from neardup.errors import FormatError

KEY = "log"
"""The key of the record in the table ``header``, whose only page is the second one of the file."""
_PAGE = 2
_NONE = "-" * 32
_RECORD = re.compile(rb"state ([0-9a-f]{32}) after ([0-9a-f-]{32}) schema ([0-9a-f]{8}) ([0-9a-f]{8})")
_HEADER, _FRAME = 32, 24
_MAGIC = (0x377F0682, 0x377F0683)
_TRIES = 3
"""Another program may be writing, so a mismatch is read again."""


class Record(NamedTuple):
    """A state, the one before, and the schema cookie that it followed on (``PRAGMA schema_version``)."""

    state: bytes
    before: bytes
    cookie: int


def first_record(cookie: int) -> str:
    """The record of a new file."""
    return _written(_NONE, cookie)


@contextmanager
def recorded(connection: sqlite3.Connection) -> Iterator[None]:
    """Record a new state if the transaction changes anything within the block."""
    cookie, changes = schema_cookie(connection), connection.total_changes
    yield
    if connection.total_changes != changes and connection.in_transaction:  # SQLite ends it when the disk is full
        advance(connection, cookie)


def advance(connection: sqlite3.Connection, cookie: int) -> None:
    """Record that the transaction creates a new state; ``cookie`` is the schema cookie from before."""
    known = connection.execute("SELECT value FROM header WHERE key = ?", (KEY,)).fetchone()
    found = _parsed(str(known[0]).encode()) if known else None
    before = found.state.decode() if found else _NONE
    connection.execute("INSERT OR REPLACE INTO header VALUES (?, ?)", (KEY, _written(before, cookie)))


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
    logged = _logged(log, size)
    if logged is None:
        return True
    records, cookies = logged
    own = _parsed(file.read(size, size * (_PAGE - 1)))
    if own is None:  # made before records existed, or half overwritten when the power failed
        return not records or records[0].before == _NONE.encode() or _has_torn_record(file, size)
    if not records:
        return False
    follows = own.state == records[0].before or any(own.state == record.state for record in records)
    return follows and int.from_bytes(head[40:44], "big") in cookies | {record.cookie for record in records}


def _logged(log: Path, size: int) -> tuple[list[Record], set[int]] | None:
    """The records of the committed transactions of a log, and its schema cookies; None without committed ones."""
    try:
        with log.open("rb") as file:
            head = file.read(_HEADER)
            if len(head) < _HEADER or int.from_bytes(head[:4], "big") not in _MAGIC:
                return None  # empty, or ignored by SQLite
            if int.from_bytes(head[8:12], "big") != size:
                return [], set()
            return _committed(file, head[16:24], size)
    except FileNotFoundError:
        return None


def _committed(file: BinaryIO, salts: bytes, size: int) -> tuple[list[Record], set[int]] | None:
    # read, not mapped into memory: a log shortened meanwhile would end this process
    records: list[Record] = []
    cookies: set[int] = set()
    found: tuple[list[Record], set[int]] | None = None
    while len(head := file.read(_FRAME)) == _FRAME and head[8:16] == salts:  # others: of an earlier use of the log
        number, commit = int.from_bytes(head[:4], "big"), head[4:8] != b"\0\0\0\0"
        if number > _PAGE:
            file.seek(size, os.SEEK_CUR)
        else:
            page = file.read(size)
            record = _parsed(page) if number == _PAGE else None
            records += [record] if record else []
            cookies |= {int.from_bytes(page[40:44], "big")} if number == 1 else set()
        if commit:
            found = list(records), set(cookies)
    return found


def _written(before: str, cookie: int) -> str:
    text = f"state {uuid4().hex} after {before} schema {cookie & 0xFFFF_FFFF:08x}"
    return f"{text} {zlib.crc32(text.encode()):08x}"


def _parsed(page: bytes) -> Record | None:
    found = _RECORD.search(page)
    if found is None or int(found[4], 16) != zlib.crc32(found[0][: -len(found[4]) - 1]):
        return None
    return Record(found[1], found[2], int(found[3], 16))


def _has_torn_record(file: OpenFile, size: int) -> bool:
    return b"state " in file.read(size, size * (_PAGE - 1))


__all__ = ["KEY", "advance", "first_record", "recorded", "require_own_log", "schema_cookie"]
