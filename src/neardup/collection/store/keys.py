"""Hashes of shingles ↔ terms of the index: # and seven digits of 5 bits, of the low 35 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neardup.tables import UInt64s

KEY_LENGTH = 9
"""Characters of a key as ``written``."""

_DIGITS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuv", np.uint8)
_SHIFTS = np.arange(30, -1, -5, dtype=np.uint64)
_VALUES = np.zeros(128, np.uint64)
_VALUES[_DIGITS] = np.arange(32, dtype=np.uint64)


def written(hashes: UInt64s) -> str:
    """The keys one after the other, a space behind each.

    >>> written(np.array([33, 2**35], np.uint64))
    '#0000011 #0000000 '
    """
    out = np.full((len(hashes), KEY_LENGTH), ord(" "), np.uint8)
    out[:, 0] = ord("#")
    out[:, 1:-1] = _DIGITS[((hashes[:, None] >> _SHIFTS) & np.uint64(31)).astype(np.int64)]
    return out.tobytes().decode("ascii")


def read(keys: Sequence[str]) -> UInt64s:
    """The low 35 bits of the hashes with these keys (uint64).

    >>> read(["#0000011"]).tolist()
    [33]
    """
    digits = np.frombuffer("".join(keys).encode("ascii"), np.uint8).reshape(len(keys), KEY_LENGTH - 1)[:, 1:]
    found: UInt64s = (_VALUES[digits] << _SHIFTS).sum(axis=1, dtype=np.uint64)
    return found
