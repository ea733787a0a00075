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
    low, high = 0, values.size
    while low < high:
        middle = (low + high) // 2
        if values[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low
