"""A comparison on a terminal: two columns where there is room, else one text with both; then the measures.

Marks that need no colour: ``[3]`` a match begins, ``[-gone-]`` only in A, ``{+new+}`` only in B, ``<~moved~>``;
in the margin ``-`` for A, ``+`` for B, ``~`` moved, ``=`` equal but for case, punctuation or layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, TypeAlias

from neardup.comparison.words import (
    common_sentence,
    differences_sentence,
    notes_on,
    restyled,
    value_of,
    way_to,
)
from neardup.terminal import Fragment, columns, painted, tail, wrapped
from neardup.views import aligned, counted, printable, visible

if TYPE_CHECKING:
    from neardup.alignment import Alignment, Piece, Row
    from neardup.measures import Comparison

TWO_COLUMNS = 100
"""Terminals as wide as this show A and B side by side."""
NARROWEST = 60
EQUAL_LINES, OTHER_LINES = 3, 20
"""Lines shown at either end of a long stretch, equal or not; what is between is counted."""

COLOURS = {
    "removed": "31",
    "added": "32",
    "note": "2",
    "head": "1",
    **{f"match{k}": code for k, code in enumerate(("1;36", "1;33", "1;34", "1;35"))},
    **{f"moved{k}": code for k, code in enumerate(("36", "33", "34", "35"))},
}

Line: TypeAlias = list[Fragment]
Margins: TypeAlias = tuple[str, str]

_MARGINS: dict[str, Margins] = {
    "equal": ("", ""),
    "changed": ("-", "+"),
    "only_a": ("-", ""),
    "only_b": ("", "+"),
    "moved_a": ("~", ""),
    "moved_b": ("", "~"),
}
_INLINE = {"changed": "-+", "only_a": "-", "only_b": "+", "moved_a": "~-", "moved_b": "~+"}
_FOLDED = {
    "equal": ("equal ", ""),
    "changed": ("changed ", ""),
    "only_a": ("", " only in A"),
    "only_b": ("", " only in B"),
    "moved_a": ("moved ", " of A"),
    "moved_b": ("moved ", " of B"),
}
_LEGEND = (
    (("changed", "only_a"), "- only in A"),
    (("changed", "only_b"), "+ only in B"),
)


def as_text(found: Comparison, names: tuple[str, str], width: int, *, colour: bool, full: bool) -> Iterator[str]:
    """The lines of a comparison, at most ``width`` columns wide (60 or more).

    ``names`` of A and B; with ``full`` long stretches are shown whole.
    """
    codes = COLOURS if colour else {}
    width = max(width, NARROWEST)
    body = _TwoColumns(found.alignment, width) if width >= TWO_COLUMNS else _Inline(found.alignment, width)
    for line in (*_head(found, names, width), [], *body.head(), *_rows(body, found.alignment, full), []):
        yield "".join(painted(line, codes)).rstrip()
    yield from facts_of(found, width)


def facts_of(found: Comparison, width: int) -> Iterator[str]:
    """How much is common, how many differences, what must be known; then every measure."""
    facts = [("in common", common_sentence(found)), ("differences", differences_sentence(found.alignment))]
    for text in aligned([*facts, *(("note", note) for note in notes_on(found))], width):
        yield from text.splitlines()
    yield ""
    rows = [(name, *value_of(value), kind) for name, value, kind, _ in found.described()]
    column = max(len(value) for _, value, _, _ in rows)
    table = [
        (name, f"{value:<{column}}  {kind}" + f" (95 %: {interval})" * bool(interval))
        for name, value, interval, kind in rows
    ]
    for text in aligned(table, width):
        yield from text.splitlines()


def _head(found: Comparison, names: tuple[str, str], width: int) -> Iterator[Line]:
    for letter, name in zip("AB", names, strict=True):
        if name != letter:
            yield [(f"{letter}  ", "head"), (tail(printable(name), width - 3), "")]
    alignment = found.alignment
    marks = [words for those, words in _LEGEND if any(alignment.kinds[kind] for kind in those)]
    if any(match.moved for match in alignment.matches):
        marks.append("~ moved")
    if any(row.kind == "equal" and restyled(alignment, row) for row in alignment.rows):
        marks.append("= equal but for case or punctuation")
    if alignment.matches:
        marks.append("[n] a match begins")
    unbroken = (mark.replace(" ", "\u00a0") for mark in marks)
    for line in wrap(", ".join(unbroken), width - 3):
        yield [("   " + line.replace("\u00a0", " "), "note")]


def _rows(body: _TwoColumns | _Inline, alignment: Alignment, full: bool) -> Iterator[Line]:
    """All rows; of a long stretch of one kind, or of one long change, the ends and how much is between."""
    stretches = [
        (kind, [line for _, row in stretch for line in body.lines(row)])
        for (kind, _), stretch in groupby(
            enumerate(alignment.rows), lambda at: (at[1].kind, at[0] if at[1].kind == "changed" else 0)
        )
    ]
    for at, (kind, lines) in enumerate(stretches):
        first = last = OTHER_LINES
        if kind == "equal":  # equal text is of use next to what differs
            first = EQUAL_LINES if at or len(stretches) == 1 else 0
            last = EQUAL_LINES if at + 1 < len(stretches) or len(stretches) == 1 else 0
        hidden = len(lines) - first - last
        if full or hidden <= max(first, last):
            yield from lines
            continue
        yield from lines[:first]
        words = f"··· {counted(hidden, f'{_FOLDED[kind][0]}line')}{_FOLDED[kind][1]} ···"
        yield [(words.center(body.width).rstrip(), "note")]
        yield from lines[len(lines) - last :]


class _TwoColumns:
    """A on the left, B on the right."""

    def __init__(self, alignment: Alignment, width: int) -> None:
        self.width = width
        self._alignment = alignment
        self._column = (width - 7) // 2  # two margins of two columns, and the line between them

    def head(self) -> Iterator[Line]:
        yield self._joined(("", ""), [("A", "head")], [("B", "head")])
        yield [("─" * (self._column + 3) + "┼" + "─" * (self._column + 3), "note")]

    def lines(self, row: Row) -> list[Line]:
        left, right = (wrapped(self._cell(row, side), self._column) for side in (0, 1))
        margins = _MARGINS[row.kind]
        if row.kind == "equal" and restyled(self._alignment, row):
            margins = ("=", "=")
        nothing: Line = []
        sides = zip_longest(left, right, fillvalue=nothing)
        return [self._joined((margins[0] if a else "", margins[1] if b else ""), a, b) for a, b in sides]

    def _cell(self, row: Row, side: int) -> list[Fragment]:
        pieces = (row.a, row.b)[side]
        if pieces:
            return [fragment for piece in pieces for fragment in _marked(self._alignment, row, piece, side)]
        moved = [piece.match for piece in (row.b, row.a)[side] if piece.opens]
        return [(text, "note") for text in _ways(self._alignment, moved, 1 - side)]

    def _joined(self, margins: Margins, left: Line, right: Line) -> Line:
        """A line of both; the margins are painted as the text beside them."""
        gap = " " * (self._column - sum(columns(text) for text, _ in left))
        colours = tuple("" if mark in ("", "=") else _MARGIN_COLOUR.get(mark, "") for mark in margins)
        return [
            (f"{margins[0]:<2}", colours[0]),
            *left,
            (gap, ""),
            (" │ ", "note"),
            (f"{margins[1]:<2}", colours[1]),
            *right,
        ]


_MARGIN_COLOUR = {"-": "removed", "+": "added"}


class _Inline:
    """One text: what is equal as A has it, what differs of both."""

    def __init__(self, alignment: Alignment, width: int) -> None:
        self.width = width
        self._alignment = alignment

    def head(self) -> Iterator[Line]:
        return iter(())

    def lines(self, row: Row) -> list[Line]:
        margin = _INLINE.get(row.kind, "")
        if row.kind == "equal" and restyled(self._alignment, row):
            margin = "="
        colour = _MARGIN_COLOUR.get(margin, "")
        return [
            [(f"{margin if line else '':<3}", colour), *line]
            for line in wrapped(self._fragments(row), self.width - 3)
        ]

    def _fragments(self, row: Row) -> list[Fragment]:
        found = [
            fragment for piece, side in merged(row) for fragment in _marked(self._alignment, row, piece, side)
        ]
        if row.a and row.b:
            return found
        side = int(not row.a)
        moved = [piece.match for piece in (row.a, row.b)[side] if piece.opens]
        text, style = found.pop()
        notes = [(f" ({way})", "note") for way in _ways(self._alignment, moved, side)]
        return [*found, (text.rstrip(), style), *notes, (text[len(text.rstrip()) :], "")]


def merged(row: Row) -> Iterator[tuple[Piece, int]]:
    """The pieces of both sides in one order, each with its side: equal text as A has it, once."""
    if not row.a or not row.b:
        side = int(not row.a)
        yield from ((piece, side) for piece in (row.a, row.b)[side])
        return
    for a, b in zip(_stretches(row.a), _stretches(row.b), strict=True):
        edited_a, edited_b = (any(piece.kind in ("changed", "moved") for piece in side) for side in (a, b))
        if edited_a or not edited_b:
            yield from ((piece, 0) for piece in a)
        if edited_b:
            # the white space before what B has instead is that of A
            yield from ((piece, 1) for piece in b[edited_a and b[0].kind == "between" :])


def _stretches(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces in turns: what is not the same, what is the same, what is not …"""
    found: list[list[Piece]] = [[]]
    for piece in pieces:
        if piece.kind == "same":
            found += [[piece], []]
        else:
            found[-1].append(piece)
    return found


def _ways(alignment: Alignment, matches: Sequence[int], side: int) -> list[str]:
    """Where the other halves of moved matches stand, as one text or none."""
    parts = [f"[{match}] {way_to(alignment, match, side)}" for match in matches]
    return [", ".join(parts)] if parts else []


def _marked(alignment: Alignment, row: Row, piece: Piece, side: int) -> Iterator[Fragment]:
    """A piece as styled text with its marks."""
    text = visible((alignment.text_a, alignment.text_b)[side][piece.begin : piece.end])
    if piece.opens:
        yield f"[{piece.match}]\u00a0", f"match{piece.match % 4}"
    if piece.kind == "changed":
        inside = row.kind == "changed"
        style, (begin, end) = (("removed", ("[-", "-]")), ("added", ("{+", "+}")))[side]
        yield (f"{begin}{text}{end}" if inside else text), style
    elif piece.kind == "moved":
        inside = row.kind not in ("moved_a", "moved_b")
        yield (f"<~{text}~>" if inside else text), f"moved{piece.match % 4}"
    else:
        yield text, ""
