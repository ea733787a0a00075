"""The sentences, the numbers and the list of differences that the terminal and the page share."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from neardup.comparison.alignment import ROW_KINDS
from neardup.comparison.kinds.rules import by_kind
from neardup.display import counted, number, shorten, similarity
from neardup.kernels.rows import CHARACTERS_ROW, EQUAL_ROW
from neardup.tables import Bools
from neardup.text.characters import COUNTED, KINDS, CharacterDifference
from neardup.text.cleaning import merged_places

if TYPE_CHECKING:
    from neardup.comparison.alignment import Alignment
    from neardup.comparison.result import ComparisonRecord
    from neardup.tables import Int64s


EQUAL_TEXTS = "The texts of A and B are the same, character by character."
EQUAL_BUT_SPACE = "A and B have the same characters; line ends, white space or Unicode normal form differ."
EQUAL_TOKENS = "A and B have the same {}s in the same order, but not the same characters: {}."
EQUAL_BUT_LEFT_OUT = "The {}s that count are the same in the same order; of the characters between them: {}."

FILLER = "\ufdd0"
"""A character that no text has."""

_WIDTHS = range(40, 121)
"""Characters of the longest line of a paragraph with hard line ends."""

QUOTED = 80
"""Length of a quotation, in characters."""

LONGEST_HEAD = 40
"""Columns of the head of a column beside a cell."""

_IDEOGRAPH = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
"""Scripts that have no space between words: their lines stay."""

MAIN_MEASURES = ("resemblance", "containment_a", "containment_b", "chunk_union_literal", "lcs", "minhash")
"""The measures that are shown with a sentence each, unless all are asked for."""

WORDS = {
    "changed": ("changed", "±"),
    "only_a": ("only in A", "−"),
    "only_b": ("only in B", "+"),
    "moved_a": ("moved, in A", "~"),
    "moved_b": ("moved, in B", "~"),
    "characters": ("other characters", "\u2260"),
}
"""The kinds of rows that are not equal: in words, and as a mark."""


READ_OTHERWISE = "perhaps OCR"
"""A row, or a place in it, that may differ only because OCR has read it otherwise."""


def value_of(measure: Any) -> tuple[str, str]:
    """Return a measure as text (shares cut to three digits) and its 95 % interval ("" unless it is an estimate).

    >>> value_of(0.99999), value_of(1234)
    (('0.999', ''), ('1,234', ''))
    >>> value_of({"estimate": 0.5, "low": 0.41, "high": 0.59, "slots": 128})
    ('0.500', '0.410 to 0.590')
    """
    if isinstance(measure, dict):
        value, low, high = (similarity(measure[key]) for key in ("estimate", "low", "high"))
        return value, f"{low} to {high}"
    return number(measure) if isinstance(measure, int) else similarity(measure), ""


def common_sentence(record: ComparisonRecord) -> str:
    """Return a sentence about the amount of common text and the number of matches."""
    of, matches = record.measures, len(record.alignment.units)
    moved = int(record.alignment.moved.sum())
    in_moved = f", {number(moved)} of them moved" if moved else ""
    common, all_a, all_b = (number(of[name]) for name in ("common_literal", "tokens_a", "tokens_b"))
    if record.ignores:  # the matches are those of the whole texts
        return f"{common} of {all_a} {unit_of(record)}s of A and {all_b} of B, besides boilerplate"
    in_matches = f"in {counted(matches, 'match', 'matches')}{in_moved}"
    return f"{common} of {all_a} {unit_of(record)}s of A and {all_b} of B {in_matches}"


def base_sentence(record: ComparisonRecord) -> str:
    """Return a sentence about the boilerplate of both; "" without any."""
    if not record.ignores:
        return ""
    sides = ((record.a, record.base_a), (record.b, record.base_b))
    inside = [f"{number(int((runs[:, 1] - runs[:, 0]).sum()))} of {number(len(units))}" for units, runs in sides]
    return f"{inside[0]} {unit_of(record)}s of A and {inside[1]} of B are boilerplate and do not count"


def left_out_sentence(record: ComparisonRecord) -> str:
    """Return a sentence about the masks, numbers and stop words that are left out of both; "" without any."""
    return "; ".join(
        f"{letter.upper()}: {', '.join(_kinds_left_out(counts)) or 'nothing'}"
        for letter, counts in record.left_out.items()
    )


def rules_sentence(record: ComparisonRecord) -> str:
    """Return the rules by which text is left out, after a semicolon; "" without any. Masks are of the user."""
    settings = record.settings
    parts = ["numbers left out"] * bool(settings["ignore_numbers"])
    parts += [f"{_stop_words(settings['stop_words'])} left out"] if settings["stop_words"] else []
    parts += [counted(len(settings["mask"]), "mask")] if settings.get("mask") else []
    parts += [f"tokenizer {settings['tokenizer']}"] if settings.get("tokenizer") else []
    return "".join(f"; {part}" for part in parts)


def _stop_words(known: str | int) -> str:
    return f"stop words ({known})" if isinstance(known, str) else counted(known, "stop word")


def _kinds_left_out(counts: Mapping[str, Any]) -> Iterator[str]:
    masked, numbers, words = sum(counts["masks"]), counts["numbers"], counts["stop_words"]
    for count, noun in ((masked, "masked place"), (numbers, "number"), (words, "stop word")):
        if count:
            yield counted(count, noun)


def uncounted_text(record: ComparisonRecord) -> str:
    """Return the name of the text that does not count."""
    names = ["boilerplate"] * bool(len(record.base_a) or len(record.base_b))
    names += ["left out"] * bool(len(record.left_out_a) or len(record.left_out_b))
    return " or ".join(names)


def style_words(record: ComparisonRecord, hide_readings: bool = False) -> str:
    """Return the differences of equal rows that do not count, or are hidden."""
    left_out, readings = " or text left out" * record.leaves_out, " or readings of OCR" * hide_readings
    return f"white space{left_out}{readings}"


def base_spans(record: ComparisonRecord, which: int) -> list[tuple[int, int]]:
    """Return the places in A (0) or B (1), in characters, of text that does not count."""
    units, runs, left_out = (
        (record.a, record.base_a, record.left_out_a),
        (record.b, record.base_b, record.left_out_b),
    )[which]
    if len(left_out):
        base = np.column_stack((units.spans[runs[:, 0], 0], units.spans[runs[:, 1] - 1, 1])).reshape(-1, 2)
        both = merged_places(np.concatenate((base, left_out)))
        return [(begin, end) for begin, end in both.tolist()]
    return [(int(units.spans[begin, 0]), int(units.spans[end - 1, 1])) for begin, end in runs.tolist()]


def cut_at(spans: list[tuple[int, int]], begin: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the parts of [begin, end), each inside one of the ``spans`` (ascending, disjoint) or outside all.

    >>> list(cut_at([(2, 5)], 0, 9))
    [(0, 2, False), (2, 5, True), (5, 9, False)]
    """
    place = bisect_right(spans, (begin, begin))
    place -= place > 0 and spans[place - 1][1] > begin
    while begin < end:
        inside = place < len(spans) and spans[place][0] <= begin
        edge = spans[place][inside] if place < len(spans) else end
        yield begin, min(edge, end), inside
        begin, place = min(edge, end), place + inside


