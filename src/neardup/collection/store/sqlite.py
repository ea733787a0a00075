"""The store in one SQLite file: connections, transactions, and operations on the file as a whole."""

import os
import shutil
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import uniform
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

from neardup.collection.contract import StoreUnavailableError
from neardup.collection.settings import CollectionSettings, GivenSettings
from neardup.collection.store import file
from neardup.collection.store.failures import busy_error, explained_error, is_busy, translated_errors, well_formed
from neardup.collection.store.segments import SegmentWriting
from neardup.collection.store.sqlite_tables import SqliteLookups, SqliteTables
from neardup.errors import FormatError, InputError, OutputError
from neardup.runtime import UNLIMITED, Deadline

_PAGES = 4096
"""Pages copied between two moments at which this thread can be interrupted: 32 MB."""


def back_up(source: sqlite3.Connection, origin: Path, target: Path) -> None:
    """Copy the state that ``source`` sees within its transaction to ``target``.

    The copy has the permissions of ``origin``; it is complete under its name, or absent. Raises OutputError, also
    if ``target`` exists.
    """
    if target.exists() or target.is_symlink():
        raise _exists_error(target)
    made = target.with_name(f".{target.name[:80]}.{uuid4().hex}.new")
    try:
        with made.open("xb"):
            shutil.copymode(origin, made)
        # the state is that of the open transaction of the source: SQLite does not begin again when others write
        with translated_errors(origin, 0), closing(sqlite3.connect(made, isolation_level=None)) as copy:
            copy.execute("PRAGMA synchronous = FULL")
            source.backup(copy, pages=_PAGES)
        _flush(made)
        os.link(made, target)
        _flush(target.parent)
    except FileExistsError:
        raise _exists_error(target) from None
    except OSError as error:
        raise OutputError(
            f"The copy {target} cannot be made: {error.strerror}",
            "A new file in a folder that may be written, on a disk with room",
            "Choose another name",
        ) from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                made.with_name(made.name + suffix).unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Write a file, or the entries of a folder, to the disk."""
    if path.is_dir() and os.name == "nt":  # Windows has no descriptors of folders
        return
    descriptor = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exists_error(target: Path) -> OutputError:
    return OutputError(
        f"{target} exists already", "The name of a new file", "Choose another name, or remove it yourself"
    )


_STEPS = 10_000
"""Steps of SQLite's machine between two checks of the time limit: less than a millisecond."""


_PAUSE = 0.0005, 0.003
"""Seconds between two attempts to begin a transaction, drawn at random: less than a small transaction takes."""


