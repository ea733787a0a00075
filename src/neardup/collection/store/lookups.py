"""Look-ups in the tables. Numbers and hashes go in as one JSON list: each look-up is one fixed statement."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neardup.collection.contract import OPERATORS, PLACE_FACTOR, PLACE_PRIME, Hits, Operator, Row, Totals, Value
from neardup.collection.facts import facts, holds
from neardup.collection.store.failures import damaged, well_formed
from neardup.collection.store.schema import seal
from neardup.errors import FormatError, InputError
from neardup.tables import Int64s, UInt32s, UInt64s

All = Callable[..., list[Any]]
"""Runs a statement with parameters and returns all rows."""

FEW = 1000
"""Of so many documents the metadata is read; of more the whole answer is looked up and compared."""

_PROBE = 30
"""To look for a phrase in one document costs as much as to read so many documents that hold it (measured)."""

TOTALS = "documents, tokens, shingles, postings, text_bytes, packed_bytes, change"

_BLOCK = 100_000
_PARAMETERS = 500
_ROW = "SELECT number, id, size, tokens, shingles, metadata, signature, seal FROM documents"
_LISTED = "(SELECT value FROM json_each(?))"

# A number is below every string in SQLite, and '' is the first string: this keeps the comparison within its kind.
_NUMBERS_ONLY, _STRINGS_ONLY = "AND value < ''", "AND value >= ''"


class Lookups:
    """The look-ups of the contract, given a way to run statements."""

    def __init__(self, path: Path, slots: int) -> None:
        self._path, self._slots = path, slots

    def _all(self, statement: str, *parameters: Any) -> list[Any]:
        raise NotImplementedError

    def _blocks(self, statement: str) -> Iterator[list[Any]]:
        raise NotImplementedError

    def _settled(self) -> None:
        """Called before postings are looked up: they may wait to be written."""

    def totals(self) -> Totals:
        """What there is."""
        found = self._all(f"SELECT {TOTALS}, seal FROM totals")
        if len(found) != 1 or seal(found[0][:-1]) != found[0][-1]:
            raise self._damaged("its totals were changed")
        counts = found[0][:-1]
        [(pages,)], [(page,)] = self._all("PRAGMA page_count"), self._all("PRAGMA page_size")
        return Totals(*[*counts, pages * page])

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of those of the ids that exist."""
        found: dict[str, int] = {}
        for begin in range(0, len(ids), _PARAMETERS):
            # not json_each: it ends a string at a U+0000, which an id may hold
            part = ids[begin : begin + _PARAMETERS]
            places = ",".join("?" * len(part))
            found.update(self._all(f"SELECT id, number FROM documents WHERE id IN ({places})", *part))
        return found

    def everything(self) -> Int64s:
        """The numbers of all documents."""
        # without ORDER BY it is read from the index of ids, which is a tenth of the rows
        return np.sort(self._column("SELECT number FROM documents"))

    def page(self, after: int, limit: int) -> list[tuple[int, str]]:
        """(number, id) of the first documents behind a number."""
        rows = self._all("SELECT number, id FROM documents WHERE number > ? ORDER BY number LIMIT ?", after, limit)
        if not all(isinstance(id, str) for _, id in rows):
            raise self._damaged("an id is no text")
        return rows

    def rows(self, numbers: Int64s) -> list[Row]:
        """What is known of documents, in the order asked for."""
        found = {}
        for row in self._rows(numbers):
            number, id, size, tokens, shingles, metadata, _, _ = row
            found[number] = Row(number, id, json.loads(metadata), size, tokens, shingles)
        return [found[number] for number in numbers.tolist() if number in found]

    def sizes(self, numbers: Int64s) -> Int64s:
        """Number of different shingles, in the order asked for."""
        found = dict(
            self._all(f"SELECT number, shingles FROM documents WHERE number IN {_LISTED}", listed(numbers))
        )
        return self._integers([found[number] for number in numbers.tolist()])

    def signatures(self, numbers: Int64s) -> UInt32s:
        """The signatures, in the order asked for."""
        found = {row[0]: row[6] for row in self._rows(numbers)}
        joined = b"".join(found[number] for number in numbers.tolist())
        return np.frombuffer(joined, "<u4").astype(np.uint32).reshape(-1, self._slots)

    def packed(self, numbers: Int64s) -> list[bytes]:
        """The compressed texts, in the order asked for."""
        found = dict(self._all(f"SELECT number, packed FROM texts WHERE number IN {_LISTED}", listed(numbers)))
        return [found[number] for number in numbers.tolist()]

    def holding(self, hashes: UInt64s, least: int = 1, among: Int64s | None = None) -> Hits:
        """Documents by how many of the hashes their sample holds."""
        self._settled()
        # each document is looked for in each list, where the lists are longer than that
        probing = among is not None and self.frequencies(hashes, len(among) + 1).sum() > len(hashes) * len(among)
        chosen = [f"AND document IN {_LISTED}", listed(among)] if among is not None and probing else [""]
        found = self._all(
            f"SELECT document, COUNT(*) FROM postings WHERE hash IN {_LISTED} {chosen[0]} "
            "GROUP BY document HAVING COUNT(*) >= ? ORDER BY document",
            *(listed(signed(hashes)), *chosen[1:], least),
        )
        pairs = self._integers(found).reshape(-1, 2)
        if among is not None and not probing:
            pairs = pairs[np.isin(pairs[:, 0], among)]
        return Hits(pairs[:, 0], pairs[:, 1])

    def frequencies(self, hashes: UInt64s, most: int) -> Int64s:
        """For each hash the number of documents, counted up to a bound."""
        self._settled()
        return self._column(
            "SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM postings WHERE hash = asked.value LIMIT ?)) "
            "FROM json_each(?) AS asked ORDER BY asked.key",
            most,
            listed(signed(hashes)),
        )

    def postings(self, hashes: UInt64s, most: int) -> list[Int64s]:
        """For each hash the first documents."""
        self._settled()
        found = self._all(
            "SELECT (SELECT group_concat(document) FROM "
            "(SELECT document FROM postings WHERE hash = asked.value ORDER BY document LIMIT ?)) "
            "FROM json_each(?) AS asked ORDER BY asked.key",
            most,
            listed(signed(hashes)),
        )
        with well_formed(self._path):
            return [np.array(json.loads(f"[{text or ''}]"), np.int64) for (text,) in found]

    def containing(
        self, tokens: Sequence[str], *, prefix: bool = False, among: Int64s | None = None, limit: int | None = None
    ) -> Int64s:
        """The documents with these tokens in a row."""
        if not tokens:
            return np.empty(0, np.int64)
        phrase = _phrase(tokens) + " *" * prefix
        if among is None:
            return self._matching(phrase, -1 if limit is None else limit)
        bound = _PROBE * len(among) + 100
        found = self._matching(phrase, bound)
        if len(found) == bound:
            found = self._matching_among(phrase, among)
        return np.intersect1d(found, among)[:limit]

    def _matching(self, phrase: str, limit: int) -> Int64s:
        statement = "SELECT rowid FROM fulltext WHERE fulltext MATCH ? ORDER BY rowid LIMIT ?"
        return self._column(statement, phrase, limit)

    def _matching_among(self, phrase: str, among: Int64s) -> Int64s:
        """Each of the documents looked for in the index: CROSS JOIN keeps the order."""
        statement = (
            "SELECT asked.value FROM json_each(?) AS asked CROSS JOIN fulltext "
            "WHERE fulltext.rowid = asked.value AND fulltext MATCH ?"
        )
        return self._column(statement, listed(among), phrase)

    def occurrences(self, tokens: Sequence[str]) -> Int64s:
        """For each token the number of documents that hold it."""
        found = dict(self._all(f"SELECT term, doc FROM words WHERE term IN {_LISTED}", json.dumps(list(tokens))))
        return np.array([found.get(token, 0) for token in tokens], np.int64)

    def has_key(self, key: str) -> bool:
        """Whether any document has this key."""
        return bool(
            self._all("SELECT 1 FROM facts WHERE key = (SELECT number FROM keys WHERE name = ?) LIMIT 1", key)
        )

    def where(self, key: str, operator: Operator, value: Value, among: Int64s | None = None) -> Int64s:
        """The documents whose metadata compares so."""
        require_comparable(operator, value)
        if among is not None and len(among) <= FEW:
            rows = self.rows(np.unique(among))
            return np.array([row.number for row in rows if _row_holds(row, key, operator, value)], np.int64)
        facts = "FROM facts WHERE key = (SELECT number FROM keys WHERE name = ?)"
        if operator == "!=":
            found = self._column(
                f"SELECT document {facts} EXCEPT SELECT document {facts} AND value = ? ORDER BY document",
                *(key, key, value),
            )
        else:
            kind = _STRINGS_ONLY if isinstance(value, str) else _NUMBERS_ONLY
            found = self._column(
                f"SELECT DISTINCT document {facts} AND value {operator} ? {kind} ORDER BY document", key, value
            )
        return _common(found, among)

    def sampled(self) -> Iterator[tuple[UInt64s, Int64s]]:
        """All postings in blocks."""
        self._settled()
        hash, document = -(1 << 63), 0
        while block := self._all(
            "SELECT hash, document FROM postings WHERE (hash, document) > (?, ?) ORDER BY hash, document LIMIT ?",
            *(hash, document, _BLOCK),
        ):
            pairs = self._integers(block)
            yield pairs[:, 0].astype(np.uint64), pairs[:, 1]
            hash, document = block[-1]

    def words(self) -> Iterator[list[tuple[bytes, int]]]:
        """The full-text index in blocks: each word with the sum of ``place_value``."""
        mixed = f"((doc % {PLACE_PRIME} * {PLACE_FACTOR} + offset) % {PLACE_PRIME})"
        total = f"SUM({mixed} * {mixed} % {PLACE_PRIME} + 1)"
        # as bytes: a word that was cut need not be UTF-8; places come in the order of words, so nothing is sorted
        return self._blocks(f"SELECT CAST(term AS BLOB), {total} FROM places GROUP BY term")

    def facts(self) -> Iterator[list[tuple[str, Value, int]]]:
        """The metadata as it is looked up, in blocks."""
        # a number without a name would be left out by a join
        name = "(SELECT name FROM keys WHERE number = key)"
        return self._blocks(f"SELECT {name}, value, document FROM facts ORDER BY key, value, document")

    def _rows(self, numbers: Int64s) -> list[Any]:
        """The rows of documents, each proven by its seal."""
        rows = self._all(f"{_ROW} WHERE number IN {_LISTED}", listed(numbers))
        for *row, signature, stored in rows:
            if seal(row, signature) != stored:
                raise self._damaged(f"the row of document {row[1]!r} was changed")
        return rows

    def _column(self, statement: str, *parameters: Any) -> Int64s:
        return self._integers([value for (value,) in self._all(statement, *parameters)])

    def _integers(self, values: list[Any]) -> Int64s:
        with well_formed(self._path):
            return np.array(values, np.int64)

    def _damaged(self, what: str) -> FormatError:
        return damaged(self._path, what)