class ColumnHeads:
    """The heads of the cells that begin in rows that differ, in A (0) or B (1)."""

    def __init__(self, alignment: Alignment, which: int) -> None:
        cells = alignment.cells_below_heads[which]
        side, places = alignment.table.sides[which], np.array([place for place, _ in cells], np.int64)
        rows = np.searchsorted(side.spans_of_rows[:, 1], places, "right")
        shown = np.flatnonzero(alignment.table.kinds[rows] != EQUAL_ROW).tolist() if len(cells) else []
        self._places = [cells[cell][0] for cell in shown]
        self._heads = [shorten(cells[cell][1], LONGEST_HEAD) for cell in shown]

    def __bool__(self) -> bool:
        return bool(self._places)

    def parts(self, begin: int, end: int) -> Iterator[tuple[str, int, int]]:
        """Yield the parts [begin, end) of these characters, each with the head before it, or ""."""
        first, last = bisect_left(self._places, begin), bisect_left(self._places, end)
        heads = ["", *self._heads[first:last]]
        places = [begin, *self._places[first:last], end]
        for head, (place, stop) in zip(heads, pairwise(places), strict=True):
            if head or place < stop:
                yield head, place, stop


def unit_of(record: ComparisonRecord) -> str:
    """Return the unit of comparison: "token" or "character"."""
    return "token" if record.settings["unit"] == "word" else "character"


def differences_sentence(alignment: Alignment, not_compared: Sequence[str] = ()) -> str:
    """Return the number of rows that differ, by kind; moved text counts at its old place and at its new one.

    If other parts of the documents differ (``not_compared``), "none" is said of the texts.
    """
    counts = {
        "changed": alignment.kinds["changed"],
        "in characters alone": alignment.kinds["characters"],
        "only in A": alignment.kinds["only_a"],
        "only in B": alignment.kinds["only_b"],
        "halves of moved text": alignment.kinds["moved_a"] + alignment.kinds["moved_b"],
    }
    parts = [f"{number(count)} {words}" for words, count in counts.items() if count]
    return (
        f"{number(sum(counts.values()))}: {', '.join(parts)}"
        if parts
        else f"none{' in the texts' * bool(not_compared)}"
    )


