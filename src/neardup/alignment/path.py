"""Which units of two documents stand opposite each other: tiles in order, and equal words in what lies between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.kernels.alignment import heaviest_chain, subsequence_runs, telling_runs
from neardup.matching import TokenPair
from neardup.tables import Bools, Int32s, Int64s

MOST_CELLS = 1 << 22
"""Tokens of A times tokens of B of a stretch between two tiles that is aligned word by word: 2 048 by 2 048."""
MOST_CELLS_IN_ALL = 1 << 28
"""The same for all such stretches of two documents together."""

WORDS_CAP = (
    "alignment: a stretch between two matches is too long to be aligned word by word; shown as replaced whole, "
    "but for words that occur once in each"
)


@dataclass(frozen=True, eq=False)
class Path:
    """Runs int64[r, 4] (start in A, start in B, length, tile) of equal units in the same order in both.

    ``tile`` is the row of the tile in ``tiles``, −1 for words between tiles. ``in_order`` bool[tiles]: the
    heaviest chain, the other tiles are moved. ``capped``: some stretch was not aligned word by word.
    """

    runs: Int64s
    in_order: Bools
    capped: bool


def path_of(pair: TokenPair, tiles: Int64s) -> Path:
    """The path through two documents along the heaviest chain of tiles (``tiles`` as ``Literal`` has them).

    Between the tiles of the chain, words are aligned by a longest common subsequence, without the tokens of moved
    tiles and without equal words that stand alone among edits. Does not depend on the order of A and B.
    """
    first, second = pair.in_order(0, 1)  # which column of the tiles is of the sequence that stands first
    canonical = tiles[:, [first, second, 2]]
    order = np.argsort(canonical[:, 0], kind="stable")
    n_second = len(pair.tokens) - pair.first_size
    chain = np.zeros(len(tiles), np.bool_)
    chain[order] = heaviest_chain(np.ascontiguousarray(canonical[order]), n_second)
    spine = canonical[chain][np.argsort(canonical[chain, 0])]
    between, capped = _between(pair, canonical[~chain], spine)
    runs = np.concatenate((np.column_stack((canonical[chain], np.flatnonzero(chain))), between))
    runs = runs[np.argsort(runs[:, 0])]
    return Path(runs[:, [first, second, 2, 3]], chain, capped)


def _between(pair: TokenPair, moved: Int64s, spine: Int64s) -> tuple[Int64s, bool]:
    """Runs int64[r, 4] of equal words between the tiles of the spine, and whether some were too many to try."""
    sequences = pair.tokens[: pair.first_size], pair.tokens[pair.first_size :]
    free = []
    for side, tokens in enumerate(sequences):
        taken = np.zeros(len(tokens) + 1, np.int64)
        np.add.at(taken, moved[:, side], 1)
        np.add.at(taken, moved[:, side] + moved[:, 2], -1)
        free.append(np.cumsum(taken)[:-1] == 0)
    found, left, capped = [np.empty((0, 4), np.int64)], MOST_CELLS_IN_ALL, False
    ends = np.array([[len(sequences[0]), len(sequences[1]), 0]], np.int64)
    begin_a = begin_b = 0
    for next_a, next_b, length in np.concatenate((spine, ends)).tolist():
        at_a = begin_a + np.flatnonzero(free[0][begin_a:next_a])
        at_b = begin_b + np.flatnonzero(free[1][begin_b:next_b])
        if len(at_a) and len(at_b):
            a, b = sequences[0][at_a], sequences[1][at_b]
            runs, cells, whole = _stretch(a, b, left)
            left, capped = left - cells, capped or not whole
            found += [_placed(run, at_a, at_b) for run in runs[telling_runs(runs, len(a), len(b))].tolist()]
        begin_a, begin_b = next_a + length, next_b + length
    return np.concatenate(found), capped


def _placed(run: list[int], at_a: Int64s, at_b: Int64s) -> Int64s:
    """A run in places of the documents, cut where moved text stands inside it: int64[r, 4]."""
    i, j, length = run
    a, b = at_a[i : i + length], at_b[j : j + length]
    cuts = np.flatnonzero((np.diff(a) != 1) | (np.diff(b) != 1)) + 1
    starts, stops = np.concatenate(([0], cuts)), np.concatenate((cuts, [length]))
    return np.column_stack((a[starts], b[starts], stops - starts, np.full(len(starts), -1)))


def _stretch(a: Int32s, b: Int32s, cells: int) -> tuple[Int64s, int, bool]:
    """Runs int64[r, 3] of equal tokens of two stretches, the cells it took, and whether none was too large."""
    size = len(a) * len(b)
    if size <= min(MOST_CELLS, cells):
        return subsequence_runs(a, b), size, True
    found, spent, whole = [np.empty((0, 3), np.int64)], 0, True
    for begin_a, begin_b, end_a, end_b in _between_anchors(a, b):
        part = (end_a - begin_a) * (end_b - begin_b)
        if part > min(MOST_CELLS, cells - spent):
            whole = False
        elif part:
            spent += part
            offset = np.array([begin_a, begin_b, 0])
            found.append(subsequence_runs(a[begin_a:end_a], b[begin_b:end_b]) + offset)
        if end_a < len(a) and end_b < len(b):
            found.append(np.array([[end_a, end_b, 1]], np.int64))
    return np.concatenate(found), spent, whole


def _between_anchors(a: Int32s, b: Int32s) -> Iterator[tuple[int, int, int, int]]:
    """The parts (begin_a, begin_b, end_a, end_b) between anchors: tokens that occur once in each, in order.

    An anchor stands at each end but the last.
    """
    names_a, at_a, count_a = np.unique(a, return_index=True, return_counts=True)
    names_b, at_b, count_b = np.unique(b, return_index=True, return_counts=True)
    _, in_a, in_b = np.intersect1d(names_a[count_a == 1], names_b[count_b == 1], return_indices=True)
    places = np.column_stack((at_a[count_a == 1][in_a], at_b[count_b == 1][in_b], np.ones(len(in_a), np.int64)))
    places = np.ascontiguousarray(places[np.argsort(places[:, 0])])
    begin_a = begin_b = 0
    for end_a, end_b, _ in places[heaviest_chain(places, len(b))].tolist():
        yield begin_a, begin_b, end_a, end_b
        begin_a, begin_b = end_a + 1, end_b + 1
    yield begin_a, begin_b, len(a), len(b)
