"""What a search asks of a collection: a narrow contract, and the meaning of a metadata comparison.

Whatever keeps the documents, a file, a server or a dict in a test, can be searched when it answers these
questions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from neardup.tables import Int64s, UInt64s
from neardup.text import normalise, tokens

_DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2}(?:[T ]\S+)?)?", re.ASCII)


@dataclass(frozen=True)
class Sampling:
    """Which shingles of a document have postings: hashes below 2⁶⁴ / ``scale``, and its ``floor`` smallest.

    ``length``: words in a shingle. ``floor`` is at least 1, so that a document of fewer words, which has one
    shingle, is found by it.
    """

    scale: int
    floor: int
    length: int = 5

    @property
    def limit(self) -> int:
        """Every document that holds a shingle of hash below this has a posting for it.

        >>> Sampling(scale=16, floor=8).limit == 2**60
        True
        """
        return (1 << 64) // self.scale


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

    def shingle_sets(self, documents: Int64s) -> tuple[UInt64s, Int64s]:
        """Set k, sorted, is ``hashes[offsets[k]:offsets[k + 1]]``: all shingles of the text, not the sample."""

    def posting_counts(self, hashes: UInt64s) -> Int64s:
        """How many documents have a posting for each of these shingles; may be too high, never too low."""

    def holders(self, hashes: UInt64s, among: Int64s | None = None) -> tuple[Int64s, Int64s]:
        """The documents that have a posting for some of these distinct shingles, and for how many each.

        ``among``: only these documents.
        """

    def word_counts(self, words: Sequence[str]) -> Int64s:
        """How many documents hold each of these tokens; may be too high, never too low."""

    def phrase(self, words: Sequence[str], among: Int64s | None = None) -> Int64s:
        """The documents that hold these tokens (``text.tokens``), one or more, one after the other.

        ``among``: only these documents.
        """

    def has_field(self, field: str) -> bool:
        """Whether the metadata of any document has this field."""

    def compare(self, field: str, operator: str, value: str, among: Int64s | None = None) -> Int64s:
        """The documents for whose metadata ``holds(value_of(metadata, field), operator, value)`` is true.

        ``among``: only these documents.
        """


def value_of(metadata: Mapping[str, object], field: str) -> object:
    """The value of a field; ``a.b`` is the field b in the object a, unless there is a field "a.b". None: absent.

    >>> value_of({"head": {"from": "ann"}}, "head.from")
    'ann'
    """
    if field in metadata:
        return metadata[field]
    first, dot, rest = field.partition(".")
    inner = metadata.get(first)
    return value_of(inner, rest) if dot and isinstance(inner, Mapping) else None


def holds(stored: object, operator: str, value: str) -> bool:
    """Whether a stored JSON value stands in this relation to what was typed.

    ``:`` the words of the value occur in the stored text one after the other; ``=`` it is equal. Text is compared
    normalised (case, width and encoding variants gone), by code point; two numbers are compared as numbers.
    A date as long as 2020-01 or 2020-01-31 means the whole month or day: as many characters of the stored
    value are compared. A list fits when one of its elements does; ``!=`` is the opposite of ``=``, and of a
    document without the field nothing holds.

    >>> holds("Ann Lee <ann@x.org>", ":", "ann lee"), holds("2020-01-31T10:00", "<=", "2020-01")
    (True, True)
    """
    if stored is None or isinstance(stored, Mapping):
        return False
    if operator == "!=":
        return not holds(stored, "=", value)
    if isinstance(stored, list | tuple):
        return any(holds(element, operator, value) for element in stored)
    text = str(stored).lower() if isinstance(stored, bool) else str(stored)
    if operator == ":":
        return _has_words(text, value)
    numbers = (_number(text), _number(value))
    if numbers[0] is not None and numbers[1] is not None:
        return _in_order(numbers[0], numbers[1], operator)
    left, right = normalise(text), normalise(value)
    if _DATE.fullmatch(value):
        left, right = left.replace(" ", "t")[: len(right)], right.replace(" ", "t")
    return _in_order(left, right, operator)


def _has_words(text: str, value: str) -> bool:
    held, wanted = tokens(text), tokens(value)
    last = len(held) - len(wanted)
    return bool(wanted) and any(held[start : start + len(wanted)] == wanted for start in range(last + 1))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number - number == 0 and "_" not in text else None


def _in_order(left: float | str, right: float | str, operator: str) -> bool:
    below, equal = left < right, left == right  # type: ignore[operator]
    return {"=": equal, "<": below, "<=": below or equal, ">": not (below or equal), ">=": not below}[operator]