def readings_sentence(alignment: Alignment) -> str:
    """Return the number of places that OCR explains, and of rows with no other difference; "" without any."""
    whole, rows = len(alignment.rows_read_otherwise), len(rows_that_differ(alignment))
    in_rows = f"{number(whole)} of {counted(rows, 'difference')} {'is' if whole == 1 else 'are'} nothing else"
    return f"{counted(len(alignment.readings), 'place')}; {in_rows}" * bool(alignment.readings)


def characters_sentence(alignment: Alignment, *, counted_alone: bool = True) -> str:
    """Return the number of places where equal units have other characters, by kind, the weightiest first.

    By default only of kinds that count as a difference; "" without any.
    """
    return by_kind(
        Counter(each.kind for each in alignment.characters if not counted_alone or each.kind >= COUNTED)
    )


def notes_on(record: ComparisonRecord) -> Iterator[str]:
    """Yield the warnings to read before the numbers: nothing to compare, nothing different, search incomplete."""
    unit = unit_of(record)
    sizes = {"A": len(record.a), "B": len(record.b)}
    empty = [name for name, size in sizes.items() if not size]
    if record.not_compared:
        yield f"Only the texts were compared. Also different: {', '.join(record.not_compared)}."
    if record.a.text == record.b.text:
        yield EQUAL_TEXTS
    elif not empty and same_units(record):
        differ = characters_sentence(record.alignment, counted_alone=False)
        form = EQUAL_BUT_LEFT_OUT if record.leaves_out else EQUAL_TOKENS
        yield form.format(unit, differ) if differ else EQUAL_BUT_SPACE
    if len(empty) == 2:
        yield f"A and B have no {unit}: there is nothing to compare, and they count as equal."
    for name in empty if len(empty) == 1 else ():
        yield f"{name} has no {unit}: it is like no other text."
    short = [name for name, size in sizes.items() if 0 < size < record.settings["min_chunk"]]
    if short and not empty and not same_units(record):
        least = counted(record.settings["min_chunk"], unit)
        yield f"{' and '.join(short)}: shorter than a match of {least}; only an identical text would match."
    covered = [name for name, size in sizes.items() if size and not record.measures[f"tokens_{name.lower()}"]]
    if covered:
        yield f"{' and '.join(covered)}: boilerplate only, nothing is left to compare."
    yield from (cap[0].upper() + cap[1:] + "." for cap in (*record.caps, *record.alignment.caps))


def same_units(record: ComparisonRecord) -> bool:
    """Return whether the two have the same units in the same order."""
    return len(record.a) == len(record.b) and bool((record.a.hashes == record.b.hashes).all())


def restyled_rows(alignment: Alignment) -> Bools:
    """Return bool[rows]: whether the sides of an equal row differ in characters that do not count."""
    flags = np.zeros(len(alignment.table), np.bool_)
    for each in alignment.characters:
        if each.kind < COUNTED:
            flags[row_of(alignment, each)] = True
    flags &= alignment.table.kinds == EQUAL_ROW
    return flags


def row_of(alignment: Alignment, place: CharacterDifference) -> int:
    """Return the row in which a difference of characters begins, in A unless only B has it."""
    side = int(place.a[0] == place.a[1] and place.b[0] < place.b[1])
    begin = (place.a, place.b)[side][0]
    row = int(np.searchsorted(alignment.table.sides[side].spans_of_rows[:, 1], begin, "right"))
    return min(row, len(alignment.table) - 1)


def way_to(alignment: Alignment, match: int, side: int) -> str:
    """Return where the other half of a match is, seen from side 0 (A) or 1 (B)."""
    rows = alignment.rows_of_matches
    here, there = rows[side][match], rows[1 - side][match]
    where = "in the same row" if here == there else "further down" if here < there else "further up"
    return f"in {'BA'[side]} {where}"


