"""A comparison on a terminal: two columns if they fit, otherwise one text that shows both; then the measures.

Marks that need no colour: ``[3]`` a match begins, ``[-gone-]`` only in A, ``{+new+}`` only in B, ``<~moved~>``;
in the margin ``-`` for A, ``+`` for B, ``~`` moved, ``=`` equal but for case, punctuation or layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neardup.comparison.alignment.table import ROW_KINDS
from neardup.comparison.show.marked import MarkedRows, Span
from neardup.comparison.show.words import (
    base_sentence,
    base_spans,
    common_sentence,
    differences_sentence,
    left_out_sentence,
    notes_on,
    restyled,
    style_words,
    uncounted,
    value_of,
)
from neardup.comparison.show.wrapping import EMPTY, Styled
from neardup.display import Fragment, aligned, counted, painted, printable, tail
from neardup.kernels.show.rows import CHANGED_ROW
from neardup.tables import Bools

if TYPE_CHECKING:
    from neardup.comparison.alignment import Alignment
    from neardup.comparison.result import ComparisonRecord

TWO_COLUMNS = 100
"""From this width on, a terminal shows A and B side by side."""
NARROWEST = 60
EQUAL_LINES, OTHER_LINES = 3, 20
"""Lines shown at either end of a long stretch, equal or not; the lines between are only counted."""

COLOURS = {
    "removed": "31",
    "added": "32",
    "note": "2",
    "head": "1",
    "base": "2",
    **{f"match{k}": code for k, code in enumerate(("1;36", "1;33", "1;34", "1;35"))},
    **{f"moved{k}": code for k, code in enumerate(("36", "33", "34", "35"))},
}

_MARGIN_COLOUR = {"-": "removed", "+": "added"}

Line: TypeAlias = list[Fragment]

_MARGINS = ({"changed": "-", "only_a": "-", "moved_a": "~"}, {"changed": "+", "only_b": "+", "moved_b": "~"})
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


def as_text(
    found: ComparisonRecord, names: tuple[str, str], width: int, *, colour: bool, full: bool
) -> Iterator[str]:
    """Yield the lines of a comparison, at most ``width`` columns wide (60 or more).

    ``names`` are those of A and B. With ``full``, long stretches are shown whole.
    """
    codes = COLOURS if colour else {}
    width = max(width, NARROWEST)
    alignment, other_style = found.alignment, restyled(found.alignment)
    for line in (*_head(found, names, width, other_style), []):
        yield "".join(painted(line, codes)).rstrip()
    base = base_spans(found, 0), base_spans(found, 1)
    body = (_TwoColumns if width >= TWO_COLUMNS else _Inline)(alignment, width, codes, other_style, base)
    yield from body.head()
    yield from _rows(body, alignment.table.kinds, full)
    yield ""
    yield from facts_of(found, width)


def facts_of(found: ComparisonRecord, width: int) -> Iterator[str]:
    """Yield the amount of common text, the number of differences and any warnings; then every measure."""
    facts = [("kind", found.difference), ("in common", common_sentence(found))]
    facts.append(("differences", differences_sentence(found.alignment)))
    facts += [("base text", base_sentence(found))] * found.ignores
    facts += [("left out", left_out_sentence(found))] * found.leaves_out
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


def _head(found: ComparisonRecord, names: tuple[str, str], width: int, other_style: Bools) -> Iterator[Line]:
    for letter, name in zip("AB", names, strict=True):
        if name != letter:
            yield [(f"{letter}  ", "head"), (tail(printable(name), width - 3), "")]
    alignment = found.alignment
    marks = [words for those, words in _LEGEND if any(alignment.kinds[kind] for kind in those)]
    if alignment.moved.any():
        marks.append("~ moved")
    if other_style.any():
        marks.append(f"= equal but for {style_words(found)}")
    if len(alignment.units):
        marks.append("[n] a match begins")
    if uncounted(found):
        marks.append(f"|:{uncounted(found)}:| does not count")
    unbroken = (mark.replace(" ", "\u00a0") for mark in marks)
    for line in wrap(", ".join(unbroken), width - 3):
        yield [("   " + line.replace("\u00a0", " "), "note")]


def _rows(body: _TwoColumns | _Inline, kinds: NDArray[np.int8], full: bool) -> Iterator[str]:
    """Yield all rows; long stretches of one kind and long changes are shortened to their ends and a line count."""
    new = np.ones(len(kinds), np.bool_)
    new[1:] = (kinds[1:] != kinds[:-1]) | (kinds[1:] == CHANGED_ROW)
    begins = np.flatnonzero(new)
    bounds = [*begins.tolist(), len(kinds)]
    for at, (number, begin, end) in enumerate(zip(kinds[begins].tolist(), bounds, bounds[1:], strict=False)):
        kind, first, last = ROW_KINDS[number], OTHER_LINES, OTHER_LINES
        if kind == "equal":  # equal text is only useful next to differences
            first = EQUAL_LINES if at or len(begins) == 1 else 0
            last = EQUAL_LINES if at + 1 < len(begins) or len(begins) == 1 else 0
        hidden = 0 if full else sum(map(body.height, range(begin, end))) - first - last
        if hidden <= max(first, last):
            yield from body.lines(range(begin, end))
            continue
        yield from islice(body.lines(range(begin, end)), first)
        words = f"··· {counted(hidden, f'{_FOLDED[kind][0]}line')}{_FOLDED[kind][1]} ···"
        yield from body.note(words.center(body.width).rstrip())
        row, left = end, last
        while left > 0:
            row -= 1
            left -= body.height(row)
        yield from islice(body.lines(range(row, end)), -left, None)


class _Body:
    """The part both views share: rows, cut into lines when they are needed."""

    def __init__(
        self,
        alignment: Alignment,
        width: int,
        codes: Mapping[str, str],
        other_style: Bools,
        base: tuple[list[Span], list[Span]] = ([], []),
    ) -> None:
        self.width = width
        self._codes, self._marked = codes, MarkedRows(alignment, base)
        self._kinds: list[int] = alignment.table.kinds.tolist()
        self._other_style: list[bool] = other_style.tolist()

    def note(self, words: str) -> Iterator[str]:
        """Yield a line of commentary between the lines of the texts."""
        yield self._paint(words, "note")

    def _paint(self, text: str, style: str) -> str:
        return "".join(painted([(text, style)], self._codes))

    def _mark(self, row: int, marks: Mapping[str, str]) -> str:
        """Return the mark in the margin of a row."""
        return "=" if self._other_style[row] else marks.get(ROW_KINDS[self._kinds[row]], "")

    def _margin(self, mark: str, width: int) -> str:
        return self._paint(f"{mark:<{width}}", _MARGIN_COLOUR.get(mark, ""))


class _TwoColumns(_Body):
    """A on the left, B on the right."""

    @property
    def _column(self) -> int:
        """The width of a text: there are two margins of two columns, and the line between them."""
        return (self.width - 7) // 2

    def head(self) -> Iterator[str]:
        gap, bar = " " * (self._column - 1), self._paint(" │ ", "note")
        yield f"  {self._paint('A', 'head')}{gap}{bar}  {self._paint('B', 'head')}"
        yield self._paint("─" * (self._column + 3) + "┼" + "─" * (self._column + 3), "note")

    def height(self, row: int) -> int:
        """Return the number of lines of a row."""
        return max(len(side.cuts) for side in self._sides(row))

    def lines(self, rows: range) -> Iterator[str]:
        """Yield the lines of these rows, of both sides; margins are painted like the text beside them."""
        bar, empty = self._paint(" │ ", "note"), (EMPTY, "")
        for row in rows:
            sides = (zip(side.cuts, side.strings(self._codes), strict=True) for side in self._sides(row))
            marks = [self._mark(row, marks) for marks in _MARGINS]
            for (cut_a, a), (cut_b, b) in zip_longest(*sides, fillvalue=empty):
                left, right = (self._margin(marks[k] if cut else "", 2) for k, cut in enumerate((cut_a, cut_b)))
                yield f"{left}{a}{' ' * (self._column - cut_a.columns)}{bar}{right}{b}".rstrip()

    def _sides(self, row: int) -> Iterator[Styled]:
        for which in (0, 1):
            yield Styled(self._marked.of_side(row, which), self._column)


class _Inline(_Body):
    """One merged text: equal parts as in A, differences from both."""

    def head(self) -> Iterator[str]:
        return iter(())

    def height(self, row: int) -> int:
        """Return the number of lines of a row."""
        return len(self._text(row).cuts)

    def lines(self, rows: range) -> Iterator[str]:
        """Yield the lines of these rows."""
        for row in rows:
            text, mark = self._text(row), self._mark(row, _INLINE)
            for cut, line in zip(text.cuts, text.strings(self._codes), strict=True):
                yield f"{self._margin(mark if cut else '', 3)}{line}".rstrip()

    def _text(self, row: int) -> Styled:
        return Styled(self._marked.of_both(row), self.width - 3)
