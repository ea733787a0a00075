"""The differences of two texts as a list: a number for each row that is not equal, and a short summary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from neardup.comparison.alignment.table import ROW_KINDS
from neardup.comparison.show.words import way_to
from neardup.kernels.show.rows import CHANGED, EQUAL_ROW, MOVED

if TYPE_CHECKING:
    from neardup.comparison.alignment import Alignment
    from neardup.tables import Int64s

QUOTED = 80
"""Length of a quotation, in characters."""

Part: TypeAlias = tuple[str, bool]
"""Words, and whether they are quoted from a document."""

WORDS = {
    "changed": ("changed", "±"),
    "only_a": ("only in A", "−"),
    "only_b": ("only in B", "+"),
    "moved_a": ("moved, in A", "~"),
    "moved_b": ("moved, in B", "~"),
}
"""The kinds of rows that are not equal: in words, and as a mark."""


@dataclass(frozen=True)
class Difference:
    """A row that is not equal: its number, its kind in words, and its summary."""

    number: int
    words: str
    said: tuple[Part, ...]


def rows_that_differ(alignment: Alignment) -> Int64s:
    """Return the rows that are not equal, from top to bottom."""
    return np.flatnonzero(alignment.table.kinds != EQUAL_ROW)


def differences_of(alignment: Alignment, most: int) -> Iterator[Difference]:
    """Yield the first ``most`` differences from top to bottom, numbered from 1."""
    for number, row in enumerate(rows_that_differ(alignment)[:most].tolist(), 1):
        kind = ROW_KINDS[alignment.table.kinds[row]]
        yield Difference(number, WORDS[kind][0], tuple(_said(alignment, row, kind)))


def _said(alignment: Alignment, row: int, kind: str) -> Iterator[Part]:
    quotes = [_quote(alignment, row, side) for side in (0, 1)]
    if quotes[0]:
        yield quotes[0], True
    if kind == "changed":
        yield (" → " if quotes[0] and quotes[1] else " taken out" if quotes[0] else "put in "), False
    if quotes[1]:
        yield quotes[1], True
    bounds = [pieces.first[row : row + 2] for pieces in alignment.table.sides]
    alone = [begin < end for begin, end in bounds]
    if alone[0] != alone[1]:
        side = int(alone[1])
        pieces, (begin, end) = alignment.table.sides[side], bounds[side]
        for match in pieces.matches[begin:end][pieces.opens[begin:end]].tolist():
            yield f" (match {match}, {way_to(alignment, match, side)})", False


def _quote(alignment: Alignment, row: int, side: int) -> str:
    """Return the beginning of the changed text, or else of the moved text, with gaps shown as dots."""
    text, pieces = (alignment.text_a, alignment.text_b)[side], alignment.table.sides[side]
    begin, end = pieces.first[row : row + 2].tolist()
    kinds = pieces.kinds[begin:end]
    chosen = np.flatnonzero(kinds == CHANGED)
    chosen = begin + (chosen if len(chosen) else np.flatnonzero(kinds == MOVED))
    quote = ""
    for at, (first, last) in enumerate(pieces.spans[chosen].tolist()):
        if len(quote) > QUOTED:
            break
        quote += " … " * bool(at) + " ".join(text[first:last][: 2 * QUOTED].split())
    return quote if len(quote) <= QUOTED else quote[: QUOTED - 1] + "…"
