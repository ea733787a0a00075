"""The records that a collection exchanges with its store, and the errors of a store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

import numpy as np

from neardup.errors import LimitError, OutputError
from neardup.runtime import Deadline
from neardup.tables import Int64s, UInt32s, UInt64s

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

    def take(self, places: Sequence[int]) -> "Entries":
        """Return the documents at ``places``, in that order."""
        rows = np.array(places, np.int64)
        sizes = np.diff(self.offsets)[rows]
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        # the place of every hash: the beginning of its document, plus its offset within it
        begins = np.repeat(self.offsets[:-1][rows] - offsets[:-1], sizes)
        columns = {
            field.name: _take_rows(getattr(self, field.name), rows)
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


@dataclass(frozen=True)
class GroupRow:
    """A group: its number (0: not assigned yet), its representative, and the least resemblance to it."""

    number: int
    representative: int
    threshold: float


@dataclass(frozen=True)
class MemberRow:
    """A document, its group, and the number of shingles that it shares with the representative."""

    document: int
    group: int
    shared: int


@dataclass(frozen=True)
class ChangeRow:
    """A line of the change log; ``number`` is its place. ``about`` is plain data: ids, counts, the cause."""

    number: int
    at: str
    what: str
    group: int
    document: int
    about: Mapping[str, Any]


class StoreUnavailableError(OutputError):
    """The file of the store cannot be opened, or is closed; no request is at fault."""


def too_long_error() -> LimitError:
    """Return the error for a search that exceeds its time limit."""
    return LimitError(
        "The request exceeded its time limit",
        "",
        "Ask for more overlap or a lower probability, or add words or metadata with AND",
    )


def deadline_in(seconds: float | None) -> Deadline:
    """Return a deadline whose ``check`` raises LimitError; None for no limit."""
    return Deadline(seconds, too_long_error)


def _take_rows(column: Any, rows: Int64s) -> Any:
    return column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows.tolist()]
