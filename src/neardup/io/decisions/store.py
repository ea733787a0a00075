"""The decisions of a review, stored with their history in an SQLite file beside the tables of a result.

Anyone may have made or changed the file. Its tables must be exactly those that this program writes.
"""

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from neardup.errors import FormatError, InputError, NeardupError, OutputError
from neardup.io.decisions.log import TABLES, DecisionLog, require_name, require_sentence, rows_of
from neardup.io.decisions.records import NO_DECISIONS, Action, Change, DecisionState
from neardup.io.writers.filesystem import common_access
from neardup.io.writers.output import own_version
from neardup.tables import DECISIONS_FILE

WAIT = 10.0
"""Seconds to wait for another process that writes."""

_APPLICATION, _VERSION = 0x6E644443, 3
_MAGIC = b"SQLite format 3\0"
_PRIMARY = 0xFF  # the low byte of an extended error code
_ABOUT = {"about": "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"}

# A rollback journal needs no other file to read: a result on a disc or in an archive can be reviewed.
_PRAGMAS = ("journal_mode = DELETE", "synchronous = FULL", "cell_size_check = ON", "trusted_schema = OFF")


class DecisionStore:
    """The decisions about the documents of a result folder, and the actions that made them.

    The file ``decisions.sqlite`` appears in ``folder`` with the first action. Threads and processes may use it at
    once. With ``read_only`` nothing is ever written. Raises InputError if there is no such folder; all
    methods raise FormatError for a foreign or damaged file, and OutputError if it cannot be written.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self._path, self._read_only = Path(folder) / DECISIONS_FILE, read_only
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._log = DecisionLog(self._run, partial(_damaged_error, self._path))
        self._state = NO_DECISIONS
        if not self._path.parent.is_dir():
            raise InputError(f"There is no folder {self._path.parent}", "The folder of a result")
        with self._lock:
            self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self._state = None, NO_DECISIONS

    def act(self, changes: Sequence[Change], *, by: str, what: str, seen: int | None = None) -> Action:
        """Store the decisions of a person, all or none, and return the action.

        ``what`` describes it in a sentence. ``seen`` is the number of the last action that the person saw. Raises
        ChangedMeanwhileError if a later action decided about the same pair, document, group or tag and is not
        undone; InputError for impossible changes, and for none; SecondReviewError for verdicts and notes on pairs
        that wait for the second verdict of this person.
        """
        by, what = require_name(by), require_sentence(what)
        if not rows_of(changes):  # before the file is made
            raise InputError("There is nothing to decide: no document is concerned", "At least one decision")
        with self._write_transaction():
            return self._log.act(changes, by=by, what=what, seen=seen)

    def undo(self, *, by: str, action: int | None = None) -> Action | None:
        """Restore the state before an action, and return the action that does so.

        Without ``action`` it is the last one of ``by`` that is not undone; None if there is none. Undoing an undo
        restores its decisions. Raises ChangedMeanwhileError if a later action decided about the same again,
        InputError for an action that does not exist or is undone already, and SecondReviewError for one with
        verdicts on pairs that wait for the second verdict of this person.
        """
        by = require_name(by)
        if self._open() is None and action is None:
            return None
        with self._write_transaction():
            return self._log.undo(by=by, action=action)

    def state(self) -> DecisionState:
        """Return all decisions that hold; after the first call only changed ones are read."""
        with self._snapshot() as is_there:
            if not is_there:
                return NO_DECISIONS
            self._state = self._log.state(self._state)
            return self._state

    def state_after(self, action: int) -> DecisionState:
        """Return the decisions that held after an action, or that hold now if there is no later one."""
        with self._snapshot() as is_there:
            return self._log.state_after(action) if is_there else NO_DECISIONS

    def history(self, before: int | None = None, limit: int = 50) -> tuple[Action, ...]:
        """Return at most ``limit`` actions with numbers below ``before``, the latest first."""
        with self._snapshot() as is_there:
            return self._log.history(before, limit) if is_there else ()

    def draws(self) -> tuple[Action, ...]:
        """Return the actions that handed pairs out for a second verdict and are not undone, the latest first."""
        with self._snapshot() as is_there:
            return self._log.draws() if is_there else ()

    def _run(self, statement: str, *parameters: Any) -> list[Any]:
        assert self._connection is not None
        return self._connection.execute(statement, parameters).fetchall()

    def _open(self) -> sqlite3.Connection | None:
        """Return the connection, opened when the file has appeared."""
        with self._lock:
            if self._connection is None:
                self._connection = _connect(self._path, read_only=self._read_only)
            return self._connection

    @contextmanager
    def _snapshot(self) -> Iterator[bool]:
        """One state of the file for all statements of the block; False while there is no file."""
        with self._lock, _translated_errors(self._path):
            if self._open() is None:
                yield False
            else:
                with self._transaction("BEGIN", "ROLLBACK"):
                    yield True

    @contextmanager
    def _write_transaction(self) -> Iterator[None]:
        if self._read_only:
            raise OutputError(
                f"The decisions in {self._path.parent} were opened to read only", "A store that may be written"
            )
        with self._lock, _translated_errors(self._path):
            if self._open() is None:
                _make(self._path)
                self._open()
            with self._transaction("BEGIN IMMEDIATE", "COMMIT"):
                yield

    @contextmanager
    def _transaction(self, begin: str, end: str) -> Iterator[None]:
        connection = self._connection
        assert connection is not None
        connection.execute(begin)
        try:
            yield
            connection.execute(end)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _connect(path: Path, *, read_only: bool) -> sqlite3.Connection | None:
    """Open the file and check it; None if there is none, or if it is empty.

    Raises FormatError for a foreign or damaged file, InputError for one that cannot be read.
    """
    if not _has_content(path):
        return None
    mode = "ro" if read_only else "rw"
    with _translated_errors(path):
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


def _make(path: Path) -> None:
    """Make an empty file of decisions, as private as the folder; does nothing if another process is faster.

    Raises OutputError if the folder cannot be written to.
    """
    access = common_access([path.parent, *path.parent.glob("run.json")])
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        os.close(os.open(path, flags, access))
    except OSError as error:
        raise _not_writable_error(path, error.strerror or str(error)) from error
    with _translated_errors(path):
        connection = sqlite3.connect(path, isolation_level=None, timeout=WAIT)
        try:
            connection.execute("BEGIN IMMEDIATE")
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_VERSION}")
                for statement in (_ABOUT | TABLES).values():
                    connection.execute(statement)
                connection.execute("INSERT INTO about VALUES ('neardup_version', ?)", (own_version(),))
            connection.execute("COMMIT")
        finally:
            connection.close()


@contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    """Translate SQLite errors within the block into errors about the decisions in ``path``."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated_error(error, path) from error
    except UnicodeDecodeError as error:
        raise _damaged_error(path, "it contains bytes that are not UTF-8") from error


