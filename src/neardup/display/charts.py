"""Bars: a histogram of similarities with its numbers as a table, and a row of labelled columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neardup.display.svg import Picture, path, rect, text
from neardup.display.view import part
from neardup.display.words import counted, number, similarity

if TYPE_CHECKING:
    import numpy as np
    from markupsafe import Markup
    from numpy.typing import NDArray

WIDTH, HEIGHT = 560, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 12, 12, 54, 28
LEAST = 2.0
"""Height of the smallest bar that is not zero: one pair is visible beside a million."""
Noun = tuple[str, str]
PAIR: Noun = ("pair", "pairs")
BARS = 40
"""Largest number of bars of a histogram."""
_STEPS = (100, 50, 40, 20, 10)
"""Bars in the range from 0 to 1, from fine to coarse."""


def bars(values: NDArray[np.floating[Any]], threshold: float) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Return the edges and the counts of a histogram from a little below the threshold up to 1.

    >>> import numpy as np
    >>> edges, counts = bars(np.array([0.7, 0.95, 1.0]), 0.7)
    >>> edges[0], edges[-1], len(counts), sum(counts)
    (0.6, 1.0, 40, 3)
    """
    import numpy as np  # here, so that plans need no numerics

    low = min(threshold, float(values.min(initial=1.0)))
    begin = max(0, int(low * 10 + 1e-9) - 1)  # in tenths, so that empty room below the line is seen
    step = next((step for step in _STEPS if step - begin * step // 10 <= BARS), _STEPS[-1])
    edges = np.arange(begin * step // 10, step + 1) / step
    counts, _ = np.histogram(values, edges)
    return tuple(edges.tolist()), tuple(counts.tolist())


@dataclass(frozen=True)
class Histogram:
    """Counts in intervals: ``edges`` has one value more than ``counts``; the last interval includes its end.

    ``line`` is the threshold. Raises ValueError if the lengths do not fit.
    """

    edges: Sequence[float]
    counts: Sequence[int]
    line: float | None
    measure: str
    noun: Noun = PAIR

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.counts) + 1:
            raise ValueError("edges has one value more than counts")

    @property
    def title(self) -> str:
        """The title of the picture."""
        return f"{self.noun[1].capitalize()} by {self.measure}"

    @property
    def said(self) -> str:
        """The picture in words."""
        total = sum(self.counts)
        if not total:
            return f"There are no {self.noun[1]}."
        highest = max(range(len(self.counts)), key=lambda bar: self.counts[bar])
        words = (
            f"{counted(total, *self.noun)} in {len(self.counts)} intervals; most, {number(self.counts[highest])}, "
        )
        words += f"from {short(self.edges[highest])} to {short(self.edges[highest + 1])}."
        return words + (f" The line is the threshold, {self.line:g}." if self.line is not None else "")

    def picture(self) -> Picture:
        """Return bars, a line at the threshold, and the scale."""
        return Picture(WIDTH, HEIGHT, self.title, self.said, tuple(self._parts()))

    def figure(self) -> Markup:
        """Return the picture as a figure with its numbers as a table."""
        return self.picture().figure(self._table())

    def _across(self, value: float) -> float:
        span = (self.edges[-1] - self.edges[0]) or 1.0
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (value - self.edges[0]) / span

    def _parts(self) -> Iterator[str]:
        floor, most = HEIGHT - _BOTTOM, max(1, *self.counts, 1)
        for begin, end, count in zip(self.edges, self.edges[1:], self.counts, strict=False):
            if count:
                tall = max(LEAST, (floor - _TOP) * count / most)
                left, wide = self._across(begin) + 0.5, max(0.5, self._across(end) - self._across(begin) - 1)
                is_below = self.line is not None and end <= self.line
                yield rect(left, floor - tall, wide, tall, "below" if is_below else "bar")
        yield path(f"M{_LEFT} {floor}H{WIDTH - _RIGHT}", "axis")
        low, high = self.edges[0], self.edges[-1]
        for value in ticks(low, high):
            anchor = "start" if value == low else "end" if value == high else "middle"
            yield text(round(self._across(value), 2), HEIGHT - 8, short(value), anchor)
        yield from self._marked_line(floor)
        yield text(_LEFT, 16, f"highest bar: {counted(max(self.counts, default=0), *self.noun)}")

    def _marked_line(self, floor: float) -> Iterator[str]:
        if self.line is None or not self.edges[0] <= self.line <= self.edges[-1]:
            return
        x = self._across(self.line)
        side = "start" if x < WIDTH / 2 else "end"
        beside = x + 5 if side == "start" else x - 5
        yield path(f"M{x:.2f} {_TOP - 10}V{floor}", "line")
        yield text(round(beside, 2), _TOP - 12, f"threshold {self.line:g}", side, "named")

    def _table(self) -> Markup:
        lines = [
            (f"{short(begin)} to {short(end)}", number(count))
            for begin, end, count in zip(self.edges, self.edges[1:], self.counts, strict=False)
        ]
        return part("numbers", "chart", self.title, ("From, to", self.noun[1].capitalize()), lines)


@dataclass(frozen=True)
class ChartBar:
    """A bar with its label and number; ``share`` of the tallest, above 1 for one that is cut; framed if marked."""

    label: str
    count: int
    share: float
    marked: bool


def columns(bars: Sequence[ChartBar], left: float, right: float, base: float, tall: float) -> Iterator[str]:
    """Yield the elements of columns between ``left`` and ``right``, on a line at ``base``, at most ``tall``."""
    step = (right - left) / max(len(bars), 1)
    for place, bar in enumerate(bars):
        x, up = left + place * step, tall * min(bar.share, 1.0)
        up = max(up, LEAST) if bar.count else 0.0
        yield rect(x + 4, base - up, step - 8, up, "bar marked" if bar.marked else "bar")
        if bar.share > 1:
            low, high = base - tall / 2 + 5, base - tall / 2 - 5
            yield path(f"M{x + 1:.1f} {low:.1f}L{x + step - 1:.1f} {high:.1f}", "cut")
        yield text(round(x + step / 2, 1), round(base - up - 6, 1), number(bar.count), "middle", "small")
        kind = "named at" if bar.marked else "at"
        yield text(round(x + step / 2, 1), base + 18, bar.label, "middle", kind)
    yield path(f"M{left} {base}H{right}", "axis")


def ticks(low: float, high: float) -> list[float]:
    """Return the values to label: round ones from ``low`` to ``high``.

    >>> ticks(0.6, 1.0), ticks(0.1, 1.0)
    ([0.6, 0.7, 0.8, 0.9, 1.0], [0.2, 0.4, 0.6, 0.8, 1.0])
    """
    step = 1 if high - low <= 0.6 else 2
    return [tenth / 10 for tenth in range(0, 11, step) if low - 1e-9 <= tenth / 10 <= high + 1e-9]


def short(value: float) -> str:
    """Return an edge with three digits or fewer.

    >>> short(0.7), short(0.725), short(1)
    ('0.7', '0.725', '1')
    """
    return similarity(value + 1e-9).rstrip("0").rstrip(".")
