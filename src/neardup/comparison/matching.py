"""Matching text of two token sequences: chunks of w or more tokens in a row, counted in two ways, and in order.

*Literal*: disjoint one-to-one tiles by greedy string tiling; a token is matched once. *Information*: text repeated
inside a document adds nothing, wherever the other document holds it. *LCS*: the longest common subsequence, which
is blind to moved text. Tokens are compared by their 64-bit hashes, windows of tokens in full.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from neardup.errors import InputError, SettingError
from neardup.kernels.match import chunks as kernels
from neardup.kernels.match import lcs as lcs_kernels
from neardup.kernels.match.limits import MOST_RUNS, MOST_STEPS
from neardup.kernels.match.tiling import matchable
from neardup.kernels.names import count_names, set_counts
from neardup.tables import Bools, Int64s, UInt64s
from neardup.text.keys import salt

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Literal:
    """Tiles int64[k, 3] (start in A, start in B, length in tokens) in text order of A, and what is known of them.

    ``common`` is their total length; no literal match has more than ``upper_bound``. ``capped``: the tiles are
    valid, but may not be those of the greedy definition.
    """

    tiles: Int64s
    common: int
    upper_bound: int
    capped: bool

    @property
    def proven(self) -> bool:
        """Whether no other literal match has more common text."""
        return self.common == self.upper_bound


@dataclass(frozen=True, eq=False)
class Information:
    """For each token (bool[tokens of A], bool[tokens of B]): does it repeat earlier text; is it in the other one.

    ``new_a``, ``new_b``: tokens that are not redundant; ``common``: the smaller number of those that are matched.
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
        """Tokens that are not redundant and in the other document; of the two counts the smaller one."""
        matched = (self.covered_a & ~self.redundant_a, self.covered_b & ~self.redundant_b)
        return min(int(np.count_nonzero(flags)) for flags in matched)


@dataclass(frozen=True)
class SetCounts:
    """|A|, |B|, |A∩B| of the distinct shingles, and Σ min, Σ max of how often each occurs."""

    size_a: int
    size_b: int
    shared: int
    least: int
    most: int


@dataclass(eq=False)
class TokenPair:
    """Two token sequences under common names, the one that stands first in front: see :func:`pair_of`."""

    tokens: NDArray[np.int32]
    first_size: int
    n_tokens: int
    swapped: bool
    _windows: dict[int, tuple[NDArray[np.int32], int]] = field(default_factory=dict)
    _covered: dict[int, tuple[Bools, Bools]] = field(default_factory=dict)

    def windows(self, length: int) -> tuple[NDArray[np.int32], int]:
        """Names of all windows of ``length`` tokens, and how many; worked out once."""
        if length not in self._windows:
            self._windows[length] = kernels.window_names(self.tokens, length, salt())
        return self._windows[length]

    def covered(self, length: int) -> tuple[Bools, Bools]:
        """Which tokens of each are in some window of ``length`` tokens that the other one has; worked out once."""
        if length not in self._covered:
            names = self.windows(length)
            self._covered[length] = kernels.cover_both(self.tokens, self.first_size, length, *names)
        return self._covered[length]

    def in_order(self, first: T, second: T) -> tuple[T, T]:
        """What was found for the first and the second sequence, as (A's, B's)."""
        return (second, first) if self.swapped else (first, second)


def pair_of(a: UInt64s, b: UInt64s, ranks: tuple[int, int] | None = None) -> TokenPair:
    """Two sequences of token hashes or ids (uint64) made ready to be matched.

    The shorter one is put first, of equal lengths the one of the smaller rank, so that nothing depends on the
    order in which they are given. Without ``ranks`` ids are compared one by one; hashes, which have another order
    under another key, come with ranks that have not (``Units.rank``).

    >>> a, b = (np.array(ids, np.uint64) for ids in ([1, 2, 3, 4, 5, 6], [9, 2, 3, 4, 5, 6]))
    >>> literal(pair_of(a, b), 5).tiles.tolist()
    [[1, 1, 5]]
    """
    keys = np.concatenate((a, b)).astype(np.uint64)
    ends_a, ends_b = (0, len(a)), (len(a), len(a) + len(b))
    if ranks is None:
        swapped = not kernels.stands_first(keys, ends_a, ends_b)
    else:
        swapped = (len(b), ranks[1]) < (len(a), ranks[0])
    first, second = (ends_b, ends_a) if swapped else (ends_a, ends_b)
    tokens, n_tokens = kernels.name_tokens(keys, first, second)
    return TokenPair(tokens, first[1] - first[0], int(n_tokens), swapped)


