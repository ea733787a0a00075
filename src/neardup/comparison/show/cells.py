"""The rows of two aligned texts as HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from neardup.comparison.alignment.table import ROW_KINDS
from neardup.comparison.show.differences import WORDS, rows_that_differ
from neardup.comparison.show.words import base_spans, cut_at, one_sided_matches, part_of, restyled, unit_of, way_to
from neardup.display import counted, escaped_parts, number
from neardup.kernels.show.rows import CHANGED, EQUAL_ROW, MOVED

if TYPE_CHECKING:
    from neardup.comparison.alignment.table import Pieces
    from neardup.comparison.result import ComparisonRecord

COLOURS = 6
_EQUAL = '<span class="unheard">equal</span>'
_BASE = '<span class="base" title="does not count">{}</span>'


def escaped(text: str) -> str:
    """Return document text as HTML: invisible characters as boxed escapes, everything else as text."""
    return "".join(
        f'<code class="unseen">{escape(part)}</code>' if unseen else escape(part)
        for part, unseen in escaped_parts(text)
    )


class _Side:
    """One text, and the places of its rows and of the pieces that have markup."""

    def __init__(self, text: str, pieces: Pieces, base: list[tuple[int, int]]) -> None:
        self._text, self._base = text, base
        self.rows: list[list[int]] = pieces.spans_of_rows.tolist()
        marked = np.flatnonzero((pieces.kinds == CHANGED) | (pieces.kinds == MOVED) | pieces.opens)
        columns = (pieces.kinds, *pieces.spans.T, pieces.matches, pieces.opens)
        self.marked = list(zip(*(column[marked].tolist() for column in columns), strict=True))
        self.first: list[int] = np.searchsorted(marked, pieces.first).tolist()
        self.filled: list[bool] = (np.diff(pieces.first) > 0).tolist()

    def shown(self, begin: int, end: int) -> str:
        """Return the characters [begin, end) as HTML."""
        if not self._base:
            return escaped(part_of(self._text, begin, end)) if begin < end else ""
        parts = ((escaped(part_of(self._text, *span)), inside) for *span, inside in cut_at(self._base, begin, end))
        return "".join(_BASE.format(part) if inside and part.strip() else part for part, inside in parts)


class TextRows:
    """The rows of the table that holds the two texts; ``prefix`` makes ids unique."""

    def __init__(self, found: ComparisonRecord, prefix: str) -> None:
        alignment = self._alignment = found.alignment
        self._id, self._unit = prefix, unit_of(found)
        self._kinds = alignment.table.kinds.tolist()
        self._other_style = restyled(alignment).tolist()
        self._numbers = np.cumsum(alignment.table.kinds != EQUAL_ROW).tolist()
        self._count = len(rows_that_differ(alignment))
        self._units, self._moved = alignment.units.tolist(), alignment.moved.tolist()
        texts = (alignment.text_a, alignment.text_b)
        base = (base_spans(found, which) for which in (0, 1))
        self._sides = [_Side(*side) for side in zip(texts, alignment.table.sides, base, strict=True)]
        self._alone = one_sided_matches(alignment)
        self._on_page = np.ones(len(alignment.table), np.bool_)

    def size(self, begin: int, end: int) -> int:
        """Return the number of characters that the equal rows [begin, end) have in A."""
        spans = self._alignment.table.a.spans_of_rows[begin:end]
        return int(spans[-1, 1] - spans[0, 0]) if len(spans) else 0

    def show_only(self, stretches: list[tuple[int, int]]) -> None:
        """Link only to the rows [begin, end) of these stretches, because the page leaves out the others."""
        rows = np.zeros(len(self._numbers), np.bool_)
        for begin, end in stretches:
            rows[begin:end] = True
        self._on_page = rows
        shown = np.flatnonzero(rows)
        self._count = int(self._numbers[shown[-1]]) if len(shown) else 0

    def characters(self, row: int) -> int:
        """Return the number of characters that a row has in both texts."""
        return sum(end - begin for begin, end in (side.rows[row] for side in self._sides))

    def inside(self, begin: int, end: int) -> str:
        """Return the label of a fold that hides these equal rows."""
        pieces, text = self._alignment.table.a, self._alignment.text_a
        part = slice(pieces.first[begin], pieces.first[end])
        matches = pieces.matches[part][pieces.opens[part]]
        words = sum(len(text[first:last].split()) for first, last in pieces.spans_of_rows[begin:end].tolist())
        said = f"{counted(words, 'equal word')} in {counted(end - begin, 'row')}"
        if not len(matches):
            return said
        named = f"match {matches[0]}" if len(matches) == 1 else f"matches {matches.min()} to {matches.max()}"
        return f"{said}, {named}"

    def rows(self, begin: int, end: int) -> Iterator[str]:
        """Yield the rows [begin, end)."""
        for row in range(begin, end):
            kind: str = ROW_KINDS[self._kinds[row]]
            head = identity = ""
            if kind != "equal":
                head, identity = self._steps(self._numbers[row], kind)
            elif self._other_style[row]:
                head = '<span class="mark" title="equal but for case or punctuation">≈</span>'
            else:
                kind, head = "equal same", _EQUAL
            cells = f"{self._cell(row, 0)}{self._cell(row, 1)}"
            yield f'<tr class="{kind}"{identity}><th scope="row">{head}</th>{cells}</tr>'

    def _steps(self, n: int, kind: str) -> tuple[str, str]:
        """Return the number of a difference with links to its neighbours, and the ``id`` they link to."""
        words, mark = WORDS[kind]
        steps = [(n - 1, "↑", "previous"), (n + 1, "↓", "next")]
        links = "".join(
            f'<a class="step" href="#{self._id}d{to}" aria-label="{which} difference">{arrow}</a>'
            for to, arrow, which in steps
            if 1 <= to <= self._count
        )
        label = f'<span class="unheard">{words}, difference </span>'
        return f"<b>{mark}{label}{number(n)}</b>{links}", f' id="{self._id}d{n}"'

    def _cell(self, row: int, which: int) -> str:
        letter = "AB"[which]
        if not self._sides[which].filled[row]:
            return f'<td class="nothing" data-side="{letter}">{self.elsewhere(row, which)}</td>'
        return f'<td dir="auto" lang="" data-side="{letter}">{self.content(row, which)}</td>'

    def elsewhere(self, row: int, which: int) -> str:
        """Return links to where the text of a row is in A (0) or B (1), if it is only moved; else ""."""
        return ", ".join(self._way(match, 1 - which) for match in self._alone[1 - which].get(row, ()))

    def content(self, row: int, which: int) -> str:
        """Return the text of a row in A (0) or B (1) with its marks; "" if it has none."""
        side = self._sides[which]
        (at, end), shown, content = side.rows[row], side.shown, ""
        for kind, begin, stop, match, opens in side.marked[side.first[row] : side.first[row + 1]]:
            content += shown(at, begin)
            if opens:
                content += self._badge(match, which)
            at = stop
            if kind == CHANGED:
                content += f"<ins>{shown(begin, stop)}</ins>" if which else f"<del>{shown(begin, stop)}</del>"
            elif kind == MOVED:
                content += f'<mark class="c{match % COLOURS}">{shown(begin, stop)}</mark>'
            else:
                at = begin
        return (content + shown(at, end)).rstrip("\n")

    def _way(self, match: int, side: int) -> str:
        """Return a link from the place that moved text left to the place where it is now."""
        there, said = "ab"[1 - side], f"match {match} {way_to(self._alignment, match, side)}"
        return f'<a href="#{self._id}{there}{match}">{said}</a>' if self._is_on_page(match, 1 - side) else said

    def _is_on_page(self, match: int, side: int) -> bool:
        return bool(self._on_page[self._alignment.rows_of_matches[side][match]])

    def _badge(self, match: int, which: int) -> str:
        """Return the number of a match as a link to its other half."""
        moved, here, there = self._moved[match - 1], "ab"[which], "ab"[1 - which]
        label = f"match {match}, {counted(self._units[match - 1], self._unit)}{', moved' * moved}"
        if not self._is_on_page(match, 1 - which):
            return f'<span class="match c{match % COLOURS}" title="{label}">{"~" * moved}{match}</span>'
        label += f": go to it in {there.upper()}"
        return (
            f'<a class="match c{match % COLOURS}" id="{self._id}{here}{match}" '
            f'href="#{self._id}{there}{match}" aria-label="{label}" title="{label}">'
            f"{'~' * moved}{match}</a>"
        )
