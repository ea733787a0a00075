"""Fingerprints → pairs that differ in few bits: tables over hashed prefixes, and comparisons inside their runs.

Fingerprints are an array ``words`` (uint64[words, n], the low bits first): word w of all of them is one row. A
mask has as many words. A table sorts by a mix of the masked bits instead of the bits themselves: equal prefixes
are still adjacent, any set of bits can be a prefix, and skewed bits spread. Different prefixes that collide by
chance only cost a comparison, because every pair is checked for agreement in the mask.
"""

import numpy as np

from neardup.kernels.bits import bit_count
from neardup.kernels.compiler import entry, part
from neardup.kernels.shingles import mix64

_48 = np.uint64(48)


@entry("uint64[:, :], uint64[:], out uint64[:] -> None")
def prefix_keys(words, mask, out):
    """``out[i]`` = uint64 key of the bits of fingerprint i that are in ``mask`` (uint64[words])."""
    for i in range(words.shape[1]):
        out[i] = mix64(words[0, i] & mask[0])
    for word in range(1, words.shape[0]):
        for i in range(words.shape[1]):
            out[i] = mix64(out[i] + (words[word, i] & mask[word]))


@entry("uint64[:] -> int64")
def pairs_alike(keys):
    """Return the number of pairs (int64) whose keys share the top 16 bits: an upper bound for equal keys."""
    counts = np.zeros(1 << 16, np.int64)
    for key in keys:
        counts[np.int64(key >> _48)] += 1
    total = np.int64(0)
    for count in counts:
        total += count * (count - 1) // 2
    return total


@entry("uint64[:] -> uint64")
def varying(words):
    """Return uint64: the bits in which not all of ``words`` agree."""
    found = np.uint64(0)
    for i in range(words.size):
        found |= words[i] ^ words[0]
    return found


@entry("uint64[:], uint64 -> int32[:]")
def run_ends(keys, shift):
    """Return the end of each run of sorted ``keys`` (uint64) that agree above ``shift`` bits: int32[runs]."""
    ends = np.empty(keys.size, np.int32)
    n = 0
    for i in range(1, keys.size + 1):
        if i == keys.size or keys[i] >> shift != keys[i - 1] >> shift:
            ends[n] = i
            n += 1
    return ends[:n]


@part
def _some_near(words, probe, begin, end, distance):
    """Return whether the first 128 bits of a fingerprint among begin … end − 1 are within the distance of a probe.

    ``probe`` is uint64[words]. A sum over all of them, without an early exit: this form runs in vector lanes.
    """
    near = 0
    low = words[0]
    if words.shape[0] == 1:
        for j in range(begin, end):
            near += bit_count(low[j] ^ probe[0]) <= distance
    else:
        high = words[1]
        for j in range(begin, end):
            near += bit_count(low[j] ^ probe[0]) + bit_count(high[j] ^ probe[1]) <= distance
    return near > 0


@part
def _apart(words, probe, j, distance):
    """Return in how many bits fingerprint j and ``probe`` differ; a part of them once it exceeds the distance."""
    apart = bit_count(words[0, j] ^ probe[0])
    for word in range(1, words.shape[0]):
        if apart > distance:
            break
        apart += bit_count(words[word, j] ^ probe[word])
    return apart


@part
def _agree(words, probe, j, mask):
    """Return whether fingerprint j and ``probe`` have the same bits in ``mask`` (uint64[words])."""
    for word in range(words.shape[0]):  # noqa: SIM110 a generator is nothing for Numba
        if (words[word, j] ^ probe[word]) & mask[word] != 0:
            return False
    return True


@part
def _is_first(words, probe, j, agree, earlier):
    """Return whether fingerprint j and ``probe`` have the same bits in ``agree`` and in no ``earlier`` mask."""
    if not _agree(words, probe, j, agree):
        return False
    for k in range(earlier.shape[0]):  # noqa: SIM110 a generator is nothing for Numba
        if _agree(words, probe, j, earlier[k]):
            return False
    return True


