"""Maximal common runs of two texts that have few equal windows: every pair of equal windows is looked at.

Tokens and windows of A (m tokens) and B stand behind each other (names.py); a *place* is an index there. A run
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
    """The order among runs of one length that begin at i of A and j of B; (i, j) can be read from it."""
    return (np.uint64(abs(i - j)) << _32) | (np.uint64(i) << _ONE) | np.uint64(j > i)


@njit(cache=True, nogil=True, inline="always")
def run_places(key):
    """(i, j) of a ``run_key``."""
    i = np.int64((key & _PLACE) >> _ONE)
    distance = np.int64(key >> _32)
    return i, (i + distance if key & _ONE else i - distance)


@njit(cache=True, nogil=True)
def equal_pairs(names, m, n, length, n_names):
    """Number (float) of pairs of an equal window in A and in B; ``names`` as of name_windows over A and B."""
    counts_a = count_names(names, 0, m - length + 1, n_names)
    counts_b = count_names(names, m, m + n - length + 1, n_names)
    pairs = 0.0
    for name in range(n_names):
        pairs += float(counts_a[name]) * float(counts_b[name])
    return pairs


@njit(cache=True, nogil=True)
def _extent(names, w, i, j, most):
    """Length of the common run of windows that are equal at places i and j, from w to ``most``."""
    length = w
    while length + w <= most and names[i + length] == names[j + length]:
        length += w
    # fewer than w tokens are left: the last window that still agrees tells where the run ends
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
    """Every maximal run of at least w tokens: (lengths int32, keys uint64), a key being a ``run_key``.

    ``names`` (int32, ``n_names`` of them) are those of the windows of w tokens, ``pairs`` how many are equal.
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
