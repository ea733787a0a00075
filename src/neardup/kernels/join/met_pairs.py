"""The pairs of hub documents: each looks through its lists or, where these are longer, through all documents.

Texts made from one stock of sentences share every shingle with thousands of others, so that each meets the same
documents again in many long lists. It is then cheaper to pass every document once, in the order of size, and to
count by the bits of frequent shingles (``frequent.py``). Both ways examine all partners at or above the threshold,
and so find the same pairs.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.join.frequent import shared_bits, shared_inside, shared_rest
from neardup.kernels.join.prefix_index import FARTHEST, above, farthest, more_rows, shared_of
from neardup.kernels.parities import differ_in_more
from neardup.kernels.sets import ANY_SIZE, least_shared, smallest_partner


@njit(cache=True, nogil=True)
def _next_met(hubs, criterion, x, span, searched, seen, reference):
    """Return the first place in ``span`` = (first, until, step) whose unseen member may pair with x; or until.

    All members passed on the way are marked in ``seen`` (int64[hubs]). Most are not partners, and there may be
    millions, so the arrays get names outside of the loop: passing ``hubs`` for each counts references, at 20 times
    the cost.
    """
    members, sizes, reach, largest = hubs.members, hubs.sizes, hubs.reach, hubs.largest
    words, words_at, documents = hubs.parities, hubs.parity_at, hubs.documents
    left_out = searched.left_out
    size, most, old = sizes[x], largest[x], documents[x] < reference
    across, run_begin, run_end = hubs.across, hubs.run_begin, hubs.run_end
    sided = across.size > 0
    at, until, step = span
    while at != until:
        y = members[at]
        if sided and across[y] == across[x]:  # a crowd of one side is passed in one step
            at = min(run_end[at], until) if step > 0 else max(run_begin[at] - 1, until)
            continue
        if seen[y] != x and not left_out[y] and (reach[at] >= size or reach[at] == FARTHEST):
            seen[y] = x
            other = sizes[y]
            if other <= most and size <= largest[y] and not (old and documents[y] < reference):
                apart = size + other - 2 * least_shared(size, other, criterion)
                if not differ_in_more(words, words_at, x, y, apart):
                    return at
        at += step
    return until


@njit(cache=True, nogil=True)
def _next_swept(hubs, criterion, x, span, searched, reference):
    """Return (place, |x∩y|) of the first partner of x in ``span`` = (first, until, step) of ``inside``, or until.

    Documents ascend by size there, and each is passed once.
    """
    inside, bits, rest_at, rest = searched.inside, searched.bits, searched.rest_at, searched.rest
    rest_bits, by_bits = searched.rest_bits, searched.bits.size > 0
    each = bits.size // max(1, inside.size)
    sizes, largest, across = hubs.sizes, hubs.largest, hubs.across
    words, words_at, documents = hubs.parities, hubs.parity_at, hubs.documents
    size, old, sided = sizes[x], documents[x] < reference, across.size > 0
    within, apart = hubs.within, hubs.within.size > 0
    own = np.int64(searched.place[x]) if by_bits else np.int64(0)
    other, least = np.int64(-1), np.int64(0)
    at, until, step = span
    while at != until:
        y = inside[at]
        if sizes[y] != other:
            other = sizes[y]
            least = least_shared(size, other, criterion)
        if (
            size <= largest[y]
            and not (sided and across[x] == across[y])
            and not (apart and within[x] != within[y])
            and not (old and documents[y] < reference)
        ):
            if by_bits:
                shared = shared_bits(bits, own, at, each)
                few = min(rest_at[own + 1] - rest_at[own], rest_at[at + 1] - rest_at[at])
                if few > 0 and shared + few >= least and rest_bits[own] & rest_bits[at] != 0:
                    spans = (rest_at[own], rest_at[own + 1], rest_at[at], rest_at[at + 1])
                    more = shared_rest(rest, spans, least - shared)
                    shared = shared + more if more >= 0 else more
                if shared >= least:
                    return at, shared
            elif not differ_in_more(words, words_at, x, y, size + other - 2 * least):
                shared = shared_of(hubs, criterion, x, y)
                if shared >= 0:
                    return at, shared
        at += step
    return until, np.int64(-1)


@njit(cache=True, nogil=True)
def first_above(hubs, inside, size):
    """Return the first place in ``inside`` (ascending hub numbers) of a size above ``size``, or its length."""
    low, high = 0, inside.size
    while low < high:
        middle = (low + high) // 2
        if hubs.sizes[inside[middle]] <= size:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _lists_pass_more(hubs, x, smallest, most):
    """Return whether the lists of x hold more than ``most`` places to pass on the way to its partners.

    These are its larger partners, or with ``smallest`` ≥ 0 its smaller ones, from that size on.
    """
    smaller = smallest >= 0
    end = hubs.begin[x + 1] if smaller else hubs.probes[x]
    places = 0
    for e in range(hubs.begin[x], end):
        k = hubs.list_of[e]
        places += hubs.place[e] if smaller else hubs.first[k + 1] - hubs.first[k] - hubs.place[e] - 1
    if places <= most:  # without a look at the sizes
        return False
    places = 0
    for e in range(hubs.begin[x], end):
        k = hubs.list_of[e]
        at = hubs.first[k] + hubs.place[e]
        if smaller:
            before = above(hubs, hubs.first[k], at, smallest - 1)
            places += above(hubs, before, at, farthest(hubs, at, x)) - before
        else:
            places += above(hubs, at + 1, hubs.first[k + 1], farthest(hubs, at, x)) - at - 1
        if places > most:
            return True
    return False


@njit(cache=True, nogil=True)
def _smaller_partners(hubs, criterion, x, searched, seen, reference, limit):
    """Return how many smaller hub documents x pairs with; counting stops above ``limit``."""
    inside, count = searched.inside, 0
    smallest = smallest_partner(hubs.sizes[x], criterion)
    low = first_above(hubs, inside, smallest - 1)
    high = max(low, min(np.searchsorted(inside, x), first_above(hubs, inside, hubs.largest[x])))
    if _lists_pass_more(hubs, x, smallest, high - low):
        at = high
        while count <= limit:
            at, _ = _next_swept(hubs, criterion, x, (at - 1, low - 1, -1), searched, reference)
            if at == low - 1:
                break
            count += 1
        return count
    for e in range(hubs.begin[x], hubs.begin[x + 1]):
        k = hubs.list_of[e]
        at = hubs.first[k] + hubs.place[e]
        before = above(hubs, hubs.first[k], at, smallest - 1) - 1
        j = above(hubs, before + 1, at, farthest(hubs, at, x))
        while j != before:
            j = _next_met(hubs, criterion, x, (j - 1, before, -1), searched, seen, reference)
            if j == before or shared_inside(hubs, criterion, searched, x, hubs.members[j]) < 0:
                continue
            count += 1
            if count > limit:
                return count
    return count


@njit(cache=True, nogil=True)
def _entered(found, used, x, y, shared):
    """Enter the row x, y, |x∩y| at place ``used`` of ``found``; return the table, a larger one if it was full."""
    if used == found.shape[0]:
        found = more_rows(found, used)
    found[used, 0], found[used, 1], found[used, 2] = x, y, shared
    return found


@njit(cache=True, nogil=True)
def _larger_partners(hubs, criterion, x, searched, asked, found, used):
    """Enter the pairs of x with larger documents in ``found`` from ``used`` on; return (found, used).

    ``asked`` = (seen, reference, the number of rows to stop at).
    """
    inside = searched.inside
    seen, reference, stop = asked
    low = np.searchsorted(inside, x + 1)
    high = max(low, first_above(hubs, inside, hubs.largest[x]))
    if _lists_pass_more(hubs, x, -1, high - low):
        at = low - 1
        while used < stop:
            at, shared = _next_swept(hubs, criterion, x, (at + 1, high, 1), searched, reference)
            if at == high:
                break
            found = _entered(found, used, x, inside[at], shared)
            used += 1
        return found, used
    for e in range(hubs.begin[x], hubs.probes[x]):
        k = hubs.list_of[e]
        j = hubs.first[k] + hubs.place[e]
        until = above(hubs, j + 1, hubs.first[k + 1], farthest(hubs, j, x))
        while used < stop:
            j = _next_met(hubs, criterion, x, (j + 1, until, 1), searched, seen, reference)
            if j == until:
                break
            shared = shared_inside(hubs, criterion, searched, x, hubs.members[j])
            if shared >= 0:
                found = _entered(found, used, x, hubs.members[j], shared)
                used += 1
    return found, used


@njit(cache=True, nogil=True)
def met_pairs(hubs, criterion, span, searched, partners, limit, reference, enough):
    """Return verified pairs (x, y), x in ``span`` = (first, until) and y larger: int64[m, 3] of x, y, |x∩y|.

    Returns (pairs, the document to continue with), and stops after the document that brings the number of pairs
    to ``enough``. Documents that ``searched`` leaves out are skipped; so are pairs of two documents below
    ``reference``. With ``limit`` ≥ 0 the pairs of a document with more partners than that are left out, and its
    search stops at the limit; ``partners`` (int64[hubs]) holds the number each has elsewhere on entry, and the
    number counted on return.
    """
    seen = np.full(hubs.documents.size, -1, np.int64)
    found = np.empty((1024, 3), np.int64)
    used, most = 0, ANY_SIZE
    for x in range(span[0], span[1]):
        if used >= enough:
            return found[:used], x
        if searched.left_out[x]:
            continue
        before = used
        if limit >= 0:
            left = limit - partners[x]
            partners[x] += _smaller_partners(hubs, criterion, x, searched, seen, reference, left)
            most = limit - partners[x]
        if most >= 0:
            asked = (seen, reference, used + most + 1)
            found, used = _larger_partners(hubs, criterion, x, searched, asked, found, used)
        partners[x] += used - before
        if 0 <= limit < partners[x]:
            used = before
    return found[:used], span[1]
