"""A transaction: documents stored in all tables and removed from all at once."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from neardup.collection.contract import Entries
from neardup.collection.fields import facts
from neardup.collection.store.lookups import ROW, TOTALS
from neardup.collection.store.schema import has_base_texts, make_base_texts
from neardup.collection.store.segments import MOST_NUMBER, SegmentWriting, insert, postings_of
from neardup.errors import InputError
from neardup.io.decisions.log import seal
from neardup.tables import Int64s, UInt64s

_MANY = 10_000
"""The least number of added documents that lets the full-text index be merged, which makes it 5 % smaller.

They must also be at least as many as the documents before.
"""
_MOST_PENDING = 1 << 21
"""The most postings that wait to become a segment: in larger segments, each posting is rewritten less often."""


class MissingError(Exception):
    """An entry to be removed does not exist."""


class Writing:
    """Adds and removes documents within the transaction of ``connection``; call ``finish`` before the commit."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._segments = SegmentWriting(connection, path)
        self._pending: list[UInt64s] = []
        # the larger one, in case one of them is damaged: a number in use must not be assigned again
        given = "(SELECT seq FROM sqlite_sequence WHERE name = 'documents')"
        largest = f"SELECT MAX(IFNULL({given}, 0), IFNULL((SELECT MAX(number) FROM documents), 0))"
        (last,) = connection.execute(largest).fetchone()
        self._next = int(last) + 1
        self._keys: dict[str, int] = {}
        (self._before,) = connection.execute("SELECT documents FROM totals").fetchone()
        self._changes = np.zeros(6, np.int64)

    def next_number(self) -> int:
        """The number that the next new document gets."""
        return self._next

    def put(self, entries: Entries, numbers: Int64s) -> Int64s:
        """Store documents and return their numbers.

        A 0 in ``numbers`` requests a new number; any other number must be free.
        """
        numbers = numbers.copy()
        new = numbers == 0
        numbers[new] = np.arange(self._next, self._next + new.sum())
        self._next = max(self._next, int(numbers.max(initial=0)) + 1)
        if self._next > MOST_NUMBER:
            raise InputError(
                "This collection is full",
                f"{MOST_NUMBER:,} documents can be added, those that were removed again included",
                "Add the documents to a new collection",
            )
        order = np.argsort(numbers)
        if (order[1:] < order[:-1]).any():
            self._put(entries.take(order.tolist()), numbers[order])
        else:
            self._put(entries, numbers)
        return numbers

    def remove(self, entries: Entries, numbers: Int64s) -> None:
        """Remove the documents ``numbers``; ``entries`` are the entries that were stored for them."""
        order = np.argsort(numbers)
        entries, numbers = entries.take(order.tolist()), numbers[order]
        named = numbers.tolist()
        self._connection.executemany(
            "INSERT INTO terms (terms, rowid, tokens) VALUES ('delete', ?, ?)",
            zip(named, entries.streams, strict=True),
        )
        self.flush()
        if self._segments.remove(_postings(entries, numbers)):
            raise MissingError("Postings of documents to be removed are missing")
        if has_base_texts(self._connection):
            of_bases = "DELETE FROM base_texts WHERE document = ?"
            self._connection.executemany(of_bases, [(number,) for number in named])
        self._delete("DELETE FROM facts WHERE key = ? AND value = ? AND document = ?", self._facts(entries, named))
        for table, column in (("texts", "number"), ("documents", "number")):
            self._delete(f"DELETE FROM {table} WHERE {column} = ?", [(number,) for number in named])
        self._changes -= _counts(entries)

    def set_metadata(self, number: int, metadata: Mapping[str, Any]) -> None:
        """Replace the metadata of a stored document; everything else of it stays."""
        found = self._connection.execute(f"{ROW} WHERE number = ?", (number,)).fetchone()
        if found is None:
            raise MissingError(f"Document number {number} is missing")
        *row, signature, stored = found
        if seal(row, signature) != stored:
            raise MissingError(f"The row of document number {number} was changed")
        before = {(self._key(key), value, number) for key, value in facts(json.loads(row[-1]))}
        after = {(self._key(key), value, number) for key, value in facts(metadata)}
        gone = _apart(before, after)
        self._delete("DELETE FROM facts WHERE key = ? AND value = ? AND document = ?", gone)
        insert(self._connection, "facts", 3, sorted(_apart(after, before), key=repr))
        row[-1] = _json(metadata)
        self._connection.execute(
            "UPDATE documents SET metadata = ?, seal = ? WHERE number = ?", (row[-1], seal(row, signature), number)
        )

    def mark_base(self, numbers: Int64s) -> None:
        """Make stored documents base texts; they stay base texts until they are removed."""
        if len(numbers) and not has_base_texts(self._connection):
            make_base_texts(self._connection)
        marked = [(number, secrets.randbits(62)) for number in numbers.tolist()]
        rows = [(*row, seal(row)) for row in marked]
        self._connection.executemany("INSERT OR REPLACE INTO base_texts VALUES (?, ?, ?)", rows)

    def flush(self) -> None:
        """Write the pending postings, so that look-ups find them."""
        if self._pending:
            waiting, self._pending = np.concatenate(self._pending), []
            self._segments.add(waiting)

    def finish(self) -> None:
        """Write the pending postings and the totals."""
        self.flush()
        self._segments.settle()
        if self._changes[0] >= max(_MANY, self._before):
            self._connection.execute("INSERT INTO terms (terms) VALUES ('optimize')")
        [before] = self._connection.execute(f"SELECT {TOTALS} FROM totals")
        after = [count + change for count, change in zip(before, [*self._changes.tolist(), 1], strict=True)]
        self._connection.execute(
            f"UPDATE totals SET ({TOTALS}, seal) = (?, ?, ?, ?, ?, ?, ?, ?)", (*after, seal(after))
        )

    def _put(self, entries: Entries, numbers: Int64s) -> None:
        named = numbers.tolist()
        insert(self._connection, "documents", 8, _rows(entries, named))
        insert(self._connection, "texts", 2, zip(named, entries.packed, strict=True))
        insert(self._connection, "terms (rowid, tokens)", 2, zip(named, entries.streams, strict=True))
        self._pending.append(_postings(entries, numbers))
        if sum(map(len, self._pending)) > _MOST_PENDING:
            self.flush()
        insert(self._connection, "facts", 3, self._facts(entries, named))
        self._changes += _counts(entries)

    def _delete(self, statement: str, rows: Iterable[Any]) -> None:
        wanted = list(rows)
        done = self._connection.executemany(statement, wanted).rowcount
        if wanted and done != len(wanted):
            raise MissingError(f"{len(wanted) - done} entries of documents to be removed are missing")

    def _facts(self, entries: Entries, named: list[int]) -> list[tuple[int, Any, int]]:
        found = [
            (self._key(key), value, number)
            for number, metadata in zip(named, entries.metadata, strict=True)
            if metadata
            for key, value in facts(metadata)
        ]
        return sorted(found, key=lambda fact: (fact[0], isinstance(fact[1], str), fact[1], fact[2]))

    def _key(self, name: str) -> int:
        number = self._keys.get(name)
        if number is None:
            # one by one: there may be a million names, and a transaction needs few of them
            known = self._connection.execute("SELECT number FROM keys WHERE name = ?", (name,)).fetchone()
            if known is None:
                cursor = self._connection.execute("INSERT INTO keys (name) VALUES (?)", (name,))
                known = (cursor.lastrowid,)
            number = self._keys[name] = known[0]
        return number


