"""The longest common subsequence of two token sequences, 64 tokens per step, and their longest common run.

Crochemore et al. 2001 and Hyyrö 2004: with M the positions of a token of B in A, V ← (V + (V & M)) | (V & ~M); the
length is the number of zeros of V. The sum is one long number. Four words of it (256 tokens of A) are carried
through all of B before the next four, which keeps memory linear: only one carry per token is stored in between.
For two similar documents only a band along the diagonal is computed.
"""

import numpy as np

from neardup.kernels.bits import bit_count
from neardup.kernels.compiler import entry, part
from neardup.kernels.sorting import first_within

_ONE, _ALL = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
_WORDS = 4
_STRIP = 64 * _WORDS


@part
def reduce_pair(tokens, m):
    """Remove the tokens that cannot change the result: (equal tokens at the two ends, rest of A, rest of B).

    ``tokens`` (int32 names) contains A (m tokens) followed by B. The rest lacks the common beginning, the common
    end, and the tokens that the other rest lacks; its tokens are renamed from 0. The longest common subsequence is
    that of the rest plus the first number.
    """
    n = tokens.size - m
    begin = 0
    while begin < min(m, n) and tokens[begin] == tokens[m + begin]:
        begin += 1
    end = 0
    while end < min(m, n) - begin and tokens[m - 1 - end] == tokens[m + n - 1 - end]:
        end += 1
    n_names = 0
    for i in range(tokens.size):
        n_names = max(n_names, np.int64(tokens[i]) + 1)
    in_a, in_b = np.zeros(n_names, np.bool_), np.zeros(n_names, np.bool_)
    for i in range(begin, m - end):
        in_a[tokens[i]] = True
    for i in range(m + begin, m + n - end):
        in_b[tokens[i]] = True
    name = np.full(n_names, -1, np.int32)
    named = 0
    for k in range(n_names):
        if in_a[k] and in_b[k]:
            name[k] = named
            named += 1
    a, b = np.empty(m, np.int32), np.empty(n, np.int32)
    size_a = size_b = 0
    for i in range(begin, m - end):
        if name[tokens[i]] >= 0:
            a[size_a] = name[tokens[i]]
            size_a += 1
    for i in range(m + begin, m + n - end):
        if name[tokens[i]] >= 0:
            b[size_b] = name[tokens[i]]
            size_b += 1
    return begin + end, a[:size_a], b[:size_b]


@part(inline=True)
def _step(v, mask, carry):
    """Advance one word of V: (word, carry into it) → (new word, carry out of it)."""
    u = v & mask
    total = v + u
    over = np.uint64(total < v)
    total_in = total + carry
    return total_in | (v & ~mask), over | np.uint64(total_in < total)


@part
def banded_length(a, b, before, after, least):
    """Return the length (int64) of the longest common subsequence with matches a[i] = b[j], −before ≤ j−i ≤ after.

    ``a`` and ``b`` are int32 names, counted from 0. Some matches a little outside of the band count, too. The
    search stops as soon as the length is certain to be below ``least``, and then returns the length reached so
    far.

    Columns of B before the band of a strip contain no match of the strip, so the carry from above passes through
    it unchanged; columns behind the band have received no carry yet. Neither is processed.
    """
    length = np.int64(0)
    if a.size == 0 or b.size == 0:
        return length
    n_names = 0
    for name in a:
        n_names = max(n_names, np.int64(name) + 1)
    for name in b:
        n_names = max(n_names, np.int64(name) + 1)
    masks = np.zeros((n_names, _WORDS), np.uint64)
    carries = np.zeros(b.size, np.uint8)
    for begin in range(0, a.size, _STRIP):
        end = min(begin + _STRIP, a.size)
        for i in range(begin, end):
            masks[a[i], (i - begin) >> 6] |= _ONE << np.uint64((i - begin) & 63)
        v0 = v1 = v2 = v3 = _ALL
        for j in range(max(0, begin - before), min(b.size, end + after)):
            row = masks[b[j]]
            carry = np.uint64(carries[j])
            v0, carry = _step(v0, row[0], carry)
            v1, carry = _step(v1, row[1], carry)
            v2, carry = _step(v2, row[2], carry)
            v3, carry = _step(v3, row[3], carry)
            carries[j] = carry
        # above the last token the masks are 0 and V stays all ones, so no zero is counted there
        length += _STRIP - bit_count(v0) - bit_count(v1) - bit_count(v2) - bit_count(v3)
        if length + a.size - end < least:
            return length
        for i in range(begin, end):
            masks[a[i], (i - begin) >> 6] = 0
    return length


