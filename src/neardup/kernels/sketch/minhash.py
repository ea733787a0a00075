"""Shingle hashes → MinHash signatures, 32 bits per slot.

``classic``: slot j holds min over x of (aⱼ·x + bⱼ mod 2³²), aⱼ odd, x the low half of a finalised shingle hash
(Broder 1997; multiply-shift needs mixed input, Pătraşcu and Thorup 2013).

``one_permutation``: one hash per shingle chooses the slot by its top bits and competes there with its other bits
(Li, Owen and Zhang 2012). A slot that no shingle chose takes its classic value: every slot is then exactly
min-wise by itself, unlike rotation, which copies neighbours and clumps bands (the first round of Fast Similarity
Sketching, Dahlgaard, Knudsen and Thorup 2017, with MinHash as the second).
"""

import numpy as np

from neardup.kernels.compiler import entry, part

_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_TOP = np.uint32(0xFFFFFFFF)
_32, _63 = np.uint64(32), np.uint64(63)

FEW = 128
"""Below this many shingles it is faster to vectorise over the slots than over the shingles (measured)."""


@part
def classic_slots(low, n, a, b, slots, out):
    """``out[j]`` = min over ``low[:n]`` (uint32) of a[j]·x + b[j] mod 2³² for the four ``slots`` j (a tuple).

    Four slots share a pass over the shingles, minima in scalars: LLVM keeps this form in vector registers.
    """
    j0, j1, j2, j3 = slots
    a0, a1, a2, a3 = a[j0], a[j1], a[j2], a[j3]
    b0, b1, b2, b3 = b[j0], b[j1], b[j2], b[j3]
    m0, m1, m2, m3 = _TOP, _TOP, _TOP, _TOP
    for i in range(n):
        x = low[i]
        m0 = min(m0, np.uint32(np.uint32(a0 * x) + b0))
        m1 = min(m1, np.uint32(np.uint32(a1 * x) + b1))
        m2 = min(m2, np.uint32(np.uint32(a2 * x) + b2))
        m3 = min(m3, np.uint32(np.uint32(a3 * x) + b3))
    out[j0], out[j1], out[j2], out[j3] = m0, m1, m2, m3


@part
def classic_by_shingle(low, n, a, b, out):
    """Classic MinHash of few shingles: vectorised over the slots, four shingles per pass over them.

    The last shingle fills up the last pass: a repeat does not change a minimum.
    """
    for j in range(out.size):
        out[j] = _TOP
    for i in range(0, n, 4):
        x0, x1, x2, x3 = low[i], low[min(i + 1, n - 1)], low[min(i + 2, n - 1)], low[min(i + 3, n - 1)]
        for j in range(out.size):
            m0 = min(np.uint32(np.uint32(a[j] * x0) + b[j]), np.uint32(np.uint32(a[j] * x1) + b[j]))
            m1 = min(np.uint32(np.uint32(a[j] * x2) + b[j]), np.uint32(np.uint32(a[j] * x3) + b[j]))
            out[j] = min(out[j], min(m0, m1))


@part
def classic(low, n, a, b, out):
    """Fill ``out`` (uint32[slots]) with the classic MinHash of ``low[:n]``, multipliers a, b.

    ``low`` is the result of ``low_halves``, padded with repeats; with many shingles the padding is read, too.
    """
    if n < FEW:
        classic_by_shingle(low, n, a, b, out)
        return
    n = (n + 63) & ~63
    last = out.size - 1
    for j in range(0, out.size, 4):
        classic_slots(low, n, a, b, (j, min(j + 1, last), min(j + 2, last), min(j + 3, last)), out)


@part
def low_halves(hashes, n, out):
    """``out[i]`` = low 32 bits of ``hashes[i]``, i < n, padded with the last to a multiple of 64; return its size.

    A repeat does not change a minimum, and full vectors save every slot a scalar remainder. n ≥ 1; ``out`` is
    uint32[≥ n + 63].
    """
    for i in range(n):
        out[i] = np.uint32(hashes[i])
    whole = (n + 63) & ~63
    for i in range(n, whole):
        out[i] = out[n - 1]
    return whole


