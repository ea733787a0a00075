"""The interface that a collection requires of its store: about two dozen methods, so that stores can be exchanged.

A store keeps documents and answers look-ups; it does no text processing. ``entries.py`` computes everything
derived from a document beforehand and passes it on as columns. Documents are identified by a *number*, from 1 on,
which the store assigns and never reuses; the user's id is looked up once, at the border.

Numbers are returned as int64 arrays, ascending and without repeats, unless a method states otherwise.
``tests/contract`` contains the tests that every store must pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from neardup.collection.groups.contract import GroupLookups, GroupWriting
from neardup.collection.settings import CollectionSettings
from neardup.errors import LimitError, OutputError
from neardup.runtime import UNLIMITED, Deadline
from neardup.tables import Int64s, UInt8s, UInt32s, UInt64s

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]
OPERATORS: tuple[Operator, ...] = ("=", "!=", "<", "<=", ">", ">=")

KEPT = np.uint64((1 << 32) - 1)
"""The bits of a hash that a store keeps at least."""

Value: TypeAlias = str | int | float
"""A value to compare metadata with: strings with strings, numbers with numbers. Booleans are "true", "false"."""


@dataclass(frozen=True, eq=False)
class Entries:
    """Documents in the form that a store accepts, column by column; all columns have the same length n.

    ``packed`` are the compressed texts and ``sizes`` their bytes before compression. ``streams`` are the tokens,
    each followed by a space. ``hashes[offsets[d]:offsets[d + 1]]`` are the sampled shingles of document d (uint64,
    sorted). ``signatures`` is uint32[n, slots].
    """

    ids: Sequence[str]
    packed: Sequence[bytes]
    metadata: Sequence[Mapping[str, Any]]
    streams: Sequence[str]
    sizes: Int64s
    tokens: Int64s
    shingles: Int64s
    hashes: UInt64s
    offsets: Int64s
    signatures: UInt32s

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, places: Sequence[int]) -> Entries:
        """Return the documents at ``places``, in that order."""
        rows = np.array(places, np.int64)
        sizes = np.diff(self.offsets)[rows]
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        # the place of every hash: the beginning of its document, plus its offset within it
        begins = np.repeat(self.offsets[:-1][rows] - offsets[:-1], sizes)
        columns = {
            field.name: _taken(getattr(self, field.name), rows)
            for field in fields(self)
            if field.name not in ("hashes", "offsets")
        }
        return Entries(**columns, hashes=self.hashes[begins + np.arange(len(begins))], offsets=offsets)


@dataclass(frozen=True)
class StoredRow:
    """The stored values of a document without its text. ``size`` is the bytes of the text."""

    number: int
    id: str
    metadata: Mapping[str, Any]
    size: int
    tokens: int
    shingles: int


@dataclass(frozen=True)
class Totals:
    """The totals of a collection: documents, tokens, shingles, postings of sampled shingles, bytes.

    ``text_bytes`` counts the texts as given, ``packed_bytes`` the texts as stored, ``file_bytes`` everything that
    the store occupies. ``change`` grows with every transaction that changed something.
    """

    documents: int
    tokens: int
    shingles: int
    postings: int
    text_bytes: int
    packed_bytes: int
    change: int
    file_bytes: int


class StoreUnavailableError(OutputError):
    """The file of the store cannot be opened, or is closed; no request is at fault."""


class Writing(Protocol):
    """A transaction: all of it is stored, or nothing."""

    @property
    def groups(self) -> GroupWriting:
        """The tables of groups, for changes. ``put`` and ``remove`` do not change them."""

    def next_number(self) -> int:
        """The number that the next new document gets."""

    def put(self, entries: Entries, numbers: Int64s) -> Int64s:
        """Store documents and return their numbers.

        A 0 in ``numbers`` requests a new number; any other number must be free.
        """

    def remove(self, entries: Entries, numbers: Int64s) -> None:
        """Remove the documents ``numbers``; ``entries`` are the entries that were stored for them."""

    def set_metadata(self, number: int, metadata: Mapping[str, Any]) -> None:
        """Replace the metadata of a stored document; everything else of it stays."""

    def mark_base(self, numbers: Int64s) -> None:
        """Make stored documents base texts; they stay base texts until they are removed."""


class Store(Protocol):
    """Documents with their fingerprints. Any number of readers in any thread; one transaction at a time.

    Every method may raise StoreUnavailableError.
    """

    @property
    def settings(self) -> CollectionSettings:
        """The settings that its documents are fingerprinted with."""

    @property
    def groups(self) -> GroupLookups:
        """The tables of groups, decisions and changes."""

    def writing(self) -> AbstractContextManager[Writing]:
        """A transaction: committed when the block ends, rolled back when it raises.

        Waits while another transaction is under way, then raises OutputError. Inside the block, look-ups of this
        thread see the changes made so far.
        """

    def together(self) -> AbstractContextManager[None]:
        """Combine the transactions of this thread within the block into one, which is committed at its end.

        Each is stored whole or not at all: a transaction that raises is undone by itself, and those before it
        stay.
        """

    def reading(self, deadline: Deadline = UNLIMITED) -> AbstractContextManager[None]:
        """All look-ups of this thread within the block see the same state, whatever is committed meanwhile.

        A look-up that is under way when the deadline passes raises LimitError.
        """

    def totals(self) -> Totals:
        """The totals of the collection."""

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of the ``ids`` that exist."""

    def everything(self) -> Int64s:
        """The numbers of all documents."""

    def page(self, after: int, limit: int) -> list[tuple[int, str]]:
        """(number, id) of the first ``limit`` documents with a number above ``after``, ascending."""

    def rows(self, numbers: Int64s) -> list[StoredRow]:
        """The rows of the documents, in the order of ``numbers``; documents that do not exist are left out."""

    def base_texts(self) -> dict[int, int]:
        """The numbers of the base texts, each with a random mark that no other text has had."""

    def ids(self, numbers: Int64s) -> list[str]:
        """The ids, in the order of ``numbers``; KeyError for an unknown document. Cheaper than ``rows``."""

    def sizes(self, numbers: Int64s) -> Int64s:
        """The numbers of distinct shingles, in the order of ``numbers``; KeyError for an unknown document."""

    def packed(self, numbers: Int64s) -> list[bytes]:
        """The compressed texts, in the order of ``numbers``; raises KeyError for a number that does not exist."""

    def signatures(self, numbers: Int64s) -> UInt8s:
        """uint8[n, slots]: the low 8 bits of each slot, in the order of ``numbers``; KeyError for unknown ones."""

    def postings(self, hashes: UInt64s) -> list[Int64s]:
        """For each hash, the documents whose sample contains it.

        A store may keep only the bits ``KEPT`` of a hash, and so also return documents that contain another hash
        with the same bits: the results are candidates.
        """

    def posting_counts(self, hashes: UInt64s) -> Int64s:
        """For each hash, the number of documents that ``postings`` returns; long lists are not decoded."""

    def containing(
        self, tokens: Sequence[str], *, prefix: bool = False, among: Int64s | None = None, limit: int | None = None
    ) -> Int64s:
        """The documents with all these tokens, in any order.

        With ``prefix``, the last token may be the beginning of a word. Only documents of ``among``, if given, and
        only the first ``limit``. Tokens are distinguished by their first 32,768 bytes. Without tokens, no document
        matches.
        """

    def occurrences(self, tokens: Sequence[str], most: int) -> Int64s:
        """For each token the number of documents that contain it: exact below ``most``, above that an estimate."""

    def has_key(self, key: str) -> bool:
        """Whether the metadata of any document has this key, with a value."""

    def where(self, key: str, operator: Operator, value: Value, among: Int64s | None = None) -> Int64s:
        """The documents whose metadata has a matching value for ``key``, among those of ``among`` if given.

        Any element of a list may match; a record in a record has the key ``outer.inner``. ``!=`` finds the
        documents that have the key, but not with this value. Strings are ordered by code point.
        """

    def sampled(self) -> Iterator[tuple[UInt64s, Int64s]]:
        """All postings in blocks, each once: hashes, valid in the bits ``KEPT``, and documents. For checks."""

    def words(self) -> Iterator[tuple[bytes, int, int]]:
        """Each word of the full text once: its first 32,768 bytes, documents, sum of their numbers. For checks."""

    def facts(self) -> Iterator[tuple[str, Value, int]]:
        """The metadata as it is indexed: (key, value, document). For checks."""

    def faults(self) -> list[str]:
        """The faults of the store itself, as sentences; empty if there are none."""

    def backup(self, path: Path) -> None:
        """Copy the present state into a new file, whatever is written meanwhile; OutputError if that fails."""

    def compact(self) -> None:
        """Rewrite everything, so that the file contains neither removed documents nor free space."""

    def close(self) -> None:
        """Close the store. Closing it twice is allowed."""


def too_long() -> LimitError:
    """Return the error for a search that exceeds its time limit."""
    return LimitError(
        "The request exceeded its time limit",
        "",
        "Ask for more overlap or a lower probability, or add words or metadata with AND",
    )


def deadline_in(seconds: float | None) -> Deadline:
    """Return a deadline whose ``check`` raises LimitError; None for no limit."""
    return Deadline(seconds, too_long)


def _taken(column: Any, rows: Int64s) -> Any:
    return column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows.tolist()]
