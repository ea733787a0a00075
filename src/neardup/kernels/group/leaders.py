"""Pairs → groups. Documents are numbered; ``rank`` is a permutation, and a smaller rank is better to keep.

Similarities are compared exactly, as fractions shared / union of integers. A document of the reference set always
leads itself, and is preferred to any other leader.

Most pairs are verified before this step (``Links``). Pairs of two hub documents are not: a hub document is
compared only with the leaders it meets in a prefix list, so that a crowd costs one comparison per member instead
of one per pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.bitmap import next_set
from neardup.kernels.compiled import njit
from neardup.kernels.group.leader_bits import enter_leader, no_leaders
from neardup.kernels.group.linkage import NONE, enter_member, no_classes, pairs_with_all
from neardup.kernels.heap import heap_sort
from neardup.kernels.join.prefix_index import FARTHEST, above, farthest, more_rows, shared_of
from neardup.kernels.parities import differ_in_more
from neardup.kernels.sets import least_shared, part_of, smallest_partner, whole_of

_ONE = np.uint64(1)

MOST_LEADERS = 1000
"""A document that pairs with more leaders than this joins the most similar of the first ones, by size.

Without this limit, thousands of texts on one page of boilerplate, each near enough to most leaders, would cost all
their pairs.
"""


class Links(NamedTuple):
    """Verified pairs as partner lists: the partners of d are ``partners[begin[d]:begin[d + 1]]``."""

    begin: Any  # int64[documents + 1]
    partners: Any  # int64[2 * pairs]
    shared: Any  # int64[2 * pairs] |A∩B|
    whole: Any  # int64[2 * pairs] the denominator of the measure, seen from d: |A∪B| for the resemblance


class OldDocuments(NamedTuple):
    """The reference set: the ``number`` of its documents, which come first, and the formula of its pairs.

    ``formula`` is that of the measure, or another one of its directions: which side has to be held in the other.
    """

    number: Any  # int64
    formula: Any  # int64


class Groups(NamedTuple):
    """Groups under construction: each document's leader and the elements it shares with it."""

    leader: Any  # int64[documents], −1 where not yet processed
    shared: Any  # int64[documents] |A∩B| with the leader


@njit(cache=True, nogil=True, inline="always")
def _compare(shared, whole, other_shared, other_whole):
    """Return the sign of shared / whole − other_shared / other_whole, without rounding."""
    left, right = shared * other_whole, other_shared * whole
    return np.int64(left > right) - np.int64(left < right)


@njit(cache=True, nogil=True)
def _takes(shared, whole, criterion):
    """Return whether a leader accepts a member by the member's own direction; a pair may meet it by either."""
    return part_of(shared, criterion.measure) * criterion.denominator >= criterion.numerator * whole


@njit(cache=True, nogil=True)
def _gather(d, links, groups, found, criterion):
    """Write the leaders among d's partners to ``found`` (int64[·, 3]: leader, shared, whole); return how many."""
    n = 0
    for k in range(links.begin[d], links.begin[d + 1]):
        other = links.partners[k]
        if groups.leader[other] == other and _takes(links.shared[k], links.whole[k], criterion):
            found[n, 0], found[n, 1], found[n, 2] = other, links.shared[k], links.whole[k]
            n += 1
    return n


@njit(cache=True, nogil=True)
def _met_in_list(x, hubs, criterion, listed, span, seen, met, n):
    """Append to ``met``, from ``n`` on, the leaders that x meets first in ``span``; return the new number."""
    members, sizes, reach, largest = hubs.members, hubs.sizes, hubs.reach, hubs.largest
    words, words_at, leads, any_leads = hubs.parities, hubs.parity_at, listed.leads, listed.words
    size, most = sizes[x], largest[x]
    across, run_end = hubs.across, hubs.run_end
    sided = across.size > 0
    at = next_set(leads, any_leads, span[0], span[1])
    while at < span[1]:
        y = members[at]
        if sided and across[y] == across[x]:  # a crowd of one side is passed in one step
            at = next_set(leads, any_leads, run_end[at], span[1])
            continue
        if seen[y] != x and (reach[at] >= size or reach[at] == FARTHEST):
            seen[y] = x
            other = sizes[y]
            if other <= most and size <= largest[y]:
                apart = size + other - 2 * least_shared(size, other, criterion)
                if not differ_in_more(words, words_at, x, y, apart):
                    met[n] = y
                    n += 1
        at += 1
        if at < span[1] and not (leads[at >> 6] >> np.uint64(at & 63)) & _ONE:
            at = next_set(leads, any_leads, at, span[1])
    return n


@njit(cache=True, nogil=True)
def _swept(x, hubs, criterion, listed, span, met):
    """Write the leaders in ``span``, in the order of size, that may pair with x to ``met``; return how many."""
    sizes, largest, across = hubs.sizes, hubs.largest, hubs.across
    words, words_at, leaders, any_leaders = hubs.parities, hubs.parity_at, listed.leaders, listed.leader_words
    size, sided, n = sizes[x], across.size > 0, 0
    within, kept_apart = hubs.within, hubs.within.size > 0
    other, apart = np.int64(-1), np.int64(0)
    y = next_set(leaders, any_leaders, span[0], span[1])
    while y < span[1]:
        if sizes[y] != other:
            other = sizes[y]
            apart = size + other - 2 * least_shared(size, other, criterion)
        may = size <= largest[y] and not (sided and across[y] == across[x])
        if (
            may
            and not (kept_apart and within[y] != within[x])
            and not differ_in_more(words, words_at, x, y, apart)
        ):
            met[n] = y
            n += 1
        y += 1
        if y < span[1] and not (leaders[y >> 6] >> np.uint64(y & 63)) & _ONE:
            y = next_set(leaders, any_leaders, y, span[1])
    return n