class SqliteStore(SqliteLookups):
    """The store in an SQLite file, with a connection for each thread that reads; see ``Store``."""

    pause = 0.02  # several attempts of each

    def __init__(
        self,
        path: Path,
        given: GivenSettings,
        *,
        readonly: bool = False,
        upgrade: bool = False,
        wait: float = 10.0,
    ) -> None:
        super().__init__(path, readonly=readonly, wait=wait)
        self._path = path
        self._connections: list[sqlite3.Connection] = []
        self._connections_lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        if not path.exists():
            self._create(given)
        held = file.hold(path)
        self._reading = file.read_settings(held.size())
        self._let_go = weakref.finalize(self, held.release)  # also for a store that was never closed
        try:
            file.require_collection(held, path)
            with translated_errors(path, wait), well_formed(path):
                self.settings = file.checked_settings(self._connection(), path, upgrade=upgrade)
            self.settings.require(given, str(path))
        except BaseException:
            self.close()
            raise

    def _create(self, given: GivenSettings) -> None:
        if self.readonly:
            raise InputError(
                f"There is no collection {self._place}",
                "A file of neardup collection add or neardup.Collection",
            )
        file.create_file(self._path, CollectionSettings.new(given))

    @contextmanager
    def _transaction(self) -> Iterator[SqliteTables]:
        with self._exclusive() as connection, translated_errors(self._place, self._wait):
            self._begin(connection)
            try:
                self._local.writer = connection
                with file.recorded_state(connection):
                    yield SqliteTables(connection)
                connection.execute("COMMIT")
            finally:
                self._local.writer = None
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Begin a transaction as soon as no other process writes.

        SQLite would wait the longer between two attempts the longer it has waited, so that those who come later
        get in first; with the same short pauses for all, every waiting process has the same chance.
        """
        end = monotonic() + self._wait
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    connection.execute("BEGIN IMMEDIATE")
                    return
                except sqlite3.OperationalError as error:
                    left = end - monotonic()
                    if not is_busy(error) or left <= 0:
                        raise
                    sleep(min(uniform(*_PAUSE), left))
        finally:
            connection.execute(f"PRAGMA busy_timeout = {round(1000 * self._wait)}")

    @contextmanager
    def _part(self) -> Iterator[SqliteTables]:
        connection: sqlite3.Connection = self._local.writer
        with translated_errors(self._place, self._wait):
            if not connection.in_transaction:  # SQLite ends it when the disk is full; a savepoint would begin one
                raise OutputError("The transaction was undone. Nothing of this batch was stored")
            connection.execute("SAVEPOINT part")
            try:
                yield SqliteTables(connection)
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK TO part")
                raise
            finally:
                if connection.in_transaction:
                    connection.execute("RELEASE part")

    @contextmanager
    def reading(self, deadline: Deadline = UNLIMITED) -> Iterator[None]:
        """See ``Store``; the deadline interrupts a statement."""
        connection = self._connection()
        if connection.in_transaction:  # within another such block, or within a transaction
            self._flush()  # now, because an interrupt would undo the transaction
            with _stop_at_deadline(connection, deadline):
                yield
            return
        try:
            with translated_errors(self._place, self._wait):
                connection.execute("BEGIN")
                try:
                    # the first look-up fixes the state, not BEGIN
                    connection.execute("SELECT change FROM totals").fetchone()
                    with _stop_at_deadline(connection, deadline):
                        yield
                finally:
                    if connection.in_transaction:
                        connection.execute("COMMIT")
        except FormatError:
            # SQLite 3.53 keeps a damaged list of segments for the connection when the file is restored
            self._local.reader = None
            raise

    def faults(self) -> list[str]:
        """The faults of the store itself, as sentences; empty if there are none."""
        try:
            # SQLite 3.53 checks the segments that this connection knows: a search makes it read their list
            self._all("SELECT rowid FROM terms WHERE terms MATCH 'a' LIMIT 1")
            found = [text for (text,) in self._all("PRAGMA integrity_check(20)") if text != "ok"]
            found += self._segments().faults()
        except FormatError as error:
            return [error.given]
        if found or self.readonly:
            return found
        with self._exclusive() as connection:
            try:
                with translated_errors(self._place, self._wait):
                    connection.execute("INSERT INTO terms (terms) VALUES ('integrity-check')")
            except FormatError as error:
                return [f"full-text index: {error.given}"]
            except OutputError:
                if os.access(self._path, os.W_OK):  # else the file is not writable at all
                    raise
        return []

    def backup(self, path: Path) -> None:
        """Copy the present state into a new file, whatever is written meanwhile; OutputError if that fails."""
        if self._is_writing():
            raise OutputError("A transaction is under way in this thread", "A backup after it", "End it first")
        with self.reading():
            back_up(self._connection(), self._path, path)

    def compact(self) -> None:
        """Rewrite everything, so that the file contains neither removed documents nor free space."""
        with self._transaction() as tables:
            SegmentWriting(tables, self._place).merge_all()
            tables.settle(grown=True)
            tables.run("DELETE FROM keys WHERE number NOT IN (SELECT key FROM facts)")
        with self._exclusive() as connection, translated_errors(self._place, self._wait):
            connection.execute("VACUUM")
            (blocked, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if blocked:
                raise busy_error(self._place, self._wait)

    def close(self) -> None:
        """Close the store. Closing it twice is allowed."""
        self._closed = True
        with self._connections_lock:
            for connection in self._connections:
                with suppress(sqlite3.Error):
                    connection.close()
            self._connections.clear()
            self._let_go()

    def state(self) -> str:
        """The record of the last transaction; see ``Store``."""
        if self._is_writing() or not self._sees_one_state():
            return ""
        found = self._all("SELECT value FROM header WHERE key = ?", file.LOG_KEY)
        return str(found[0][0]) if found else ""

    def _sees_one_state(self) -> bool:
        return self._connection().in_transaction

    def _all(self, statement: str, *parameters: Any) -> list[Any]:
        # without context managers, which took a quarter of the time of a short statement
        try:
            return self._connection().execute(statement, parameters).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise explained_error(error, self._place, self._wait) from error
        finally:
            self._require_unchanged()

    def _each(self, statement: str, *parameters: Any) -> Iterator[Any]:
        try:
            with translated_errors(self._place, self._wait):
                yield from self._connection().execute(statement, parameters)
        finally:
            self._require_unchanged()

    def _require_unchanged(self) -> None:
        """Raise StoreUnavailableError if a frozen file has changed, whatever was read from it."""
        if self._has_changed():
            raise StoreUnavailableError(
                f"{self._place} was changed while it was read",
                "A file in a folder without locks at rest",
                "Try again",
            )

    def _has_changed(self) -> bool:
        """Whether the connection of this thread shows an earlier state of the file, since it has no locks."""
        frozen = getattr(self._local, "frozen", None)
        return frozen is not None and file.has_changed(self._path, frozen)

    def _connection(self) -> sqlite3.Connection:
        """The connection of this thread: within a transaction, the one that writes."""
        writer: sqlite3.Connection | None = getattr(self._local, "writer", None)
        if writer is not None:
            return writer
        mine: sqlite3.Connection | None = getattr(self._local, "reader", None)
        if mine is None or self._closed or (self._has_changed() and not mine.in_transaction):
            self._local.frozen = file.frozen_state(self._path) if self.readonly else None
            mine = self._local.reader = self._connect(self._reading, frozen=self._local.frozen is not None)
        return mine

    def _connect(self, pragmas: Sequence[str], *, frozen: bool = False) -> sqlite3.Connection:
        self._require_open()
        with translated_errors(self._place, self._wait):
            made = file.connect(self._path, pragmas, readonly=self.readonly, frozen=frozen, wait=self._wait)
            made.execute("CREATE VIRTUAL TABLE temp.entries USING fts5vocab(main, terms, instance)")
        with self._connections_lock:
            self._connections.append(made)
        return made

    @contextmanager
    def _exclusive(self) -> Iterator[sqlite3.Connection]:
        """The connection that writes."""
        with self._alone():
            if self._writer is None or self._closed:
                self._writer = self._connect(file.WRITING)
            yield self._writer


@contextmanager
def _stop_at_deadline(connection: sqlite3.Connection, deadline: Deadline) -> Iterator[None]:
    """Interrupt a statement that is running when the deadline passes."""
    if not deadline.limited:
        yield
        return
    connection.set_progress_handler(lambda: deadline.passed, _STEPS)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)
