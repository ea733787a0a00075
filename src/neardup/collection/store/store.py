"""``Store``: the contract of a store, and the part of it that is the same for every database."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, sleep

from neardup.collection.contract import StoreUnavailableError
from neardup.collection.store.failures import busy_error, damaged_error
from neardup.collection.store.groups import GroupTables
from neardup.collection.store.lookups import StoreLookups
from neardup.collection.store.segments import HeldSegments, Segments, contents
from neardup.collection.store.statements import Tables
from neardup.collection.store.transaction import MissingError, Writing
from neardup.display.view import Public
from neardup.errors import OutputError
from neardup.io.decisions import DecisionLog
from neardup.io.place import Place
from neardup.runtime import UNLIMITED, Deadline


class Store(Public, StoreLookups):
    """Documents with their fingerprints at a place: the contract that every store fulfils.

    A store keeps documents and answers look-ups; it does no text processing. ``entries.py`` computes everything
    derived from a document beforehand and passes it on as columns. Documents are identified by a *number*, from 1
    on, which the store assigns and never reuses; the user's id is looked up once, at the border. Numbers are
    returned as int64 arrays, ascending and without repeats, unless a method states otherwise. ``groups`` are the
    tables of groups, ``decisions`` is the log of decisions about pairs of numbers; ``tests/contract`` has the
    tests that every store must pass.

    Any number of readers in any thread; one transaction at a time. Every method may raise StoreUnavailableError.

    ``wait``: seconds to wait for another writer. A collection that does not exist is created with the settings
    ``given`` unless ``readonly``; the settings of an existing one must agree with them.
    """

    def __init__(self, place: Place, *, readonly: bool, wait: float) -> None:
        self._place, self.readonly, self._wait = place, readonly, wait
        self._local = threading.local()
        self._writer_lock = threading.Lock()
        self._closed = False
        self._known_common: tuple[str, dict[int, int]] = "", {}
        self._held_segments = HeldSegments()
        self.groups = GroupTables(self._all, self._tables, place)
        self.decisions = DecisionLog(self._all, partial(damaged_error, place))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._place)!r})"

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """A transaction: committed when the block ends, rolled back when it raises.

        Waits while another transaction is under way, then raises OutputError. Inside the block, look-ups of this
        thread see the changes made so far.
        """
        part, outer = getattr(self._local, "together", False), getattr(self._local, "transaction", None)
        tables = getattr(self._local, "tables", None)
        self._local.together = False
        try:
            with self._part() if part else self._transaction() as self._local.tables:
                if not part:
                    self._local.settled = contents(self._local.tables.run)
                self._local.transaction = transaction = Writing(self._local.tables, self._place)
                yield transaction
                transaction.finish()
        except MissingError as error:
            raise damaged_error(self._place, str(error)) from error
        finally:
            self._local.together, self._local.transaction, self._local.tables = part, outer, tables

    @contextmanager
    def together(self) -> Iterator[None]:
        """Combine the transactions of this thread within the block into one, which is committed at its end.

        Each is stored whole or not at all: a transaction that raises is undone by itself, and those before it
        stay.
        """
        with self._transaction() as tables:
            self._local.settled = contents(tables.run)
            self._local.together = True
            try:
                yield
            finally:
                self._local.together = False

    pause = 0.001
    """Seconds in which every writer that waits tries to begin: a database lets them in by turns."""

    def give_way(self, since: float) -> None:
        """Pause after a transaction that ended at ``since`` (``time.monotonic``): others can begin one."""
        left = since + self.pause - monotonic()
        if left > 0 and not self._is_writing():
            sleep(left)

    def reading(self, deadline: Deadline = UNLIMITED) -> AbstractContextManager[None]:
        """All look-ups of this thread within the block see the same state, whatever is committed meanwhile.

        A look-up that is under way when the deadline passes raises LimitError.
        """
        raise NotImplementedError

    def faults(self) -> list[str]:
        """The faults of the store itself, as sentences; empty if there are none."""
        raise NotImplementedError

    def backup(self, path: Path) -> None:
        """Copy the present state into a new file, whatever is written meanwhile; OutputError if that fails."""
        raise NotImplementedError

    def compact(self) -> None:
        """Rewrite everything, so that the store contains neither removed documents nor free space."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the store. Closing it twice is allowed."""
        raise NotImplementedError

    def state(self) -> str:
        """The name of the state that this thread sees within ``reading``: no other state ever has it.

        Empty within a transaction, outside of ``reading``, and for a file without records of its states.
        """
        raise NotImplementedError

    def _transaction(self) -> AbstractContextManager[Tables]:
        """A transaction of the database, with its tables; it has the lock of the only writer."""
        raise NotImplementedError

    def _part(self) -> AbstractContextManager[Tables]:
        """A savepoint of the transaction of this thread, which is undone by itself."""
        raise NotImplementedError

    def _tables(self) -> Tables:
        """The tables of the transaction of this thread."""
        tables: Tables = self._local.tables
        return tables

    def _segments(self) -> Segments:
        """The posting lists; within a transaction, including its additions so far."""
        self._flush()
        settled = self._local.settled if self._is_writing() else None
        is_steady = settled is not None or self._sees_one_state()
        return Segments(self._all, self._place, memory=self._held_segments if is_steady else None, settled=settled)

    def _sees_one_state(self) -> bool:
        """Whether this thread is within ``reading``, and not within a transaction."""
        raise NotImplementedError

    def _common(self) -> dict[int, int]:
        """The documents of each common key, as far as it is known, in the state that this thread sees."""
        present = self.state()
        state, known = self._known_common
        if not present or state != present:
            known = {}
            if present:
                self._known_common = present, known
        return known

    def _flush(self) -> None:
        """Within a transaction, write the pending postings."""
        transaction: Writing | None = getattr(self._local, "transaction", None)
        if transaction is not None:
            transaction.flush()

    def _is_writing(self) -> bool:
        """Whether a transaction of this thread is under way."""
        return getattr(self._local, "writer", None) is not None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The right to write, for one thread of this process at a time."""
        if self.readonly:
            raise OutputError(
                f"{self._place} was opened for reading only", "", "Open it without readonly to change it"
            )
        if self._is_writing():
            raise OutputError("A transaction is under way in this thread", "One at a time", "End it first")
        if not self._writer_lock.acquire(timeout=self._wait):
            raise busy_error(self._place, self._wait)
        try:
            yield
        finally:
            self._writer_lock.release()

    def _require_open(self) -> None:
        if self._closed:
            raise StoreUnavailableError(
                f"The collection {self._place} is closed", "An open collection", "Open it again"
            )
