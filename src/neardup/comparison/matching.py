"""Matching text of two token sequences: chunks of w or more tokens in a row, counted in two ways, and the LCS.

*Literal*: disjoint one-to-one tiles found by greedy string tiling; each token is matched once. *Information*: text
that repeats inside a document adds nothing, and may match anywhere in the other document. *LCS*: the longest
common subsequence, which ignores moved text. Tokens are compared by their 64-bit hashes, windows in full.
"""

from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from neardup.errors import SettingError
from neardup.kernels.match import (
    MOST_RUNS,
    MOST_STEPS,
    WorkLimits,
    chain_length,
    common_in_order,
    cover_both,
    matchable,
    name_tokens,
    redundant_both,
    same,
    stands_first,
    tile_both,
    window_names,
)
from neardup.kernels.names import count_names, set_counts
from neardup.tables import Bools, Int64s, UInt64s
from neardup.text.keys import salt

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Literal:
    """Tiles int64[k, 3] (start in A, start in B, length in tokens) in text order of A, and their bounds.

    ``common`` is their total length; no literal match exceeds ``upper_bound``. ``capped``: the tiles are valid,
    but may differ from those of the greedy definition.
    """

    tiles: Int64s
    common: int
    upper_bound: int
    capped: bool

    @property
    def proven(self) -> bool:
        """Whether no other literal match can have more common text."""
        return self.common == self.upper_bound


@dataclass(frozen=True, eq=False)
class Information:
    """Whether each token repeats earlier text, and whether it is in the other document: bool[tokens of A], of B.
    ``new_a``, ``new_b``: tokens that are not redundant; ``common``: the smaller number of matched ones among them.
    """

    redundant_a: Bools
    redundant_b: Bools
    covered_a: Bools
    covered_b: Bools

    @property
    def new_a(self) -> int:
        """Tokens of A that are not redundant."""
        return int(np.count_nonzero(~self.redundant_a))

    @property
    def new_b(self) -> int:
        """Tokens of B that are not redundant."""
        return int(np.count_nonzero(~self.redundant_b))

    @property
    def common(self) -> int:
        """Tokens that are not redundant and are in the other document: the smaller of the counts for A and B."""
        matched = (self.covered_a & ~self.redundant_a, self.covered_b & ~self.redundant_b)
        return min(int(np.count_nonzero(flags)) for flags in matched)


@dataclass(frozen=True)
class SetCounts:
    """|A|, |B|, |A∩B| of the distinct shingles, and Σ min, Σ max of their multiplicities."""

    size_a: int
    size_b: int
    shared: int
    least: int
    most: int


@dataclass(eq=False)
class TokenPair:
    """Two token sequences under common names, in the order of :func:`pair_of`."""

    tokens: NDArray[np.int32]
    first_size: int
    n_tokens: int
    swapped: bool
    _windows: dict[int, tuple[NDArray[np.int32], int]] = field(default_factory=dict)
    _covered: dict[int, tuple[Bools, Bools]] = field(default_factory=dict)

    def windows(self, length: int) -> tuple[NDArray[np.int32], int]:
        """Return the names of all windows of ``length`` tokens, and the number of names; computed once."""
        if length not in self._windows:
            self._windows[length] = window_names(self.tokens, length, salt())
        return self._windows[length]

    def covered_tokens(self, length: int) -> tuple[Bools, Bools]:
        """Return which tokens of each are in a window of ``length`` tokens that the other has; computed once."""
        if length not in self._covered:
            names = self.windows(length)
            self._covered[length] = cover_both(self.tokens, self.first_size, length, *names)
        return self._covered[length]

    def in_order(self, first: T, second: T) -> tuple[T, T]:
        """Return the results for the first and the second sequence as (A's, B's)."""
        return (second, first) if self.swapped else (first, second)


