"""From tiles to rows: what is opposite of what, cut where both texts allow it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neardup import matching
from neardup.alignment.breaks import LINE, Breaks, breaks_of
from neardup.alignment.path import WORDS_CAP, path_of
from neardup.tables import Int64s
from neardup.units import Units

PieceKind: TypeAlias = Literal["same", "changed", "moved", "between"]
RowKind: TypeAlias = Literal["equal", "changed", "only_a", "only_b", "moved_a", "moved_b"]
Cut: TypeAlias = tuple[int, int]
Segment: TypeAlias = tuple[int, int, PieceKind, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters [begin, end) of one text.

    ``kind``: *same* (the other side has the same units opposite), *changed* (it has not), *moved* (it has them
    elsewhere), *between* (no unit: punctuation, layout, what is left out). ``match``: the number of the matching
    chunk, 0 if it is in none. ``opens``: the chunk begins here; a chunk of several lines has several pieces.
    """

    kind: PieceKind
    begin: int
    end: int
    match: int = 0
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """What stands at one height: the pieces of A and of B, none where that side has nothing."""

    kind: RowKind
    a: tuple[Piece, ...]
    b: tuple[Piece, ...]


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
    """Rows from which both texts can be read whole, the matching chunks by number, and what was left out."""

    text_a: str
    text_b: str
    rows: tuple[Row, ...]
    matches: tuple[Match, ...]
    caps: tuple[str, ...]

    @cached_property
    def kinds(self) -> Counter[str]:
        """How many rows there are of each kind."""
        return Counter(row.kind for row in self.rows)

    @cached_property
    def places(self) -> dict[int, tuple[int, int]]:
        """For the number of each match, the rows in which it begins: of A, of B."""
        found: tuple[dict[int, int], dict[int, int]] = {}, {}
        for number, row in enumerate(self.rows):
            for side, pieces in enumerate((row.a, row.b)):
                found[side].update((piece.match, number) for piece in pieces if piece.opens)
        return {match: (row, found[1][match]) for match, row in found[0].items()}


def align(a: Units, b: Units, tiles: Int64s) -> Alignment:
    r"""Align two texts along their matching chunks (``tiles`` int64[k, 3] as ``Comparison`` has them).

    The heaviest chain of tiles in the same order stands at equal height, the other tiles are moved. Rows end where
    both texts have the end of a line or sentence.

    >>> from neardup.units import words
    >>> sides = words("Old line.\nPay now.\nBye."), words("Pay now.\nNew line.\nBye.")
    >>> for row in align(*sides, np.array([[2, 0, 2]])).rows:
    ...     row.kind, [sides[0].text[p.begin : p.end] for p in row.a if p.kind != "between"]
    ('only_a', ['Old line'])
    ('equal', ['Pay now'])
    ('only_b', [])
    ('equal', ['Bye'])
    """
    pair = matching.pair_of(a.hashes, b.hashes)
    path = path_of(pair, tiles)
    moved = [(*tile, number) for number, tile in enumerate(tiles.tolist(), 1) if not path.in_order[number - 1]]
    runs = [(i, j, length, tile + 1) for i, j, length, tile in path.runs.tolist()]
    moved_a = sorted((i, length, number) for i, _, length, number in moved)
    moved_b = sorted((j, length, number) for _, j, length, number in moved)
    breaks = breaks_of(a), breaks_of(b)
    side_a = _Side(a, breaks[0], _segments([(i, n, number) for i, _, n, number in runs], moved_a, len(a)))
    side_b = _Side(b, breaks[1], _segments([(j, n, number) for _, j, n, number in runs], moved_b, len(b)))
    blocks = _Blocks(moved_a, breaks[0].kinds), _Blocks(moved_b, breaks[1].kinds)
    cuts = _cuts(runs, blocks, breaks, pair.in_order(0, 1))
    sides = ((side_a.to(i), side_b.to(j)) for i, j in cuts)
    rows = [_row(*pieces) for pieces in sides if any(pieces)]
    matches = tuple(
        Match(number, n, not path.in_order[number - 1], _characters(a, i, n), _characters(b, j, n))
        for number, (i, j, n) in enumerate(tiles.tolist(), 1)
    )
    return Alignment(a.text, b.text, tuple(rows), matches, (WORDS_CAP,) * path.capped)


def _characters(units: Units, begin: int, length: int) -> tuple[int, int]:
    return int(units.spans[begin, 0]), int(units.spans[begin + length - 1, 1])


def _segments(
    runs: Sequence[tuple[int, int, int]], moved: Sequence[tuple[int, int, int]], n: int
) -> Iterator[Segment]:
    """All units of one side, in order: (begin, end, kind, match)."""
    marked: list[Segment] = [(begin, begin + length, "same", match) for begin, length, match in runs]
    marked += [(begin, begin + length, "moved", match) for begin, length, match in moved]
    at = 0
    for segment in sorted(marked):
        if segment[0] > at:
            yield at, segment[0], "changed", 0
        yield segment
        at = segment[1]
    if at < n:
        yield at, n, "changed", 0