def literal(pair: TokenPair, min_chunk: int = 5, most_runs: int = MOST_RUNS) -> Literal:
    """Greedy string tiling with tiles of at least ``min_chunk`` tokens (Wise 1993), and its upper bound.

    Longest first; ties: smaller |i − j|, smaller i, smaller j, with the sequences in the order of ``pair_of``.
    A sequence shorter than ``min_chunk`` matches an identical one only. ``most_runs`` bounds the
    common runs that are held at a time.
    """
    names, n_names = pair.windows(min_chunk)
    m = pair.first_size
    covered = pair.covered(min_chunk)
    bound = int(matchable(pair.tokens, m, pair.n_tokens, *covered))
    tiles, capped = np.empty((0, 3), np.int64), False
    if bound:
        limits = kernels.Limits(most_runs, MOST_STEPS, salt())
        tiles, whole = kernels.tile_few(pair.tokens, m, min_chunk, names, n_names, covered, limits)
        if not whole:
            tiles, capped = kernels.tile_many(pair.tokens, m, min_chunk, covered, limits)
    starts = pair.in_order(tiles[:, 0], tiles[:, 1])
    tiles = np.column_stack((*starts, tiles[:, 2]))
    tiles = tiles[np.argsort(tiles[:, 0])]
    return Literal(tiles, int(tiles[:, 2].sum()), bound, bool(capped))


def information(pair: TokenPair, min_chunk: int = 5) -> Information:
    """Which tokens repeat their own document, and which are in the other one, by windows of ``min_chunk`` tokens.

    A window is a repeat when an equal one begins at least ``min_chunk`` tokens earlier in the same sequence; a
    token in a repeat is redundant. A token is matched when some window over it is in the other sequence.
    """
    names, n_names = pair.windows(min_chunk)
    redundant = kernels.redundant_both(pair.tokens, pair.first_size, min_chunk, names, n_names)
    return Information(*pair.in_order(*redundant), *pair.in_order(*pair.covered(min_chunk)))


def shingle_counts(pair: TokenPair, length: int = 5) -> SetCounts:
    """Counts of the shingles of ``length`` tokens; fewer tokens, but at least one, make one shingle."""
    names, n_names = pair.windows(length)
    m, n = pair.first_size, len(pair.tokens) - pair.first_size
    first = count_names(names, 0, max(0, m - length + 1), n_names)
    second = count_names(names, m, m + max(0, n - length + 1), n_names)
    size_first, size_second, shared, least, most = map(int, set_counts(first, second))
    if 0 < m < length:  # one shingle, the whole; nothing equals it but the same whole
        alike = int(kernels.same(pair.tokens, m))
        size_first, shared, least, most = 1, alike, alike, most + 1
    if 0 < n < length:
        size_second, most = 1, most + 1 - shared
    return SetCounts(*pair.in_order(size_first, size_second), shared, least, most)


def lcs(pair: TokenPair, tiles: Int64s, steps: int = MOST_STEPS) -> tuple[int, bool]:
    """Length of the longest common subsequence, and whether it is only a lower bound (Hyyrö 2004).

    ``tiles`` are those of ``literal``; where more than ``steps`` words of 64 tokens would have to be touched, the
    heaviest chain of tiles in the same order stands for it, or what a narrower band has in common.
    """
    length, capped = lcs_kernels.common_in_order(pair.tokens, pair.first_size, 0, steps)
    if not capped:
        return int(length), False
    size = max(pair.first_size, len(pair.tokens) - pair.first_size)
    return max(int(length), int(lcs_kernels.chain_length(tiles, size))), True


@dataclass(frozen=True, eq=False)
class ChunkCounts:
    """Counts of many pairs, int64[pairs] each: what every chunk measure is made of."""

    tokens_a: Int64s
    tokens_b: Int64s
    common_literal: Int64s
    common_literal_upper_bound: Int64s
    capped: Bools
    new_a: Int64s
    new_b: Int64s
    common_information: Int64s

    def longest(self, matching: str = "literal") -> NDArray[np.float64]:
        """chunk-longest of each pair: common text / the longer document."""
        a, b, common = self._of(matching)
        return _ratio(common, np.maximum(a, b), (self.tokens_a == 0) & (self.tokens_b == 0))

    def union(self, matching: str = "literal") -> NDArray[np.float64]:
        """chunk-union of each pair: common text / all text."""
        a, b, common = self._of(matching)
        return _ratio(common, a + b - common, (self.tokens_a == 0) & (self.tokens_b == 0))

    def _of(self, matching: str) -> tuple[Int64s, Int64s, Int64s]:
        if matching == "literal":
            return self.tokens_a, self.tokens_b, self.common_literal
        if matching == "information":
            return self.new_a, self.new_b, self.common_information
        raise SettingError(f"The matching {matching!r} is not known", "One of literal, information")