def pair_of(a: UInt64s, b: UInt64s, ranks: tuple[int, int] | None = None) -> TokenPair:
    """Prepare two sequences of token hashes or ids (uint64) for matching.

    The shorter sequence comes first; at equal lengths, the one of smaller rank. The result is therefore
    independent of the argument order. Without ``ranks``, ids are compared one by one. The order of hashes depends
    on the key, so hashes need ranks that do not depend on it (``Units.rank``).

    >>> a, b = (np.array(ids, np.uint64) for ids in ([1, 2, 3, 4, 5, 6], [9, 2, 3, 4, 5, 6]))
    >>> literal(pair_of(a, b), 5).tiles.tolist()
    [[1, 1, 5]]
    """
    keys = np.concatenate((a, b)).astype(np.uint64)
    ends_a, ends_b = (0, len(a)), (len(a), len(a) + len(b))
    swapped = not stands_first(keys, ends_a, ends_b) if ranks is None else (len(b), ranks[1]) < (len(a), ranks[0])
    first, second = (ends_b, ends_a) if swapped else (ends_a, ends_b)
    tokens, n_tokens = name_tokens(keys, first, second)
    return TokenPair(tokens, first[1] - first[0], int(n_tokens), swapped)


def literal(pair: TokenPair, min_chunk: int = 5, most_runs: int = MOST_RUNS) -> Literal:
    """Compute greedy string tiling with tiles of at least ``min_chunk`` tokens (Wise 1993), and its upper bound.

    Longest first; ties: smaller |i − j|, smaller i, smaller j, with the sequences in the order of ``pair_of``.
    A sequence shorter than ``min_chunk`` matches only an identical one. ``most_runs`` bounds the number of common
    runs held at a time.
    """
    names, n_names = pair.windows(min_chunk)
    m = pair.first_size
    covered = pair.covered_tokens(min_chunk)
    bound = int(matchable(pair.tokens, m, pair.n_tokens, *covered))
    tiles, capped = np.empty((0, 3), np.int64), False
    if bound:
        limits = WorkLimits(most_runs, MOST_STEPS, salt())
        tiles, capped = tile_both(pair.tokens, m, min_chunk, names, n_names, covered, limits)
    starts = pair.in_order(tiles[:, 0], tiles[:, 1])
    tiles = np.column_stack((*starts, tiles[:, 2]))
    tiles = tiles[np.argsort(tiles[:, 0])]
    common = int(tiles[:, 2].sum())
    return Literal(tiles, common, bound, bool(capped) and common < bound)


def information(pair: TokenPair, min_chunk: int = 5) -> Information:
    """Find the tokens that repeat their own document and those in the other one, by ``min_chunk``-token windows.

    A window is a repeat if an equal one begins at least ``min_chunk`` tokens earlier in the same sequence; every
    token in a repeat is redundant. A token is matched if a window that covers it is in the other sequence.
    """
    names, n_names = pair.windows(min_chunk)
    redundant = redundant_both(pair.tokens, pair.first_size, min_chunk, names, n_names)
    return Information(*pair.in_order(*redundant), *pair.in_order(*pair.covered_tokens(min_chunk)))


def shingle_counts(pair: TokenPair, length: int = 5) -> SetCounts:
    """Count the shingles of ``length`` tokens; a shorter sequence of at least one token is a single shingle."""
    names, n_names = pair.windows(length)
    m, n = pair.first_size, len(pair.tokens) - pair.first_size
    first = count_names(names, 0, max(0, m - length + 1), n_names)
    second = count_names(names, m, m + max(0, n - length + 1), n_names)
    size_first, size_second, shared, least, most = map(int, set_counts(first, second))
    if 0 < m < length:  # the whole sequence is one shingle, equal only to an identical sequence
        alike = int(same(pair.tokens, m))
        size_first, shared, least, most = 1, alike, alike, most + 1
    if 0 < n < length:
        size_second, most = 1, most + 1 - shared
    return SetCounts(*pair.in_order(size_first, size_second), shared, least, most)


def lcs(pair: TokenPair, tiles: Int64s, steps: int = MOST_STEPS) -> tuple[int, bool]:
    """Return the length of the longest common subsequence, and whether it is only a lower bound (Hyyrö 2004).

    ``tiles`` are those of ``literal``. If the computation would touch more than ``steps`` words of 64 tokens, the
    result is the larger of two lower bounds: the heaviest chain of tiles in the same order, and the common
    subsequence in a narrower band.
    """
    length, capped = common_in_order(pair.tokens, pair.first_size, 0, steps)
    if not capped:
        return int(length), False
    size = max(pair.first_size, len(pair.tokens) - pair.first_size)
    return max(int(length), int(chain_length(tiles, size))), True


def check_length(name: str, value: Any) -> None:
    """Raise SettingError unless the value is a whole number from 1 to 2³⁰."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1 << 30:
        raise SettingError(f"{name} = {value!r} is not possible", "A whole number, 1 or more")
