"""The rows of two aligned texts as styled text, with the marks that ``lines.py`` explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from neardup.comparison.show.words import cut_at, one_sided_matches, part_of, way_to
from neardup.comparison.show.wrapping import HARD_SPACE
from neardup.display import TAB, Fragment, visible
from neardup.kernels.show.rows import BETWEEN, CHANGED, CHANGED_ROW, EQUAL_ROW, MOVED, MOVED_A, MOVED_B, SAME

if TYPE_CHECKING:
    from neardup.comparison.alignment import Alignment
    from neardup.comparison.alignment.table import Pieces

STYLES_OF_MATCHES = 4
_BASE_BEGINS, _BASE_ENDS = "|:", ":|"
_NO_MARKS = ("", "")
Span = tuple[int, int]
_CHANGED = (("removed", "[-", "-]"), ("added", "{+", "+}"))


class _Side:
    """One text and its pieces, as lists."""

    def __init__(self, text: str, pieces: Pieces, which: int, base: list[Span]) -> None:
        self._text, self._which, self._base = text, which, base
        self.kinds: list[int] = pieces.kinds.tolist()
        self._spans: list[list[int]] = pieces.spans.tolist()
        self._matches: list[int] = pieces.matches.tolist()
        self._opens: list[bool] = pieces.opens.tolist()
        self._bounds = list(pairwise(pieces.first.tolist()))
        self._plain: list[list[int]] = pieces.spans_of_rows.tolist()
        opened = np.searchsorted(pieces.first, np.flatnonzero(pieces.opens), "right") - 1
        self._opened = set(opened.tolist())

    def bounds(self, row: int) -> tuple[int, int]:
        """Return the pieces [begin, end) of a row."""
        return self._bounds[row]

    def equal(self, row: int) -> Iterator[Fragment]:
        """Yield the text of an equal row."""
        if row in self._opened:
            yield from self.pieces(*self._bounds[row], EQUAL_ROW)
        else:
            yield from self._painted(self._plain[row], "")

    def pieces(self, begin: int, end: int, row_kind: int) -> Iterator[Fragment]:
        """Yield the pieces [begin, end) of a row with their marks."""
        for piece in range(begin, end):
            kind, match = self.kinds[piece], self._matches[piece]
            if self._opens[piece]:
                yield f"[{match}]{HARD_SPACE}", f"match{match % STYLES_OF_MATCHES}"
            span = self._spans[piece]
            if kind == CHANGED:
                style, *marks = _CHANGED[self._which]
                yield from self._painted(span, style, marks if row_kind == CHANGED_ROW else _NO_MARKS)
            elif kind == MOVED:
                plain, style = row_kind in (MOVED_A, MOVED_B), f"moved{match % STYLES_OF_MATCHES}"
                yield from self._painted(span, style, _NO_MARKS if plain else ("<~", "~>"))
            else:
                yield from self._painted(span, "")

    def _painted(self, span: list[int], style: str, marks: Sequence[str] = _NO_MARKS) -> Iterator[Fragment]:
        """Yield the characters of a span between ``marks``: in one style, but base text in its own."""
        (begin, end), (before, after) = span, marks
        if not self._base:
            yield f"{before}{self._shown(begin, end)}{after}", style
            return
        yield before, style
        for first, last, inside in cut_at(self._base, begin, end):
            yield self._shown(first, last), "base" if inside else style
        yield after, style

    def is_solid(self, begin: int, end: int) -> bool:
        """Return whether the pieces [begin, end) contain more than white space."""
        return any(self._shown(*span).strip() for span in self._spans[begin:end])

    def _shown(self, begin: int, end: int) -> str:
        return visible(part_of(self._text, begin, end)).replace("\t", TAB)


class MarkedRows:
    """The rows of an alignment as styled text, one at a time."""

    def __init__(self, alignment: Alignment, base: tuple[list[Span], list[Span]] = ([], [])) -> None:
        self._alignment = alignment
        texts, sides = (alignment.text_a, alignment.text_b), alignment.table.sides
        self._has_base = bool(base[0] or base[1])
        self._sides = [_Side(texts[which], pieces, which, base[which]) for which, pieces in enumerate(sides)]
        self._kinds: list[int] = alignment.table.kinds.tolist()
        self._alone = one_sided_matches(alignment)

    def of_side(self, row: int, which: int) -> list[Fragment]:
        """Return one side of a row (0: A, 1: B); a row without text of that side has its note."""
        return self._with_marks(self._side_of(row, which))

    def of_both(self, row: int) -> list[Fragment]:
        """Return both sides of a row as one text: equal text as in A, differing text of both."""
        return self._with_marks(self._both_of(row))

    def _with_marks(self, fragments: list[Fragment]) -> list[Fragment]:
        """Return the fragments with marks around each run of base text, not around white space at its ends."""
        if not self._has_base:
            return fragments
        made: list[Fragment] = []
        for is_base, run in groupby((part for part in fragments if part[0]), lambda part: part[1] == "base"):
            parts = list(run)
            if not is_base:
                made += parts
                continue
            text = "".join(part for part, _ in parts)
            before, solid, after = _ends(text)
            made += [(before, ""), (f"{_BASE_BEGINS}{solid}{_BASE_ENDS}" * bool(solid), "base"), (after, "")]
        return made

    def _side_of(self, row: int, which: int) -> list[Fragment]:
        side, kind = self._sides[which], self._kinds[row]
        if kind == EQUAL_ROW:
            return list(side.equal(row))
        begin, end = side.bounds(row)
        return list(side.pieces(begin, end, kind)) if begin < end else [(self._note(row), "note")]

    def _both_of(self, row: int) -> list[Fragment]:
        if self._kinds[row] == EQUAL_ROW:
            return list(self._sides[0].equal(row))
        filled = [begin < end for begin, end in (side.bounds(row) for side in self._sides)]
        return list(self._merged(row)) if all(filled) else self._one(row, filled.index(True))

    def _one(self, row: int, which: int) -> list[Fragment]:
        """Return a row that one side has; its note precedes the white space at its end."""
        side = self._sides[which]
        fragments, note = list(side.pieces(*side.bounds(row), self._kinds[row])), self._note(row)
        if note:
            text, style = fragments.pop()
            solid = text.rstrip()
            fragments += [(solid, style), (f" ({note})", "note"), (text[len(solid) :], "")]
        return fragments

    def _merged(self, row: int) -> Iterator[Fragment]:
        """Yield a row of both sides, from one equal piece to the next: the text of A there, then that of B."""
        (a, b), kind = self._sides, self._kinds[row]
        (p, last_p), (q, last_q) = a.bounds(row), b.bounds(row)
        while p < last_p or q < last_q:
            stop_p, edited_a = _to_same(a.kinds, p, last_p)
            stop_q, edited_b = _to_same(b.kinds, q, last_q)
            from_a = edited_a or not edited_b or a.is_solid(p, stop_p)
            if from_a:
                yield from a.pieces(p, stop_p, kind)
            if edited_b:
                # the non-token text before a replacement in B is that of A
                yield from b.pieces(q + (from_a and b.kinds[q] == BETWEEN), stop_q, kind)
            if stop_p < last_p:
                yield from a.pieces(stop_p, stop_p + 1, kind)
            p, q = stop_p + 1, stop_q + 1

    def _note(self, row: int) -> str:
        """Return the note that points to the other halves of the moved matches that begin in a row of one side."""
        return ", ".join(
            f"[{match}] {way_to(self._alignment, match, side)}"
            for side, matches in enumerate(self._alone)
            for match in matches.get(row, ())
        )


def _ends(text: str) -> tuple[str, str, str]:
    """Return the white space at the beginning of a text, the text between, and that at the end."""
    solid = text.strip()
    begin = text.find(solid) if solid else len(text)
    return text[:begin], solid, text[begin + len(solid) :]


def _to_same(kinds: list[int], begin: int, last: int) -> tuple[int, bool]:
    """Return the next piece that both have, or ``last``; and whether anything differs before it."""
    edited = False
    while begin < last and kinds[begin] != SAME:
        edited |= kinds[begin] != BETWEEN
        begin += 1
    return begin, edited
