"""Tiles of one length after the other, longest first, while no longer run of free tokens is common: nearest first.

With ℓ the longest length left, the greedy choice is among pairs of equal windows of ℓ free tokens, the nearest
first. Put the windows of one kind, of A and of B, on one line by their places: the nearest remaining pair is
adjacent, because a window between the two would be nearer to one of them. So only neighbours are stored, in the
order of their distances. A tile removes the windows over its tokens; windows that become adjacent in this way are
further apart than the pair just taken, and wait in a heap. The work for one length is O(k log k) in the number k
of its windows, for any number of pairs among them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.heap import pop, push
from neardup.kernels.match.free_places import mark
from neardup.kernels.match.runs import run_key, run_places
from neardup.kernels.match.window_hashes import equal, power_of, window_hash
from neardup.kernels.names import name_keys
from neardup.kernels.sorting import sort_by_bits

_GOLD = np.uint64(0x9E37_79B9_7F4A_7C15)
_ONE, _SIX, _63 = np.uint64(1), np.uint64(6), np.uint64(63)


class Line(NamedTuple):
    """Windows of one length that both documents have; windows of one kind are linked in the order of places."""

    place: Any  # int32[windows]
    before: Any  # int32[windows]: the neighbour to the left, −1 for none
    after: Any  # int32[windows]
    at: Any  # int32[places]: the window that begins at a place, −1 for none


@njit(cache=True, nogil=True)
def in_both(text, windows, length, out):
    """Write the ``windows`` (int32 places, ascending) that are in both documents to ``out``; return their number.

    A few others may be among them: only bits of hashes are compared.
    """
    bits, n = 6, windows.size
    while (1 << bits) < 8 * n:
        bits += 1
    seen = np.zeros((2, 1 << (bits - 6)), np.uint64)
    shift, power = np.uint64(64 - bits), power_of(length, text.powers[0])
    at = np.empty(n, np.uint32)
    for k in range(n):
        place = np.int64(windows[k])
        bit = (window_hash(text.prefix, place, length, power) * _GOLD) >> shift
        at[k] = bit
        seen[np.int64(place >= text.m), bit >> _SIX] |= _ONE << (bit & _63)
    size = 0
    for k in range(n):
        bit = np.uint64(at[k])
        out[size] = windows[k]
        size += (seen[np.int64(windows[k] < text.m), bit >> _SIX] >> (bit & _63)) & _ONE != 0
    return size


@njit(cache=True, nogil=True)
def climb(text, free, least, most, room):
    """Return the windows in both documents, for each length from ``least`` to ``most``: (places, bounds, whole).

    ``free`` uint8[places] is the result of ``free_lengths``. The windows of ``least`` + k tokens are
    places[bounds[k] : bounds[k + 1]] (int32); a longer window of A or B begins where a shorter one does. ``whole``
    is False if there are more than ``room`` windows, or if too many would follow at an even decline of their
    number up to ``most``.
    """
    windows, size = np.empty(free.size, np.int32), 0
    for place in range(free.size):
        windows[size] = place
        size += free[place] >= least
    places, bounds = np.empty(room + 1, np.int32), np.zeros(most - least + 2, np.int64)
    end = np.int64(0)
    for length in range(least, most + 1):
        k = length - least
        if end + size > room:
            return places[:end], bounds, False
        if size > 0:
            found = in_both(text, windows[:size], length, places[end:])
            end += _kept(text, places[end : end + found], length)
        bounds[k + 1] = end
        if end + (end - bounds[k]) * (most - length) // 2 > 2 * room:
            return places[:end], bounds, False
        size = 0
        for x in range(bounds[k], end):
            windows[size] = places[x]
            size += free[places[x]] > length
    return places[:end], bounds, True


@njit(cache=True, nogil=True)
def _kept(text, windows, length):
    """Move the ``windows`` (int32 places, ascending) that both documents have to the front; return their number.

    The windows that pass ``in_both`` by chance differ from run to run, and must not decide which method is used.
    """
    kind, kinds = _kinds(text, windows, length)
    size = 0
    for k in range(windows.size):
        windows[size] = windows[k]
        size += kinds[kind[k]] == 3
    return size


@njit(cache=True, nogil=True)
def line_up(text, windows, length, at):
    """Return the ``Line`` of the windows (int32 places, ascending) that both documents have.

    ``at`` int32[places] is −1 everywhere; the caller resets it.
    """
    kind, kinds = _kinds(text, windows, length)
    last = np.full(kinds.size, -1, np.int32)
    place, before = np.empty(windows.size, np.int32), np.empty(windows.size, np.int32)
    after = np.full(windows.size, -1, np.int32)
    size, i, end = 0, 0, windows.size
    middle = i
    while middle < end and windows[middle] < text.m:
        middle += 1
    j = middle
    while i < middle or j < end:  # by the distance from the beginning of the document
        if j == end or (i < middle and windows[i] <= windows[j] - text.m):
            k, i = i, i + 1
        else:
            k, j = j, j + 1
        if kinds[kind[k]] == 3:
            left = last[kind[k]]
            place[size], before[size] = windows[k], left
            if left >= 0:
                after[left] = size
            last[kind[k]] = size
            at[windows[k]] = size
            size += 1
    return Line(place[:size], before[:size], after[:size], at)


@njit(cache=True, nogil=True)
def _kinds(text, windows, length):
    """Return the kind number of each window, and for each kind 1 if A has it, 2 if B has it, 3 if both have it."""
    hashes, kind = np.empty(windows.size, np.uint64), np.empty(windows.size, np.int32)
    power = power_of(length, text.powers[0])
    for k in range(windows.size):
        hashes[k] = window_hash(text.prefix, np.int64(windows[k]), length, power)
    kinds = np.zeros(name_keys(hashes, windows.size, kind), np.uint8)
    for k in range(windows.size):
        kinds[kind[k]] |= 1 if windows[k] < text.m else 2
    return kind, kinds


@njit(cache=True, nogil=True)
def _neighbours(line, m):
    """Return the ``run_key`` of every two adjacent windows of A and of B, sorted."""
    keys, size = np.empty(line.place.size, np.uint64), 0
    for k in range(line.place.size):
        left = line.before[k]
        if left >= 0 and (line.place[left] < m) != (line.place[k] < m):
            keys[size] = _key(line, left, k, m)
            size += 1
    bits = 1
    while (1 << bits) < line.at.size:
        bits += 1
    scratch = np.empty(size, np.uint64)
    by_place = sort_by_bits(keys[:size], scratch, 0, bits + 1)
    return sort_by_bits(by_place, np.empty(size, np.uint64), 32, 32 + bits)


@njit(cache=True, nogil=True)
def _key(line, k, other, m):
    """Return the ``run_key`` of a window of A and one of B, given in either order."""
    i, j = np.int64(line.place[k]), np.int64(line.place[other])
    return run_key(min(i, j), max(i, j) - m)


@njit(cache=True, nogil=True)
def take_nearest(text, line, length, state, tiles, n_tiles):
    """Take the tiles of ``length`` tokens, nearest first; return the new number of tiles.

    ``state`` = (Places, ``free_lengths``, their maximum). A tile is a whole run: if longer runs are left, they are
    taken in full.
    """
    places, free, most = state
    keys = _neighbours(line, text.m)
    heap = np.empty(line.place.size, np.uint64)  # of complements, so that the smallest key is on top
    at, size = 0, 0
    while at < keys.size or size > 0:
        if size > 0 and (at == keys.size or ~heap[0] < keys[at]):
            key = ~pop(heap, size)
            size -= 1
        else:
            key = keys[at]
            at += 1
        i, j = run_places(key)
        j += text.m
        if free[i] < length or free[j] < length or equal(text.tokens, i, j, length) < length:
            continue
        i, j, whole = _whole(text, free, i, j, length)
        tiles[n_tiles, 0], tiles[n_tiles, 1], tiles[n_tiles, 2] = i, j - text.m, whole
        n_tiles += 1
        for first, begin in ((0, i), (text.m, j)):
            mark(places, begin, begin + whole)
            _shorten(free, first, begin, begin + whole, most)
            for place in range(max(first, begin - length + 1), begin + whole):
                if line.at[place] >= 0:
                    size = _leave(line, line.at[place], text.m, heap, size)
                    line.at[place] = -1
    return n_tiles


@njit(cache=True, nogil=True)
def _whole(text, free, i, j, length):
    """Return the run of free tokens around an equal window: its start in both documents, and its length."""
    tokens, m = text.tokens, text.m
    while i > 0 and j > m and free[i - 1] > 0 and free[j - 1] > 0 and tokens[i - 1] == tokens[j - 1]:
        i, j, length = i - 1, j - 1, length + 1
    while i + length < m and j + length < tokens.size and free[i + length] > 0 and free[j + length] > 0:
        if tokens[i + length] != tokens[j + length]:
            break
        length += 1
    return i, j, length


@njit(cache=True, nogil=True)
def _shorten(free, first, begin, end, most):
    """Mark the places [begin, end) as used: update ``free`` there and before, but not before ``first``."""
    for place in range(begin, end):
        free[place] = 0
    for k in range(1, most):
        if begin - k < first or free[begin - k] == 0:
            break
        free[begin - k] = k


@njit(cache=True, nogil=True)
def _leave(line, k, m, heap, size):
    """Remove window k from the line; push the complement of the key of windows of A and B that become adjacent."""
    left, right = line.before[k], line.after[k]
    if left >= 0:
        line.after[left] = right
    if right >= 0:
        line.before[right] = left
    if left >= 0 and right >= 0 and (line.place[left] < m) != (line.place[right] < m):
        size = push(heap, size, ~_key(line, left, right, m))
    return size