@njit(cache=True, nogil=True)
def _met_in_lists(x, hubs, criterion, listed, seen, met):
    """Write the leaders that hub document x meets in its lists to ``met`` (int64[hubs]), sorted; return how many.

    Leaders ruled out by sizes or parities are left out. ``listed`` is a ``Listed``; ``seen`` is int64[hubs]
    scratch. Where the lists hold more leaders than there are, all leaders are passed once instead.
    """
    smallest, n, places = smallest_partner(hubs.sizes[x], criterion), 0, 0
    for e in range(hubs.begin[x], hubs.begin[x + 1]):
        places += listed.counts[hubs.list_of[e]]
    if places > listed.counts[-1]:
        low = np.searchsorted(hubs.sizes, smallest)
        return _swept(x, hubs, criterion, listed, (low, np.searchsorted(hubs.sizes, hubs.largest[x] + 1)), met)
    for e in range(hubs.begin[x], hubs.begin[x + 1]):
        k = hubs.list_of[e]
        if listed.counts[k] == 0:
            continue
        # members ascend in size: only members of a size that can pair are examined, 64 per word
        at = above(hubs, hubs.first[k], hubs.first[k + 1], smallest - 1)
        end = above(hubs, at, hubs.first[k + 1], farthest(hubs, hubs.first[k] + hubs.place[e], x))
        n = _met_in_list(x, hubs, criterion, listed, (at, end), seen, met, n)
    heap_sort(met, 0, n)
    return n


@njit(cache=True, nogil=True)
def _gather_hub(x, hubs, criterion, met, found, n, old):
    """Add the leaders in ``met`` that hub document x pairs with; return (found, the new number).

    Only the first MOST_LEADERS in the order of their numbers are added: the lists that contain them, and the order
    of these lists, depend on hashes.
    """
    for y in met:
        low, high = min(x, y), max(x, y)
        shared = shared_of(hubs, criterion, low, high)
        formula = old.formula if hubs.documents[y] < old.number else criterion.measure
        whole = whole_of(shared, hubs.sizes[x], hubs.sizes[y], formula)
        if shared < 0 or not _takes(shared, whole, criterion):
            continue
        if n >= MOST_LEADERS:
            break
        if n == found.shape[0]:
            found = more_rows(found, n)
        found[n, 0], found[n, 1], found[n, 2] = hubs.documents[y], shared, whole
        n += 1
    return found, n


@njit(cache=True, nogil=True)
def _precedes(found, i, j, rank, old):
    """Return whether leader i of ``found`` is preferred to leader j."""
    old_i, old_j = found[i, 0] < old.number, found[j, 0] < old.number
    if old_i != old_j:
        return old_i
    sign = _compare(found[i, 1], found[i, 2], found[j, 1], found[j, 2])
    return sign > 0 or (sign == 0 and rank[found[i, 0]] < rank[found[j, 0]])


@njit(cache=True, nogil=True)
def lead(order, rank, links, hubs, criterion, alive, old, complete):
    """Group documents, best first: each joins the leader it is most similar to, or becomes a leader.

    Every member is a found pair with its leader (*principal*, the CENTER family of Hassanzadeh et al. 2009); with
    ``complete``, also with every other member (greedy complete linkage; a pair that follows with certainty from
    the shingles that both share with the leader counts as found). ``alive`` bool[hubs]: False if a hub document
    has no partner in any list. ``old`` is an ``OldDocuments``.
    """
    n = order.size
    groups = Groups(np.full(n, NONE, np.int64), np.zeros(n, np.int64))
    classes = no_classes(n if complete else 0)
    partner_of = np.full(n, NONE, np.int64)
    listed = no_leaders(hubs)
    seen, met = np.full(hubs.documents.size, NONE, np.int64), np.empty(hubs.documents.size, np.int64)
    found = np.empty((64, 3), np.int64)
    for d in order:
        in_hub = hubs.local[d] >= 0 and alive[hubs.local[d]]
        if d >= old.number:
            if links.begin[d + 1] - links.begin[d] > found.shape[0]:
                found = np.empty((2 * (links.begin[d + 1] - links.begin[d]), 3), np.int64)
            count = _gather(d, links, groups, found, criterion)
            if in_hub:
                x = hubs.local[d]
                n_met = _met_in_lists(x, hubs, criterion, listed, seen, met)
                found, count = _gather_hub(x, hubs, criterion, met[:n_met], found, count, old)
            if complete:
                for k in range(links.begin[d], links.begin[d + 1]):
                    partner_of[links.partners[k]] = d
            best = _best(d, rank, found[:count], hubs, criterion, classes, partner_of, old)
            if best >= 0:
                groups.leader[d], groups.shared[d] = found[best, 0], found[best, 1]
                if complete:
                    enter_member(d, found[best, 0], classes, hubs)
                continue
        groups.leader[d] = d
        if in_hub:
            enter_leader(hubs.local[d], hubs, listed)
    return groups


@njit(cache=True, nogil=True)
def _best(d, rank, found, hubs, criterion, classes, partner_of, old):
    """Return the index in ``found`` of the most similar leader whose group accepts d, or −1.

    Without classes every group accepts d.
    """
    complete = classes.first.size > 0
    tried = np.zeros(found.shape[0], np.bool_)
    for _ in range(found.shape[0]):
        best = NONE
        for i in range(found.shape[0]):
            if not tried[i] and (best < 0 or _precedes(found, i, best, rank, old)):
                best = i
        if not complete or pairs_with_all(d, found[best, 0], classes, partner_of, hubs, criterion):
            return best
        tried[best] = True
    return NONE
