"""The text at stake in groups: the bytes of text that removed documents take with them."""

from __future__ import annotations

import numpy as np

from neardup.tables import Bools, Int64s


def lost_bytes(
    removed: Bools, lost: Int64s, shingles: Int64s, size: Int64s, group: Int64s, text: Int64s
) -> Int64s:
    """Return the bytes lost with each member of a group; arrays have one entry a member.

    They are the ``size`` of a removed member times the share of its ``shingles`` that is ``lost``, rounded. Of
    exact copies, which have the same ``text``, the first in a group counts. Documents that stay lose nothing;
    where the lost shingles are unknown (−1) nothing is counted, and a sum is a lower bound.

    >>> one = np.ones(4, np.int64)
    >>> lost_bytes(one > 0, np.array([1, 1, 2, -1]), 4 * one, 100 * one, 0 * one, np.array([5, 5, 6, 7])).tolist()
    [25, 0, 50, 0]
    """
    losing = np.flatnonzero(removed & (lost > 0) & (shingles > 0))
    keys = group[losing] * (int(text.max(initial=0)) + 1) + text[losing]
    _, first = np.unique(keys, return_index=True)
    counted = losing[first]
    found = np.zeros(len(removed), np.int64)
    found[counted] = np.round(size[counted] * (lost[counted] / shingles[counted])).astype(np.int64)
    return found
