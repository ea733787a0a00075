"""The tables of groups, decisions and changes. Each row has a seal: nothing else would reveal a changed row."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neardup.collection.groups.contract import ChangeRow, DecisionRow, GroupRow, MemberRow
from neardup.collection.store.failures import damaged
from neardup.collection.store.schema import OF_DECISIONS, seal
from neardup.tables import Int64s

_LISTED = "(SELECT value FROM json_each(?))"
_GROUP = "SELECT number, representative, threshold, seal FROM groups"
_MEMBER = "SELECT document, group_number, shared, seal FROM members"
_DECISION = "SELECT number, a, b, verdict, reviewer, note, at, seal FROM decisions"
_CHANGE = "SELECT number, at, what, group_number, document, about, seal FROM changes"


class GroupTables:
    """The look-ups; ``run`` executes a statement with parameters and returns all rows."""

    def __init__(self, run: Callable[..., list[Any]], where: Path) -> None:
        self._run, self._where = run, where

    def count(self) -> int:
        """The number of groups."""
        [(number,)] = self._run("SELECT COUNT(*) FROM groups")
        return int(number)

    def page(self, after: int, limit: int) -> list[GroupRow]:
        """Groups by number."""
        return [
            GroupRow(*row)
            for row in self._sealed(f"{_GROUP} WHERE number > ? ORDER BY number LIMIT ?", after, limit)
        ]

    def rows(self, groups: Iterable[int]) -> dict[int, GroupRow]:
        """The groups that exist."""
        found = self._sealed(f"{_GROUP} WHERE number IN {_LISTED}", json.dumps(list(groups)))
        return {row[0]: GroupRow(*row) for row in found}

    def members(self, group: int, after: int = 0, limit: int | None = None) -> list[MemberRow]:
        """Members by number."""
        statement = f"{_MEMBER} WHERE group_number = ? AND document > ? ORDER BY document LIMIT ?"
        found = self._sealed(statement, group, after, -1 if limit is None else limit)
        return [MemberRow(*row) for row in found]

    def grouped(self) -> Int64s:
        """All documents in groups."""
        return np.array([one for (one,) in self._run("SELECT document FROM members ORDER BY document")], np.int64)

    def size(self, group: int) -> int:
        """The number of members."""
        [(number,)] = self._run("SELECT COUNT(*) FROM members WHERE group_number = ?", group)
        return int(number)

    def memberships(self, documents: Sequence[int]) -> dict[int, MemberRow]:
        """The memberships of the documents that are in a group."""
        found = self._sealed(f"{_MEMBER} WHERE document IN {_LISTED}", json.dumps(list(documents)))
        return {row[0]: MemberRow(*row) for row in found}

    def decisions(self, documents: Sequence[int]) -> list[DecisionRow]:
        """Decisions about any of the documents."""
        asked = json.dumps(list(documents))
        chosen = " UNION ".join(f"SELECT number FROM decisions WHERE {end} IN {_LISTED}" for end in ("a", "b"))
        found = self._sealed(f"{_DECISION} WHERE number IN ({chosen}) ORDER BY number", asked, asked)
        return [DecisionRow(*row) for row in found]

    def decided(self, after: int, limit: int) -> list[DecisionRow]:
        """Decisions by number."""
        found = self._sealed(f"{_DECISION} WHERE number > ? ORDER BY number LIMIT ?", after, limit)
        return [DecisionRow(*row) for row in found]

    def changes(self, after: int, limit: int) -> list[ChangeRow]:
        """Changes by number."""
        found = self._sealed(f"{_CHANGE} WHERE number > ? ORDER BY number LIMIT ?", after, limit)
        return [_change(row) for row in found]

    def last_change(self) -> int:
        """The number of the last change."""
        [(number,)] = self._run("SELECT MAX(number) FROM changes")
        return number or 0

    def decision_changes(self, before: int, limit: int) -> list[ChangeRow]:
        """Changes of decisions, the latest first."""
        statement = f"{_CHANGE} WHERE {OF_DECISIONS} AND number < ? ORDER BY number DESC LIMIT ?"
        return [_change(row) for row in self._sealed(statement, before, limit)]

    def _sealed(self, statement: str, *parameters: Any) -> list[list[Any]]:
        """The rows without their seals; raises FormatError if a seal does not match its row."""
        rows = []
        for *row, stored in self._run(statement, *parameters):
            if seal(row) != stored:
                raise damaged(self._where, f"a row of its groups was changed ({row[0]})")
            rows.append(row)
        return rows


class GroupTablesWriting:
    """Changes to the tables, within the transaction of ``connection``."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def save(self, group: GroupRow) -> int:
        """Store a group."""
        number = group.number or self._next("groups")
        row = (number, group.representative, float(group.threshold))
        self._connection.execute("INSERT OR REPLACE INTO groups VALUES (?, ?, ?, ?)", (*row, seal(row)))
        return number

    def end(self, group: int) -> None:
        """Delete a group."""
        self._connection.execute("DELETE FROM groups WHERE number = ?", (group,))

    def join(self, members: Iterable[MemberRow]) -> None:
        """Store memberships."""
        rows = ((one.document, one.group, one.shared) for one in members)
        self._many("INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?)", rows)

    def leave(self, documents: Iterable[int]) -> None:
        """Delete memberships."""
        self._connection.executemany("DELETE FROM members WHERE document = ?", ((one,) for one in documents))

    def decide(self, decision: DecisionRow) -> int:
        """Store a decision, replacing the one about the same pair."""
        self.withdraw(decision.a, decision.b)
        number = decision.number or self._next("decisions")
        row = (
            number,
            decision.a,
            decision.b,
            decision.verdict,
            decision.by,
            decision.note,
            decision.at,
        )
        self._many("INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [row])
        return number

    def withdraw(self, a: int, b: int) -> None:
        """Delete a decision."""
        self._connection.execute("DELETE FROM decisions WHERE a = ? AND b = ?", (a, b))

    def log(self, changes: Iterable[ChangeRow]) -> None:
        """Append lines to the log."""
        number = self._next("changes")
        rows = (
            (place, one.at, one.what, one.group, one.document, json.dumps(dict(one.about), ensure_ascii=False))
            for place, one in enumerate(changes, number)
        )
        self._many("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def _next(self, table: str) -> int:
        """The next number, never used before: AUTOINCREMENT remembers the last."""
        rows = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchall()
        return int(rows[0][0]) + 1 if rows else 1

    def _many(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._connection.executemany(statement, ((*row, seal(row)) for row in rows))


def _change(row: Sequence[Any]) -> ChangeRow:
    number, at, what, group, document, about = row
    return ChangeRow(number, at, what, group, document, json.loads(about))
