"""Naive twins of ``kernels/sketch/agreement.py``: every way the sets can fall, counted one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, factorial


def none_whole(bands: tuple[int, ...], agreeing: int) -> Fraction:
    """Return P(no band is whole) over all ways to choose the slots that agree."""
    slots = sum(bands)
    ways = sum(_no_band_whole(set(chosen), bands) for chosen in combinations(range(slots), agreeing))
    return Fraction(ways, comb(slots, agreeing))


def no_band_agrees(shared: int, union: int, bands: tuple[int, ...]) -> Fraction:
    """Return P(no band agrees) for two sets, from the events in a one-permutation sketch.

    Every shingle of the union chooses a slot, all choices alike; the shingles have random ranks, and the lowest
    rank wins the slot. Both signatures agree in a slot when its winner is shared. In a slot without a
    shingle every shingle of the union wins with the same probability.
    """
    slots, total = sum(bands), Fraction(0)
    for ranking in permutations(range(union)):  # the best first; shingles below `shared` are shared
        for choice in product(range(slots), repeat=union):
            winner: dict[int, int] = {}
            for shingle in ranking:
                winner.setdefault(choice[shingle], shingle)
            agree = {slot for slot, shingle in winner.items() if shingle < shared}
            free = [slot for slot in range(slots) if slot not in winner]
            for which in product((False, True), repeat=len(free)):
                others = {slot for slot, agrees in zip(free, which, strict=True) if agrees}
                if _no_band_whole(agree | others, bands):
                    weight = shared ** len(others) * (union - shared) ** (len(free) - len(others))
                    total += Fraction(weight, union ** len(free))
    return total / (factorial(union) * slots**union)


def _no_band_whole(agree: set[int], bands: tuple[int, ...]) -> bool:
    first = 0
    for rows in bands:
        if agree.issuperset(range(first, first + rows)):
            return False
        first += rows
    return True
