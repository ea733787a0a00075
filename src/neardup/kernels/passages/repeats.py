"""Maximal repeats of a sequence of symbols, from its suffix array.

A repeat is *maximal* if its occurrences are neither all preceded by the same symbol nor all followed by the same
one (Gusfield 1997, "Algorithms on Strings, Trees, and Sequences", section 7.12). Maximal repeats are those
intervals of the array of longest common prefixes (Abouelhoda, Kurtz and Ohlebusch 2004) whose suffixes follow
different symbols.
"""

import numpy as np

from neardup.kernels.compiler import entry, part

_UNSET, _SEVERAL = -2, -1


@entry("int32[:], int32[:], int32[:] -> int32[:]")
def common_prefixes(symbols, order, rank):
    """Return int32[n + 1]: the common symbols of the suffixes ``order[i - 1]`` and ``order[i]``; 0 at the ends.

    Kasai et al. 2001. ``rank`` is the inverse of ``order``; all int32[n]. No suffix is a prefix of another.
    """
    n = symbols.size
    common = np.zeros(n + 1, np.int32)
    same = np.int64(0)
    for i in range(n):
        if rank[i] == 0:
            same = np.int64(0)
            continue
        j = np.int64(order[rank[i] - 1])
        while i + same < n and j + same < n and symbols[i + same] == symbols[j + same]:
            same += 1
        common[rank[i]] = same
        same = max(same - 1, np.int64(0))
    return common


@part
def _both(one, other):
    """Return what two sets of preceding symbols have in common: a symbol, or that there are several."""
    if one in (_UNSET, other):
        return other
    return np.int64(_SEVERAL)


@entry("int32[:], int32[:], int32[:] -> (int64[:, :], bool[:], int32[:])")
def intervals(common, preceding, order):
    """Return (intervals int64[m, 4], maximal bool[m], deepest int32[n]) of a suffix array ``order`` of n suffixes.

    An interval is (first rank, last rank + 1, length ≥ 1, first suffix): all suffixes with one common prefix of
    this length. ``common``: see ``common_prefixes``. ``preceding`` (int32[n]) is the symbol before each suffix,
    by rank, or -1 for one that differs from all others. ``maximal``: the suffixes follow different symbols.
    ``deepest`` is the longest interval that has the suffix, by rank, or -1.
    """
    n = preceding.size
    ranges, maximal = np.empty((n, 4), np.int64), np.empty(n, np.bool_)
    deepest = np.full(n, -1, np.int32)
    lengths, firsts, lefts = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    numbers, least = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    lengths[0], firsts[0], lefts[0], numbers[0], least[0] = 0, 0, _UNSET, -1, n
    top = number = np.int64(0)
    for i in range(n):
        following, one_before = np.int64(common[i + 1]), np.int64(preceding[i])
        suffix = np.int64(order[i])
        if following > lengths[top]:
            top += 1
            lengths[top], firsts[top], lefts[top], numbers[top] = following, i, one_before, number
            least[top] = suffix
            number += 1
            deepest[i] = numbers[top]
            continue
        lefts[top], least[top] = _both(lefts[top], one_before), min(least[top], suffix)
        deepest[i] = numbers[top]
        while lengths[top] > following:
            one = numbers[top]
            ranges[one, 0], ranges[one, 1], ranges[one, 2] = firsts[top], i + 1, lengths[top]
            ranges[one, 3] = least[top]
            maximal[one] = lefts[top] == _SEVERAL
            left, first, suffix = lefts[top], firsts[top], least[top]
            top -= 1
            if lengths[top] < following:
                top += 1
                lengths[top], firsts[top], lefts[top], numbers[top] = following, first, left, number
                least[top] = suffix
                number += 1
            else:
                lefts[top], least[top] = _both(lefts[top], left), min(least[top], suffix)
    return ranges[:number], maximal[:number], deepest
