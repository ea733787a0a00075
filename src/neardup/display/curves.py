"""The S-curve of bands with its two areas of error, estimates with error bars, and the heat map of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neardup.display.charts import short
from neardup.display.svg import Picture, circle, path, rect, text, through
from neardup.display.view import part
from neardup.display.words import middle_cut, number, shorten, similarity

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT = 560, 352
_LEFT, _RIGHT, _TOP, _FLOOR = 48, 20, 40, 250
_MISSED, _IN_VAIN = 'fill-opacity="0.8"', 'fill-opacity="0.6"'
STEPS = 200
"""Straight pieces of the curve; also the steps of the integrals."""
_TENTHS = tuple(tenth / 10 for tenth in range(11))
SCALES = (0.2, 0.4, 1.0)
"""Upper ends of the scale of error bars, so that low values fill it too."""

_LINES = ("curve", "span", "line")
"""The kinds of up to three lines in one picture: they differ in width and dashes, too."""


@dataclass(frozen=True)
class SCurve:
    """The probability that a pair becomes a candidate, as a function of its similarity, both from 0 to 1.

    Left of the ``threshold`` the area under the curve are pairs compared in vain, right of it the area above the
    curve are pairs missed (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, section 3.4.2). ``pairs``
    are names and similarities of pairs that are marked on the curve.
    """

    probability: Callable[[float], float]
    threshold: float | None
    says: str
    pairs: Sequence[tuple[str, float]] = ()

    @property
    def in_vain(self) -> float:
        """The area under the curve from 0 to the threshold."""
        return 0.0 if self.threshold is None else _area(self.probability, 0.0, self.threshold)

    @property
    def missed(self) -> float:
        """The area above the curve from the threshold to 1."""
        if self.threshold is None:
            return 0.0
        return (1.0 - self.threshold) - _area(self.probability, self.threshold, 1.0)

    @property
    def said(self) -> str:
        """The picture in words."""
        values = ", ".join(f"{similarity(self.probability(share))} at {short(share)}" for share in _TENTHS[3:10])
        words = f"{self.says}. The probability to become a candidate is {values}."
        if self.pairs:
            own = (f"{name} {similarity(self.probability(of))} at {similarity(of)}" for name, of in self.pairs)
            words += f" Of the pairs here: {', '.join(own)}."
        if self.threshold is None:
            return words
        return (
            f"{words} At the threshold, {self.threshold:g}, it is "
            f"{similarity(self.probability(self.threshold), 4)}. "
            f"Area of pairs missed: {similarity(self.missed, 4)}; of pairs compared in vain: "
            f"{similarity(self.in_vain, 4)}."
        )

    def picture(self) -> Picture:
        """Return the curve, the two areas, and the threshold."""
        height = HEIGHT if self.threshold is not None else _FLOOR + 50
        return Picture(WIDTH, height, "Probability to become a candidate", self.said, tuple(self._parts()))

    def figure(self) -> Markup:
        """Return the picture as a figure with its numbers as a table."""
        return self.picture().figure(self._table())

    def _parts(self) -> Iterator[str]:
        for level in (0.5, 1.0):
            yield path(f"M{_LEFT} {_down(level):.1f}H{WIDTH - _RIGHT}", "axis", 'stroke-dasharray="1 4"')
        for level in (0.0, 0.5, 1.0):
            yield text(_LEFT - 6, round(_down(level) + 5, 1), short(level), "end")
        yield text(_LEFT - 30, 26, "probability")
        if self.threshold is not None:
            yield from self._areas(self.threshold)
        yield path(through(self._points(0.0, 1.0)), "curve")
        for name, of in self.pairs:
            x, y = round(_across(of), 2), round(_down(self.probability(of)), 2)
            yield circle(x, y, 4.5, "bar")
            yield text(x + 8, y + 5, name, kind="named")
        yield path(f"M{_LEFT} {_FLOOR}H{WIDTH - _RIGHT}", "axis")
        for tenth in _TENTHS[::2]:
            yield text(round(_across(tenth), 1), _FLOOR + 18, short(tenth), "middle")
        yield text(WIDTH - _RIGHT, _FLOOR + 36, "similarity of the pair", "end")

    def _areas(self, threshold: float) -> Iterator[str]:
        left, right = self._points(0.0, threshold), self._points(threshold, 1.0)
        floor, ceiling = [(_across(threshold), _FLOOR), (_across(0.0), _FLOOR)], [(_across(1.0), _down(1.0))]
        yield path(through([*left, *floor]) + "Z", "below", _IN_VAIN)
        yield path(through([*right, *ceiling, (_across(threshold), _down(1.0))]) + "Z", "loss", _MISSED)
        x = _across(threshold)
        side = "start" if x < WIDTH / 2 else "end"
        yield path(f"M{x:.2f} {_TOP - 10}V{_FLOOR}", "line")
        yield text(round(x + (5 if side == "start" else -5), 1), 26, f"threshold {threshold:g}", side, "named")
        reached = self.probability(threshold)
        yield circle(x, _down(reached), 4.5, "dot")
        yield rect(_LEFT, _FLOOR + 52, 14, 12, "loss", _MISSED)
        yield text(
            _LEFT + 22, _FLOOR + 63, f"missed, although at or above the threshold ({similarity(self.missed, 4)})"
        )
        yield rect(_LEFT, _FLOOR + 74, 14, 12, "below", _IN_VAIN)
        yield text(
            _LEFT + 22, _FLOOR + 85, f"compared in vain, below the threshold ({similarity(self.in_vain, 4)})"
        )

    def _points(self, low: float, high: float) -> list[tuple[float, float]]:
        places = (low + (high - low) * step / STEPS for step in range(STEPS + 1))
        return [(_across(share), _down(self.probability(share))) for share in places]

    def _table(self) -> Markup:
        lines = [(short(share), similarity(self.probability(share), 4)) for share in _TENTHS]
        return part("numbers", "curve", "Probability to become a candidate", ("Similarity", "Probability"), lines)


@dataclass(frozen=True)
class CountCurves:
    """Counts at ascending ``thresholds``, a line each by its name; ``chosen`` is a threshold to mark."""

    thresholds: Sequence[float]
    counts: Mapping[str, Sequence[int]]
    chosen: float

    def picture(self) -> Picture:
        """Return the lines over the thresholds, with a legend that has the counts at the marked one."""
        return Picture(WIDTH, _FLOOR + 64, "Counts at each threshold", self._description(), tuple(self._parts()))

    def _nearest(self) -> int:
        distances = [abs(threshold - self.chosen) for threshold in self.thresholds]
        return distances.index(min(distances))

    def _description(self) -> str:
        place = self._nearest()
        there = ", ".join(f"{number(counts[place])} {name}" for name, counts in self.counts.items())
        return f"At {similarity(self.thresholds[place])}: {there}."

    def _parts(self) -> Iterator[str]:
        low, high = self.thresholds[0], self.thresholds[-1]
        most = max(1, *(max(counts) for counts in self.counts.values()))

        def across(threshold: float) -> float:
            return _across((threshold - low) / (high - low) if high > low else 0.0)

        for share in (0.0, 0.5, 1.0):
            yield path(
                f"M{_LEFT} {_down(share):.1f}H{WIDTH - _RIGHT}", "axis", 'stroke-dasharray="1 4"' if share else ""
            )
        yield text(_LEFT, _TOP - 8, f"at most {number(most)}")
        place = self._nearest()
        x = across(self.thresholds[place])
        yield path(f"M{x:.2f} {_TOP}V{_FLOOR}", "axis")
        for kind, counts in zip(_LINES, self.counts.values(), strict=False):
            points = zip(self.thresholds, counts, strict=True)
            yield path(through([(across(threshold), _down(count / most)) for threshold, count in points]), kind)
            yield circle(x, _down(counts[place] / most), 4.5, "dot")
        for threshold, side in ((low, "start"), (high, "end")):
            yield text(round(across(threshold), 1), _FLOOR + 18, short(threshold), side)
        begin = float(_LEFT)
        for kind, name in zip(_LINES, self.counts, strict=False):
            yield path(f"M{begin:g} {_FLOOR + 42}h28", kind)
            yield text(begin + 36, _FLOOR + 47, name)
            begin += 170


def _across(value: float) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * value


def _down(value: float) -> float:
    return _FLOOR - (_FLOOR - _TOP) * value


def _area(curve: Callable[[float], float], low: float, high: float) -> float:
    """Return the integral by Simpson's rule."""
    step = (high - low) / STEPS
    inner = sum((4 if place % 2 else 2) * curve(low + place * step) for place in range(1, STEPS))
    return step / 3 * (curve(low) + inner + curve(high))


