"""SimHash of one text: 64 bits that differ little when the texts differ little.

A triage for texts that are almost identical, not a measure of resemblance: with 64 bits two texts that share .8 of
their features still differ in about 10 bits, and unrelated ones in about 32.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.simhash import majority, substring_hashes
from neardup.tables import Int64s, UInt32s, UInt64s
from neardup.unicode_data import unicode_tables
from neardup.units import read

BITS = 64
FEATURE_LENGTH = 4
"""Characters of a feature."""


def simhash(text: str) -> int:
    """The 64-bit SimHash of a text, 0 for one without a character.

    Features are the substrings of 4 characters of the normalised text without white space (fewer characters make
    one feature), their weight is how often they occur. Bit i is 1 where the features whose hash has bit i outweigh
    the others (Charikar 2002).

    >>> distance(simhash("The night is dark."), simhash("THE NIGHT  IS DARK."))
    0
    """
    return of_codepoints(read(text).codepoints)


def of_codepoints(codepoints: UInt32s) -> int:
    """The SimHash of a text that is normalised already (uint32 code points)."""
    features = substring_hashes(codepoints, len(codepoints), FEATURE_LENGTH, unicode_tables())
    return of_features(features)


def of_features(hashes: UInt64s, weights: Int64s | None = None) -> int:
    """The SimHash of hashed features: uint64[n], with weights int64[n] (1 each when not given).

    >>> bin(of_features(np.array([0b1001, 0b0101, 0b1101], np.uint64)))
    '0b1101'
    """
    return int(majority(hashes, np.empty(0, np.int64) if weights is None else weights))


def distance(a: int, b: int) -> int:
    """Hamming distance: the number of bits in which two fingerprints differ."""
    return (a ^ b).bit_count()