def one_sided_matches(alignment: Alignment) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the matches that begin in rows of A alone, by row number; and those in rows of B alone."""
    table = alignment.table
    matches: tuple[dict[int, list[int]], dict[int, list[int]]] = {}, {}
    there = [np.diff(pieces.first) > 0 for pieces in table.sides]
    for side, pieces in enumerate(table.sides):
        begins = np.flatnonzero(pieces.opens)
        rows = np.searchsorted(pieces.first, begins, "right") - 1
        alone = ~there[1 - side][rows]
        for row, match in zip(rows[alone].tolist(), pieces.matches[begins[alone]].tolist(), strict=True):
            matches[side].setdefault(row, []).append(match)
    return matches


def part_of(text: str, begin: int, end: int) -> str:
    r"""Return text[begin:end] without the first half of a line end that it would cut in two.

    >>> part_of("a\r\nb", 0, 2), part_of("a\r\nb", 0, 3)
    ('a', 'a\r\n')
    """
    cuts = end > begin and text[end - 1] == "\r" and text[end : end + 1] == "\n"
    return text[begin : end - cuts].replace(FILLER, "")


def flow_lines(text: str) -> str:
    r"""Return a text of the same length, with a space for each hard line end inside paragraphs.

    A line end of two characters is a space and ``FILLER``, which is not shown.
    A line end is hard if the first word of the next line would not have fitted into the line, as in mails and PDF.

    >>> flow_lines("The harbour office closes on Friday because of the works on the\nquay.\n\nAll others stay.")
    'The harbour office closes on Friday because of the works on the quay.\n\nAll others stay.'
    """
    lines, out = text.splitlines(keepends=True), []
    for place, line in enumerate(lines):
        bare = line.rstrip()
        after = lines[place + 1] if place + 1 < len(lines) else ""
        width = max(len(bare), len(after.rstrip()), len(lines[place - 1].rstrip()) if place else 0)
        word = after.split(None, 1)[:1]
        hard = word and width in _WIDTHS and len(bare) >= width // 2 and len(bare) + len(word[0]) >= 0.85 * width
        plain = after[:1].isalnum() and not _IDEOGRAPH.search(bare[-1:] + after[:1])
        out.append(f"{bare} ".ljust(len(line), FILLER) if hard and plain else line)
    return "".join(out)


Part: TypeAlias = tuple[str, bool]
"""Words, and whether they are quoted from a document."""


@dataclass(frozen=True)
class Difference:
    """A row that is not equal: its number, its kind in words, its summary, and the heads of its changed cells."""

    number: int
    words: str
    said: tuple[Part, ...]
    heads: tuple[str, ...] = ()


def rows_that_differ(alignment: Alignment) -> Int64s:
    """Return the rows that are not equal, from top to bottom."""
    return np.flatnonzero(alignment.table.kinds != EQUAL_ROW)


def words_of_rows(alignment: Alignment) -> list[str]:
    """Return the kind of each row in words; with equal units, the weightiest kind of its characters, or OCR."""
    words = [WORDS.get(ROW_KINDS[kind], ("equal", ""))[0] for kind in alignment.table.kinds.tolist()]
    for each in sorted(alignment.characters, key=lambda each: each.kind):
        row = row_of(alignment, each)
        if alignment.table.kinds[row] == CHARACTERS_ROW:
            words[row] = KINDS[each.kind]
    for row in alignment.rows_read_otherwise.tolist():
        words[row] = READ_OTHERWISE
    return words


def differences_of(alignment: Alignment, most: int) -> Iterator[Difference]:
    """Yield the first ``most`` differences from top to bottom, numbered from 1."""
    words = words_of_rows(alignment)
    for place, row in enumerate(rows_that_differ(alignment)[:most].tolist(), 1):
        kind = ROW_KINDS[alignment.table.kinds[row]]
        heads = tuple(shorten(head, LONGEST_HEAD) for head in alignment.heads_in(row))
        yield Difference(place, words[row], tuple(_row_parts(alignment, row, kind)), heads)


def _row_parts(alignment: Alignment, row: int, kind: str) -> Iterator[Part]:
    quotes = [_quote(alignment, row, side) for side in (0, 1)]
    if quotes[0]:
        yield quotes[0], True
    if kind in ("changed", "characters"):
        yield (" → " if quotes[0] and quotes[1] else " taken out" if quotes[0] else "put in "), False
    if quotes[1]:
        yield quotes[1], True
    bounds = [pieces.first[row : row + 2] for pieces in alignment.table.sides]
    alone = [begin < end for begin, end in bounds]
    if alone[0] != alone[1]:
        side = int(alone[1])
        pieces, (begin, end) = alignment.table.sides[side], bounds[side]
        for match in pieces.matches[begin:end][pieces.opens[begin:end]].tolist():
            yield f" (match {match}, {way_to(alignment, match, side)})", False


def _quote(alignment: Alignment, row: int, side: int) -> str:
    """Return the beginning of the changed text, or else of the moved text, with gaps shown as dots."""
    text, quote = (alignment.text_a, alignment.text_b)[side], ""
    for index, (first, last) in enumerate(alignment.changed_spans(row, side)):
        if len(quote) > QUOTED:
            break
        quote += " … " * bool(index) + " ".join(text[first:last][: 2 * QUOTED].split())
    return quote if len(quote) <= QUOTED else quote[: QUOTED - 1] + "…"
