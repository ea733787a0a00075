"""Literal match: greedy string tiling, longest tile first, every token matched once (Wise 1993).

The result follows the greedy definition exactly: of all common runs of free tokens take the longest (ties: smaller
|i − j|, smaller i, smaller j), mark its tokens, and repeat while a run of w or more is left. All maximal common
runs wait in a heap and are cut when a tile has taken a part of them.

If these are too many, long runs are taken first, by the pairs of equal long windows, and then shorter ones among
the tokens left. Only if the text repeats so often that one of these phases has too many, as in long tables of
nearly equal rows, each window is paired with some near ones instead of all. The result may then differ from the
greedy one, and is reported as capped.

Tokens and windows of A (m tokens) and B are in one array, A first (``names.py``); a *place* is an index there. A
run begins where two windows are equal and the tokens before them are not. Free places (tokens outside tiles) and
used ones are bit maps.
"""

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.bits import next_set, no_bits
from neardup.kernels.compiler import entry, part
from neardup.kernels.names import name_pairs
from neardup.kernels.sorting import copy_into

MOST_RUNS = 1 << 19
"""Common runs held at a time; with more, each window is paired only with nearby ones."""


MOST_STEPS = 600_000_000
"""The most steps of 64 tokens for one longest common subsequence."""


TILING_CAP = (
    "literal match: the same windows repeat so often that not every run was tried; the common text may be more"
)


LCS_CAP = "lcs: too long to be computed in full; counted along matching chunks in the same order, a lower bound"


_ONE, _32 = np.uint64(1), np.uint64(32)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_63 = np.int64(63)


class FreePlaces(NamedTuple):
    """The free places and the places in a tile: one bit each, and one bit for each word that is not 0."""

    free: Any  # uint64[places / 64 + 1]
    free_words: Any  # uint64[places / 4096 + 1]
    marked: Any
    marked_words: Any


@part
def all_free(n):
    """Return ``FreePlaces`` in which the first n are free and none is marked."""
    free, marked = no_bits(n), no_bits(n)
    _move(0, n, marked, free)
    return FreePlaces(free[0], free[1], marked[0], marked[1])


@part
def free_where(flags_a, flags_b):
    """Return the places of A, then of B (bool per place): free where the flag is set, in a tile elsewhere."""
    m, total = flags_a.size, flags_a.size + flags_b.size
    places = all_free(total)
    begin = -1
    for place in range(total + 1):
        free = place == total or (flags_a[place] if place < m else flags_b[place - m])
        if not free and begin < 0:
            begin = place
        elif free and begin >= 0:
            mark(places, begin, place)
            begin = -1
    return places


@part
def mark(places, begin, end):
    """Mark the places [begin, end) as no longer free."""
    _move(begin, end, (places.free, places.free_words), (places.marked, places.marked_words))


@part
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


@part
def next_free(places, at, end):
    """Return the first free place in [at, end), or end."""
    return next_set(places.free, places.free_words, at, end)


@part
def next_marked(places, at, end):
    """Return the first place in [at, end) that is in a tile, or end."""
    return next_set(places.marked, places.marked_words, at, end)


_PLACE = np.uint64(0xFFFFFFFF)


@part(inline=True)
def run_key(i, j):
    """Return the sort key, among runs of one length, of the run that begins at i of A and j of B."""
    return (np.uint64(abs(i - j)) << _32) | (np.uint64(i) << _ONE) | np.uint64(j > i)


@part(inline=True)
def run_places(key):
    """Return (i, j) of a ``run_key``."""
    i = np.int64((key & _PLACE) >> _ONE)
    distance = np.int64(key >> _32)
    return i, (i + distance if key & _ONE else i - distance)


@part
def _counts(names, begin, end, n_names):
    """Return int64[n_names]: how often each name is among ``names[begin:end]``; −1 is not counted."""
    counts = np.zeros(n_names, np.int64)
    for at in range(begin, end):
        if names[at] >= 0:
            counts[names[at]] += 1
    return counts


@part
def equal_pairs(names, m, w, n_names):
    """Return the number (float) of pairs of equal windows of w tokens in A and B."""
    counts_a = _counts(names, 0, m - w + 1, n_names)
    counts_b = _counts(names, m, names.size - w + 1, n_names)
    pairs = 0.0
    for name in range(n_names):
        pairs += float(counts_a[name]) * float(counts_b[name])
    return pairs


@part
def windows_left(names, m, w, places, out):
    """Write the names of the windows of w tokens, −1 where one is not free in ``places``, to ``out`` (int32)."""
    total = out.size
    for begin, end in ((0, m), (m, total)):
        for at in range(begin, end):
            free = at + w <= end and next_marked(places, at, at + w) == at + w
            out[at] = names[at] if free else -1


