"""Signatures made of slots: in buckets, by (a·x + b) mod p, of weighted sets, cut to a few bits; and the number of
equal slots of a pair.
"""

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.shingles import mix64

_ONES = np.uint64(0xFFFFFFFF)
_11 = np.uint64(11)
_ROOT, _LN2 = 0.7071067811865476, 0.6931471805599453


@entry(
    "uint64[:, :], uint64[:, :], int64[:, :], out int64[:] -> None",
    "uint32[:, :], uint32[:, :], int64[:, :], out int64[:] -> None",
    "uint16[:, :], uint16[:, :], int64[:, :], out int64[:] -> None",
    "uint8[:, :], uint8[:, :], int64[:, :], out int64[:] -> None",
)
def equal_slots(ours, theirs, rows, out):
    """``out[k]`` (int64[m]) = number of equal slots of ``ours[rows[k, 0]]`` and ``theirs[rows[k, 1]]``.

    ``ours``, ``theirs`` are [n, slots] of one integer type; ``rows`` int64[m, 2].
    """
    for k in range(rows.shape[0]):
        a, b = rows[k, 0], rows[k, 1]
        equal = 0
        for slot in range(ours.shape[1]):
            equal += ours[a, slot] == theirs[b, slot]
        out[k] = equal


@entry("uint64[:], int64[:], (uint64[:], uint64[:]), uint64, out uint32[:, :] -> None")
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


@entry(
    "uint32[:, :], uint64, out uint8[:, :] -> None",
    "uint32[:, :], uint64, out uint16[:, :] -> None",
    "uint32[:, :], uint64, out uint32[:, :] -> None",
)
def cut(signatures, mask, out):
    """``out`` (an unsigned type) = the bits of ``mask`` of every slot of ``signatures``, mixed first.

    The low bits of a·x + b depend only on the low bits of x. A row of ones only, the empty set, gets all ones.
    """
    nothing = ~np.uint64(0)
    for d in range(signatures.shape[0]):
        blank = True
        for slot in range(signatures.shape[1]):
            value = np.uint64(signatures[d, slot])
            blank = blank and value == _ONES
            out[d, slot] = mix64(value) & mask
        if blank:
            for slot in range(signatures.shape[1]):
                out[d, slot] = nothing


EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_GOLD = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)


