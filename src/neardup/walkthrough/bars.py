"""Error bars in plain characters: an estimate approaches the exact value as slots are added."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from neardup.display import counted, similarity
from neardup.display.curves import ErrorBar, error_bars
from neardup.display.svg import Picture
from neardup.walkthrough.tables import Drawing, Section

if TYPE_CHECKING:
    from neardup.sketch.estimates import Estimate
    from neardup.walkthrough.record import ExplanationRecord

WIDEST, SHOWN_PAIRS = 51, 6
SCALES = (0.2, 0.4, 1.0)
"""Upper ends of the scale, so that low similarities fill it too."""
NUMBERS = 24
"""Columns reserved for the numbers beside a bar."""


def bar(found: Estimate, exact: float, width: int, top: float = 1.0) -> str:
    """Draw the scale from 0 to ``top`` on ``width`` characters: [ ] are the ends of the interval, o the estimate.

    | is the exact value; * marks the estimate and the exact value at the same position.

    >>> from neardup.sketch.estimates import estimate
    >>> bar(estimate(8, 16), 0.3, 41)
    '           [|-------o--------]           '
    """
    line = [" "] * width

    def at(value: float) -> int:
        return round(value / top * (width - 1))

    for place in range(at(found.low), at(found.high) + 1):
        line[place] = "-"
    line[at(found.low)], line[at(found.high)] = "[", "]"
    line[at(found.value)] = "o"
    line[at(exact)] = "*" if at(exact) == at(found.value) else "|"
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
        letters = (explained.documents[position].label for position in (pair.a, pair.b))
        lines += [""] * bool(lines) + [f"  {' and '.join(letters)}, exact {similarity(pair.resemblance)}"]
        lines.append(f"  {'slots':>{column}}  {_axis(plot, top)}  estimate and interval")
        for name, drawn in zip(names, explained.drawn, strict=True):
            found = drawn.estimates[i]
            numbers = f"{similarity(found.value)}  {similarity(found.low)}–{similarity(found.high)}"
            lines.append(f"  {name:>{column}}  {bar(found, pair.resemblance, plot, top)}  {numbers}")
    left = len(explained.pairs) - SHOWN_PAIRS
    hint = " (try 50,100,200,400)" if len(explained.drawn) == 1 else ""
    rule = f"Four times as many slots make the interval about half as wide{hint}."
    more = (f"The {SHOWN_PAIRS} most similar pairs; {counted(left, 'more pair')} not drawn.",) if left > 0 else ()
    return Section(
        "Error bars",
        ("[---o---] is the estimate o with its 95 % interval, | the exact value, * both in one place. " + rule,),
        (Drawing(tuple(lines), tuple(_pictures(explained, sorted(order[:SHOWN_PAIRS]), names))),),
        more,
        (rule,),
    )


def _pictures(explained: ExplanationRecord, shown: list[int], names: list[str]) -> Iterator[Picture]:
    """Yield the same bars as pictures, one for each pair."""
    for i in shown:
        pair = explained.pairs[i]
        letters = " and ".join(explained.documents[position].label for position in (pair.a, pair.b))
        bars = []
        for name, drawn in zip(names, explained.drawn, strict=True):
            found, label = drawn.estimates[i], counted(drawn.slots, "slot") if name.isdecimal() else name
            bars.append(ErrorBar(label, found.value, found.low, found.high, pair.resemblance))
        yield error_bars(bars, f"Estimates for {letters}, exact {similarity(pair.resemblance)}", f"{letters}.")


def _axis(width: int, top: float) -> str:
    """Return the scale above the bars."""
    line = [" "] * width
    for quarter in range(5):
        label = f"{quarter * top / 4:g}".replace("0.", ".")
        at = min(max(round(quarter / 4 * (width - 1)) - len(label) // 2, 0), width - len(label))
        line[at : at + len(label)] = label
    return "".join(line)