def _damaged_error(path: Path, why: str) -> FormatError:
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
            raise _damaged_error(path, "it is not a regular file")
        if not found.st_size:
            return False
        with path.open("rb") as file:
            begin = file.read(100)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", "A file that may be read") from error
    if not begin.startswith(_MAGIC):
        raise _damaged_error(path, "it is not an SQLite database, or its first bytes are damaged")
    if int.from_bytes(begin[68:72], "big") not in (0, _APPLICATION):
        raise _damaged_error(path, "it is the SQLite database of another program")
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
    if application != _APPLICATION or found != _ABOUT | TABLES:
        raise _damaged_error(path, "its tables are those of another program")
    state = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if state != "ok":
        raise _damaged_error(path, f"it is damaged ({state.partition(chr(10))[0]})")


def _translated_error(error: sqlite3.Error, path: Path) -> NeardupError:
    match (getattr(error, "sqlite_errorcode", None) or 0) & _PRIMARY:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return OutputError(
                f"{path} has been locked by another process for more than {WAIT:g} seconds",
                "One writer at a time",
                "Try again",
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return _not_writable_error(path, str(error))
        case sqlite3.SQLITE_FULL:
            return OutputError(f"There is no space left to write to {path}", "", "Make room. Nothing was stored")
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return _damaged_error(path, f"it is damaged ({error})")
    return OutputError(f"{path} could not be read or written: {error}", "", "Check the disk. Nothing was stored")


def _not_writable_error(path: Path, why: str) -> OutputError:
    return OutputError(
        f"Decisions cannot be stored in {path.parent}: {why}",
        "A result folder that may be written to",
        "Change its permissions, or copy the folder to a disk that can be written to",
    )