class _Side:
    """One text, handed out from cut to cut."""

    def __init__(self, units: Units, breaks: Breaks, segments: Iterator[Segment]) -> None:
        self._spans = units.spans.tolist()
        self._breaks = breaks
        self._segments = segments
        self._segment: Segment | None = next(segments, None)
        self._unit = self._character = 0

    def to(self, unit: int) -> tuple[Piece, ...]:
        """The pieces up to the break before a unit."""
        pieces = list(self._marked(unit))
        self._fill(pieces, int(self._breaks.places[unit]))
        return tuple(pieces)

    def _marked(self, unit: int) -> Iterator[Piece]:
        while self._unit < unit and self._segment is not None:
            begin, end, kind, match = self._segment
            first, last = self._unit, min(end, unit)
            pieces: list[Piece] = []
            self._fill(pieces, self._spans[first][0])
            yield from pieces
            stop = max(self._character, self._spans[last - 1][1])
            yield Piece(kind, self._character, stop, match, match > 0 and first == begin)
            self._unit, self._character = last, stop
            if last == end:
                self._segment = next(self._segments, None)

    def _fill(self, pieces: list[Piece], end: int) -> None:
        """Text without a unit up to a character; units that share one character leave none."""
        if end > self._character:
            pieces.append(Piece("between", self._character, end))
            self._character = end


def _row(a: tuple[Piece, ...], b: tuple[Piece, ...]) -> Row:
    kinds = {piece.kind for piece in (*a, *b)} - {"between"}
    kind: RowKind
    if a and b:
        kind = "equal" if kinds <= {"same"} else "changed"
    elif a:
        kind = "moved_a" if kinds == {"moved"} else "only_a"
    else:
        kind = "moved_b" if kinds == {"moved"} else "only_b"
    return Row(kind, a, b)


def _cuts(
    runs: Sequence[tuple[int, int, int, int]],
    blocks: tuple[_Blocks, _Blocks],
    breaks: tuple[Breaks, Breaks],
    order: tuple[int, int],
) -> Iterator[Cut]:
    """Where rows end, as (unit of A, unit of B): both texts have a break there.

    Equal text is cut at ends of lines, and at ends of sentences only next to what is not equal.
    """
    kinds_a, kinds_b = (side.kinds for side in breaks)
    ends = (len(kinds_a) - 1, len(kinds_b) - 1)
    done, last = (-1, -1), (0, 0)
    for i, j, length, _ in (*runs, (*ends, 0, 0)):
        cuts = list(_cuts_between(blocks, last, (i, j), order))
        least = np.minimum(kinds_a[i : i + length + 1], kinds_b[j : j + length + 1])
        allowed = np.flatnonzero(least)
        kept = {*np.flatnonzero(least == LINE).tolist(), *allowed[:1].tolist(), *allowed[-1:].tolist()}
        for cut in (*cuts, *((i + t, j + t) for t in sorted(kept))):
            if cut != done and kinds_a[cut[0]] and kinds_b[cut[1]]:
                yield cut
                done = cut
        last = (i + length, j + length)


class _Blocks:
    """Where the moved text of one side can stand in rows of its own."""

    def __init__(self, moved: Sequence[tuple[int, int, int]], kinds: NDArray[np.int8]) -> None:
        self._begins = np.array([begin for begin, _, _ in moved], np.int64)
        ends = self._begins + np.array([length for _, length, _ in moved], np.int64)
        edges = np.unique(np.concatenate((self._begins, ends)))
        self._edges = edges[kinds[edges] > 0]

    def of(self, begin: int, end: int) -> list[tuple[int, bool]]:
        """The blocks of [begin, end): where each ends, and whether it has moved text."""
        inner = self._edges[np.searchsorted(self._edges, begin, "right") : np.searchsorted(self._edges, end)]
        bounds = [begin, *inner.tolist(), end] if begin < end else []
        counts = np.searchsorted(self._begins, bounds).tolist()
        return [(stop, before < after) for stop, (before, after) in zip(bounds[1:], pairwise(counts), strict=True)]


def _cuts_between(blocks: tuple[_Blocks, _Blocks], begin: Cut, end: Cut, order: tuple[int, int]) -> Iterator[Cut]:
    """Cuts where nothing is equal: each block with moved text by itself, the others of A and B side by side.

    ``order`` says which side goes first, so that nothing depends on which is called A.
    """
    queues = [blocks[side].of(begin[side], end[side])[::-1] for side in (0, 1)]
    at = list(begin)
    while any(queues):
        moved = next((side for side in order if queues[side] and queues[side][-1][1]), None)
        for side in (0, 1) if moved is None else (moved,):
            if queues[side]:
                at[side] = queues[side].pop()[0]
        yield at[0], at[1]
