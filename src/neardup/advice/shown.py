"""``Advice`` as text: sections, small tables and bars for a terminal of 80 columns, without colour."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from neardup.advice.record import AdviceRecord
from neardup.advice.section import AdviceSection
from neardup.advice.sections import sections

WIDTH = 79
LONGEST, SHORTEST = 40, 10


def lines(advice: AdviceRecord) -> Iterator[str]:
    """Yield the advice line by line; the recommended command comes last and is the only unfolded line."""
    for section in sections(advice):
        yield from _section(section)
    yield f"  {advice.recommended.command}"


def _section(section: AdviceSection) -> Iterator[str]:
    yield section.title
    yield "-" * len(section.title)
    for text in section.before:
        yield from wrap(text, WIDTH, subsequent_indent="   " if text[:1].isdigit() and text[1:3] == ". " else "")
    if section.rows:
        yield ""
        yield from _table(section)
    if section.after:
        yield ""
    for text in section.after:
        yield from wrap(text, WIDTH, subsequent_indent="      " if text[:1] == " " else "") or [""]
    yield ""


def _table(section: AdviceSection) -> Iterator[str]:
    """Yield the rows: columns flush right except for the first, then the bars."""
    widths = [max(map(len, column)) for column in zip(section.head, *section.rows, strict=True)]
    used = sum(widths) + 2 * len(widths)
    room = min(LONGEST, max(WIDTH - used - max(map(len, section.marks), default=0) - 2, SHORTEST))
    yield _row(section.head, widths)
    for k, cells in enumerate(section.rows):
        line = _row(cells, widths)
        if section.bars:
            line += "  " + bar(section.bars[k], room)
        if section.marks and section.marks[k]:
            line = f"{line:<{used + (room + 1 if section.bars else 0)}} {section.marks[k]}"
        yield line.rstrip()


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *others = (
        f"{cell:>{width}}" if k else f"{cell:<{width}}"
        for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([" " + first, *others])


def bar(share: float, room: int) -> str:
    """Return a bar of ``room`` characters for 1; any share above 0 is visible, a share above 1 ends in >.

    >>> bar(0.5, 8), bar(0.001, 8), bar(0, 8), bar(2, 8)
    ('####', '#', '', '#######>')
    """
    if share > 1:
        return "#" * (room - 1) + ">"
    return "#" * max(round(share * room), int(share > 0))
