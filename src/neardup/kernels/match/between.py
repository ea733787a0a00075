"""Equal words between the tiles of a chain: each stretch between two tiles, aligned word by word."""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.match.alignment import heaviest_chain, runs_in_order, telling_runs


@njit(cache=True, nogil=True)
def words_between(tokens, m, n_names, moved, spine, limits):
    """Return runs of equal words between tiles: (int64[r, 3] start in A, start in B, length; whether complete).

    ``tokens`` (int32 names below ``n_names``) are the m tokens of A, then the tokens of B. ``spine`` int64[k, 3]
    are tiles in the same order in both, ``moved`` the other tiles, whose tokens are left out. ``limits`` = (cells
    of one stretch, cells of all): a stretch with more cells (tokens of A times tokens of B) is cut at words that
    occur once in each document.
    """
    n = tokens.size - m
    free_a, free_b = np.ones(m, np.bool_), np.ones(n, np.bool_)
    for t in range(moved.shape[0]):
        free_a[moved[t, 0] : moved[t, 0] + moved[t, 2]] = False
        free_b[moved[t, 1] : moved[t, 1] + moved[t, 2]] = False
    found, size, whole = np.empty((min(m, n), 3), np.int64), 0, True
    kind, left = np.full(n_names, -1, np.int32), limits[1]
    begin_a = begin_b = np.int64(0)
    for t in range(spine.shape[0] + 1):
        last = t == spine.shape[0]
        end_a, end_b = (m, n) if last else (spine[t, 0], spine[t, 1])
        if begin_a < end_a and begin_b < end_b:
            at_a, at_b = _free(free_a, begin_a, end_a), _free(free_b, begin_b, end_b)
            a, b = tokens[at_a], tokens[at_b + m]
            runs, cells, all_tried = _stretch(a, b, kind, (limits[0], left))
            left, whole = left - cells, whole and all_tried
            size = _place(runs, telling_runs(runs, a.size, b.size), at_a, at_b, found, size)
        if not last:
            begin_a, begin_b = end_a + spine[t, 2], end_b + spine[t, 2]
    return found[:size], whole


@njit(cache=True, nogil=True)
def _free(free, begin, end):
    """Return the free places of [begin, end), int64."""
    places, size = np.empty(end - begin, np.int64), 0
    for place in range(begin, end):
        places[size] = place
        size += free[place]
    return places[:size]


@njit(cache=True, nogil=True)
def _place(runs, kept, at_a, at_b, found, size):
    """Write the kept runs to ``found``, in places of the documents, cut where they contain moved text."""
    for r in range(runs.shape[0]):
        if not kept[r]:
            continue
        for k in range(runs[r, 2]):
            i, j = at_a[runs[r, 0] + k], at_b[runs[r, 1] + k]
            if k > 0 and i == at_a[runs[r, 0] + k - 1] + 1 and j == at_b[runs[r, 1] + k - 1] + 1:
                found[size - 1, 2] += 1
            else:
                found[size, 0], found[size, 1], found[size, 2] = i, j, 1
                size += 1
    return size


@njit(cache=True, nogil=True)
def _stretch(a, b, kind, limits):
    """Return the runs int64[r, 3] of equal tokens of two stretches, the cells used, and whether all parts fit."""
    found = np.empty((min(a.size, b.size), 3), np.int64)
    cells = a.size * b.size
    if cells <= min(limits[0], limits[1]):
        return found[: runs_in_order(a, b, kind, found)], cells, True
    anchors = _anchors(a, b, kind)
    size, spent, whole = 0, 0, True
    begin_a = begin_b = np.int64(0)
    for t in range(anchors.shape[0] + 1):
        last = t == anchors.shape[0]
        end_a, end_b = (a.size, b.size) if last else (anchors[t, 0], anchors[t, 1])
        part = (end_a - begin_a) * (end_b - begin_b)
        if part > min(limits[0], limits[1] - spent):
            whole = False
        elif part > 0:
            spent += part
            more = runs_in_order(a[begin_a:end_a], b[begin_b:end_b], kind, found[size:])
            for r in range(size, size + more):
                found[r, 0] += begin_a
                found[r, 1] += begin_b
            size += more
        if not last:
            found[size, 0], found[size, 1], found[size, 2] = end_a, end_b, 1
            size += 1
            begin_a, begin_b = end_a + 1, end_b + 1
    return found[:size], spent, whole


@njit(cache=True, nogil=True)
def _anchors(a, b, kind):
    """Return the longest sequence, in the same order in both, of tokens that occur once in each: int64[k, 3].

    ``kind`` (int32, −1 everywhere) is scratch.
    """
    repeated = np.int32(-2)
    for i in range(a.size):
        kind[a[i]] = i if kind[a[i]] == -1 else repeated
    at = np.full(
        a.size, -1, np.int64
    )  # for a token that occurs once in A: its place in B, −2 if it occurs there more than once
    for j in range(b.size):
        i = np.int64(kind[b[j]])
        if i >= 0:
            at[i] = j if at[i] == -1 else -2
    places, size = np.empty((min(a.size, b.size), 3), np.int64), 0
    for i in range(a.size):
        kind[a[i]] = -1
        if at[i] >= 0:
            places[size, 0], places[size, 1], places[size, 2] = i, at[i], 1
            size += 1
    places = places[:size]
    return places[heaviest_chain(places, b.size)]
