"""Documents that are left without a partner by their unique shingles alone, found range by range of the hashes.

A set with more unique shingles than a partner may lack has no partner. Its other shingles then need not be
counted, nor can they make those of other sets less unique. Sets are sorted, so a range of hashes is a run of each;
the filter of a range stays in the cache of a processor, unlike one of all hashes.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.sets import fewest_shared

_ONE, _6, _16, _63 = np.uint64(1), np.uint64(6), np.uint64(16), np.uint64(63)
_SCALE = 1.0 / 2.0**64


@njit(cache=True, nogil=True, inline="always")
def _begin(hashes, start, size, low):
    """Return the first place of a sorted set from ``start`` on whose hash is at least ``low``.

    Hashes are uniform, so the place is guessed, and is a few steps away.
    """
    at = start + min(size, np.int64(np.float64(low) * _SCALE * size))
    while at > start and hashes[at - 1] >= low:
        at -= 1
    while at < start + size and hashes[at] < low:
        at += 1
    return at


@njit(cache=True, nogil=True, inline="always")
def _bits(value):
    """Return the two bits of a hash within a word of the filter: by its low end, as a range fixes its high end."""
    return (_ONE << (value & _63)) | (_ONE << ((value >> _6) & _63))


@njit(cache=True, nogil=True)
def fill_may_lack(sizes, criterion, out):
    """Fill ``out`` (int64) with the number of elements that sets of these sizes may lack in any partner."""
    for k in range(sizes.size):
        out[k] = sizes[k] - fewest_shared(sizes[k], criterion)


@njit(cache=True, nogil=True)
def unique_in_range(hashes, starts, sizes, open_sets, span, seen, unique):
    """Fill ``unique[k]`` (int32): how many hashes of the set ``open_sets[k]`` in a range are in no other of these.

    Set x is ``hashes[starts[x]:starts[x] + sizes[x]]``, uint64, ascending. ``span`` (uint64[2]) is the first and
    the last hash of the range. ``seen`` (uint64[words, 2], zeros, words a power of two) counts to two, in two bits
    a hash: a hash of several sets is never counted, and now and then a unique one is not counted either.
    """
    words = np.uint64(seen.shape[0] - 1)
    low, last = span[0], span[1]
    begin = np.empty(open_sets.size, np.int64)
    for k in range(open_sets.size):
        x = open_sets[k]
        end = starts[x] + sizes[x]
        begin[k] = at = _begin(hashes, starts[x], sizes[x], low)
        while at < end and hashes[at] <= last:
            value = hashes[at]
            word, bits = (value >> _16) & words, _bits(value)
            if seen[word, 0] & bits == bits:
                seen[word, 1] |= bits
            else:
                seen[word, 0] |= bits
            at += 1
    for k in range(open_sets.size):
        x = open_sets[k]
        end = starts[x] + sizes[x]
        at, count = begin[k], 0
        while at < end and hashes[at] <= last:
            value = hashes[at]
            bits = _bits(value)
            count += seen[(value >> _16) & words, 1] & bits != bits
            at += 1
        unique[k] = count