@part
def _extent(names, w, i, j, most):
    """Return the length, from w to ``most``, of the common run of windows that are equal at places i and j."""
    length = w
    while length + w <= most and names[i + length] == names[j + length] >= 0:
        length += w
    # fewer than w tokens are left: the last window that still agrees marks the end of the run
    low, high = length, min(most, length + w - 1)
    while low < high:
        middle = (low + high + 1) >> 1
        if names[i + middle - w] == names[j + middle - w] >= 0:
            low = middle
        else:
            high = middle - 1
    return low


@part
def _by_name(names, m, last, n_names):
    """Return (first, places): the windows of B named k begin at ``places[first[k]:first[k + 1]]``, ascending."""
    first = np.zeros(n_names + 2, np.int32)
    for j in range(m, last):
        if names[j] >= 0:
            first[names[j] + 2] += 1
    for k in range(n_names + 1):
        first[k + 1] += first[k]
    places = np.empty(first[n_names + 1], np.int32)
    for j in range(m, last):
        if names[j] >= 0:
            places[first[names[j] + 1]] = j
            first[names[j] + 1] += 1
    return first, places


@part
def _nearest(places, begin, end, wanted, near):
    """Return the part [begin, end) of the ascending ``places`` with the ``near`` ones nearest to ``wanted``."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if places[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    high = low
    while high - low < near:
        if high == end or (low > begin and wanted - places[low - 1] <= places[high] - wanted):
            low -= 1
        else:
            high += 1
    return low, high


@part
def common_runs(names, m, w, n_names, near, most):
    """Return the common runs of w tokens or more: (lengths int32, keys uint64, whether they are at most ``most``).

    ``names`` (int32, ``n_names`` different ones, −1 for windows to leave out) identify the windows of w tokens;
    each key is a ``run_key``. With ``near`` 0 the runs are all maximal ones. Otherwise each window of A is paired
    with the ``near`` nearest equal ones of B alone, and a run begins at the first of such pairs.
    """
    n = names.size - m
    first, places = _by_name(names, m, m + n - w + 1, n_names)
    lengths, keys = np.empty(most, np.int32), np.empty(most, np.uint64)
    size, before_low, before_high = 0, 0, 0
    for i in range(m - w + 1):
        low = high = 0
        if names[i] >= 0:
            low, high = first[names[i]], first[names[i] + 1]
        if 0 < near < high - low:
            low, high = _nearest(places, low, high, i + m, near)
        at = before_low
        for k in range(low, high):
            j = np.int64(places[k])
            if near == 0:
                begins = i == 0 or j == m or names[i - 1] != names[j - 1] or names[i - 1] < 0
            else:  # both lists ascend
                while at < before_high and places[at] < j - 1:
                    at += 1
                begins = at == before_high or places[at] != j - 1
            if begins:
                if size == most:
                    return lengths, keys, False
                lengths[size] = _extent(names, w, i, j, min(m - i, m + n - j))
                keys[size] = run_key(i, j - m)
                size += 1
        before_low, before_high = low, high
    return lengths[:size], keys[:size], True


_PAIRS = 1 << 24
"""Up to this many pairs of equal windows are all examined, which takes .1 s at most."""
_NEAR = 16
"""Most windows that one window is paired with when it is not with all."""
_PHASES, _STEP = 4, 3
"""Phases for runs of w·2⁹, w·2⁶, w·2³ and w tokens."""
_ROUNDS = 4
"""Most further rounds of the last phase, each with the tokens still free."""


# The heap: the longest run first; among equal ones, the one with the smallest key.


@part(inline=True)
def _before(lengths, keys, a, b):
    return lengths[a] > lengths[b] or (lengths[a] == lengths[b] and keys[a] < keys[b])


@part
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


@part
def _rise(lengths, keys, at):
    """Raise entry ``at`` of a heap to its position."""
    while at > 0 and _before(lengths, keys, at, (at - 1) >> 1):
        parent = (at - 1) >> 1
        lengths[at], lengths[parent] = lengths[parent], lengths[at]
        keys[at], keys[parent] = keys[parent], keys[at]
        at = parent


@part
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


@part
def _equal(tokens, i, j, most):
    """Return how many tokens from i and from j on are equal, at most ``most``."""
    for k in range(most):
        if tokens[i + k] != tokens[j + k]:
            return k
    return most


@part
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


@part
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


@part
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
    n_names[0] = windows[1]
    copy_into(names[0], 0, windows[0], tokens.size)
    scratch, left = np.empty(tokens.size, np.uint64), np.empty(tokens.size, np.int32)
    for level in range(1, top + 1):
        n_names[level] = n_names[level - 1]
        copy_into(names[level], 0, names[level - 1], tokens.size)
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


@entry("int32[:], int64, int64, bool[:], bool[:] -> int64")
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
