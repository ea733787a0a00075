"""Information match: tokens that repeat earlier text of their own document, and tokens found in the other one.

Linear in the number of tokens. Text repeated inside a document adds nothing here, however often the other document
contains it; in the literal match (``tiling.py``) each token is matched once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiled import njit

LITERAL, INFORMATION, IN_ORDER = 0, 1, 2


class Counting(NamedTuple):
    """How common text is counted: chunks of ``length`` tokens or more, LITERAL or by INFORMATION, or IN_ORDER."""

    length: int
    matching: int


@njit(cache=True, nogil=True)
def mark_redundant(names, begin, end, length, n_names, redundant):
    """Set ``redundant[i - begin]`` for tokens in a window that repeats an earlier one of the same document.

    Windows of ``length`` tokens begin in [begin, end) and are identified by ``names``; a window is a repeat if an
    equal one begins at least ``length`` tokens earlier. ``redundant`` bool[end − begin + length − 1] is all False.
    """
    first = np.full(n_names, -1, np.int32)
    reach = begin
    for i in range(begin, end):
        name = names[i]
        if first[name] < 0:
            first[name] = i
        elif i - first[name] >= length:
            for k in range(max(i, reach), i + length):
                redundant[k - begin] = True
            reach = i + length


@njit(cache=True, nogil=True)
def count_new(redundant, covered):
    """Return (tokens that are not redundant, tokens that are also covered), both int64."""
    new = matched = np.int64(0)
    for i in range(redundant.size):
        if not redundant[i]:
            new += 1
            matched += covered[i]
    return new, matched
