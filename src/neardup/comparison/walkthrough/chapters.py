"""The tables of an explanation with explanatory sentences, for the terminal and the notebook.

Names, texts and shingles come from the documents: control characters are escaped here, HTML in ``tables``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import floor
from textwrap import wrap
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from neardup.comparison.walkthrough.families import NOTHING
from neardup.comparison.walkthrough.record import labels_of, letters_of, probability_of
from neardup.display import columns, counted, number, printable, shorten, similarity, tail
from neardup.display.pictures import ErrorBar, Picture, SCurve, error_bars, heat_map
from neardup.display.view import NO_MARKS, Mark, page_of_sections, part, preformatted, table, view

if TYPE_CHECKING:
    from neardup.comparison.walkthrough.record import Bands, DrawnHashes, Exact, ExplanationRecord
    from neardup.tables import Bools
    from neardup.text.sketch import Estimate

T = TypeVar("T")

GENERATOR = "neardup explain"
TITLE = "From shingles to estimates"
NARROWEST = 72
WIDE = 1000
"""The width assumed for a notebook: enough for all columns that are kept."""
FEW, STEPS = 16, 20
"""Up to this many slots, the hash functions are shown even if several families are compared; the most rows that
are shown one by one."""
SHOWN_BANDS, FORMULAS = 16, 4
APART = 0.04
"""Pairs whose similarities differ by less have one mark on a curve."""

GAP = 2

WIDEST, SHOWN_PAIRS = 51, 6

SCALES = (0.2, 0.4, 1.0)
"""Upper ends of the scale, so that low similarities fill it too."""

NUMBERS = 25
"""Columns reserved for the numbers beside a bar."""

HELD = (
    "Held: how many of 100 such intervals contain the exact value, if slots are independent: about 95; with few "
    "slots, or near 0 and 1, from 79 to 100."
)


def text(explained: ExplanationRecord, width: int) -> Iterator[str]:
    """Yield the lines of all sections, with blank lines between them."""
    width = max(width, NARROWEST)
    for i, section in enumerate(sections(explained, width)):
        if i:
            yield ""
            yield ""
        yield from section.text(width)


def html(explained: ExplanationRecord) -> str:
    """Return all sections as HTML for a notebook; all text is escaped."""
    return view(*(section.html() for section in sections(explained, WIDE)))


def page(explained: ExplanationRecord) -> str:
    """Return a self-contained page of all sections, light or dark as the system is; all text is escaped."""
    names = ", ".join(shorten(printable(document.name), 40) for document in explained.documents)
    parts = (section.html(inline=False, level=2) for section in sections(explained, WIDE))
    return page_of_sections(TITLE, parts, GENERATOR, title=f"{TITLE}: {names}")


def sections(explained: ExplanationRecord, width: int) -> Iterator[Section]:
    """Yield all sections for lines of ``width`` columns: the documents, then the chapters with their numbers."""
    yield _documents(explained)
    numbers: dict[str, int] = {}
    for chapter in _chapters(explained, width):
        place = numbers.setdefault(chapter.title.partition(" (")[0], len(numbers) + 1)
        yield replace(chapter, title=f"{place}. {chapter.title}")


def _chapters(explained: ExplanationRecord, width: int) -> Iterator[Section]:
    yield _sets_section(explained)
    shown = [drawn for drawn in explained.drawn if drawn.slots <= FEW or len(explained.drawn) == 1]
    for drawn in shown:
        yield _functions(explained, drawn, width)
        yield _signatures(explained, drawn, width)
        yield from _row_by_row(explained, drawn, width)
    yield _similarities(explained)
    yield bar_section(explained, min(width, 100))
    for drawn in explained.drawn:
        if drawn.bands is not None:
            yield _bands(explained, drawn, drawn.bands)
    if explained.chunks:
        yield _chunks(explained)


def of_family(explained: ExplanationRecord, drawn: DrawnHashes) -> str:
    """Return the family and slots in parentheses, or "" if there is only one."""
    return f" ({drawn.family}, {counted(drawn.slots, 'slot')})" if len(explained.drawn) > 1 else ""


@dataclass(frozen=True)
class ShownTable:
    """Cells of text. Columns are aligned right except for those in ``left``, which may be cut to fit.

    ``marks`` are those of cells in HTML, by row and column from 0.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[int] = frozenset()
    marks: Mapping[tuple[int, int], Mark] = field(default_factory=lambda: NO_MARKS)

    def text(self, width: int) -> Iterator[str]:
        """Yield lines of at most ``width`` columns, unless the right-aligned columns alone need more."""
        widths = [max(map(columns, cells)) for cells in zip(self.head, *self.rows, strict=True)]
        over = sum(widths) + GAP * len(widths) - width
        for column in sorted(self.left, key=lambda column: -widths[column]):
            kept = max(widths[column] - max(over, 0), min(widths[column], 12))
            over -= widths[column] - kept
            widths[column] = kept
        for cells in (self.head, *self.rows):
            placed = (self._place(i, cell, widths[i]) for i, cell in enumerate(cells))
            yield (" " * GAP + (" " * GAP).join(placed)).rstrip()

    def html(self, inline: bool) -> Iterator[str]:
        """Yield an HTML table; every cell is escaped. ``inline``: see ``display.view.table``."""
        numbers = frozenset(range(len(self.head))) - self.left
        yield table(self.head, self.rows, numbers, inline=inline, marks=self.marks)

    def _place(self, column: int, cell: str, width: int) -> str:
        if column in self.left:
            cell = shorten(cell, width)
            return cell + " " * (width - columns(cell))
        return " " * (width - columns(cell)) + cell


