"""``Advice`` as text for a terminal of 80 columns, as HTML for a notebook, and as one picture.

All text of the HTML and of the picture is escaped, because ids and texts are those of the documents. Every bar of
the picture shows its number, so no information depends on colour alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap

from neardup.corpus.advice.record import AdviceRecord
from neardup.corpus.advice.sections import AdviceSection, scale, sections, shingle_words
from neardup.display import counted, number, percent
from neardup.display.pictures import ChartBar, Picture, columns
from neardup.display.pictures import text as svg_text
from neardup.display.view import heading, paragraph, preformatted, table, view

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


PICTURE_WIDTH, PANEL, HEIGHT = 760, 240, 170
"""Width of the image, height of a panel, height of its longest bar."""

LEFT, TOP = 24, 92
NAME = "neardup-advice"


@dataclass(frozen=True)
class Bars:
    """One panel: a heading, a name of the axis, and its bars."""

    head: str
    axis: str
    bars: tuple[ChartBar, ...]


def svg(advice: AdviceRecord) -> str:
    """Return the image as a file: no script, no font, no link, light or dark as the system is."""
    return picture(advice).file(NAME)


def picture(advice: AdviceRecord) -> Picture:
    """Return the image."""
    near = advice.near
    panels = (_pairs(advice), _removed(advice))
    chosen = next(step for step in advice.thresholds if step.threshold == near.threshold)
    caption = (
        f"At threshold {near.threshold:g}: {counted(chosen.pairs, 'pair')}, "
        f"{counted(chosen.removed, 'document')} removed ({percent(chosen.removed, advice.sample.documents)}); "
        f"{counted(near.above + near.below, 'pair')} within {near.width:g} of the threshold."
    )
    title = f"Near copies among {counted(advice.sample.documents, 'document')}"
    parts = [svg_text(LEFT, 30, title, kind="named head"), svg_text(LEFT, 52, caption)]
    for k, panel in enumerate(panels):
        parts.extend(_panel(panel, TOP + k * (PANEL + 40)))
    return Picture(
        PICTURE_WIDTH, TOP + len(panels) * (PANEL + 40), title, f"{caption} {_numbers(panels)}", tuple(parts)
    )


def _pairs(advice: AdviceRecord) -> Bars:
    bins, threshold = advice.histogram, advice.near.threshold
    shares = scale([part.pairs for part in bins], [part.low >= 0.5 for part in bins])
    return Bars(
        f"Pairs by resemblance (runs of {shingle_words(advice)}; exact copies are not counted)",
        "resemblance, from this to the next",
        tuple(
            ChartBar(
                f"{part.low:g}", part.pairs, share, part.low <= threshold < part.high or part.low == threshold
            )
            for part, share in zip(bins, shares, strict=True)
        ),
    )


def _removed(advice: AdviceRecord) -> Bars:
    steps = advice.thresholds
    shares = scale([step.removed for step in steps], [True] * len(steps))
    return Bars(
        "Documents removed, by threshold (exact copies are removed at every one)",
        "threshold",
        tuple(
            ChartBar(f"{step.threshold:g}", step.removed, share, step.threshold == advice.near.threshold)
            for step, share in zip(steps, shares, strict=True)
        ),
    )


def _numbers(panels: tuple[Bars, ...]) -> str:
    """Return the numbers of the image in words, for readers who cannot see it."""
    return " ".join(
        f"{panel.head}: " + ", ".join(f"{bar.label}: {number(bar.count)}" for bar in panel.bars) + "."
        for panel in panels
    )


def _panel(panel: Bars, top: int) -> Iterator[str]:
    base = top + 40 + HEIGHT
    yield svg_text(LEFT, top + 4, panel.head, kind="named")
    yield from columns(panel.bars, LEFT, PICTURE_WIDTH - LEFT, base, HEIGHT)
    broken = "; a bar with a gap is longer than drawn" * any(bar.share > 1 for bar in panel.bars)
    yield svg_text(LEFT, base + 36, f"{panel.axis}; bold and framed: where the threshold is{broken}", kind="small")


def html(advice: AdviceRecord) -> str:
    """Return all advice: the picture, the sections, the command."""
    body = (part for section in sections(advice) for part in _section_html(section))
    return view(picture(advice).figure(), *body, preformatted(advice.recommended.command))


def _section_html(section: AdviceSection) -> Iterator[str]:
    yield heading(section.title)
    yield from map(paragraph, section.before)
    if section.rows:
        marks = section.marks or ("",) * len(section.rows)
        head = (*section.head, *([""] if any(marks) else []))
        rows = [(*cells, *([mark] if any(marks) else [])) for cells, mark in zip(section.rows, marks, strict=True)]
        yield table(head, rows, frozenset(range(1, len(section.head))))
    yield from map(paragraph, section.after)
