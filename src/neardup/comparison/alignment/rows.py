"""Turn tiles into rows: decide which text is opposite which, and cut where both texts allow it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.comparison import matching
from neardup.comparison.alignment.breaks import breaks_of
from neardup.comparison.alignment.path import WORDS_CAP, path_of
from neardup.comparison.alignment.table import ROW_KINDS, Pieces, Row, Table
from neardup.kernels.show import rows as kernels
from neardup.tables import Bools, Int64s
from neardup.text.units import Units


@dataclass(frozen=True, slots=True)
class Match:
    """A matching chunk: its number in the order of A, its units, its characters [begin, end) in both texts."""

    number: int
    units: int
    moved: bool
    a: tuple[int, int]
    b: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Alignment:
    """The rows, which together hold both texts in full, the matching chunks by number, and the limits reached.

    ``table`` has the rows as arrays. Match k + 1 has ``units[k]`` units, covers the characters ``spans_a[k]`` and
    ``spans_b[k]`` (int64[k, 2]) and is moved if ``moved[k]`` (bool). ``caps`` names the limits.
    """

    text_a: str
    text_b: str
    table: Table
    units: Int64s
    moved: Bools
    spans_a: Int64s
    spans_b: Int64s
    caps: tuple[str, ...]

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The rows from top to bottom."""
        return self.table.one_by_one()

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """The matching chunks in the order of A."""
        spans = (map(tuple, spans.tolist()) for spans in (self.spans_a, self.spans_b))
        numbers = range(1, len(self.units) + 1)
        return tuple(map(Match, numbers, self.units.tolist(), self.moved.tolist(), *spans))

    @cached_property
    def kinds(self) -> Counter[str]:
        """The number of rows of each kind."""
        counts = np.bincount(self.table.kinds, minlength=len(ROW_KINDS)).tolist()
        return Counter({kind: count for kind, count in zip(ROW_KINDS, counts, strict=True) if count})

    @cached_property
    def rows_of_matches(self) -> tuple[Int64s, Int64s]:
        """The row in which each match begins in A and in B, indexed by match number: int64[matches + 1] each."""
        return (
            self.table.a.rows_of_matches(len(self.units)),
            self.table.b.rows_of_matches(len(self.units)),
        )

    @property
    def places(self) -> dict[int, tuple[int, int]]:
        """The rows (of A, of B) in which each match begins, by match number."""
        in_a, in_b = (rows.tolist() for rows in self.rows_of_matches)
        return {match: (in_a[match], in_b[match]) for match in range(1, len(self.units) + 1)}


def align(a: Units, b: Units, tiles: Int64s) -> Alignment:
    r"""Align two texts along their matching chunks (``tiles`` int64[k, 3] as in ``Comparison``).

    The heaviest chain of tiles in the same order is set side by side; the other tiles are moved. Rows end where
    both texts have the end of a line or sentence.

    >>> from neardup.text.units import words
    >>> sides = words("Old line.\nPay now.\nBye."), words("Pay now.\nNew line.\nBye.")
    >>> for row in align(*sides, np.array([[2, 0, 2]])).rows:
    ...     row.kind, [sides[0].text[p.begin : p.end] for p in row.a if p.kind != "between"]
    ('only_a', ['Old line'])
    ('equal', ['Pay now'])
    ('only_b', [])
    ('equal', ['Bye'])
    """
    pair = matching.pair_of(a.hashes, b.hashes, (a.rank, b.rank))
    path = path_of(pair, tiles)
    breaks = breaks_of(a), breaks_of(b)
    kinds = breaks[0].kinds, breaks[1].kinds
    moved = np.flatnonzero(~path.in_order)
    begins = np.sort(tiles[moved, 0]), np.sort(tiles[moved, 1])
    edges = tuple(_edges(tiles[moved], side, kinds[side]) for side in (0, 1))
    runs = np.ascontiguousarray(path.runs[:, :3])
    cuts = kernels.cut_rows(runs, edges, begins, kinds, pair.in_order(0, 1)[0])
    found = []
    for side, units in enumerate((a, b)):
        marked = _marked(path.runs[:, [side, 2, 3]], tiles[moved][:, [side, 2]], moved)
        side_cuts = np.ascontiguousarray(cuts[:, side])
        found.append(kernels.pieces_of(units.spans, marked, side_cuts, breaks[side].places))
    ends = tiles[:, :2] + tiles[:, 2:] - 1
    spans_a, spans_b = (
        np.column_stack((units.spans[tiles[:, side], 0], units.spans[ends[:, side], 1]))
        for side, units in enumerate((a, b))
    )
    return Alignment(
        a.text,
        b.text,
        _table(*found),
        tiles[:, 2],
        ~path.in_order,
        spans_a,
        spans_b,
        (WORDS_CAP,) * path.capped,
    )


def _edges(moved: Int64s, side: int, kinds: NDArray[np.int8]) -> Int64s:
    """Return the beginnings and ends of moved text at which the text has a break."""
    edges: Int64s = np.unique(np.concatenate((moved[:, side], moved[:, side] + moved[:, 2])))
    return edges[kinds[edges] > 0]


def _marked(runs: Int64s, moved: Int64s, tiles: Int64s) -> Int64s:
    """Return the runs of unchanged units, in order: int64[s, 4] (begin, end, kind, match).

    ``runs`` (begin, length, tile) are equal in both texts; ``moved`` (begin, length) are the runs of the moved
    ``tiles``.
    """
    same = np.column_stack((runs[:, 0], runs[:, 0] + runs[:, 1], np.full(len(runs), kernels.SAME), runs[:, 2] + 1))
    other = np.column_stack((moved[:, 0], moved.sum(axis=1), np.full(len(moved), kernels.MOVED), tiles + 1))
    marked = np.concatenate((same, other))
    return marked[np.argsort(marked[:, 0])]


def _table(*found: tuple[Any, ...]) -> Table:
    """Return the pieces of both texts between the cuts, without empty rows."""
    there = np.logical_or(*(np.diff(first) > 0 for *_, first in found))
    a, b = (
        Pieces(kinds, spans, matches, opens, np.concatenate(([0], first[1:][there])))
        for kinds, spans, matches, opens, first in found
    )
    return Table(kernels.row_kinds(a.kinds, a.first, b.kinds, b.first), a, b)
