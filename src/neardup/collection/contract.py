"""What a collection needs of its store: about a dozen methods, behind which stores can change.

A store keeps documents and answers look-ups; it knows no text processing. What there is to know of a document is
worked out beforehand (``entries.py``) and handed over as columns. Documents are known by a *number*, from 1 on,
which the store gives and never gives again; the user's id is looked up once, at the border.

Numbers come back as int64 arrays, ascending and without repeats, unless a method says otherwise.
``tests/contract`` holds what every store must do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from time import monotonic
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from neardup.collection.groups.contract import GroupLookups, GroupWriting
from neardup.collection.settings import CollectionSettings
from neardup.errors import LimitError
from neardup.tables import Int64s, UInt8s, UInt32s, UInt64s

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]
OPERATORS: tuple[Operator, ...] = ("=", "!=", "<", "<=", ">", ">=")

KEPT = np.uint64((1 << 32) - 1)
"""The bits of a hash that a store keeps at least."""

Value: TypeAlias = str | int | float
"""What metadata is compared with: a string with strings, a number with numbers. Booleans are "true", "false"."""


@dataclass(frozen=True, eq=False)
class Entries:
    """Documents as a store takes them, column by column; all of the same length n.

    ``packed`` are the compressed texts and ``sizes`` their bytes before that. ``streams`` are the tokens with a
    space behind each. ``hashes[offsets[d]:offsets[d + 1]]`` are the sampled shingles of document d (uint64,
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
        """The documents at ``places``, in that order."""
        rows = np.array(places, np.int64)
        sizes = np.diff(self.offsets)[rows]
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        # the place of every hash: where its document begins, and how far into it
        begins = np.repeat(self.offsets[:-1][rows] - offsets[:-1], sizes)
        columns = {
            field.name: _taken(getattr(self, field.name), rows)
            for field in fields(self)
            if field.name not in ("hashes", "offsets")
        }
        return Entries(**columns, hashes=self.hashes[begins + np.arange(len(begins))], offsets=offsets)


@dataclass(frozen=True)
class Row:
    """What a store tells of a document without its text. ``size`` is the bytes of the text."""

    number: int
    id: str
    metadata: Mapping[str, Any]
    size: int
    tokens: int
    shingles: int


@dataclass(frozen=True)
class Totals:
    """What a collection holds: documents, tokens, shingles, postings of sampled shingles, bytes.

    ``text_bytes`` are those of the texts as given, ``packed_bytes`` as stored, ``file_bytes`` all the store
    takes. ``change`` grows with every transaction that changed something.
    """

    documents: int
    tokens: int
    shingles: int
    postings: int
    text_bytes: int
    packed_bytes: int
    change: int
    file_bytes: int


class Writing(Protocol):
    """A transaction: all of it is stored, or nothing."""

    @property
    def groups(self) -> GroupWriting:
        """The tables of groups, to change them. ``put`` and ``remove`` leave them alone."""

    def next_number(self) -> int:
        """The number the next new document gets."""

    def put(self, entries: Entries, numbers: Int64s) -> Int64s:
        """Store documents; 0 in ``numbers`` asks for a new number, another one must be free. The numbers given."""

    def remove(self, entries: Entries, numbers: Int64s) -> None:
        """Remove the documents ``numbers``; ``entries`` are what was put for them."""


class Store(Protocol):
    """Documents with their fingerprints. Readers may be many, in any thread; one transaction at a time."""

    @property
    def settings(self) -> CollectionSettings:
        """How its documents are fingerprinted."""

    @property
    def groups(self) -> GroupLookups:
        """The tables of groups, decisions and changes."""

    def writing(self) -> AbstractContextManager[Writing]:
        """A transaction: committed when the block ends, rolled back when it raises.

        Waits while another one is under way, then raises OutputError. Inside, look-ups of this thread see what
        was done so far.
        """

    def together(self) -> AbstractContextManager[None]:
        """Transactions of this thread within the block are parts of one, which is committed at its end.

        Each is stored whole or not at all: one that raises is undone by itself, and those before it stay.
        """

    def reading(self, until: float | None = None) -> AbstractContextManager[None]:
        """All look-ups of this thread within the block see the same state, whatever is committed meanwhile.

        A look-up that is under way when ``time.monotonic()`` is ``until`` raises LimitError.
        """

    def totals(self) -> Totals:
        """What there is."""

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of those of the ``ids`` that exist."""

    def everything(self) -> Int64s:
        """The numbers of all documents."""

    def page(self, after: int, limit: int) -> list[tuple[int, str]]:
        """(number, id) of the first ``limit`` documents with a number above ``after``, ascending."""

    def rows(self, numbers: Int64s) -> list[Row]:
        """What is known of the documents, in the order asked for; those that do not exist are left out."""

    def ids(self, numbers: Int64s) -> list[str]:
        """The ids of the documents, in the order asked for; KeyError for an unknown one. Lighter than ``rows``."""

    def sizes(self, numbers: Int64s) -> Int64s:
        """Number of different shingles of each document, in the order asked for; KeyError for an unknown one."""

    def packed(self, numbers: Int64s) -> list[bytes]:
        """The compressed texts, in the order asked for; raises KeyError for a number that does not exist."""

    def signatures(self, numbers: Int64s) -> UInt8s:
        """uint8[n, slots]: the low 8 bits of every slot, in the order asked for; KeyError as for ``packed``."""

    def postings(self, hashes: UInt64s) -> list[Int64s]:
        """For each hash the documents whose sample holds it.

        A store may keep no more of a hash than ``KEPT``, and give documents that hold another hash with the same
        bits, too: it gives candidates.
        """

    def containing(
        self, tokens: Sequence[str], *, prefix: bool = False, among: Int64s | None = None, limit: int | None = None
    ) -> Int64s:
        """The documents with all these tokens, in any order; with ``prefix`` the last one need only begin so.

        Only documents of ``among``, if given, and only the first ``limit``. Tokens are told apart by their first
        32 768 bytes. No token: no document.
        """

    def occurrences(self, tokens: Sequence[str], most: int) -> Int64s:
        """For each token the number of documents that hold it: exact below ``most``, above that an estimate."""

    def has_key(self, key: str) -> bool:
        """Whether the metadata of any document has this key, with a value."""

    def where(self, key: str, operator: Operator, value: Value, among: Int64s | None = None) -> Int64s:
        """The documents whose metadata has ``key`` with such a value, among those of ``among`` if given.

        Of a list any element counts, of a record in a record the key is ``outer.inner``. ``!=`` finds the
        documents that have the key, but not with this value. Strings are ordered by code point.
        """

    def sampled(self) -> Iterator[tuple[UInt64s, Int64s]]:
        """All postings in blocks, each once: hashes, of which ``KEPT`` count, and their documents. For checks."""

    def words(self) -> Iterator[tuple[bytes, int, int]]:
        """Each word of the full text once: its first 32 768 bytes, documents, sum of their numbers. For checks."""

    def facts(self) -> Iterator[tuple[str, Value, int]]:
        """The metadata as it is looked up: (key, value, document). For checks."""

    def faults(self) -> list[str]:
        """What is wrong with the store itself, as sentences; empty when nothing is."""

    def compact(self) -> None:
        """Write everything anew, so that the file holds nothing of what was removed and no free space."""

    def close(self) -> None:
        """Let go of it. Closing twice is no mistake."""


def too_long() -> LimitError:
    """Return the error for a request that exceeded its time limit."""
    return LimitError(
        "The request exceeded its time limit",
        "",
        "Ask for more overlap or a lower probability, or add words or metadata with AND",
    )


def in_time(store: Store, until: float | None) -> Store:
    """The store, as long as ``time.monotonic()`` is not past ``until``; after that LimitError is raised."""
    if until is not None and monotonic() > until:
        raise too_long()
    return store


def _taken(column: Any, rows: Int64s) -> Any:
    return column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows.tolist()]
