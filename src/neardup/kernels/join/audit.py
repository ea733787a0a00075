"""Drawn documents against all others: one walk over the shingles of a document counts those it shares with each.

No prefix and no signature is used: the count has only the shingle sets and the criterion in common with the search
that it checks. Shingles in many drawn documents are only deferred: if a document has too few of them to make a
pair, they are counted only for the drawn documents that it has already met.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.declarations import Int32s, Int64s, Uint64s, record
from neardup.kernels.sets import least_shared
from neardup.kernels.sorting import first_at_least, first_within, with_space


@record
class DrawnDocuments(NamedTuple):
    """The drawn documents, numbered by size, and for each of their shingles the documents that contain it.

    The documents with shingle k of ``keys`` are ``members[first[k]:first[k + 1]]``, ascending. The shingles whose
    hash begins with the bits of c are ``keys[cells[c]:cells[c + 1]]``; the number of such cells is a power of two.
    """

    keys: Uint64s  # uint64[shingles], ascending
    first: Int64s  # int64[shingles + 1]
    members: Int32s  # int32[entries]
    cells: Int64s  # int64[cells + 1]
    sizes: Int64s  # int64[drawn], ascending


@part(inline=True)
def is_pair(shared, size_a, size_b, criterion):
    """Return whether two sets with ``shared`` elements in common are a pair: the one criterion of this module."""
    return shared >= least_shared(size_a, size_b, criterion)


@part
def sizes_that_fit(sizes, size, criterion):
    """Return (low, high): ``sizes[low:high]`` (ascending) are the possible partners of a set of ``size``.

    Two sizes reach their best value when one set contains the other, and that value never rises as the sizes move
    apart.
    """
    low, high = np.int64(0), np.int64(first_at_least(sizes, size))
    begin = high
    while low < high:  # the smaller sizes: first that fits
        middle = (low + high) // 2
        if is_pair(sizes[middle], sizes[middle], size, criterion):
            high = middle
        else:
            low = middle + 1
    last = np.int64(sizes.size)
    while begin < last:  # equal or larger sizes: first that does not fit
        middle = (begin + last) // 2
        if is_pair(size, sizes[middle], size, criterion):
            begin = middle + 1
        else:
            last = middle
    return low, last


@part
def _place(keys, cells, value, shift):
    """Return the number of a shingle among the keys, or −1."""
    cell = np.int64(value >> shift)
    end = cells[cell + 1]
    place = first_within(keys, cells[cell], end, value)
    if place < end and keys[place] == value:
        return place
    return np.int64(-1)


@part
def _count_lists(drawn, lists, n_lists, span, state):
    """Count the members within ``span`` = (low, high) of some lists; ``state`` = (counts, touched, its length).

    ``touched`` holds the numbers whose counts are not 0. Returns how many they are.
    """
    counts, touched, n_touched = state
    members, first = drawn.members, drawn.first  # a field in a loop would be reference-counted each time
    for i in range(n_lists):
        last = first[lists[i] + 1]
        for j in range(first_within(members, first[lists[i]], last, span[0]), last):
            s = np.int64(members[j])
            if s >= span[1]:
                break
            if counts[s] == 0:
                touched[n_touched] = s
                n_touched += 1
            counts[s] += 1
    return n_touched


@part
def _count_on(drawn, lists, n_lists, s):
    """Return the number of lists that contain a drawn document."""
    members, first, count = drawn.members, drawn.first, 0
    for i in range(n_lists):
        last = first[lists[i] + 1]
        at = first_within(members, first[lists[i]], last, s)
        count += at < last and members[at] == s
    return count


@part
def _met(hashes, begin, end, drawn, criterion, often, scratch):
    """Count the elements a set shares with each drawn document that could be its partner; return how many it met.

    Counts of documents that cannot be partners may be too small. ``scratch`` = (counts, touched, rare, frequent).
    """
    counts, touched, rare, frequent = scratch
    size = end - begin
    span = sizes_that_fit(drawn.sizes, size, criterion)
    if span[0] == span[1]:
        return 0
    bits = 0
    while (drawn.cells.size - 1) >> (bits + 1):
        bits += 1
    shift = np.uint64(64 - bits)
    keys, cells, first = drawn.keys, drawn.cells, drawn.first
    n_rare = n_frequent = 0
    for i in range(begin, end):
        k = _place(keys, cells, hashes[i], shift)
        if k < 0:
            continue
        if first[k + 1] - first[k] > often:
            frequent[n_frequent] = k
            n_frequent += 1
        else:
            rare[n_rare] = k
            n_rare += 1
    n = _count_lists(drawn, rare, n_rare, span, (counts, touched, 0))
    # the smallest partner needs the fewest shingles in common
    if is_pair(n_frequent, size, drawn.sizes[span[0]], criterion):
        return _count_lists(drawn, frequent, n_frequent, span, (counts, touched, n))
    for j in range(n):
        s = touched[j]
        if is_pair(counts[s] + n_frequent, size, drawn.sizes[s], criterion):
            counts[s] += _count_on(drawn, frequent, n_frequent, s)
    return n


@entry("uint64[:], int64[:], int64, DrawnDocuments, Criterion, int64, int64 -> (int64[:, :], int64)")
def partners(hashes, offsets, begin, drawn, criterion, enough, often):
    """Return the pairs of sets from ``begin`` on with drawn ones: int64[m, 3] of (set, drawn number, |A∩B|).

    Set k is ``hashes[offsets[k]:offsets[k + 1]]`` (uint64, distinct); ``criterion`` is a Criterion. A drawn
    document is a partner of itself. Stops after the set that brings the number of pairs to ``enough``; returns
    (pairs, the set to continue with). Shingles in more than ``often`` drawn documents are deferred: this changes
    the time, never a pair.
    """
    largest = np.int64(0)
    for d in range(begin, offsets.size - 1):
        largest = max(largest, offsets[d + 1] - offsets[d])
    counts, touched = np.zeros(drawn.sizes.size, np.int32), np.empty(drawn.sizes.size, np.int64)
    scratch = (counts, touched, np.empty(largest, np.int64), np.empty(largest, np.int64))
    found = np.empty((64, 3), np.int64)
    used = 0
    d = begin
    while d < offsets.size - 1 and used < enough:
        size = offsets[d + 1] - offsets[d]
        n = _met(hashes, offsets[d], offsets[d + 1], drawn, criterion, often, scratch)
        for j in range(n):
            s = touched[j]
            shared = np.int64(counts[s])
            counts[s] = 0
            if is_pair(shared, size, drawn.sizes[s], criterion):
                found = with_space(found, used)
                found[used, 0], found[used, 1], found[used, 2] = d, s, shared
                used += 1
        d += 1
    return found[:used], d


@entry("int32[:], int64[:], int32[:], int64[:], out int32[:, :] -> None")
def count_all(elements, offsets, holders, begin, shared):
    """Add to ``shared`` (int32[n, n], both triangles) the elements that sets a and b have in common.

    Set k has the elements ``elements[offsets[k]:offsets[k + 1]]``, numbered from 0. The sets with element e are
    ``holders[begin[e]:begin[e + 1]]``, rising. The cost is the sum of the counts; a row fits into a fast cache.
    """
    for a in range(offsets.size - 1):
        row = shared[a]
        for k in range(offsets[a], offsets[a + 1]):
            element = elements[k]
            for place in range(begin[element], begin[element + 1]):
                b = holders[place]
                if b >= a:
                    break
                row[b] += 1
        for b in range(a):
            shared[b, a] = row[b]
