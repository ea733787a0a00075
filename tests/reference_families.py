"""Naive twins of the sketch families: sets, sorted lists and loops, written to be read."""

from __future__ import annotations

from fractions import Fraction


def sample(hashes: set[int], scale: int | None, floor: int) -> list[int]:
    """Return all hashes below 2⁶⁴ / scale (none without a scale), and at least the ``floor`` smallest."""
    below = sorted(value for value in hashes if scale is not None and value < Fraction(2**64, scale).__floor__())
    if scale == 1:
        return sorted(hashes)
    return below if len(below) >= floor else sorted(hashes)[:floor]


def common(a: set[int], b: set[int], scale: int | None, floor: int) -> tuple[int, int, int]:
    """Return how much of the sample of the union is in both sets, in a, in b: from the sets themselves."""
    both_whole = len(a) < floor and len(b) < floor
    union = sorted(a | b) if both_whole else sample(a | b, scale, floor)
    return len(a & b & set(union)), len(a & set(union)), len(b & set(union))
