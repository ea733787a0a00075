"""Shingle hashes → samples (all below a limit and at least the smallest few), and the overlap of two samples.

The same hash decides for every set whether a shingle is in its sample, so that the samples of two sets contain the
same shingles of their intersection (coordinated sampling: Broder 1997; Cohen and Kaplan 2007).
"""

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sketch.documents import unit_hashes
from neardup.kernels.sorting import append, copy_into, room, sort_distinct

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
"""The limit that every hash is below, including this value itself."""


@part(inline=True)
def _below(value, limit):
    return value < limit or limit == ALL


@part
def sample(hashes, n, rule, kept, scratch):
    """Write the sample of ``hashes[:n]`` to ``kept``, sorted; return its size.

    ``rule`` = (limit uint64, shift uint64, floor int64): all distinct hashes below ``limit`` ≤ 2^(64 − shift), and
    the ``floor`` smallest if there are fewer. ``kept`` and ``scratch`` are uint64[> n].
    """
    limit, shift, floor = rule
    size = 0
    for i in range(n):
        # shifted to the top, where sort_distinct needs the bits that vary; branch-free, because it is a coin toss
        kept[size] = hashes[i] << shift
        size += _below(hashes[i], limit)
    size = sort_distinct(kept, size, scratch)
    if size >= floor:
        for i in range(size):
            kept[i] >>= shift
        return size
    copy_into(kept, 0, hashes, n)
    return min(floor, sort_distinct(kept, n, scratch))


@entry("TextBatch, UnicodeTables, int64[:], Key, (uint64, uint64, int64) -> (uint64[:], int64[:])")
def sample_texts(batch, tables, form, key, rule):
    """Return the samples of all documents of a TextBatch: (hashes uint64, ends int64[documents]), each sorted.

    ``form`` as in ``kernels.sketch.documents.fingerprint``, ``key`` a ``Key``, ``rule`` as in ``sample``.
    """
    n_documents = batch.offsets.size - 1
    ends, used = np.empty(n_documents, np.int64), np.int64(0)
    out = np.empty(64 * n_documents + 64, np.uint64)
    texts = (np.empty(4096, np.uint64), np.empty(8192, np.int64))
    hashes, kept, scratch = np.empty(4096, np.uint64), np.empty(4096, np.uint64), np.empty(4096, np.uint64)
    for d in range(n_documents):
        texts, n, _ = unit_hashes(batch, d, tables, form[0], key, texts)
        hashes, kept, scratch = room(hashes, n + 1), room(kept, n + 1), room(scratch, n + 1)
        n = shingle_hashes(texts[0], n, form[1], key.shingles, hashes)
        size = sample(hashes, n, rule, kept, scratch)
        out = append(out, used, kept, size)
        used += size
        ends[d] = used
    return out[:used], ends


@entry("uint64[:], int64[:], (uint64, uint64, int64) -> (uint64[:], int64[:])")
def sample_sets(values, offsets, rule):
    """Return the samples of sets ``values[offsets[d]:offsets[d + 1]]`` (uint64, well mixed, repeats ignored)."""
    ends, used = np.empty(offsets.size - 1, np.int64), np.int64(0)
    out = np.empty(values.size if rule[0] == ALL else np.int64(64), np.uint64)
    kept, scratch = np.empty(0, np.uint64), np.empty(0, np.uint64)
    for d in range(ends.size):
        n = offsets[d + 1] - offsets[d]
        kept, scratch = room(kept, n + 1), room(scratch, n + 1)
        size = sample(values[offsets[d] : offsets[d + 1]], n, rule, kept, scratch)
        out = append(out, used, kept, size)
        used += size
        ends[d] = used
    return out[:used], ends


@entry("uint64[:], uint64[:], uint64, int64, bool -> (int64, int64, int64)")
def common(a, b, limit, floor, whole):
    """Return how much of the common sample of two samples ``a``, ``b`` (sorted) is in both, in a, and in b.

    The common sample is the part of the union that both samples cover: its hashes below ``limit``, and its
    ``floor`` smallest if those are fewer; the whole union if both samples are ``whole`` sets.
    """
    i = j = both = 0
    while i < a.size or j < b.size:
        take_a = i < a.size and (j == b.size or a[i] <= b[j])
        take_b = j < b.size and (i == a.size or b[j] <= a[i])
        value = a[i] if take_a else b[j]
        if not whole and i + j - both >= floor and not _below(value, limit):
            break
        both += take_a and take_b
        i += take_a
        j += take_b
    return both, i, j


@entry(
    "(uint64[:], int64[:], bool[:]), (uint64[:], int64[:], bool[:]), int64[:, :], (uint64, int64), "
    "out int64[:, :] -> None"
)
def common_of_pairs(ours, theirs, rows, rule, counts):
    """``counts[k]`` (int64[m, 3]) = ``common`` of sample ``rows[k, 0]`` of ours and ``rows[k, 1]`` of theirs.

    ``ours``, ``theirs`` = (hashes, offsets, whole bool[n]); ``rows`` int64[m, 2]; ``rule`` = (limit, floor).
    """
    for k in range(rows.shape[0]):
        a, b = rows[k, 0], rows[k, 1]
        one = ours[0][ours[1][a] : ours[1][a + 1]]
        other = theirs[0][theirs[1][b] : theirs[1][b + 1]]
        both, in_a, in_b = common(one, other, rule[0], rule[1], ours[2][a] and theirs[2][b])
        counts[k, 0], counts[k, 1], counts[k, 2] = both, in_a, in_b
