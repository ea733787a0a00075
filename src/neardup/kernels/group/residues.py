"""The shingles of documents that no document of a base holds, group by group."""

from __future__ import annotations

import numpy as np

from neardup.kernels.bisection import first_within
from neardup.kernels.compiled import njit
from neardup.kernels.sorting import sort_distinct


@njit(cache=True, nogil=True)
def residues(hashes, offsets, members, firsts, bases, out, counts):
    """Write the hashes of each member of a group outside its base that are in no set of the base.

    Set k is ``hashes[offsets[k]:offsets[k + 1]]`` (uint64, ascending). ``members`` (int64) are the sets of all
    groups: ``members[firsts[g]:firsts[g + 1]]`` is group g, and its first ``bases[g]`` sets are the base. The
    hashes found go to ``out`` (uint64), member by member, their numbers to ``counts`` (int64[members]), 0 for a
    base. Returns the number of hashes written.
    """
    held, scratch = np.empty(0, np.uint64), np.empty(0, np.uint64)
    used = 0
    for g in range(bases.size):
        first, middle, until = firsts[g], firsts[g] + bases[g], firsts[g + 1]
        total = 0
        for k in range(first, middle):
            counts[k] = 0
            total += offsets[members[k] + 1] - offsets[members[k]]
        if held.size < total:
            held, scratch = np.empty(2 * total, np.uint64), np.empty(2 * total, np.uint64)
        at = 0
        for k in range(first, middle):
            start, n = offsets[members[k]], offsets[members[k] + 1] - offsets[members[k]]
            for i in range(n):
                held[at + i] = hashes[start + i]
            at += n
        size = sort_distinct(held, total, scratch) if bases[g] > 1 else total
        for k in range(middle, until):
            before = used
            used = _missing(hashes, offsets[members[k]], offsets[members[k] + 1], held, size, out, used)
            counts[k] = used - before
    return used


@njit(cache=True, nogil=True)
def _missing(hashes, start, stop, held, size, out, used):
    """Append to ``out`` what of ``hashes[start:stop]`` is not in ``held[:size]``, both ascending.

    Each search begins where the last one ended and doubles its steps, so that a small set costs little in a large
    base.
    """
    low = 0
    for i in range(start, stop):
        value = hashes[i]
        high, step = low, 1
        while high < size and held[high] < value:
            low = high + 1
            high += step
            step *= 2
        low = first_within(held, low, min(high, size), value)
        if low == size or held[low] != value:
            out[used] = value
            used += 1
    return used
