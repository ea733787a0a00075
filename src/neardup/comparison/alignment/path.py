"""Which units of two documents are opposite each other: tiles in order, and equal words between the tiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.comparison.matching import TokenPair
from neardup.kernels.match.alignment import heaviest_chain
from neardup.kernels.match.between import words_between
from neardup.tables import Bools, Int64s

MOST_CELLS = 1 << 22
"""Stretches between two tiles are aligned word by word up to 2,048 × 2,048 cells (tokens of A × tokens of B)."""
MOST_CELLS_IN_ALL = 1 << 28
"""The limit in cells for all such stretches of two documents together."""

WORDS_CAP = (
    "alignment: a stretch between two matches is too long to be aligned word by word; shown as replaced whole, "
    "but for words that occur once in each"
)


@dataclass(frozen=True, eq=False)
class Path:
    """Runs int64[r, 4] (start in A, start in B, length, tile) of equal units in the same order in both documents.

    ``tile`` is the row of the tile in ``tiles``, −1 for words between tiles. ``in_order`` bool[tiles] marks the
    heaviest chain; the other tiles are moved. ``capped``: a stretch was not aligned word by word.
    """

    runs: Int64s
    in_order: Bools
    capped: bool


def path_of(pair: TokenPair, tiles: Int64s) -> Path:
    """Return the path through two documents along the heaviest chain of tiles (``Literal.tiles``).

    Between the tiles of the chain, words are aligned by a longest common subsequence, which excludes the tokens of
    moved tiles and isolated equal words among edits. The path does not depend on the order of A and B.
    """
    first, second = pair.in_order(0, 1)  # the tile column that belongs to the first sequence of the pair
    canonical = np.ascontiguousarray(tiles[:, [first, second, 2]])
    order = np.argsort(canonical[:, 0], kind="stable")
    n_second = len(pair.tokens) - pair.first_size
    chain = np.zeros(len(tiles), np.bool_)
    chain[order] = heaviest_chain(np.ascontiguousarray(canonical[order]), n_second)
    spine = canonical[order][chain[order]]
    limits = (MOST_CELLS, MOST_CELLS_IN_ALL)
    words, whole = words_between(
        pair.tokens, pair.first_size, pair.n_tokens, canonical[~chain], np.ascontiguousarray(spine), limits
    )
    between = np.column_stack((words, np.full(len(words), -1)))
    runs = np.concatenate((np.column_stack((canonical[chain], np.flatnonzero(chain))), between))
    runs = runs[np.argsort(runs[:, 0])]
    return Path(runs[:, [first, second, 2, 3]], chain, not whole)
