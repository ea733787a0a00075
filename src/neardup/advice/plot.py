"""``Advice`` as one picture: pairs by resemblance, and documents removed by threshold.

Every bar shows its number, so no information depends on colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neardup.advice.record import AdviceRecord
from neardup.advice.section import scale
from neardup.advice.sections import shingle_words
from neardup.display import counted, number, percent
from neardup.display.charts import ChartBar, columns
from neardup.display.svg import Picture, text

WIDTH, PANEL, HEIGHT = 760, 240, 170
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
    asked = next(step for step in advice.thresholds if step.threshold == near.threshold)
    said = (
        f"At threshold {near.threshold:g}: {counted(asked.pairs, 'pair')}, {counted(asked.removed, 'document')} "
        f"removed ({percent(asked.removed, advice.sample.documents)}); {counted(near.above + near.below, 'pair')} "
        f"within {near.width:g} of the threshold."
    )
    title = f"Near copies among {counted(advice.sample.documents, 'document')}"
    parts = [text(LEFT, 30, title, kind="named head"), text(LEFT, 52, said)]
    for k, panel in enumerate(panels):
        parts.extend(_panel(panel, TOP + k * (PANEL + 40)))
    return Picture(WIDTH, TOP + len(panels) * (PANEL + 40), title, f"{said} {_table(panels)}", tuple(parts))


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


def _table(panels: tuple[Bars, ...]) -> str:
    """Return the numbers of the image in words, for readers who cannot see it."""
    return " ".join(
        f"{panel.head}: " + ", ".join(f"{bar.label}: {number(bar.count)}" for bar in panel.bars) + "."
        for panel in panels
    )


def _panel(panel: Bars, top: int) -> Iterator[str]:
    base = top + 40 + HEIGHT
    yield text(LEFT, top + 4, panel.head, kind="named")
    yield from columns(panel.bars, LEFT, WIDTH - LEFT, base, HEIGHT)
    broken = "; a bar with a gap is longer than drawn" * any(bar.share > 1 for bar in panel.bars)
    yield text(LEFT, base + 36, f"{panel.axis}; bold and framed: where the threshold is{broken}", kind="small")
