"""The textbook's hash functions over sets, and signatures cut to a few bits."""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.shingles import mix64


@njit(cache=True, nogil=True)
def mod_p_sets(elements, offsets, coefficients, prime, signatures):
    """``signatures[d, j]`` (uint32) = min of (a[j]·x + b[j]) mod ``prime`` over the elements x of set d.

    Set d is ``elements[offsets[d]:offsets[d + 1]]`` (uint64), reduced mod ``prime`` < 2³² first, so that nothing
    overflows: a, b, x < 2³² make a·x + b < 2⁶⁴. ``coefficients`` = (a, b), uint64[slots] each, below
    ``prime``. An empty set gets all ones.
    """
    a, b = coefficients
    reduced = np.empty(256, np.uint64)
    for d in range(signatures.shape[0]):
        begin = offsets[d]
        n = offsets[d + 1] - begin
        if n > reduced.size:
            reduced = np.empty(2 * n, np.uint64)
        for i in range(n):
            reduced[i] = elements[begin + i] % prime
        for slot in range(signatures.shape[1]):
            least = np.uint64(0xFFFFFFFF)
            for i in range(n):
                least = min(least, (a[slot] * reduced[i] + b[slot]) % prime)
            signatures[d, slot] = np.uint32(least)


@njit(cache=True, nogil=True)
def cut(signatures, empty, out):
    """``out`` (an unsigned type) = the low bits of every slot of ``signatures``, mixed first.

    The low bits of a·x + b depend only on the low bits of x. A row that holds ``empty`` everywhere gets all ones.
    """
    nothing = ~np.uint64(0)
    for d in range(signatures.shape[0]):
        blank = True
        for slot in range(signatures.shape[1]):
            value = np.uint64(signatures[d, slot])
            blank = blank and value == empty
            out[d, slot] = mix64(value)
        if blank:
            for slot in range(signatures.shape[1]):
                out[d, slot] = nothing
