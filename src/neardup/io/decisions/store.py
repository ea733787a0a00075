"""The decisions of a review, stored with their history beside the tables of a result."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from neardup.display import counted, printable
from neardup.errors import ChangedMeanwhileError, InputError, OutputError
from neardup.io.decisions.database import connected, damaged, explained, make
from neardup.io.decisions.records import NO_DECISIONS, Action, Change, DecisionState
from neardup.io.decisions.rows import (
    Current,
    Subject,
    action_of,
    first_state,
    require_name,
    require_sentence,
    rows_of,
    state_with,
)
from neardup.tables import DECISIONS_FILE

_ACTION = "SELECT number, at, by, what, changes, undoes, undone_by FROM actions"
_HOLDING = (
    "SELECT c.kind, c.a, c.b, v.value, v.note, x.by, x.at, x.number FROM current c "
    "JOIN changes v ON v.action = c.version AND v.kind = c.kind AND v.a = c.a AND v.b = c.b "
    "JOIN actions x ON x.number = c.version"
)


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
        self._state = NO_DECISIONS
        if not self._path.parent.is_dir():
            raise InputError(f"There is no folder {self._path.parent}", "The folder of a result")
        with self._lock:
            self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        undone; InputError for impossible changes, and for none.
        """
        rows, by, what = rows_of(changes), require_name(by), require_sentence(what)
        if not rows:
            raise InputError("There is nothing to decide: no document is concerned", "At least one decision")
        with self._writing() as connection:
            if seen is not None:
                self._require_unchanged(connection, {row.subject for row in rows}, seen)
            number = self._new_action(connection, by, what, len(rows))
            connection.executemany(
                "INSERT INTO changes SELECT ?1, ?2, ?3, ?4, ?5, ?6, "
                "(SELECT version FROM current WHERE kind = ?2 AND a = ?3 AND b = ?4), ?1",
                ((number, *row.subject, row.value, row.note) for row in rows),
            )
            connection.executemany(
                "INSERT OR REPLACE INTO current VALUES (?, ?, ?, ?)", ((*row.subject, number) for row in rows)
            )
            return self._action(connection, number)

    def undo(self, *, by: str, action: int | None = None) -> Action | None:
        """Restore the state before an action, and return the action that does so.

        Without ``action`` it is the last one of ``by`` that is not undone; None if there is none. Undoing an undo
        restores its decisions. Raises ChangedMeanwhileError if a later action decided about the same again, and
        InputError for an action that does not exist or is undone already.
        """
        by = require_name(by)
        if self._open() is None and action is None:
            return None
        with self._writing() as connection:
            if action is None:
                last = connection.execute(
                    "SELECT max(number) FROM actions WHERE by = ? AND undone_by IS NULL AND undoes IS NULL", (by,)
                ).fetchone()[0]
                if last is None:
                    return None
                action = int(last)
            undone = self._undoable(connection, action)
            what = f"undo action {action}" if undone.undoes is None else f"redo action {undone.undoes}"
            number = self._new_action(connection, by, what, undone.changes, action)
            connection.execute(
                "INSERT INTO changes SELECT ?, kind, a, b, NULL, '', after, before FROM changes WHERE action = ?",
                (number, action),
            )
            connection.execute(
                "DELETE FROM current WHERE (kind, a, b) IN "
                "(SELECT kind, a, b FROM changes WHERE action = ? AND after IS NULL)",
                (number,),
            )
            connection.execute(
                "INSERT OR REPLACE INTO current "
                "SELECT kind, a, b, after FROM changes WHERE action = ? AND after IS NOT NULL",
                (number,),
            )
            self._mark_undone(connection, action, number)
            return self._action(connection, number)

    def state(self) -> DecisionState:
        """Return all decisions that hold; after the first call only changed ones are read."""
        with self._reading() as connection:
            if connection is None:
                return NO_DECISIONS
            number = connection.execute("SELECT coalesce(max(number), 0) FROM actions").fetchone()[0]
            if number == self._state.number:
                return self._state
            try:
                if self._state.number == 0:
                    self._state = first_state(number, _currents(connection, ""))
                else:
                    self._state = self._advanced(connection, number)
            except (ValueError, TypeError, KeyError) as error:
                raise damaged(self._path, f"a stored value differs from the written one ({error})") from error
            return self._state

    def history(self, before: int | None = None, limit: int = 50) -> tuple[Action, ...]:
        """Return at most ``limit`` actions with numbers below ``before``, the latest first."""
        with self._reading() as connection:
            if connection is None:
                return ()
            below = (1 << 62) if before is None else before
            rows = connection.execute(f"{_ACTION} WHERE number < ? ORDER BY number DESC LIMIT ?", (below, limit))
            try:
                return tuple(map(action_of, rows))
            except ValueError as error:
                raise damaged(self._path, f"a stored value differs from the written one ({error})") from error

    def _advanced(self, connection: sqlite3.Connection, number: int) -> DecisionState:
        since = self._state.number
        subjects = connection.execute("SELECT DISTINCT kind, a, b FROM changes WHERE action > ?", (since,))
        some = " WHERE (c.kind, c.a, c.b) IN (SELECT kind, a, b FROM changes WHERE action > ?)"
        found: DecisionState = state_with(
            self._state, number, subjects.fetchall(), _currents(connection, some, since)
        )
        return found

    def _require_unchanged(self, connection: sqlite3.Connection, wanted: set[Subject], seen: int) -> None:
        """Raise ChangedMeanwhileError unless ``wanted`` are as they were after the action ``seen``."""
        first: dict[Subject, int | None] = {}
        rows = connection.execute(
            "SELECT kind, a, b, before FROM changes WHERE action > ? ORDER BY action", (seen,)
        )
        for kind, a, b, before in rows:
            if (kind, a, b) in wanted:
                first.setdefault((kind, a, b), before)
        for subject, was in first.items():
            version = _version(connection, subject)
            if version != was:  # not restored by an undo
                last = connection.execute(
                    "SELECT max(action) FROM changes WHERE kind = ? AND a = ? AND b = ?", subject
                ).fetchone()[0]
                raise _changed_by(self._action(connection, last), "Nothing was stored")

    def _undoable(self, connection: sqlite3.Connection, number: int) -> Action:
        row = connection.execute(f"{_ACTION} WHERE number = ?", (number,)).fetchone()
        if row is None:
            raise InputError(f"There is no action {number:,}", "The number of an action in the history")
        action = action_of(row)
        if action.undone_by is not None:
            raise InputError(
                f"Action {number:,} is undone already, by action {action.undone_by:,}",
                "",
                f"Undo action {action.undone_by:,} to restore it",
            )
        again = connection.execute(
            "SELECT max(l.action) FROM changes w LEFT JOIN current c "
            "ON c.kind = w.kind AND c.a = w.a AND c.b = w.b "
            "JOIN changes l ON l.kind = w.kind AND l.a = w.a AND l.b = w.b AND l.action > w.action "
            "WHERE w.action = ? AND c.version IS NOT w.after",
            (number,),
        ).fetchone()[0]
        if again is not None:
            raise _changed_by(self._action(connection, again), "Nothing was undone")
        return action

    def _mark_undone(self, connection: sqlite3.Connection, number: int, by: int) -> None:
        """Mark an action as undone; if it undid another one, that one holds again, and so on."""
        mark = "UPDATE actions SET undone_by = ? WHERE number = ?"
        connection.execute(mark, (by, number))
        undone, at = True, number
        while (target := self._action(connection, at).undoes) is not None:
            connection.execute(mark, (None if undone else at, target))
            undone, at = not undone, target

    def _new_action(
        self, connection: sqlite3.Connection, by: str, what: str, changes: int, undoes: int | None = None
    ) -> int:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        row = (now, by, what, changes, undoes)
        made = connection.execute(
            "INSERT INTO actions (at, by, what, changes, undoes) VALUES (?, ?, ?, ?, ?)", row
        )
        assert made.lastrowid is not None
        return made.lastrowid

    def _action(self, connection: sqlite3.Connection, number: int) -> Action:
        row = connection.execute(f"{_ACTION} WHERE number = ?", (number,)).fetchone()
        try:
            return action_of(row)
        except (ValueError, TypeError) as error:
            raise damaged(self._path, f"a stored value differs from the written one ({error})") from error

    def _open(self) -> sqlite3.Connection | None:
        """Return the connection, opened when the file has appeared."""
        with self._lock:
            if self._connection is None:
                self._connection = connected(self._path, read_only=self._read_only)
            return self._connection

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """One state of the file for all statements of the block; None while there is no file."""
        with self._lock, explained(self._path):
            connection = self._open()
            if connection is None:
                yield None
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        if self._read_only:
            raise OutputError(
                f"The decisions in {self._path.parent} were opened to read only", "A store that may be written"
            )
        with self._lock, explained(self._path):
            connection = self._open()
            if connection is None:
                make(self._path)
                connection = self._open()
            assert connection is not None
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")


def _currents(connection: sqlite3.Connection, where: str, *values: Any) -> Iterator[Current]:
    for row in connection.execute(_HOLDING + where, values):
        if row[3] is not None:  # None: the decision was withdrawn
            yield Current(*row)


def _version(connection: sqlite3.Connection, subject: Subject) -> int | None:
    query = "SELECT version FROM current WHERE kind = ? AND a = ? AND b = ?"
    found = connection.execute(query, subject).fetchone()
    return None if found is None else found[0]


def _moment(at: str) -> str:
    """Return a time as people read it: 2026-11-23 06:57:35 UTC."""
    return f"{at[:19].replace('T', ' ')} UTC"


def _changed_by(action: Action, therefore: str) -> ChangedMeanwhileError:
    return ChangedMeanwhileError(
        f"{printable(action.by)} decided about the same meanwhile, at {printable(_moment(action.at))}: "
        f"{printable(action.what)} (action {action.number:,}, {counted(action.changes, 'decision')}). {therefore}",
        "",
        "Look at the present decision first",
    )