@entry("int32[:], int64, int64, int64 -> (int64, bool)")
def common_in_order(tokens, m, least, most_steps):
    """Return (length int64 of the longest common subsequence of A and B, capped).

    ``tokens`` (int32 names) are the m tokens of A followed by the tokens of B. The length is exact if it is
    ``least`` or more; otherwise it is some length below ``least``. If a band would take more than ``most_steps``
    words of 64 tokens, the result is capped: a lower bound.

    If c tokens are common, a − c of A and b − c of B are not; their distance is d = a + b − 2c. A common
    subsequence of distance d or less has −(d − (b − a)) / 2 ≤ j − i ≤ (d + (b − a)) / 2. So a subsequence found in
    that band, at most at that distance, is the longest (Ukkonen 1985). Narrow bands are tried first.
    """
    ends, a, b = reduce_pair(tokens, m)
    need, more = max(least - ends, np.int64(0)), np.int64(b.size - a.size)
    length = np.int64(0)
    if min(a.size, b.size) < need:
        return ends + length, False
    most = a.size + b.size - 2 * need
    strips = (a.size + _STRIP - 1) // _STRIP
    distance = abs(more) + 2 * _STRIP
    while True:
        distance = min(distance, most)
        before, after = (distance - more) // 2, (distance + more) // 2
        if _WORDS * strips * min(b.size, before + after + _STRIP) > most_steps:
            return ends + length, True
        near = max(need, (a.size + b.size - distance + 1) // 2)
        length = max(length, banded_length(a, b, before, after, near))
        if length >= near or distance == most:
            return ends + length, False
        distance *= 4


@entry("int64[:, :], int64 -> int64")
def chain_length(tiles, n):
    """Return the tokens (int64) in the heaviest chain of tiles that is in the same order in both documents.

    ``tiles`` int64[k, 3] (start_a, start_b, length) are disjoint in each document and sorted by start_a; n is the
    number of tokens of B. The result is a lower bound of the longest common subsequence, in O(k log n): a binary
    indexed tree of maxima (Fenwick 1994) holds the best chain that ends before each place of B.
    """
    best = np.zeros(n + 1, np.int64)
    for k in range(tiles.shape[0]):
        at, total = tiles[k, 1], tiles[k, 2]
        heaviest = np.int64(0)
        while at > 0:  # chains that end at or before the first token of the tile
            heaviest = max(heaviest, best[at])
            at -= at & -at
        total += heaviest
        at = tiles[k, 1] + tiles[k, 2]
        while at <= n:
            best[at] = max(best[at], total)
            at += at & -at
    at, heaviest = n, np.int64(0)
    while at > 0:
        heaviest = max(heaviest, best[at])
        at -= at & -at
    return heaviest


@entry("uint64[:], int64[:], uint64[:], int64 -> (int64, int64, int64)")
def longest_run(shingles, places, found, most):
    """Return (start in A, start in B, shingles) of the longest common run of shingles; (−1, −1, 0) without any.

    ``shingles`` (uint64, sorted) and ``places`` (int64) are the shingles of A and the place in A where each
    begins, equal ones in order of place; ``found`` (uint64) are the shingles of B in text order. Among runs of
    equal length the first in B wins, then the first in A. Returns (−1, −1, −1) if more than ``most`` places would
    be compared.
    """
    # begins[b]: the first shingle of A whose top bits are b or more; hashes spread evenly over them
    bits = 1
    while (1 << bits) < shingles.size:
        bits += 1
    shift = np.uint64(64 - bits)
    begins = np.zeros((1 << bits) + 1, np.int64)
    for i in range(shingles.size):
        begins[np.int64(shingles[i] >> shift) + 1] += 1
    for b in range(1 << bits):
        begins[b + 1] += begins[b]
    # run[i]: length of the run that ends at place i of A and at the place before of B
    run = np.zeros(shingles.size + 1, np.int64)
    at = np.full(shingles.size + 1, -2, np.int64)
    best_a, best_b, length = np.int64(-1), np.int64(-1), np.int64(0)
    compared = np.int64(0)
    for j in range(found.size):
        b = np.int64(found[j] >> shift)
        first = first_within(shingles, begins[b], begins[b + 1], found[j])
        last = first
        while last < shingles.size and shingles[last] == found[j]:
            last += 1
        compared += last - first
        if compared > most:
            return np.int64(-1), np.int64(-1), np.int64(-1)
        # from the last place to the first, so that the place before still refers to the shingle before
        for k in range(last - 1, first - 1, -1):
            i = places[k]
            run[i + 1] = run[i] + 1 if at[i] == j - 1 else 1
            at[i + 1] = j
            ended = run[i + 1]
            if ended > length or (ended == length and best_b == j - ended + 1):
                best_a, best_b, length = i - ended + 1, j - ended + 1, ended
    return best_a, best_b, length
