"""Seals are SipHash-2-4 with 128 bits: compared with a plain twin, which has the published values."""

from __future__ import annotations

import hashlib
import random

import numpy as np

from neardup.text.keys import key_of, siphash, stream_seals

WORD = (1 << 64) - 1


def left(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) & WORD


def twin(key: bytes, message: bytes) -> bytes:
    """SipHash-2-4 with 128 bits of any message, by the definition (Aumasson and Bernstein 2012)."""
    low, high = (int.from_bytes(key[place : place + 8], "little") for place in (0, 8))
    v = [
        low ^ 0x736F6D6570736575,
        high ^ 0x646F72616E646F6D ^ 0xEE,
        low ^ 0x6C7967656E657261,
        high ^ 0x7465646279746573,
    ]

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = (v[0] + v[1]) & WORD
            v[1] = left(v[1], 13) ^ v[0]
            v[0] = left(v[0], 32)
            v[2] = (v[2] + v[3]) & WORD
            v[3] = left(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & WORD
            v[3] = left(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & WORD
            v[1] = left(v[1], 17) ^ v[2]
            v[2] = left(v[2], 32)

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) & 255])
    for place in range(0, len(padded), 8):
        word = int.from_bytes(padded[place : place + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    found = b""
    for register, mark in ((2, 0xEE), (1, 0xDD)):
        v[register] ^= mark
        rounds(4)
        found += (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")
    return found


def test_the_twin_has_the_published_value() -> None:
    assert twin(bytes(range(16)), b"").hex() == "a3817f04ba25a8e66df67214c7550293"


def test_seals_are_those_of_the_twin() -> None:
    draw = random.Random(5)
    key, messages = draw.randbytes(16), [draw.randbytes(16) for _ in range(50)]
    words = np.frombuffer(b"".join(messages), "<u8").reshape(-1, 2)
    found = siphash(words, np.frombuffer(key, "<u8"))
    assert [row.astype("<u8").tobytes() for row in found] == [twin(key, message) for message in messages]


def test_keys_have_seals_of_their_own() -> None:
    keys = np.arange(2000, dtype=np.uint64).reshape(-1, 2)
    one, other = (stream_seals(keys, key_of(bytes([number]) * 32)) for number in (1, 2))
    assert len(np.unique(one, axis=0)) == len(keys)
    assert not (one == other).any()


def test_the_numbers_of_a_secret_are_those_of_every_release() -> None:
    parts = [part.tobytes() for part in key_of(bytes(range(32)))]
    assert [len(part) // 8 for part in parts] == [79, 65, 2, 4]
    # collections and fingerprints hold hashes under the numbers of their secret
    assert hashlib.sha256(b"".join(parts)).hexdigest().startswith("54a50668b523e16e4700b822")
