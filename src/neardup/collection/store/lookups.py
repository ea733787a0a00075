"""Look-ups in the tables. Numbers and hashes are passed as one JSON list: each look-up is one fixed statement."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from neardup.collection.contract import OPERATORS, Operator, StoredRow, Totals, Value
from neardup.collection.fields import facts, holds
from neardup.collection.store.failures import damaged, well_formed
from neardup.collection.store.schema import WITH_BASE_TEXTS
from neardup.collection.store.segments import KEY_BITS, MOST_NUMBER, Segments
from neardup.errors import FormatError, InputError
from neardup.io.decisions.log import seal
from neardup.tables import Int64s, UInt8s, UInt64s

FEW = 1000
"""For at most this many documents the metadata is read; for more, all matches are looked up and intersected."""

_PROBE = 30
"""Searching one document for words costs as much as reading this many documents that contain them (measured)."""

TOTALS = "documents, tokens, shingles, postings, text_bytes, packed_bytes, change"

_PARAMETERS = 500
ROW = "SELECT number, id, size, tokens, shingles, metadata, signature, seal FROM documents"
_LISTED = "(SELECT value FROM json_each(?))"
_MATCHING = "SELECT rowid FROM terms WHERE terms MATCH ?"
_FIRST = "SELECT rowid FROM terms WHERE terms MATCH asked.value ORDER BY rowid LIMIT ?"

# The form that the tokenizer of the index treats as one word and leaves unchanged; the index has no other words.
_TOKEN = re.compile(r"[0-9_a-z\u0080-\U0010ffff]+")
_TERMS_AT_ONCE = 60

# A number is below every string in SQLite, and '' is the first string: this keeps the comparison within its kind.
_NUMBERS_ONLY, _STRINGS_ONLY = "AND value < ''", "AND value >= ''"


class StoreLookups:
    """The look-ups of the contract; subclasses provide the methods that run statements."""

    def __init__(self, path: Path, slots: int) -> None:
        self._path, self._slots = path, slots

    def _segments(self) -> Segments:
        raise NotImplementedError

    def _common(self) -> dict[int, int]:
        raise NotImplementedError

    def _all(self, statement: str, *parameters: Any) -> list[Any]:
        raise NotImplementedError

    def _each(self, statement: str, *parameters: Any) -> Iterator[Any]:
        raise NotImplementedError

    def totals(self) -> Totals:
        """The totals of the collection."""
        found = self._all(f"SELECT {TOTALS}, seal FROM totals")
        if len(found) != 1 or seal(found[0][:-1]) != found[0][-1]:
            raise self._damaged("its totals were changed")
        counts = found[0][:-1]
        [(pages,)], [(page,)] = self._all("PRAGMA page_count"), self._all("PRAGMA page_size")
        return Totals(*[*counts, pages * page])

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of the ``ids`` that exist."""
        found: dict[str, int] = {}
        for begin in range(0, len(ids), _PARAMETERS):
            # not json_each: it ends a string at a U+0000, which an id may contain
            part = ids[begin : begin + _PARAMETERS]
            places = ",".join("?" * len(part))
            found.update(self._all(f"SELECT id, number FROM documents WHERE id IN ({places})", *part))
        return found

    def everything(self) -> Int64s:
        """The numbers of all documents."""
        # without ORDER BY, SQLite reads the index of ids, which is a tenth of the rows
        return np.sort(self._column("SELECT number FROM documents"))

    def page(self, after: int, limit: int) -> list[tuple[int, str]]:
        """(number, id) of the first ``limit`` documents with a number above ``after``, ascending."""
        rows = self._all("SELECT number, id FROM documents WHERE number > ? ORDER BY number LIMIT ?", after, limit)
        if not all(isinstance(id, str) for _, id in rows):
            raise self._damaged("an id is not text")
        return rows

    def rows(self, numbers: Int64s) -> list[StoredRow]:
        """The rows of the documents, in the order of ``numbers``; documents that do not exist are left out."""
        found = {}
        for row in self._rows(numbers):
            number, id, size, tokens, shingles, metadata, _, _ = row
            found[number] = StoredRow(number, id, json.loads(metadata), size, tokens, shingles)
        return [found[number] for number in numbers.tolist() if number in found]

    def base_texts(self) -> dict[int, int]:
        """The numbers of the base texts, each with a random mark that no other text has had."""
        [(version,)] = self._all("PRAGMA user_version")
        if version < WITH_BASE_TEXTS:
            return {}
        found = self._all("SELECT document, mark, seal FROM base_texts")
        for document, mark, stored in found:
            if seal([document, mark]) != stored:
                raise self._damaged(f"the role of document number {document} was changed")
        return {document: mark for document, mark, _ in found}

    def ids(self, numbers: Int64s) -> list[str]:
        """The ids, in the order of ``numbers``; KeyError for an unknown document. Cheaper than ``rows``."""
        found = dict(self._all(f"SELECT number, id FROM documents WHERE number IN {_LISTED}", listed(numbers)))
        return [found[number] for number in numbers.tolist()]

    def sizes(self, numbers: Int64s) -> Int64s:
        """The numbers of distinct shingles, in the order of ``numbers``; KeyError for an unknown document."""
        # as one text, in ascending order of the numbers: a third of the time of separate rows (measured)
        rows = f"SELECT shingles FROM documents WHERE number IN {_LISTED} ORDER BY number"
        [(text,)] = self._all(f"SELECT GROUP_CONCAT(shingles) FROM ({rows})", listed(numbers))
        found = self._integers(text.split(",") if text else [])
        if len(found) != len(numbers):
            raise KeyError("a number that does not exist")
        return found[np.argsort(np.argsort(numbers))]

    def signatures(self, numbers: Int64s) -> UInt8s:
        """uint8[n, slots]: the low 8 bits of each slot, in the order of ``numbers``; KeyError for unknown ones."""
        found = {row[0]: row[6] for row in self._rows(numbers)}
        joined = b"".join(found[number] for number in numbers.tolist())
        return np.frombuffer(joined, np.uint8).reshape(-1, self._slots)

    def packed(self, numbers: Int64s) -> list[bytes]:
        """The compressed texts, in the order of ``numbers``; raises KeyError for a number that does not exist."""
        found = dict(self._all(f"SELECT number, packed FROM texts WHERE number IN {_LISTED}", listed(numbers)))
        return [found[number] for number in numbers.tolist()]

    def postings(self, hashes: UInt64s) -> list[Int64s]:
        """For each hash, the documents whose sample contains it.

        A store may keep only the bits ``KEPT`` of a hash, and so also return documents that contain another hash
        with the same bits: the results are candidates.
        """
        documents, offsets = self._segments().lists(hashes)
        return [documents[begin:end] for begin, end in pairwise(offsets.tolist())]

    def rarest_postings(self, hashes: UInt64s, most: int) -> tuple[Int64s, list[Int64s]]:
        """The places of the rarest hashes, ascending, and what ``postings`` returns for these.

        Their lists together have at most ``most`` documents, but the rarest hash is always among them.
        """
        return self._segments().rarest(hashes, most, self._common())

    def containing(
        self, tokens: Sequence[str], *, prefix: bool = False, among: Int64s | None = None, limit: int | None = None
    ) -> Int64s:
        """The documents with all these tokens, in any order.

        With ``prefix``, the last token may be the beginning of a word. Only documents of ``among``, if given, and
        only the first ``limit``. Tokens are distinguished by their first 32,768 bytes. Without tokens, no document
        matches.
        """
        wanted = list(dict.fromkeys(tokens))
        if not wanted or not all(map(_TOKEN.fullmatch, wanted)):
            return np.empty(0, np.int64)
        begin = [wanted.pop()] if prefix else []
        parts = [_all_of(wanted[k : k + _TERMS_AT_ONCE]) for k in range(0, len(wanted), _TERMS_AT_ONCE)]
        parts += [_all_of(begin) + " *"] if begin else []
        for part in parts[:-1]:
            among = self._holding(part, among)
        return self._holding(parts[-1], among, limit)

    def _holding(self, match: str, among: Int64s | None, limit: int | None = None) -> Int64s:
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
        return self._column(statement, listed(among), match)

    def occurrences(self, tokens: Sequence[str], most: int) -> Int64s:
        """For each token the number of documents that contain it: exact below ``most``, above that an estimate."""
        if not tokens:
            return np.empty(0, np.int64)
        last = self._last()
        # an invalid token is looked up as a character that is not part of any token: it occurs nowhere
        asked = json.dumps([_all_of([token if _TOKEN.fullmatch(token) else "#"]) for token in tokens])
        statement = (
            f"SELECT (SELECT COUNT(*) || ' ' || COALESCE(MAX(rowid), 0) FROM ({_FIRST})) "
            "FROM json_each(?) AS asked ORDER BY asked.key"
        )
        found = [map(int, row.split()) for (row,) in self._all(statement, most, asked)]
        return np.array([_estimated(count, reached, most, last) for count, reached in found], np.int64)

    def _last(self) -> int:
        [(last,)] = self._all("SELECT MAX(number) FROM documents")
        return last or 0

    def has_key(self, key: str) -> bool:
        """Whether the metadata of any document has this key, with a value."""
        return bool(
            self._all("SELECT 1 FROM facts WHERE key = (SELECT number FROM keys WHERE name = ?) LIMIT 1", key)
        )

    def where(self, key: str, operator: Operator, value: Value, among: Int64s | None = None) -> Int64s:
        """The documents whose metadata has a matching value for ``key``, among those of ``among`` if given.

        Any element of a list may match; a record in a record has the key ``outer.inner``. ``!=`` finds the
        documents that have the key, but not with this value. Strings are ordered by code point.
        """
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
        """All postings in blocks, each once: hashes, valid in the bits ``KEPT``, and documents. For checks."""
        for postings in self._segments().each():
            yield postings >> np.uint64(KEY_BITS), (postings & np.uint64(MOST_NUMBER)).astype(np.int64)

    def words(self) -> Iterator[tuple[bytes, int, int]]:
        """Each word of the full text once: its first 32,768 bytes, documents, sum of their numbers. For checks."""
        # as bytes, because a word that was cut off may end within a character
        rows = self._each("SELECT CAST(term AS BLOB), doc FROM entries ORDER BY term")
        for word, found in groupby(rows, itemgetter(0)):
            documents = [document for _, document in found]
            yield word, len(documents), sum(documents)

    def facts(self) -> Iterator[tuple[str, Value, int]]:
        """The metadata as it is indexed: (key, value, document). For checks."""
        # a join would leave out a number without a name
        name = "(SELECT name FROM keys WHERE number = key)"
        return self._each(f"SELECT {name}, value, document FROM facts ORDER BY key, value, document")

    def _rows(self, numbers: Int64s) -> list[Any]:
        """The rows of documents, each verified by its seal."""
        rows = self._all(f"{ROW} WHERE number IN {_LISTED}", listed(numbers))
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
    """Raise InputError for an unknown operator, or a value that cannot be compared with metadata."""
    if operator not in OPERATORS:
        raise InputError(f"There is no comparison {operator!r}", f"One of {' '.join(OPERATORS)}")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"Metadata cannot be compared with {value!r}", "A string or a number")
    if isinstance(value, str) and not _is_unicode(value):
        raise InputError(f"{value!r} is not Unicode text", "Text that can be written as UTF-8")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise InputError(f"{value} is beyond all numbers there are", "A number of 64 bits")


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def listed(numbers: Int64s) -> str:
    """Numbers as the one parameter that json_each accepts."""
    return json.dumps(numbers.tolist())


def _all_of(terms: Sequence[str]) -> str:
    """An FTS5 expression. Terms match ``_TOKEN``, so they do not contain quotation marks."""
    return " AND ".join(f'"{term}"' for term in terms)


def _estimated(count: int, reached: int, most: int, last: int) -> int:
    """Estimate the documents if the rest, up to number ``last``, is like those up to ``reached``."""
    return count if count < most else max(most, round(most * last / reached))


def _row_holds(row: StoredRow, key: str, operator: Operator, value: Value) -> bool:
    return holds([known for name, known in facts(row.metadata) if name == key], operator, value)


def _common(numbers: Int64s, among: Int64s | None) -> Int64s:
    return numbers if among is None else np.intersect1d(numbers, among)
