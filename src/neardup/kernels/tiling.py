"""Literal match: greedy string tiling, longest tile first, every token matched once (Wise 1993).

Exactly the greedy definition: of all common runs of free tokens take the longest (ties: smaller |i − j|, smaller
i, smaller j), mark its tokens, repeat while a run of w or more is left. Maximal common runs begin where windows
are equal and the tokens before them are not (runs.py); they wait in a heap and are cut when a tile has taken a
part of them.

Where pairs of equal windows are many (one word repeated, tables), the work is done in phases: windows of w·2^k
tokens first, those of half the length among what is still free, and so on. That is the same result, for a phase
takes all runs of at least its length. Only where even the *beginnings* of runs are too many in some phase, each
window is paired with some near ones instead of all; then the result may not be the greedy one, and is told to be
capped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from neardup.kernels.listed import next_set
from neardup.kernels.runs import all_runs, count_runs, free_lengths, group_windows, longest, near_runs, run_key
from neardup.kernels.windows import count_names, name_pairs

_ONE, _ALL = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
_32, _63 = np.uint64(32), np.int64(63)
_ROUNDS = 4
"""How often a capped phase is repeated at most, each time with what is still free."""


@njit(cache=True, nogil=True)
def equal_pairs(names, m, n, length, n_names):
    """Number (float) of pairs of an equal window in A and in B; ``names`` as of name_windows over A and B."""
    counts_a = count_names(names, 0, m - length + 1, n_names)
    counts_b = count_names(names, m, m + n - length + 1, n_names)
    pairs = 0.0
    for name in range(n_names):
        pairs += float(counts_a[name]) * float(counts_b[name])
    return pairs


class Places(NamedTuple):
    """Which places are free and which are in a tile: a bit each, and a bit for each word that is not 0."""

    free: Any  # uint64[places / 64 + 1]
    free_words: Any  # uint64[places / 4096 + 1]
    marked: Any
    marked_words: Any


@njit(cache=True, nogil=True)
def _all_free(n):
    """The first n places are free, none is marked."""
    size, above = (n >> 6) + 1, (n >> 12) + 1
    free, free_words = np.zeros(size, np.uint64), np.zeros(above, np.uint64)
    marked, marked_words = np.zeros(size, np.uint64), np.zeros(above, np.uint64)
    _move(0, n, (marked, marked_words), (free, free_words))
    return Places(free, free_words, marked, marked_words)


@njit(cache=True, nogil=True)
def _mark(places, begin, end):
    """The places [begin, end) are free no more."""
    _move(begin, end, (places.free, places.free_words), (places.marked, places.marked_words))


@njit(cache=True, nogil=True)
def _move(begin, end, source, target):
    """Clear the bits [begin, end) in ``source`` and set them in ``target``, each (bits, words)."""
    for word in range(begin >> 6, ((end - 1) >> 6) + 1):
        bits = _ALL
        if word == begin >> 6:
            bits &= _ALL << np.uint64(begin & _63)
        if word == (end - 1) >> 6:
            bits &= _ALL >> np.uint64(63 - ((end - 1) & _63))
        source[0][word] &= ~bits
        target[0][word] |= bits
        above = _ONE << np.uint64(word & _63)
        if source[0][word] == 0:
            source[1][word >> 6] &= ~above
        target[1][word >> 6] |= above


# The heap: the longest run first, of equal ones the one with the smallest key.


@njit(cache=True, nogil=True, inline="always")
def _before(lengths, keys, a, b):
    return lengths[a] > lengths[b] or (lengths[a] == lengths[b] and keys[a] < keys[b])


@njit(cache=True, nogil=True)
def _sink(lengths, keys, size, at):
    """Put entry ``at`` of a heap of ``size`` entries in its place below."""
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and _before(lengths, keys, child + 1, child):
            child += 1
        if not _before(lengths, keys, child, at):
            return
        lengths[at], lengths[child] = lengths[child], lengths[at]
        keys[at], keys[child] = keys[child], keys[at]
        at = child


@njit(cache=True, nogil=True)
def _rise(lengths, keys, at):
    """Put entry ``at`` of a heap in its place above."""
    while at > 0 and _before(lengths, keys, at, (at - 1) >> 1):
        parent = (at - 1) >> 1
        lengths[at], lengths[parent] = lengths[parent], lengths[at]
        keys[at], keys[parent] = keys[parent], keys[at]
        at = parent


@njit(cache=True, nogil=True)
def _next_free(places, at, end):
    return next_set(places.free, places.free_words, at, end)


@njit(cache=True, nogil=True)
def _next_marked(places, at, end):
    return next_set(places.marked, places.marked_words, at, end)


@njit(cache=True, nogil=True)
def _take(runs, least, m, places, tiles, n_tiles):
    """Take tiles of at least ``least`` tokens from ``runs`` (lengths, keys), the first in order first.

    ``places`` are those of A and then of B; returns the new number of tiles. What cuts a
    run is at least as long as the run and so reaches over one of its ends: one stretch at most is left of it,
    the heap never grows, and a run comes back five times at most.
    """
    lengths, keys = runs
    size = lengths.size
    for at in range(size // 2 - 1, -1, -1):
        _sink(lengths, keys, size, at)
    while size > 0:
        length, key = np.int64(lengths[0]), keys[0]
        i = np.int64((key & np.uint64(0xFFFFFFFF)) >> _ONE)
        distance = np.int64(key >> _32)
        j = i + distance if key & _ONE else i - distance
        size -= 1
        lengths[0], keys[0] = lengths[size], keys[size]
        _sink(lengths, keys, size, 0)
        start = _next_free(places, i, i + length) - i
        start = max(start, _next_free(places, m + j, m + j + length) - m - j)
        stop = _next_marked(places, i + start, i + length) - i
        stop = min(stop, _next_marked(places, m + j + start, m + j + length) - m - j)
        if stop - start == length:
            _mark(places, i, i + length)
            _mark(places, m + j, m + j + length)
            tiles[n_tiles, 0], tiles[n_tiles, 1], tiles[n_tiles, 2] = i, j, length
            n_tiles += 1
        elif stop - start >= least:
            lengths[size], keys[size] = stop - start, run_key(i + start, j + start)
            _rise(lengths, keys, size)
            size += 1
    return n_tiles


@njit(cache=True, nogil=True)
def _name_levels(tokens, m, w, names, n_names, most_runs):
    """Names of the windows of w, 2w, 4w, … tokens, until there are no more than ``most_runs`` equal pairs.

    Returns (int32[levels, places], int64[levels] number of names of each level).
    """
    n = tokens.size - m
    depth = 1
    while w << depth <= min(m, n):
        depth += 1
    levels, counts = np.empty((depth, tokens.size), np.int32), np.empty(depth, np.int64)
    levels[0, :], counts[0] = names, n_names
    level = 0
    while level + 1 < depth and equal_pairs(levels[level], m, n, w << level, counts[level]) > most_runs:
        keys = np.empty(tokens.size, np.uint64)
        length = w << level
        inside = tokens.size - 2 * length + 1
        counts[level + 1] = name_pairs(levels[level], inside, length, keys, levels[level + 1])
        level += 1
    return levels[: level + 1], counts[: level + 1]


@njit(cache=True, nogil=True)
def tile(tokens, m, w, names, n_names, most_runs):
    """Tile A and B greedily; (tiles int64[k, 3] = start in A, start in B, length, in the order taken; capped).

    ``tokens`` (int32 names) are the m tokens of A and behind them those of B, each at least w; ``names`` are
    those of the windows of w tokens (name_windows). Ties are broken by places, so A must be the first of the two
    in an order that does not depend on who asks. ``most_runs`` bounds the runs that are held at a time.
    """
    total, n = tokens.size, tokens.size - m
    tiles = np.empty((min(m, n) // w + 1, 3), np.int64)
    n_tiles, capped = 0, False
    levels, counts = _name_levels(tokens, m, w, names, n_names, most_runs)
    places = _all_free(total)
    left_over = 2 * most_runs  # runs that all capped phases together may hold
    for level in range(levels.shape[0] - 1, -1, -1):
        length, done = w << level, False
        rounds = 0
        while not done:
            lengths = free_lengths(places.free, m, total)
            if longest(lengths, 0, m) < w or longest(lengths, m, total) < w:
                return tiles[:n_tiles], capped
            form = (m, length, counts[level])
            groups = group_windows(tokens, levels[level], form, lengths, True)
            runs = count_runs(tokens, levels[level], m, length, lengths, groups)
            before = n_tiles
            if runs <= most_runs:
                found = all_runs(tokens, levels, (m, w, level), lengths, groups, runs)
                done = True
            else:
                capped = True
                allowed = left_over // (level + 2)
                groups = group_windows(tokens, levels[level], form, lengths, False)
                found = near_runs(tokens, levels, (m, w, level), lengths, groups, allowed)
                left_over = max(0, left_over - found[0].size)
                rounds += 1
            n_tiles = _take(found, length, m, places, tiles, n_tiles)
            done = done or n_tiles == before or rounds == _ROUNDS or left_over == 0 or level > 0
    return tiles[:n_tiles], capped


@njit(cache=True, nogil=True)
def matchable(tokens, m, n_tokens, covered_a, covered_b):
    """Upper bound of every literal match, int64: Σ over token types of min(covered in A, covered in B).

    ``covered`` says which tokens lie in some window that the other document has: only these can be matched, and
    a token only with an equal one.
    """
    counts = np.zeros((n_tokens, 2), np.int32)
    for i in range(m):
        counts[tokens[i], 0] += covered_a[i]
    for j in range(tokens.size - m):
        counts[tokens[m + j], 1] += covered_b[j]
    bound = np.int64(0)
    for token in range(n_tokens):
        bound += min(counts[token, 0], counts[token, 1])
    return bound
