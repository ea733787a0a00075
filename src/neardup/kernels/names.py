"""Equal keys as equal numbers, exactly: windows of two token sequences, and the keys of exact copies.

Numbers come from hash tables whose keys are compared in full, so that nothing is mistaken for something else. The
two sequences A (m tokens) and B (n tokens) are in one array, A first; a window of w tokens is identified by the
place where it begins. A window that reaches from A into B also has a name, which is never used. Names of windows
of 2ℓ tokens are names of pairs of names of ℓ tokens (Karp, Miller and Rosenberg 1972).
"""

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.shingles import mix64

_ONE, _32 = np.uint64(1), np.uint64(32)


@part
def name_keys(keys, n, names):
    """Write a number for each of ``keys[:n]`` (uint64) to ``names`` (int32), equal for equal keys.

    Names count from 0 in the order in which the keys first occur. Returns the number of names.
    """
    size = 16
    while size < 2 * n:
        size *= 2
    mask = np.int64(size - 1)
    first = np.full(size, -1, np.int32)  # the first occurrence of the key of a slot
    n_names = 0
    for i in range(n):
        slot = np.int64(mix64(keys[i])) & mask
        while first[slot] >= 0 and keys[first[slot]] != keys[i]:
            slot = (slot + 1) & mask
        if first[slot] < 0:
            first[slot] = i
            names[i] = n_names
            n_names += 1
        else:
            names[i] = names[first[slot]]
    return n_names


@part
def name_pairs(names, n, distance, salt, keys, out):
    """Name the pairs (names[i], names[i + distance]), i < n, in ``out`` (int32); ``keys`` uint64[n] is scratch."""
    for i in range(n):
        pair = (np.uint64(names[i]) << _32) | np.uint64(names[i + distance])
        keys[i] = mix64(salt * pair)
    return name_keys(keys, n, out)


@part
def _name_packed(tokens, length, bits, salt, keys, out):
    """Name the windows of ``length`` tokens of ``bits`` bits each, 64 bits or less in all."""
    windows = tokens.size - length + 1
    key, mask = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - length * bits)
    for i in range(length - 1):
        key = (key << np.uint64(bits)) | np.uint64(tokens[i])
    for i in range(windows):
        key = ((key << np.uint64(bits)) | np.uint64(tokens[i + length - 1])) & mask
        keys[i] = mix64(salt * key)
    return name_keys(keys, windows, out)


@part
def name_windows(tokens, length, salt, keys, out):
    """Name every window of ``length`` tokens in ``out`` (int32[≥ windows]); return the number of names.

    ``tokens`` (int32) are names themselves; there are tokens.size − length + 1 windows (at least 1). ``keys``
    uint64[tokens.size] is scratch. A window of w tokens is two overlapping ones of the largest power of two that
    is at most w, unless w tokens fit into one key. Keys are first multiplied by ``salt`` (uint64, made odd):
    otherwise the author of the texts could make all names collide in one place of the table.
    """
    salt |= _ONE
    n = tokens.size
    n_names = 0
    for i in range(n):
        n_names = max(n_names, np.int64(tokens[i]) + 1)
    bits = 1
    while n_names >> bits:
        bits += 1
    if length * bits <= 64:
        return _name_packed(tokens, length, bits, salt, keys, out)
    for i in range(n):
        out[i] = tokens[i]
    power = 1
    while 2 * power <= length:
        n_names = name_pairs(out, n - 2 * power + 1, power, salt, keys, out)
        power *= 2
    if power < length:
        n_names = name_pairs(out, n - length + 1, length - power, salt, keys, out)
    return n_names


@entry("int32[:], int64, int64, int64 -> int32[:]")
def count_names(names, begin, end, n_names):
    """Return int32[n_names]: the number of occurrences of each name in ``names[begin:end]``."""
    counts = np.zeros(n_names, np.int32)
    for i in range(begin, end):
        counts[names[i]] += 1
    return counts


@part
def cover(names, begin, end, length, others, covered):
    """Set ``covered[i - begin]`` for tokens in a window that begins in [begin, end) with a name in ``others``.

    ``others`` counts names. Nothing is unset. ``covered`` is bool[end − begin + length − 1], one per token.
    """
    reach = begin
    for i in range(begin, end):
        if others[names[i]] > 0:
            for k in range(max(i, reach), i + length):
                covered[k - begin] = True
            reach = i + length


@entry("int32[:], int32[:] -> (int64, int64, int64, int64, int64)")
def set_counts(counts_a, counts_b):
    """Return (|A|, |B|, |A∩B|, Σ min, Σ max), int64, of two multisets given as counts of the same names."""
    size_a = size_b = shared = least = most = np.int64(0)
    for name in range(counts_a.size):
        a, b = np.int64(counts_a[name]), np.int64(counts_b[name])
        size_a += a > 0
        size_b += b > 0
        shared += a > 0 and b > 0
        least += min(a, b)
        most += max(a, b)
    return size_a, size_b, shared, least, most


FREE = np.int64(-1)


@entry("uint64[:, :], int64, int64, out int64[:], out int64[:] -> int64")
def enter_keys(keys, first, until, table, copy_of):
    """Set ``copy_of[d]`` for d in first … until − 1 to the first document with d's key (d itself if new).

    ``keys`` uint64[≥ until, 2]; ``table`` int64[power of two] is an open-addressing table of documents, FREE in
    unused slots, at most half full afterwards. Returns the number of new keys.
    """
    mask = np.uint64(table.size - 1)
    new = 0
    for d in range(first, until):
        at = keys[d, 0] & mask
        while True:
            other = table[at]
            if other == FREE:
                table[at] = d
                copy_of[d] = d
                new += 1
                break
            if keys[other, 0] == keys[d, 0] and keys[other, 1] == keys[d, 1]:
                copy_of[d] = other
                break
            at = (at + np.uint64(1)) & mask
    return new
