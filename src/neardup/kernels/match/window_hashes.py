"""How far two places of a text agree: hashes of windows of any length, from one pass over the tokens.

A window is hashed as a polynomial modulo the prime 2⁶¹ − 1 (Karp and Rabin 1987), from the hashes of two prefixes
of the text, at a point unknown to the author of the text. Two different windows of ℓ tokens have equal hashes with
probability ℓ / 2⁶¹; callers that keep a result compare it token by token (``equal``).
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.bits import multiply61
from neardup.kernels.compiled import njit

_PRIME = np.uint64((1 << 61) - 1)
_ONE = np.uint64(1)
_DOUBLINGS = 31
_NEAR = 16
"""Tokens compared one by one before hashes are used."""


@njit(cache=True, nogil=True)
def base_of(salt):
    """Return the point at which windows are polynomials, from a random uint64: below the prime."""
    return salt % (_PRIME - _ONE) + _ONE


@njit(cache=True, nogil=True)
def prefix_hashes(tokens, base):
    """Return uint64[tokens + 1]: the hash of the first k tokens (int32 names), for each k."""
    prefix = np.empty(tokens.size + 1, np.uint64)
    value = np.uint64(0)
    prefix[0] = value
    for i in range(tokens.size):
        value = multiply61(value, base) + np.uint64(tokens[i]) + _ONE
        value = value - _PRIME if value >= _PRIME else value
        prefix[i + 1] = value
    return prefix


@njit(cache=True, nogil=True)
def power_of(length, base):
    """Return the base to the power ``length``, which ``window_hash`` needs."""
    power, square = _ONE, base
    while length > 0:
        if length & 1:
            power = multiply61(power, square)
        square = multiply61(square, square)
        length >>= 1
    return power


@njit(cache=True, nogil=True)
def doubled_powers(base):
    """Return uint64[31]: ``power_of`` the lengths 1, 2, 4, …"""
    powers = np.empty(_DOUBLINGS, np.uint64)
    powers[0] = base
    for k in range(1, _DOUBLINGS):
        powers[k] = multiply61(powers[k - 1], powers[k - 1])
    return powers


@njit(cache=True, nogil=True, inline="always")
def window_hash(prefix, at, length, power):
    """Return the hash (uint64, below 2⁶¹) of the ``length`` tokens from place ``at`` on."""
    before = multiply61(prefix[at], power)
    value = prefix[at + length]
    return value - before if value >= before else value + (_PRIME - before)


@njit(cache=True, nogil=True)
def equal(tokens, i, j, length):
    """Return how many of the ``length`` tokens from places i and j on are equal, up to the first difference."""
    for k in range(length):
        if tokens[i + k] != tokens[j + k]:
            return k
    return length


@njit(cache=True, nogil=True)
def agree_after(tokens, prefix, powers, i, j, most):
    """Return how many tokens from places i and j on are equal, at most ``most``; O(log) by hashes."""
    near = min(_NEAR, most)
    length = equal(tokens, i, j, near)
    if length < near or length == most:
        return length
    k = 4
    while length + (1 << k) <= most and _alike(prefix, i + length, j + length, k, powers):
        length += 1 << k
        k += 1
    while k >= 0:
        if length + (1 << k) <= most and _alike(prefix, i + length, j + length, k, powers):
            length += 1 << k
        k -= 1
    return length


@njit(cache=True, nogil=True)
def agree_before(tokens, prefix, powers, i, j, most):
    """Return how many tokens before places i and j are equal, backwards, at most ``most``."""
    length = 0
    while length < min(_NEAR, most) and tokens[i - length - 1] == tokens[j - length - 1]:
        length += 1
    if length < _NEAR or length == most:
        return length
    k = 4
    while length + (1 << k) <= most and _alike(prefix, i - length - (1 << k), j - length - (1 << k), k, powers):
        length += 1 << k
        k += 1
    while k >= 0:
        step = 1 << k
        if length + step <= most and _alike(prefix, i - length - step, j - length - step, k, powers):
            length += step
        k -= 1
    return length


@njit(cache=True, nogil=True)
def _alike(prefix, i, j, k, powers):
    """Return whether the windows of 2^k tokens from places i and j on have the same hash."""
    return window_hash(prefix, i, 1 << k, powers[k]) == window_hash(prefix, j, 1 << k, powers[k])
