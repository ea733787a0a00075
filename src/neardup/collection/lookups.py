"""What a search asks of a collection: a narrow contract.

Whatever keeps the documents, a file, a server or a dict in a test, can be searched when it answers these
questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from neardup.collection.contract import Operator, Value
from neardup.kernels.text.keyed import Key
from neardup.tables import Int64s, UInt64s


class Sampling(Protocol):
    """Which shingles of a document have postings: hashes below ``limit``, and some of its smallest.

    At least one of every document, so that a document of fewer words than a shingle has, which is one shingle, is
    found by it.
    """

    @property
    def length(self) -> int:
        """Words in a shingle."""

    @property
    def key(self) -> Key:
        """The key of all hashes of shingles."""

    @property
    def limit(self) -> int:
        """Every document that holds a shingle of hash below this, at most 2⁶⁴, has a posting for it."""


class Lookups(Protocol):
    """A collection as it is at one moment: nothing that is added, changed or removed later is seen through it.

    Documents are named by numbers (int64) that stay the same as long as the document is not replaced. Arrays of
    documents are sorted and without repeats, given and returned.
    """

    @property
    def sampling(self) -> Sampling:
        """Which shingles have postings."""

    def total(self) -> int:
        """Number of documents."""

    def everything(self) -> Int64s:
        """All documents."""

    def number(self, id: str) -> int | None:
        """The document of this id, or None."""

    def ids(self, documents: Int64s) -> list[str]:
        """The ids of these documents, in their order."""

    def text(self, document: int) -> str:
        """The text of a document."""

    def sizes(self, documents: Int64s) -> Int64s:
        """Number of distinct shingles of each document."""

    def shared(self, hashes: UInt64s, documents: Int64s, sizes: Int64s) -> Int64s:
        """How many of these distinct shingles each of the documents holds, counted on all shingles of the texts.

        ``sizes``: the numbers of their shingles, which bound what is held at a time.
        """

    def posting_counts(self, hashes: UInt64s) -> Int64s:
        """How many documents have a posting for each of these shingles: it steers the cost, no result."""

    def holders(self, hashes: UInt64s, least: int = 1, among: Int64s | None = None) -> tuple[Int64s, Int64s]:
        """The documents that have a posting for ``least`` or more of these distinct shingles, and for how many.

        ``among``: only these documents.
        """

    def word_counts(self, words: Sequence[str]) -> Int64s:
        """About how many documents hold each of these tokens: it steers the cost, no result."""

    def having(self, words: Sequence[str], among: Int64s | None = None) -> Int64s:
        """The documents that hold all these tokens, one or more, in any order.

        ``among``: only these documents.
        """

    def phrase(self, words: Sequence[str], among: Int64s | None = None) -> Int64s:
        """The documents that hold these tokens (``text.tokens``), one or more, one after the other.

        ``among``: only these documents.
        """

    def has_field(self, field: str) -> bool:
        """Whether the metadata of any document has this field."""

    def compare(self, field: str, operator: Operator, value: Value, among: Int64s | None = None) -> Int64s:
        """The documents whose metadata has ``field`` with a value that stands in that relation to ``value``.

        Of a list any element counts, of a record in a record the field is ``outer.inner``;
        ``!=`` finds the documents that have the field, but not with this value. Strings are equal when every
        character is, and ordered by code point. ``among``: only these documents.
        """
