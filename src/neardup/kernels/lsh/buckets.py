"""Signatures → band keys → buckets → candidate pairs, or the neighbours of each document."""

import numpy as np

from neardup.kernels.bits import fold128
from neardup.kernels.compiler import entry, part
from neardup.kernels.shingles import mix64
from neardup.kernels.sorting import heap_sort

_KEY_A, _KEY_B = np.uint64(0x2D358DCCAA6C78A5), np.uint64(0x8BB84B93962EACC9)
_LONE = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)


@part(inline=True)
def _folded(key, signatures, i, first, behind, seed):
    """Return ``key`` with the slots first … behind − 1 of ``signatures[i]`` folded in."""
    for slot in range(first, behind):
        key = fold128(key ^ np.uint64(signatures[i, slot]), _KEY_B) + seed
    return key


@entry("uint32[:, :], int64, int64, int64, out uint64[:] -> None")
def band_keys(signatures, first, rows, band, out):
    """``out[i]`` = 64-bit key of the slots first … first + rows − 1 of ``signatures[i]``, and of the band."""
    seed = mix64(_KEY_A + np.uint64(band))
    for i in range(signatures.shape[0]):
        out[i] = mix64(_folded(seed, signatures, i, first, first + rows, seed))


@entry("int32[:], int64[:], int64[:], int64, int64, out bool[:] -> (uint64[:], int64, int64)")
def bucket_pairs(order, starts, sizes, limit, reference, hub):
    """Return all pairs in buckets of at most ``limit`` members; mark the members of larger buckets in ``hub``.

    ``order``, ``starts``, ``sizes`` come from ``equal_runs``. A pair is a << 32 | b with a < b (uint64); pairs of
    two documents below ``reference`` are left out. Returns (pairs, hub buckets, largest bucket).
    """
    total = np.int64(0)
    for k in range(starts.size):
        if sizes[k] <= limit:
            total += sizes[k] * (sizes[k] - 1) // 2
    pairs = np.empty(total, np.uint64)
    n = hubs = largest = np.int64(0)
    for k in range(starts.size):
        begin, end = starts[k], starts[k] + sizes[k]
        largest = max(largest, sizes[k])
        if sizes[k] > limit:
            hubs += 1
            for i in range(begin, end):
                hub[order[i]] = True
            continue
        for j in range(begin + 1, end):
            b = order[j]
            if b < reference:  # members are in ascending order: so are all before it
                continue
            for i in range(begin, j):
                pairs[n] = (np.uint64(order[i]) << _32) | np.uint64(b)
                n += 1
    return pairs[:n], hubs, largest


@entry(
    "uint64[:, :], int64, (bool, uint64), out uint64[:, :] -> None",
    "uint32[:, :], int64, (bool, uint64), out uint64[:, :] -> None",
    "uint16[:, :], int64, (bool, uint64), out uint64[:, :] -> None",
    "uint8[:, :], int64, (bool, uint64), out uint64[:, :] -> None",
)
def wrapped_keys(signatures, rows, empty, keys):
    """``keys[b, i]`` = 64-bit key of slots b·rows … b·rows + rows − 1 of ``signatures[i]``, and of the band.

    After the last slot the first ones follow again. ``empty`` = (whether such a value exists, uint64): a document
    with that value in all slots gets keys of its own.
    """
    slots = signatures.shape[1]
    marked, mark = empty
    for i in range(signatures.shape[0]):
        slot = 0
        while marked and slot < slots and np.uint64(signatures[i, slot]) == mark:
            slot += 1
        if slot == slots:
            for band in range(keys.shape[0]):
                keys[band, i] = mix64(_LONE + np.uint64(band) * _KEY_A + np.uint64(i) * _LONE)
            continue
        for band in range(keys.shape[0]):
            seed = mix64(_KEY_A + np.uint64(band))
            first, behind = band * rows, min((band + 1) * rows, slots)
            key = _folded(seed, signatures, i, first, behind, seed)
            keys[band, i] = mix64(_folded(key, signatures, i, 0, first + rows - behind, seed))


@entry("int32[:], int64[:], int64[:], int64, out int32[:, :, :] -> int64")
def enter_buckets(order, starts, sizes, band, places):
    """``places[i, band]`` = start and end in ``order`` of the bucket of document i; untouched if it is alone.

    ``places`` int32[n, bands, 2]; ``order``, ``starts``, ``sizes`` come from ``equal_groups``. Returns the number
    of (document, other member) combinations.
    """
    others = np.int64(0)
    for k in range(starts.size):
        begin, end = starts[k], starts[k] + sizes[k]
        others += sizes[k] * (sizes[k] - 1)
        for at in range(begin, end):
            places[order[at], band, 0], places[order[at], band, 1] = begin, end
    return others


@entry("int32[:, :, :], int64, int64 -> int64[:]")
def bucket_mates(places, first, behind):
    """Return the number of other members in the buckets of each document ``first`` … ``behind`` − 1: int64."""
    counts = np.zeros(behind - first, np.int64)
    for i in range(first, behind):
        for band in range(places.shape[1]):
            counts[i - first] += max(places[i, band, 1] - places[i, band, 0] - 1, 0)
    return counts


@part
def _met_before(places, i, j, band):
    """Return whether documents i and j share a bucket of a band before ``band``."""
    for earlier in range(band):
        begin, end = places[i, earlier, 0], places[i, earlier, 1]
        if end > begin and places[j, earlier, 0] == begin and places[j, earlier, 1] == end:
            return True
    return False


@entry(
    "uint64[:, :], int32[:, :], int32[:, :, :], int64, int64, (int64, bool) -> (int32[:, :], int64[:])",
    "uint32[:, :], int32[:, :], int32[:, :, :], int64, int64, (int64, bool) -> (int32[:, :], int64[:])",
    "uint16[:, :], int32[:, :], int32[:, :, :], int64, int64, (int64, bool) -> (int32[:, :], int64[:])",
    "uint8[:, :], int32[:, :], int32[:, :, :], int64, int64, (int64, bool) -> (int32[:, :], int64[:])",
)
def neighbours(signatures, members, places, first, behind, rule):
    """Return candidates of documents ``first`` … ``behind`` − 1: (found int32[m, 2], ends int64[behind − first]).

    ``found`` holds their numbers and the number of equal slots, most first, then by number; the candidates of
    document first + k end before ``found[ends[k]]``. ``members`` int32[bands, n] is the order of each band;
    ``rule`` = (least number of equal slots, only later: leave out numbers up to the document's own).
    """
    least, only_later = rule
    room = bucket_mates(places, first, behind).sum()
    found, keys = np.empty((room, 2), np.int32), np.empty(room, np.uint64)
    ends = np.empty(behind - first, np.int64)
    slots, used = signatures.shape[1], np.int64(0)
    for i in range(first, behind):
        n = 0
        for band in range(places.shape[1]):
            for at in range(places[i, band, 0], places[i, band, 1]):
                j = members[band, at]
                if j == i or (only_later and j < i) or (band > 0 and _met_before(places, i, j, band)):
                    continue
                agree = 0
                for slot in range(slots):
                    agree += signatures[i, slot] == signatures[j, slot]
                if agree >= least:  # fewer would be two bands with one key
                    keys[n] = (np.uint64(slots - agree) << _32) | np.uint64(j)
                    n += 1
        heap_sort(keys, 0, n)
        for k in range(n):
            found[used + k, 0] = np.int32(keys[k] & np.uint64(0xFFFFFFFF))
            found[used + k, 1] = slots - np.int64(keys[k] >> _32)
        used += n
        ends[i - first] = used
    return found[:used], ends
