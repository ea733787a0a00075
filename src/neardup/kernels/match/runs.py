"""Maximal common runs of two texts with few equal windows: every pair of equal windows is examined.

Tokens and windows of A (m tokens) and B are in one array, A first (names.py); a *place* is an index there. A run
begins where two windows are equal and the tokens before them are not.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.names import count_names

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
def equal_pairs(names, m, n, length, n_names):
    """Return the number (float) of pairs of equal windows in A and B; ``names`` from name_windows over A and B."""
    counts_a = count_names(names, 0, m - length + 1, n_names)
    counts_b = count_names(names, m, m + n - length + 1, n_names)
    pairs = 0.0
    for name in range(n_names):
        pairs += float(counts_a[name]) * float(counts_b[name])
    return pairs


@njit(cache=True, nogil=True)
def _extent(names, w, i, j, most):
    """Return the length, from w to ``most``, of the common run of windows that are equal at places i and j."""
    length = w
    while length + w <= most and names[i + length] == names[j + length]:
        length += w
    # fewer than w tokens are left: the last window that still agrees marks the end of the run
    low, high = length, min(most, length + w - 1)
    while low < high:
        middle = (low + high + 1) >> 1
        if names[i + middle - w] == names[j + middle - w]:
            low = middle
        else:
            high = middle - 1
    return low


@njit(cache=True, nogil=True)
def all_runs(tokens, names, m, w, n_names, pairs):
    """Return every maximal run of at least w tokens: (lengths int32, keys uint64), each key a ``run_key``.

    ``names`` (int32, ``n_names`` different ones) identify the windows of w tokens; ``pairs`` is the number of
    equal pairs.
    """
    n = tokens.size - m
    first = np.zeros(n_names + 2, np.int32)
    for j in range(m, m + n - w + 1):
        first[names[j] + 2] += 1
    for k in range(n_names + 1):
        first[k + 1] += first[k]
    places = np.empty(n - w + 1, np.int32)
    for j in range(m, m + n - w + 1):
        places[first[names[j] + 1]] = j
        first[names[j] + 1] += 1
    lengths, keys = np.empty(pairs, np.int32), np.empty(pairs, np.uint64)
    size = 0
    for i in range(m - w + 1):
        for k in range(first[names[i]], first[names[i] + 1]):
            j = np.int64(places[k])
            if i == 0 or j == m or tokens[i - 1] != tokens[j - 1]:
                lengths[size] = _extent(names, w, i, j, min(m - i, m + n - j))
                keys[size] = run_key(i, j - m)
                size += 1
    return lengths[:size], keys[:size]
