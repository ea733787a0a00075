"""The tables of groups and of their changes. Each row has a seal: nothing else would reveal a changed row."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from neardup.collection.contract import ChangeRow, GroupRow, MemberRow
from neardup.collection.store.failures import damaged_error
from neardup.collection.store.statements import LISTED, NO_LIMIT, Tables, list_parameter
from neardup.io.decisions import seal
from neardup.io.place import Place
from neardup.tables import Int64s

_GROUP = "SELECT number, representative, threshold, seal FROM groups"
_MEMBER = "SELECT document, group_number, shared, seal FROM members"
_SAVE = (
    "INSERT INTO groups VALUES (?, ?, ?, ?) ON CONFLICT (number) DO UPDATE "
    "SET representative = excluded.representative, threshold = excluded.threshold, seal = excluded.seal"
)
_JOIN = (
    "INSERT INTO members VALUES (?, ?, ?, ?) ON CONFLICT (document) DO UPDATE "
    "SET group_number = excluded.group_number, shared = excluded.shared, seal = excluded.seal"
)
_CHANGE = "SELECT number, at, what, group_number, document, about, seal FROM changes"


class GroupTables:
    """The tables; ``run`` executes a statement and returns all rows, ``tables`` returns those of the transaction.

    Look-ups see the changes that this thread has made so far; changes are made within a transaction only.
    """

    def __init__(self, run: Callable[..., list[Any]], tables: Callable[[], Tables], where: Place) -> None:
        self._run, self._tables, self._where = run, tables, where

    def count(self) -> int:
        """The number of groups."""
        [(number,)] = self._run("SELECT COUNT(*) FROM groups")
        return int(number)

    def page(self, after: int, limit: int) -> list[GroupRow]:
        """The first ``limit`` groups with a number above ``after``, ascending."""
        return [
            GroupRow(*row)
            for row in self._sealed_rows(f"{_GROUP} WHERE number > ? ORDER BY number LIMIT ?", after, limit)
        ]

    def rows(self, groups: Iterable[int]) -> dict[int, GroupRow]:
        """The groups that exist, by number."""
        found = self._sealed_rows(f"{_GROUP} WHERE number {LISTED}", list_parameter(groups))
        return {row[0]: GroupRow(*row) for row in found}

    def members(self, group: int, after: int = 0, limit: int | None = None) -> list[MemberRow]:
        """The members of a group with a number above ``after``, ascending; the first ``limit``."""
        statement = f"{_MEMBER} WHERE group_number = ? AND document > ? ORDER BY document LIMIT ?"
        found = self._sealed_rows(statement, group, after, NO_LIMIT if limit is None else limit)
        return [MemberRow(*row) for row in found]

    def all_members(self) -> list[MemberRow]:
        """The members of all groups, by group and document."""
        return [MemberRow(*row) for row in self._sealed_rows(f"{_MEMBER} ORDER BY group_number, document")]

    def grouped_documents(self) -> Int64s:
        """All documents that are in a group, ascending (int64)."""
        return np.array([one for (one,) in self._run("SELECT document FROM members ORDER BY document")], np.int64)

    def size(self, group: int) -> int:
        """The number of members of a group."""
        [(number,)] = self._run("SELECT COUNT(*) FROM members WHERE group_number = ?", group)
        return int(number)

    def memberships(self, documents: Sequence[int]) -> dict[int, MemberRow]:
        """The memberships of the documents that are in a group."""
        found = self._sealed_rows(f"{_MEMBER} WHERE document {LISTED}", list_parameter(documents))
        return {row[0]: MemberRow(*row) for row in found}

    def changes(self, after: int, limit: int) -> list[ChangeRow]:
        """The first ``limit`` changes with a number above ``after``, ascending."""
        found = self._sealed_rows(f"{_CHANGE} WHERE number > ? ORDER BY number LIMIT ?", after, limit)
        return [_change(row) for row in found]

    def last_change(self) -> int:
        """The number of the last change, 0 for an empty log; found without reading the log."""
        [(number,)] = self._run("SELECT MAX(number) FROM changes")
        return number or 0

    def save(self, group: GroupRow) -> int:
        """Store a group, as a new one if its number is 0, and return its number, which is never reused."""
        tables = self._tables()
        number = group.number or tables.last_number("groups") + 1
        row = (number, group.representative, float(group.threshold))
        tables.run(_SAVE, *row, seal(row))
        if not group.number:
            tables.keep_last("groups", number)
        return number

    def end(self, group: int) -> None:
        """Delete a group that has no members any more."""
        self._run("DELETE FROM groups WHERE number = ?", group)

    def join(self, members: Iterable[MemberRow]) -> None:
        """Store memberships, replacing those that the documents had."""
        rows = ((one.document, one.group, one.shared) for one in members)
        self._tables().change(_JOIN, [(*row, seal(row)) for row in rows])

    def leave(self, documents: Iterable[int]) -> None:
        """Delete the memberships of documents."""
        self._run(f"DELETE FROM members WHERE document {LISTED}", list_parameter(documents))

    def log(self, changes: Iterable[ChangeRow]) -> None:
        """Append lines to the change log in this order; this method assigns their numbers."""
        tables = self._tables()
        last = tables.last_number("changes")
        rows = [
            (place, one.at, one.what, one.group, one.document, json.dumps(dict(one.about), ensure_ascii=False))
            for place, one in enumerate(changes, last + 1)
        ]
        tables.insert("changes", [(*row, seal(row)) for row in rows])
        tables.keep_last("changes", last + len(rows))

    def _sealed_rows(self, statement: str, *parameters: Any) -> list[list[Any]]:
        """The rows without their seals; raises FormatError if a seal does not match its row."""
        rows = []
        for *row, stored in self._run(statement, *parameters):
            if seal(row) != stored:
                raise damaged_error(self._where, f"a row of its groups was changed ({row[0]})")
            rows.append(row)
        return rows


def _change(row: Sequence[Any]) -> ChangeRow:
    number, at, what, group, document, about = row
    return ChangeRow(number, at, what, group, document, json.loads(about))
