"""The published constants of the MinHash families.

Signatures of two installations are comparable only if both use the same numbers. They therefore come from a fixed
generator with a fixed seed, and never change within a format version.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from neardup.tables import UInt32s

SEED = 0x6E65_6172_6475_7031
_STEP = 0x9E37_79B9_7F4A_7C15
_WORD = (1 << 64) - 1


def splitmix64(state: int) -> int:
    """Return the SplitMix64 output for a state (Steele, Lea and Flood 2014, figure 5)."""
    z = (state + _STEP) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) & _WORD
    return z ^ (z >> 31)


@cache
def classic_coefficients(slots: int) -> tuple[UInt32s, UInt32s]:
    """Return multipliers a (odd) and offsets b, uint32[slots] each; more slots keep the first ones.

    >>> a, b = classic_coefficients(2)
    >>> [hex(x) for x in a], [hex(x) for x in b]
    (['0x269a4d1d', '0x9acc05e1'], ['0xfc267272', '0xc3a29529'])
    """
    words = [splitmix64((SEED + slot * _STEP) & _WORD) for slot in range(slots)]
    a = np.array([(word >> 32) | 1 for word in words], np.uint32)
    b = np.array([word & 0xFFFF_FFFF for word in words], np.uint32)
    a.flags.writeable = b.flags.writeable = False
    return a, b