@dataclass(frozen=True)
class Drawing:
    """Preformatted lines whose characters align vertically, and the ``pictures`` that HTML has instead."""

    lines: tuple[str, ...]
    pictures: tuple[Picture, ...] = ()

    def text(self, width: int) -> Iterator[str]:
        """Yield the lines unchanged; they were drawn for a fixed width."""
        yield from self.lines

    def html(self, inline: bool) -> Iterator[str]:
        """Yield the pictures as figures; without any, the lines in a monospaced font, escaped."""
        yield from (picture.figure() for picture in self.pictures)
        if not self.pictures:
            yield preformatted("\n".join(self.lines))


@dataclass(frozen=True)
class Section:
    """A title, the sentences ``says``, tables and drawings, and ``notes``; ``beside``: the sentences in HTML."""

    title: str
    says: tuple[str, ...] = ()
    parts: tuple[ShownTable | Drawing, ...] = ()
    notes: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    def text(self, width: int) -> Iterator[str]:
        """Yield the section as lines, with blank lines between its parts."""
        yield self.title
        yield "-" * len(self.title)
        yield from fold_lines(self.says, width)
        for shown in self.parts:
            lines = list(shown.text(width))
            yield from ["", *lines] if lines else ()
        if self.notes:
            yield ""
            yield from fold_lines(self.notes, width)

    def html(self, inline: bool = True, level: int = 4) -> str:
        """Return the section as HTML with a heading of this level; all text is escaped."""
        parts = (html for shown in self.parts for html in shown.html(inline))
        return part("section", self.title, level, self.beside or self.says, parts, self.notes)


def fold_lines(texts: Sequence[str], width: int) -> Iterator[str]:
    """Yield paragraphs in lines of at most ``width`` characters."""
    for text in texts:
        yield from wrap(text, width)


def bar(drawn: Estimate, exact: float, width: int, top: float = 1.0) -> str:
    """Draw the scale from 0 to ``top`` on ``width`` characters: [ ] are the ends of the interval, o the estimate.

    | is the exact value; * marks the estimate and the exact value at the same position.

    >>> from neardup.text.sketch.provenance import estimate
    >>> bar(estimate(8, 16), 0.3, 41)
    '           [|-------o--------]           '
    """
    line = [" "] * width

    def at(value: float) -> int:
        return round(value / top * (width - 1))

    for place in range(at(drawn.low), at(drawn.high) + 1):
        line[place] = "-"
    line[at(drawn.low)], line[at(drawn.high)] = "[", "]"
    line[at(drawn.value)] = "o"
    line[at(exact)] = "*" if at(exact) == at(drawn.value) else "|"
    return "".join(line)


