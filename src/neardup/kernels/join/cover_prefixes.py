"""Joins by common text: the shingles that two documents must share if enough of each is to be covered.

Every common chunk of w or more tokens is covered, in either document, by shingles of w tokens that both have. So
common text of C tokens means that the shared shingles cover at least C tokens of each. C must be at least ⌈t·N⌉
for a document of N tokens, by chunk-longest C / max(N, M) and also by chunk-union C / (N + M − C), since C ≤ M. In
the information match N counts the tokens that are not redundant, and a shingle covers only such tokens.

*Prefix*: in any fixed order of all shingles, each shingle that covers ⌈t·N⌉ tokens together with those after it.
The first shingle, in that order, that the documents of a pair share is in both prefixes: all their other shared
shingles come after it, and cover enough. That is prefix filtering (Chaudhuri, Ganti and Kaushik 2006) with covered
tokens in place of counted elements. In the order from rare to frequent, boilerplate that alone is not enough is in
no prefix.

*Least*: a partner shares at least as many shingles as can cover ⌈t·N⌉ tokens, starting with those that cover most.
If no shingle repeats, that is ⌈t·N / w⌉; one that occurs r times covers at most w·r tokens.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.declarations import Int64s, record
from neardup.kernels.join.prefix_index import may_pair, one_side
from neardup.kernels.match.chunks import INFORMATION, mark_redundant
from neardup.kernels.names import name_keys
from neardup.kernels.sets import largest_partner, shared_at_least, smallest_partner
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sorting import equal_groups, heap_sort

_MORE_THAN_ALL = np.int64(1) << np.int64(61)


@record
class Requirements(NamedTuple):
    """The requirements of a document on its partners: see ``cover_prefixes``."""

    sizes: Int64s  # int64[documents] tokens that count
    largest: Int64s  # int64[documents] greatest size of a partner; 0: it has none of its size or above
    least: Int64s  # int64[documents] least number of shingles shared with any partner


@part
def occurrences(names, n_names):
    """Return (at, following), both int32: the first place of each name, and the next of the same name or −1."""
    at, following = np.full(n_names, -1, np.int32), np.full(names.size, -1, np.int32)
    for i in range(names.size - 1, -1, -1):
        following[i] = at[names[i]]
        at[names[i]] = i
    return at, following


@part
def cover_name(at, following, length, taken):
    """Set ``taken`` (bool per token) for all occurrences from place ``at`` on; return how many are newly set."""
    new, reach = np.int64(0), 0
    while at >= 0:
        for k in range(max(at, reach), at + length):
            new += not taken[k]
            taken[k] = True
        reach = at + length
        at = following[at]
    return new


@part
def covers(at, following, length, fresh):
    """Return how many tokens all occurrences from ``at`` on cover; ``fresh[i]`` (int64) tokens before i count."""
    count, reach = np.int64(0), np.int64(0)
    while at >= 0:
        count += fresh[at + length] - fresh[max(np.int64(at), reach)]
        reach = at + length
        at = following[at]
    return count


@part
def frequent_first(hashes, at, repeats):
    """Return the names of shingles that others also have, from frequent to rare: by (class, hash), descending."""
    mask = np.uint64(repeats.size - 1)
    starts = np.zeros(257, np.int64)
    chosen = np.empty(at.size, np.int64)
    keys = np.empty(at.size, np.uint64)
    n = 0
    for name in range(at.size):
        value = hashes[at[name]]
        of_class = np.int64(repeats[value & mask])
        if of_class > 0:
            chosen[n], keys[n] = name, value
            starts[256 - of_class] += 1
            n += 1
    for c in range(1, 257):
        starts[c] += starts[c - 1]
    order = np.empty(n, np.int64)
    by_hash = equal_groups(keys[:n])[0]
    for i in range(n - 1, -1, -1):
        name = chosen[by_hash[i]]
        before = 255 - np.int64(repeats[hashes[at[name]] & mask])
        order[starts[before]] = name
        starts[before] += 1
    return order


@part
def fewest_that_cover(need, order, at, following, length, taken):
    """Return how few of the names in ``order`` can cover ``need`` tokens; ``taken`` tokens do not count."""
    fresh = np.zeros(taken.size + 1, np.int64)
    for i in range(taken.size):
        fresh[i + 1] = fresh[i] + (not taken[i])
    amounts = np.empty(order.size, np.int64)
    for i in range(order.size):
        amounts[i] = covers(at[order[i]], following, length, fresh)
    heap_sort(amounts, 0, amounts.size)
    covered = count = np.int64(0)
    while covered < need:
        count += 1
        covered += amounts[amounts.size - count]
    return count


@part
def cover_prefix(tokens, repeats, counting, criterion, factors):
    """Return (prefix uint64, size, tokens that can be common, least) of a document; no prefix without a partner.

    ``repeats`` counts the repetitions of each shingle (``prefix_index.count_repeats``), ``factors`` are the
    factors of shingles (``keyed.Key``). A document with fewer tokens than a chunk matches only an identical one,
    which is a copy and not a partner.
    """
    n, length = tokens.size, counting.length
    nothing = np.empty(0, np.uint64)
    taken = np.zeros(n, np.bool_)
    if n < length:
        return nothing, np.int64(n), np.int64(0), _MORE_THAN_ALL
    hashes = np.empty(n, np.uint64)
    windows = shingle_hashes(tokens, n, length, factors, hashes)
    names = np.empty(windows, np.int32)
    n_names = name_keys(hashes, windows, names)
    at, following = occurrences(names, n_names)
    if counting.matching == INFORMATION:
        mark_redundant(names, 0, windows, length, n_names, taken)
    size = np.int64(n)
    for i in range(n):
        size -= np.int64(taken[i])
    need = smallest_partner(size, criterion)
    order = frequent_first(hashes, at, repeats)
    covered, frequent = np.int64(0), 0
    redundant = taken.copy()
    for i in range(order.size):
        covered += cover_name(at[order[i]], following, length, taken)
        if covered < need:
            frequent = i + 1
    if covered < need:
        return nothing, size, covered, _MORE_THAN_ALL
    least = fewest_that_cover(need, order, at, following, length, redundant)
    prefix = np.empty(order.size - frequent, np.uint64)
    for i in range(prefix.size):
        prefix[i] = hashes[at[order[frequent + i]]]
    return prefix, size, covered, least


@entry("uint64[:], int64[:], uint8[:], Counting, Criterion, uint64[:] -> (uint64[:], int32[:], Requirements)")
def cover_prefixes(tokens, offsets, repeats, counting, criterion, factors):
    """Return (entries uint64, owner int32, Requirements) of ``tokens[offsets[d]:offsets[d + 1]]`` (uint64).

    A document whose shingles in others cannot cover enough of it has no entries, and 0 as its largest partner.
    """
    n = offsets.size - 1
    asked = Requirements(np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64))
    entries, owner, used = np.empty(4096, np.uint64), np.empty(4096, np.int32), 0
    for d in range(n):
        document = tokens[offsets[d] : offsets[d + 1]]
        prefix, size, common, least = cover_prefix(document, repeats, counting, criterion, factors)
        asked.sizes[d], asked.least[d] = size, least
        asked.largest[d] = largest_partner(size, common, criterion)
        if used + prefix.size > entries.size:
            more, of = np.empty(2 * (used + prefix.size), np.uint64), np.empty(2 * (used + prefix.size), np.int32)
            for i in range(used):
                more[i], of[i] = entries[i], owner[i]
            entries, owner = more, of
        for i in range(prefix.size):
            entries[used], owner[used] = prefix[i], d
            used += 1
    return entries[:used], owner[:used], asked


@entry("PrefixIndex, (int64, int64), out int64[:], int64, int64 -> (int64[:, :], int64)")
def meeting_pairs(index, span, seen, reference, enough):
    """Return the pairs (x, y), x in ``span`` = (first, until) and y after it, that share enough shingles.

    Returns (pairs int64[m, 2] of numbers in ``index``, the document to continue with). Stops after the document
    that brings the number of pairs to ``enough``. Pairs of two documents below ``reference`` are left out.
    ``seen`` int64[n] is scratch, −1 at first.
    """
    found, used = np.empty((1024, 2), np.int64), 0
    for x in range(span[0], span[1]):
        if used >= enough:
            return found[:used], x
        for e in range(index.begin[x], index.begin[x + 1]):
            k = index.list_of[e]
            j, end = index.first[k] + index.place[e], index.first[k + 1]
            while j + 1 < end:
                j += 1
                y = index.members[j]
                if index.sizes[y] > index.largest[x]:
                    break  # members ascend in size
                if one_side(index.across, x, y):
                    j = index.run_end[j] - 1  # a crowd of one side is passed in one step
                    continue
                if seen[y] == x:
                    continue
                seen[y] = x
                if not may_pair(index, x, y, reference):
                    continue
                ends = (index.starts[x], index.ends[x], index.starts[y], index.ends[y])
                if shared_at_least(index.hashes, *ends, max(index.least[x], index.least[y])) < 0:
                    continue
                if used == found.shape[0]:
                    more = np.empty((2 * used, 2), np.int64)
                    for i in range(used):
                        more[i, 0], more[i, 1] = found[i, 0], found[i, 1]
                    found = more
                found[used, 0], found[used, 1] = x, y
                used += 1
    return found[:used], span[1]