@dataclass(frozen=True)
class ErrorBar:
    """A value with its interval, from 0 to 1, under a label; ``exact`` is the true value where it is known."""

    label: str
    value: float
    low: float
    high: float
    exact: float | None = None

    @property
    def numbers(self) -> str:
        """The value and its interval as text."""
        return f"{similarity(self.value)} ({similarity(self.low)}–{similarity(self.high)})"


def error_bars(bars: Sequence[ErrorBar], title: str, says: str = "") -> Picture:
    """Return the values with their intervals, a line each, all on one scale."""
    top = next(top for top in SCALES if top >= min(max((bar.high for bar in bars), default=1.0), 1.0))
    left, right, height = 175.0, 425.0, 44.0 + 26 * len(bars)
    exact = any(bar.exact is not None for bar in bars)

    def across(value: float) -> float:
        return left + (right - left) * min(max(value, 0.0), top) / top

    parts = []
    for quarter in range(5):
        x = across(quarter * top / 4)
        parts.append(path(f"M{x:.1f} 26V{height - 14:.1f}", "axis", 'stroke-opacity="0.5"'))
        parts.append(text(round(x, 1), 18, short(quarter * top / 4), "middle"))
    for place, bar in enumerate(bars):
        y = 46.0 + 26 * place
        low, high = across(bar.low), across(bar.high)
        parts.append(text(left - 14, y + 5, shorten(bar.label, 16), "end"))
        parts.append(
            path(f"M{low:.1f} {y}H{high:.1f}M{low:.1f} {y - 6}V{y + 6}M{high:.1f} {y - 6}V{y + 6}", "span")
        )
        if bar.exact is not None:
            parts.append(path(f"M{across(bar.exact):.1f} {y - 9}V{y + 9}", "curve"))
        parts.append(circle(across(bar.value), y, 4.5, "dot"))
        parts.append(text(right + 12, y + 5, bar.numbers))
    listed = "; ".join(
        f"{bar.label}: {bar.numbers}" + ("" if bar.exact is None else f", exact {similarity(bar.exact)}")
        for bar in bars
    )
    legend = "The dot is the estimate, the bar its 95 % interval" + ", the line the exact value" * exact
    return Picture(640, height, title, f"{says and says + ' '}{legend}. {listed}.", tuple(parts))


