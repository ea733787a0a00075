"""Literal match: greedy string tiling, longest tile first, every token matched once (Wise 1993).

The result follows the greedy definition exactly: of all common runs of free tokens take the longest (ties: smaller
|i − j|, smaller i, smaller j), mark its tokens, and repeat while a run of w or more is left. All maximal common
runs wait in a heap and are cut when a tile has taken a part of them (runs.py).

If these are too many, long runs are taken first, by the pairs of equal long windows, and then shorter ones among
the tokens left. Only if the text repeats so often that one of these phases has too many, as in long tables of
nearly equal rows, each window is paired with some near ones instead of all. The result may then differ from the
greedy one, and is reported as capped.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.match.free_places import free_where, mark, next_free, next_marked
from neardup.kernels.match.runs import common_runs, equal_pairs, run_key, run_places, windows_left
from neardup.kernels.names import name_pairs

_ONE = np.uint64(1)
_PAIRS = 1 << 24
"""Up to this many pairs of equal windows are all examined, which takes .1 s at most."""
_NEAR = 16
"""Most windows that one window is paired with when it is not with all."""
_PHASES, _STEP = 4, 3
"""Phases for runs of w·2⁹, w·2⁶, w·2³ and w tokens."""
_ROUNDS = 4
"""Most further rounds of the last phase, each with the tokens still free."""


# The heap: the longest run first; among equal ones, the one with the smallest key.


@njit(cache=True, nogil=True, inline="always")
def _before(lengths, keys, a, b):
    return lengths[a] > lengths[b] or (lengths[a] == lengths[b] and keys[a] < keys[b])


@njit(cache=True, nogil=True)
def _sink(lengths, keys, size, at):
    """Sink entry ``at`` of a heap of ``size`` entries to its position."""
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
    """Raise entry ``at`` of a heap to its position."""
    while at > 0 and _before(lengths, keys, at, (at - 1) >> 1):
        parent = (at - 1) >> 1
        lengths[at], lengths[parent] = lengths[parent], lengths[at]
        keys[at], keys[parent] = keys[parent], keys[at]
        at = parent


@njit(cache=True, nogil=True)
def _take(tokens, m, runs, least, places, tiles, n_tiles):
    """Take tiles of at least ``least`` tokens from ``runs`` (lengths, keys), the first in order first.

    ``places`` are those of A, then of B; returns the new number of tiles. A tile that cuts a run is at least as
    long as the run and so covers one of its ends: at most one stretch of the run is left, the heap never grows,
    and a run returns at most five times. A tile is compared token by token.
    """
    lengths, keys = runs
    size = lengths.size
    for at in range(size // 2 - 1, -1, -1):
        _sink(lengths, keys, size, at)
    while size > 0:
        length = np.int64(lengths[0])
        i, j = run_places(keys[0])
        size -= 1
        lengths[0], keys[0] = lengths[size], keys[size]
        _sink(lengths, keys, size, 0)
        start = next_free(places, i, i + length) - i
        start = max(start, next_free(places, m + j, m + j + length) - m - j)
        stop = next_marked(places, i + start, i + length) - i
        stop = min(stop, next_marked(places, m + j + start, m + j + length) - m - j)
        if stop - start == length:
            stop = _equal(tokens, i, m + j, length)
        if stop - start == length:
            mark(places, i, i + length)
            mark(places, m + j, m + j + length)
            tiles[n_tiles, 0], tiles[n_tiles, 1], tiles[n_tiles, 2] = i, j, length
            n_tiles += 1
        elif stop - start >= least:
            lengths[size], keys[size] = stop - start, run_key(i + start, j + start)
            _rise(lengths, keys, size)
            size += 1
    return n_tiles


@njit(cache=True, nogil=True)
def _equal(tokens, i, j, most):
    """Return how many tokens from i and from j on are equal, at most ``most``."""
    for k in range(most):
        if tokens[i + k] != tokens[j + k]:
            return k
    return most


@njit(cache=True, nogil=True)
def _runs(names, m, w, n_names, most_runs):
    """Return at most ``most_runs`` runs, or m: (lengths, keys, whether all equal windows were paired)."""
    pairs = equal_pairs(names, m, w, n_names)
    if pairs <= _PAIRS:
        lengths, keys, whole = common_runs(names, m, w, n_names, 0, np.int64(min(pairs, most_runs)))
        if whole:
            return lengths, keys, True
    near = _NEAR
    lengths, keys, whole = common_runs(names, m, w, n_names, near, np.int64(most_runs))
    while not whole:
        near >>= 1
        most = most_runs if near > 1 else m  # with one window each, there are at most as many runs as windows
        lengths, keys, whole = common_runs(names, m, w, n_names, near, np.int64(most))
    return lengths, keys, False


@njit(cache=True, nogil=True)
def tile(tokens, m, w, windows, covered, most_runs, salt):
    """Tile A and B greedily: (tiles, capped).

    Tiles are int64[k, 3] = start in A, start in B, length, in the order taken. ``tokens`` (int32 names) are the m
    tokens of A followed by the tokens of B, each at least w; ``windows`` are the names of the windows of w tokens
    (name_windows) and their number. Ties are broken by places, so A must be the first of the two in an order that
    does not depend on the caller. ``covered`` (bool[m], bool[n]) marks the tokens in windows that the other
    document has; all others are left out at once. ``most_runs`` bounds the runs held at a time; ``salt`` (a random
    uint64) affects no result.
    """
    tiles = np.empty((min(m, tokens.size - m) // w + 1, 3), np.int64)
    places = free_where(covered[0], covered[1])
    names, n_names = windows
    pairs = equal_pairs(names, m, w, n_names)
    if pairs <= _PAIRS:
        lengths, keys, whole = common_runs(names, m, w, n_names, 0, np.int64(min(pairs, most_runs)))
        if whole:
            return tiles[: _take(tokens, m, (lengths, keys), w, places, tiles, 0)], False
    return _tile_in_phases(tokens, m, w, windows, places, tiles, (most_runs, salt))


@njit(cache=True, nogil=True)
def _tile_in_phases(tokens, m, w, windows, places, tiles, limits):
    """``tile`` for many equal windows: first the long runs, which have few, then shorter ones among free tokens.

    The result is the same, because a phase takes all runs of at least its length.
    """
    most_runs, salt = limits[0], limits[1] | _ONE
    shortest = min(m, tokens.size - m)
    top = 0
    while top < _PHASES - 1 and w << (_STEP * (top + 1)) <= shortest:
        top += 1
    names, n_names = np.empty((top + 1, tokens.size), np.int32), np.empty(top + 1, np.int64)
    names[0], n_names[0] = windows
    scratch, left = np.empty(tokens.size, np.uint64), np.empty(tokens.size, np.int32)
    for level in range(1, top + 1):
        names[level], n_names[level] = names[level - 1], n_names[level - 1]
        for step in range(_STEP):
            least = w << (_STEP * (level - 1) + step)
            count = tokens.size - 2 * least + 1
            n_names[level] = name_pairs(names[level], count, least, salt, scratch, names[level])
    n_tiles, capped = 0, False
    for phase in range(top + 1 + _ROUNDS):
        level = max(0, top - phase)
        least = w << (_STEP * level)
        windows_left(names[level], m, least, places, left)
        lengths, keys, whole = _runs(left, m, least, n_names[level], most_runs)
        taken = n_tiles
        n_tiles = _take(tokens, m, (lengths, keys), least, places, tiles, n_tiles)
        capped |= not whole
        if level == 0 and (whole or n_tiles == taken):
            break
    return tiles[:n_tiles], capped


@njit(cache=True, nogil=True)
def matchable(tokens, m, n_tokens, covered_a, covered_b):
    """Return an upper bound of every literal match, int64: Σ over token types of min(covered in A, covered in B).

    ``covered`` marks the tokens in some window that the other document has: only these can be matched, and a token
    only with an equal one.
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
