"""Posting lists as bytes by the plainest means: twins of ``kernels/postings.py``, written to be read."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

FNV_START, FNV_PRIME, WORD = 0xCBF2_9CE4_8422_2325, 0x0000_0100_0000_01B3, 1 << 64


def fnv(data: bytes) -> int:
    """FNV-1a, 64 bits."""
    found = FNV_START
    for byte in data:
        found = (found ^ byte) * FNV_PRIME % WORD
    return found


def checksum(data: bytes) -> bytes:
    """Of every fourth byte, four times (what is left of four belongs to the first), folded to 32 bits."""
    whole = len(data) - len(data) % 4
    first, *others = (data[lane:whole:4] for lane in range(4))
    found = fnv(first + data[whole:])
    for lane in others:
        found = (found * FNV_PRIME + fnv(lane)) % WORD
    return ((found ^ found >> 32) % (1 << 32)).to_bytes(4, "little")


def number(value: int) -> bytes:
    """7 bits a byte, the low ones first; the high bit says that more follow."""
    low, rest = value % 128, value // 128
    return bytes([low]) if not rest else bytes([128 + low]) + number(rest)


def encoded(postings: Iterable[tuple[int, int]], shift: int) -> dict[int, bytes]:
    """The bytes of each block of sorted (key, document)."""
    blocks = {}
    for block, inside in groupby(postings, lambda posting: posting[0] >> shift):
        data, before = b"", block << shift
        for key, held in groupby(inside, lambda posting: posting[0]):
            documents = [document for _, document in held]
            data += number(2 * (key - before) + (len(documents) > 1))
            if len(documents) > 1:
                data += number(len(documents) - 2)
            data += b"".join(number(b - a) for a, b in zip([0, *documents], documents, strict=False))
            before = key
        blocks[block] = checksum(data) + data
    return blocks
