r"""A comparison on a terminal: two columns if they fit, otherwise one text that shows both; then the measures.

Marks that need no colour: ``[3]`` a match begins, ``[-gone-]`` only in A, ``{+new+}`` only in B, ``<~moved~>``,
``[?-l-]`` and ``{?+1+}`` what OCR may have read one for the other; ``(Amount:)`` the head of a column of a table;
in the margin ``-`` for A, ``+`` for B, ``~`` moved, ``\u2260`` equal words with other characters, ``=`` equal but
for white space or text left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, pairwise, zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neardup.comparison.alignment import ROW_KINDS
from neardup.comparison.show import words as wording
from neardup.display import TAB, Fragment, aligned_lines, colour_line, columns, counted, printable, tail, visible
from neardup.kernels.rows import (
    BETWEEN,
    CHANGED,
    CHANGED_ROW,
    CHARACTERS,
    CHARACTERS_ROW,
    EQUAL_ROW,
    MOVED,
    MOVED_A,
    MOVED_B,
    SAME,
)
from neardup.tables import Bools

if TYPE_CHECKING:
    from neardup.comparison.alignment import Alignment, Pieces
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
_OTHER = wording.WORDS["characters"][1]
_MARGINS = (
    {"changed": "-", "only_a": "-", "moved_a": "~", "characters": _OTHER},
    {"changed": "+", "only_b": "+", "moved_b": "~", "characters": _OTHER},
)
_INLINE = {
    "changed": "-+",
    "only_a": "-",
    "only_b": "+",
    "moved_a": "~-",
    "moved_b": "~+",
    "characters": _OTHER,
}
_FOLDED = {
    "equal": ("equal ", ""),
    "changed": ("changed ", ""),
    "only_a": ("", " only in A"),
    "only_b": ("", " only in B"),
    "moved_a": ("moved ", " of A"),
    "moved_b": ("moved ", " of B"),
    "characters": ("", " with other characters"),
}
_LEGEND = (
    (("changed", "only_a"), "- only in A"),
    (("changed", "only_b"), "+ only in B"),
    (("characters",), f"{_OTHER} equal but for the marked characters"),
)

STYLES_OF_MATCHES = 4
_BASE_BEGINS, _BASE_ENDS = "|:", ":|"
_NO_MARKS = ("", "")
_CHANGED = (("removed", "[-", "-]"), ("added", "{+", "+}"))
_READINGS = (("note", "[?-", "-]"), ("note", "{?+", "+}"))

LEAST_ROOM = 4
"""A word longer than a line begins directly after the last one, if at least this many columns are left."""

HARD_SPACE = "\u00a0"
"""Keeps words together until lines are cut, and is then shown as a space."""
_WORDS = re.compile(rf"\n|[\S{HARD_SPACE}]+")


def as_text(
    record: ComparisonRecord, names: tuple[str, str], width: int, *, colour: bool, full: bool, every: bool = False
) -> Iterator[str]:
    """Yield the lines of a comparison, at most ``width`` columns wide (60 or more).

    ``names`` are those of A and B. With ``full``, long stretches are shown whole; with ``every``, all measures.
    """
    codes = COLOURS if colour else {}
    width = max(width, NARROWEST)
    alignment, other_style = record.alignment, wording.restyled_rows(record.alignment)
    for line in (*_head(record, names, width, other_style), []):
        yield "".join(colour_line(line, codes)).rstrip()
    base = wording.base_spans(record, 0), wording.base_spans(record, 1)
    body = (_TwoColumns if width >= TWO_COLUMNS else _Inline)(alignment, width, codes, other_style, base)
    yield from body.head()
    yield from _rows(body, alignment.table.kinds, full)
    yield ""
    yield from facts_of(record, width, every)


def facts_of(record: ComparisonRecord, width: int, every: bool) -> Iterator[str]:
    """Yield the amount of common text, the number of differences and any warnings; then the measures."""
    facts = [("kind", record.difference), ("in common", wording.common_sentence(record))]
    facts.append(("differences", wording.differences_sentence(record.alignment, record.not_compared)))
    characters = wording.characters_sentence(record.alignment)
    facts += [("characters", f"{characters} (in equal {wording.unit_of(record)}s)")] * bool(characters)
    readings = wording.readings_sentence(record.alignment)
    facts += [(wording.READ_OTHERWISE, readings)] * bool(readings)
    facts += [("boilerplate", wording.base_sentence(record))] * record.ignores
    facts += [("left out", wording.left_out_sentence(record))] * record.leaves_out
    for text in aligned_lines([*facts, *(("note", note) for note in wording.notes_on(record))], width):
        yield from text.splitlines()
    yield ""
    shown = [each for each in record.described() if every or each[0] in wording.MAIN_MEASURES]
    rows = [(name, *wording.value_of(value), kind, sentence) for name, value, kind, sentence in shown]
    column = max(len(value) for _, value, *_ in rows)
    table = []
    for name, value, interval, kind, sentence in rows:
        line = f"{value:<{column}}  {kind}" + f" (95 %: {interval})" * bool(interval)
        table.append((name, line if every else f"{line}. {sentence}"))
    if not every:
        table.append(("all measures", "--all"))
    for text in aligned_lines(table, width):
        yield from text.splitlines()


def _head(record: ComparisonRecord, names: tuple[str, str], width: int, other_style: Bools) -> Iterator[Line]:
    for letter, name in zip("AB", names, strict=True):
        if name != letter:
            yield [(f"{letter}  ", "head"), (tail(printable(name), width - 3), "")]
    alignment = record.alignment
    marks = [words for those, words in _LEGEND if any(alignment.kinds[kind] for kind in those)]
    if alignment.moved.any():
        marks.append("~ moved")
    if other_style.any():
        marks.append(f"= equal but for {wording.style_words(record)}")
    if alignment.readings:
        marks.append("[?- {?+ perhaps OCR")
    if any(wording.ColumnHeads(alignment, which) for which in (0, 1)):
        marks.append("(head:) of the column of a table")
    if len(alignment.units):
        marks.append("[n] a match begins")
    if wording.uncounted_text(record):
        marks.append(f"|:{wording.uncounted_text(record)}:| does not count")
    unbroken = (mark.replace(" ", "\u00a0") for mark in marks)
    for line in wrap(", ".join(unbroken), width - 3):
        yield [("   " + line.replace("\u00a0", " "), "note")]


def _rows(body: _TwoColumns | _Inline, kinds: NDArray[np.int8], full: bool) -> Iterator[str]:
    """Yield all rows; long stretches of one kind and long changes are shortened to their ends and a line count.

    Rows with other characters are never shortened: their marks may be anywhere in them.
    """
    new = np.ones(len(kinds), np.bool_)
    new[1:] = (kinds[1:] != kinds[:-1]) | (kinds[1:] == CHANGED_ROW) | (kinds[1:] == CHARACTERS_ROW)
    begins = np.flatnonzero(new)
    bounds = [*begins.tolist(), len(kinds)]
    for index, (number, begin, end) in enumerate(zip(kinds[begins].tolist(), bounds, bounds[1:], strict=False)):
        kind, first, last = ROW_KINDS[number], OTHER_LINES, OTHER_LINES
        if kind == "equal":  # equal text is only useful next to differences
            first = EQUAL_LINES if index or len(begins) == 1 else 0
            last = EQUAL_LINES if index + 1 < len(begins) or len(begins) == 1 else 0
        hidden = 0 if full or kind == "characters" else sum(map(body.height, range(begin, end))) - first - last
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
        return "".join(colour_line([(text, style)], self._codes))

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


Span = tuple[int, int]


class MarkedRows:
    """The rows of an alignment as styled text, one at a time."""

    def __init__(self, alignment: Alignment, base: tuple[list[Span], list[Span]] = ([], [])) -> None:
        self._alignment = alignment
        texts, sides = (alignment.text_a, alignment.text_b), alignment.table.sides
        self._has_base = bool(base[0] or base[1])
        readings = [[parts[which] for _, *parts in alignment.readings] for which in (0, 1)]
        heads = [wording.ColumnHeads(alignment, which) for which in (0, 1)]
        columns = zip(texts, sides, heads, (0, 1), base, readings, strict=True)
        self._sides = [_Side(*side) for side in columns]
        self._kinds: list[int] = alignment.table.kinds.tolist()
        self._alone = wording.one_sided_matches(alignment)

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
        return list(self._merged_row(row)) if all(filled) else self._one(row, filled.index(True))

    def _one(self, row: int, which: int) -> list[Fragment]:
        """Return a row that one side has; its note precedes the white space at its end."""
        side = self._sides[which]
        fragments, note = list(side.pieces(*side.bounds(row), self._kinds[row])), self._note(row)
        if note:
            text, style = fragments.pop()
            solid = text.rstrip()
            fragments += [(solid, style), (f" ({note})", "note"), (text[len(solid) :], "")]
        return fragments

    def _merged_row(self, row: int) -> Iterator[Fragment]:
        """Yield a row of both sides, from one equal piece to the next: the text of A there, then that of B."""
        (a, b), kind = self._sides, self._kinds[row]
        (p, last_p), (q, last_q) = a.bounds(row), b.bounds(row)
        while p < last_p or q < last_q:
            stop_p, edited_a = _to_same(a.kinds, p, last_p)
            stop_q, edited_b = _to_same(b.kinds, q, last_q)
            if edited_a and edited_b:
                yield from self._replacement((p, stop_p), (q, stop_q), kind)
            elif edited_b or (not edited_a and p == stop_p):
                yield from b.pieces(q, stop_q, kind)
            else:
                yield from a.pieces(p, stop_p, kind)
            if stop_p < last_p:
                yield from a.pieces(stop_p, stop_p + 1, kind)
            p, q = stop_p + 1, stop_q + 1

    def _replacement(self, of_a: tuple[int, int], of_b: tuple[int, int], kind: int) -> Iterator[Fragment]:
        """Yield pieces of A that others of B replace, and these; the text around them, which both have, once."""
        (a, b), ends = self._sides, []
        for side, (begin, end) in zip(self._sides, (of_a, of_b), strict=True):
            ends.append((begin + (side.kinds[begin] == BETWEEN), end - (side.kinds[end - 1] == BETWEEN)))
        (first, last), (begin, end) = ends
        yield from a.pieces(of_a[0], first, kind) if of_a[0] < first else b.pieces(of_b[0], begin, kind)
        yield from a.pieces(first, last, kind)
        yield from b.pieces(begin, end, kind)
        yield from a.pieces(last, of_a[1], kind) if last < of_a[1] else b.pieces(end, of_b[1], kind)

    def _note(self, row: int) -> str:
        """Return the note that points to the other halves of the moved matches that begin in a row of one side."""
        return ", ".join(
            f"[{match}] {wording.way_to(self._alignment, match, side)}"
            for side, matches in enumerate(self._alone)
            for match in matches.get(row, ())
        )


class _Side:
    """One text and its pieces, as lists."""

    def __init__(
        self,
        text: str,
        pieces: Pieces,
        heads: wording.ColumnHeads,
        which: int,
        base: list[Span],
        readings: Iterable[slice] = (),
    ) -> None:
        self._heads = heads
        self._readings = {piece for part in readings for piece in range(part.start, part.stop)}
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
            yield from self._fragments(self._plain[row], "")

    def pieces(self, begin: int, end: int, row_kind: int) -> Iterator[Fragment]:
        """Yield the pieces [begin, end) of a row with their marks."""
        for piece in range(begin, end):
            kind, match = self.kinds[piece], self._matches[piece]
            if self._opens[piece]:
                yield f"[{match}]{HARD_SPACE}", f"match{match % STYLES_OF_MATCHES}"
            span = self._spans[piece]
            if kind in (CHANGED, CHARACTERS):
                style, *marks = (_READINGS if piece in self._readings else _CHANGED)[self._which]
                is_marked = kind == CHARACTERS or row_kind == CHANGED_ROW
                yield from self._fragments(span, style, marks if is_marked else _NO_MARKS)
            elif kind == MOVED:
                plain, style = row_kind in (MOVED_A, MOVED_B), f"moved{match % STYLES_OF_MATCHES}"
                yield from self._fragments(span, style, _NO_MARKS if plain else ("<~", "~>"))
            else:
                yield from self._fragments(span, "")

    def _fragments(self, span: list[int], style: str, marks: Sequence[str] = _NO_MARKS) -> Iterator[Fragment]:
        """Yield the characters of a span between ``marks``: in one style, but base text and heads in their own."""
        before, after = marks
        for head, begin, end in self._heads.parts(*span):
            if head:
                yield f"({visible(head)}:){HARD_SPACE}", "note"
            if not self._base:
                yield f"{before}{self._part_text(begin, end)}{after}", style
                continue
            yield before, style
            for first, last, inside in wording.cut_at(self._base, begin, end):
                yield self._part_text(first, last), "base" if inside else style
            yield after, style

    def _part_text(self, begin: int, end: int) -> str:
        return visible(wording.part_of(self._text, begin, end)).replace("\t", TAB)


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


@dataclass(frozen=True, slots=True)
class Cut:
    """A line: the characters [indent, solid) and [begin, end) of its text, and its width in columns."""

    indent: int
    solid: int
    begin: int
    end: int
    columns: int

    def __bool__(self) -> bool:
        return self.indent < self.solid or self.begin < self.end


EMPTY = Cut(0, 0, 0, 0, 0)


def cut_lines(text: str, width: int) -> list[Cut]:
    """Cut a text into lines of at most ``width`` columns (2 or more).

    Lines end at line feeds and, if they are too long, at white space; words too long for a line are cut anywhere.
    Indentation stays, up to half of the width; blank lines in a row become one, and none remains at the beginning.
    """
    if len(text) <= width and text.isascii() and not text[:1].isspace() and "\n" not in text[:-1]:
        size = len(text.rstrip())
        return [Cut(0, 0, 0, size, size)] if size else []
    cutter = _Cutter(text, width)
    for word in _WORDS.finditer(text):
        if text[word.start()] == "\n":
            cutter.end_line(word.end())
        else:
            cutter.place(*word.span())
    return cutter.lines()


class _Cutter:
    """The lines of a text that are complete, and the one being filled."""

    def __init__(self, text: str, width: int) -> None:
        self._text, self._width = text, width
        self._lines: list[Cut] = []
        self._now: tuple[int, int, int] | None = None  # of the current line: indent, solid, begin
        self._used, self._end = 0, 0  # its columns; the white space from ``_end`` on waits for a word
        self._is_blank = True  # the last line is blank, or there is none

    def lines(self) -> list[Cut]:
        """Return all lines."""
        if self._now is not None:
            self._close()
        return self._lines

    def end_line(self, after: int) -> None:
        """Handle a line feed: end the line, unless it is empty and follows an empty line or is the first."""
        if self._now is not None:
            self._close()
            self._is_blank = False
        elif not self._is_blank:
            self._lines.append(EMPTY)
            self._is_blank = True
        self._used, self._end = 0, after

    def place(self, word: int, stop: int) -> None:
        """Put a word on the line, or on the next one."""
        text, width = self._text, self._width
        indent, size = columns(text[self._end : word]), columns(text[word:stop])
        if self._now is None:
            self._begin(self._end, word, min(indent, width // 2))
        else:
            room = width - self._used - indent
            if room < size and (size <= width or room < LEAST_ROOM):
                self._close()
                self._begin(word, word, 0)
            else:
                self._used += indent
        if self._used + size <= width:
            self._used += size
        else:
            self._place_long(word, stop)
        self._end = stop

    def _place_long(self, word: int, stop: int) -> None:
        for place in range(word, stop):
            size = columns(self._text[place])
            if self._used + size > self._width:
                self._end = place if place > word else self._end
                self._close()
                self._begin(place, place, 0)
            self._used += size
            self._end = place + 1

    def _begin(self, blank: int, word: int, indent: int) -> None:
        """Begin a line with ``indent`` columns of the white space [blank, word)."""
        used, solid = 0, blank
        while solid < word and used + (size := columns(self._text[solid])) <= indent:
            used, solid = used + size, solid + 1
        self._now, self._used, self._end = (blank, solid, word), used, word

    def _close(self) -> None:
        if self._now is not None:
            self._lines.append(Cut(*self._now, self._end, self._used))
        self._now, self._used = None, 0


class Styled:
    """Styled text as lines of at most ``width`` columns."""

    def __init__(self, fragments: Sequence[Fragment], width: int) -> None:
        self._fragments = fragments
        self._text = "".join(text for text, _ in fragments)
        self.cuts = cut_lines(self._text, width)

    def strings(self, codes: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines; ``codes`` maps styles to colours (empty: no colour)."""
        text = self._text.replace(HARD_SPACE, " ")
        if not codes:
            for cut in self.cuts:
                yield text[cut.indent : cut.solid] + text[cut.begin : cut.end]
            return
        starts, styles = self._parts(), [style for _, style in self._fragments]
        for cut in self.cuts:
            spans = ((cut.indent, cut.solid), (cut.begin, cut.end))
            yield "".join(colour_line(_merge_spans(text, spans, starts, styles), codes))

    def _parts(self) -> list[int]:
        """Return the start of each fragment, before the white space that it falls in.

        White space between two words has one style, the last one assigned to it.
        """
        starts, place = [], 0
        for text, _ in self._fragments:
            starts.append(place)
            place += len(text)
        return [self._before_blanks(start) for start in starts]

    def _before_blanks(self, start: int) -> int:
        text = self._text
        if start < len(text) and _is_blank(text[start]):
            while start and _is_blank(text[start - 1]):
                start -= 1
        return start


def _is_blank(char: str) -> bool:
    return char.isspace() and char not in f"\n{HARD_SPACE}"


def _merge_spans(
    text: str, spans: Iterable[tuple[int, int]], starts: list[int], styles: list[str]
) -> Iterator[Fragment]:
    """Yield the spans of a line; adjacent text of one style is one fragment."""
    last, style = "", ""
    for begin, end in spans:
        place, part = begin, bisect_right(starts, begin) - 1
        while place < end:
            stop = min(end, starts[part + 1]) if part + 1 < len(starts) else end
            if stop > place:
                if last and styles[part] != style:
                    yield last, style
                    last = ""
                last, style = last + text[place:stop], styles[part]
            place, part = max(place, stop), part + 1
    if last:
        yield last, style
