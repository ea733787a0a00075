"""Make the drawn images: a comparison, the shingles of two texts, curves, the stages (ARCHITECTURE.md)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from itertools import groupby, zip_longest
from pathlib import Path

import neardup as nd
import stage_image
from neardup.cli.demo_documents import documents_path
from neardup.comparison.alignment import Piece, Row

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
MEMOS = tuple(ROOT / "tests" / "golden" / f"memo_{side}.txt" for side in "ab")

COLUMN = 52
"""Characters in a line of each text."""
CHARACTER, LINE, EDGE = 7.8, 20, 16
GUTTER = 3
"""Characters between the edge, the mark in the margin and the text."""
SHOWN_EQUAL = 2
"""Equal rows shown at either end of a longer stretch."""

TITLE = "Two versions of a memo, side by side"
DESCRIPTION = (
    "neardup compare shows two versions of a memo in two columns. Equal paragraphs are opposite each other and "
    "numbered as matches. Match 1 is marked as moved: it is further down in B. Words that are only in A are red "
    "with a line through them, words that are only in B green and underlined, for example 1200 and 1300."
)

STYLE = """\
.page { fill: #ffffff; stroke: #d0d7de }
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre }
.head { font-weight: bold }
.quiet { fill: #59636e }
.rule { stroke: #d0d7de }
.only_a { fill: #b3202a; text-decoration: line-through }
.only_b { fill: #11632a; text-decoration: underline }
.moved { fill: #0a5fb4 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117; stroke: #3d444d }
text { fill: #e6edf3 }
.quiet { fill: #9aa4b0 }
.rule { stroke: #3d444d }
.only_a { fill: #ff8a84 }
.only_b { fill: #5fd37a }
.moved { fill: #79b8ff }
}
"""

MARGIN = {"changed": "-+", "only_a": "- ", "only_b": " +", "moved_a": "~ ", "moved_b": " ~"}

Line = list[tuple[str, str]]
"""Words with the class of each; white space belongs to the word before it."""


def fragments(text: str, piece: Piece, side: int) -> Iterator[tuple[str, str]]:
    """Yield the words of a piece, each with its class."""
    if piece.opens:
        yield f"[{piece.match}]\u00a0", "quiet"
    style = {"changed": ("only_a", "only_b")[side], "moved": "moved"}.get(piece.kind, "")
    words = text[piece.begin : piece.end].split(" ")
    for number, word in enumerate(words):
        yield word + " " * (number + 1 < len(words)), style


def lines_of(text: str, pieces: tuple[Piece, ...], side: int) -> list[Line]:
    """Return one side of a row, cut into lines."""
    joined: list[Line] = []
    lines: list[Line] = [[]]
    begun = False  # whether the last word may go on
    for piece in pieces:
        for word, style in fragments(text, piece, side):
            flat = word.replace("\n", " ")
            if begun and joined and flat.strip():
                joined[-1].append((flat, style))
            else:
                joined.append([(flat, style)])
            begun = not flat.endswith(" ")
    for word in joined:
        size = sum(len(part.rstrip(" ")) for part, _ in word)
        if lines[-1] and sum(len(part) for part, _ in lines[-1]) + size > COLUMN:
            lines.append([])
        if size or lines[-1]:
            lines[-1] += word
    return [line for line in lines if "".join(part for part, _ in line).strip()]


def tspans(line: Line) -> str:
    """Return a line as SVG; neighbours of one class are one element."""
    content = ""
    for style, words in groupby(line, key=lambda part: part[1]):
        text = "".join(part for part, _ in words)
        solid = text.rstrip(" ")
        shown = escape(solid, quote=False)
        content += f'<tspan class="{style}">{shown}</tspan>' if style and solid else shown
        content += text[len(solid) :]
    return content.rstrip(" ")


def rows_shown(rows: tuple[Row, ...]) -> Iterator[Row | int]:
    """Yield the rows that differ, some equal ones next to them, and the number of those left out between."""
    for equal, group in groupby(rows, key=lambda row: row.kind == "equal"):
        stretch = list(group)
        hidden = len(stretch) - 2 * SHOWN_EQUAL
        if not equal or hidden < 2:
            yield from stretch
        else:
            yield from (*stretch[:SHOWN_EQUAL], hidden, *stretch[-SHOWN_EQUAL:])


def picture() -> str:
    """Return the image."""
    texts = [path.read_text(encoding="utf-8") for path in MEMOS]
    found = nd.compare(*texts)
    left = [EDGE, EDGE + (COLUMN + 2 * GUTTER) * CHARACTER]
    width = round(left[1] + (COLUMN + GUTTER) * CHARACTER + EDGE)
    body: list[str] = []
    y = EDGE + LINE

    def put(x: float, content: str, style: str = "") -> None:
        name = f' class="{style}"' if style else ""
        body.append(f'<text{name} x="{x:g}" y="{y}">{content}</text>')

    for side, letter in enumerate("AB"):
        put(left[side] + GUTTER * CHARACTER, f"{letter}  memo_{letter.lower()}.txt", "head")
    rule = y + LINE // 2
    y += 2 * LINE - 4
    for row in rows_shown(found.alignment.rows):
        if isinstance(row, int):
            put(left[0] + GUTTER * CHARACTER, f"··· {row} equal rows ···", "quiet")
            y += LINE
            continue
        sides = [lines_of(texts[0], row.a, 0), lines_of(texts[1], row.b, 1)]
        marks = MARGIN.get(row.kind, "  ")
        for pair in zip_longest(*sides):
            for side, line in enumerate(pair):
                if line is not None:
                    if marks[side] != " ":
                        put(left[side], marks[side], "quiet")
                    put(left[side] + GUTTER * CHARACTER, tspans(line))
            y += LINE
        y += LINE // 3
    height = y
    middle = round(left[1] - GUTTER * CHARACTER / 2)
    rules = f'<path class="rule" d="M{EDGE} {rule}H{width - EDGE}M{middle} {EDGE}V{height - EDGE}"/>'
    return frame(width, height, TITLE, DESCRIPTION, STYLE, [rules, *body])


def frame(width: int, height: int, title: str, description: str, style: str, body: list[str]) -> str:
    """Return an image of a page with these elements, and words for those who do not see it."""
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-labelledby="title description">',
            f'<title id="title">{title}</title>',
            f'<desc id="description">{description}</desc>',
            f"<style>\n{style}</style>",
            f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
            *body,
            "</svg>\n",
        )
    )


NOTICES = (
    "The harbour office is closed on Friday because of the storm",
    "The harbour office is closed on Monday because of the storm",
)
"""Two texts whose shingles are few enough for a picture."""
SHINGLES_TITLE = "The shingles of two texts"


def shingles() -> str:
    """Return the image of the shingles of two texts: those of one, of both, and of the other."""
    one, other = (nd.shingles(text, length=3) for text in NOTICES)
    columns = [
        ("only in A", one - other, "only_a"),
        ("in both", one & other, ""),
        ("only in B", other - one, "only_b"),
    ]
    step, rows = 28 * CHARACTER, max(len(held) for _, held, _ in columns)
    width, height = round(2 * EDGE + 3 * step), 2 * EDGE + (rows + 6) * LINE
    share = nd.jaccard(*NOTICES, length=3)
    lines = [
        *(
            f'<text x="{EDGE}" y="{EDGE + (n + 1) * LINE}">{"AB"[n]}  {text}</text>'
            for n, text in enumerate(NOTICES)
        ),
        f'<path class="rule" d="M{EDGE} {EDGE + 2.6 * LINE:g}H{width - EDGE}"/>',
    ]
    for number, (head, held, style) in enumerate(columns):
        x, y = EDGE + number * step, EDGE + 3.8 * LINE
        lines.append(f'<text class="head" x="{x:g}" y="{y:g}">{head}: {len(held)}</text>')
        for place, shingle in enumerate(sorted(held), 1):
            lines.append(f'<text x="{x:g}" y="{y + place * LINE:g}">{tspans([(shingle, style)])}</text>')
    counts = f"{len(one & other)} / ({len(one)} + {len(other)} \u2212 {len(one & other)})"
    result = f"resemblance = in both / in either = {counts} = {share:.3f}"
    lines.append(f'<text class="head" x="{EDGE}" y="{height - EDGE}">{result}</text>')
    description = (
        "Two notices of eleven words that differ in one. Of their shingles of three words, "
        f"{len(one & other)} are in both, and {len(one - other)} in each alone. {result}."
    )
    style = STYLE.replace("text-decoration: line-through", "").replace("text-decoration: underline", "")
    return frame(width, height, SHINGLES_TITLE, description, style, lines)


def main() -> int:
    """Write the images; with --check only report which are out of date."""
    status = 0
    height, stages = stage_image.drawing()
    texts = stage_image.TITLE, stage_image.DESCRIPTION, stage_image.STYLE
    images = {
        "comparison.svg": picture(),
        "plan.svg": nd.plan(threshold=0.8, recall=0.9).svg(),
        "shingles.svg": shingles(),
        "thresholds.svg": nd.advise(documents_path()).svg(),
        "stages.svg": frame(stage_image.WIDTH, height, *texts, stages),
    }
    for name, image in images.items():
        path = IMAGES / name
        if path.exists() and path.read_text(encoding="utf-8") == image:
            continue
        if "--check" in sys.argv:
            print(f"out of date: {name}; run scripts/docs")
            status = 1
            continue
        IMAGES.mkdir(exist_ok=True)
        path.write_text(image, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
