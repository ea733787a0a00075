"""Machine-word operations missing in Numba, and bit maps of two levels.

The operations are unaligned loads, 64-byte class masks and 64x64→128 products: in compiled kernels those of
``intrinsics.py``, for Python those of ``plain_bits.py``. Compiled ones do not check indexes: callers keep 64
readable bytes from ``index`` on.

A bit map has a second level, a bit for each word that is not 0: two look-ups find the next set bit.
"""

import numpy as np

from neardup.kernels import plain_bits
from neardup.kernels.compiler import Operation, part

load64 = Operation(plain_bits.load64)
word_mask = Operation(plain_bits.word_mask)
low_line_mask = Operation(plain_bits.low_line_mask)
white_mask = Operation(plain_bits.white_mask)
odd_mask = Operation(plain_bits.odd_mask)
high_mask = Operation(plain_bits.high_mask)
fold128 = Operation(plain_bits.fold128)
high_half = Operation(plain_bits.high_half)
multiply61 = Operation(plain_bits.multiply61)
four_steps61 = Operation(plain_bits.four_steps61)
trailing_zeros = Operation(plain_bits.trailing_zeros)
bit_count = Operation(plain_bits.bit_count)
add_bits = Operation(plain_bits.add_bits)

_ONE, _63, _ALL = np.uint64(1), np.int64(63), np.uint64(0xFFFFFFFFFFFFFFFF)


@part
def no_bits(n):
    """Return (bits, words) of n bits, none set."""
    return np.zeros((n >> 6) + 1, np.uint64), np.zeros((n >> 12) + 1, np.uint64)


@part(inline=True)
def set_bit(bits, words, at):
    """Set bit ``at``."""
    bits[at >> 6] |= _ONE << np.uint64(at & _63)
    words[at >> 12] |= _ONE << np.uint64((at >> 6) & _63)


@part
def _next_bit(bits, at, end):
    """Return the first set bit of ``bits`` (uint64) in [at, end), or end."""
    if at >= end:
        return end
    word = at >> 6
    rest = bits[word] & (_ALL << np.uint64(at & _63))
    last = (end - 1) >> 6
    while rest == 0:
        word += 1
        if word > last:
            return end
        rest = bits[word]
    return min(end, (word << 6) + trailing_zeros(rest))


@part
def next_set(bits, words, at, end):
    """Return the first set bit of ``bits`` in [at, end), or end; ``words`` has a bit for each non-zero word."""
    if at >= end:
        return end
    boundary = min(end, ((at >> 6) + 1) << 6)
    found = _next_bit(bits, at, boundary)
    if found < boundary or boundary == end:
        return found
    word = _next_bit(words, boundary >> 6, ((end - 1) >> 6) + 1)
    return _next_bit(bits, word << 6, end) if word << 6 < end else end
