"""The look-ups that a search requires of a collection: a narrow interface.

Any container of documents that implements these look-ups can be searched: a file, a server or a dict in a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from neardup.collection.base_texts import CollectionBase
from neardup.collection.contract import Operator, Value
from neardup.kernels.text.keyed import Key
from neardup.tables import Int64s, UInt64s
from neardup.text.cleaning import Cleaner


class Sampling(Protocol):
    """The sampling rule: which shingles of a document have postings.

    These are the shingles with hashes below ``limit``, and some of the smallest. Every document has at least one
    posting, so a document with fewer words than a shingle, which counts as one shingle, can be found by it.
    """

    @property
    def length(self) -> int:
        """The number of words in a shingle."""

    @property
    def key(self) -> Key:
        """The key of all hashes of shingles."""

    @property
    def cleaner(self) -> Cleaner | None:
        """The parts of texts that do not count; None if all do."""

    @property
    def limit(self) -> int:
        """Every document that contains a shingle with a hash below this, at most 2⁶⁴, has a posting for it."""

    @property
    def floor(self) -> int:
        """Every document has postings for at least this many of its smallest shingles, or for all of them."""


class Lookups(Protocol):
    """The state of a collection at one moment; later additions, changes and removals are not visible.

    Documents are identified by numbers (int64) that stay the same as long as the document is not replaced. Arrays
    of documents, as arguments and as results, are sorted and without repeats.
    """

    @property
    def sampling(self) -> Sampling:
        """The rule that determines which shingles have postings."""

    @property
    def base(self) -> CollectionBase:
        """The base text: shingles that count in no document, and are not in its size or in what it shares."""

    def total(self) -> int:
        """The number of documents."""

    def everything(self) -> Int64s:
        """All documents."""

    def number(self, id: str) -> int | None:
        """The document of this id, or None."""

    def ids(self, documents: Int64s) -> list[str]:
        """The ids of the documents, in their order."""

    def text(self, document: int) -> str:
        """The text of a document."""

    def sizes(self, documents: Int64s) -> Int64s:
        """The number of distinct shingles of each document, with those of base text."""

    def shared(self, hashes: UInt64s, documents: Int64s, sizes: Int64s) -> Int64s:
        """The number of shingles in ``hashes`` (distinct) that each document contains, counted on its whole text.

        ``sizes``: the numbers of shingles of the documents, which bound the memory used at a time.
        """

    def posting_counts(self, hashes: UInt64s, *, decode: bool = True) -> Int64s:
        """The number of documents with a posting for each shingle.

        ``decode`` is for lists that ``holders`` will look up, all or nearly all.
        """

    def holders(self, hashes: UInt64s, least: int = 1, among: Int64s | None = None) -> tuple[Int64s, Int64s]:
        """The documents with postings for ``least`` or more of the distinct shingles, and for how many.

        ``among``: only these documents.
        """

    def word_counts(self, words: Sequence[str]) -> Int64s:
        """The approximate number of documents that contain each token; affects only the cost."""

    def having(self, words: Sequence[str], among: Int64s | None = None) -> Int64s:
        """The documents that contain all these tokens, one or more, in any order.

        ``among``: only these documents.
        """

    def phrase(self, words: Sequence[str], among: Int64s | None = None) -> Int64s:
        """The documents that contain these tokens (``text.tokens``), one or more, consecutively.

        ``among``: only these documents.
        """

    def has_field(self, field: str) -> bool:
        """Whether the metadata of any document has this field."""

    def compare(self, field: str, operator: Operator, value: Value, among: Int64s | None = None) -> Int64s:
        """The documents whose metadata has a value of ``field`` for which ``operator`` holds with ``value``.

        Any element of a list may match; a record in a record has the field ``outer.inner``. ``!=`` finds the
        documents that have the field, but not with this value. Strings are equal if all their characters are
        equal, and are ordered by code point. ``among``: only these documents.
        """
