"""The keys of hashes: the public one of signatures, and those that are drawn for what is counted.

A key is 32 secret bytes, spelled out to the numbers that the kernels take by SHAKE-256. A run draws its own from
the system's generator; two texts are compared under one that belongs to the process; a collection keeps one in its
file.
No result depends on which it is.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from functools import cache

import numpy as np

from neardup.errors import SettingError
from neardup.kernels.text.keyed import ODD, PRIME, SECOND, TOKEN_KEYS, WORDS, Key
from neardup.tables import UInt64s

BYTES = 32
"""Bytes of a secret."""
VARIABLE = "NEARDUP_KEY"
"""The environment variable that takes the place of the generator, to repeat what failed under some key."""
MOST_POSITIONS = 64
"""Tokens (or characters) that a shingle may have."""

_GOLD = 0x9E37_79B9_7F4A_7C15
_WORD = (1 << 64) - 1
_POINT_OF_LONG = 6 + 2 * WORDS


def new_secret() -> bytes:
    """32 bytes from the system's generator, or those of NEARDUP_KEY. Raises SettingError if it is no key."""
    given = os.environ.get(VARIABLE)
    if given is None:
        return secrets.token_bytes(BYTES)
    try:
        secret = bytes.fromhex(given)
    except ValueError:
        secret = b""
    if len(secret) != BYTES:
        raise SettingError(
            f"{VARIABLE} in the environment is no key",
            f"{2 * BYTES} hexadecimal digits, to repeat a failure",
            "Remove it: a key is drawn by itself",
        )
    return secret


def key_of(secret: bytes) -> Key:
    """The key of a secret.

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
    """A key that nobody has seen before."""
    return key_of(new_secret())


@cache
def process_key() -> Key:
    """The key of this process, for texts that are compared in it. Drawn when it is first asked for."""
    return new_key()


def salt() -> np.uint64:
    """64 secret bits of this process, for hash tables."""
    return np.uint64(process_key().occurrences[0])


def _published() -> Key:
    factors = [_GOLD, *(_mix((_GOLD * (position + 1)) & _WORD) | 1 for position in range(MOST_POSITIONS))]
    nothing = np.empty(0, np.uint64)
    return _key(nothing, np.array(factors, np.uint64), np.zeros(2, np.uint64), np.zeros(4, np.uint64))


def _mix(value: int) -> int:
    """MurmurHash3's 64-bit finaliser, ``kernels.shingles.mix64``."""
    value ^= value >> 33
    value = value * 0xFF51_AFD7_ED55_8CCD & _WORD
    value ^= value >> 33
    value = value * 0xC4CE_B9FE_1A85_EC53 & _WORD
    return value ^ (value >> 33)


def _key(tokens: UInt64s, shingles: UInt64s, stream: UInt64s, occurrences: UInt64s) -> Key:
    for part in (tokens, shingles, stream, occurrences):
        part.flags.writeable = False
    return Key(tokens, shingles, stream, occurrences)


PUBLIC = _published()
"""The key of what is published: signatures, samples of ``families``, known-answer vectors."""
