"""Maximal common runs of free tokens: where equal windows begin that are not preceded by equal tokens.

Tokens and windows of A (m tokens) and B stand behind each other (windows.py); a *place* is an index there.
``levels`` int32[levels, places] are the names of the windows of w, 2w, 4w, … tokens. ``lengths`` int32[places]
tells how many tokens are free from a place on. The windows of B that may be met are grouped by name, so that the
pairs with equal tokens before them, which begin no run, can be left out without being looked at.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_ONE, _32, _63 = np.uint64(1), np.uint64(32), np.int64(63)
_SCANNED = 16
"""Windows that are looked at for one window when not all are, at most."""


@njit(cache=True, nogil=True, inline="always")
def run_key(i, j):
    """The order among runs of one length that begin at i of A and j of B; (i, j) can be read from it."""
    return (np.uint64(abs(i - j)) << _32) | (np.uint64(i) << _ONE) | np.uint64(j > i)


@njit(cache=True, nogil=True)
def free_lengths(free, m, total):
    """int32[total]: how many tokens from each place on are free, within its own document."""
    lengths = np.zeros(total, np.int32)
    run = 0
    for i in range(total - 1, -1, -1):
        if i == m - 1:
            run = 0
        run = run + 1 if (free[i >> 6] >> np.uint64(i & _63)) & _ONE else 0
        lengths[i] = run
    return lengths


@njit(cache=True, nogil=True)
def longest(lengths, begin, end):
    """The largest of lengths[begin:end], 0 if there is none."""
    most = 0
    for i in range(begin, end):
        most = max(most, np.int64(lengths[i]))
    return most


@njit(cache=True, nogil=True)
def _left(tokens, lengths, at, m):
    """1 + the token before a place, 0 where none is or it is not free."""
    if at == 0 or at == m or lengths[at - 1] == 0:
        return 0
    return tokens[at - 1] + 1


@njit(cache=True, nogil=True)
def group_windows(tokens, names, form, lengths, by_left):
    """Windows of B with ``length`` free tokens: (places int32, first int32[names + 1]), grouped by name.

    ``form`` = (m, length, number of names). Within a group they are in order of place or, with ``by_left``, of
    the token before them.
    """
    m, length, n_names = form
    n = tokens.size - m
    windows = np.empty(n, np.int32)
    size = 0
    for j in range(m, m + n - length + 1):
        if lengths[j] >= length:
            windows[size] = j
            size += 1
    windows = windows[:size]
    if by_left:
        most = 0
        for token in tokens:
            most = max(most, np.int64(token))
        begin = np.zeros(most + 3, np.int32)
        for j in windows:
            begin[_left(tokens, lengths, j, m) + 1] += 1
        for k in range(most + 2):
            begin[k + 1] += begin[k]
        ordered = np.empty(size, np.int32)
        for j in windows:
            left = _left(tokens, lengths, j, m)
            ordered[begin[left]] = j
            begin[left] += 1
        windows = ordered
    first = np.zeros(n_names + 2, np.int32)
    for j in windows:
        first[names[j] + 2] += 1
    for k in range(n_names + 1):
        first[k + 1] += first[k]
    places = np.empty(size, np.int32)
    for j in windows:
        places[first[names[j] + 1]] = j
        first[names[j] + 1] += 1
    return places, first[: n_names + 1]


@njit(cache=True, nogil=True)
def _lower(tokens, lengths, m, places, begin, end, left):
    """The first of places[begin:end], sorted by the token before, whose token before is at least ``left``."""
    while begin < end:
        middle = (begin + end) >> 1
        if _left(tokens, lengths, places[middle], m) < left:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit(cache=True, nogil=True)
def _extent(levels, w, level, i, j, most):
    """Length of the common run that begins at places i and j, at most ``most``, at least that of the level."""
    length = w << level
    for k in range(levels.shape[0] - 1, -1, -1):
        step = w << k
        while length + step <= most and levels[k, i + length] == levels[k, j + length]:
            length += step
    # fewer than w tokens are left: the last window that still agrees tells where the run ends
    low, high = length, min(most, length + w - 1)
    while low < high:
        middle = (low + high + 1) >> 1
        if levels[0, i + middle - w] == levels[0, j + middle - w]:
            low = middle
        else:
            high = middle - 1
    return low


@njit(cache=True, nogil=True)
def count_runs(tokens, names, m, length, lengths, groups):
    """How many maximal runs of free tokens have at least ``length`` tokens, int64."""
    places, first = groups
    runs = np.int64(0)
    for i in range(m - length + 1):
        begin, end = first[names[i]], first[names[i] + 1]
        if lengths[i] < length or begin == end:
            continue
        runs += end - begin
        left = _left(tokens, lengths, i, m)
        if left > 0:
            runs -= _lower(tokens, lengths, m, places, begin, end, left + 1)
            runs += _lower(tokens, lengths, m, places, begin, end, left)
    return runs


@njit(cache=True, nogil=True)
def all_runs(tokens, levels, form, lengths, groups, runs):
    """Every maximal run of at least w·2^level free tokens, ``runs`` of them: (lengths int32, keys uint64).

    ``form`` = (m, w, level); a key is a ``run_key``.
    """
    m, w, level = form
    places, first = groups
    names, length = levels[level], w << level
    out, keys = np.empty(runs + 64, np.int32), np.empty(runs + 64, np.uint64)
    size = 0
    for i in range(m - length + 1):
        begin, end = first[names[i]], first[names[i] + 1]
        if lengths[i] < length or begin == end:
            continue
        left = _left(tokens, lengths, i, m)
        skip = skip_to = end
        if left > 0:
            skip = _lower(tokens, lengths, m, places, begin, end, left)
            skip_to = _lower(tokens, lengths, m, places, begin, end, left + 1)
        for k in range(begin, end - skip_to + skip):
            j = np.int64(places[k if k < skip else k + skip_to - skip])
            out[size] = _extent(levels, w, level, i, j, min(lengths[i], lengths[j]))
            keys[size] = run_key(i, j - m)
            size += 1
    return out[:size], keys[:size]


@njit(cache=True, nogil=True)
def _at_or_after(places, begin, end, place):
    """The first index of places[begin:end], ascending, whose place is at least ``place``."""
    while begin < end:
        middle = (begin + end) >> 1
        if places[middle] < place:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit(cache=True, nogil=True)
def near_runs(tokens, levels, form, lengths, groups, allowed):
    """Some of the maximal runs, about ``allowed``: for a window of A those with the nearest windows of B.

    And the one with the window of B that is as many-eth of its kind as this one is in A, so that two stretches
    of the same text find each other wherever they stand. As ``all_runs`` otherwise.
    """
    m, w, level = form
    places, first = groups
    names, length = levels[level], w << level
    each = max(1, min(16, allowed // max(1, m - length + 1)))
    out = np.empty((each + 1) * (m - length + 1) + 64, np.int32)
    keys = np.empty(out.size, np.uint64)
    size = 0
    seen = np.zeros(first.size, np.int32)
    for i in range(m - length + 1):
        begin, end = np.int64(first[names[i]]), np.int64(first[names[i] + 1])
        if lengths[i] < length or begin == end:
            continue
        left = _left(tokens, lengths, i, m)
        after = _at_or_after(places, begin, end, i + m)  # place i + m is that of j = i
        before = after - 1
        taken, k = 0, begin + seen[names[i]]
        seen[names[i]] += 1
        for look in range(_SCANNED):
            if look > 0:
                if taken >= each or (before < begin and after >= end):
                    break
                if after >= end or (before >= begin and i + m - places[before] <= places[after] - i - m):
                    k, before = before, before - 1
                else:
                    k, after = after, after + 1
            if k >= end:
                continue
            j = np.int64(places[k])
            other = _left(tokens, lengths, j, m)
            if left == 0 or left != other:
                out[size] = _extent(levels, w, level, i, j, min(lengths[i], lengths[j]))
                keys[size] = run_key(i, j - m)
                size += 1
                taken += look > 0
    return out[:size], keys[:size]
