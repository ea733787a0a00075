"""Base text by the definition, on Python lists, sets and counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

from support.reference_matching import shingles

Shingle = tuple[str, ...]
Counts = tuple[int, int, int]


def base_of(texts: Iterable[Sequence[str]], length: int) -> set[Shingle]:
    """Return the shingles of all texts, each a sequence of units."""
    return {shingle for units in texts for shingle in shingles(list(units), length)}


def covered(units: Sequence[str], base: set[Shingle], length: int) -> list[bool]:
    """Return which units are in a shingle of the base text."""
    inside = [False] * len(units)
    for begin, shingle in enumerate(shingles(list(units), length)):
        if shingle in base:
            inside[begin : begin + len(shingle)] = [True] * len(shingle)
    return inside


def without(units: Sequence[str], base: set[Shingle], length: int) -> list[str]:
    """Return the units that no base shingle covers."""
    return [unit for unit, inside in zip(units, covered(units, base, length), strict=True) if not inside]


def counted(units: Sequence[str], base: set[Shingle], length: int) -> Counter[Shingle]:
    """Return the shingles that count, as often as they occur."""
    return Counter(shingle for shingle in shingles(list(units), length) if shingle not in base)


def common(texts: Sequence[Sequence[str]], share: Fraction, length: int, least: int = 3) -> dict[Shingle, int]:
    """Return the shingles in more than ``share`` of the different texts, and in ``least``, with that number."""
    different = {tuple(units) for units in texts if units}
    counts = Counter(shingle for units in different for shingle in set(shingles(list(units), length)))
    return {
        shingle: count for shingle, count in counts.items() if count > share * len(different) and count >= least
    }


def pairs(
    texts: Sequence[Sequence[str]], base: set[Shingle], length: int, measure: str, threshold: Fraction
) -> dict[tuple[int, int], Counts]:
    """Return the pairs at or above the threshold by a measure of shingles: common to both, of a, of b.

    Texts with no shingle that counts have no pair.
    """
    bags = [counted(units, base, length) for units in texts]
    if measure != "multiset":
        bags = [Counter(set(bag)) for bag in bags]
    totals, found = [bag.total() for bag in bags], {}
    for a, b in combinations(range(len(texts)), 2):
        of_a, of_b = totals[a], totals[b]
        both = sum(min(count, bags[b][shingle]) for shingle, count in bags[a].items() if shingle in bags[b])
        whole = {
            "overlap": min(of_a, of_b),
            "containment": min(of_a, of_b),
        }.get(measure, of_a + of_b - both)
        if of_a and of_b and both >= threshold * whole:
            found[a, b] = (both, of_a, of_b)
    return found
