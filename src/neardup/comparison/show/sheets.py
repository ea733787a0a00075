"""Aligned texts on sheets: pages of marked text (``kernels.marked``), cut into lines and painted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from neardup.comparison.show.spelling import spelled
from neardup.comparison.show.words import way_to
from neardup.display import TAB, columns, painted, visible
from neardup.kernels.show import marked as kernels
from neardup.kernels.text.wrapping import BLANK, COLUMNS, LINE_FEED, settle, wrap
from neardup.tables import Int64s
from neardup.text.codepoints import codepoints_of, of_each, text_of

if TYPE_CHECKING:
    from neardup.comparison.alignment import Alignment

STYLES = ("", "removed", "added", "note", *(f"match{k}" for k in range(4)), *(f"moved{k}" for k in range(4)))
"""The position of a style is its number in ``kernels.marked``."""

_HARD_SPACE = ord("\u00a0")


class Sheet:
    """A page cut into lines of at most ``width`` columns; ``codes`` maps styles to colours (empty: no colour).

    Row k of the page has the lines first[k] to first[k + 1]; ``columns`` int32[lines + 1] is the width of each
    line. Line −1 is blank.
    """

    def __init__(self, page: kernels.Page, width: int, codes: Mapping[str, str]) -> None:
        classes = of_each(page.text, _class_of, np.uint8)
        lines, self.first = wrap(classes, page.rows, width)
        lines = np.concatenate((lines, np.zeros((1, 5), np.int32)))  # line −1 is blank
        self._lines, self.columns = np.ascontiguousarray(lines[:, :4]), lines[:, 4]
        # up to here, no-break spaces kept words together
        self._text = text_of(np.where(page.text == _HARD_SPACE, np.uint32(ord(" ")), page.text))
        self._codes = codes
        self._styles = page.styles
        self._parts = settle(page.parts, page.rows, classes) if codes else page.parts

    def filled(self, lines: Int64s) -> list[bool]:
        """Return whether each line with these numbers has text."""
        ends = self._lines[lines]
        some: list[bool] = ((ends[:, 1] > ends[:, 0]) | (ends[:, 3] > ends[:, 2])).tolist()
        return some

    def strings(self, lines: Int64s) -> Iterator[str]:
        """Return the lines with these numbers."""
        chosen = self._lines[lines]
        return self._painted(chosen) if self._codes else self._plain(chosen)

    def _plain(self, lines: Int64s) -> Iterator[str]:
        text = self._text
        for indent, solid, begin, end in lines.tolist():
            yield text[indent:solid] + text[begin:end] if indent < solid else text[begin:end]

    def _painted(self, lines: Int64s) -> Iterator[str]:
        """Yield each line with its colours; adjacent text of one style is painted as one."""
        parts = [*self._parts.tolist(), len(self._text)]
        styles = [STYLES[style] for style in self._styles.tolist()]
        spans = lines.reshape(-1, 2)
        in_part = (np.searchsorted(self._parts, spans[:, 0], "right") - 1).reshape(-1, 2).tolist()
        for line, numbers in zip(lines.reshape(-1, 2, 2).tolist(), in_part, strict=True):
            found: list[tuple[str, str]] = []
            for (at, end), part in zip(line, numbers, strict=True):
                while at < end:
                    stop = min(end, parts[part + 1])
                    if stop > at:
                        text = self._text[at:stop]
                        if found and found[-1][1] == styles[part]:
                            text = found.pop()[0] + text
                        found.append((text, styles[part]))
                    at, part = max(at, stop), part + 1
            yield "".join(painted(found, self._codes))


def _class_of(char: str) -> int:
    """Return the bits of ``kernels.wrapping`` for a character."""
    if char == "\n":
        return LINE_FEED
    return min(columns(char), COLUMNS) | (char.isspace() and char != "\u00a0") * BLANK


def sides_of(alignment: Alignment) -> list[kernels.Side]:
    """Return both texts in their terminal form, with their pieces."""
    found = []
    for text, pieces in zip((alignment.text_a, alignment.text_b), alignment.table.sides, strict=True):
        shown = spelled(text, lambda char: TAB if char == "\t" else visible(char))
        blank = of_each(shown.codepoints, str.isspace, np.bool_)
        spans = shown.at(pieces.spans)
        found.append(
            kernels.Side(shown.codepoints, blank, pieces.kinds, spans, pieces.matches, pieces.opens, pieces.first)
        )
    return found


def notes_of(alignment: Alignment) -> kernels.Notes:
    """Return the notes that point to the other halves of moved matches, for the rows where the matches begin."""
    said = [""] * len(alignment.table)
    for side, matches in enumerate(one_sided_matches(alignment)):
        for row, numbers in matches.items():
            said[row] = ", ".join(f"[{match}] {way_to(alignment, match, side)}" for match in numbers)
    return kernels.Notes(codepoints_of("".join(said)), np.cumsum([0, *map(len, said)]))


def one_sided_matches(alignment: Alignment) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the matches that begin in rows of A alone, by row number; and those in rows of B alone."""
    table = alignment.table
    found: tuple[dict[int, list[int]], dict[int, list[int]]] = {}, {}
    there = [np.diff(pieces.first) > 0 for pieces in table.sides]
    for side, pieces in enumerate(table.sides):
        begins = np.flatnonzero(pieces.opens)
        rows = np.searchsorted(pieces.first, begins, "right") - 1
        alone = ~there[1 - side][rows]
        for row, match in zip(rows[alone].tolist(), pieces.matches[begins[alone]].tolist(), strict=True):
            found[side].setdefault(row, []).append(match)
    return found