def heat_map(
    labels: Sequence[str], values: Sequence[Sequence[float | None]], title: str, says: str = ""
) -> Picture:
    """Return a square of cells, the darker the more similar; None is a pair without a stored value."""
    n, left = len(labels), 150.0
    cell = min(44.0, (WIDTH - left - 8) / max(n, 1))
    top = 30.0
    parts = []
    for row, label in enumerate(labels):
        middle = top + (row + 0.5) * cell
        parts.append(text(left - 8, round(middle + 5, 1), middle_cut(f"{row + 1}: {label}", 16), "end"))
        parts.append(text(round(left + (row + 0.5) * cell, 1), top - 8, str(row + 1), "middle", "small"))
        for column, value in enumerate(values[row]):
            x, y = left + column * cell, top + row * cell
            shade = 0.0 if value is None else 0.06 + 0.42 * value * value
            frame = f'fill-opacity="{shade:.3f}" stroke="currentColor" stroke-opacity="0.25"'
            parts.append(rect(x, y, cell, cell, "bar", frame))
            if cell >= 36:  # room for 0.000
                words = "–" if value is None else similarity(value)
                parts.append(text(round(x + cell / 2, 1), round(middle + 4, 1), words, "middle", "small"))
    others = [
        (value, row, column)
        for row in range(n)
        for column, value in enumerate(values[row][:row])
        if value is not None
    ]
    words = f"{says and says + ' '}{n} documents in {len(others)} pairs with a known similarity."
    if others:
        ends = (("Least", min(others)), ("Most", max(others)))
        words += "".join(
            f" {end} alike: {labels[row]} and {labels[column]}, {similarity(value)}."
            for end, (value, row, column) in ends
        )
    return Picture(max(left + n * cell + 8, 300.0), top + n * cell + 8, title, words, tuple(parts))


__all__ = ["ErrorBar", "SCurve", "error_bars", "heat_map"]
