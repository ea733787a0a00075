"""What stands in the same order in two documents: the heaviest chain of tiles, and the words between them."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def heaviest_chain(tiles, n):
    """Which tiles make up a heaviest chain in the same order in both documents, bool[k].

    ``tiles`` int64[k, 3] (start_a, start_b, length) are disjoint in each document and sorted by start_a; n is the
    number of tokens of B. O(k log k): the best chain that ends before a place of B is kept in a binary indexed
    tree of maxima (Fenwick 1994); of equal ones the first that was found.
    """
    k = tiles.shape[0]
    heaviest = np.full(n + 1, -1, np.int64)  # the tile that ends the best chain of this part of the tree
    totals, before = np.zeros(k, np.int64), np.full(k, -1, np.int64)
    for t in range(k):
        at, best = tiles[t, 1], np.int64(-1)
        while at > 0:  # chains that end at or before the first token of the tile
            found = heaviest[at]
            if found >= 0 and (best < 0 or totals[found] > totals[best]):
                best = found
            at -= at & -at
        before[t] = best
        totals[t] = tiles[t, 2] + (totals[best] if best >= 0 else 0)
        at = tiles[t, 1] + tiles[t, 2]
        while at <= n:
            if heaviest[at] < 0 or totals[t] > totals[heaviest[at]]:
                heaviest[at] = t
            at += at & -at
    chosen = np.zeros(k, np.bool_)
    t = np.int64(-1)
    for other in range(k):
        if t < 0 or totals[other] > totals[t]:
            t = other
    while t >= 0:
        chosen[t] = True
        t = before[t]
    return chosen


@njit(cache=True, nogil=True)
def subsequence_runs(a, b):
    """A longest common subsequence of ``a`` and ``b`` (int32 names).

    As runs int64[r, 3] (start_a, start_b, length). Takes (len(a) + 1) · (len(b) + 1) numbers of 16 bits: the
    shorter sequence must have fewer than 2¹⁵ tokens.
    """
    m, n = a.size, b.size
    rest = np.zeros((m + 1, n + 1), np.int16)  # length of the longest common subsequence of a[i:] and b[j:]
    for i in range(m - 1, -1, -1):
        for j in range(n - 1, -1, -1):
            if a[i] == b[j]:
                rest[i, j] = rest[i + 1, j + 1] + 1
            else:
                rest[i, j] = max(rest[i + 1, j], rest[i, j + 1])
    runs = np.empty((min(m, n), 3), np.int64)
    r = i = j = 0
    while i < m and j < n:
        if a[i] == b[j]:
            if r > 0 and runs[r - 1, 0] + runs[r - 1, 2] == i and runs[r - 1, 1] + runs[r - 1, 2] == j:
                runs[r - 1, 2] += 1
            else:
                runs[r, 0], runs[r, 1], runs[r, 2] = i, j, 1
                r += 1
            i += 1
            j += 1
        elif rest[i + 1, j] >= rest[i, j + 1]:
            i += 1
        else:
            j += 1
    return runs[:r]


@njit(cache=True, nogil=True)
def telling_runs(runs, m, n):
    """The runs without those that are shorter than what was edited before and after them, bool[r].

    ``runs`` int64[r, 3] stand in order in two sequences of m and n tokens. A lone "the" between two replaced
    halves of a sentence is there by chance; a reader sees one replaced sentence.
    """
    kept = np.ones(runs.shape[0], np.bool_)
    changed = True
    while changed:
        changed = False
        end_a = end_b = np.int64(0)
        for r in range(runs.shape[0]):
            if not kept[r]:
                continue
            next_a, next_b = m, n
            for s in range(r + 1, runs.shape[0]):
                if kept[s]:
                    next_a, next_b = runs[s, 0], runs[s, 1]
                    break
            length = runs[r, 2]
            edited_before = max(runs[r, 0] - end_a, runs[r, 1] - end_b)
            edited_after = max(next_a - runs[r, 0] - length, next_b - runs[r, 1] - length)
            if length < edited_before and length < edited_after:
                kept[r] = False
                changed = True
            else:
                end_a, end_b = runs[r, 0] + length, runs[r, 1] + length
    return kept
