"""The runs of a longest common subsequence of two whole sequences, by the kernel that aligns parts of texts."""

from __future__ import annotations

import numpy as np

from neardup.kernels.match.alignment import runs_in_order
from neardup.tables import Int32s, Int64s


def subsequence_runs(a: Int32s, b: Int32s) -> Int64s:
    """Return the runs (int64[r, 3]) of a longest common subsequence of ``a`` and ``b``."""
    names = 1 + int(max(a.max(initial=-1), b.max(initial=-1)))
    runs = np.empty((min(a.size, b.size), 3), np.int64)
    found: Int64s = runs[: runs_in_order(a, b, np.full(names, -1, np.int32), runs)]
    return found
