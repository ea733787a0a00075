"""The common text of two token sequences as blocks, and the rest of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from neardup.comparison import matching
from neardup.comparison.alignment.path import path_of
from neardup.comparison.kinds.names import PASSAGE
from neardup.tables import Bools, Int64s, UInt64s
from neardup.text.units import Units


@dataclass(frozen=True, eq=False)
class Blocks:
    """The common blocks of A and B, int64[k, 3]: start in A, start in B, length; in the order of A.

    ``moved`` bool[k]: the block is in another order than the rest. ``sizes``: the tokens of A and of B.
    ``capped``: the repetition in the texts was too much to try every match; there may be more blocks.
    ``at_most``: the text in no block is an upper bound, also because a long stretch was not aligned word by word.
    """

    blocks: Int64s
    moved: Bools
    sizes: tuple[int, int]
    capped: bool
    at_most: bool

    @cached_property
    def rest(self) -> tuple[Int64s, Int64s]:
        """The stretches int64[r, 2] (begin, end) of A and of B that are in no block."""
        return _uncovered(self.blocks[:, [0, 2]], self.sizes[0]), _uncovered(self.blocks[:, [1, 2]], self.sizes[1])

    @property
    def left(self) -> tuple[int, int]:
        """The number of tokens of A and of B that are in no block."""
        return int(np.diff(self.rest[0]).sum()), int(np.diff(self.rest[1]).sum())

    @cached_property
    def places(self) -> int:
        """The number of places that differ: the rests of A and of B after the same block are one place."""
        chain = self.blocks[~self.moved]
        after = [np.searchsorted(chain[:, side], self.rest[side][:, 0]) for side in (0, 1)]
        return len(np.union1d(*after))

    def of_each(self, values: Any, side: int) -> Any:
        """Return the ``values`` (an array with one for each token) of the tokens in blocks, in the order of A."""
        return values[_members(self.blocks[:, side], self.blocks[:, 2])]


def blocks_of(a: Units, b: Units) -> Blocks:
    """Return the common blocks of two texts.

    The common beginning and end are blocks; between them, the blocks are those of the alignment in
    ``comparison.alignment``: tiles of PASSAGE tokens or more, and words in the same order between them.
    """
    m, n = len(a), len(b)
    begin, end = _common_ends(a.hashes, b.hashes)
    found, moved = np.empty((0, 3), np.int64), np.empty(0, np.bool_)
    capped = at_most = False
    if begin + end < min(m, n):
        pair = matching.pair_of(a.hashes[begin : m - end], b.hashes[begin : n - end], (a.rank, b.rank))
        literal = matching.literal(pair, PASSAGE)
        path = path_of(pair, literal.tiles)
        others = literal.tiles[~path.in_order]
        found = np.concatenate((path.runs[:, :3], others)) + np.array([begin, begin, 0])
        moved = np.arange(len(found)) >= len(path.runs)
        capped, at_most = literal.capped, literal.capped or path.capped
    ends = np.array([(0, 0, begin), (m - end, n - end, end)], np.int64)[[begin > 0, end > 0]]
    found, moved = np.concatenate((found, ends)), np.concatenate((moved, np.zeros(len(ends), np.bool_)))
    order = np.argsort(found[:, 0], kind="stable")
    return Blocks(found[order], moved[order], (m, n), capped, at_most)


def slides(hashes: UInt64s, begin: int, end: int, most: int) -> tuple[int, int]:
    """Return how far the stretch [begin, end) can move left and right, at most ``most``, and be the same edit.

    "the cat the dog" may have the addition "the cat" or "cat the".
    """
    left = right = 0
    while left < min(begin, most) and hashes[begin - left - 1] == hashes[end - left - 1]:
        left += 1
    while right < min(len(hashes) - end, most) and hashes[begin + right] == hashes[end + right]:
        right += 1
    return left, right


def _common_ends(a: UInt64s, b: UInt64s) -> tuple[int, int]:
    """Return the number of equal tokens at the beginning, and at the end of the rest."""
    short = min(len(a), len(b))
    differ = np.flatnonzero(a[:short] != b[:short])
    begin = int(differ[0]) if len(differ) else short
    left = short - begin
    differ = np.flatnonzero(a[len(a) - left :][::-1] != b[len(b) - left :][::-1])
    return begin, int(differ[0]) if len(differ) else left


def _members(begins: Int64s, sizes: Int64s) -> Int64s:
    """Return the numbers in the stretches that begin at ``begins``, one after the other."""
    before = np.concatenate(([0], np.cumsum(sizes)))
    return np.arange(before[-1]) - np.repeat(before[:-1] - begins, sizes)


def _uncovered(stretches: Int64s, size: int) -> Int64s:
    """Return the stretches int64[r, 2] of 0 … size − 1 outside the given disjoint ones (begin, length)."""
    order = np.argsort(stretches[:, 0])
    begins, ends = stretches[order, 0], stretches[order].sum(axis=1)
    gaps = np.column_stack((np.concatenate(([0], ends)), np.concatenate((begins, [size]))))
    return gaps[gaps[:, 1] > gaps[:, 0]]
