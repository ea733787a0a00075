"""Common runs of two texts, from all pairs of equal windows or, where these are too many, from near ones.

Tokens and windows of A (m tokens) and B are in one array, A first (names.py); a *place* is an index there. A run
begins where two windows are equal and the tokens before them are not.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.match.free_places import next_marked

_ONE, _32 = np.uint64(1), np.uint64(32)
_PLACE = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True, inline="always")
def run_key(i, j):
    """Return the sort key, among runs of one length, of the run that begins at i of A and j of B."""
    return (np.uint64(abs(i - j)) << _32) | (np.uint64(i) << _ONE) | np.uint64(j > i)


@njit(cache=True, nogil=True, inline="always")
def run_places(key):
    """Return (i, j) of a ``run_key``."""
    i = np.int64((key & _PLACE) >> _ONE)
    distance = np.int64(key >> _32)
    return i, (i + distance if key & _ONE else i - distance)


@njit(cache=True, nogil=True)
def _counts(names, begin, end, n_names):
    """Return int64[n_names]: how often each name is among ``names[begin:end]``; −1 is not counted."""
    counts = np.zeros(n_names, np.int64)
    for at in range(begin, end):
        if names[at] >= 0:
            counts[names[at]] += 1
    return counts


@njit(cache=True, nogil=True)
def equal_pairs(names, m, w, n_names):
    """Return the number (float) of pairs of equal windows of w tokens in A and B."""
    counts_a = _counts(names, 0, m - w + 1, n_names)
    counts_b = _counts(names, m, names.size - w + 1, n_names)
    pairs = 0.0
    for name in range(n_names):
        pairs += float(counts_a[name]) * float(counts_b[name])
    return pairs


@njit(cache=True, nogil=True)
def windows_left(names, m, w, places, out):
    """Write the names of the windows of w tokens, −1 where one is not free in ``places``, to ``out`` (int32)."""
    total = out.size
    for begin, end in ((0, m), (m, total)):
        for at in range(begin, end):
            free = at + w <= end and next_marked(places, at, at + w) == at + w
            out[at] = names[at] if free else -1


@njit(cache=True, nogil=True)
def _extent(names, w, i, j, most):
    """Return the length, from w to ``most``, of the common run of windows that are equal at places i and j."""
    length = w
    while length + w <= most and names[i + length] == names[j + length] >= 0:
        length += w
    # fewer than w tokens are left: the last window that still agrees marks the end of the run
    low, high = length, min(most, length + w - 1)
    while low < high:
        middle = (low + high + 1) >> 1
        if names[i + middle - w] == names[j + middle - w] >= 0:
            low = middle
        else:
            high = middle - 1
    return low


@njit(cache=True, nogil=True)
def _by_name(names, m, last, n_names):
    """Return (first, places): the windows of B named k begin at ``places[first[k]:first[k + 1]]``, ascending."""
    first = np.zeros(n_names + 2, np.int32)
    for j in range(m, last):
        if names[j] >= 0:
            first[names[j] + 2] += 1
    for k in range(n_names + 1):
        first[k + 1] += first[k]
    places = np.empty(first[n_names + 1], np.int32)
    for j in range(m, last):
        if names[j] >= 0:
            places[first[names[j] + 1]] = j
            first[names[j] + 1] += 1
    return first, places


@njit(cache=True, nogil=True)
def _nearest(places, begin, end, wanted, near):
    """Return the part [begin, end) of the ascending ``places`` with the ``near`` ones nearest to ``wanted``."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if places[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    high = low
    while high - low < near:
        if high == end or (low > begin and wanted - places[low - 1] <= places[high] - wanted):
            low -= 1
        else:
            high += 1
    return low, high


@njit(cache=True, nogil=True)
def common_runs(names, m, w, n_names, near, most):
    """Return the common runs of w tokens or more: (lengths int32, keys uint64, whether they are at most ``most``).

    ``names`` (int32, ``n_names`` different ones, −1 for windows to leave out) identify the windows of w tokens;
    each key is a ``run_key``. With ``near`` 0 the runs are all maximal ones. Otherwise each window of A is paired
    with the ``near`` nearest equal ones of B alone, and a run begins at the first of such pairs.
    """
    n = names.size - m
    first, places = _by_name(names, m, m + n - w + 1, n_names)
    lengths, keys = np.empty(most, np.int32), np.empty(most, np.uint64)
    size, before_low, before_high = 0, 0, 0
    for i in range(m - w + 1):
        low = high = 0
        if names[i] >= 0:
            low, high = first[names[i]], first[names[i] + 1]
        if 0 < near < high - low:
            low, high = _nearest(places, low, high, i + m, near)
        at = before_low
        for k in range(low, high):
            j = np.int64(places[k])
            if near == 0:
                begins = i == 0 or j == m or names[i - 1] != names[j - 1] or names[i - 1] < 0
            else:  # both lists ascend
                while at < before_high and places[at] < j - 1:
                    at += 1
                begins = at == before_high or places[at] != j - 1
            if begins:
                if size == most:
                    return lengths, keys, False
                lengths[size] = _extent(names, w, i, j, min(m - i, m + n - j))
                keys[size] = run_key(i, j - m)
                size += 1
        before_low, before_high = low, high
    return lengths[:size], keys[:size], True
