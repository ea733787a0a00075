"""Places in ascending arrays.

``np.searchsorted``, ``sum`` and the like are Python functions of Numba: a process that loads a kernel with one of
them imports Numba's library of array functions, and SciPy if it is there, for a quarter of a second.
"""

from __future__ import annotations

from neardup.kernels.compiled import njit


@njit(cache=True, nogil=True)
def first_at_least(values, least):
    """Return the first place in ``values`` (ascending) whose value is at least ``least``; their number if none is.

    >>> import numpy as np
    >>> first_at_least(np.array([2, 4, 4, 9]), 4), first_at_least(np.array([2, 4]), 5)
    (1, 2)
    """
    return first_within(values, 0, values.size, least)


@njit(cache=True, nogil=True)
def first_within(values, begin, end, least):
    """Return the first place in ``values[begin:end]`` (ascending) with a value from ``least`` on; or ``end``."""
    while begin < end:
        middle = (begin + end) // 2
        if values[middle] < least:
            begin = middle + 1
        else:
            end = middle
    return begin