@part
def _longer(found):
    """Return the arrays of ``found`` (a, b, distances) with twice the room."""
    a, b, apart = found
    n = a.size
    more_a, more_b, more_apart = np.empty(2 * n, np.int32), np.empty(2 * n, np.int32), np.empty(2 * n, np.uint8)
    for k in range(n):
        more_a[k], more_b[k], more_apart[k] = a[k], b[k], apart[k]
    return more_a, more_b, more_apart


@entry("uint64[:, :], int32[:], uint64[:, :], int64, (int64, int64) -> (int32[:], int32[:], uint8[:], bool[:])")
def near_in_runs(words, ends, masks, distance, limits):
    """Return the pairs within the distance inside the runs that end at ``ends`` (int32[runs]).

    ``masks`` uint64[1 + k, words]: a pair must agree in the first mask and in none of the others, which belong to
    the tables that already report it. ``limits`` = (longest run to search, most pairs of one fingerprint). Returns
    (a, b int32: positions, distances uint8, crowded bool[n]): a fingerprint with more pairs than the limit is
    crowded, and each omitted pair with it makes the other fingerprint crowded, too.
    """
    longest, most = limits
    found = (np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.uint8))
    degree, crowded = np.zeros(words.shape[1], np.int32), np.zeros(words.shape[1], np.bool_)
    probe = np.empty(words.shape[0], np.uint64)
    n = begin = 0
    for end in ends:
        if end - begin > longest:
            begin = end
            continue
        for i in range(begin, end - 1):
            for word in range(words.shape[0]):
                probe[word] = words[word, i]
            if not _some_near(words, probe, i + 1, end, distance):
                continue
            for j in range(i + 1, end):
                apart = _apart(words, probe, j, distance)
                if apart > distance or not _is_first(words, probe, j, masks[0], masks[1:]):
                    continue
                degree[i] += 1
                degree[j] += 1
                if max(degree[i], degree[j]) > most:
                    crowded[i] = crowded[j] = True
                    continue
                if n == found[0].size:
                    found = _longer(found)
                found[0][n], found[1][n], found[2][n] = i, j, apart
                n += 1
        begin = end
    return found[0][:n], found[1][:n], found[2][:n], crowded


@entry(
    "uint64[:, :], (uint64[:, :], int32[:, :], int32[:, :], uint64), uint64[:, :], int64"
    " -> (int32[:], int32[:], uint8[:])"
)
def near_queries(words, tables, queries, distance):
    """Return the pairs within the distance, each once: (query int32, fingerprint int32, distances uint8).

    ``tables`` = (masks uint64[t, words], orders int32[t, n], cells int32[t, 2ᵇ + 1], shift 64 − b): table t has
    the fingerprints of cell c, the top b bits of their key, at orders[t, cells[t, c]:cells[t, c + 1]]. ``queries``
    uint64[m, words].
    """
    masks, orders, cells, shift = tables
    found = (np.empty(64, np.int32), np.empty(64, np.int32), np.empty(64, np.uint8))
    n = 0
    for query in range(queries.shape[0]):
        probe = queries[query]
        for t in range(masks.shape[0]):
            key = mix64(probe[0] & masks[t, 0])
            for word in range(1, words.shape[0]):
                key = mix64(key + (probe[word] & masks[t, word]))
            cell = np.int64(key >> shift)
            for at in range(cells[t, cell], cells[t, cell + 1]):
                j = orders[t, at]
                apart = _apart(words, probe, j, distance)
                if apart > distance or not _is_first(words, probe, j, masks[t], masks[:t]):
                    continue
                if n == found[0].size:
                    found = _longer(found)
                found[0][n], found[1][n], found[2][n] = query, j, apart
                n += 1
    return found[0][:n], found[1][:n], found[2][:n]
