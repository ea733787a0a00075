"""Feature hashes → SimHash: the sign, bit by bit, of what the features say (Charikar 2002; Manku et al. 2007)."""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.shingles import mix64, shingle_hashes
from neardup.kernels.unicode import WHITE_SPACE, record

_GOLD, _ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(1)


@njit(cache=True, nogil=True)
def substring_hashes(codepoints, n, length, tables):
    """uint64[features]: hashes of all substrings of ``length`` characters of codepoints[:n] without white space.

    Fewer characters make one substring, none make none. The hash is that of character shingles: mix64 of each
    character, a multilinear sum, mix64 (shingles.py).
    """
    units = np.empty(n, np.uint64)
    size = 0
    for i in range(n):
        if record(np.int64(codepoints[i]), tables) & WHITE_SPACE == 0:
            units[size] = mix64(_GOLD * np.uint64(codepoints[i] + np.uint32(1)))
            size += 1
    hashes = np.empty(max(size, 1), np.uint64)
    return hashes[: shingle_hashes(units, size, length, hashes)]


@njit(cache=True, nogil=True)
def majority(hashes, weights):
    """uint64: bit i is 1 where Σ ±weight > 0 over the features, + for those whose hash has bit i.

    ``hashes`` uint64[n], ``weights`` int64[n], or int64[0] when each feature weighs 1 (one that occurs k times
    stands there k times). No feature gives 0.
    """
    votes = np.zeros(64, np.int64)  # weight of the features that have the bit
    total = np.int64(0)
    for k in range(hashes.size):
        value, weight = hashes[k], weights[k] if weights.size else np.int64(1)
        total += weight
        for bit in range(64):
            votes[bit] += weight * np.int64((value >> np.uint64(bit)) & _ONE)
    out = np.uint64(0)
    for bit in range(64):
        if 2 * votes[bit] > total:
            out |= _ONE << np.uint64(bit)
    return out
