"""ASCII text → 64-bit token hashes, at several bytes per cycle.

64 bytes are classified at once; the token boundaries are the bit changes of the mask. A token is hashed from
eight-byte loads with 0x20 set in every byte: that lower-cases letters, leaves digits unchanged, and maps the low
line to 0x7F, which is not a token character, so two tokens hash alike only if they are equal without case. The
path for other text (unicode.py) writes its normalised tokens with the same convention.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.bits import bit_count, fold128, high_mask, load64, trailing_zeros, word_mask
from neardup.kernels.compiled import njit

PADDING = 64
"""Bytes that must be readable after the last byte of a text passed to these kernels."""

_ONE, _EIGHT, _63, _64 = np.uint64(1), np.uint64(8), np.uint64(63), np.uint64(64)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
LOWER = np.uint64(0x2020202020202020)
"""Lower-cases eight ASCII token characters at once."""
AS_IS = np.uint64(0)
_KEY_A, _KEY_B, _KEY_C = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xD6E8FEB86659FD93),
    np.uint64(0xA0761D6478BD642F),
)


@njit(cache=True, nogil=True)
def hash_token(data, start, end, fold):
    """Return the published hash (uint64) of ``data[start:end]``, not empty, or-ed with ``fold`` (LOWER, AS_IS).

    Above eight bytes it is easy to construct tokens with equal hashes: for counts use ``keyed.keyed_hash``.
    """
    size = np.uint64(end - start)
    if size <= _EIGHT:
        first = (load64(data, start) | fold) & (_ALL >> (_64 - _EIGHT * size))
        return fold128(first ^ _KEY_A, _KEY_C + size * _KEY_B)
    last = load64(data, end - 8) | fold
    value = fold128((load64(data, start) | fold) ^ _KEY_A, last ^ (_KEY_C + size * _KEY_B))
    at = start + 8
    while at < end - 8:
        value = fold128(value ^ (load64(data, at) | fold), _KEY_B)
        at += 8
    return value


@njit(cache=True, nogil=True)
def is_ascii(data, start, end):
    """Return True if no byte of ``data[start:end]`` is above 0x7F."""
    at = start
    while at + 64 <= end:
        if high_mask(data, at) != 0:
            return False
        at += 64
    if at < end:
        return (high_mask(data, at) & ((_ONE << np.uint64(end - at)) - _ONE)) == 0
    return True


@njit(cache=True, nogil=True)
def token_edges(data, start, end, edges):
    """Write the start and end of each token of ``data[start:end]`` to ``edges``; return the number of tokens.

    ``edges`` is int64[≥ end − start + 80]. Eight positions are always written at a time: the next block overwrites
    the excess, and the processor has no loop to predict.
    """
    n = 0
    carry = np.uint64(0)
    at = start
    while at < end:
        mask = word_mask(data, at)
        if end - at < 64:
            mask &= (_ONE << np.uint64(end - at)) - _ONE
        change = mask ^ ((mask << _ONE) | carry)
        carry = mask >> _63
        count = bit_count(change)
        for block in range(0, 64, 8):
            if block >= count:
                break
            for k in range(block, block + 8):
                edges[n + k] = at + trailing_zeros(change)
                change &= change - _ONE
        n += count
        at += 64
    if n & 1:
        edges[n] = end
        n += 1
    return n >> 1
