"""Signatures → band keys → buckets → candidate pairs."""

from __future__ import annotations

import numpy as np

from neardup.kernels.bits import fold128
from neardup.kernels.compiled import njit
from neardup.kernels.shingles import mix64

_KEY_A, _KEY_B = np.uint64(0x2D358DCCAA6C78A5), np.uint64(0x8BB84B93962EACC9)
_32 = np.uint64(32)


@njit(cache=True, nogil=True)
def band_keys(signatures, first, rows, band, out):
    """``out[i]`` = 64-bit key of the slots first … first + rows − 1 of ``signatures[i]``, and of the band."""
    seed = mix64(_KEY_A + np.uint64(band))
    for i in range(signatures.shape[0]):
        key = seed
        for slot in range(first, first + rows):
            key = fold128(key ^ np.uint64(signatures[i, slot]), _KEY_B) + seed
        out[i] = mix64(key)


@njit(cache=True, nogil=True)
def bucket_pairs(order, starts, sizes, limit, reference, hub):
    """Return all pairs in buckets of at most ``limit`` members; mark the members of larger buckets in ``hub``.

    ``order``, ``starts``, ``sizes`` come from ``equal_runs``. A pair is a << 32 | b with a < b (uint64); pairs of
    two documents below ``reference`` are left out. Returns (pairs, hub buckets, largest bucket).
    """
    total = np.int64(0)
    for k in range(starts.size):
        if sizes[k] <= limit:
            total += sizes[k] * (sizes[k] - 1) // 2
    pairs = np.empty(total, np.uint64)
    n = hubs = largest = np.int64(0)
    for k in range(starts.size):
        begin, end = starts[k], starts[k] + sizes[k]
        largest = max(largest, sizes[k])
        if sizes[k] > limit:
            hubs += 1
            for i in range(begin, end):
                hub[order[i]] = True
            continue
        for j in range(begin + 1, end):
            b = order[j]
            if b < reference:  # members are in ascending order: so are all before it
                continue
            for i in range(begin, j):
                pairs[n] = (np.uint64(order[i]) << _32) | np.uint64(b)
                n += 1
    return pairs[:n], hubs, largest
