"""A collection as it is at one moment: the look-ups of a search, in terms of texts and words."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import numpy as np
import pyarrow as pa

from neardup.collection.contract import Operator, Store, Value, too_long
from neardup.collection.settings import CollectionSettings
from neardup.collection.stored import loaded
from neardup.errors import FormatError
from neardup.fingerprints import shingle_sets
from neardup.tables import Int64s, UInt64s

_COUNTED = 10_000
"""Postings are counted up to so many: more are many, whatever they are."""


class View:
    """The documents of a store, named by numbers; valid within ``Collection.view()``, in that thread.

    Look-ups raise LimitError when ``time.monotonic()`` is past ``until``.

    Arrays of documents are int64, sorted and without repeats, given and returned.
    """

    def __init__(self, store: Store, until: float | None = None) -> None:
        self._all, self._until = store, until

    @property
    def _store(self) -> Store:
        """The store, as long as there is time."""
        if self._until is not None and monotonic() > self._until:
            raise too_long()
        return self._all

    @property
    def sampling(self) -> CollectionSettings:
        """Which shingles have postings: ``scale``, ``floor``, ``length``, ``limit``."""
        return self._store.settings

    def total(self) -> int:
        """Number of documents."""
        return self._store.totals().documents

    def everything(self) -> Int64s:
        """All documents."""
        return self._store.everything()

    def number(self, id: str) -> int | None:
        """The document of this id, or None."""
        return self._store.numbers([id]).get(id)

    def ids(self, documents: Int64s) -> list[str]:
        """The ids of these documents, in their order."""
        rows = self._store.rows(documents)
        if len(rows) != len(documents):
            raise _lost()
        return [row.id for row in rows]

    def text(self, document: int) -> str:
        """The text of a document. Raises FormatError when it is damaged."""
        [(_, text)] = loaded(self._store, np.array([document], np.int64))
        return text.decode("utf-8", "replace")

    def sizes(self, documents: Int64s) -> Int64s:
        """Number of different shingles of each document."""
        try:
            return self._store.sizes(documents)
        except KeyError as error:
            raise _lost() from error

    def shingle_sets(self, documents: Int64s) -> tuple[UInt64s, Int64s]:
        """Set k, sorted, is ``hashes[offsets[k]:offsets[k + 1]]``: all shingles of the text, not the sample."""
        texts = pa.array([text for _, text in loaded(self._store, documents)], pa.large_binary())
        sets = shingle_sets(texts, np.arange(len(texts)), self._store.settings.fingerprint)
        return sets.hashes, sets.offsets

    def posting_counts(self, hashes: UInt64s) -> Int64s:
        """How many documents have a posting for each of these shingles, counted up to 10 000."""
        return self._store.frequencies(hashes, _COUNTED)

    def holders(self, hashes: UInt64s, among: Int64s | None = None) -> tuple[Int64s, Int64s]:
        """The documents (of ``among``) that have a posting for some of these shingles, and for how many each."""
        hits = self._store.holding(hashes, among=among)
        return hits.numbers, hits.counts

    def word_counts(self, words: Sequence[str]) -> Int64s:
        """How many documents hold each of these tokens."""
        return self._store.occurrences(words)

    def phrase(self, words: Sequence[str], among: Int64s | None = None) -> Int64s:
        """The documents (of ``among``) that hold these tokens, one after the other."""
        return self._store.containing(words, among=among)

    def has_field(self, field: str) -> bool:
        """Whether the metadata of any document has this field."""
        return self._store.has_key(field)

    def compare(self, field: str, operator: Operator, value: Value, among: Int64s | None = None) -> Int64s:
        """The documents (of ``among``) whose metadata has ``field`` with such a value; see ``Store.where``."""
        return self._store.where(field, operator, value, among)


def _lost() -> FormatError:
    return FormatError(
        "The collection is damaged: an index names documents that are not there", "", "Restore it from a copy"
    )
