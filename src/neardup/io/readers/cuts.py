"""Cut rows into runs of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def cut_by_bytes(lengths: Any, chunk_bytes: int) -> Iterator[int]:
    """Yield the ends of runs of at most ``chunk_bytes`` each; a longer item is a run of its own."""
    totals = np.cumsum(lengths)
    start, before = 0, 0
    while start < len(totals):
        fits = int(np.searchsorted(totals, before + chunk_bytes, side="right"))
        start = max(fits, start + 1)
        before = int(totals[start - 1])
        yield start
