"""Naive twins of the alignment of two token sequences; see ``reference.py``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

Tile = tuple[int, int, int]


def heaviest_chain(tiles: Sequence[Tile]) -> int:
    """Return the most tokens of tiles that have the same order in both documents."""
    in_order = sorted(tiles)

    @cache
    def ending_with(k: int) -> int:
        i, j, length = in_order[k]
        before = (
            t for t in range(k) if in_order[t][0] + in_order[t][2] <= i and in_order[t][1] + in_order[t][2] <= j
        )
        return length + max(map(ending_with, before), default=0)

    return max(map(ending_with, range(len(in_order))), default=0)


def subsequence(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Return the length of the longest common subsequence."""

    @cache
    def rest(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return 0
        return 1 + rest(i + 1, j + 1) if a[i] == b[j] else max(rest(i + 1, j), rest(i, j + 1))

    return rest(0, 0)
