"""A comparison as HTML: a self-contained page, and a fragment of it for notebooks.

The texts are untrusted: templates escape every piece of them. The page has no script, and its policy allows none;
the policy names its only style sheet by hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, cached_property
from importlib.resources import files
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from neardup.comparison.alignment import ROW_KINDS, Table
from neardup.comparison.show import words as wording
from neardup.display import Line, columns, counted, distinct, number, printable, tail, without_common
from neardup.display.pictures import notebook_style, page_style
from neardup.display.view import environment, fragment, self_contained
from neardup.kernels.rows import BETWEEN, CHANGED, CHANGED_ROW, CHARACTERS, CHARACTERS_ROW, EQUAL_ROW, MOVED, SAME

if TYPE_CHECKING:
    from markupsafe import Markup

    from neardup.comparison.alignment import Alignment, Pieces
    from neardup.comparison.result import ComparisonRecord
    from neardup.tables import Bools, Int64s

PACKAGE = "neardup.comparison.show"
GENERATOR = "neardup compare"
NOTEBOOK_CHARACTERS = 400_000
"""Limit for both texts together: a notebook file stores every output, and some show none above 10 MB."""

EQUAL_ROWS, EQUAL_COLUMNS = 2, 200
"""Rows of equal text shown around a difference, and the columns from which the rest is folded."""

LISTED, LISTED_BRIEFLY, LISTED_OPEN = 1000, 30, 12
"""Most differences in the list, in that of a page with a limit, and in a list that starts open."""

AROUND, HEAD = 60, 40
"""Characters of equal text quoted before a difference, and columns of a name above a text."""

NEAR = 1 / 250
"""The least distance of two differences on the strip beside the texts, as a share of its length."""

COLOURS = 6

SHORTEST_CUT, LONGEST_SENTENCE = 120, 320
"""Columns of the shortest equal text that is folded inside a row; longer sentences are cut at a word."""
SENTENCE_END = re.compile(r"[.!?…؟।]+[\])\"'’”»]*\s+|[。！？]+[」』）]*|\n+")
_SPACE = re.compile(r"\s+")


def style_sheet() -> str:
    """Return the style of pages with comparisons; everything in it is inside ``.neardup``."""
    return page_style(_rules())


@cache
def _rules() -> str:
    return files(PACKAGE).joinpath("style.css").read_text(encoding="utf-8")


def as_page(record: ComparisonRecord, names: tuple[str, str], *, full: bool) -> str:
    """Return a whole HTML document; ``names`` of A and B. With ``full``, long equal stretches are unfolded."""
    return self_contained(
        environment(PACKAGE),
        "comparison_page.html",
        style_sheet(),
        title=f"{printable(names[0])} compared with {printable(names[1])}",
        generator=GENERATOR,
        names=names,
        body=ComparisonBody(record, names, full, prefix="", level=2),
    )


def as_fragment(record: ComparisonRecord) -> str:
    """Return a fragment for notebooks: its style affects nothing else, its ids begin with a hash of the texts."""
    both = hashlib.sha256()
    for text in (record.a.text, record.b.text):
        both.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    body = ComparisonBody(record, ("A", "B"), full=False, prefix=f"n{both.hexdigest()[:8]}-", level=4)
    small = len(record.a.text) + len(record.b.text) <= NOTEBOOK_CHARACTERS
    return fragment(body.html("whole", small), style=notebook_style(_rules()))


class ComparisonBody:
    """What the templates show of a comparison; ``prefix`` makes ids unique, ``level`` is the level of headings.

    Unless ``full``, equal text is folded: rows, and the sentences of long rows that are far from a difference.
    With ``flowed``, hard line ends inside paragraphs are spaces. With ``hide_readings``, places that OCR explains
    are shown as equal text. With ``most``, at most that many characters are
    shown: folded text is left out, and the rows end where the next one would exceed the limit.
    """

    def __init__(
        self,
        record: ComparisonRecord,
        names: tuple[str, str],
        full: bool,
        prefix: str,
        level: int,
        most: int | None = None,
        flowed: bool = False,
        hide_readings: bool = False,
    ) -> None:
        self._found, self._full = record, full
        self.readings = wording.readings_sentence(record.alignment)
        self._alignment: Alignment = record.alignment.without_readings if hide_readings else record.alignment
        flows = tuple(wording.flow_lines(text) for text in (record.a.text, record.b.text))
        self.has_hard_lines = flows != (record.a.text, record.b.text)
        """Whether a text has hard line ends inside paragraphs."""
        self._texts = flows if flowed else (record.a.text, record.b.text)
        if flowed and self.has_hard_lines:
            self._alignment = _join_flowing_rows(self._alignment, flows)
        self._differing = wording.rows_that_differ(self._alignment)
        self.sides = tuple(zip("AB", names, strict=True))
        self.heads = tuple(zip("AB", distinct(without_common(*names)[1], HEAD), strict=True))
        self.prefix = prefix
        self.level = level
        self.most = most
        self.count = len(self._differing)
        self.hidden = len(record.alignment.rows_read_otherwise) if hide_readings else 0
        """Differences that are not shown: those that OCR explains in full."""
        self.most_listed = LISTED if most is None else LISTED_BRIEFLY
        self.opens_list = full or self.count <= LISTED_OPEN
        self.notes = list(wording.notes_on(record))
        self.style_words = wording.style_words(record, hide_readings)
        self.uncounted = wording.uncounted_text(record) or "boilerplate" * record.ignores
        self.proven = record.proven

    def html(self, macro: str, *values: object) -> Markup:
        """Return the parts that a macro of the template ``comparison.html`` makes of the comparison."""
        markup: Markup = getattr(environment(PACKAGE).get_template("comparison.html").module, macro)(self, *values)
        return markup

    def facts(self) -> Iterator[Line]:
        """Yield labelled facts about the pair."""
        record, settings = self._found, self._found.settings
        of = {name: wording.value_of(value)[0] for name, value in record.measures.items()}
        alike = f"resemblance {of['resemblance']}; containment {of['containment_a']} of A in B, "
        yield "Kind", record.difference
        yield "Alike", f"{alike}{of['containment_b']} of B in A"
        yield "In common", wording.common_sentence(record)
        if record.ignores:
            yield "Boilerplate", wording.base_sentence(record)
        if record.leaves_out:
            yield "Left out", wording.left_out_sentence(record)
        yield "Differences", wording.differences_sentence(record.alignment, record.not_compared)
        if characters := wording.characters_sentence(record.alignment):
            yield "Characters", f"{characters} (in equal {wording.unit_of(record)}s)"
        if self.readings:
            yield "Perhaps OCR", self.readings
        read_as = f"shingles of {counted(settings['length'], wording.unit_of(record))}, "
        yield "Compared by", f"{read_as}matches of {settings['min_chunk']} or more{wording.rules_sentence(record)}"

    def facts_short(self) -> str:
        """Return similarity, kind and lengths on one line."""
        record = self._found
        kind, unit = record.kind or "unknown kind", wording.unit_of(record)
        sizes = [number(len(units)) for units in (record.a, record.b)]
        return f"{wording.value_of(record.measures['resemblance'])[0]} · {kind} · {sizes[0]} → {sizes[1]} {unit}s"

    @cached_property
    def rows(self) -> TextRows:
        """The rows of the two texts."""
        cut = not self._full
        return TextRows(self._found, self._alignment, self._texts, self.prefix, self.style_words, cut=cut)

    @cached_property
    def moves(self) -> bool:
        """Whether text is moved: only then matches have numbers."""
        return bool(self._alignment.moved.any())

    def places(self) -> Iterator[tuple[int, float, str]]:
        """Yield differences with their place in the texts, 0 to 1, and kind; not those very near to one before."""
        table, last = self._alignment.table, -1.0
        ends = np.cumsum(np.maximum(*(np.diff(side.spans_of_rows)[:, 0] for side in table.sides)))
        for difference, row in enumerate(self._differing.tolist(), 1):
            place = float(ends[row - 1] / ends[-1]) if row else 0.0
            if place - last >= NEAR:
                last = place
                yield difference, place, ROW_KINDS[table.kinds[row]]

    @cached_property
    def stretches(self) -> list[tuple[int, int, bool]]:
        """The rows on the page as stretches [begin, end), each with a flag: whether it is folded."""
        parts: list[tuple[int, int, bool]] = []
        room = self.most
        for begin, end, folded in self._all_stretches():
            if room is not None and not folded:
                left = room - np.cumsum([self.rows.characters(row) for row in range(begin, end)])
                fits = int((left >= 0).sum())
                parts += [(begin, begin + fits, False)] * bool(fits)
                if begin + fits < end:
                    break
                room = int(left[-1])
            else:
                parts.append((begin, end, folded))
        if room is not None:
            self.rows.show_only([(begin, end) for begin, end, folded in parts if not folded])
        return parts

    @property
    def is_whole(self) -> bool:
        """Whether the last row is on the page, or folded."""
        return bool(self.stretches) and self.stretches[-1][1] == len(self._alignment.table)

    @cached_property
    def on_page(self) -> int:
        """The number of differences up to the last row on the page."""
        shown = max((end for _, end, folded in self.stretches if not folded), default=0)
        return int((self._differing < shown).sum())

    def _all_stretches(self) -> Iterator[tuple[int, int, bool]]:
        """Yield stretches that differ, and equal ones; a long equal stretch is folded except for its ends."""
        kinds, rows = self._alignment.table.kinds, len(self._alignment.table)
        new = np.flatnonzero(np.diff(kinds == EQUAL_ROW, prepend=2, append=2)).tolist()
        for begin, end in pairwise(new):
            first = begin + self._context(begin, begin + EQUAL_ROWS) if begin else begin
            last = max(first, end - self._context(end - EQUAL_ROWS, end) if end < rows else end)
            if kinds[begin] != EQUAL_ROW or self._full or self.rows.size(first, last) <= EQUAL_COLUMNS:
                yield begin, end, False
                continue
            if begin < first:
                yield begin, first, False
            yield first, last, True
            if last < end:
                yield last, end, False

    def _context(self, begin: int, end: int) -> int:
        """Return the number of equal rows to show beside a difference: one, if they are long."""
        return 1 if self.rows.size(max(begin, 0), end) > EQUAL_COLUMNS else EQUAL_ROWS

    def listed(self) -> Iterator[wording.Difference]:
        """Yield the differences for the list."""
        return wording.differences_of(self._alignment, self.most_listed)

    def linear(self) -> Iterator[LinearDifference]:
        """Yield the first differences, to read one after the other."""
        spans, text = self._alignment.table.a.spans_of_rows, self._alignment.text_a
        for place, row in enumerate(self._differing[: self.most_listed].tolist(), 1):
            begin = int(spans[row, 0])
            before = tail(" ".join(text[max(0, begin - 4 * AROUND) : begin].split()), AROUND)
            yield LinearDifference(place, self.rows.words_of(place)[0], before, self.rows.cells(row))

    def measures(self, main: bool | None = None) -> Iterator[tuple[str, str, str, str, str]]:
        """Yield each measure: its name, its value, its 95 % interval or "", its kind, its definition.

        ``main``: only the measures that matter most, or only the others.
        """
        for name, value, kind, sentence in self._found.described():
            if main in (None, name in wording.MAIN_MEASURES):
                yield name, *wording.value_of(value), kind, sentence


Part: TypeAlias = tuple[str, bool]
"""Text, and whether it does not count."""


class Way(NamedTuple):
    """A link to the other half of a match: its words, and the id it leads to, "" if that is not on the page."""

    label: str
    target: str


class Badge(NamedTuple):
    """The number of a match where it begins, with its ``id``, and the link to its other half."""

    number: str
    colour: int
    id: str
    label: str
    target: str


class Fragment(NamedTuple):
    """A part of a cell: "same", "del", "ins", "moved" with its colour, "match" (its badge), "cut", or "head".

    A "head" is no text of the cell: it is the head of the column of a table, to which the next part belongs. A
    "cut" is equal text that is folded, with the number of its units. ``reading``: OCR explains the difference.
    """

    kind: str
    parts: list[Part]
    match: int | Badge = 0
    reading: bool = False


class Cell(NamedTuple):
    """The text of a row in A or B; or None, and where it is if it is only moved."""

    letter: str
    pieces: list[Fragment] | None
    ways: list[Way]


class LinearDifference(NamedTuple):
    """A difference in a list: its number, its kind in words, the equal text ``before`` it, both sides."""

    number: int
    words: str
    before: str
    cells: tuple[Cell, Cell]


class _Side:
    """One text, and the places of its rows and of the pieces that have markup."""

    def __init__(
        self,
        text: str,
        pieces: Pieces,
        base: list[tuple[int, int]],
        begins: Int64s,
        moved: Bools,
        readings: list[slice],
        heads: wording.ColumnHeads,
    ) -> None:
        self._text, self._base, self._begins, self._heads = text, base, begins, heads
        self.rows: list[list[int]] = pieces.spans_of_rows.tolist()
        opens = pieces.opens & np.concatenate(([False], moved))[pieces.matches]
        shown = np.isin(pieces.kinds, (CHANGED, CHARACTERS, MOVED))
        marked = np.flatnonzero(shown | opens | _joints(pieces))
        is_reading = np.zeros(len(pieces.kinds), np.bool_)
        for part in readings:
            is_reading[part] = True
        columns = (pieces.kinds, *pieces.spans.T, pieces.matches, opens, is_reading)
        self.marked = list(zip(*(column[marked].tolist() for column in columns), strict=True))
        self.first: list[int] = np.searchsorted(marked, pieces.first).tolist()
        self.filled: list[bool] = (np.diff(pieces.first) > 0).tolist()

    def parts(self, begin: int, end: int) -> list[Part]:
        """Return the characters [begin, end)."""
        if not self._base:
            return [(wording.part_of(self._text, begin, end), False)]
        parts = (
            (wording.part_of(self._text, *span), inside)
            for *span, inside in wording.cut_at(self._base, begin, end)
        )
        return [(part, inside and bool(part.strip())) for part, inside in parts]

    def fragments(
        self, kind: str, begin: int, end: int, match: int = 0, reading: bool = False
    ) -> Iterator[Fragment]:
        """Yield the characters [begin, end) as fragments of one kind, with the heads of columns between them."""
        for head, first, last in self._heads.parts(begin, end):
            if head:
                yield Fragment("head", [(head, False)])
            yield Fragment(kind, self.parts(first, last), match, reading)

    def units(self, begin: int, end: int) -> int:
        """Return the number of units of the comparison that begin in the characters [begin, end)."""
        first, after = np.searchsorted(self._begins, (begin, end))
        return int(after - first)

    def columns(self, begin: int, end: int) -> int:
        """Return the number of columns of the characters [begin, end); of long text, of its beginning."""
        return columns(self._text[begin : min(end, begin + 2 * EQUAL_COLUMNS)])

    def far_from(self, begin: int, end: int, near: tuple[bool, bool]) -> tuple[int, int]:
        """Return the part of equal text that is not in a sentence next to a difference ``near`` either end."""
        text, first, last = self._text, begin, end
        if near[0] or not near[1]:
            most = LONGEST_SENTENCE if near[0] else 2 * AROUND
            sentence = SENTENCE_END.search(text, begin, min(end, begin + most))
            first = sentence.end() if sentence else _at_word(text, begin + most // 2, end)
        if near[1]:
            ends = [one.end() for one in SENTENCE_END.finditer(text, max(begin, end - LONGEST_SENTENCE), end)]
            ends = [place for place in ends if place < end]
            last = ends[-1] if ends else _at_word(text, max(begin, end - LONGEST_SENTENCE // 2), end)
        return min(first, end), max(min(first, end), last)


def _join_flowing_rows(alignment: Alignment, flows: tuple[str, ...]) -> Alignment:
    """Return the alignment with rows joined where only a hard line end parts them in both texts.

    A row that differs takes the equal ones after it, and those before it that no other one has; it stays one.
    """
    table = alignment.table
    hard = np.ones(max(len(table) - 1, 0), np.bool_)
    for side, text, flow in zip(table.sides, (alignment.text_a, alignment.text_b), flows, strict=True):
        ends = side.spans_of_rows[:-1, 1].tolist()
        hard &= np.array([text[end - 1 : end] != flow[end - 1 : end] for end in ends], np.bool_)
    kinds = table.kinds.tolist()
    differing = CHANGED_ROW, CHARACTERS_ROW
    begins, differs = np.ones(len(table), np.bool_), bool(kinds) and kinds[0] in differing
    for row in range(1, len(kinds)):
        joins = hard[row - 1] and kinds[row - 1] in (EQUAL_ROW, *differing)
        joins = joins and (kinds[row] == EQUAL_ROW or (kinds[row] in differing and not differs))
        begins[row] = not joins
        differs = kinds[row] in differing or (joins and differs)
    a, b = (replace(side, first=side.first[np.append(begins, True)]) for side in table.sides)
    joined = np.maximum.reduceat(table.kinds, np.flatnonzero(begins)) if len(table) else table.kinds
    return replace(alignment, table=Table(joined, a, b))


def _joints(pieces: Pieces) -> Bools:
    """Return bool[pieces]: where equal text follows equal text in a row; the other side has text between."""
    joints = np.zeros(len(pieces.kinds), np.bool_)
    places = np.flatnonzero(pieces.kinds != BETWEEN)
    rows, same = np.searchsorted(pieces.first, places, "right"), pieces.kinds[places] == SAME
    joints[places[1:]] = same[1:] & same[:-1] & (rows[1:] == rows[:-1])
    return joints


def _at_word(text: str, place: int, end: int) -> int:
    """Return the first beginning of a word at ``place`` or soon after it."""
    space = _SPACE.search(text, place, min(end, place + AROUND))
    return space.end() if space else min(place, end)


class TextRows:
    """The rows of the table that holds the two texts; ``prefix`` makes ids unique."""

    def __init__(
        self,
        record: ComparisonRecord,
        alignment: Alignment,
        texts: tuple[str, ...],
        prefix: str,
        style_words: str,
        *,
        cut: bool,
    ) -> None:
        self._alignment, self._cut = alignment, cut
        self.prefix, self.unit = prefix, wording.unit_of(record)
        self._kinds = alignment.table.kinds.tolist()
        self._other_style = wording.restyled_rows(alignment).tolist()
        self._numbers = np.cumsum(alignment.table.kinds != EQUAL_ROW).tolist()
        self._differing = wording.rows_that_differ(alignment).tolist()
        self._words = wording.words_of_rows(alignment)
        self.count = len(self._differing)
        self.style_words = style_words
        self._units, self._moved = alignment.units.tolist(), alignment.moved.tolist()
        base = (wording.base_spans(record, which) for which in (0, 1))
        begins = (units.spans[:, 0] for units in (record.a, record.b))
        readings = ([parts[which] for _, *parts in alignment.readings] for which in (0, 1))
        heads = (wording.ColumnHeads(alignment, which) for which in (0, 1))
        sides = zip(texts, alignment.table.sides, base, begins, repeat(alignment.moved), readings, heads)
        self._sides = [_Side(*side) for side in sides]
        self._alone = wording.one_sided_matches(alignment)
        self._on_page = np.ones(len(alignment.table), np.bool_)

    def size(self, begin: int, end: int) -> int:
        """Return the number of columns that the equal rows [begin, end) have in A; of long ones, of a part."""
        spans = self._alignment.table.a.spans_of_rows[begin:end]
        return self._sides[0].columns(spans[0, 0], spans[-1, 1]) if len(spans) else 0

    def show_only(self, stretches: list[tuple[int, int]]) -> None:
        """Link only to the rows [begin, end) of these stretches, because the page leaves out the others."""
        rows = np.zeros(len(self._numbers), np.bool_)
        for begin, end in stretches:
            rows[begin:end] = True
        self._on_page = rows
        shown = np.flatnonzero(rows)
        self.count = int(self._numbers[shown[-1]]) if len(shown) else 0

    def characters(self, row: int) -> int:
        """Return the number of characters that a row has in both texts."""
        return sum(end - begin for begin, end in (side.rows[row] for side in self._sides))

    def words_of(self, number: int) -> tuple[str, str]:
        """Return the kind of a difference in words, and as a mark."""
        row = self._differing[number - 1]
        return self._words[row], wording.WORDS[ROW_KINDS[self._kinds[row]]][1]

    def inside(self, begin: int, end: int) -> str:
        """Return the label of a fold that hides these equal rows."""
        rows = self._sides[0].rows
        units = self._sides[0].units(rows[begin][0], rows[end - 1][1])
        but = f", but for {self.style_words}" * any(self._other_style[begin:end])
        return f"{counted(units, f'equal {self.unit}')} in {counted(end - begin, 'row')}{but}"

    def rows(self, begin: int, end: int) -> Iterator[tuple[str, int, tuple[Cell, Cell]]]:
        """Yield the rows [begin, end): their kinds, the numbers of differences (0: none), and the cells."""
        for row in range(begin, end):
            kind: str = ROW_KINDS[self._kinds[row]]
            differs = kind != "equal"
            if not differs and not self._other_style[row]:
                kind = "equal same"
            yield kind, self._numbers[row] if differs else 0, self.cells(row)

    def cells(self, row: int) -> tuple[Cell, Cell]:
        """Return both sides of a row."""
        return self._cell(row, 0), self._cell(row, 1)

    def _cell(self, row: int, which: int) -> Cell:
        if self._sides[which].filled[row]:
            return Cell("AB"[which], list(self._pieces(row, which)), [])
        matches = self._alone[1 - which].get(row, ())
        ways = [self._way(match, 1 - which) for match in matches if self._moved[match - 1]]
        return Cell("AB"[which], None, ways)

    def _pieces(self, row: int, which: int) -> Iterator[Fragment]:
        """Yield the text of a row in A (0) or B (1) with its marks."""
        side = self._sides[which]
        place, end = side.rows[row]
        differs = self._differs(row)
        before, after = (not differs and self._differs(other) for other in (row - 1, row + 1))
        if differs:
            before, after = self._changed_ends(row, 1 - which)
        for kind, begin, stop, match, opens, reading in side.marked[side.first[row] : side.first[row + 1]]:
            if kind == SAME and not differs:
                continue
            if place < begin:
                yield from self._same(side, place, begin, (before, differs))
            if opens:
                yield Fragment("match", [], self._badge(match, which))
            before = differs
            if kind == SAME:
                place = begin
                continue
            place = stop
            if kind in (CHANGED, CHARACTERS):
                yield from side.fragments("ins" if which else "del", begin, stop, reading=reading)
            else:
                yield from side.fragments("moved", begin, stop, match % COLOURS)
        if place < end:
            yield from self._same(side, place, end, (before, after))

    def _changed_ends(self, row: int, which: int) -> tuple[bool, bool]:
        """Return whether a row begins, and whether it ends, with text that the other side lacks."""
        side = self._sides[which]
        begin, end = side.rows[row]
        pieces = side.marked[side.first[row] : side.first[row + 1]]
        changed = [span for kind, *span in pieces if kind in (CHANGED, CHARACTERS)]
        if not changed:
            return False, False
        return not side.units(begin, changed[0][0]), not side.units(changed[-1][1], end)

    def _differs(self, row: int) -> bool:
        return 0 <= row < len(self._kinds) and self._kinds[row] != EQUAL_ROW

    def _same(self, side: _Side, begin: int, end: int, near: tuple[bool, bool]) -> Iterator[Fragment]:
        """Yield equal text: the sentences next to a difference ``near`` either end, and the rest folded."""
        first, last = side.far_from(begin, end, near) if self._cut else (end, end)
        if side.columns(first, last) < SHORTEST_CUT:
            yield from side.fragments("same", begin, end)
            return
        if begin < first:
            yield from side.fragments("same", begin, first)
        yield Fragment("cut", side.parts(first, last), side.units(first, last))
        if last < end:
            yield from side.fragments("same", last, end)

    def _way(self, match: int, side: int) -> Way:
        """Return a link from the place that moved text left to the place where it is now."""
        label = f"match {match} {wording.way_to(self._alignment, match, side)}"
        return Way(label, f"{'ab'[1 - side]}{match}" if self._is_on_page(match, 1 - side) else "")

    def _is_on_page(self, match: int, side: int) -> bool:
        return bool(self._on_page[self._alignment.rows_of_matches[side][match]])

    def _badge(self, match: int, which: int) -> Badge:
        """Return the number of a match as a link to its other half."""
        moved, here, there = self._moved[match - 1], "ab"[which], "ab"[1 - which]
        label = f"match {match}, {counted(self._units[match - 1], self.unit)}{', moved' * moved}"
        target = ""
        if self._is_on_page(match, 1 - which):
            label, target = f"{label}: go to it in {there.upper()}", f"{there}{match}"
        return Badge(f"{'~' * moved}{match}", match % COLOURS, f"{here}{match}", label, target)
