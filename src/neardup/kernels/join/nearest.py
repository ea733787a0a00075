"""The nearest documents of a reference set, for each new document: exact counts through lists of shingles.

The lists of a new document are read from the shortest on, and count how many of its shingles each old document
has. That count is a lower bound of the similarity, and the count with all shingles that are left an upper one. As
soon as no other old document can be among the nearest, no further one is counted, and of those counted the ones
that still may be are compared (Xiao, Wang, Lin and Shang 2009, "Top-k set similarity joins"; Li, Lu and Lu 2008,
"Efficient merging and filtering algorithms for approximate string searches"). At worst each list is read once.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.declarations import Int32s, Int64s, Uint64s, record
from neardup.kernels.join.prefix_index import related
from neardup.kernels.sets import part_of, shared_at_least, whole_of
from neardup.kernels.sorting import with_space

_FEW = 256
"""Entries of lists that are read before the bounds are looked at."""

_MERGING = 2
"""Comparing two sets costs as much as this many entries of lists for each shingle."""


@record
class ShingleLists(NamedTuple):
    """Which old documents have the shingles of the new documents.

    Set k is ``hashes[offsets[k]:offsets[k + 1]]`` (uint64, ascending); the sets below ``old`` are those of old
    documents. List k, ``members[first[k]:first[k + 1]]``, has the old documents with one shingle, and lists ascend
    in length. New document ``old + i`` is in the lists ``list_of[begin[i]:begin[i + 1]]``, ascending. ``across``
    and ``within`` as in ``PrefixIndex``, by document.
    """

    hashes: Uint64s  # uint64
    offsets: Int64s  # int64[documents + 1]
    old: int
    first: Int64s  # int64[lists + 1]
    members: Int32s  # int32
    begin: Int64s  # int64[new + 1]
    list_of: Int32s  # int32
    across: Uint64s  # uint64[documents], or empty
    within: Uint64s  # uint64[documents], or empty


@entry("uint64[:] -> int32[:]")
def slots_of(distinct):
    """Return int32[power of two]: the place of each of ``distinct`` hashes (uint64) by its low bits; else −1."""
    size = 16
    while size < 2 * distinct.size:
        size *= 2
    slots, mask = np.full(size, -1, np.int32), np.uint64(size - 1)
    for k in range(distinct.size):
        place = distinct[k] & mask
        while slots[place] >= 0:
            place = (place + np.uint64(1)) & mask
        slots[place] = k
    return slots


@entry("uint64[:], uint64[:], int32[:], out int32[:] -> None")
def numbers_of(hashes, distinct, slots, numbers):
    """Fill ``numbers`` (int32) with the place of each hash in ``distinct``, or −1; ``slots`` of ``slots_of``."""
    mask = np.uint64(slots.size - 1)
    for i in range(hashes.size):
        place = hashes[i] & mask
        while slots[place] >= 0 and distinct[slots[place]] != hashes[i]:
            place = (place + np.uint64(1)) & mask
        numbers[i] = slots[place]


@entry("int32[:], int64[:], out int64[:], out int32[:] -> None")
def fill_members(numbers, offsets, next_place, members):
    """Write each document into the lists of its shingles: ``numbers`` (int32), −1 for none.

    ``next_place`` (int64[lists]) is where each list goes on in ``members`` (int32), and moves on.
    """
    for document in range(offsets.size - 1):
        for i in range(offsets[document], offsets[document + 1]):
            if numbers[i] >= 0:
                members[next_place[numbers[i]]] = document
                next_place[numbers[i]] += 1


@part(inline=True)
def _value(shared, size, other, formula):
    """Return the similarity of two sets; of containment that of the smaller one, of the cosine its square."""
    return part_of(shared, formula) / max(whole_of(shared, min(size, other), max(size, other), formula), 1)


@part(inline=True)
def _enter(best, used, value):
    """Enter a value into the heap ``best[:used]`` of the greatest ones, the least first; return its size."""
    if used < best.size:
        place = used
        while place > 0 and best[(place - 1) // 2] > value:
            best[place] = best[(place - 1) // 2]
            place = (place - 1) // 2
        best[place] = value
        return used + 1
    if value > best[0]:
        place = 0
        while 2 * place + 1 < used:
            child = 2 * place + 1
            if child + 1 < used and best[child + 1] < best[child]:
                child += 1
            if best[child] >= value:
                break
            best[place] = best[child]
            place = child
        best[place] = value
    return used


@part
def _count(lists, x, best, least, formula, counts, met):
    """Count the shingles that old documents share with new document x, as far as it matters.

    Returns (documents met, lists read, the similarity of the last one wanted at least). Old documents with a count
    (int32[old]) are ``met``; those that may be among the nearest have their exact count if all lists were read.
    """
    begin, until = lists.begin[x], lists.begin[x + 1]
    size = lists.offsets[lists.old + x + 1] - lists.offsets[lists.old + x]
    left = np.int64(0)
    for e in range(begin, until):
        left += lists.first[lists.list_of[e] + 1] - lists.first[lists.list_of[e]]
    used, visited, look, bar, adding = 0, np.int64(0), np.int64(_FEW), least, True
    for e in range(begin, until):
        k = lists.list_of[e]
        length = lists.first[k + 1] - lists.first[k]
        if visited + length >= look:
            further, filled = until - e, 0
            for i in range(used):
                other = lists.offsets[met[i] + 1] - lists.offsets[met[i]]
                filled = _enter(best, filled, _value(counts[met[i]], size, other, formula))
            if filled == best.size:
                bar = max(bar, best[0])
            adding = adding and _value(further, further, size, formula) >= bar
            if not adding:
                cost = np.int64(0)
                for i in range(used):
                    other = lists.offsets[met[i] + 1] - lists.offsets[met[i]]
                    if _value(min(counts[met[i]] + further, size, other), size, other, formula) >= bar:
                        cost += _MERGING * (size + other)
                if cost < left:
                    return used, e - begin, bar
            look = 2 * (visited + length)
        for j in range(lists.first[k], lists.first[k + 1]):
            y = lists.members[j]
            if counts[y] > 0:
                counts[y] += 1
            elif adding and related(lists.across, lists.within, lists.within, 0, lists.old + x, y):
                counts[y] = 1
                met[used] = y
                used += 1
        visited += length
        left -= length
    return used, until - begin, bar


@entry("ShingleLists, (int64, int64), int64, float64, int64 -> int64[:, :]")
def nearest(lists, span, top, least, formula):
    """Return the nearest old documents of the new documents in ``span``: int64[n, 3] (old, new, |A∩B|).

    They are the ``top`` most similar ones of each, at ``least`` (a float; by COSINE its square) or above, and all
    that are as similar as the last of them; fewer if no others have anything in common. Shares of integers are
    compared as floats: below 2²⁶ they are equal only if they are equal as fractions.
    """
    counts, met = np.zeros(lists.old, np.int32), np.empty(lists.old, np.int32)
    best = np.empty(min(top, max(lists.old, 1)), np.float64)
    rows, written = np.empty((1024, 3), np.int64), 0
    for x in range(span[0], span[1]):
        new = lists.old + x
        size = lists.offsets[new + 1] - lists.offsets[new]
        used, read, bar = _count(lists, x, best, least, formula, counts, met)
        further, filled, before = lists.begin[x + 1] - lists.begin[x] - read, 0, written
        for i in range(used):
            y = met[i]
            first, shared = lists.offsets[y], np.int64(counts[y])
            counts[y] = 0
            other = lists.offsets[y + 1] - first
            if _value(min(shared + further, size, other), size, other, formula) < bar:
                continue
            if further:
                shared = shared_at_least(
                    lists.hashes, lists.offsets[new], lists.offsets[new] + size, first, first + other, 0
                )
            value = _value(shared, size, other, formula)
            if value < bar:
                continue
            filled = _enter(best, filled, value)
            if filled == best.size:
                bar = max(bar, best[0])
            rows = with_space(rows, written)
            rows[written, 0], rows[written, 1], rows[written, 2] = y, new, shared
            written += 1
        kept = before
        for k in range(before, written):
            other = lists.offsets[rows[k, 0] + 1] - lists.offsets[rows[k, 0]]
            if _value(rows[k, 2], size, other, formula) >= bar:
                rows[kept, 0], rows[kept, 1], rows[kept, 2] = rows[k, 0], rows[k, 1], rows[k, 2]
                kept += 1
        written = kept
    return rows[:written]
