"""Naive twins of the sketch families: sets, sorted lists and loops, written to be read."""

from __future__ import annotations

from fractions import Fraction
from math import exp, floor, log

from support.reference import mix64


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


def bands(slots: int, rows: int, wrap: bool) -> list[list[int]]:
    """Return the slots of each band; with ``wrap`` those left over and the first ones make the last."""
    whole = [list(range(first, first + rows)) for first in range(0, slots - rows + 1, rows)]
    left = list(range(slots - slots % rows, slots))
    return [*whole, left + list(range(rows - len(left)))] if wrap and left else whole


def candidates(
    signatures: list[list[int]], rows: int, wrap: bool, empty: int | None
) -> list[list[tuple[int, int]]]:
    """Return for every signature the (number, agreeing slots) of those that agree with it in a band."""
    found = []
    for i, one in enumerate(signatures):
        mates = []
        for j, other in enumerate(signatures):
            equal = {slot for slot, (x, y) in enumerate(zip(one, other, strict=True)) if x == y}
            shared = any(equal.issuperset(band) for band in bands(len(one), rows, wrap))
            if i != j and shared and not {empty} >= set(one) and not {empty} >= set(other):
                mates.append((j, len(equal)))
        found.append(sorted(mates, key=lambda mate: (-mate[1], mate[0])))
    return found


def linear(elements: list[int], coefficients: list[tuple[int, int]], prime: int) -> list[int]:
    """Return the textbook MinHash: the least (a·x + b) mod p for every pair (a, b)."""
    return [min(((a * x + b) % prime for x in elements), default=2**32 - 1) for a, b in coefficients]


def multiply_shift(elements: list[int], coefficients: list[tuple[int, int]], bits: int) -> list[int]:
    """Return the least top ``bits`` of a·x + b mod 2³² for every pair (a, b)."""
    return [
        min(((a * x + b) % 2**32 >> (32 - bits) for x in elements), default=2**32 - 1) for a, b in coefficients
    ]


def weighted(weights: dict[int, float], slots: int) -> list[int]:
    """Return the consistent weighted samples as Ioffe (2010, section 3) has them: the least c / (y eʳ)."""
    golden = 0x9E3779B97F4A7C15
    samples = []
    for slot in range(1, slots + 1):
        drawn = []
        for element, weight in weights.items():
            words = [mix64((element + slot * golden) % 2**64)]
            for _ in range(2):
                words.append(mix64((words[-1] + golden) % 2**64))
            r, c = (-log((word // 2**32 + 0.5) / 2**32) - log((word % 2**32 + 0.5) / 2**32) for word in words[:2])
            beta = (words[2] >> 11) / 2**53
            t = floor(log(weight) / r + beta)
            y = exp(r * (t - beta))
            drawn.append((c / (y * exp(r)), mix64((element + mix64((t + golden) % 2**64)) % 2**64)))
        samples.append(min(drawn, default=(0.0, 2**64 - 1))[1])
    return samples


def bucketed(hashes: set[int], count: int, buckets: int, size: int, rotation: bool) -> list[list[int]]:
    """Return the ``size`` smallest hashes of every bucket of every function; rotation fills empty buckets."""
    width = -(-(2**32) // buckets)
    cells = []
    for function in range(count):
        step = function * 0x9E3779B97F4A7C15
        values = {mix64((h + step) % 2**64) if function else h for h in hashes}
        mine = [sorted(v for v in values if (v >> 32) // width == b)[:size] for b in range(buckets)]
        if rotation and any(mine):
            mine = [
                next(mine[(b + t) % buckets] for t in range(buckets) if mine[(b + t) % buckets])
                for b in range(buckets)
            ]
        cells += mine
    return cells


def read(a: set[int], b: set[int], count: int, buckets: int, size: int) -> tuple[int, int]:
    """Return (in both, of how many) of the smallest hashes of every bucket of the union, from the sets."""
    cells = [bucketed(hashes, count, buckets, size, False) for hashes in (a, b, a | b)]
    told = [set(u) for u in cells[2]]
    both = sum(len(set(x) & set(y) & u) for x, y, u in zip(*cells[:2], told, strict=True))
    return both, sum(map(len, told))


def engine_score(a: list[list[int]], b: list[list[int]], buckets: int) -> float:
    """Return the share of the values of a that b has anywhere under the same function."""
    tokens = [(k // buckets, value) for k, cell in enumerate(a) for value in cell]
    others = {(k // buckets, value) for k, cell in enumerate(b) for value in cell}
    return sum(token in others for token in tokens) / len(tokens) if tokens else 0.0
