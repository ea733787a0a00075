"""Token hashes → shingle hashes, and the 128-bit key of a whole token stream.

A shingle hash is a multilinear sum Σ kⱼ·tokenⱼ mod 2⁶⁴ with odd kⱼ, finalised by a bijective mix (Lemire and Kaser
2010: n-gram hashes must be finalised before their bits are used as ranks). The sum has no dependency from one
shingle to the next, so it runs in vector lanes, unlike a rolling hash. Published hashes have published kⱼ, one for
every position; hashes used for counts have the kⱼ of a key (text/hashing.py).
"""

import numpy as np

from neardup.kernels.compiler import entry, part

_33 = np.uint64(33)
_MIX_A, _MIX_B = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_GOLD = np.uint64(0x9E3779B97F4A7C15)
_STREAM_A, _STREAM_B = np.uint64(0x8EBC6AF09C88C6E3), np.uint64(0x589965CC75374CC3)


@part(inline=True)
def mix64(value):
    """MurmurHash3's 64-bit finaliser: a bijection in which every input bit moves every output bit."""
    value ^= value >> _33
    value *= _MIX_A
    value ^= value >> _33
    value *= _MIX_B
    value ^= value >> _33
    return value


@entry("uint64[:], int64, int64, uint64[:], out uint64[:] -> int64")
def shingle_hashes(tokens, n_tokens, length, factors, out):
    """Write the hash of every shingle of ``tokens[:n_tokens]`` to ``out``; return the number.

    uint64 in and out, in text order, repeats included. Fewer than ``length`` tokens make one shingle, the whole
    tuple, whose hash also includes the number of tokens; zero tokens make none. ``factors`` (uint64, odd except
    the first) are those of a ``Key``: of the number of tokens, then of the positions.
    """
    if n_tokens == 0:
        return 0
    if n_tokens < length:
        value = factors[0] * np.uint64(n_tokens)
        for position in range(n_tokens):
            value += factors[1 + position] * tokens[position]
        out[0] = mix64(value)
        return 1
    n = n_tokens - length + 1
    first = 0
    if length >= 4:  # four positions in one pass: the cost is in the passes over memory
        first = 4
        k0, k1, k2, k3 = factors[1], factors[2], factors[3], factors[4]
        for i in range(n):
            out[i] = k0 * tokens[i] + k1 * tokens[i + 1] + k2 * tokens[i + 2] + k3 * tokens[i + 3]
    else:
        for i in range(n):
            out[i] = np.uint64(0)
    for position in range(first, length):
        factor = factors[1 + position]
        for i in range(n):
            out[i] += factor * tokens[i + position]
    for i in range(n):
        out[i] = mix64(out[i])
    return n


@entry("uint64[:], int64 -> (uint64, uint64)")
def stream_key(tokens, n_tokens):
    """Return the 128-bit key (two uint64) of a sequence of published token hashes; it is published, too.

    Two polynomials in the token hashes with different multipliers, each in four interleaved lanes so that the
    multiplications overlap. Equal sequences have equal keys, but other sequences with the same key can be
    constructed: to search for copies, use ``hashing.stream_values``.
    """
    a0, a1, a2, a3 = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    b0, b1, b2, b3 = np.uint64(5), np.uint64(6), np.uint64(7), np.uint64(8)
    whole = n_tokens & ~3
    for i in range(0, whole, 4):
        a0 = a0 * _STREAM_A + tokens[i]
        a1 = a1 * _STREAM_A + tokens[i + 1]
        a2 = a2 * _STREAM_A + tokens[i + 2]
        a3 = a3 * _STREAM_A + tokens[i + 3]
        b0 = (b0 ^ tokens[i]) * _STREAM_B
        b1 = (b1 ^ tokens[i + 1]) * _STREAM_B
        b2 = (b2 ^ tokens[i + 2]) * _STREAM_B
        b3 = (b3 ^ tokens[i + 3]) * _STREAM_B
    for i in range(whole, n_tokens):
        a0 = a0 * _STREAM_A + tokens[i]
        b0 = (b0 ^ tokens[i]) * _STREAM_B
    count = np.uint64(n_tokens) * _GOLD
    high = mix64(mix64(mix64(mix64(a0 + count) ^ a1) + a2) ^ a3)
    low = mix64(mix64(mix64(mix64(b0 ^ count) + b1) ^ b2) + b3)
    return high, low


@entry("uint64[:], out uint64[:] -> None")
def mix_all(values, out):
    """``out[i]`` = mix64 of ``values[i]`` (uint64): spreads ids that count up or share their low bits."""
    for i in range(values.size):
        out[i] = mix64(values[i])
