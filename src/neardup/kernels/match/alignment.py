"""Matches in the same order in two documents: the heaviest chain of tiles, and the words between them."""

import numpy as np

from neardup.kernels.bits import bit_count
from neardup.kernels.compiler import entry, part

_ONE, _ALL = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)


@entry("int64[:, :], int64 -> bool[:]")
def heaviest_chain(tiles, n):
    """Return bool[k], True for the tiles of a heaviest chain that is in the same order in both documents.

    ``tiles`` int64[k, 3] (start_a, start_b, length) are disjoint in each document and sorted by start_a; n is the
    number of tokens of B. O(k log k): a binary indexed tree of maxima (Fenwick 1994) holds the best chain that
    ends before each place of B. Among equal chains the first one found wins.
    """
    k = tiles.shape[0]
    heaviest = np.full(n + 1, -1, np.int64)  # the tile that ends the best chain of this part of the tree
    totals, before = np.zeros(k, np.int64), np.full(k, -1, np.int64)
    for t in range(k):
        at, best = tiles[t, 1], np.int64(-1)
        while at > 0:  # chains that end at or before the first token of the tile
            found = heaviest[at]
            if found >= 0 and (best < 0 or totals[found] > totals[best]):
                best = found
            at -= at & -at
        before[t] = best
        totals[t] = tiles[t, 2] + (totals[best] if best >= 0 else 0)
        at = tiles[t, 1] + tiles[t, 2]
        while at <= n:
            if heaviest[at] < 0 or totals[t] > totals[heaviest[at]]:
                heaviest[at] = t
            at += at & -at
    chosen = np.zeros(k, np.bool_)
    t = np.int64(-1)
    for other in range(k):
        if t < 0 or totals[other] > totals[t]:
            t = other
    while t >= 0:
        chosen[t] = True
        t = before[t]
    return chosen


@part
def _rows(a, b, kind):
    """Return the table of rows, one bit per cell: uint64[len(a) + 1, words].

    With ``rest[i, j]`` the length of the longest common subsequence of a[i:] and b[j:], bit len(b) − 1 − j of row
    i is 0 where rest[i, j] is one more than rest[i, j + 1] (Hyyrö 2004, from the end to the beginning). ``kind``
    int32[names] is −1 everywhere, before and after the call.
    """
    m, n = a.size, b.size
    words, kinds = (n + 63) >> 6, 0
    for name in b:
        if kind[name] < 0:
            kind[name] = kinds
            kinds += 1
    masks = np.zeros((kinds, words), np.uint64)
    for j in range(n):
        bit = n - 1 - j
        masks[kind[b[j]], bit >> 6] |= _ONE << np.uint64(bit & 63)
    rows = np.empty((m + 1, words), np.uint64)
    rows[m, :] = _ALL
    for i in range(m - 1, -1, -1):
        if kind[a[i]] < 0:
            for word in range(
                words
            ):  # a slice would bring in Numba's messages about shapes: a second of compiling
                rows[i, word] = rows[i + 1, word]
            continue
        mask, carry = masks[kind[a[i]]], np.uint64(0)
        for word in range(words):
            v = rows[i + 1, word]
            u = v & mask[word]
            total = v + u
            over = np.uint64(total < v)
            total_in = total + carry
            carry = over | np.uint64(total_in < total)
            rows[i, word] = total_in | (v & ~mask[word])
    for name in b:
        kind[name] = -1
    return rows


@part(inline=True)
def _grows(row, bit):
    """Whether the bit of a row is 0."""
    return (row[bit >> 6] >> np.uint64(bit & 63)) & _ONE == 0


@part
def _rest(row, bits):
    """Return the number of 0 bits among the lowest ``bits`` bits of a row."""
    count = np.int64(bits)
    for word in range(bits >> 6):
        count -= bit_count(row[word])
    if bits & 63:
        count -= bit_count(row[bits >> 6] & ~(_ALL << np.uint64(bits & 63)))
    return count


