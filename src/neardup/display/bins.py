"""The intervals of a histogram of similarities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BARS = 40
"""Largest number of bars of a histogram."""
_STEPS = (100, 50, 40, 20, 10)
"""Bars in the range from 0 to 1, from fine to coarse."""


def bars(values: NDArray[np.floating[Any]], threshold: float) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Return the edges and the counts of a histogram from a little below the threshold up to 1.

    >>> edges, counts = bars(np.array([0.7, 0.95, 1.0]), 0.7)
    >>> edges[0], edges[-1], len(counts), sum(counts)
    (0.6, 1.0, 40, 3)
    """
    low = min(threshold, float(values.min(initial=1.0)))
    begin = max(0, int(low * 10 + 1e-9) - 1)  # in tenths, so that empty room below the line is seen
    step = next((step for step in _STEPS if step - begin * step // 10 <= BARS), _STEPS[-1])
    edges = np.arange(begin * step // 10, step + 1) / step
    counts, _ = np.histogram(values, edges)
    return tuple(edges.tolist()), tuple(counts.tolist())
