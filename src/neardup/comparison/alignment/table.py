"""The rows of two aligned texts as arrays, and as objects on request."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neardup.tables import Bools, Int32s, Int64s

PieceKind: TypeAlias = Literal["same", "changed", "moved", "between"]
RowKind: TypeAlias = Literal["equal", "changed", "only_a", "only_b", "moved_a", "moved_b"]

PIECE_KINDS: tuple[PieceKind, ...] = ("same", "changed", "moved", "between")
ROW_KINDS: tuple[RowKind, ...] = ("equal", "changed", "only_a", "only_b", "moved_a", "moved_b")
"""The position of a kind is its number in ``kernels.rows``."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters [begin, end) of one text.

    ``kind``: *same* (the other side has the same units opposite), *changed* (it does not), *moved* (it has them
    elsewhere), *between* (no unit: punctuation, layout, ignored text). ``match``: the number of the matching
    chunk, 0 if it is in none. ``opens``: the chunk begins here; a chunk of several lines has several pieces.
    """

    kind: PieceKind
    begin: int
    end: int
    match: int = 0
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """The pieces of A and of B that are side by side; empty for a side without text in this row."""

    kind: RowKind
    a: tuple[Piece, ...]
    b: tuple[Piece, ...]


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of one text, in order, as columns.

    ``kinds`` int8 (numbers of ``PIECE_KINDS``), ``spans`` int64[p, 2], ``matches`` int32, ``opens`` bool: the
    fields of ``Piece``. Row k has the pieces [first[k], first[k + 1]).
    """

    kinds: NDArray[np.int8]
    spans: Int64s
    matches: Int32s
    opens: Bools
    first: Int64s

    @cached_property
    def spans_of_rows(self) -> Int64s:
        """The characters [begin, end) of each row, int64[rows, 2]; an empty span for a row without any."""
        ends = np.concatenate(([0], self.spans[:, 1]))[self.first]
        return np.column_stack((ends[:-1], ends[1:]))

    def rows_of_matches(self, matches: int) -> Int64s:
        """Return int64[matches + 1]: the row in which each match begins, indexed by match number."""
        rows = np.zeros(matches + 1, np.int64)
        begins = np.flatnonzero(self.opens)
        rows[self.matches[begins]] = np.searchsorted(self.first, begins, "right") - 1
        return rows

    def one_by_one(self) -> list[tuple[Piece, ...]]:
        """Return the pieces of each row."""
        columns = (self.kinds, *self.spans.T, self.matches, self.opens)
        kinds, *others = (column.tolist() for column in columns)
        pieces = list(map(Piece, [PIECE_KINDS[kind] for kind in kinds], *others))
        return [tuple(pieces[begin:end]) for begin, end in pairwise(self.first.tolist())]


@dataclass(frozen=True, eq=False)
class Table:
    """All rows: ``kinds`` int8[rows] (numbers of ``ROW_KINDS``), and the pieces of A and of B."""

    kinds: NDArray[np.int8]
    a: Pieces
    b: Pieces

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def sides(self) -> tuple[Pieces, Pieces]:
        """The pieces of A and of B."""
        return self.a, self.b

    def one_by_one(self) -> tuple[Row, ...]:
        """Return every row with its pieces."""
        kinds = [ROW_KINDS[kind] for kind in self.kinds.tolist()]
        return tuple(map(Row, kinds, self.a.one_by_one(), self.b.one_by_one()))
