"""Naive twins of the joins by the longest common subsequence: lengths and the measure by their definitions.

See ``reference_matching.lcs`` for the textbook table of the subsequence itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Tokens = Sequence[Any]


def lcs_of_long(a: Tokens, b: Tokens) -> int:
    """Return the length of the longest common subsequence."""
    return lcs_with(places_of(a), len(a), b)


def places_of(a: Tokens) -> dict[Any, int]:
    """Return the places of each token of ``a`` as the bits of a long Python integer."""
    places: dict[Any, int] = {}
    for i, token in enumerate(a):
        places[token] = places.get(token, 0) | 1 << i
    return places


def lcs_with(places: dict[Any, int], length: int, b: Tokens) -> int:
    """Return the same with the places of the tokens of a text of this length: the table row by row as an integer.

    Bit i of ``row`` is 0 where the table has one more at a[i] than at a[i − 1] (Hyyrö 2004).
    """
    every = (1 << length) - 1
    row = every
    for token in b:
        if token not in places:  # the row stays as it is
            continue
        matches = row & places[token]
        row = (row + matches | row - matches) & every
    return length - row.bit_count()


def lcs_in_band(a: Tokens, b: Tokens, before: int, after: int) -> int:
    """Return the same of the matches a[i] = b[j] with −before ≤ j − i ≤ after only."""
    above = [0] * (len(b) + 1)
    for i, token in enumerate(a):
        row = [0]
        for j, other in enumerate(b):
            equal = token == other and -before <= j - i <= after
            row.append(above[j] + 1 if equal else max(row[j], above[j + 1]))
        above = row
    return above[-1]


def value(common: int, a: Tokens, b: Tokens) -> Fraction:
    """Return the measure lcs."""
    return Fraction(2 * common, len(a) + len(b))