def require_comparable(operator: str, value: Any) -> None:
    """Raise InputError unless metadata can be compared so."""
    if operator not in OPERATORS:
        raise InputError(f"There is no comparison {operator!r}", f"One of {' '.join(OPERATORS)}")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"Metadata cannot be compared with {value!r}", "A string or a number")
    if isinstance(value, str) and not _is_unicode(value):
        raise InputError(f"{value!r} is no Unicode text", "Text that can be written as UTF-8")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise InputError(f"{value} is beyond all numbers there are", "A number of 64 bits")


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def listed(numbers: Int64s) -> str:
    """Numbers as the one parameter that json_each takes."""
    return json.dumps(numbers.tolist())


def signed(hashes: UInt64s) -> Int64s:
    """The hashes as SQLite's integers: the same 64 bits."""
    return np.ascontiguousarray(hashes, np.uint64).view(np.int64)


def _phrase(tokens: Sequence[str]) -> str:
    """An FTS5 string. Our tokens hold no quotation mark; what is no token of ours cannot break out either."""
    return '"' + " ".join(tokens).replace('"', '""').replace("\0", " ") + '"'


def _row_holds(row: Row, key: str, operator: Operator, value: Value) -> bool:
    return holds([known for name, known in facts(row.metadata) if name == key], operator, value)


def _common(numbers: Int64s, among: Int64s | None) -> Int64s:
    return numbers if among is None else np.intersect1d(numbers, among)
