"""The state of a collection at one moment: the look-ups of a search, in terms of texts and words."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from neardup.collection.contract import Operator, StoredRow, Value
from neardup.collection.entries import loaded_texts, text_bytes, token_stream, unpack
from neardup.collection.fields import facts, holds
from neardup.collection.sets import (
    MANY,
    CollectionBase,
    ShingleOutlines,
    base_of,
    known_shingles,
    outlines_of,
    texts_of,
)
from neardup.collection.settings import CollectionSettings
from neardup.collection.store import Store
from neardup.display.view import Public
from neardup.errors import FormatError
from neardup.kernels.postings import tally
from neardup.runtime import UNLIMITED, Deadline, ordered_map
from neardup.tables import Int64s, UInt64s
from neardup.text.sketch import shared_shingles, shared_with_each

TAGS = "tag"
"""The field whose values are the tags of a document, besides its metadata of this name."""

_COUNTED = 300
"""The documents with a word are counted up to this number; above it, their number is an estimate."""

_AT_ONCE, _MOST_BYTES, _LONG = 256, 32 << 20, 1 << 20
"""The most documents, and the most bytes of text, that are compared at a time.

A compressed text of more than ``_LONG`` bytes is read by itself.
"""
_FEW_ROWS = 1_000
"""For at most this many documents the metadata is read once, for all comparisons."""


@dataclass(frozen=True, eq=False)
class _Compared:
    """Documents to be compared, their known shingles, and the compressed texts of those without."""

    numbers: list[int]
    packed: list[bytes]
    known: list[UInt64s | None]


class View(Public):
    """The documents of a store, identified by numbers; valid within ``Collection.view()``, in that thread.

    Look-ups raise LimitError when the deadline has passed.

    Arrays of documents, as arguments and as results, are int64, sorted and without repeats.
    """

    def __init__(self, store: Store, deadline: Deadline = UNLIMITED) -> None:
        self._store, self._deadline = store, deadline
        self._total: int | None = None
        self._numbers: dict[str, int | None] = {}
        self._ids: dict[int, str] = {}
        self._lists: dict[int, Int64s] = {}
        self._facts_of: Int64s | None = None
        self._facts: dict[str, dict[int, list[Value]]] = {}

    def __repr__(self) -> str:
        return f"View({self._store!r})"

    @property
    def sampling(self) -> CollectionSettings:
        """The rule that determines which shingles have postings: ``scale``, ``floor``, ``length``, ``limit``."""
        return self._store.settings

    def total(self) -> int:
        """The number of documents."""
        self._deadline.check()
        if self._total is None:
            self._total = self._store.documents()
        return self._total

    def everything(self) -> Int64s:
        """All documents."""
        self._deadline.check()
        return self._store.everything()

    def number(self, id: str) -> int | None:
        """The document of this id, or None."""
        return self.numbered([id]).get(id)

    def numbered(self, ids: Sequence[str]) -> dict[str, int]:
        """The documents of the ids that exist, in one look-up."""
        self._deadline.check()
        missing = [id for id in ids if id not in self._numbers]
        if missing:
            self._numbers |= dict.fromkeys(missing) | self._store.numbers(missing)
        known = ((id, self._numbers[id]) for id in ids)
        return {id: number for id, number in known if number is not None}

    @cached_property
    def base(self) -> CollectionBase:
        """The base text, whose shingles do not count."""
        return base_of(self._store, self._deadline)

    def base_texts(self) -> list[str]:
        """The base texts themselves, for a comparison."""
        self._deadline.check()
        return texts_of(self._store)

    def ids(self, documents: Int64s) -> list[str]:
        """The ids of the documents, in their order."""
        self._deadline.check()
        numbers = documents.tolist()
        missing = [number for number in numbers if number not in self._ids]
        if missing:
            try:
                self._ids |= zip(missing, self._store.ids(np.array(missing, np.int64)), strict=True)
            except KeyError as error:
                raise _lost_error() from error
        return [self._ids[number] for number in numbers]

    def text(self, document: int) -> str:
        """The text of a document. Raises FormatError if it is damaged."""
        [text] = self.contents([document])
        return text

    def contents(self, documents: list[int]) -> list[str]:
        """The texts of documents, in this order. Raises FormatError for a damaged one."""
        return [text.decode("utf-8", "replace") for text in self._load_texts(documents)]

    def known_shingles(self, document: int) -> UInt64s | None:
        """The shingles of a document (uint64, in text order, with repeats), if it has been compared; else None."""
        [part] = self._compared_parts([document])
        return part.known[0]

    def row(self, document: int) -> StoredRow:
        """The row of a document. Raises FormatError if it is missing."""
        self._deadline.check()
        rows = list(self._store.rows(np.array([document], np.int64)))
        if not rows:
            raise _lost_error()
        return rows[0]

    def sizes(self, documents: Int64s) -> Int64s:
        """The number of distinct shingles of each document."""
        self._deadline.check()
        try:
            return self._store.sizes(documents)
        except KeyError as error:
            raise _lost_error() from error

    def shared(self, hashes: UInt64s, documents: Int64s) -> Int64s:
        """The number of shingles in ``hashes`` (distinct) that each document contains, counted on its whole text.

        While a thread counts some texts, the next are read. The outlines of many documents are kept for
        ``may_share``.
        """
        outlines = self._outlines if len(documents) >= MANY else None
        known, settings = known_shingles(self._store), self._store.settings

        def count_part(part: _Compared) -> Int64s:
            shared = np.empty(len(part.numbers), np.int64)
            sets = {k: own for k, own in enumerate(part.known) if own is not None}
            if sets:
                shared[list(sets)] = shared_with_each(list(sets.values()), hashes)
            new = [k for k in range(len(shared)) if k not in sets]
            if new:
                texts = pa.array([unpack(part.packed[k], "") for k in new], pa.large_binary())
                shared[new], in_order, offsets = shared_shingles(texts, hashes, settings.fingerprint, settings.key)
                for k, (begin, end) in zip(new, pairwise(offsets.tolist()), strict=True):
                    sets[k] = in_order[begin:end].copy()  # a view would keep the others in memory, too
                    known.keep(part.numbers[k], self._state, part.packed[k], sets[k])
            if outlines:
                outlines.keep([part.numbers[k] for k in sets], list(sets.values()))
            return shared

        numbers = documents.tolist()
        parts = (
            part
            for begin in range(0, len(numbers), _AT_ONCE)
            for part in self._compared_parts(numbers[begin : begin + _AT_ONCE])
        )
        counts = map(count_part, parts) if len(documents) <= _AT_ONCE else ordered_map(count_part, parts, 1)
        try:
            return np.concatenate([np.empty(0, np.int64), *counts])
        except FormatError:
            for number in numbers:
                self._unpack_texts([number], self._packed_texts([number]))  # to say which
            raise

    def _compared_parts(self, numbers: list[int]) -> Iterator[_Compared]:
        """The documents in parts; of those whose shingles are known in this state, no text is read."""
        known, state = known_shingles(self._store), self._state
        sets = known.in_state(numbers, state)
        unread = [k for k, own in enumerate(sets) if own is None]
        packed: list[bytes | None] = [b""] * len(numbers)
        lengths = np.zeros(len(numbers), np.int64)
        for k, data in zip(unread, self._short_packed([numbers[k] for k in unread]), strict=True):
            packed[k], lengths[k] = data, _MOST_BYTES if data is None else text_bytes(data)
        for part in batches(lengths):
            those, own = numbers[part], sets[part]
            read = [
                self._packed_texts([those[k]])[0] if data is None else data for k, data in enumerate(packed[part])
            ]
            left = [k for k, hashes in enumerate(own) if hashes is None and those[k] in known]
            for k, hashes in zip(
                left, known.of([those[k] for k in left], [read[k] for k in left], state), strict=True
            ):
                own[k] = hashes
            yield _Compared(those, read, own)

    def may_share(self, hashes: UInt64s, documents: Int64s, least: int) -> Int64s:
        """The documents, without those known to contain fewer than ``least`` of ``hashes``; reads no text."""
        if len(documents) < MANY or not self._outlines:
            return documents
        return documents[self._outlines.may_share(hashes, documents, least)]

    @cached_property
    def _state(self) -> str:
        return self._store.state()

    @cached_property
    def _outlines(self) -> ShingleOutlines | None:
        return outlines_of(self._store)

    def posting_counts(self, hashes: UInt64s) -> Int64s:
        """The number of documents with a posting for each shingle; the lists are kept for ``holders``."""
        return np.array([len(documents) for documents in self._postings(hashes)], np.int64)

    def rarest(self, hashes: UInt64s, most: int) -> UInt64s:
        """The rarest of the shingles, with at most ``most`` postings together, but one shingle at least."""
        self._deadline.check()
        places, lists = self._store.rarest_postings(hashes, most)
        self._lists |= zip(hashes[places].tolist(), lists, strict=True)
        return hashes[places]

    def holders(self, hashes: UInt64s, least: int = 1, among: Int64s | None = None) -> tuple[Int64s, Int64s]:
        """The documents (of ``among``) with postings for ``least`` or more of the shingles, and for how many."""
        documents = np.concatenate([np.empty(0, np.int64), *self._postings(hashes)])
        if among is not None:
            documents = documents[np.isin(documents, among)]
        seen = np.zeros(int(documents.max(initial=0)) + 1, np.int64)  # untouched, it needs no memory
        found = np.empty(len(documents), np.int64)
        found = np.sort(found[: tally(documents, least, seen, found)])
        return found, seen[found]

    def _postings(self, hashes: UInt64s) -> list[Int64s]:
        asked = hashes.tolist()
        missing = [value for value in asked if value not in self._lists]
        if missing:
            self._deadline.check()
            self._lists |= zip(missing, self._store.postings(np.array(missing, np.uint64)), strict=True)
        return [self._lists[value] for value in asked]

    def word_counts(self, words: Sequence[str]) -> Int64s:
        """The approximate number of documents that contain each token; exact below 300."""
        self._deadline.check()
        return self._store.occurrences(words, _COUNTED)

    def having(self, words: Sequence[str], among: Int64s | None = None) -> Int64s:
        """The documents (of ``among``) that contain all these tokens, in any order."""
        self._deadline.check()
        return self._store.containing(words, among=among)

    def phrase(self, words: Sequence[str], among: Int64s | None = None) -> Int64s:
        """The documents (of ``among``) that contain these tokens consecutively; verified on their texts."""
        documents = self.having(words, among)
        if len(set(words)) == len(words) == 1:
            return documents
        wanted = f" {' '.join(words)} "
        holds = np.zeros(len(documents), np.bool_)
        for begin in range(0, len(documents), _AT_ONCE):
            texts = self._load_texts(documents[begin : begin + _AT_ONCE].tolist())
            streams = token_stream(pa.array(texts, pa.large_binary()))
            holds[begin : begin + _AT_ONCE] = [wanted in f" {stream}" for stream in streams.texts]
        return documents[holds]

    def has_field(self, field: str) -> bool:
        """Whether the metadata of any document has this field; tags are a field of every collection."""
        self._deadline.check()
        return field == TAGS or self._store.has_key(field)

    def compare(self, field: str, operator: Operator, value: Value, among: Int64s | None = None) -> Int64s:
        """The documents (of ``among``) whose metadata has a matching value of ``field``; see ``Store.where``.

        The tags of a document are values of the field ``TAGS``, too.
        """
        stored = self._in_metadata(field, operator, value, among)
        if field != TAGS or not isinstance(value, str):
            return stored
        if operator == "!=":
            any_tag = np.union1d(stored, self._tagged_documents(">", "", among))
            return np.setdiff1d(any_tag, self.compare(field, "=", value, among), assume_unique=True)
        return np.union1d(stored, self._tagged_documents(operator, value, among))

    def _tagged_documents(self, operator: Operator, tag: str, among: Int64s | None) -> Int64s:
        numbers = np.array(self._store.decisions.tagged_documents(operator, tag), np.int64)
        return numbers if among is None else np.intersect1d(numbers, among, assume_unique=True)

    def _in_metadata(self, field: str, operator: Operator, value: Value, among: Int64s | None) -> Int64s:
        self._deadline.check()
        if among is None or len(among) > _FEW_ROWS:
            return self._store.where(field, operator, value, among)
        if self._facts_of is None or not np.array_equal(np.union1d(among, self._facts_of), self._facts_of):
            self._facts_of, self._facts = among, _facts_of(self._store.rows(among))
        known = self._facts.get(field, {})
        numbers = among.tolist()
        return np.array([number for number in numbers if holds(known.get(number, ()), operator, value)], np.int64)

    def _load_texts(self, numbers: list[int]) -> list[bytes]:
        return self._unpack_texts(numbers, self._packed_texts(numbers))

    def _packed_texts(self, numbers: list[int]) -> list[bytes]:
        self._deadline.check()
        try:
            return self._store.packed(np.array(numbers, np.int64))
        except KeyError as error:
            raise _lost_error() from error

    def _short_packed(self, numbers: list[int]) -> list[bytes | None]:
        self._deadline.check()
        try:
            return self._store.short_packed(np.array(numbers, np.int64), _LONG)
        except KeyError as error:
            raise _lost_error() from error

    def _unpack_texts(self, numbers: list[int], packed: list[bytes]) -> list[bytes]:
        try:
            return [unpack(data, "") for data in packed]
        except FormatError:
            return [text for _, text in loaded_texts(self._store, np.array(numbers, np.int64))]  # to say which


def _facts_of(rows: Iterable[StoredRow]) -> dict[str, dict[int, list[Value]]]:
    """The values of documents by field and number."""
    found: dict[str, dict[int, list[Value]]] = {}
    for row in rows:
        for name, value in facts(row.metadata):
            found.setdefault(name, {}).setdefault(row.number, []).append(value)
    return found


def batches(sizes: Int64s, most: int = _MOST_BYTES) -> Iterator[slice]:
    """Slices of documents with these numbers of shingles, at most ``most`` at a time or one document."""
    begin = 0
    while begin < len(sizes):
        fit = np.searchsorted(np.cumsum(sizes[begin : begin + _AT_ONCE]), most, side="right")
        end = begin + max(1, int(fit))
        yield slice(begin, end)
        begin = end


def _lost_error() -> FormatError:
    return FormatError(
        "The collection is damaged: an index names documents that are not there", "", "Restore it from a copy"
    )