def bar_section(explained: ExplanationRecord, width: int) -> Section:
    """Return the error bars of the most similar pairs, a line for each family and number of slots."""
    several = len({drawn.family for drawn in explained.drawn}) > 1
    names = [f"{drawn.family} {drawn.slots}" if several else str(drawn.slots) for drawn in explained.drawn]
    column = max(len("slots"), *map(len, names))
    plot = min(width - column - NUMBERS - 6, WIDEST)
    order = sorted(range(len(explained.pairs)), key=lambda i: -explained.pairs[i].resemblance)
    shown = [drawn.estimates[i].high for drawn in explained.drawn for i in order[:SHOWN_PAIRS]]
    top = next(top for top in SCALES if top >= max(shown))
    lines: list[str] = []
    for i in sorted(order[:SHOWN_PAIRS]):
        pair = explained.pairs[i]
        title = f"  {letters_of(explained, pair, ' and ')}, exact {similarity(pair.resemblance)}"
        lines += [*[""] * bool(lines), title]
        lines.append(f"  {'slots':>{column}}  {_axis(plot, top)}  estimate, interval, held")
        for name, drawn in zip(names, explained.drawn, strict=True):
            estimate = drawn.estimates[i]
            numbers = f"{similarity(estimate.value)}  {similarity(estimate.low)}–{similarity(estimate.high)}"
            numbers += f"  {_percent_held(drawn, pair)}"
            lines.append(f"  {name:>{column}}  {bar(estimate, pair.resemblance, plot, top)}  {numbers}")
    left = len(explained.pairs) - SHOWN_PAIRS
    hint = " (try 50,100,200,400)" if len(explained.drawn) == 1 else ""
    rule = f"Four times as many slots make the interval about half as wide{hint}."
    more = (f"The {SHOWN_PAIRS} most similar pairs; {counted(left, 'more pair')} not drawn.",) if left > 0 else ()
    return Section(
        "Error bars",
        (
            f"[---o---] is the estimate o with its 95 % interval, | the exact value, * both in one place. {rule}",
            HELD,
        ),
        (Drawing(tuple(lines), tuple(_pictures(explained, sorted(order[:SHOWN_PAIRS]), names))),),
        more,
        (rule, HELD),
    )


def _pictures(explained: ExplanationRecord, shown: list[int], names: list[str]) -> Iterator[Picture]:
    """Yield the same bars as pictures, one for each pair."""
    for i in shown:
        pair = explained.pairs[i]
        letters = letters_of(explained, pair, " and ")
        bars, shares = [], []
        for name, drawn in zip(names, explained.drawn, strict=True):
            estimate, label = drawn.estimates[i], counted(drawn.slots, "slot") if name.isdecimal() else name
            bars.append(ErrorBar(label, estimate.value, estimate.low, estimate.high, pair.resemblance))
            shares.append(f"{label} {_percent_held(drawn, pair)}")
        says = f"{letters}, held: {', '.join(shares)}."
        yield error_bars(bars, f"Estimates for {letters}, exact {similarity(pair.resemblance)}", says)


def _percent_held(drawn: DrawnHashes, pair: Exact) -> str:
    """Return the coverage of the interval of a pair in per cent, rounded down."""
    return f"{floor(100 * drawn.coverage(pair))} %"


