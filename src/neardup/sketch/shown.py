"""Families and signatures as HTML for a notebook: how they are made, and how far their estimates vary."""

from __future__ import annotations

from collections.abc import Mapping
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
