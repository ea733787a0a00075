"""The probability that two one-permutation signatures agree in no whole band.

Let s of the u shingles in the union of two sets be shared. In a slot chosen by some shingle of the union, the
signatures agree exactly if the winning shingle is shared. The winners of m chosen slots are m *different*
shingles: a draw of m from u without replacement, so that the number of shared winners is hypergeometric. Each of
the other k − m slots is classic and agrees with probability J = s/u by itself. m itself is the number of occupied
cells when u balls fall into k. All three are independent of the position of a slot in the signature: when n slots
agree, they are a random n of the k. So with

  q(n) = P(no band is whole | n random slots of k agree)                                        ``none_whole``

the probability is E q(n), over occupancy, hypergeometric draw and binomial rest                 ``no_band_agrees``

This is exact for shingle hashes and classic slots that are random; nothing is fitted.
"""

from math import sqrt

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.sorting import copy_into

_NOTHING = 1e-16
"""Weights below this are left out of a sum."""


@entry("int64[:] -> float64[:]")
def none_whole(rows):
    """Return q (float64[k + 1]): P(no band is whole) when a random n of the k = Σ rows slots agree, n = 0 … k.

    Band by band (``rows`` int64[bands]): if n slots agree among the first K + r, i fall into the last band of r
    with the probability of a hypergeometric draw, and i = r would make it whole.
    """
    k = np.int64(0)
    for r in rows:
        k += r
    log = np.zeros(k + 1)
    for i in range(1, k + 1):
        log[i] = log[i - 1] + np.log(i)
    q, before = np.zeros(k + 1), np.zeros(k + 1)
    q[0] = 1.0
    slots = 0
    for r in rows:
        copy_into(before, 0, q, q.size)
        for n in range(slots + r + 1):
            q[n] = 0.0
            ways = log[slots + r] - log[n] - log[slots + r - n]
            for i in range(max(0, n - slots), min(r - 1, n) + 1):
                inside = log[r] - log[i] - log[r - i]
                outside = log[slots] - log[n - i] - log[slots - n + i]
                q[n] += before[n - i] * np.exp(inside + outside - ways)
        slots += r
    return q


@entry("int64[:], int64[:], float64[:], out float64[:] -> None")
def no_band_agrees(shared, union, q, out):
    """``out[i]`` (float64) = P(no band agrees) for ``shared[i]`` of ``union[i]`` (int64 ≥ 1, ascending) shingles.

    ``q`` is the result of ``none_whole``.
    """
    k = q.size - 1
    occupied, scratch = np.zeros(k + 1), np.empty(k + 1)
    occupied[0] = 1.0
    balls, least, most = 0, 0, 0
    for i in range(union.size):
        while balls < union[i] and least < k:
            balls += 1
            most = min(most + 1, k)
            for m in range(most, least, -1):
                occupied[m] = (occupied[m] * m + occupied[m - 1] * (k - m + 1)) / k
            occupied[least] *= least / k
            while occupied[least] < _NOTHING:
                occupied[least] = 0.0
                least += 1
        out[i] = _expected(shared[i], union[i], q, occupied, least, scratch)


@part
def _expected(shared, union, q, occupied, least, g):
    """Return E q(n) of a pair; ``occupied[m]`` = P(m slots chosen), zero below ``least``; ``g`` float64[k + 1]."""
    if shared == union:
        return 0.0
    k, j = q.size - 1, shared / union
    # of m slots about m·j agree; a deviation larger than this has a probability below _NOTHING
    width = 9 * (int(sqrt(k * j * (1 - j))) + 1)
    low = max(0, int(k * j) - width)
    for n in range(low, k + 1):
        g[n] = q[n]
    total = 0.0
    for m in range(k, least - 1, -1):
        # here g[h] = E q when h ≥ low of the m chosen slots agree and the others are classic
        if occupied[m] > 0:
            total += occupied[m] * _drawn(shared, union, m, g, low)
        lower = max(0, int((m - 1) * j) - width)
        if lower < low:
            g[lower] = g[low]
            low = lower
        for h in range(low, min(m, int(m * j) + width)):
            g[h] = j * g[h + 1] + (1 - j) * g[h]
    return total


@part
def _drawn(shared, union, m, g, low):
    """Return E g(h), h ≥ low, for h shared shingles among m drawn from ``union`` without replacement.

    The sum runs from the likeliest h outwards by the ratio of neighbours; the sum of the weights normalises them.
    """
    other = union - shared
    first, last = max(0, m - other), min(m, shared)
    mode = min(max((m + 1) * (shared + 1) // (union + 2), first), last)
    weight, sum_of_weights, total = 1.0, 1.0, g[max(mode, low)]
    for h in range(mode, last):
        weight *= (shared - h) * (m - h) / ((h + 1) * (other - m + h + 1))
        if weight < _NOTHING:
            break
        sum_of_weights += weight
        total += weight * g[max(h + 1, low)]
    weight = 1.0
    for h in range(mode, max(first, low), -1):
        weight *= h * (other - m + h) / ((shared - h + 1) * (m - h + 1))
        if weight < _NOTHING:
            break
        sum_of_weights += weight
        total += weight * g[h - 1]
    return total / sum_of_weights