@part
def runs_in_order(a, b, kind, runs):
    """Write a longest common subsequence of ``a`` and ``b`` (int32 names) to ``runs``; return the number of runs.

    A run is int64 (start_a, start_b, length); ``runs`` has room for min(len(a), len(b)). ``kind`` int32[names] is
    scratch, −1 everywhere. The walk starts at the beginning: it takes equal tokens; otherwise it skips a token of
    A if a longest subsequence remains without it, else one of B. It handles 64 cells per step, one bit each.
    """
    m, n = a.size, b.size
    if m == 0 or n == 0:
        return 0
    rows = _rows(a, b, kind)
    r = i = j = 0
    here, below = _rest(rows[0], n), _rest(rows[1], n)  # rest[i, j] and rest[i + 1, j]
    while i < m and j < n:
        bit = n - 1 - j
        if a[i] == b[j]:
            if r > 0 and runs[r - 1, 0] + runs[r - 1, 2] == i and runs[r - 1, 1] + runs[r - 1, 2] == j:
                runs[r - 1, 2] += 1
            else:
                runs[r, 0], runs[r, 1], runs[r, 2] = i, j, 1
                r += 1
            here = below - _grows(rows[i + 1], bit)
            i, j = i + 1, j + 1
            if i < m:
                below = _rest(rows[i + 1], n - j)
        elif _grows(rows[i], bit) or below == here:
            here = below
            i += 1
            if i < m:
                below = _rest(rows[i + 1], n - j)
        else:
            below -= _grows(rows[i + 1], bit)
            j += 1
    return r


@part
def telling_runs(runs, m, n):
    """Return bool[r], False for the runs that are shorter than the edits on both sides of them.

    ``runs`` int64[r, 3] are in order in two sequences of m and n tokens. A lone "the" between two replaced halves
    of a sentence matches by chance; a reader sees one replaced sentence.
    """
    kept = np.ones(runs.shape[0], np.bool_)
    changed = True
    while changed:
        changed = False
        end_a = end_b = np.int64(0)
        for r in range(runs.shape[0]):
            if not kept[r]:
                continue
            next_a, next_b = m, n
            for s in range(r + 1, runs.shape[0]):
                if kept[s]:
                    next_a, next_b = runs[s, 0], runs[s, 1]
                    break
            length = runs[r, 2]
            edited_before = max(runs[r, 0] - end_a, runs[r, 1] - end_b)
            edited_after = max(next_a - runs[r, 0] - length, next_b - runs[r, 1] - length)
            if length < edited_before and length < edited_after:
                kept[r] = False
                changed = True
            else:
                end_a, end_b = runs[r, 0] + length, runs[r, 1] + length
    return kept


@entry("int32[:], int64, int64, int64[:, :], int64[:, :], (int64, int64) -> (int64[:, :], bool)")
def words_between(tokens, m, n_names, moved, spine, limits):
    """Return runs of equal words between tiles: (int64[r, 3] start in A, start in B, length; whether complete).

    ``tokens`` (int32 names below ``n_names``) are the m tokens of A, then the tokens of B. ``spine`` int64[k, 3]
    are tiles in the same order in both, ``moved`` the other tiles, whose tokens are left out. ``limits`` = (cells
    of one stretch, cells of all): a stretch with more cells (tokens of A times tokens of B) is cut at words that
    occur once in each document.
    """
    n = tokens.size - m
    free_a, free_b = np.ones(m, np.bool_), np.ones(n, np.bool_)
    for t in range(moved.shape[0]):
        free_a[moved[t, 0] : moved[t, 0] + moved[t, 2]] = False
        free_b[moved[t, 1] : moved[t, 1] + moved[t, 2]] = False
    found, size, whole = np.empty((min(m, n), 3), np.int64), 0, True
    kind, left = np.full(n_names, -1, np.int32), limits[1]
    begin_a = begin_b = np.int64(0)
    for t in range(spine.shape[0] + 1):
        last = t == spine.shape[0]
        end_a, end_b = (m, n) if last else (spine[t, 0], spine[t, 1])
        if begin_a < end_a and begin_b < end_b:
            at_a, at_b = _free(free_a, begin_a, end_a), _free(free_b, begin_b, end_b)
            a, b = tokens[at_a], tokens[at_b + m]
            runs, cells, all_tried = _stretch(a, b, kind, (limits[0], left))
            left, whole = left - cells, whole and all_tried
            size = _place(runs, telling_runs(runs, a.size, b.size), at_a, at_b, found, size)
        if not last:
            begin_a, begin_b = end_a + spine[t, 2], end_b + spine[t, 2]
    return found[:size], whole


