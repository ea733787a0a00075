"""The operations of ``bits.py`` in plain Python, for kernels that are interpreted (NUMBA_DISABLE_JIT=1).

They return the types of the compiled ones and wrap around like them. Unlike those they check their indexes.
"""

import numpy as np
from numpy.typing import NDArray

PRIME61 = (1 << 61) - 1
_LOW = (1 << 64) - 1
_WORD_BYTES = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")


def _bytes_from(data: NDArray[np.uint8], index: int, count: int) -> bytes:
    index = int(index)
    if not 0 <= index <= len(data) - count:
        raise IndexError(f"{count} bytes from {index} on, in an array of {len(data)}")
    return data[index : index + count].tobytes()


def _mask(bits: list[bool]) -> np.uint64:
    return np.uint64(sum(bit << place for place, bit in enumerate(bits)))


def load64(data: NDArray[np.uint8], index: int) -> np.uint64:
    """Return eight bytes as a little-endian word."""
    return np.uint64(int.from_bytes(_bytes_from(data, index, 8), "little"))


def word_mask(data: NDArray[np.uint8], index: int) -> np.uint64:
    """Return the bits of the bytes that are letters, digits or ``_``."""
    return _mask([byte in _WORD_BYTES for byte in _bytes_from(data, index, 64)])


def low_line_mask(data: NDArray[np.uint8], index: int) -> np.uint64:
    """Return the bits of the bytes that are ``_``."""
    return _mask([byte == 0x5F for byte in _bytes_from(data, index, 64)])


def white_mask(data: NDArray[np.uint8], index: int) -> np.uint64:
    """Return the bits of the bytes that are ASCII white space."""
    return _mask([byte == 32 or 9 <= byte <= 13 for byte in _bytes_from(data, index, 64)])


def odd_mask(data: NDArray[np.uint8], index: int) -> np.uint64:
    """Return the bits of the bytes that are NUL or not ASCII."""
    return _mask([byte == 0 or byte >= 128 for byte in _bytes_from(data, index, 64)])


def high_mask(data: NDArray[np.uint8], index: int) -> np.uint64:
    """Return the bits of the bytes that are not ASCII."""
    return _mask([byte >= 128 for byte in _bytes_from(data, index, 64)])


def fold128(a: int, b: int) -> np.uint64:
    """Return the high half of the product, xor its low half."""
    product = int(a) * int(b)
    return np.uint64((product >> 64) ^ (product & _LOW))


def high_half(a: int, b: int) -> np.uint64:
    """Return the upper 64 bits of the product."""
    return np.uint64(int(a) * int(b) >> 64)


def multiply61(a: int, b: int) -> np.uint64:
    """Return the product modulo 2⁶¹ − 1."""
    return np.uint64(int(a) * int(b) % PRIME61)


def four_steps61(value: int, powers: tuple[int, int, int, int], a: int, b: int, c: int, d: int) -> np.uint64:
    """Return the polynomial modulo 2⁶¹ − 1, folded twice as in the compiled one: it may be a little larger."""
    p1, p2, p3, p4 = map(int, powers)
    total = int(value) * p4 + int(a) * p3 + int(b) * p2 + int(c) * p1 + int(d)
    for _ in range(2):
        total = (total & PRIME61) + (total >> 61)
    return np.uint64(total)


def trailing_zeros(word: int) -> int:
    """Return the place of the lowest set bit, 64 for 0."""
    word = int(word)
    return (word & -word).bit_length() - 1 if word else 64


def bit_count(word: int) -> int:
    """Return the number of set bits."""
    return int(word).bit_count()


def add_bits(counts: NDArray[np.uint8], words: NDArray[np.uint64], index: int) -> None:
    """Add each bit of eight words to its counter."""
    data = np.unpackbits(words[index : index + 8].astype("<u8").view(np.uint8), bitorder="little")
    counts += data.reshape(8, 64).sum(axis=0, dtype=np.uint8)
