"""The tables of SQLite: words in its full-text index, values without a type, base texts on demand."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any

import numpy as np

from neardup.collection.contract import Operator, Value
from neardup.collection.store.schema import WITH_BASE_TEXTS, has_base_texts, make_base_texts
from neardup.collection.store.statements import list_parameter
from neardup.collection.store.store import Store
from neardup.tables import Int64s

_PROBE = 30
"""Searching one document for words costs as much as reading this many documents that contain them (measured)."""

_MATCHING = "SELECT rowid FROM terms WHERE terms MATCH ?"
_FIRST = "SELECT rowid FROM terms WHERE terms MATCH asked.value ORDER BY rowid LIMIT ?"
_TERMS_AT_ONCE = 60

# A number is below every string in SQLite, and '' is the first string: this keeps the comparison within its kind.
_NUMBERS_ONLY, _STRINGS_ONLY = "AND value < ''", "AND value >= ''"

_TOGETHER = 100
"""Rows per statement: the full-text index needs some milliseconds for them."""
_PAGES = 2000
"""Pages of the full-text index that are merged in one transaction."""


class SqliteTables:
    """The tables within the transaction of a connection; see ``Tables``."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, statement: str, *parameters: Any) -> list[Any]:
        """Run a statement, and return all rows."""
        return self._connection.execute(statement, parameters).fetchall()

    def change(self, statement: str, rows: Iterable[Sequence[Any]]) -> int:
        """Run a statement for each row of parameters, and return the number of rows that it changed."""
        return max(0, self._connection.executemany(statement, rows).rowcount)

    def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows with all columns; ``table`` may also list the columns."""
        left = iter(rows)
        while part := list(islice(left, _TOGETHER)):
            one = f"({', '.join('?' * len(part[0]))})"
            if len(part) == _TOGETHER:
                values = list(chain.from_iterable(part))
                self._connection.execute(f"INSERT INTO {table} VALUES {', '.join([one] * _TOGETHER)}", values)
            else:
                self._connection.executemany(f"INSERT INTO {table} VALUES {one}", part)

    def last_number(self, table: str) -> int:
        """The largest number that a row ever had: AUTOINCREMENT remembers it."""
        # the larger one, in case one of them is damaged: a number in use must not be assigned again
        given = f"(SELECT seq FROM sqlite_sequence WHERE name = '{table}')"
        largest = f"SELECT MAX(IFNULL({given}, 0), IFNULL((SELECT MAX(number) FROM {table}), 0))"
        [(last,)] = self.run(largest)
        return int(last)

    def keep_last(self, table: str, number: int) -> None:
        """SQLite has noticed."""

    def add_words(self, numbers: Sequence[int], streams: Sequence[str]) -> None:
        """Add documents to the full-text index."""
        self.insert("terms (rowid, tokens)", zip(numbers, streams, strict=True))

    def remove_words(self, numbers: Sequence[int], streams: Sequence[str]) -> int:
        """Remove documents from the full-text index, which does not count what is missing."""
        statement = "INSERT INTO terms (terms, rowid, tokens) VALUES ('delete', ?, ?)"
        self._connection.executemany(statement, zip(numbers, streams, strict=True))
        return 0

    def add_facts(self, facts: Sequence[tuple[int, Any, int]]) -> None:
        """Insert facts."""
        self.insert("facts", facts)

    def remove_facts(self, facts: Sequence[tuple[int, Any, int]]) -> int:
        """Delete facts."""
        return self.change("DELETE FROM facts WHERE key = ? AND value = ? AND document = ?", facts)

    def has_base_texts(self) -> bool:
        """Whether the table of base texts exists."""
        return has_base_texts(self._connection)

    def make_base_texts(self) -> None:
        """Create the table of base texts."""
        make_base_texts(self._connection)

    def flush(self) -> None:
        """Nothing waits."""

    def settle(self, *, grown: bool) -> None:
        """Merge the full-text index of a collection that has ``grown``, which makes it 5 % smaller."""
        if grown:
            self.run("INSERT INTO terms (terms) VALUES ('optimize')")

    def merge_words(self, *, first: bool) -> bool:
        """Merge some pages of the full-text index."""
        before = self._connection.total_changes
        pages = -_PAGES if first else _PAGES  # a negative number begins the merge of all parts
        self.run("INSERT INTO terms (terms, rank) VALUES ('merge', ?)", pages)
        return self._connection.total_changes - before > 1


class SqliteLookups(Store):
    """The look-ups that SQLite answers in its own way."""

    def _each(self, statement: str, *parameters: Any) -> Iterator[Any]:
        raise NotImplementedError

    def _bytes(self) -> int:
        [(pages,)], [(page,)] = self._all("PRAGMA page_count"), self._all("PRAGMA page_size")
        return int(pages * page)

    def _has_base_texts(self) -> bool:
        [(version,)] = self._all("PRAGMA user_version")
        return bool(version >= WITH_BASE_TEXTS)

    def _documents_with_words(
        self, words: Sequence[str], beginning: str | None, among: Int64s | None, limit: int | None
    ) -> Int64s:
        parts = [_all_of(words[k : k + _TERMS_AT_ONCE]) for k in range(0, len(words), _TERMS_AT_ONCE)]
        parts += [] if beginning is None else [_all_of([beginning]) + " *"]
        for part in parts[:-1]:
            among = self._documents_matching(part, among)
        return self._documents_matching(parts[-1], among, limit)

    def _documents_matching(self, match: str, among: Int64s | None, limit: int | None = None) -> Int64s:
        """The documents that an FTS5 expression matches."""
        if among is None:
            return self._matching(match, -1 if limit is None else limit)
        bound = _PROBE * len(among) + 100
        found = self._matching(match, bound)
        if len(found) == bound:
            found = self._matching_among(match, among)
        return np.intersect1d(found, among)[:limit]

    def _matching(self, match: str, limit: int) -> Int64s:
        return self._column(f"{_MATCHING} ORDER BY rowid LIMIT ?", match, limit)

    def _matching_among(self, match: str, among: Int64s) -> Int64s:
        """Look up each of the documents in the index: CROSS JOIN keeps the order."""
        statement = (
            "SELECT asked.value FROM json_each(?) AS asked CROSS JOIN terms "
            "WHERE terms.rowid = asked.value AND terms MATCH ?"
        )
        return self._column(statement, list_parameter(among), match)

    def _occurrences(self, tokens: Sequence[str], most: int) -> Int64s:
        last = self._last()
        asked = json.dumps([_all_of([token]) for token in tokens])
        statement = (
            f"SELECT (SELECT COUNT(*) || ' ' || COALESCE(MAX(rowid), 0) FROM ({_FIRST})) "
            "FROM json_each(?) AS asked ORDER BY asked.key"
        )
        found = [map(int, row.split()) for (row,) in self._all(statement, most, asked)]
        return np.array([_estimate_count(count, reached, most, last) for count, reached in found], np.int64)

    def _last(self) -> int:
        [(last,)] = self._all("SELECT MAX(number) FROM documents")
        return last or 0

    def _documents_where(self, key: str, operator: Operator, value: Value) -> Int64s:
        facts = "FROM facts WHERE key = (SELECT number FROM keys WHERE name = ?)"
        if operator == "!=":
            return self._column(
                f"SELECT document {facts} EXCEPT SELECT document {facts} AND value = ? ORDER BY document",
                *(key, key, value),
            )
        kind = _STRINGS_ONLY if isinstance(value, str) else _NUMBERS_ONLY
        return self._column(
            f"SELECT DISTINCT document {facts} AND value {operator} ? {kind} ORDER BY document", key, value
        )

    def words(self) -> Iterator[tuple[bytes, int, int]]:
        """See ``StoreLookups``."""
        # as bytes, because a word that was cut off may end within a character
        rows = self._each("SELECT CAST(term AS BLOB), doc FROM entries ORDER BY term")
        for word, found in groupby(rows, itemgetter(0)):
            documents = [document for _, document in found]
            yield word, len(documents), sum(documents)

    def facts(self) -> Iterator[tuple[str, Value, int]]:
        """See ``StoreLookups``."""
        # a join would leave out a number without a name
        name = "(SELECT name FROM keys WHERE number = key)"
        return self._each(f"SELECT {name}, value, document FROM facts ORDER BY key, value, document")


def _all_of(terms: Sequence[str]) -> str:
    """An FTS5 expression. Terms have the form TOKEN, so they do not contain quotation marks."""
    return " AND ".join(f'"{term}"' for term in terms)


def _estimate_count(count: int, reached: int, most: int, last: int) -> int:
    """Estimate the documents if the rest, up to number ``last``, is like those up to ``reached``."""
    return count if count < most else max(most, round(most * last / reached))
