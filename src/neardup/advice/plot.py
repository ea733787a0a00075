"""``Advice`` as one SVG image: pairs by resemblance, and documents removed by threshold.

Self-contained: no script, no font, no link. Colours follow the reader's light or dark scheme. Every bar shows its
number, so no information depends on colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from neardup.advice.record import AdviceRecord
from neardup.advice.section import scale
from neardup.advice.sections import shingle_words
from neardup.display import counted, number, percent

WIDTH, PANEL, HEIGHT = 760, 240, 170
"""Width of the image, height of a panel, height of its longest bar."""

LEFT, TOP = 24, 92

STYLE = """
.neardup-advice { font: 13px system-ui, sans-serif }
.neardup-advice text { fill: #1c2733; text-anchor: middle }
.neardup-advice .left, .neardup-advice .head { text-anchor: start }
.neardup-advice .head { font-weight: bold }
.neardup-advice .small { font-size: 11px }
.neardup-advice .paper { fill: #ffffff }
.neardup-advice .bar { fill: #6f8fae }
.neardup-advice .marked { stroke: #9c3d00; stroke-width: 3 }
.neardup-advice .at { fill: #9c3d00; font-weight: bold }
.neardup-advice .axis { stroke: #1c2733 }
.neardup-advice .cut { stroke: #ffffff; stroke-width: 4 }
@media (prefers-color-scheme: dark) {
  .neardup-advice text { fill: #e8eaed }
  .neardup-advice .paper { fill: #16191d }
  .neardup-advice .bar { fill: #5f83a8 }
  .neardup-advice .marked { stroke: #ffb27a }
  .neardup-advice .at { fill: #ffb27a }
  .neardup-advice .axis { stroke: #e8eaed }
  .neardup-advice .cut { stroke: #16191d }
}
"""


@dataclass(frozen=True)
class Bars:
    """One panel: a heading, and bars with their label, number, share of the longest bar, and whether marked."""

    head: str
    axis: str
    bars: tuple[tuple[str, int, float, bool], ...]


def svg(advice: AdviceRecord) -> str:
    """Return the image as text."""
    near = advice.near
    panels = (_pairs(advice), _removed(advice))
    height = TOP + len(panels) * (PANEL + 40)
    asked = next(step for step in advice.thresholds if step.threshold == near.threshold)
    said = (
        f"At threshold {near.threshold:g}: {counted(asked.pairs, 'pair')}, {counted(asked.removed, 'document')} "
        f"removed ({percent(asked.removed, advice.sample.documents)}); {counted(near.above + near.below, 'pair')} "
        f"within {near.width:g} of the threshold."
    )
    title = f"Near copies among {counted(advice.sample.documents, 'document')}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="neardup-advice" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-labelledby="neardup-title neardup-desc">',
        f'<title id="neardup-title">{escape(title)}</title>',
        f'<desc id="neardup-desc">{escape(said)} {escape(_table(panels))}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        f'<text class="head" x="{LEFT}" y="30">{escape(title)}</text>',
        f'<text class="left" x="{LEFT}" y="52">{escape(said)}</text>',
    ]
    for k, panel in enumerate(panels):
        parts.extend(_panel(panel, TOP + k * (PANEL + 40)))
    return "\n".join([*parts, "</svg>", ""])


def _pairs(advice: AdviceRecord) -> Bars:
    bins, threshold = advice.histogram, advice.near.threshold
    shares = scale([part.pairs for part in bins], [part.low >= 0.5 for part in bins])
    return Bars(
        f"Pairs by resemblance (runs of {shingle_words(advice)}; exact copies are not counted)",
        "resemblance, from this to the next",
        tuple(
            (f"{part.low:g}", part.pairs, share, part.low <= threshold < part.high or part.low == threshold)
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
            (f"{step.threshold:g}", step.removed, share, step.threshold == advice.near.threshold)
            for step, share in zip(steps, shares, strict=True)
        ),
    )


def _table(panels: tuple[Bars, ...]) -> str:
    """Return the numbers of the image in words, for readers who cannot see it."""
    return " ".join(
        f"{panel.head}: " + ", ".join(f"{label}: {number(count)}" for label, count, _, _ in panel.bars) + "."
        for panel in panels
    )


def _panel(panel: Bars, top: int) -> Iterator[str]:
    step = (WIDTH - 2 * LEFT) / len(panel.bars)
    base = top + 40 + HEIGHT
    yield f'<text class="head" x="{LEFT}" y="{top + 4}">{escape(panel.head)}</text>'
    for k, (label, count, share, marked) in enumerate(panel.bars):
        x, tall = LEFT + k * step, HEIGHT * min(share, 1.0)
        tall = max(tall, 2.0) if count else 0.0
        middle, classes = x + step / 2, "bar marked" if marked else "bar"
        place = f'x="{x + 4:.1f}" y="{base - tall:.1f}" width="{step - 8:.1f}" height="{tall:.1f}"'
        yield f'<rect class="{classes}" {place}/>'
        if share > 1:
            low, high = base - HEIGHT / 2 + 5, base - HEIGHT / 2 - 5
            yield f'<line class="cut" x1="{x + 1:.1f}" y1="{low:.1f}" x2="{x + step - 1:.1f}" y2="{high:.1f}"/>'
        yield f'<text class="small" x="{middle:.1f}" y="{base - tall - 6:.1f}">{number(count)}</text>'
        at = ' class="at"' if marked else ""
        yield f'<text{at} x="{middle:.1f}" y="{base + 18}">{escape(label)}</text>'
    yield f'<line class="axis" x1="{LEFT}" y1="{base}" x2="{WIDTH - LEFT}" y2="{base}"/>'
    broken = "; a bar with a gap is longer than drawn" * any(share > 1 for _, _, share, _ in panel.bars)
    legend = f"{panel.axis}; framed: where the threshold is{broken}"
    yield f'<text class="small left" x="{LEFT}" y="{base + 36}">{legend}</text>'
