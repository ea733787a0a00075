"""Estimated shares with their 95 % intervals."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

from neardup.display import similarity
from neardup.intervals import wilson
from neardup.sketch.shown import of_estimate


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


__all__ = ["Estimate", "estimate"]
