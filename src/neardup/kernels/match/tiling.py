"""Literal match: greedy string tiling, longest tile first, every token matched once (Wise 1993).

The result follows the greedy definition exactly: of all common runs of free tokens take the longest (ties: smaller
|i − j|, smaller i, smaller j), mark its tokens, and repeat while a run of w or more is left.

With few equal windows, all maximal common runs wait in a heap and are cut when a tile has taken a part of them
(runs.py). Otherwise the work is done in phases: first runs of w·2^k tokens or more, then runs of half the length
among the tokens still free, and so on. The result is the same, because a phase takes all runs of at least its
length. A phase with few runs finds them from windows drawn from A (long_runs.py); a phase with many descends
length by length (nearest.py). Only if both are too much work, as in long tables of nearly equal rows, each window
is paired with some nearby ones instead of all; the result may then differ from the greedy one, and is reported as
capped.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.match.free_places import free_lengths, free_where, mark, next_free, next_marked
from neardup.kernels.match.long_runs import draw, runs_of, text_of
from neardup.kernels.match.nearest import climb, in_both, line_up, take_nearest
from neardup.kernels.match.runs import all_runs, equal_pairs, run_key, run_places
from neardup.kernels.match.window_hashes import equal, power_of, window_hash

_ROUNDS = 4
"""Most repetitions of a capped phase, each with the tokens still free."""
_DIRECT = 1 << 15
"""Up to this many pairs of equal windows are all examined; with more, phases are faster (measured)."""
_FEW = 1 << 16
"""Up to this many meetings of drawn windows are followed one by one; above, a descent by length is tried first."""
_MEETINGS, _MEETINGS_LONG, _WINDOWS = 2, 8, 24
"""Limits as multiples of the runs that may be held: meetings to follow (the second for long runs, where many
meetings belong to one run), and windows that one descent may hold.
"""
_WORTH = 8
"""The windows of a descent that take as long as following one meeting (measured)."""
_START = 3
"""The phase of w·2^3 tokens is tried first; if it has many runs, the next longer one …"""
_CLIMBED = 128
"""The longest phase that may descend length by length: free tokens are counted in bytes."""
_NEAR = 16
"""Most windows compared with one window when not all are."""


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
            stop = equal(tokens, i, m + j, length)
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
def _go_down(text, least, places, tiles, n_tiles, room):
    """Take all runs of ``least`` to 2·``least`` − 1 tokens, if none is longer: (number of tiles, whether done)."""
    most = 2 * least - 1
    free = free_lengths(places, text.m, text.tokens.size, most)
    windows, bounds, whole = climb(text, free, least, most, room)
    if not whole:
        return n_tiles, False
    at, left = np.full(free.size, -1, np.int32), np.empty(free.size, np.int32)
    for length in range(most, least - 1, -1):
        size = 0
        for x in range(bounds[length - least], bounds[length - least + 1]):
            left[size] = windows[x]
            size += free[windows[x]] >= length
        if size > 0:
            size = in_both(text, left[:size], length, left)
            line = line_up(text, left[:size], length, at)
            n_tiles = take_nearest(text, line, length, (places, free, most), tiles, n_tiles)
            for place in line.place:
                at[place] = -1
    return n_tiles, True


@njit(cache=True, nogil=True)
def _meetings(text, places, least):
    """Draw windows so that every run of ``least`` tokens contains one, and few other windows of B meet them."""
    length = max(1, least * 3 // 4)
    return draw(text, places, least, length, least - length + 1)


@njit(cache=True, nogil=True)
def _phase(text, least, longest, places, tiles, n_tiles, most_runs):
    """Take all runs of at least ``least`` free tokens: (number of tiles, whether they are the greedy ones).

    ``longest``: runs may have any length; otherwise none is twice as long as ``least``.
    """
    for attempt in range(_ROUNDS + 1):
        drawn = _meetings(text, places, least)
        if drawn.pairs > min(_FEW, most_runs) and not longest and least <= _CLIMBED:
            room = _WINDOWS * most_runs
            if drawn.pairs <= _MEETINGS * most_runs:  # following them may be less work
                room = min(room, _WORTH * drawn.pairs)
            n_tiles, done = _go_down(text, least, places, tiles, n_tiles, room)
            if done:
                return n_tiles, attempt == 0
        if drawn.pairs <= (_MEETINGS_LONG if longest else _MEETINGS) * most_runs:
            lengths, keys, found = runs_of(text, drawn, least, 0, most_runs)
            if found:
                return _take(text.tokens, text.m, (lengths, keys), least, places, tiles, n_tiles), attempt == 0
        if attempt == _ROUNDS:
            break
        drawn = draw(text, places, least, least, max(1, least // 8))
        near = max(1, min(_NEAR, most_runs // (4 * max(1, drawn.places.size))))
        lengths, keys, _ = runs_of(text, drawn, least, near, most_runs)
        taken = n_tiles
        n_tiles = _take(text.tokens, text.m, (lengths, keys), least, places, tiles, n_tiles)
        if n_tiles == taken:
            break
    return n_tiles, False


@njit(cache=True, nogil=True)
def _whole_in_other(text, places, tiles):
    """Take A as one tile if B contains it, at the place nearest to its beginning; return the number of tiles."""
    m, n = text.m, text.tokens.size - text.m
    if next_marked(places, 0, m) < m:
        return 0
    power = power_of(m, text.powers[0])
    wanted = window_hash(text.prefix, 0, m, power)
    for j in range(n - m + 1):
        if window_hash(text.prefix, m + j, m, power) == wanted and equal(text.tokens, 0, m + j, m) == m:
            tiles[0, 0], tiles[0, 1], tiles[0, 2] = 0, j, m
            return 1
    return 0


@njit(cache=True, nogil=True)
def tile_directly(tokens, m, w, names, n_names, covered, most_runs):
    """Tile A and B greedily if few windows are equal: (tiles, True), else (none, False).

    Tiles are int64[k, 3] = start in A, start in B, length, in the order taken. ``tokens`` (int32 names) are the m
    tokens of A followed by the tokens of B, each at least w; ``names`` identify the windows of w tokens
    (name_windows). Ties are broken by places, so A must be the first of the two in an order that does not depend
    on the caller. ``covered`` (bool[m], bool[n]) marks the tokens in windows that the other document has; all
    others are left out at once. ``most_runs`` bounds the runs held at a time.
    """
    n = tokens.size - m
    pairs = equal_pairs(names, m, n, w, n_names)
    if pairs > min(_DIRECT, most_runs):
        return np.empty((0, 3), np.int64), False
    tiles = np.empty((min(m, n) // w + 1, 3), np.int64)
    places = free_where(covered[0], covered[1])
    runs = all_runs(tokens, names, m, w, n_names, np.int64(pairs))
    return tiles[: _take(tokens, m, runs, w, places, tiles, 0)], True


@njit(cache=True, nogil=True)
def tile_in_phases(tokens, m, w, covered, most_runs, salt):
    """Tile A and B greedily, for any number of equal windows: (tiles, capped); otherwise like ``tile_directly``.

    ``salt`` is a random uint64 that affects no result.
    """
    n = tokens.size - m
    tiles = np.empty((min(m, n) // w + 1, 3), np.int64)
    places = free_where(covered[0], covered[1])
    text = text_of(tokens, m, salt)
    n_tiles, capped = _whole_in_other(text, places, tiles), False
    if n_tiles > 0:
        return tiles[:n_tiles], False
    top = 0
    while w << (top + 1) <= min(m, n):
        top += 1
    level = min(_START, top)
    while level < top and _meetings(text, places, w << level).pairs > most_runs >> 1:
        level += 1
    longest = True
    while level >= 0:
        n_tiles, done = _phase(text, w << level, longest, places, tiles, n_tiles, most_runs)
        capped |= not done
        longest = False
        level -= 1
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
