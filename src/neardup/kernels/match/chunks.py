"""The matches of two token sequences: for one pair as evidence, for many pairs as counts.

The *information match* counts tokens that repeat no earlier text of their own document, and those of them found in
the other one. It is linear in the number of tokens. Text repeated inside a document adds nothing, however often
the other document contains it; in the literal match (``tiling.py``) each token is matched once.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.declarations import Uint64, record
from neardup.kernels.match.lcs import chain_length, common_in_order
from neardup.kernels.match.tiling import matchable, tile
from neardup.kernels.names import count_names, cover, name_keys, name_windows
from neardup.kernels.sets import least_shared
from neardup.kernels.sorting import heap_sort

LITERAL, INFORMATION, IN_ORDER = 0, 1, 2


@record
class Counting(NamedTuple):
    """How common text is counted: chunks of ``length`` tokens or more, LITERAL or by INFORMATION, or IN_ORDER."""

    length: int
    matching: int


@part
def mark_redundant(names, begin, end, length, n_names, redundant):
    """Set ``redundant[i - begin]`` for tokens in a window that repeats an earlier one of the same document.

    Windows of ``length`` tokens begin in [begin, end) and are identified by ``names``; a window is a repeat if an
    equal one begins at least ``length`` tokens earlier. ``redundant`` bool[end − begin + length − 1] is all False.
    """
    first = np.full(n_names, -1, np.int32)
    reach = begin
    for i in range(begin, end):
        name = names[i]
        if first[name] < 0:
            first[name] = i
        elif i - first[name] >= length:
            for k in range(max(i, reach), i + length):
                redundant[k - begin] = True
            reach = i + length


@part
def count_new(redundant, covered):
    """Return (tokens that are not redundant, tokens that are also covered), both int64."""
    new = matched = np.int64(0)
    for i in range(redundant.size):
        if not redundant[i]:
            new += 1
            matched += covered[i]
    return new, matched


MEASURED = 9
"""The number of columns of ``count_chunks``."""


@record
class WorkLimits(NamedTuple):
    """The work limits for one pair: common runs held at a time, and words of 64 tokens processed for an LCS.

    ``salt`` is a random uint64 for hash tables and for the hashes of windows; it affects no result.
    """

    runs: int
    steps: int
    salt: Uint64


@entry("uint64[:], (int64, int64), (int64, int64) -> bool")
def stands_first(keys, ends_a, ends_b):
    """Return whether A comes first, by length, then by content: the order does not depend on the caller.

    A and B are the stretches ``keys[begin:end]`` (uint64) given by ``ends_a`` and ``ends_b`` (begin, end).
    """
    begin_a, end_a = ends_a
    begin_b, end_b = ends_b
    if end_a - begin_a != end_b - begin_b:
        return end_a - begin_a < end_b - begin_b
    for k in range(end_a - begin_a):
        if keys[begin_a + k] != keys[begin_b + k]:
            return keys[begin_a + k] < keys[begin_b + k]
    return True


@entry("uint64[:], (int64, int64), (int64, int64) -> (int32[:], int64)")
def name_tokens(keys, ends_a, ends_b):
    """Return the names (int32) of the tokens of two stretches of ``keys``, A before B, and their number."""
    m, n = ends_a[1] - ends_a[0], ends_b[1] - ends_b[0]
    both = np.empty(m + n, np.uint64)
    for i in range(m):
        both[i] = keys[ends_a[0] + i]
    for j in range(n):
        both[m + j] = keys[ends_b[0] + j]
    tokens = np.empty(m + n, np.int32)
    return tokens, name_keys(both, m + n, tokens)


@entry("int32[:], int64, uint64 -> (int32[:], int64)")
def window_names(tokens, length, salt):
    """Return (names int32, their number) of all windows over both documents; (empty, 0) without any window."""
    if tokens.size < length:
        return np.empty(0, np.int32), 0
    names = np.empty(tokens.size, np.int32)
    return names, name_windows(tokens, length, salt, np.empty(tokens.size, np.uint64), names)


@entry("int32[:], int64 -> bool")
def same(tokens, m):
    """Return whether the m tokens of A equal the tokens of B behind them, one by one."""
    if tokens.size != 2 * m:
        return False
    for i in range(m):  # noqa: SIM110 a generator is nothing for Numba
        if tokens[i] != tokens[m + i]:
            return False
    return True


@entry("int32[:], int64, int64, int32[:], int64 -> (bool[:], bool[:])")
def cover_both(tokens, m, length, names, n_names):
    """Return (covered A, covered B), bool per token: whether some window over it occurs in the other document.

    Two equal documents of fewer than ``length`` tokens cover each other.
    """
    n = tokens.size - m
    end_a, end_b = max(0, m - length + 1), m + max(0, n - length + 1)
    covered_a, covered_b = np.zeros(m, np.bool_), np.zeros(n, np.bool_)
    if m < length and same(tokens, m):
        covered_a[:] = True
        covered_b[:] = True
        return covered_a, covered_b
    cover(names, 0, end_a, length, count_names(names, m, end_b, n_names), covered_a)
    cover(names, m, end_b, length, count_names(names, 0, end_a, n_names), covered_b)
    return covered_a, covered_b


@entry("int32[:], int64, int64, int32[:], int64 -> (bool[:], bool[:])")
def redundant_both(tokens, m, length, names, n_names):
    """Return (redundant A, redundant B), bool per token: whether some window over it repeats an earlier one."""
    n = tokens.size - m
    redundant_a, redundant_b = np.zeros(m, np.bool_), np.zeros(n, np.bool_)
    mark_redundant(names, 0, m - length + 1, length, n_names, redundant_a)
    mark_redundant(names, m, m + n - length + 1, length, n_names, redundant_b)
    return redundant_a, redundant_b


@entry("int32[:], int64, int64, int32[:], int64, (bool[:], bool[:]), WorkLimits -> (int64[:, :], bool)")
def tile_both(tokens, m, length, names, n_names, covered, limits):
    """Return the tiles (int64[k, 3], capped); a document shorter than a tile matches only an equal document."""
    n = tokens.size - m
    if m >= length and n >= length:
        return tile(tokens, m, length, (names, n_names), covered, limits.runs, limits.salt)
    tiles = np.zeros((1, 3), np.int64)
    tiles[0, 2] = m
    return tiles[: 1 if m > 0 and same(tokens, m) else 0], False


@entry("uint64[:], int64[:], int64[:], int64[:], int64, WorkLimits, out int64[:, :] -> None")
def count_chunks(keys, offsets, first, second, length, limits, out):
    """Fill ``out`` (int64[pairs, MEASURED]) for the pairs (first[k], second[k]) of documents (int64).

    Document d is ``keys[offsets[d]:offsets[d + 1]]`` (uint64, equal for equal tokens). The columns are: tokens of
    A, tokens of B, common tokens by literal match, upper bound of any literal match, whether the ``limits`` were
    reached, non-redundant tokens of A and of B, and the matched tokens among those.
    """
    for k in range(first.size):
        ends_a = (offsets[first[k]], offsets[first[k] + 1])
        ends_b = (offsets[second[k]], offsets[second[k] + 1])
        swapped = not stands_first(keys, ends_a, ends_b)
        if swapped:
            ends_a, ends_b = ends_b, ends_a
        m = ends_a[1] - ends_a[0]
        tokens, n_tokens = name_tokens(keys, ends_a, ends_b)
        names, n_names = window_names(tokens, length, limits.salt)
        covered_a, covered_b = cover_both(tokens, m, length, names, n_names)
        redundant_a, redundant_b = redundant_both(tokens, m, length, names, n_names)
        bound = matchable(tokens, m, n_tokens, covered_a, covered_b)
        common, capped = np.int64(0), False
        if bound > 0:
            tiles, capped = tile_both(tokens, m, length, names, n_names, (covered_a, covered_b), limits)
            for t in range(tiles.shape[0]):
                common += tiles[t, 2]
            capped = capped and common < bound  # nothing more can match
        row = out[k]
        row[2], row[3], row[4] = common, bound, capped
        a, b = (1, 0) if swapped else (0, 1)
        row[a], row[b] = m, tokens.size - m
        row[5 + a], row[7 + a] = count_new(redundant_a, covered_a)
        row[5 + b], row[7 + b] = count_new(redundant_b, covered_b)


@part
def _by_place(tiles):
    """Return the tiles by their place in A, which no two share."""
    order = np.empty(tiles.shape[0], np.int64)
    for i in range(order.size):
        order[i] = tiles[i, 0] << 32 | i
    heap_sort(order, 0, order.size)
    ordered = np.empty_like(tiles)
    for i in range(order.size):
        for k in range(tiles.shape[1]):
            ordered[i, k] = tiles[order[i] & 0xFFFFFFFF, k]
    return ordered


@part
def _in_order(tokens, m, length, least, limits):
    """Return (common tokens in order, capped); if capped, the heaviest chain of tiles replaces a smaller count."""
    common, capped = common_in_order(tokens, m, least, limits.steps)
    if capped:
        names, n_names = window_names(tokens, length, limits.salt)
        covered = cover_both(tokens, m, length, names, n_names)
        if covered[0].any():
            tiles, _ = tile_both(tokens, m, length, names, n_names, covered, limits)
            common = max(common, chain_length(_by_place(tiles), max(m, tokens.size - m)))
    return common, capped


@part
def _common_text(tokens, m, n_tokens, counting, criterion, limits):
    """Return (C, size of A, size of B, capped) of two documents in one array; C is −1 below the criterion."""
    n, length = tokens.size - m, counting.length
    if counting.matching == IN_ORDER:
        least = least_shared(m, n, criterion)
        common, capped = _in_order(tokens, m, length, least, limits)
        return common if common >= least else np.int64(-1), np.int64(m), np.int64(n), capped
    names, n_names = window_names(tokens, length, limits.salt)
    covered_a, covered_b = cover_both(tokens, m, length, names, n_names)
    if counting.matching == INFORMATION:
        redundant_a, redundant_b = redundant_both(tokens, m, length, names, n_names)
        size_a, common_a = count_new(redundant_a, covered_a)
        size_b, common_b = count_new(redundant_b, covered_b)
        common = min(common_a, common_b)
        return common if common >= least_shared(size_a, size_b, criterion) else np.int64(-1), size_a, size_b, False
    least, bound = least_shared(m, n, criterion), matchable(tokens, m, n_tokens, covered_a, covered_b)
    common, capped = np.int64(0), False
    if bound >= max(least, 1):  # only tiles take time, and ``bound`` limits their tokens
        tiles, capped = tile_both(tokens, m, length, names, n_names, (covered_a, covered_b), limits)
        common = tiles[:, 2].sum()
        capped = capped and common < bound
    return common if common >= least else np.int64(-1), np.int64(m), np.int64(n), capped


@entry("uint64[:], int64[:], uint64[:], int64[:, :], Counting, Criterion, WorkLimits -> int64[:, :]")
def common_text(keys, offsets, ranks, pairs, counting, criterion, limits):
    """Return the common text of ``pairs`` (int64[n, 2]) of documents: int64[n, 4] of C, size A, size B, capped.

    Documents and counts are as in ``count_chunks``; sizes are tokens, or non-redundant tokens. Of two documents of
    equal length the one with the smaller rank comes first (``ranks`` uint64[documents], see
    ``documents.content_rank``), so that ties are broken alike for every key of the token hashes. C is −1 where the
    pair does not meet the criterion. ``capped`` is 1 where one of the ``limits`` was reached: C may then be less
    than the greedy choice of chunks, or the longest common subsequence, would yield.
    """
    out = np.empty((pairs.shape[0], 4), np.int64)
    for k in range(pairs.shape[0]):
        ends_a = (offsets[pairs[k, 0]], offsets[pairs[k, 0] + 1])
        ends_b = (offsets[pairs[k, 1]], offsets[pairs[k, 1] + 1])
        size_a, size_b = ends_a[1] - ends_a[0], ends_b[1] - ends_b[0]
        swapped = size_b < size_a or (size_a == size_b and ranks[pairs[k, 1]] < ranks[pairs[k, 0]])
        if swapped:
            ends_a, ends_b = ends_b, ends_a
        tokens, n_tokens = name_tokens(keys, ends_a, ends_b)
        m = ends_a[1] - ends_a[0]
        common, first, second, capped = _common_text(tokens, m, n_tokens, counting, criterion, limits)
        a, b = (2, 1) if swapped else (1, 2)
        out[k, 0], out[k, a], out[k, b], out[k, 3] = common, first, second, capped
    return out
