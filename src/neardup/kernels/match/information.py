"""Information match: which tokens are repeats within their own document, and which occur in the other one.

Linear in the number of tokens. Repeated text inside a document adds nothing here, whichever way the other document
holds it; the literal match (``tiling.py``) is the one in which a token is matched once.
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

    Windows of ``length`` tokens begin in [begin, end) and are called by ``names``; one is a repeat when an
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
    """(tokens that are not redundant, those of them that are covered), both int64."""
    new = matched = np.int64(0)
    for i in range(redundant.size):
        if not redundant[i]:
            new += 1
            matched += covered[i]
    return new, matched
