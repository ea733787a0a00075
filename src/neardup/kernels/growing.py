"""Arrays that grow: scratch that is replaced by a larger one, and output of unknown length."""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.sorting import copy_into


@njit(cache=True, nogil=True)
def room(scratch, needed):
    """Return ``scratch`` itself, or a larger array if it has fewer than ``needed`` elements."""
    if scratch.size >= needed:
        return scratch
    return np.empty(needed + needed // 2, scratch.dtype)


@njit(cache=True, nogil=True)
def append(out, used, values, n):
    """Append ``values[:n]`` to the ``used`` elements of ``out``, or of a larger copy of it; return the array."""
    if used + n > out.size:
        larger = np.empty((used + n) * 3 // 2 + 64, out.dtype)
        copy_into(larger, 0, out, used)
        out = larger
    copy_into(out, used, values, n)
    return out
