"""A comparison on a terminal: two columns if they fit, otherwise one text that shows both; then the measures.

Marks that need no colour: ``[3]`` a match begins, ``[-gone-]`` only in A, ``{+new+}`` only in B, ``<~moved~>``;
in the margin ``-`` for A, ``+`` for B, ``~`` moved, ``=`` equal but for case, punctuation or layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from textwrap import wrap
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neardup.comparison.alignment.table import ROW_KINDS
from neardup.comparison.show.sheets import Sheet, notes_of, sides_of
from neardup.comparison.show.words import common_sentence, differences_sentence, notes_on, restyled, value_of
from neardup.display import Fragment, aligned, counted, painted, printable, tail
from neardup.kernels.show.marked import mark_both, mark_side
from neardup.kernels.show.rows import CHANGED_ROW
from neardup.tables import Bools, Int64s

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
    body = (_TwoColumns if width >= TWO_COLUMNS else _Inline)(alignment, width, codes, other_style)
    yield from body.head()
    yield from _rows(body, alignment.table.kinds, full)
    yield ""
    yield from facts_of(found, width)


def facts_of(found: ComparisonRecord, width: int) -> Iterator[str]:
    """Yield the amount of common text, the number of differences and any warnings; then every measure."""
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


def _head(found: ComparisonRecord, names: tuple[str, str], width: int, other_style: Bools) -> Iterator[Line]:
    for letter, name in zip("AB", names, strict=True):
        if name != letter:
            yield [(f"{letter}  ", "head"), (tail(printable(name), width - 3), "")]
    alignment = found.alignment
    marks = [words for those, words in _LEGEND if any(alignment.kinds[kind] for kind in those)]
    if alignment.moved.any():
        marks.append("~ moved")
    if other_style.any():
        marks.append("= equal but for case or punctuation")
    if len(alignment.units):
        marks.append("[n] a match begins")
    unbroken = (mark.replace(" ", "\u00a0") for mark in marks)
    for line in wrap(", ".join(unbroken), width - 3):
        yield [("   " + line.replace("\u00a0", " "), "note")]


def _rows(body: _TwoColumns | _Inline, kinds: NDArray[np.int8], full: bool) -> Iterator[str]:
    """Yield all rows; long stretches of one kind and long changes are shortened to their ends and a line count."""
    new = np.ones(len(kinds), np.bool_)
    new[1:] = (kinds[1:] != kinds[:-1]) | (kinds[1:] == CHANGED_ROW)
    begins = np.flatnonzero(new)
    bounds = body.first[np.append(begins, len(kinds))].tolist()
    shown: list[range | str] = []
    for at, (number, begin, end) in enumerate(zip(kinds[begins].tolist(), bounds, bounds[1:], strict=False)):
        kind, first, last = ROW_KINDS[number], OTHER_LINES, OTHER_LINES
        if kind == "equal":  # equal text is only useful next to differences
            first = EQUAL_LINES if at or len(begins) == 1 else 0
            last = EQUAL_LINES if at + 1 < len(begins) or len(begins) == 1 else 0
        hidden = end - begin - first - last
        if full or hidden <= max(first, last):
            shown.append(range(begin, end))
            continue
        words = f"··· {counted(hidden, f'{_FOLDED[kind][0]}line')}{_FOLDED[kind][1]} ···"
        shown += [range(begin, begin + first), words.center(body.width).rstrip(), range(end - last, end)]
    chosen = [line for lines in shown if isinstance(lines, range) for line in lines]
    texts = iter(body.strings(np.array(chosen, np.int64)))
    for lines in shown:
        yield from islice(texts, len(lines)) if isinstance(lines, range) else body.note(lines)


class _Body:
    """The part both views share: rows cut into lines, where line ``first[k]`` is the first of row k."""

    first: Int64s

    def __init__(self, alignment: Alignment, width: int, codes: Mapping[str, str], other_style: Bools) -> None:
        self.width = width
        self._codes = codes
        self._kinds, self._other_style = alignment.table.kinds, other_style
        self._sides, self._notes = sides_of(alignment), notes_of(alignment)

    def note(self, words: str) -> Iterator[str]:
        """Yield a line of commentary between the lines of the texts."""
        yield self._paint(words, "note")

    def _paint(self, text: str, style: str) -> str:
        return "".join(painted([(text, style)], self._codes))

    def _rows_of(self, lines: Int64s) -> Int64s:
        rows: Int64s = np.searchsorted(self.first, lines, "right") - 1
        return rows

    def _marks(self, rows: Int64s, marks: Mapping[str, str]) -> list[str]:
        """Return the mark in the margin of each row."""
        of_kind = [marks.get(kind, "") for kind in ROW_KINDS]
        kinds = np.where(self._other_style[rows], len(ROW_KINDS), self._kinds[rows]).tolist()
        return [[*of_kind, "="][kind] for kind in kinds]


class _TwoColumns(_Body):
    """A on the left, B on the right."""

    def __init__(self, alignment: Alignment, width: int, codes: Mapping[str, str], other_style: Bools) -> None:
        super().__init__(alignment, width, codes, other_style)
        self._column = (width - 7) // 2  # two margins of two columns, and the line between them
        pages = (mark_side(side, which, self._kinds, self._notes) for which, side in enumerate(self._sides))
        self._sheets = [Sheet(page, self._column, codes) for page in pages]
        self._counts = [np.diff(sheet.first) for sheet in self._sheets]
        self.first = np.concatenate(([0], np.cumsum(np.maximum(*self._counts))))

    def head(self) -> Iterator[str]:
        gap, bar = " " * (self._column - 1), self._paint(" │ ", "note")
        yield f"  {self._paint('A', 'head')}{gap}{bar}  {self._paint('B', 'head')}"
        yield self._paint("─" * (self._column + 3) + "┼" + "─" * (self._column + 3), "note")

    def strings(self, lines: Int64s) -> list[str]:
        """Return the lines with these numbers, of both sides; margins are painted like the text beside them."""
        rows = self._rows_of(lines)
        at = lines - self.first[rows]
        sides = []
        for sheet, counts, marks in zip(self._sheets, self._counts, _MARGINS, strict=True):
            own = np.where(at < counts[rows], sheet.first[rows] + at, -1)
            margins = {mark: self._paint(f"{mark:<2}", _MARGIN_COLOUR.get(mark, "")) for mark in ("", *"-+~=")}
            marked = zip(self._marks(rows, marks), sheet.filled(own), strict=True)
            gaps = (self._column - sheet.columns[own]).tolist()
            sides.append((sheet.strings(own), [margins[mark if some else ""] for mark, some in marked], gaps))
        bar = self._paint(" │ ", "note")
        (left, margins_left, gaps), (right, margins_right, _) = sides
        parts = zip(margins_left, left, gaps, margins_right, right, strict=True)
        return [f"{one}{a}{' ' * gap}{bar}{other}{b}".rstrip() for one, a, gap, other, b in parts]


class _Inline(_Body):
    """One merged text: equal parts as in A, differences from both."""

    def __init__(self, alignment: Alignment, width: int, codes: Mapping[str, str], other_style: Bools) -> None:
        super().__init__(alignment, width, codes, other_style)
        a, b = self._sides
        self._sheet = Sheet(mark_both(a, b, self._kinds, self._notes), width - 3, codes)
        self.first = self._sheet.first

    def head(self) -> Iterator[str]:
        return iter(())

    def strings(self, lines: Int64s) -> list[str]:
        """Return the lines with these numbers."""
        margins = {
            (mark, some): self._paint(f"{mark if some else '':<3}", _MARGIN_COLOUR.get(mark, ""))
            for mark in ("", "=", *_INLINE.values())
            for some in (False, True)
        }
        marked = zip(self._marks(self._rows_of(lines), _INLINE), self._sheet.filled(lines), strict=True)
        texts = zip(map(margins.__getitem__, marked), self._sheet.strings(lines), strict=True)
        return [f"{margin}{text}".rstrip() for margin, text in texts]