def _axis(width: int, top: float) -> str:
    """Return the scale above the bars."""
    line = [" "] * width
    for quarter in range(5):
        label = f"{quarter * top / 4:g}".replace("0.", ".")
        place = min(max(round(quarter / 4 * (width - 1)) - len(label) // 2, 0), width - len(label))
        line[place : place + len(label)] = label
    return "".join(line)


def _equal_values(drawn: DrawnHashes) -> dict[tuple[int, int], tuple[int, tuple[int, ...]]]:
    """Each (slot, document) whose value other documents have, too: the number of their colour, and all of them."""
    equal: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}
    groups = [(slot, group) for slot in range(min(drawn.slots, FEW)) for group in drawn.equal(slot)]
    for colour, (slot, group) in enumerate(groups):
        equal |= {(slot, document): (colour, group) for document in group}
    return equal


def _shingle_at(explained: ExplanationRecord, row: int) -> str:
    """Return a shingle by its position, from 0, in quotation marks; "" if it is not shown."""
    return f"“{printable(explained.shingles[row])}”" if row < len(explained.shingles) else ""


def _minima(explained: ExplanationRecord, drawn: DrawnHashes) -> dict[tuple[int, int], Mark]:
    """The marks of values that are a MinHash, by row and slot from 0."""
    equal, labels = _equal_values(drawn), labels_of(explained)
    marks: dict[tuple[int, int], Mark] = {}
    for slot, origins in enumerate(drawn.origins[:FEW].tolist()):
        for row in set(origins) - {-1}:
            those = [document for document, origin in enumerate(origins) if origin == row]
            words = f"the smallest value of {' and '.join(labels[document] for document in those)}"
            colour = next((equal[slot, document][0] for document in those if (slot, document) in equal), None)
            marks[row, slot] = Mark(words, colour, bold=True)
    return marks


def _documents(explained: ExplanationRecord) -> Section:
    rows = tuple(
        (
            document.label,
            tail(printable(document.name), 32),
            printable(" ".join(document.beginning.split())),
            number(document.words),
            number(document.shingles),
        )
        for document in explained.documents
    )
    head = ("", "document", "text", "words", "shingles")
    return Section(
        "Documents", (), (ShownTable(head, rows, frozenset((0, 1, 2))),), tuple(map(printable, explained.notes))
    )


def _sets_section(explained: ExplanationRecord) -> Section:
    run = counted(explained.length, "word" if explained.unit == "word" else "character")
    # a space at the end of a character shingle would be invisible
    space = " " if explained.unit == "word" else "␣"
    rows = [
        (str(i), printable(shingle.replace(" ", space)), *("1" if is_held else "0" for is_held in members))
        for i, (shingle, members) in _rows(explained, explained.shingles)
    ]
    sizes = ("", "in all", *(number(document.shingles) for document in explained.documents))
    return Section(
        "Shingles × documents",
        (
            f"A shingle is {run} in a row; upper and lower case"
            + (" and punctuation do not count." if explained.unit == "word" else " do not count."),
            "Each different shingle has a row, in sorted order. 1: the document holds it, 0: it does not. "
            "Textbooks call this the characteristic matrix.",
        ),
        (
            ShownTable(
                ("row", "shingle", *labels_of(explained)), (*rows, sizes), frozenset((1,)), _origins(explained)
            ),
        ),
    )


def _origins(explained: ExplanationRecord) -> dict[tuple[int, int], Mark]:
    """The marks of the rows of which equal values in the signatures are, if there is one family."""
    if len(explained.drawn) > 1:
        return {}
    (drawn,) = explained.drawn
    slots: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (slot, document), (colour, _) in _equal_values(drawn).items():
        row = int(drawn.origins[slot, document])
        if row < len(explained.shingles):
            slots.setdefault((row, document + 2), []).append((slot + 1, colour))
    return {
        place: Mark(f"the smallest value under {', '.join(f'h{slot}' for slot, _ in those)}", those[0][1])
        for place, those in slots.items()
    }


def _functions(explained: ExplanationRecord, drawn: DrawnHashes, width: int) -> Section:
    values = [[str(value) for value in row] for row in drawn.permutations.tolist()]
    if drawn.chosen is not None:
        marks = ("*" if chosen else " " for row in drawn.chosen for chosen in row)
        values = [[value + next(marks) for value in row] for row in values]
    labels = labels_of(explained)
    cells = max((len(value) for row in values for value in row), default=1)
    fit = min(drawn.permutations.shape[1], max((width - 6 - 3 * len(labels)) // (max(cells, 3) + 2), 1))
    rows = tuple(
        (str(i), *row[:fit], *("1" if is_held else "" for is_held in members))
        for i, (row, members) in _rows(explained, values)
    )
    formulas = [f"h{i}(x) = {formula}" for i, formula in enumerate(drawn.functions[: min(fit, FORMULAS)], 1)]
    if fit > FORMULAS and formulas:
        formulas.append("... and so on")
    minima = _minima(explained, drawn)
    says = (drawn.says, *formulas, "Each function puts the rows in an order: the smallest value comes first.")
    says += (_permutation_count(drawn),) if drawn.functions else ()
    return Section(
        f"Hash functions{of_family(explained, drawn)}",
        says,
        (
            ShownTable(
                ("row", *(f"h{i}" for i in range(1, fit + 1)), *labels),
                rows,
                marks={(row, slot + 1): mark for (row, slot), mark in minima.items() if slot < fit},
            ),
        ),
        () if fit == drawn.slots else (f"The first {fit} of {number(drawn.slots)} hash functions.",),
        (*says, "In bold letters: the smallest value of a document; in colour: of several documents."),
    )


def _signatures(explained: ExplanationRecord, drawn: DrawnHashes, width: int) -> Section:
    shown = min(drawn.slots, FEW)
    smallest = "For each function a document keeps the smallest value among its rows: its MinHash."
    if drawn.chosen is not None:
        smallest = (
            "In each slot a document keeps the smallest value of its rows that chose the slot; where none did, "
            "the smallest of all its rows."
        )
    tables = tuple(_signature_tables(explained, drawn, shown, width - 6))
    if any("(row" in cell for row in tables[0].rows for cell in row):
        smallest += " The row it comes from is in brackets."
    if _equal_values(drawn):
        smallest += " =B: B has the same value."
    return Section(
        f"Signatures{of_family(explained, drawn)}",
        (
            smallest,
            "Among the rows of two documents one comes first. If both hold it, their values are equal; in a "
            "random order this happens with probability |A∩B| / |A∪B|.",
            *_first_equal(explained, drawn),
        ),
        tables,
        () if shown == drawn.slots else (f"The first {shown} of {number(drawn.slots)} slots.",),
    )


def _permutation_count(drawn: DrawnHashes) -> str:
    """Say how many functions are true permutations, and which of a few."""
    names = [f"h{slot + 1}" for slot in drawn.permutes.nonzero()[0].tolist()]
    which = f": {', '.join(names)}" if names and len(names) < drawn.slots <= FEW else ""
    some = "is a true permutation" if len(names) == 1 else "are true permutations"
    ties = " Of rows with one value the first comes first." if len(names) < drawn.slots else ""
    many = f"{number(len(names))} of {counted(drawn.slots, 'function')} {some}"
    return f"{many}, with different values for different rows{which}.{ties}"


def _row_by_row(explained: ExplanationRecord, drawn: DrawnHashes, width: int) -> Iterator[Section]:
    """Yield the signatures after each row that changes them, of as many functions as fit; none of a sketch."""
    if not drawn.functions:
        return
    title = f"Signatures, row by row{of_family(explained, drawn)}"
    labels, values = labels_of(explained), drawn.permutations
    digits, room = len(str(values.max(initial=0))), width - GAP - len("start")
    few, many = (room // ((max(head, digits) + GAP) * len(labels)) for head in (len("h9 A"), len("h16 A")))
    fit = min(max(many, min(few, 9)), values.shape[1])
    if explained.rows > STEPS or not fit:
        yield Section(title, (f"Left out for more than {STEPS} rows." if fit else "Too wide for these lines.",))
        return
    lowest = np.full((fit, len(labels)), NOTHING, np.uint64)
    rows, marks = [("start", *["∞"] * lowest.size)], dict[tuple[int, int], Mark]()
    for i, (hashed, members) in _rows(explained, values[:, :fit]):
        smaller = members & (hashed[:, None] < lowest)
        lowest = np.where(smaller, hashed[:, None], lowest)
        if smaller.any():
            marks |= {(len(rows), j + 1): Mark(bold=True) for j in smaller.reshape(-1).nonzero()[0].tolist()}
            rows.append((str(i), *("∞" if x == NOTHING else str(x) for x in lowest.reshape(-1).tolist())))
    notes = [f"The first {fit} of {number(drawn.slots)} hash functions."] if fit < drawn.slots else []
    says = (
        "The same signatures in one pass over the rows: a document that holds the row takes the row's value "
        "under a function if that is smaller. Rows that change nothing are left out."
    )
    yield Section(
        title,
        (says,),
        (
            ShownTable(
                ("row", *(f"h{slot} {label}" for slot in range(1, fit + 1) for label in labels)),
                tuple(rows),
                marks=marks,
            ),
        ),
        tuple(notes),
        (says, "In bold letters: the values that the row changed."),
    )


def _rows(explained: ExplanationRecord, of: Iterable[T]) -> Iterator[tuple[int, tuple[T, Bools]]]:
    """Yield the number of each shown row, something of it, and which documents hold it."""
    return enumerate(zip(of, explained.held, strict=True), explained.first_row)


def _first_equal(explained: ExplanationRecord, drawn: DrawnHashes) -> Iterator[str]:
    """Yield a sentence about the first row that documents have in common, and one about values of several rows."""
    equal = _equal_values(drawn)
    for (slot, document), (_, group) in equal.items():
        row = int(drawn.origins[slot, document])
        sharing = [one for one in group if drawn.origins[slot, one] == row]
        names = " and ".join(labels_of(explained)[one] for one in sharing)
        if len(sharing) > 1 and (shingle := _shingle_at(explained, row)):
            place = f"row {row + explained.first_row}: {shingle}"
            yield f"For example, the smallest value of {names} under h{slot + 1} is that of {place}."
            break
    if any(len(set(drawn.origins[slot, list(group)])) > 1 for (slot, _), (_, group) in equal.items()):
        yield "Some equal values come from different rows, which need not be shared: they raise the estimate."


def _signature_tables(
    explained: ExplanationRecord, drawn: DrawnHashes, shown: int, width: int
) -> Iterator[ShownTable]:
    """Yield a table with the rows the values come from; if it is too wide, one without them, or several."""
    labels, equal = labels_of(explained), _equal_values(drawn)
    values, origins = drawn.signatures[:shown].tolist(), drawn.origins[:shown].tolist()
    marks = {place: Mark(colour=colour) for place, (colour, _) in equal.items()}
    cells = [["-"] * len(labels) for _ in values]
    for slot, document in ((i, j) for i in range(shown) for j in range(len(labels)) if origins[i][j] >= 0):
        row, same = origins[slot][document], ""
        if (slot, document) in equal:
            same = " =" + "".join(labels[other] for other in equal[slot, document][1] if other != document)
        number_of = row + explained.first_row
        cells[slot][document] = f"{values[slot][document]} (row {number_of}){same}"
        words = f"row {number_of}: {_shingle_at(explained, row)}".removesuffix(": ")
        marks[slot, document] = marks.get((slot, document), Mark())._replace(words=words)
    if len(labels) * (_widest(cells) + 2) > width:
        cells = [[re.sub(r" \(row \d+\)", "", cell) for cell in line] for line in cells]
    step = max(width // (_widest(cells) + 2), 1)
    for first in range(0, len(labels), step):
        part = slice(first, first + step)
        rows = tuple((f"h{i}", *line[part]) for i, line in enumerate(cells, 1))
        here = {(i, j - first + 1): mark for (i, j), mark in marks.items() if first <= j < first + step}
        yield ShownTable(("", *labels[part]), rows, marks=here)


def _widest(cells: list[list[str]]) -> int:
    return max(len(cell) for line in cells for cell in line)


def _similarities(explained: ExplanationRecord) -> Section:
    rows: tuple[tuple[str, ...], ...] = tuple(
        (letters_of(explained, pair), number(pair.shared), number(pair.union), similarity(pair.resemblance))
        for pair in explained.pairs
    )
    head: tuple[str, ...] = ("pair", "|A∩B|", "|A∪B|", "exact")
    if len(explained.drawn) == 1:
        head = (*head, "equal values", "estimate", "95 % interval")
        rows = tuple((*row, *more) for row, more in zip(rows, _estimates(explained.drawn[0]), strict=True))
    return Section(
        "Similarity, exact and estimated",
        (
            "Exact: the shingles in both documents divided by those in either, |A∩B| / |A∪B| "
            "(Jaccard, resemblance).",
            "Estimate: the share of equal values in two signatures. It varies by chance; on average 95 of 100 "
            "intervals around it, by Wilson (1927), contain the exact value.",
        ),
        (ShownTable(head, rows), _matrices(explained)),
        (*dict.fromkeys(drawn.caution for drawn in explained.drawn if drawn.caution), *_not_shown(explained)),
    )


def _matrices(explained: ExplanationRecord) -> Drawing:
    """Return both similarities of all pairs in one matrix; in HTML each is a heat map.

    The estimates are those with the most slots.
    """
    drawn, labels = max(explained.drawn, key=lambda drawn: drawn.slots), labels_of(explained)
    exact = [[1.0] * len(labels) for _ in labels]
    estimated = [[1.0] * len(labels) for _ in labels]
    for pair, estimate in zip(explained.pairs, drawn.estimates, strict=True):
        for a, b in ((pair.a, pair.b), (pair.b, pair.a)):
            exact[a][b], estimated[a][b] = pair.resemblance, estimate.value
    lines = [f"  {'':>2}{''.join(f'{label:>6}' for label in labels)}"]
    for row, label in enumerate(labels):
        of_row = [*estimated[row][:row], None, *exact[row][row + 1 :]]
        cells = ("–" if value is None else similarity(value) for value in of_row)
        lines.append(f"  {label:>2}{''.join(f'{cell:>6}' for cell in cells)}")
    how = f"estimated by {drawn.family} from {counted(drawn.slots, 'slot')}"
    lines += ["", "  Above the diagonal: exact.", f"  Below it: {how}."]
    maps = (
        heat_map(labels, exact, "Exact similarity", "Exact:"),
        heat_map(labels, estimated, f"Similarity {how}", f"{how.capitalize()}:"),
    )
    return Drawing(tuple(lines), maps)


def _not_shown(explained: ExplanationRecord) -> Iterator[str]:
    if len(explained.drawn) > 1 and any(drawn.slots > FEW for drawn in explained.drawn):
        yield (
            f"Hash functions and signatures are left out for more than {FEW} slots; choose one family and one "
            "number of slots to see their beginning."
        )


def _estimates(drawn: DrawnHashes) -> Iterator[tuple[str, str, str]]:
    for equal, estimate in zip(drawn.matches, drawn.estimates, strict=True):
        ends = f"{similarity(estimate.low)}–{similarity(estimate.high)}"
        yield f"{number(equal)} of {number(drawn.slots)}", similarity(estimate.value), ends


def _bands(explained: ExplanationRecord, drawn: DrawnHashes, bands: Bands) -> Section:
    count = len(bands.buckets)
    labels = labels_of(explained)
    buckets = tuple(
        (str(i), _span(i, bands.rows), " | ".join(" ".join(labels[index] for index in bucket) for bucket in band))
        for i, band in enumerate(bands.buckets[:SHOWN_BANDS], 1)
    )
    rows = tuple(
        (
            letters_of(explained, pair),
            similarity(pair.resemblance),
            similarity(bands.probability(pair)),
            f"{bands.shared_count(pair)} of {count}",
            "yes" if bands.shared_count(pair) else "no",
        )
        for pair in explained.pairs
    )
    head = ("pair", "exact", "probability", "bands shared", "candidate")
    notes = [f"The first {SHOWN_BANDS} of {count} bands."] if count > SHOWN_BANDS else []
    if bands.left_over:
        notes.append(f"{counted(bands.left_over, 'slot')} at the end of the signature in no band.")
    return Section(
        f"Bands and buckets{of_family(explained, drawn)}",
        (
            f"The signature is cut into {counted(count, 'band')} of {counted(bands.rows, 'row')}. Documents with "
            "equal values in all rows of a band fall into one bucket there, and only such documents become "
            "candidates, to be compared exactly. | separates buckets.",
            f"A pair of resemblance J shares a bucket with probability 1 − (1 − J^{bands.rows})^{count}.",
        ),
        (
            ShownTable(("band", "slots", "buckets"), buckets, frozenset((1, 2)), _meetings(drawn, bands)),
            ShownTable(head, rows),
            Drawing((), (_curve(explained, bands),)),
        ),
        tuple(notes),
    )


def _meetings(drawn: DrawnHashes, bands: Bands) -> dict[tuple[int, int], Mark]:
    """The marks of bands in which documents meet, in the colour of the first of their equal values."""
    equal = _equal_values(drawn)
    meetings = {}
    for place, band in enumerate(bands.buckets[:SHOWN_BANDS]):
        met = next((bucket for bucket in band if len(bucket) > 1), None)
        if met is not None:
            meetings[place, 2] = Mark(colour=equal.get((place * bands.rows, met[0]), (0, met))[0])
    return meetings


def _curve(explained: ExplanationRecord, bands: Bands) -> Picture:
    """The probability of a pair to share a bucket, with the pairs of the documents, near ones together."""
    marked: list[tuple[str, float]] = []
    for pair in sorted(explained.pairs, key=lambda pair: pair.resemblance):
        if pair.union:
            name = letters_of(explained, pair)
            if marked and pair.resemblance - marked[-1][1] < APART:
                marked[-1] = (f"{marked[-1][0]}, {name}", marked[-1][1])
            else:
                marked.append((name, pair.resemblance))
    cut = f"{counted(len(bands.buckets), 'band')} of {counted(bands.rows, 'row')}"
    probability = partial(probability_of, rows=bands.rows, bands=len(bands.buckets))
    return SCurve(probability, None, cut, marked).picture()


def _span(band: int, rows: int) -> str:
    first, last = (band - 1) * rows + 1, band * rows
    return f"h{first}" if rows == 1 else f"h{first}–h{last}"


def _chunks(explained: ExplanationRecord) -> Section:
    w, chunks = explained.length, explained.chunks
    bound = f"n − {w - 1}" if w > 1 else "n"
    few = min(5, len(chunks))
    rows = [
        (str(chunk.words), str(chunk.chunk_longest), str(chunk.chunk_union), str(chunk.resemblance))
        for chunk in chunks
    ]
    shown = (*rows[:few], ("…",) * 4, rows[-1]) if len(rows) > few else tuple(rows)
    return Section(
        "The weight of a common chunk, by its length",
        ("Three measures of common text, each a fraction. A common chunk of words adds to the numerator:",),
        (ShownTable(("words in the chunk", "chunk-longest", "chunk-union", "resemblance"), shown),),
        (
            f"chunk-longest and chunk-union count words: all of a chunk of {w} or more, none of a shorter one. "
            "Their denominators are the words of the longer document, and the words of both with common ones "
            "counted once.",
            f"resemblance counts shingles: a chunk of n words holds {bound}. So a match has much "
            f"weight only if it is much longer than {counted(w, 'word')}.",
        ),
    )
