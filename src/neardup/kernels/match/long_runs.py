"""Maximal common runs of at least T free tokens, from windows drawn from A at regular distances.

A run of T = L + s − 1 tokens or more contains one of the windows of L tokens that begin every s places, so only a
few windows of A meet the windows of B (Manber 1994; the block match of rsync, Tridgell 1999). Where two windows
meet, the run is followed to both ends, once. The work is proportional to the free tokens, and most texts have few
long runs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.match.free_places import stretches
from neardup.kernels.match.runs import run_key
from neardup.kernels.match.window_hashes import (
    agree_after,
    agree_before,
    base_of,
    doubled_powers,
    power_of,
    prefix_hashes,
    window_hash,
)

_GOLD = np.uint64(0x9E37_79B9_7F4A_7C15)
_ONE, _63 = np.uint64(1), np.uint64(63)


class Text(NamedTuple):
    """The tokens (int32 names) of A (m of them) followed by those of B, with hashes of all windows.

    ``powers`` are the base of the hashes, its square, the square of that, and so on.
    """

    tokens: Any
    m: Any
    prefix: Any
    powers: Any


class DrawnWindows(NamedTuple):
    """Windows drawn from A, in order, and the windows of B that they meet."""

    length: Any  # of a window, L
    places: Any  # int32[windows]: its start in A
    stretch: Any  # int32[windows]: its stretch of A
    group: Any  # int32[windows]: number of its group of equal windows
    first: Any  # int64[groups + 1]: start of the group in ...
    met: Any  # int32: starts of the equal windows in B, ascending in each group
    met_stretch: Any  # int32: the stretch of B
    sides: Any  # (int64[a, 2], int64[b, 2]): the stretches of free tokens of A and of B
    pairs: Any  # the number of meetings between drawn windows and windows of B


@njit(cache=True, nogil=True)
def text_of(tokens, m, salt):
    """Return the two documents with the hashes that compare any two windows; ``salt`` is a random uint64."""
    base = base_of(salt)
    return Text(tokens, m, prefix_hashes(tokens, base), doubled_powers(base))


@njit(cache=True, nogil=True)
def draw(text, places, least, length, step):
    """Draw the windows of ``length`` tokens every ``step`` places of A; stretches below ``least`` are left out."""
    free_a = stretches(places, 0, text.m, least)
    free_b = stretches(places, text.m, text.tokens.size, least)
    at, stretch = _every(free_a, length, step)
    group, n_groups, table = _groups(text, at, length)
    counts = np.zeros(n_groups, np.int64)
    for k in range(group.size):
        counts[group[k]] += 1
    places_b, stretch_b, groups_b = _meet(text, free_b, length, table)
    first = np.zeros(n_groups + 2, np.int64)
    pairs = np.int64(0)
    for k in range(places_b.size):
        first[groups_b[k] + 2] += 1
        pairs += counts[groups_b[k]]
    for k in range(n_groups + 1):
        first[k + 1] += first[k]
    met, met_stretch = np.empty(places_b.size, np.int32), np.empty(places_b.size, np.int32)
    for k in range(places_b.size):
        slot = first[groups_b[k] + 1]
        met[slot], met_stretch[slot] = places_b[k], stretch_b[k]
        first[groups_b[k] + 1] += 1
    return DrawnWindows(
        length, at, stretch, group, first[: n_groups + 1], met, met_stretch, (free_a, free_b), pairs
    )


@njit(cache=True, nogil=True)
def _every(free, length, step):
    """Return the starts of the windows of ``length`` tokens every ``step`` places, and the stretch of each."""
    size = 0
    for k in range(free.shape[0]):
        size += max(0, (free[k, 1] - free[k, 0] - length) // step + 1)
    at, stretch = np.empty(size, np.int32), np.empty(size, np.int32)
    size = 0
    for k in range(free.shape[0]):
        for place in range(free[k, 0], free[k, 1] - length + 1, step):
            at[size], stretch[size] = place, k
            size += 1
    return at, stretch


@njit(cache=True, nogil=True, inline="always")
def _slot_of(slots, keys, key, slot):
    """Return the slot of ``key`` in an open-addressing table, searched from ``slot`` on, or the free slot for it.

    ``slots`` int32[power of two] holds the index of each entry in ``keys``, −1 if the slot is free.
    """
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + 1) & (slots.size - 1)
    return slot


@njit(cache=True, nogil=True)
def _groups(text, at, length):
    """Return the groups of equal windows: (group int32 of each window, number of groups, the look-up table)."""
    bits = 5
    while (1 << bits) < 2 * at.size:
        bits += 1
    slots, power = np.full(1 << bits, -1, np.int32), power_of(length, text.powers[0])
    seen = np.zeros(1 << (bits - 3), np.uint64)  # eight bits a slot: one look rules out most windows of B
    hashes, group = np.empty(at.size, np.uint64), np.empty(at.size, np.int32)
    n_groups = 0
    for k in range(at.size):
        value = window_hash(text.prefix, np.int64(at[k]), length, power)
        mixed = value * _GOLD
        bit = mixed >> np.uint64(61 - bits)
        seen[bit >> np.uint64(6)] |= _ONE << (bit & _63)
        slot = _slot_of(slots, hashes, value, np.int64(mixed >> np.uint64(64 - bits)))
        if slots[slot] < 0:
            slots[slot] = n_groups
            hashes[n_groups] = value
            n_groups += 1
        group[k] = slots[slot]
    return group, n_groups, (slots, seen, hashes)


@njit(cache=True, nogil=True)
def _meet(text, free, length, table):
    """Return the windows of B that equal a drawn window: start, stretch and group of each, int32, in order."""
    slots, seen, hashes = table
    power = power_of(length, text.powers[0])
    bits = 0
    while (1 << bits) < slots.size:
        bits += 1
    to_bit, to_slot = np.uint64(61 - bits), np.uint64(64 - bits)
    room = 0
    for k in range(free.shape[0]):
        room += max(0, free[k, 1] - free[k, 0] - length + 1)
    at, stretch, group = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    size = 0
    for k in range(free.shape[0]):
        for place in range(free[k, 0], free[k, 1] - length + 1):
            value = window_hash(text.prefix, place, length, power)
            mixed = value * _GOLD
            bit = mixed >> to_bit
            if (seen[bit >> np.uint64(6)] >> (bit & _63)) & _ONE == 0:
                continue
            slot = _slot_of(slots, hashes, value, np.int64(mixed >> to_slot))
            if slots[slot] >= 0:
                at[size], stretch[size], group[size] = place, k, slots[slot]
                size += 1
    return at[:size], stretch[:size], group[:size]


@njit(cache=True, nogil=True)
def runs_of(text, drawn, least, near, room):
    """Return the maximal runs of ``least`` tokens or more around drawn windows: (lengths int32, keys uint64, all).

    ``all`` is False if there are more than ``room`` runs, or with ``near``. With ``near``, a drawn window is
    paired with at most that many nearest windows of B, and with the one at the same relative rank among its equals
    in B as the window has in A. In this way two stretches of the same text find each other at any distance.
    """
    room = min(room, drawn.pairs)
    lengths, keys = np.empty(room, np.int32), np.empty(room, np.uint64)
    ends = np.zeros(text.tokens.size, np.int32)  # for each distance of two places, the end in A of the last run
    counts, rank = np.zeros(drawn.first.size, np.int64), np.zeros(drawn.first.size, np.int64)
    for k in range(drawn.group.size):
        counts[drawn.group[k]] += 1
    size = 0
    for k in range(drawn.places.size):
        group = drawn.group[k]
        begin, end = drawn.first[group], drawn.first[group + 1]
        if begin == end:
            continue
        peer = begin + rank[group] * (end - begin) // counts[group]
        rank[group] += 1
        begin, end = _nearest(drawn, k, text.m, near, begin, end)
        for x in range(begin - 1, end):
            if x < begin and (near == 0 or begin <= peer < end):
                continue
            met = peer if x < begin else x
            length, key = _follow(text, drawn, k, met, ends)
            if length >= least:
                if size == room:
                    return lengths, keys, False
                lengths[size], keys[size] = length, key
                size += 1
    return lengths[:size], keys[:size], near == 0


@njit(cache=True, nogil=True)
def _nearest(drawn, k, m, near, begin, end):
    """Return the part of [begin, end) of ``drawn.met`` nearest to window k of A, at most ``near``; 0 means all."""
    if near == 0 or end - begin <= near:
        return begin, end
    same = drawn.places[k] + m  # the place of B at the same distance from its beginning
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if drawn.met[middle] < same:
            low = middle + 1
        else:
            high = middle
    high = low
    while high - low < near:
        if high == end or (low > begin and same - drawn.met[low - 1] <= drawn.met[high] - same):
            low -= 1
        else:
            high += 1
    return low, high


@njit(cache=True, nogil=True)
def _follow(text, drawn, k, met, ends):
    """Return the run around window k of A and a window it meets: (length, key); 0 if it was followed before."""
    i, j = np.int64(drawn.places[k]), np.int64(drawn.met[met])
    if ends[j - i] >= i + drawn.length:
        return np.int64(0), np.uint64(0)
    free_a, free_b = drawn.sides[0][drawn.stretch[k]], drawn.sides[1][drawn.met_stretch[met]]
    length = drawn.length
    most = min(free_a[1] - i, free_b[1] - j) - length
    after = length + agree_after(text.tokens, text.prefix, text.powers, i + length, j + length, most)
    most = min(i - free_a[0], j - free_b[0])
    before = agree_before(text.tokens, text.prefix, text.powers, i, j, most)
    ends[j - i] = i + after
    return np.int64(before + after), run_key(i - before, j - before - text.m)
