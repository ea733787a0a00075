"""A transaction: documents stored in all tables and removed from all at once."""

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from neardup.collection.contract import Entries
from neardup.collection.fields import facts
from neardup.collection.store.lookups import ROW, TOTALS
from neardup.collection.store.segments import MOST_NUMBER, SegmentWriting, postings_of
from neardup.collection.store.statements import Tables
from neardup.errors import InputError
from neardup.io.decisions import seal
from neardup.io.place import Place
from neardup.tables import Int64s, UInt64s

MANY = 10_000
"""The least number of added documents that lets the full-text index be merged, which makes it 5 % smaller.

They must also be at least as many as the documents before.
"""
_MOST_PENDING = 1 << 21
"""The most postings that wait to become a segment: in larger segments, each posting is rewritten less often."""


class MissingError(Exception):
    """An entry to be removed does not exist."""


class Writing:
    """Adds and removes documents within the transaction of ``tables``; call ``finish`` before the commit."""

    def __init__(self, tables: Tables, place: Place) -> None:
        self._tables = tables
        self._segments = SegmentWriting(tables, place)
        self._pending: list[UInt64s] = []
        self._next = tables.last_number("documents") + 1
        self._keys: dict[str, int] = {}
        self._next_key = 0
        [(self._before,)] = tables.run("SELECT documents FROM totals")
        self._changes = np.zeros(6, np.int64)

    def next_number(self) -> int:
        """The number that the next new document gets."""
        return self._next

    def put(self, entries: Entries, numbers: Int64s) -> Int64s:
        """Put documents into the store and return their numbers.

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
        if self._tables.remove_words(named, entries.streams):
            raise MissingError("Words of documents to be removed are missing")
        self.flush()
        if self._segments.remove(_postings(entries, numbers)):
            raise MissingError("Postings of documents to be removed are missing")
        if self._tables.has_base_texts():
            of_bases = "DELETE FROM base_texts WHERE document = ?"
            self._tables.change(of_bases, [(number,) for number in named])
        self._remove_facts(self._facts(entries, named))
        for table in ("texts", "documents"):
            done = self._tables.change(f"DELETE FROM {table} WHERE number = ?", [(number,) for number in named])
            _require_all(done, len(named))
        self._changes -= _counts(entries)

    def set_metadata(self, number: int, metadata: Mapping[str, Any]) -> None:
        """Replace the metadata of a stored document; everything else of it stays."""
        rows = self._tables.run(f"{ROW} WHERE number = ?", number)
        if not rows:
            raise MissingError(f"Document number {number} is missing")
        *row, signature, stored = rows[0]
        if seal(row, signature) != stored:
            raise MissingError(f"The row of document number {number} was changed")
        before = {(self._key(key), value, number) for key, value in facts(json.loads(row[-1]))}
        after = {(self._key(key), value, number) for key, value in facts(metadata)}
        gone = _apart(before, after)
        self._remove_facts(gone)
        self._tables.add_facts(sorted(_apart(after, before), key=repr))
        row[-1] = _json(metadata)
        self._tables.run(
            "UPDATE documents SET metadata = ?, seal = ? WHERE number = ?", row[-1], seal(row, signature), number
        )

    def mark_base(self, numbers: Int64s) -> None:
        """Make stored documents base texts; they stay base texts until they are removed."""
        if len(numbers) and not self._tables.has_base_texts():
            self._tables.make_base_texts()
        marked = [(number, secrets.randbits(62)) for number in numbers.tolist()]
        rows = [(*row, seal(row)) for row in marked]
        self._tables.change(
            "INSERT INTO base_texts VALUES (?, ?, ?) "
            "ON CONFLICT (document) DO UPDATE SET mark = excluded.mark, seal = excluded.seal",
            rows,
        )

    def flush(self) -> None:
        """Write the pending postings, so that look-ups find them."""
        if self._pending:
            waiting, self._pending = np.concatenate(self._pending), []
            self._segments.add(waiting)
        self._tables.flush()

    def finish(self) -> None:
        """Write the pending postings and the totals."""
        self.flush()
        self._segments.settle()
        self._tables.settle(grown=bool(self._changes[0] >= max(MANY, self._before)))
        self._tables.keep_last("documents", self._next - 1)
        [before] = self._tables.run(f"SELECT {TOTALS} FROM totals")
        after = [count + change for count, change in zip(before, [*self._changes.tolist(), 1], strict=True)]
        self._tables.run(f"UPDATE totals SET ({TOTALS}, seal) = (?, ?, ?, ?, ?, ?, ?, ?)", *after, seal(after))

    def tidy(self, *, words: bool, first: bool) -> tuple[bool, bool]:
        """Continue a merge that is under way: of posting lists, and then, if ``words``, of the full-text index.

        Returns (whether it has to go on, whether the merge of words has yet to begin).
        """
        if self._segments.proceed():
            return True, first
        if not words:
            return False, first
        return self._tables.merge_words(first=first), False

    def _put(self, entries: Entries, numbers: Int64s) -> None:
        """Put documents with these numbers into all tables."""
        named = numbers.tolist()
        self._tables.insert("documents", _rows(entries, named))
        self._tables.insert("texts", zip(named, entries.packed, strict=True))
        self._tables.add_words(named, entries.streams)
        self._pending.append(_postings(entries, numbers))
        if sum(map(len, self._pending)) > _MOST_PENDING:
            self.flush()
        self._tables.add_facts(self._facts(entries, named))
        self._changes += _counts(entries)

    def _remove_facts(self, facts: list[tuple[int, Any, int]]) -> None:
        _require_all(self._tables.remove_facts(facts), len(facts))

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
            known = self._tables.run("SELECT number FROM keys WHERE name = ?", name)
            number = self._keys[name] = known[0][0] if known else self._new_key(name)
        return number

    def _new_key(self, name: str) -> int:
        if not self._next_key:
            [(last,)] = self._tables.run("SELECT coalesce(max(number), 0) FROM keys")
            self._next_key = last + 1
        number, self._next_key = self._next_key, self._next_key + 1
        self._tables.run("INSERT INTO keys VALUES (?, ?)", number, name)
        return number


def _require_all(removed: int, wanted: int) -> None:
    if removed != wanted:
        raise MissingError(f"{wanted - removed} entries of documents to be removed are missing")


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
