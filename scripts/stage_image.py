"""The image of ARCHITECTURE.md: the stages of a run, and the records that they hand on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from html import escape
from textwrap import wrap

from neardup.deduplication.run.find import STAGES
from neardup.deduplication.run.pipeline import Stage
from neardup.deduplication.run.stages.records import Inputs
from neardup.deduplication.run.stages.result import Outcome
from neardup.settings import RECORDS

HEADS = {
    "bands": "1, 2\u2002Read, fingerprint",
    "propose": "3, 4\u2002Propose, prove",
    "group": "5\u2002Decide",
    "reported pairs": "5\u2002Count, audit",
    "member table": "6\u2002Report",
}
"""The first stage of each column, and the head of the column with the steps of ARCHITECTURE.md."""

WIDTH, EDGE, TOP = 1200, 16, 56
BOX, GUTTER, PADDING, LINE, GAP, CHARACTERS = 144, 112, 4, 13, 11, 22

TITLE = "The life of a document: stages and records"
DESCRIPTION = (
    "Five columns of stages, from the inputs to the result. A stage is a box with the option that it depends on, "
    "the records that it makes and those that it changes; a stage that some runs leave out is dashed. Arrows "
    "between the columns list the records that later stages read. The table in ARCHITECTURE.md has the same ones."
)

STYLE = """\
text { font: 11px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.head { font-size: 14px; font-weight: bold } .name { font-weight: bold } .handed { font-size: 10.5px }
.page { fill: #ffffff; stroke: #d0d7de } .stage { fill: #f6f8fa; stroke: #8c959f }
.dashed { fill: none; stroke-dasharray: 4 3 }
.option { fill: #8a4600 } .new { fill: #0a5fb4 } .quiet { fill: #59636e }
.end { fill: #ddf4ff; stroke: #0a5fb4 } .arrow { fill: #eaeef2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .option { fill: #f0a35e } .new { fill: #79b8ff } .quiet { fill: #9aa4b0 }
.page { fill: #0d1117; stroke: #3d444d } .stage { fill: #161b22; stroke: #656c76 } .dashed { fill: none }
.end { fill: #12263f; stroke: #79b8ff } .arrow { fill: #212830 }
}
"""

Lines = list[tuple[str, str]]
"""Lines of text, each with its class."""

LEGEND: Lines = [
    ("+ a record that the stage makes", "new"),
    ("~ a record that it changes", "quiet"),
    ("the option that it depends on", "option"),
]


def lines_of(text: str, style: str) -> Lines:
    """A text in lines as wide as a box."""
    return [(line, style) for line in wrap(text, CHARACTERS, break_on_hyphens=False, break_long_words=False)]


def columns() -> list[list[Stage]]:
    """The stages by column."""
    begins = [number for number, stage in enumerate(STAGES) if stage.name in HEADS]
    assert [STAGES[number].name for number in begins] == list(HEADS), "HEADS names stages in their order"
    return [list(STAGES[begin:end]) for begin, end in zip(begins, [*begins[1:], None], strict=True)]


def handed_on(parts: list[list[Stage]], column: int) -> Lines:
    """The records that the stages up to a column make and later ones read."""
    made = [record for part in parts[: column + 1] for stage in part for record in stage.gives]
    read = {record for part in parts[column + 1 :] for stage in part for record in stage.reads}
    return [(record.__name__, "handed") for record in dict.fromkeys(made) if record in read]


def stage_box(stage: Stage, known: set[type]) -> tuple[str, Lines]:
    """The class and the lines of the box of a stage; records ``known`` before it are changed, others new."""
    lines = [(stage.name, "name"), *lines_of(stage.when.words, "option")]
    for mark, style, changed in (("+", "new", False), ("~", "quiet", True)):
        if names := [record.__name__ for record in stage.gives if (record in known) == changed]:
            lines += lines_of(f"{mark} {', '.join(names)}", style)
    known.update(stage.gives)
    return ("stage dashed" if stage.when.words else "stage", lines)


def put(x: float, y: float, lines: Lines) -> Iterator[str]:
    """Yield lines of text from ``y`` downwards."""
    for number, (line, style) in enumerate(lines, 1):
        yield f'<text class="{style}" x="{x}" y="{y + LINE * number - 3}">{escape(line, quote=False)}</text>'


def drawing() -> tuple[int, list[str]]:
    """Return the height of the image and its elements."""
    parts, known, body, bottoms = columns(), set[type](), list[str](), list[int]()
    names = [field.name for field in fields(Inputs)]
    inputs = [(Inputs.__name__, "name"), *lines_of(f"{', '.join(names)}; {len(RECORDS)} records of settings", "")]
    result = [(Outcome.__name__, "name"), *lines_of("run.save writes the result folder and the kept rows", "")]
    for column, (part, head) in enumerate(zip(parts, HEADS.values(), strict=True)):
        x, y = EDGE + column * (BOX + GUTTER), TOP
        body += put(x, TOP - 28, [(head, "head")])
        boxes = [stage_box(stage, known) for stage in part]
        boxes = [("end", inputs)] * (column == 0) + boxes + [("end", result)] * (column == len(parts) - 1)
        for number, (style, lines) in enumerate(boxes):
            height = len(lines) * LINE + 2 * PADDING
            if number:
                body.append(f'<path class="quiet" d="M{x + BOX // 2 - 4} {y - GAP + 3}h8l-4 7z"/>')
            body.append(f'<rect class="{style}" x="{x}" y="{y}" width="{BOX}" height="{height}" rx="4"/>')
            body += put(x + PADDING + 2, y + PADDING, lines)
            y += height + GAP
        bottoms.append(y)
        if records := handed_on(parts, column):
            left, right, high = x + BOX + 5, x + BOX + GUTTER - 4, len(records) * LINE + 10
            body.append(
                f'<path class="arrow" d="M{left} {TOP}H{right - 9}l9 {high // 2}l-9 {high - high // 2}H{left}z"/>'
            )
            body += put(left + 5, TOP + 5, records)
    height = max(bottoms) - GAP + EDGE
    body += put(EDGE + BOX + GUTTER, height - EDGE - len(LEGEND) * LINE, LEGEND)
    return height, body
