"""Hashes of tokens, characters and streams: with a key, nobody without it can construct two that are alike.

A token is the words x₀, x₁, … of eight bytes (the last one padded with zeros, which no token contains), and

    h = ((k + Σ kᵢ·xᵢ) mod 2¹²⁸) ÷ 2⁶⁴            k, kᵢ: 128 random bits each

is the multilinear hash of Lemire and Kaser (2014, "Strongly universal string hashing is fast"): the hashes of two
different tokens are independent and uniform, so they are equal with probability 2⁻⁶⁴, even for tokens chosen by an
adversary. A token of n > 8·WORDS bytes is first a polynomial in its words of seven bytes, modulo the prime 2⁶¹ − 1
at a random point, with n in front; two such tokens collide with probability ⌈n / 7⌉ / 2⁶¹, and the next step has
keys of its own.

The stream of a document has two such polynomials, over two independent hashes of each token and at independent
points: two different streams of n tokens are equal in both with probability at most ((n + 8) / 2⁶¹)². A polynomial
modulo 2⁶⁴ would fail: with any odd multiplier, it has the same value for a Thue–Morse text and for its complement.

docs/explanation/security.md describes the consequences for shingles, counts and copies.

ASCII text is hashed at several bytes per cycle. 64 bytes are classified at once; the token boundaries are the bit
changes of the mask. A token is hashed from eight-byte loads with 0x20 set in every byte: that lower-cases letters,
leaves digits unchanged, and maps the low line to 0x7F, which is not a token character, so two tokens hash alike
only if they are equal without case. The path for other text (``unicode.py``) writes its normalised tokens with the
same convention.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.bits import (
    bit_count,
    fold128,
    four_steps61,
    high_half,
    high_mask,
    load64,
    low_line_mask,
    multiply61,
    trailing_zeros,
    word_mask,
)
from neardup.kernels.compiler import entry, part
from neardup.kernels.declarations import Uint64s, record
from neardup.kernels.shingles import mix64

LOW_LINE = 0x5F
"""The one connector of ASCII: ``_``."""
PADDING = 64
"""Bytes that must be readable after the last byte of a text passed to these kernels."""

_ONE, _4, _8, _63, _64 = np.uint64(1), np.uint64(4), np.uint64(8), np.uint64(63), np.uint64(64)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
LOWER = np.uint64(0x2020202020202020)
"""Lower-cases eight ASCII token characters at once."""
AS_IS = np.uint64(0)
_KEY_A, _KEY_B, _KEY_C = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xD6E8FEB86659FD93),
    np.uint64(0xA0761D6478BD642F),
)


@part
def hash_token(data, start, end, fold):
    """Return the published hash (uint64) of ``data[start:end]``, not empty, or-ed with ``fold`` (LOWER, AS_IS).

    Above eight bytes it is easy to construct tokens with equal hashes: for counts use ``hashing.keyed_hash``.
    """
    size = np.uint64(end - start)
    if size <= _8:
        first = (load64(data, start) | fold) & (_ALL >> (_64 - _8 * size))
        return fold128(first ^ _KEY_A, _KEY_C + size * _KEY_B)
    last = load64(data, end - 8) | fold
    value = fold128((load64(data, start) | fold) ^ _KEY_A, last ^ (_KEY_C + size * _KEY_B))
    at = start + 8
    while at < end - 8:
        value = fold128(value ^ (load64(data, at) | fold), _KEY_B)
        at += 8
    return value


@part
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


@part
def write_edges(mask, carry, begin, edges, n):
    """Write where the runs of bits in ``mask`` (uint64) begin and end to ``edges[n:]``: (new n, its last bit).

    Bit 0 is at the place ``begin``; ``carry`` is the bit before it.
    """
    change = mask ^ ((mask << _ONE) | carry)
    count = bit_count(change)
    for block in range(0, 64, 8):
        if block >= count:
            break
        for k in range(block, block + 8):
            edges[n + k] = begin + trailing_zeros(change)
            change &= change - _ONE
    return n + count, mask >> _63


@part
def token_edges(data, start, end, edges):
    """Write the start and end of each token of ``data[start:end]`` to ``edges``; return the number of tokens.

    ``edges`` is int64[≥ end − start + 80]. Eight positions are always written at a time: the next block overwrites
    the excess, and the processor has no loop to predict.
    """
    n = 0
    carry = low_lines = np.uint64(0)
    at = start
    while at < end:
        mask = word_mask(data, at)
        low_lines |= low_line_mask(data, at)
        if end - at < 64:
            mask &= (_ONE << np.uint64(end - at)) - _ONE
        n, carry = write_edges(mask, carry, at, edges, n)
        at += 64
    if n & 1:
        edges[n] = end
        n += 1
    return _without_low_lines(data, edges, n >> 1) if low_lines != 0 else n >> 1


@part
def _without_low_lines(data, edges, n):
    """Cut ``_`` off at the edges of ``n`` tokens, in place; return how many have other characters."""
    left = 0
    for i in range(n):
        start, end = edges[2 * i], edges[2 * i + 1]
        while start < end and data[start] == LOW_LINE:
            start += 1
        while start < end and data[end - 1] == LOW_LINE:
            end -= 1
        if start < end:
            edges[2 * left], edges[2 * left + 1] = start, end
            left += 1
    return left


WORDS = 16
"""The number of eight-byte words that have a key of their own."""

_LONG, _LONG_ADD, _POINT = 2 + 2 * WORDS, 4 + 2 * WORDS, 6 + 2 * WORDS
SECOND = 7 + 2 * WORDS
"""The index of the first key for the second hash of a token, laid out like those of the first hash from 0 on."""
ODD = 2 * SECOND
"""The index of the odd multiplier for the second hash of a character, or of a token of at most eight bytes."""
TOKEN_KEYS = ODD + 1
BLOCK = 1 << 14
"""The units of a long document whose hashes for its stream are held at a time; a multiple of four."""

PRIME = np.uint64((1 << 61) - 1)
_GOLD = np.uint64(0x9E3779B97F4A7C15)
_SEVEN_BYTES = np.uint64((1 << 56) - 1)


@record
class Key(NamedTuple):
    """A key, expanded by ``neardup.text.keys``; the public one has no ``tokens`` and hashes as signatures do.

    ``tokens``: the keys of the first hash of a token (k low, k high, k₀ low, k₀ high, …, then those for long
    tokens: factor, summand, point), those of the second hash, and ODD. ``shingles``: the factor of the number of
    tokens in a text shorter than a shingle, then those of the positions, odd. ``stream``: two points.
    ``occurrences``: k low, k high, k₀ low, k₀ high.
    """

    tokens: Uint64s  # uint64[TOKEN_KEYS], or uint64[0]
    shingles: Uint64s  # uint64[1 + longest shingle]
    stream: Uint64s  # uint64[2], below PRIME
    occurrences: Uint64s  # uint64[4]


@part
def _add(low, high, k_low, k_high, x):
    """Return (low, high) of the 128-bit sum of (low, high) and k·x, modulo 2¹²⁸."""
    product = k_low * x
    total = low + product
    return total, high + high_half(k_low, x) + k_high * x + np.uint64(total < product)


@part
def top_of(k, x):
    """Return the upper 64 bits of k + k₀·x mod 2¹²⁸, for ``k`` = (k low, k high, k₀ low, k₀ high), x uint64."""
    _, high = _add(k[0], k[1], k[2], k[3], x)
    return high


@part
def _polynomial(data, start, end, fold, point):
    """Return the bytes of ``data[start:end]`` and their number as a polynomial at the point."""
    value = np.uint64(end - start)
    while start < end:
        word = (load64(data, start) | fold) & _SEVEN_BYTES
        if end - start < 7:
            word &= _ALL >> (_64 - _8 * np.uint64(end - start))
        value = multiply61(value, point) + word
        value = value - PRIME if value >= PRIME else value
        start += 7
    return value


@part
def keyed_hash(data, start, end, fold, k, at):
    """Return the hash of ``data[start:end]`` (not empty) by the keys from ``k[at]`` on, like ``hash_token``."""
    if end - start > 8 * WORDS:
        value = _polynomial(data, start, end, fold, k[at + _POINT])
        _, high = _add(k[at + _LONG_ADD], k[at + _LONG_ADD + 1], k[at + _LONG], k[at + _LONG + 1], value)
        return high
    low, high, i = k[at], k[at + 1], at + 2
    while end - start > 8:
        low, high = _add(low, high, k[i], k[i + 1], load64(data, start) | fold)
        start += 8
        i += 2
    last = (load64(data, start) | fold) & (_ALL >> (_64 - _8 * np.uint64(end - start)))
    _, high = _add(low, high, k[i], k[i + 1], last)
    return high


@entry("uint8[:], int64[:], int64, uint64, Key, out uint64[:] -> None")
def hash_tokens(data, edges, n, fold, key, out):
    """Write the hashes of the n tokens ``data[edges[2 i]:edges[2 i + 1]]`` to ``out`` (uint64), by any key."""
    k = key.tokens
    if k.size == 0:
        for i in range(n):
            out[i] = hash_token(data, edges[2 * i], edges[2 * i + 1], fold)
        return
    few = (k[0], k[1], k[2], k[3])
    for i in range(n):
        start, end = edges[2 * i], edges[2 * i + 1]
        size = np.uint64(end - start)
        if size <= _8:
            out[i] = top_of(few, (load64(data, start) | fold) & (_ALL >> (_64 - _8 * size)))
        else:
            out[i] = keyed_hash(data, start, end, fold, k, 0)


@entry("uint32[:], int64, Key, out uint64[:] -> None")
def hash_characters(codepoints, n, key, out):
    """Write the hashes of ``codepoints[:n]`` (uint32) to ``out`` (uint64), by any key."""
    hash_some_characters(codepoints, 0, n, key, out)


@part
def hash_some_characters(codepoints, begin, n, key, out):
    """Write the hashes of ``codepoints[begin:begin + n]`` (uint32) to ``out[:n]`` (uint64), by any key."""
    k = key.tokens
    if k.size == 0:
        for i in range(n):
            out[i] = mix64(_GOLD * (np.uint64(codepoints[begin + i]) + _ONE))
        return
    few = (k[0], k[1], k[2], k[3])
    for i in range(n):
        out[i] = top_of(few, np.uint64(codepoints[begin + i]) + _ONE)


@part
def _hash_thrice(data, edges, span, fold, k, out):
    """Compute the published hash and two independent keyed ones of 60 bits of some tokens, see ``hash_tokens``.

    ``span`` = (begin, end) of the tokens; ``k`` are the keys of tokens; ``out`` = (published, first, second),
    uint64 each. The published hashes are written from begin on, or left out if their array has no room, the others
    from 0 on. For a token of one word the second hash is a product with an odd number: two of them are equal once
    in 2⁵⁹ (Dietzfelbinger et al. 1997).
    """
    published, first, second = out
    few, odd = (k[0], k[1], k[2], k[3]), k[ODD]
    for j in range(span[1] - span[0]):
        i = span[0] + j
        start, end = edges[2 * i], edges[2 * i + 1]
        size = np.uint64(end - start)
        if published.size > 0:
            published[i] = hash_token(data, start, end, fold)
        if size <= _8:
            x = (load64(data, start) | fold) & (_ALL >> (_64 - _8 * size))
            first[j], second[j] = top_of(few, x) >> _4, (odd * x) >> _4
        else:
            first[j] = keyed_hash(data, start, end, fold, k, 0) >> _4
            second[j] = keyed_hash(data, start, end, fold, k, SECOND) >> _4


@part
def _hash_again(data, edges, span, fold, k, out):
    """Compute the two keyed hashes of ``_hash_thrice``; ``out`` = (hashes of all by ``hash_tokens``, two more)."""
    units, first, second = out
    odd = k[ODD]
    for j in range(span[1] - span[0]):
        i = span[0] + j
        start, end = edges[2 * i], edges[2 * i + 1]
        size = np.uint64(end - start)
        first[j] = units[i] >> _4
        if size <= _8:
            second[j] = (odd * ((load64(data, start) | fold) & (_ALL >> (_64 - _8 * size)))) >> _4
        else:
            second[j] = keyed_hash(data, start, end, fold, k, SECOND) >> _4


@part
def stream_of_characters(codepoints, n, key, halves):
    """Return the two ``stream_values`` of ``codepoints[:n]`` (uint32).

    ``halves`` = (first, second): scratch, uint64[BLOCK] each. So a long text needs no arrays of its length.
    """
    first, second = halves
    k = key.tokens
    few, odd = (k[0], k[1], k[2], k[3]), k[ODD]
    powers, values = _both_powers(key.stream), (np.uint64(n), np.uint64(n))
    for begin in range(0, n, BLOCK):
        size = min(BLOCK, n - begin)
        for j in range(size):
            x = np.uint64(codepoints[begin + j]) + _ONE
            first[j], second[j] = top_of(few, x) >> _4, (odd * x) >> _4
        values = _continued(first, second, size, powers, values)
    return values[0] % PRIME, values[1] % PRIME


@part
def stream_of_tokens(data, edges, n, fold, key, out, hashed):
    """Return the two ``stream_values`` of n tokens; ``out`` = (published, first, second), uint64.

    Writes the published hashes of the tokens, if there is room for them; or they are ``hashed`` by this key
    already, and only read. ``first`` and ``second`` are scratch, uint64[BLOCK] each.
    """
    powers, values = _both_powers(key.stream), (np.uint64(n), np.uint64(n))
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        if hashed:
            _hash_again(data, edges, (begin, end), fold, key.tokens, out)
        else:
            _hash_thrice(data, edges, (begin, end), fold, key.tokens, out)
        values = _continued(out[1], out[2], end - begin, powers, values)
    return values[0] % PRIME, values[1] % PRIME


@part
def powers61(point):
    """Return (p, p², p³, p⁴) modulo the prime."""
    square = multiply61(point, point)
    return point, square, multiply61(square, point), multiply61(square, square)


@part
def _both_powers(points):
    return powers61(points[0]), powers61(points[1])


@part
def stream_values(first, second, n, points):
    """Return the hashes ``first[:n]`` and ``second[:n]`` as polynomials at two points, with n in front.

    The hashes are uint64 below 2⁶⁰; the two values are below the prime.
    """
    a, b = _continued(first, second, n, _both_powers(points), (np.uint64(n), np.uint64(n)))
    return a % PRIME, b % PRIME


@part
def _continued(first, second, n, powers, values):
    """Continue two polynomials with the next n hashes; n is a multiple of four except at the end of a stream."""
    p, q = powers
    a, b = values
    zero = np.uint64(0)
    whole = n & ~3
    for i in range(0, whole, 4):
        a = four_steps61(a, p, first[i], first[i + 1], first[i + 2], first[i + 3])
        b = four_steps61(b, q, second[i], second[i + 1], second[i + 2], second[i + 3])
    if whole < n:  # missing values are 0, and n distinguishes their number
        last = (
            first[whole],
            first[whole + 1] if whole + 1 < n else zero,
            first[whole + 2] if whole + 2 < n else zero,
        )
        a = four_steps61(a, p, last[0], last[1], last[2], zero)
        last = (
            second[whole],
            second[whole + 1] if whole + 1 < n else zero,
            second[whole + 2] if whole + 2 < n else zero,
        )
        b = four_steps61(b, q, last[0], last[1], last[2], zero)
    return a, b


@part
def occurrence(value, times, k):
    """Return the hash (uint64) of the occurrence of ``value`` after ``times`` (≥ 1), by ``Key.occurrences``."""
    return mix64(value + top_of(k, times))
