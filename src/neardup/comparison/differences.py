"""The differences of two texts as a list: a number for each row that is not equal, and what it says in short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from neardup.comparison.words import way_to

if TYPE_CHECKING:
    from neardup.alignment import Alignment, Piece, Row

QUOTED = 80
"""Characters of a text that are quoted."""

Part: TypeAlias = tuple[str, bool]
"""Words, and whether they are those of a document."""

_WORDS = {
    "changed": ("changed", "±"),
    "only_a": ("only in A", "−"),
    "only_b": ("only in B", "+"),
    "moved_a": ("moved, in A", "~"),
    "moved_b": ("moved, in B", "~"),
}


@dataclass(frozen=True)
class Difference:
    """A row that is not equal: its place among the rows, its number, its kind in words and as a mark, and more."""

    row: int
    number: int
    words: str
    mark: str
    said: tuple[Part, ...]


def differences_of(alignment: Alignment) -> Iterator[Difference]:
    """All differences from top to bottom, numbered from 1."""
    number = 0
    for at, row in enumerate(alignment.rows):
        if row.kind != "equal":
            number += 1
            words, mark = _WORDS[row.kind]
            yield Difference(at, number, words, mark, tuple(_said(alignment, row)))


def _said(alignment: Alignment, row: Row) -> Iterator[Part]:
    quotes = [_quote(alignment, pieces, side) for side, pieces in enumerate((row.a, row.b))]
    if quotes[0]:
        yield quotes[0], True
    if row.kind == "changed":
        yield (" → " if quotes[0] and quotes[1] else " taken out" if quotes[0] else "put in "), False
    if quotes[1]:
        yield quotes[1], True
    if not (row.a and row.b):
        for piece in row.a or row.b:
            if piece.opens:
                yield f" (match {piece.match}, {way_to(alignment, piece.match, int(not row.a))})", False


def _quote(alignment: Alignment, pieces: Sequence[Piece], side: int) -> str:
    """The beginning of what differs, or else of what is moved, gaps between as dots."""
    text = (alignment.text_a, alignment.text_b)[side]
    chosen = [piece for piece in pieces if piece.kind == "changed"]
    chosen = chosen or [piece for piece in pieces if piece.kind == "moved"]
    quote = " … ".join(" ".join(text[piece.begin : piece.end][: 2 * QUOTED].split()) for piece in chosen)
    return quote if len(quote) <= QUOTED else quote[: QUOTED - 1] + "…"
