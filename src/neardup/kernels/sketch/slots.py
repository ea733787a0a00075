"""Signatures made of slots: the number of equal slots of a pair."""

from __future__ import annotations

from neardup.kernels.compiled import njit


@njit(cache=True, nogil=True)
def equal_slots(ours, theirs, rows, out):
    """``out[k]`` (int64[m]) = number of equal slots of ``ours[rows[k, 0]]`` and ``theirs[rows[k, 1]]``.

    ``ours``, ``theirs`` are [n, slots] of one integer type; ``rows`` int64[m, 2].
    """
    for k in range(rows.shape[0]):
        a, b = rows[k, 0], rows[k, 1]
        equal = 0
        for slot in range(ours.shape[1]):
            equal += ours[a, slot] == theirs[b, slot]
        out[k] = equal
