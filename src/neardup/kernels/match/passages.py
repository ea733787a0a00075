"""The longest run of tokens that two texts have in common."""

from __future__ import annotations

import numpy as np

from neardup.kernels.bisection import first_at_least
from neardup.kernels.compiled import njit


@njit(cache=True, nogil=True)
def longest_run(shingles, places, found, most):
    """Return (start in A, start in B, shingles) of the longest common run of shingles; (−1, −1, 0) without any.

    ``shingles`` (uint64, sorted) and ``places`` (int64) are the shingles of A and the place in A where each
    begins, equal ones in order of place; ``found`` (uint64) are the shingles of B in text order. Among runs of
    equal length the first in B wins, then the first in A. Returns (−1, −1, −1) if more than ``most`` places would
    be compared.
    """
    # run[i]: length of the run that ends at place i of A and at the place before of B
    run = np.zeros(shingles.size + 1, np.int64)
    at = np.full(shingles.size + 1, -2, np.int64)
    best_a, best_b, length = np.int64(-1), np.int64(-1), np.int64(0)
    compared = np.int64(0)
    for j in range(found.size):
        first = first_at_least(shingles, found[j])
        last = first
        while last < shingles.size and shingles[last] == found[j]:
            last += 1
        compared += last - first
        if compared > most:
            return np.int64(-1), np.int64(-1), np.int64(-1)
        # from the last place to the first, so that the place before still refers to the shingle before
        for k in range(last - 1, first - 1, -1):
            i = places[k]
            run[i + 1] = run[i] + 1 if at[i] == j - 1 else 1
            at[i + 1] = j
            ended = run[i + 1]
            if ended > length or (ended == length and best_b == j - ended + 1):
                best_a, best_b, length = i - ended + 1, j - ended + 1, ended
    return best_a, best_b, length
