"""Two compared documents as parts of a page: side by side, or as a list of differences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from neardup.comparison.alignment import Alignment
from neardup.comparison.alignment.table import ROW_KINDS
from neardup.comparison.result import ComparisonRecord
from neardup.comparison.show.body import ComparisonBody
from neardup.comparison.show.cells import TextRows, escaped
from neardup.comparison.show.differences import WORDS, rows_that_differ
from neardup.comparison.show.words import common_sentence, differences_sentence, notes_on, value_of
from neardup.display import number, tail
from neardup.review.source import PairView

LISTED = 1000
"""Most differences in the list."""
_AROUND = 60
"""Characters of equal text quoted before a difference."""


@dataclass(frozen=True)
class MeasureLine:
    """A measure of two documents: its name, its value, the 95 % interval of an estimate, its kind, a sentence."""

    name: str
    value: str
    interval: str
    kind: str
    sentence: str


@dataclass(frozen=True)
class Sides:
    """The parts: the texts as a table or as a list of differences, sentences about them, the measures."""

    texts: Markup
    alike: str
    common: str
    differ: str
    notes: tuple[str, ...]
    measures: tuple[MeasureLine, ...]
    proven: bool


def both_sides(pair: PairView, *, full: bool, linear: bool) -> Sides:
    """Return the parts for a pair. ``full`` unfolds long equal passages; ``linear`` lists the differences."""
    found = pair.comparison
    if linear:
        parts = _listed(pair)
    else:
        parts = ComparisonBody(found, (str(pair.a.id), str(pair.b.id)), full, "", 2).texts()
    lines = [MeasureLine(name, *value_of(value), kind, said) for name, value, kind, said in found.described()]
    return Sides(
        Markup("".join(parts)),
        alike_sentence(found),
        common_sentence(found),
        differing_sentence(found.alignment),
        tuple(notes_on(found)),
        tuple(lines),
        found.proven,
    )


def alike_sentence(found: ComparisonRecord) -> str:
    """Return resemblance and both containments in words."""
    of = {name: value_of(found.measures[name])[0] for name in ("resemblance", "containment_a", "containment_b")}
    return (
        f"Resemblance {of['resemblance']}, containment {of['containment_a']} of A in B and "
        f"{of['containment_b']} of B in A"
    )


def differing_sentence(alignment: Alignment) -> str:
    """Return the number of rows that differ, and how, in a sentence."""
    rows, _, kinds = differences_sentence(alignment).partition(": ")
    return f"{rows} {'row differs' if rows == '1' else 'rows differ'} ({kinds})" if kinds else "No row differs"


def _listed(pair: PairView) -> Iterator[str]:
    """Yield the differences one after the other, each with its number, its side, and the equal text before it."""
    alignment = pair.comparison.alignment
    rows, texts = rows_that_differ(alignment), TextRows(pair.comparison, "")
    yield '<section aria-labelledby="texts"><h2 id="texts">The differences</h2>'
    if not len(rows):
        yield "<p>There is no difference.</p>"
    yield '<ol class="linear">'
    for at, row in enumerate(rows[:LISTED].tolist(), 1):
        kind = ROW_KINDS[alignment.table.kinds[row]]
        yield f'<li id="d{at}"><h3>Difference {number(at)} of {number(len(rows))}, {WORDS[kind][0]}</h3>'
        begin = int(alignment.table.a.spans_of_rows[row, 0])
        if before := tail(" ".join(alignment.text_a[max(0, begin - 4 * _AROUND) : begin].split()), _AROUND):
            yield f'<p class="quiet">after <q dir="auto" lang="">{escaped(before)}</q></p>'
        for which, letter in enumerate("AB"):
            content = texts.content(row, which)
            if content:
                yield f'<p class="side"><b>{letter}</b> <span dir="auto" lang="">{content}</span></p>'
            elif way := texts.elsewhere(row, which):
                yield f'<p class="side"><b>{letter}</b> {way}</p>'
        yield "</li>"
    yield "</ol>"
    if len(rows) > LISTED:
        yield f"<p>The first {number(LISTED)} of {number(len(rows))}; side by side, all are shown.</p>"
    yield "</section>"
