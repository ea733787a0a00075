"""Look-ups in the tables. Numbers are passed as one JSON list: each look-up is one fixed statement."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from neardup.collection.contract import OPERATORS, Operator, StoredRow, Totals, Value
from neardup.collection.fields import facts, holds
from neardup.collection.settings import CollectionSettings
from neardup.collection.store.failures import damaged_error, well_formed
from neardup.collection.store.segments import KEY_BITS, MOST_NUMBER, Segments
from neardup.collection.store.statements import LISTED, list_parameter
from neardup.errors import FormatError, InputError
from neardup.io.decisions import seal
from neardup.io.place import Place
from neardup.tables import Int64s, UInt8s, UInt64s

FEW = 1000
"""For at most this many documents the metadata is read; for more, all matches are looked up and intersected."""

TOTALS = "documents, tokens, shingles, postings, text_bytes, packed_bytes, change"
SEALED_TOTALS = f"SELECT {TOTALS}, seal FROM totals"
BASE_TEXTS = "SELECT document, mark, seal FROM base_texts"

_PARAMETERS = 500
ROW = "SELECT number, id, size, tokens, shingles, metadata, signature, seal FROM documents"
TOKEN = re.compile(r"[0-9_a-z\u0080-\U0010ffff]+")
"""The form of a token: no index of words has another one."""


class StoreLookups:
    """The look-ups of the contract; subclasses provide those that their database answers in its own way."""

    _place: Place
    settings: CollectionSettings

    def _segments(self) -> Segments:
        raise NotImplementedError

    def _common(self) -> dict[int, int]:
        raise NotImplementedError

    def _all(self, statement: str, *parameters: Any) -> list[Any]:
        raise NotImplementedError

    def _bytes(self) -> int:
        """Everything that the store occupies."""
        raise NotImplementedError

    def _has_base_texts(self) -> bool:
        raise NotImplementedError

    def _documents_with_words(
        self, words: Sequence[str], beginning: str | None, among: Int64s | None, limit: int | None
    ) -> Int64s:
        """The documents with all these words, and with a word of this ``beginning``; all have the form TOKEN."""
        raise NotImplementedError

    def _occurrences(self, tokens: Sequence[str], most: int) -> Int64s:
        """What ``occurrences`` returns for at least one token; "#" is a token that no document has."""
        raise NotImplementedError

    def _documents_where(self, key: str, operator: Operator, value: Value) -> Int64s:
        """What ``where`` returns of all documents."""
        raise NotImplementedError

    def words(self) -> Iterator[tuple[bytes, int, int]]:
        """Each word of the full text once: its first 32,768 bytes, documents, sum of their numbers. For checks."""
        raise NotImplementedError

    def facts(self) -> Iterator[tuple[str, Value, int]]:
        """The metadata as it is indexed: (key, value, document). For checks."""
        raise NotImplementedError

    def totals(self) -> Totals:
        """The totals of the collection."""
        return Totals(*[*self._totals(), self._bytes()])

    def documents(self) -> int:
        """The number of documents; cheaper than ``totals``."""
        return self._totals()[0]

    def _totals(self) -> list[int]:
        rows = self._all(SEALED_TOTALS)
        if len(rows) != 1 or seal(rows[0][:-1]) != rows[0][-1]:
            raise self._damaged_error("its totals were changed")
        return list(rows[0][:-1])

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
            raise self._damaged_error("an id is not text")
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
        if not self._has_base_texts():
            return {}
        found = self._all(BASE_TEXTS)
        for document, mark, stored in found:
            if seal([document, mark]) != stored:
                raise self._damaged_error(f"the role of document number {document} was changed")
        return {document: mark for document, mark, _ in found}

    def ids(self, numbers: Int64s) -> list[str]:
        """The ids, in the order of ``numbers``; KeyError for an unknown document. Cheaper than ``rows``."""
        found = dict(self._all(f"SELECT number, id FROM documents WHERE number {LISTED}", list_parameter(numbers)))
        return [found[number] for number in numbers.tolist()]

    def sizes(self, numbers: Int64s) -> Int64s:
        """The numbers of distinct shingles, in the order of ``numbers``; KeyError for an unknown document."""
        # as one text, in ascending order of the numbers: a third of the time of separate rows (measured)
        rows = f"SELECT shingles FROM documents WHERE number {LISTED} ORDER BY number"
        [(text,)] = self._all(f"SELECT GROUP_CONCAT(shingles) FROM ({rows}) AS ordered", list_parameter(numbers))
        found = self._integers(text.split(",") if text else [])
        if len(found) != len(numbers):
            raise KeyError("a number that does not exist")
        return found[np.argsort(np.argsort(numbers))]

    def signatures(self, numbers: Int64s) -> UInt8s:
        """uint8[n, slots]: the low 8 bits of each slot, in the order of ``numbers``; KeyError for unknown ones."""
        found = {row[0]: row[6] for row in self._rows(numbers)}
        joined = b"".join(found[number] for number in numbers.tolist())
        return np.frombuffer(joined, np.uint8).reshape(-1, self.settings.slots)

    def packed(self, numbers: Int64s) -> list[bytes]:
        """The compressed texts, in the order of ``numbers``; raises KeyError for a number that does not exist."""
        found = dict(self._all(f"SELECT number, packed FROM texts WHERE number {LISTED}", list_parameter(numbers)))
        return [found[number] for number in numbers.tolist()]

    def short_packed(self, numbers: Int64s, most: int) -> list[bytes | None]:
        """What ``packed`` returns, with None for a text of more than ``most`` bytes as it is stored."""
        short = "CASE WHEN length(packed) <= ? THEN packed END"
        statement = f"SELECT number, {short} FROM texts WHERE number {LISTED}"
        texts = dict(self._all(statement, most, list_parameter(numbers)))
        return [texts[number] for number in numbers.tolist()]

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
        if not wanted or not all(map(TOKEN.fullmatch, wanted)):
            return np.empty(0, np.int64)
        beginning = wanted.pop() if prefix else None
        return self._documents_with_words(wanted, beginning, among, limit)

    def occurrences(self, tokens: Sequence[str], most: int) -> Int64s:
        """For each token the number of documents that contain it: exact below ``most``, above that an estimate."""
        if not tokens:
            return np.empty(0, np.int64)
        return self._occurrences([token if TOKEN.fullmatch(token) else "#" for token in tokens], most)

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
        return _common(self._documents_where(key, operator, value), among)

    def sampled(self) -> Iterator[tuple[UInt64s, Int64s]]:
        """All postings in blocks, each once: hashes, valid in the bits ``KEPT``, and documents. For checks."""
        for postings in self._segments().each():
            yield postings >> np.uint64(KEY_BITS), (postings & np.uint64(MOST_NUMBER)).astype(np.int64)

    def _rows(self, numbers: Int64s) -> list[Any]:
        """The rows of documents, each verified by its seal."""
        rows = self._all(f"{ROW} WHERE number {LISTED}", list_parameter(numbers))
        for *row, signature, stored in rows:
            if seal(row, signature) != stored:
                raise self._damaged_error(f"the row of document {row[1]!r} was changed")
        return rows

    def _column(self, statement: str, *parameters: Any) -> Int64s:
        return self._integers([value for (value,) in self._all(statement, *parameters)])

    def _integers(self, values: list[Any]) -> Int64s:
        with well_formed(self._place):
            return np.array(values, np.int64)

    def _damaged_error(self, what: str) -> FormatError:
        return damaged_error(self._place, what)


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


def _row_holds(row: StoredRow, key: str, operator: Operator, value: Value) -> bool:
    return holds([known for name, known in facts(row.metadata) if name == key], operator, value)


def _common(numbers: Int64s, among: Int64s | None) -> Int64s:
    return numbers if among is None else np.intersect1d(numbers, among)