@part
def one_permutation(hashes, n, a, b, scratch, out):
    """Fill ``out`` (uint32[slots], slots a power of two) with the one-permutation MinHash of ``hashes[:n]``.

    ``scratch`` = (low uint32[≥ n + 63], best uint64[slots], spare uint32[slots]). n must be at least 1. ``best``
    then holds the empty mark (all ones) exactly in the slots that no shingle chose.
    """
    low, best, spare = scratch
    choose_nothing(best, out)
    compete(hashes, n, best)
    if chosen(best, out) > 0:
        _fill_empty(low, n, low_halves(hashes, n, low), a, b, (best, spare, out))


@part
def compete(hashes, n, best):
    """Let ``hashes[:n]`` compete in the slots they choose: ``best`` (uint64[slots]) holds the winner of each."""
    slots = best.size
    bits = np.uint64(0)
    while (np.uint64(1) << bits) < np.uint64(slots):
        bits += np.uint64(1)
    # a single slot needs no top bits, and a shift by 64 is undefined: shift by 63, then mask
    shift, mask = min(np.uint64(64) - bits, _63), np.uint64(slots - 1)
    for i in range(n):
        slot = (hashes[i] >> shift) & mask
        # branch-free: whether a shingle wins its slot is a coin toss, which a processor predicts badly
        best[slot] = min(best[slot], hashes[i] << bits)


@part
def chosen(best, out):
    """Write the winners of ``compete`` to ``out`` (uint32[slots]), all ones for none; return how many lack one."""
    empty = 0
    for j in range(out.size):
        out[j] = np.uint32(best[j] >> _32)
        empty += best[j] == _EMPTY
    return empty


@part
def add_classic(low, n, a, b, slots):
    """Lower the empty slots to their classic values of further shingles, ``low[:n]`` as ``classic`` reads them.

    ``slots`` = (best, spare, out).
    """
    best, spare, out = slots
    classic(low, n, a, b, spare)
    for j in range(out.size):
        if best[j] == _EMPTY:
            out[j] = min(out[j], spare[j])


@part
def choose_nothing(best, out):
    """Mark all slots as empty, with the neutral element of minima."""
    for j in range(out.size):
        best[j], out[j] = _EMPTY, _TOP


@part
def _fill_empty(low, n, whole, a, b, slots):
    """Fill the empty slots with their classic values; all slots at once when the shingles are few.

    ``low`` holds n shingles, padded to ``whole``; ``slots`` = (best, spare, out).
    """
    best, spare, out = slots
    if n < FEW:
        classic_by_shingle(low, n, a, b, spare)
        for j in range(out.size):
            out[j] = spare[j] if best[j] == _EMPTY else out[j]
        return
    for j in range(out.size):
        if best[j] == _EMPTY:
            out[j] = _classic_slot(low, whole, a[j], b[j])


@part
def _classic_slot(low, n, a, b):
    """Return min over ``low[:n]`` (uint32) of a·x + b mod 2³²; for the few empty slots of a large set."""
    best = _TOP
    for i in range(n):
        best = min(best, np.uint32(np.uint32(a * low[i]) + b))
    return best


@entry("uint64[:], int64[:], bool, uint32[:], uint32[:], out uint32[:, :], out bool[:, :] -> None")
def sketch_sets(hashes, offsets, use_classic, a, b, signatures, bucketed):
    """Sketch the sets ``hashes[offsets[d]:offsets[d + 1]]`` (uint64, well mixed) into ``signatures[d]``.

    ``signatures`` uint32[n, slots]; ``bucketed`` bool[n, slots] is set for the slots that a shingle chose (none
    with ``use_classic``). An empty set gets all ones, the neutral element of merging.
    """
    low = np.empty(4096, np.uint32)
    best, spare = np.empty(a.size, np.uint64), np.empty(a.size, np.uint32)
    for d in range(offsets.size - 1):
        part = hashes[offsets[d] : offsets[d + 1]]
        n = part.size
        if n + 63 > low.size:
            low = np.empty(2 * n + 63, np.uint32)
        bucketed[d, :] = False
        if n == 0:
            signatures[d, :] = _TOP
        elif use_classic:
            low_halves(part, n, low)
            classic(low, n, a, b, signatures[d])
        else:
            one_permutation(part, n, a, b, (low, best, spare), signatures[d])
            for j in range(a.size):
                bucketed[d, j] = best[j] != _EMPTY