def _ratio(part: Int64s, whole: Int64s, equal: Bools) -> NDArray[np.float64]:
    values: NDArray[np.float64] = np.where(equal, 1.0, part / np.maximum(whole, 1))
    return values


def chunk_measures(tokens: UInt64s, offsets: Int64s, a: Int64s, b: Int64s, *, min_chunk: int = 5) -> ChunkCounts:
    """The chunk counts of the pairs (a[k], b[k]) of documents ``tokens[offsets[d]:offsets[d + 1]]``.

    ``tokens`` uint64 (hashes or ids, equal for equal tokens), ``offsets`` int64[documents + 1], a and b
    int64[pairs]. One kernel call that releases the GIL: give it slices of the pairs from several threads. The
    figures are those of ``literal`` and ``information``. Raises InputError for a pair that names no document.

    >>> ids = np.array([1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6], np.uint64)
    >>> counts = chunk_measures(ids, np.array([0, 5, 11]), np.array([0]), np.array([1]))
    >>> counts.common_literal.tolist(), counts.union().tolist()
    ([5], [0.8333333333333334])
    """
    check_length("min_chunk", min_chunk)
    for ends in (a, b):
        if len(ends) and not (ends.min() >= 0 and ends.max() < len(offsets) - 1):
            raise InputError(
                "A pair names a document that is not there", f"Documents are numbered 0 to {len(offsets) - 2}"
            )
    out = np.empty((len(a), kernels.MEASURED), np.int64)
    keys, at = np.ascontiguousarray(tokens, np.uint64), np.ascontiguousarray(offsets, np.int64)
    first, second = (np.ascontiguousarray(ends, np.int64) for ends in (a, b))
    limits = kernels.Limits(MOST_RUNS, MOST_STEPS, salt())
    kernels.count_chunks(keys, at, first, second, min_chunk, limits, out)
    return ChunkCounts(
        tokens_a=out[:, 0],
        tokens_b=out[:, 1],
        common_literal=out[:, 2],
        common_literal_upper_bound=out[:, 3],
        capped=out[:, 4] != 0,
        new_a=out[:, 5],
        new_b=out[:, 6],
        common_information=np.minimum(out[:, 7], out[:, 8]),
    )


def least_shared_shingles(common: int, min_chunk: int, *, matching: str = "literal", repeats: int = 1) -> int:
    """How many distinct shingles of ``min_chunk`` tokens two documents share at least, given their common text C.

    *Literal*: ⌈C / (w·r)⌉. A tile of ℓ ≥ w tokens holds ℓ − w + 1 ≥ ℓ/w windows, and tiles overlap in neither
    document, so their windows are at least C/w places of A, paired one to one with as many of B. One shingle takes
    up at most r of these pairs, where r = ``repeats`` is how often a shared shingle occurs in that one of the two
    documents that has it more rarely, at most; r = 1 where no shingle repeats in one of the documents. Without
    knowing r nothing more than 1 follows from C: "a" × 20 and itself have C = 20 and one shingle, so that ⌈C/w⌉
    does not hold for distinct shingles. With their multiplicity it does: Σ min(count) ≥ ⌈C/w⌉ always.

    *Information*: ⌈C / (2w − 1)⌉, whatever repeats. A matched token that is not redundant lies in an occurrence of
    a shared shingle that is no repeat and so begins less than w tokens after the first one: what one shingle
    accounts for lies within 2w − 1 tokens. That is sharp: "a" × 9 with w = 5 has 9 such tokens and one shingle.

    >>> least_shared_shingles(20, 5), least_shared_shingles(20, 5, repeats=16)
    (4, 1)
    >>> least_shared_shingles(9, 5, matching="information")
    1
    """
    if matching not in ("literal", "information"):
        raise SettingError(f"The matching {matching!r} is not known", "One of literal, information")
    tokens_each = min_chunk * repeats if matching == "literal" else 2 * min_chunk - 1
    return -(-common // tokens_each)


def check_length(name: str, value: Any) -> None:
    """Raise SettingError unless the value is a whole number from 1 to 2³⁰."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1 << 30:
        raise SettingError(f"{name} = {value!r} is not possible", "A whole number, 1 or more")
