"""Stream keys in a form that may be stored: equal where the keys are equal, and otherwise random.

A stream key is a polynomial of the text under a secret key. An attacker who sees many of them could solve for that
key and then forge exact copies. A seal is SipHash-2-4 with 128 bits of the stream key, under a key derived from
the same secret. It is a pseudo-random function: seals show only which documents are copies of each other.
"""

from __future__ import annotations

import hashlib

import numpy as np

from neardup.kernels.text.keyed import Key
from neardup.tables import UInt64s

_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_LENGTH = np.uint64(16 << 56)
"""The last word: the length of the message in its highest byte."""


def sealed(keys: UInt64s, key: Key) -> UInt64s:
    """Return the seals uint64[n, 2] of stream keys uint64[n, 2] that were made under ``key``.

    >>> from neardup.text.keys import key_of
    >>> seals = sealed(np.array([[1, 2], [1, 3], [1, 2]], np.uint64), key_of(bytes(32)))
    >>> bool((seals[0] == seals[2]).all()), bool((seals[0] == seals[1]).any())
    (True, False)
    """
    digest = hashlib.blake2b(key.occurrences.tobytes() + key.stream.tobytes(), digest_size=16, person=b"seals")
    return siphash(keys, np.frombuffer(digest.digest(), "<u8"))


def siphash(words: UInt64s, key: UInt64s) -> UInt64s:
    """Return SipHash-2-4 with 128 bits, uint64[n, 2], of n messages of 16 bytes: ``words`` (uint64[n, 2])."""
    low, high = (np.uint64(int(part)) for part in key)
    state = [np.full(len(words), start, np.uint64) for start in _START]
    for place, part in enumerate((low, high, low, high)):
        state[place] ^= part
    state[1] ^= np.uint64(0xEE)
    for word in (words[:, 0], words[:, 1], np.full(len(words), _LENGTH)):
        state[3] ^= word
        _rounds(state, 2)
        state[0] ^= word
    found = np.empty((len(words), 2), np.uint64)
    for place, (register, mark) in enumerate(((2, 0xEE), (1, 0xDD))):
        state[register] ^= np.uint64(mark)
        _rounds(state, 4)
        found[:, place] = state[0] ^ state[1] ^ state[2] ^ state[3]
    return found


def _rounds(state: list[UInt64s], count: int) -> None:
    a, b, c, d = state
    for _ in range(count):
        a += b
        c += d
        b[:], d[:] = _left(b, 13) ^ a, _left(d, 16) ^ c
        a[:] = _left(a, 32)
        c += b
        a += d
        b[:], d[:] = _left(b, 17) ^ c, _left(d, 21) ^ a
        c[:] = _left(c, 32)


def _left(words: UInt64s, bits: int) -> UInt64s:
    turned: UInt64s = (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
    return turned