def _apart(facts: set[tuple[int, Any, int]], others: set[tuple[int, Any, int]]) -> list[tuple[int, Any, int]]:
    """The facts that are not among the others; 1 and 1.0 are one fact, as they are in the table."""
    return [fact for fact in facts if fact not in others]


def _rows(entries: Entries, named: list[int]) -> Iterator[tuple[Any, ...]]:
    counts = (column.tolist() for column in (entries.sizes, entries.tokens, entries.shingles))
    signatures = entries.signatures.astype(np.uint8)  # the low bits
    for number, id, size, tokens, shingles, metadata, signature in zip(
        named, entries.ids, *counts, entries.metadata, signatures, strict=True
    ):
        row = (number, id, size, tokens, shingles, _json(metadata))
        blob = signature.tobytes()
        yield (*row, blob, seal(row, blob))


def _json(metadata: Mapping[str, Any]) -> str:
    return json.dumps(metadata, ensure_ascii=False, allow_nan=False) if metadata else "{}"


def _postings(entries: Entries, numbers: Int64s) -> UInt64s:
    return postings_of(entries.hashes, np.repeat(numbers, np.diff(entries.offsets)))


def _counts(entries: Entries) -> Int64s:
    """Documents, tokens, shingles, postings, bytes of text, bytes as packed."""
    packed = sum(map(len, entries.packed))
    sums = [int(column.sum()) for column in (entries.tokens, entries.shingles, entries.sizes)]
    return np.array([len(entries), *sums[:2], len(entries.hashes), sums[2], packed], np.int64)