@part
def _free(free, begin, end):
    """Return the free places of [begin, end), int64."""
    places, size = np.empty(end - begin, np.int64), 0
    for place in range(begin, end):
        places[size] = place
        size += free[place]
    return places[:size]


@part
def _place(runs, kept, at_a, at_b, found, size):
    """Write the kept runs to ``found``, in places of the documents, cut where they contain moved text."""
    for r in range(runs.shape[0]):
        if not kept[r]:
            continue
        for k in range(runs[r, 2]):
            i, j = at_a[runs[r, 0] + k], at_b[runs[r, 1] + k]
            if k > 0 and i == at_a[runs[r, 0] + k - 1] + 1 and j == at_b[runs[r, 1] + k - 1] + 1:
                found[size - 1, 2] += 1
            else:
                found[size, 0], found[size, 1], found[size, 2] = i, j, 1
                size += 1
    return size


@part
def _stretch(a, b, kind, limits):
    """Return the runs int64[r, 3] of equal tokens of two stretches, the cells used, and whether all parts fit."""
    found = np.empty((min(a.size, b.size), 3), np.int64)
    cells = a.size * b.size
    if cells <= min(limits[0], limits[1]):
        return found[: runs_in_order(a, b, kind, found)], cells, True
    anchors = _anchors(a, b, kind)
    size, spent, whole = 0, 0, True
    begin_a = begin_b = np.int64(0)
    for t in range(anchors.shape[0] + 1):
        last = t == anchors.shape[0]
        end_a, end_b = (a.size, b.size) if last else (anchors[t, 0], anchors[t, 1])
        part = (end_a - begin_a) * (end_b - begin_b)
        if part > min(limits[0], limits[1] - spent):
            whole = False
        elif part > 0:
            spent += part
            more = runs_in_order(a[begin_a:end_a], b[begin_b:end_b], kind, found[size:])
            for r in range(size, size + more):
                found[r, 0] += begin_a
                found[r, 1] += begin_b
            size += more
        if not last:
            found[size, 0], found[size, 1], found[size, 2] = end_a, end_b, 1
            size += 1
            begin_a, begin_b = end_a + 1, end_b + 1
    return found[:size], spent, whole


@part
def _anchors(a, b, kind):
    """Return the longest sequence, in the same order in both, of tokens that occur once in each: int64[k, 3].

    ``kind`` (int32, −1 everywhere) is scratch.
    """
    repeated = np.int32(-2)
    for i in range(a.size):
        kind[a[i]] = i if kind[a[i]] == -1 else repeated
    at = np.full(
        a.size, -1, np.int64
    )  # for a token that occurs once in A: its place in B, −2 if it occurs there more than once
    for j in range(b.size):
        i = np.int64(kind[b[j]])
        if i >= 0:
            at[i] = j if at[i] == -1 else -2
    places, size = np.empty((min(a.size, b.size), 3), np.int64), 0
    for i in range(a.size):
        kind[a[i]] = -1
        if at[i] >= 0:
            places[size, 0], places[size, 1], places[size, 2] = i, at[i], 1
            size += 1
    places = places[:size]
    return places[heaviest_chain(places, b.size)]
