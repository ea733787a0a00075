"""Naive twins of the matching of two token sequences and of the places of tokens.

Plain Python by the definitions; tokens are anything that can be compared and hashed. See ``reference.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

Tokens = Sequence[Any]
Tile = tuple[int, int, int]


def windows(tokens: Tokens, length: int) -> list[tuple[Any, ...]]:
    return [tuple(tokens[i : i + length]) for i in range(len(tokens) - length + 1)]


def shingles(tokens: Tokens, length: int) -> list[tuple[Any, ...]]:
    """Return all shingles with repeats; fewer tokens than ``length`` make one, none make none."""
    return [tuple(tokens)] if 0 < len(tokens) < length else windows(tokens, length)


def literal(a: Tokens, b: Tokens, w: int) -> list[Tile]:
    """Return the tiles of greedy string tiling: the best common run of free tokens again and again.

    Best: longest, then smallest |i − j|, i, j, where i is a place of the document that stands first.
    """
    if min(len(a), len(b)) < w:
        return [(0, 0, len(a))] if len(a) > 0 and list(a) == list(b) else []
    if (len(b), list(b)) < (len(a), list(a)):
        return sorted((i, j, length) for j, i, length in literal(b, a, w))
    free_a, free_b = [True] * len(a), [True] * len(b)
    tiles: list[Tile] = []
    while True:
        runs = [
            (-length, abs(i - j), i, j)
            for i in range(len(a))
            for j in range(len(b))
            if (length := common_run(a, b, i, j, free_a, free_b)) >= w
        ]
        if not runs:
            return sorted(tiles)
        length, _, i, j = min(runs)
        tiles.append((i, j, -length))
        for k in range(-length):
            free_a[i + k] = free_b[j + k] = False


def common_run(a: Tokens, b: Tokens, i: int, j: int, free_a: list[bool], free_b: list[bool]) -> int:
    """Return how many free tokens from a[i] and b[j] on are equal."""
    length = 0
    while i + length < len(a) and j + length < len(b) and a[i + length] == b[j + length]:
        if not (free_a[i + length] and free_b[j + length]):
            break
        length += 1
    return length


def maximal_runs(a: Tokens, b: Tokens, least: int, free_a: list[bool], free_b: list[bool]) -> list[Tile]:
    """Return all common runs of free tokens that cannot be made longer and have ``least`` tokens or more."""
    found = []
    for i in range(len(a)):
        for j in range(len(b)):
            before = i > 0 and j > 0 and common_run(a, b, i - 1, j - 1, free_a, free_b) > 0
            length = 0 if before else common_run(a, b, i, j, free_a, free_b)
            if length >= least:
                found.append((i, j, length))
    return found


def best_literal(a: Tokens, b: Tokens, w: int) -> int:
    """Return the most tokens that disjoint one-to-one runs of w or more can have; tries all of them."""
    if min(len(a), len(b)) < w:
        return len(a) if list(a) == list(b) else 0
    equal = [
        [
            (((1 << length) - 1) << j, length)
            for j in range(len(b))
            for length in range(w, min(len(a) - i, len(b) - j) + 1)
            if list(a[i : i + length]) == list(b[j : j + length])
        ]
        for i in range(len(a))
    ]

    @cache
    def most(at: int, taken: int) -> int:
        """Return the most from a[at] on, when the tokens of b in the bits of ``taken`` are gone."""
        if at >= len(a):
            return 0
        best = most(at + 1, taken)
        for bits, length in equal[at]:
            if not taken & bits:
                best = max(best, length + most(at + length, taken | bits))
        return best

    return most(0, 0)


def covered(a: Tokens, b: Tokens, w: int) -> list[bool]:
    """Return for each token of a whether some window over it is in b."""
    if min(len(a), len(b)) < w:
        return [list(a) == list(b)] * len(a)
    in_b = set(windows(b, w))
    return [any(window in in_b for window in windows(a[max(0, i - w + 1) : i + w], w)) for i in range(len(a))]


def redundant(a: Tokens, w: int) -> list[bool]:
    """Return for each token whether some window over it equals one that begins at least w tokens earlier."""
    flags = [False] * len(a)
    all_windows = windows(a, w)
    for i, window in enumerate(all_windows):
        if window in all_windows[: max(0, i - w + 1)]:
            flags[i : i + w] = [True] * w
    return flags


def information(a: Tokens, b: Tokens, w: int) -> tuple[int, int, int]:
    """Return (tokens of a, tokens of b that are not redundant, C of the information match)."""
    new, matched = [], []
    for one, other in ((a, b), (b, a)):
        stays = [not flag for flag in redundant(one, w)]
        new.append(sum(stays))
        matched.append(sum(s and c for s, c in zip(stays, covered(one, other, w), strict=True)))
    return new[0], new[1], min(matched)


def upper_bound(a: Tokens, b: Tokens, w: int) -> int:
    """Return Σ over tokens of min(covered places in a, covered places in b)."""
    counts = [
        Counter(token for token, flag in zip(one, covered(one, other, w), strict=True) if flag)
        for one, other in ((a, b), (b, a))
    ]
    return (counts[0] & counts[1]).total()


def lcs(a: Tokens, b: Tokens) -> int:
    """Return the length of the longest common subsequence, by the textbook table."""
    row = [0] * (len(b) + 1)
    for token in a:
        diagonal = 0
        for j, other in enumerate(b):
            diagonal, row[j + 1] = row[j + 1], diagonal + 1 if token == other else max(row[j], row[j + 1])
    return row[-1]