@part(inline=True)
def bucket_of(value, width):
    """Return the bucket of a hash: its top 32 bits over the ``width`` (uint64) of a bucket."""
    return np.int64((value >> _32) // width)


@entry("out uint64[:], (int64, int64, int64, uint64) -> None")
def rotate(signature, form):
    """Copy to each empty bucket of one signature the value of the next bucket that is not empty, in a circle.

    ``form`` = (hash functions, buckets, set size = 1, width); each function is a circle.
    """
    for first in range(0, form[0] * form[1], form[1]):
        value = EMPTY
        for turn in range(2 * form[1] - 1, -1, -1):
            at = first + turn % form[1]
            if signature[at] == EMPTY:
                signature[at] = value
            else:
                value = signature[at]


@entry("uint64[:], int64[:], (int64, int64, int64, uint64), bool, out uint64[:, :] -> None")
def bucketed_sets(hashes, offsets, form, rotated, signatures):
    """Sketch the sets ``hashes[offsets[d]:offsets[d + 1]]`` (uint64, well mixed) into ``signatures[d]``.

    ``form`` = (hash functions, buckets, set size, width uint64).
    """
    functions, buckets, size, width = form
    for d in range(signatures.shape[0]):
        out = signatures[d]
        out[:] = EMPTY
        for at in range(offsets[d], offsets[d + 1]):
            for function in range(functions):
                # the first function is the hash itself, the others are bijections of it
                value = hashes[at] if function == 0 else mix64(hashes[at] + np.uint64(function) * _GOLD)
                first = (function * buckets + bucket_of(value, width)) * size
                for place in range(first, first + size):
                    if value == out[place]:
                        break
                    if value < out[place]:
                        value, out[place] = out[place], value
        if rotated:
            rotate(out, form)


@entry("uint64[:, :], uint64[:, :], int64[:, :], (int64, int64, int64, uint64), out int64[:, :] -> None")
def read_pairs(ours, theirs, rows, form, counts):
    """``counts[k]`` = (in both, sample size) of the pair ``rows[k]``, for the sample that both signatures cover.

    In every bucket, that sample is the smallest hashes of the union, as many as a bucket holds. A value in a
    bucket other than its own is a copy made by rotation, and does not count.
    """
    functions, buckets, size, width = form
    for k in range(rows.shape[0]):
        a, b = ours[rows[k, 0]], theirs[rows[k, 1]]
        both = of = 0
        for cell in range(functions * buckets):
            i = j = cell * size
            end = i + size
            for _ in range(size):
                x = a[i] if i < end and bucket_of(a[i], width) == cell % buckets else EMPTY
                y = b[j] if j < end and bucket_of(b[j], width) == cell % buckets else EMPTY
                if x == EMPTY and y == EMPTY:
                    break
                of += 1
                both += x == y
                i += x <= y
                j += y <= x
        counts[k, 0], counts[k, 1] = both, of


@entry("uint64[:, :], uint64[:, :], int64[:, :], (int64, int64, int64, uint64), out float64[:] -> None")
def score_pairs(ours, theirs, rows, form, out):
    """``out[k]`` (float64) = the share of the values of ``ours[rows[k, 0]]``, copies included, that theirs has."""
    _, buckets, size, width = form
    for k in range(rows.shape[0]):
        a, b = ours[rows[k, 0]], theirs[rows[k, 1]]
        tokens = found = 0
        for at in range(a.size):
            if a[at] == EMPTY:
                continue
            tokens += 1
            # a set that has this value has it in its own bucket
            first = (at // (buckets * size) * buckets + bucket_of(a[at], width)) * size
            for place in range(first, first + size):
                if b[place] == a[at]:
                    found += 1
                    break
        out[k] = found / tokens if tokens > 0 else 0.0


@entry("uint64[:, :], out uint64[:, :] -> None")
def without_blanks(signatures, out):
    """``out`` = the signatures, with EMPTY replaced by values that no other row has; rows of EMPTY stay."""
    for d in range(signatures.shape[0]):
        blank = True
        for slot in range(signatures.shape[1]):
            blank = blank and signatures[d, slot] == EMPTY
        for slot in range(signatures.shape[1]):
            value = signatures[d, slot]
            if value == EMPTY and not blank:
                value = mix64(_GOLD * np.uint64(d * signatures.shape[1] + slot + 1))
            out[d, slot] = value


@part
def _ln(x):
    """Return ln x of a float64 x > 0, by additions, multiplications and divisions.

    IEEE 754 rounds these alike on every machine, unlike the logarithm of a library. x = 2ᵉ·m with √½ ≤ m < √2, and
    ln m = 2·artanh s with s = (m − 1)/(m + 1), |s| < .172. The series ends where a term is below 10⁻¹⁸.
    """
    exponent = 0.0
    while x < _ROOT:
        x *= 2.0
        exponent -= 1.0
    while x >= 2.0 * _ROOT:
        x *= 0.5
        exponent += 1.0
    s = (x - 1.0) / (x + 1.0)
    z = s * s
    series = 0.0
    for odd in range(21, 0, -2):
        series = series * z + 1.0 / odd
    return exponent * _LN2 + 2.0 * s * series


@part
def _gamma(word):
    """Return a variable of the distribution Γ(2, 1) from 64 random bits: −ln of two uniform ones, multiplied."""
    one = (np.float64(word >> _32) + 0.5) / 4294967296.0
    return -_ln(one * ((np.float64(word & _ONES) + 0.5) / 4294967296.0))


@entry("uint64[:], float64[:], int64[:], out uint64[:, :] -> None")
def weighted_sets(elements, weights, offsets, signatures):
    """``signatures[d, slot]`` (uint64) = the consistent weighted sample of set d in that slot.

    Set d is ``elements[offsets[d]:offsets[d + 1]]`` (uint64, well mixed) with ``weights`` (float64 > 0). As Ioffe
    (2010, section 3) has it: with r and c of Γ(2, 1) and β uniform, all from the element and the slot,
    t = ⌊ln w / r + β⌋, ln y = r (t − β), and the sample is the pair (element, t), hashed, of the least
    a = c / (y eʳ). The logarithm of a is compared, so that no weight is too large or too small. An empty set gets
    EMPTY.
    """
    least = np.empty(signatures.shape[1], np.float64)
    for d in range(signatures.shape[0]):
        for slot in range(signatures.shape[1]):
            least[slot], signatures[d, slot] = np.inf, EMPTY
        for i in range(offsets[d], offsets[d + 1]):
            ln_weight = _ln(weights[i])
            for slot in range(signatures.shape[1]):
                word = mix64(elements[i] + np.uint64(slot + 1) * _GOLD)
                r = _gamma(word)
                word = mix64(word + _GOLD)
                ln_c = _ln(_gamma(word))
                word = mix64(word + _GOLD)
                beta = np.float64(word >> _11) / 9007199254740992.0
                t = np.floor(ln_weight / r + beta)
                ln_a = ln_c - r * (t - beta + 1.0)
                if ln_a > least[slot]:
                    continue
                sample = min(mix64(elements[i] + mix64(np.uint64(np.int64(t)) + _GOLD)), EMPTY - np.uint64(1))
                if ln_a < least[slot] or sample < signatures[d, slot]:
                    least[slot], signatures[d, slot] = ln_a, sample
