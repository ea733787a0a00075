"""Estimated shares with their 95 % intervals, and views of families and their estimates for a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from neardup.display import Line, number, similarity
from neardup.display.curves import ErrorBar, error_bars
from neardup.display.view import facts, heading, view
from neardup.intervals import wilson

_SHOWN = (0.1, 0.3, 0.5, 0.7, 0.9)
"""The resemblances whose intervals are drawn."""


def html(name: str, lines: list[Line], parameters: Mapping[str, Any], slots: int = 0) -> str:
    """Return a view of something with ``parameters``; with ``slots``, the intervals of its estimates, too."""
    made = [(key.replace("_", " "), _said(value)) for key, value in parameters.items()]
    return view(heading(name), facts([*lines, *made]), intervals(slots) if slots else "")


def intervals(slots: int) -> str:
    """Return the 95 % intervals of estimates from ``slots`` slots as a figure (Wilson 1927)."""
    bars = []
    for share in _SHOWN:
        found = wilson(round(share * slots) / slots, slots)
        bars.append(ErrorBar(f"estimate {share:g}", found.value, found.low, found.high))
    return error_bars(bars, f"How far estimates from {number(slots)} slots vary").figure()


def of_estimate(value: float, low: float, high: float, said: str) -> str:
    """Return a view of one estimate."""
    bar = ErrorBar("resemblance", value, low, high)
    return view(facts([("estimate", said)]), error_bars([bar], f"Estimate {similarity(value)}").figure())


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_said(part)}" for key, part in value.items())
    return number(value) if isinstance(value, int) else str(value)


@dataclass(frozen=True)
class Estimate:
    """An estimated share with its 95 % Wilson interval, from ``slots`` slots (or from the unit in ``counted``).

    ``float()``, ``format()`` and <, <=, > and >= (with numbers and other estimates) use its ``value``. Two
    estimates are equal if all fields are equal.

    >>> estimate(138, 200) > 0.6, f"{estimate(138, 200):.2f}", float(estimate(1, 2))
    (True, '0.69', 0.5)
    """

    value: float
    low: float
    high: float
    slots: int
    counted: str = "slots"

    def __str__(self) -> str:
        value, low, high = map(similarity, (self.value, self.low, self.high))
        return f"{value} (95 % interval {low}–{high}, {self.slots} {self.counted})"

    def _repr_html_(self) -> str:
        return of_estimate(self.value, self.low, self.high, str(self))

    def __format__(self, form: str) -> str:
        return format(self.value, form) if form else str(self)

    def __float__(self) -> float:
        return float(self.value)

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other) if isinstance(other, Estimate | Real) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.value <= float(other) if isinstance(other, Estimate | Real) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other) if isinstance(other, Estimate | Real) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.value >= float(other) if isinstance(other, Estimate | Real) else NotImplemented


def estimate(matches: int, slots: int) -> Estimate:
    """Return the estimate for ``matches`` equal slots (Wilson 1927; conservative for one-permutation).

    >>> print(estimate(138, 200))
    0.690 (95 % interval 0.622–0.750, 200 slots)
    """
    found = wilson(matches / slots, slots)
    return Estimate(found.value, found.low, found.high, slots)
