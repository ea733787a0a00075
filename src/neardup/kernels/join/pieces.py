"""Joins by the longest common subsequence: pieces of a document, at least one verbatim in each partner.

A has a tokens, B has b ≤ a, and L of them are a common subsequence with 2L ≥ t·(a + b). Cut disjoint pieces, runs
of any length, out of A. A piece that does not occur verbatim in B has a token without a match, or two neighbours
whose matches in B have others in between, which have no match. So every spoiled piece has a token without a match
of its own: one of A lies in one piece, one of B between the matches of two neighbours in one. Therefore among

    (a − L) + (b − L) + 1  ≤  (1 − t)·(a + b) + 1  ≤  2·(1 − t)·a + 1

pieces one occurs in B. Pieces of a single token have no neighbours; only tokens of A spoil them. So

    a − L + 1  ≤  a − ⌈t·a / (2 − t)⌉ + 1           (for b ≥ L, so that 2L ≥ t·(a + L))

single tokens are already enough. Repeated pieces need no special care: equal pieces count as often as they are
cut.

This is the search for a pattern with k errors, cut into k + 1 pieces (Wu and Manber 1992), except that the pattern
may be cut anywhere. Pieces are cut to be rare: a rare word is a piece by itself, frequent words are combined, and
text in many documents is avoided as far as other text remains. A document meets all smaller ones that contain one
of its pieces; it is compared with those that have enough equal tokens in any order.

In the kernels the criterion is one of DICE, and t is numerator / denominator, p / q.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.sets import least_shared, shared_at_least, smallest_partner
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sorting import copy_into, sort_distinct

_HIGHEST = np.int64(1) << np.int64(24)
"""More than the total value of all pieces that one piece can replace."""


class Held(NamedTuple):
    """Documents numbered by size, and for each piece of any of them the list of the documents that contain it.

    The tokens of x with repeats, sorted, are ``hashes[starts[x]:ends[x]]``. Entry e in ``begin[x]:begin[x + 1]``
    means that x is in list ``list_of[e]`` at ``place[e]``; the entries up to ``probes[x]`` are of its own pieces.
    List k is ``members[first[k]:first[k + 1]]``, ascending. ``largest[x]`` is the greatest size of a partner.
    """

    documents: Any  # int64[n] document number of each
    hashes: Any  # uint64
    starts: Any  # int64[n]
    ends: Any  # int64[n]
    sizes: Any  # int64[n], ascending
    largest: Any  # int64[n]
    begin: Any  # int64[n + 1]
    probes: Any  # int64[n]
    list_of: Any  # int64[entries]
    place: Any  # int64[entries]
    members: Any  # int64[entries]
    first: Any  # int64[lists + 1]
    criterion: Any  # Criterion


@njit(cache=True, nogil=True)
def runs_of(tokens, lengths, factors, out):
    """Write the hashes of all runs of ``lengths`` (int64) tokens to ``out`` (uint64, with room); return how many.

    ``factors`` are the factors of shingles, see ``keyed.Key``.
    """
    used = 0
    for length in lengths:
        if length <= tokens.size:
            used += shingle_hashes(tokens, tokens.size, length, factors, out[used:])
    return used


@njit(cache=True, nogil=True)
def run_sets(tokens, offsets, lengths, factors):
    """Return the distinct runs of every document, sorted: (hashes uint64, starts int64, sizes int64).

    Documents are ``tokens[offsets[d]:offsets[d + 1]]`` (uint64); runs have one of the ``lengths`` (int64).
    """
    n = offsets.size - 1
    out = np.empty((offsets[n] - offsets[0]) * lengths.size, np.uint64)
    starts, sizes, used = np.empty(n, np.int64), np.empty(n, np.int64), np.int64(0)
    for d in range(n):
        document = tokens[offsets[d] : offsets[d + 1]]
        room = document.size * lengths.size
        runs = out[used : used + room]
        starts[d] = used
        sizes[d] = sort_distinct(runs, runs_of(document, lengths, factors, runs), np.empty(room, np.uint64))
        used += sizes[d]
    return out[:used], starts, sizes


@njit(cache=True, nogil=True)
def _cut(costs, lengths, worth, taken):
    """Choose the disjoint runs for which Σ (worth + ½ − cost) is greatest; return their number.

    ``costs[k, i]`` is the cost of the run of ``lengths[k]`` tokens from token i on. ``taken[e]`` (int64[tokens +
    1]) becomes k + 1 where a run of ``lengths[k]`` ends before token e, else 0.
    """
    n = taken.size - 1
    best = np.zeros(n + 1, np.int64)
    chosen = np.empty(n + 1, np.int64)
    for e in range(1, n + 1):
        best[e], chosen[e] = best[e - 1], 0
        for k in range(lengths.size):
            if lengths[k] > e:
                break
            value = best[e - lengths[k]] + 2 * (worth - costs[k, e - lengths[k]]) + 1
            if value > best[e]:
                best[e], chosen[e] = value, k + 1
    taken[:] = 0
    count, e = 0, n
    while e > 0:
        if chosen[e] == 0:
            e -= 1
            continue
        taken[e] = chosen[e]
        count += 1
        e -= lengths[chosen[e] - 1]
    return count


@njit(cache=True, nogil=True)
def cheapest_cut(costs, lengths, wanted, taken):
    """Choose at least ``wanted`` (at most the number of tokens) disjoint runs at nearly the least cost.

    They are in ``taken``, see ``_cut``. The worth of a run is raised until there are enough of them (a Lagrange
    multiplier): doubled, then searched for in three steps.
    """
    high = np.int64(1)
    while _cut(costs, lengths, high, taken) < wanted and high < _HIGHEST:
        high *= 2
    low = high // 2
    for _ in range(3):
        middle = (low + high) // 2
        if low < middle < high:
            if _cut(costs, lengths, middle, taken) < wanted:
                low = middle
            else:
                high = middle
    _cut(costs, lengths, high, taken)


@njit(cache=True, nogil=True)
def _cheapest(values, costs, wanted):
    """Return the ``wanted`` cheapest ``values`` (uint64) by ``costs`` (int64), in order, and their total cost."""
    order = np.argsort(costs, kind="mergesort")[:wanted]
    chosen, total = np.empty(order.size, np.uint64), np.int64(0)
    for i in range(order.size):
        chosen[i] = values[order[i]]
        total += costs[order[i]]
    return chosen, total


@njit(cache=True, nogil=True)
def pieces_of(tokens, lengths, factors, repeats, criterion):
    """Return (pieces uint64, number cut, largest) of a document; a partner of its size or below contains a piece.

    ``repeats`` counts the other documents that have a run (``prefix_index.count_repeats``); pieces that no other
    document has are counted, but not returned. ``largest`` is the greatest size of a partner, from the tokens that
    others also have.
    """
    n = tokens.size
    hashes = np.empty((lengths.size, n), np.uint64)
    costs = np.full((lengths.size, n), _HIGHEST)
    mask = np.uint64(repeats.size - 1)
    for k in range(lengths.size):
        if lengths[k] > n:
            break
        for i in range(shingle_hashes(tokens, n, lengths[k], factors, hashes[k])):
            costs[k, i] = repeats[hashes[k, i] & mask]
    p, q = criterion.numerator, criterion.denominator
    known = np.int64(np.count_nonzero(costs[0]))
    largest = 2 * known * q // p - n
    least = smallest_partner(np.int64(n), criterion)
    if largest < least:
        return np.empty(0, np.uint64), 0, largest
    pieces, total = _cheapest(hashes[0], costs[0], n - least + 1)
    several = (q - p) * (n + min(np.int64(n), largest)) // q + 1
    if several <= n:
        taken = np.empty(n + 1, np.int64)
        cheapest_cut(costs, lengths, several, taken)
        ends = np.flatnonzero(taken)
        values, prices = np.empty(ends.size, np.uint64), np.empty(ends.size, np.int64)
        for i in range(ends.size):
            k = taken[ends[i]] - 1
            values[i], prices[i] = hashes[k, ends[i] - lengths[k]], costs[k, ends[i] - lengths[k]]
        mixed, price = _cheapest(values, prices, several)
        if price < total:
            pieces = mixed
    shared, used = np.empty(pieces.size, np.uint64), 0
    for value in pieces:
        if repeats[value & mask] > 0:
            shared[used] = value
            used += 1
    return shared[: sort_distinct(shared, used, np.empty(used, np.uint64))], pieces.size, largest


@njit(cache=True, nogil=True)
def choose_pieces(tokens, offsets, lengths, factors, repeats, criterion):
    """Return (entries uint64, owner int32, largest int64[documents]): the pieces of each document, ascending.

    Documents are ``tokens[offsets[d]:offsets[d + 1]]`` (uint64).
    """
    n = offsets.size - 1
    largest = np.empty(n, np.int64)
    total = offsets[n] - offsets[0]
    entries, owner, used = np.empty(total, np.uint64), np.empty(total, np.int32), 0
    for d in range(n):
        pieces, _, largest[d] = pieces_of(
            tokens[offsets[d] : offsets[d + 1]], lengths, factors, repeats, criterion
        )
        copy_into(entries, used, pieces, pieces.size)
        for i in range(used, used + pieces.size):
            owner[i] = d
        used += pieces.size
    return entries[:used].copy(), owner[:used].copy(), largest  # copies, so as not to keep room for every token


@njit(cache=True, nogil=True)
def holders_met(held, span, seen, reference, enough):
    """Return the pairs (x, y), x in ``span`` = (first, until) and y before it, with enough equal tokens.

    y contains a piece of x. Returns (pairs int64[m, 2] of numbers in ``held``, the document to continue with).
    Stops after the document that brings the number of pairs to ``enough``. Pairs of two documents below
    ``reference`` are left out. ``seen`` int64[n] is scratch, −1 at first.
    """
    found, used = np.empty((1024, 2), np.int64), 0
    for x in range(span[0], span[1]):
        if used >= enough:
            return found[:used], x
        smallest = smallest_partner(held.sizes[x], held.criterion)
        for e in range(held.begin[x], held.probes[x]):
            k = held.list_of[e]
            for j in range(held.first[k] + held.place[e] - 1, held.first[k] - 1, -1):
                y = held.members[j]
                if held.sizes[y] < smallest:
                    break  # members descend in size
                if seen[y] == x or (held.documents[x] < reference and held.documents[y] < reference):
                    continue
                seen[y] = x
                if held.sizes[y] > held.largest[x] or held.sizes[x] > held.largest[y]:
                    continue
                ends = (held.starts[x], held.ends[x], held.starts[y], held.ends[y])
                least = least_shared(held.sizes[x], held.sizes[y], held.criterion)
                if shared_at_least(held.hashes, *ends, least) < 0:
                    continue
                if used == found.shape[0]:
                    more = np.empty((2 * used, 2), np.int64)
                    for i in range(used):
                        more[i, 0], more[i, 1] = found[i, 0], found[i, 1]
                    found = more
                found[used, 0], found[used, 1] = x, y
                used += 1
    return found[:used], span[1]
