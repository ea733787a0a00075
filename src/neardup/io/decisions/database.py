"""The SQLite file of decisions: made, opened and checked, with its failures in words.

Anyone may have made or changed the file. Its tables must be exactly those that this program writes, and the
readers of its rows check every value.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from neardup.errors import FormatError, InputError, NeardupError, OutputError
from neardup.io.writers.access import common_access
from neardup.io.writers.stamp import own_version

WAIT = 10.0
"""Seconds to wait for another process that writes."""

_APPLICATION, _VERSION = 0x6E644443, 2
_MAGIC = b"SQLite format 3\0"
_PRIMARY = 0xFF  # the low byte of an extended error code

_TABLES = {
    "about": "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # the actions, in their order; ``undone_by`` is set while an action is undone
    "actions": "CREATE TABLE actions (number INTEGER PRIMARY KEY, at TEXT NOT NULL, by TEXT NOT NULL, "
    "what TEXT NOT NULL, changes INTEGER NOT NULL, undoes INTEGER, undone_by INTEGER)",
    # a decision is known by its kind and one or two ids; ``after`` is the action whose value holds from then on
    "changes": "CREATE TABLE changes (action INTEGER NOT NULL, kind TEXT NOT NULL, a NOT NULL, b NOT NULL, value, "
    "note TEXT NOT NULL, before INTEGER, after INTEGER, PRIMARY KEY (action, kind, a, b)) WITHOUT ROWID",
    # the action whose value holds now
    "current": "CREATE TABLE current (kind TEXT NOT NULL, a NOT NULL, b NOT NULL, version INTEGER NOT NULL, "
    "PRIMARY KEY (kind, a, b)) WITHOUT ROWID",
}

# A rollback journal needs no other file to read: a result on a disc or in an archive can be reviewed.
_PRAGMAS = ("journal_mode = DELETE", "synchronous = FULL", "cell_size_check = ON", "trusted_schema = OFF")


def connected(path: Path, *, read_only: bool) -> sqlite3.Connection | None:
    """Open the file and check it; None if there is none, or if it is empty.

    Raises FormatError for a foreign or damaged file, InputError for one that cannot be read.
    """
    if not _has_content(path):
        return None
    mode = "ro" if read_only else "rw"
    with explained(path):
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode={mode}",
            uri=True,
            isolation_level=None,
            timeout=WAIT,
            check_same_thread=False,
        )
        try:
            for pragma in _PRAGMAS[1:] if read_only else _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            _check(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def make(path: Path) -> None:
    """Make an empty file of decisions, as private as the folder; does nothing if another process is faster.

    Raises OutputError if the folder cannot be written to.
    """
    access = common_access([path.parent, *path.parent.glob("run.json")])
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        os.close(os.open(path, flags, access))
    except OSError as error:
        raise _not_writable(path, error.strerror or str(error)) from error
    with explained(path):
        connection = sqlite3.connect(path, isolation_level=None, timeout=WAIT)
        try:
            connection.execute("BEGIN IMMEDIATE")
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_VERSION}")
                for statement in _TABLES.values():
                    connection.execute(statement)
                connection.execute("INSERT INTO about VALUES ('neardup_version', ?)", (own_version(),))
            connection.execute("COMMIT")
        finally:
            connection.close()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Translate SQLite errors within the block into errors about the decisions in ``path``."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(error, path) from error
    except UnicodeDecodeError as error:
        raise damaged(path, "it contains bytes that are not UTF-8") from error


def damaged(path: Path, why: str) -> FormatError:
    """Return the error for a file with an unusable part."""
    return FormatError(
        f"{path} cannot be used: {why}",
        "The decisions as neardup has written them",
        "Restore the file from a copy, or move it away to begin without decisions",
    )


def _has_content(path: Path) -> bool:
    """Whether there is a file with content. Raises FormatError unless it is a regular SQLite file."""
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise damaged(path, "it is not a regular file")
        if not found.st_size:
            return False
        with path.open("rb") as file:
            begin = file.read(100)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", "A file that may be read") from error
    if not begin.startswith(_MAGIC):
        raise damaged(path, "it is not an SQLite database, or its first bytes are damaged")
    if int.from_bytes(begin[68:72], "big") not in (0, _APPLICATION):
        raise damaged(path, "it is the SQLite database of another program")
    return True


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise FormatError unless the file has exactly the tables of this program, undamaged."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    if application == _APPLICATION and version != _VERSION:
        raise FormatError(
            f"{path} has version {version}",
            f"This program reads version {_VERSION}",
            "Use the program that wrote it",
        )
    if application != _APPLICATION or found != _TABLES:
        raise damaged(path, "its tables are those of another program")
    state = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if state != "ok":
        raise damaged(path, f"it is damaged ({state.partition(chr(10))[0]})")


def _translated(error: sqlite3.Error, path: Path) -> NeardupError:
    match (getattr(error, "sqlite_errorcode", None) or 0) & _PRIMARY:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return OutputError(
                f"{path} has been locked by another process for more than {WAIT:g} seconds",
                "One writer at a time",
                "Try again",
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return _not_writable(path, str(error))
        case sqlite3.SQLITE_FULL:
            return OutputError(f"There is no space left to write to {path}", "", "Make room. Nothing was stored")
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return damaged(path, f"it is damaged ({error})")
    return OutputError(f"{path} could not be read or written: {error}", "", "Check the disk. Nothing was stored")


def _not_writable(path: Path, why: str) -> OutputError:
    return OutputError(
        f"Decisions cannot be stored in {path.parent}: {why}",
        "A result folder that may be written to",
        "Change its permissions, or copy the folder to a disk that can be written to",
    )
