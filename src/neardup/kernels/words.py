"""ASCII text → 64-bit token hashes, at several bytes a cycle.

64 bytes are classified at once; the token boundaries are the bit changes of the mask. A token is hashed
from eight-byte loads with 0x20 set in every byte: that lower-cases letters, leaves digits, and maps the low
line to 0x7F, which is no token character, so two tokens hash alike only if they are equal without case. The
path for other text (unicode.py) writes its normalised tokens with the same convention.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.memory import fold128, high_mask, load64, trailing_zeros, word_mask

PADDING = 64
"""Bytes that must be readable behind the last byte of a text given to these kernels."""

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
    """uint64 hash of ``data[start:end]`` (not empty), each byte or-ed with ``fold`` (LOWER or AS_IS)."""
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
    """True when no byte of ``data[start:end]`` is above 0x7F."""
    at = start
    while at + 64 <= end:
        if high_mask(data, at) != 0:
            return False
        at += 64
    if at < end:
        return (high_mask(data, at) & ((_ONE << np.uint64(end - at)) - _ONE)) == 0
    return True


@njit(cache=True, nogil=True)
def ascii_tokens(data, start, end, out):
    """Hash the tokens of ``data[start:end]`` into ``out`` (uint64, ≥ (end − start + 1) / 2); their number."""
    edges = 0  # boundaries seen so far: even = outside a token
    token = start
    carry = np.uint64(0)
    at = start
    while at < end:
        mask = word_mask(data, at)
        if end - at < 64:
            mask &= (_ONE << np.uint64(end - at)) - _ONE
        change = mask ^ ((mask << _ONE) | carry)
        carry = mask >> _63
        while change != 0:
            edge = at + trailing_zeros(change)
            change &= change - _ONE
            if edges & 1:
                out[edges >> 1] = hash_token(data, token, edge, LOWER)
            else:
                token = edge
            edges += 1
        at += 64
    if edges & 1:
        out[edges >> 1] = hash_token(data, token, end, LOWER)
        edges += 1
    return edges >> 1
