"""The keys of hashes: the public key of signatures, and random keys for exact counts; and seals of stream keys.

A key derives from 32 secret bytes, which SHAKE-256 expands to the numbers that the kernels use. A run draws its
key from the system's generator; a comparison of two texts uses the key of the process; a collection keeps one in
its file. No result depends on the choice of key.

A stream key is a polynomial of the text under a secret key. An attacker who sees many of them could solve for that
key and then forge exact copies. What is stored is therefore a *seal*: SipHash-2-4 with 128 bits of the stream key,
under a key derived from the same secret. It is a pseudo-random function: seals show only which documents are
copies of each other.
"""

import hashlib
from functools import cache

import numpy as np

from neardup.kernels.text import ODD, PRIME, SECOND, TOKEN_KEYS, WORDS
from neardup.kernels.text import Key as Key
from neardup.runtime import new_secret
from neardup.tables import UInt64s

MOST_POSITIONS = 64
"""The most tokens (or characters) in a shingle."""

_GOLD = 0x9E37_79B9_7F4A_7C15
_WORD = (1 << 64) - 1
_POINT_OF_LONG = 6 + 2 * WORDS

_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)

_LENGTH = np.uint64(16 << 56)
"""The last word: the length of the message in its highest byte."""


def key_of(secret: bytes) -> Key:
    """Return the key of a secret.

    >>> key_of(bytes(32)).shingles.size
    65
    """
    lengths = (TOKEN_KEYS, 1 + MOST_POSITIONS, 2, 4)
    numbers = np.frombuffer(hashlib.shake_256(b"neardup key 1" + secret).digest(8 * sum(lengths)), "<u8")
    tokens, shingles, stream, occurrences = (
        part.astype(np.uint64) for part in np.split(numbers, np.cumsum(lengths)[:-1])
    )
    for first in (0, SECOND):
        tokens[first + _POINT_OF_LONG] %= PRIME  # the bias is 2⁻⁶¹
    tokens[ODD] |= np.uint64(1)
    shingles[1:] |= np.uint64(1)
    return _key(tokens, shingles, stream % PRIME, occurrences)


def new_key() -> Key:
    """Return a new random key."""
    return key_of(new_secret())


@cache
def process_key() -> Key:
    """Return the key of this process, for texts compared within it. Drawn on first use."""
    return new_key()


def salt() -> np.uint64:
    """Return 64 secret bits of this process, for hash tables."""
    return np.uint64(process_key().occurrences[0])


def _published_key() -> Key:
    factors = [_GOLD, *(_mix((_GOLD * (position + 1)) & _WORD) | 1 for position in range(MOST_POSITIONS))]
    nothing = np.empty(0, np.uint64)
    return _key(nothing, np.array(factors, np.uint64), np.zeros(2, np.uint64), np.zeros(4, np.uint64))


def _mix(value: int) -> int:
    """Apply MurmurHash3's 64-bit finaliser, the same as ``kernels.shingles.mix64``."""
    value ^= value >> 33
    value = value * 0xFF51_AFD7_ED55_8CCD & _WORD
    value ^= value >> 33
    value = value * 0xC4CE_B9FE_1A85_EC53 & _WORD
    return value ^ (value >> 33)


def _key(tokens: UInt64s, shingles: UInt64s, stream: UInt64s, occurrences: UInt64s) -> Key:
    for part in (tokens, shingles, stream, occurrences):
        part.flags.writeable = False
    return Key(tokens, shingles, stream, occurrences)


PUBLIC = _published_key()
"""The key of everything published: signatures, samples of ``families``, known-answer vectors."""


def stream_seals(keys: UInt64s, key: Key) -> UInt64s:
    """Return the seals uint64[n, 2] of stream keys uint64[n, 2] that were made under ``key``.

    >>> from neardup.text.keys import key_of
    >>> seals = stream_seals(np.array([[1, 2], [1, 3], [1, 2]], np.uint64), key_of(bytes(32)))
    >>> bool((seals[0] == seals[2]).all()), bool((seals[0] == seals[1]).any())
    (True, False)
    """
    digest = hashlib.blake2b(key.occurrences.tobytes() + key.stream.tobytes(), digest_size=16, person=b"seals")
    return siphash(keys, np.frombuffer(digest.digest(), "<u8"))


def sealed_hashes(hashes: UInt64s, key: Key) -> UInt64s:
    """Return the first words of the seals of hashes, uint64[n], that were made under ``key``."""
    return stream_seals(np.column_stack((hashes, hashes)), key)[:, 0].copy()


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
    digests = np.empty((len(words), 2), np.uint64)
    for place, (register, mark) in enumerate(((2, 0xEE), (1, 0xDD))):
        state[register] ^= np.uint64(mark)
        _rounds(state, 4)
        digests[:, place] = state[0] ^ state[1] ^ state[2] ^ state[3]
    return digests


def _rounds(state: list[UInt64s], count: int) -> None:
    a, b, c, d = state
    for _ in range(count):
        a += b
        c += d
        b[:], d[:] = _rotate_left(b, 13) ^ a, _rotate_left(d, 16) ^ c
        a[:] = _rotate_left(a, 32)
        c += b
        a += d
        b[:], d[:] = _rotate_left(b, 17) ^ c, _rotate_left(d, 21) ^ a
        c[:] = _rotate_left(c, 32)


def _rotate_left(words: UInt64s, bits: int) -> UInt64s:
    turned: UInt64s = (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
    return turned
