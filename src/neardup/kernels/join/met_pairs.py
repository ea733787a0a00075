"""The pairs of hub documents: each looks through its lists or, where these are longer, through all documents.

Texts made from one stock of sentences share every shingle with thousands of others, so that each meets the same
documents again in many long lists. It is then cheaper to pass every document once, in the order of size, and to
count by the bits of frequent shingles. Both ways examine all partners at or above the threshold, and so find the
same pairs.

Documents that are left without a partner by their unique shingles alone are found before, range by range of the
hashes. A set with more unique shingles than a partner may lack has no partner. Its other shingles then need not be
counted, nor can they make those of other sets less unique. Sets are sorted, so a range of hashes is a run of each;
the filter of a range stays in the cache of a processor, unlike one of all hashes.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.bits import bit_count
from neardup.kernels.compiler import entry, part
from neardup.kernels.declarations import Int32s, Int64s, Uint8s, Uint64s, record
from neardup.kernels.join.prefix_index import (
    FARTHEST,
    above,
    farthest,
    one_side,
    related,
    restricted,
    shared_of,
)
from neardup.kernels.sets import (
    ANY_SIZE,
    differ_in_more,
    fewest_shared,
    least_shared,
    shared_at_least,
    smallest_partner,
)
from neardup.kernels.sorting import first_within, with_space

_ONE, _6, _16, _63 = np.uint64(1), np.uint64(6), np.uint64(16), np.uint64(63)
_AT_ONCE = 8


@record
class Searched(NamedTuple):
    """The documents that a search looks at, and their frequent shingles; without ``bits`` their sets are merged.

    Of ``kind`` 2 are the documents that are left out. No two documents of kind 1 are a pair; only the ``others``
    are passed for them.

    Document ``inside[p]`` has ``bits.size // inside.size`` words of ``bits``, one bit for each frequent shingle.
    Its other shingles, except those of a single document, are ``rest[rest_at[p]:rest_at[p + 1]]``, ascending. They
    set the bits ``rest_bits[p]``.
    """

    kind: Uint8s  # uint8[hubs]
    inside: Int64s  # int64: the documents that are not left out, ascending
    others: Int64s  # int64: those of kind 0, ascending
    place: Int32s  # int32[hubs] place in ``inside``; empty without bits
    bits: Uint64s  # uint64
    rest_at: Int64s  # int64[inside + 1]
    rest: Uint64s  # uint64
    rest_bits: Uint64s  # uint64[inside]


@entry("uint64[:], int64[:], int64[:], uint64[:], uint8[:], out uint64[:, :], out int64[:] -> None")
def fill_frequent(hashes, starts, sizes, frequent, repeats, bits, counts):
    """Set the bits of each set in ``bits`` (uint64[sets, words]), and fill ``counts`` (int64[sets]) of its rest.

    Bit k of a set says whether it has ``frequent[k]`` (uint64, ascending). ``repeats`` (uint8[power of two]) is 0
    at the low bits of a shingle of a single set.
    """
    mask = np.uint64(repeats.size - 1)
    for x in range(starts.size):
        low, rest = 0, 0
        for i in range(starts[x], starts[x] + sizes[x]):
            value = hashes[i]
            low = first_within(frequent, low, frequent.size, value)
            if low < frequent.size and frequent[low] == value:
                bits[x, low >> 6] |= _ONE << (np.uint64(low) & _63)
            else:
                rest += repeats[value & mask] > 0
        counts[x] = rest


@entry("uint64[:], int64[:], int64[:], uint64[:], uint8[:], int64[:], out uint64[:], out uint64[:] -> None")
def fill_rest(hashes, starts, sizes, frequent, repeats, rest_at, rest, rest_bits):
    """Fill ``rest`` (uint64) of each set from ``rest_at[x]`` on, and ``rest_bits`` (uint64[sets], zeros)."""
    mask = np.uint64(repeats.size - 1)
    for x in range(starts.size):
        low, at = 0, rest_at[x]
        if rest_at[x + 1] == at:
            continue
        for i in range(starts[x], starts[x] + sizes[x]):
            value = hashes[i]
            low = first_within(frequent, low, frequent.size, value)
            if (low == frequent.size or frequent[low] != value) and repeats[value & mask] > 0:
                rest[at] = value
                rest_bits[x] |= _ONE << (value & _63)
                at += 1


@part(inline=True)
def shared_bits(bits, p, q, words):
    """Return how many frequent shingles documents p and q share; each has this many ``words`` of ``bits``."""
    shared, at_p, at_q = np.int64(0), p * words, q * words
    whole = words - words % _AT_ONCE
    for first in range(0, whole, _AT_ONCE):  # a fixed number of words is compared in vectors
        for k in range(first, first + _AT_ONCE):
            shared += bit_count(bits[at_p + k] & bits[at_q + k])
    for k in range(whole, words):
        shared += bit_count(bits[at_p + k] & bits[at_q + k])
    return shared


@part
def shared_rest(rest, spans, least):
    """Return |A∩B| of two runs of ``rest`` in ``spans`` = (begin and end of A, of B), or −1 if below ``least``."""
    return shared_at_least(rest, spans[0], spans[1], spans[2], spans[3], max(least, 0))


@part
def shared_inside(hubs, criterion, searched, x, y):
    """Return |x∩y| of two documents inside the search, or −1 if the pair does not meet the criterion.

    They must not be on one side.
    """
    bits, rest_at = searched.bits, searched.rest_at
    if bits.size == 0:
        return shared_of(hubs, criterion, x, y)
    least = least_shared(hubs.sizes[x], hubs.sizes[y], criterion)
    p, q = searched.place[x], searched.place[y]
    shared = shared_bits(bits, p, q, bits.size // searched.inside.size)
    spans = (rest_at[p], rest_at[p + 1], rest_at[q], rest_at[q + 1])
    few = min(spans[1] - spans[0], spans[3] - spans[2])
    if shared + few < least or few == 0 or searched.rest_bits[p] & searched.rest_bits[q] == 0:
        return shared if shared >= least else np.int64(-1)
    more = shared_rest(searched.rest, spans, least - shared)
    return shared + more if more >= 0 else np.int64(-1)


@part
def _next_met(hubs, criterion, x, span, searched, seen, reference):
    """Return the first place in ``span`` = (first, until, step) whose unseen member may pair with x; or until.

    All members passed on the way are marked in ``seen`` (int64[hubs]). Most are not partners, and there may be
    millions, so the arrays get names outside of the loop (``prefix_index.related``).
    """
    members, sizes, reach, largest = hubs.members, hubs.sizes, hubs.reach, hubs.largest
    words, words_at, documents = hubs.parities, hubs.parity_at, hubs.documents
    kind = searched.kind
    size, most, passed = sizes[x], largest[x], 2 - (kind[x] == 1)
    across, within, run_begin, run_end = hubs.across, hubs.within, hubs.run_begin, hubs.run_end
    limits = restricted(across, within, documents, reference, x)
    other, apart = np.int64(-1), np.int64(0)
    at, until, step = span
    while at != until:
        y = members[at]
        if one_side(across, x, y):  # a crowd of one side is passed in one step
            at = min(run_end[at], until) if step > 0 else max(run_begin[at] - 1, until)
            continue
        if seen[y] != x and kind[y] < passed and (reach[at] >= size or reach[at] == FARTHEST):
            seen[y] = x
            if sizes[y] != other:  # they ascend by size, and the bound takes a division
                other = sizes[y]
                apart = size + other - 2 * least_shared(size, other, criterion)
            fits = other <= most and size <= largest[y]
            may = fits and (not limits or related(across, within, documents, reference, x, y))
            if may and not differ_in_more(words, words_at, x, y, apart):
                return at
        at += step
    return until


@part
def row_of(searched, x):
    """Return the documents (int64, ascending) that x passes in a sweep."""
    return searched.others if searched.kind[x] == 1 else searched.inside


@part
def _next_swept(hubs, criterion, x, span, searched, reference):
    """Return (place, |x∩y|) of the first partner of x in ``span`` = (first, until, step) of its row, or until.

    Documents ascend by size there, and each is passed once. The rule is ``prefix_index.related``, written out: a
    call for each document counts references to the arrays, which both threads share, and takes half as long again.
    """
    row, bits, rest_at, rest = row_of(searched, x), searched.bits, searched.rest_at, searched.rest
    rest_bits, by_bits, place = searched.rest_bits, searched.bits.size > 0, searched.place
    each = bits.size // max(1, searched.inside.size)
    sizes, largest, across, within = hubs.sizes, hubs.largest, hubs.across, hubs.within
    words, words_at, documents = hubs.parities, hubs.parity_at, hubs.documents
    size, sided, apart, old = sizes[x], across.size > 0, within.size > 0, documents[x] < reference
    own = np.int64(place[x]) if by_bits else np.int64(0)
    other, least = np.int64(-1), np.int64(0)
    at, until, step = span
    while at != until:
        y = row[at]
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
                q = np.int64(place[y])
                shared = shared_bits(bits, own, q, each)
                few = min(rest_at[own + 1] - rest_at[own], rest_at[q + 1] - rest_at[q])
                if few > 0 and shared + few >= least and rest_bits[own] & rest_bits[q] != 0:
                    spans = (rest_at[own], rest_at[own + 1], rest_at[q], rest_at[q + 1])
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


@part
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


@part
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


@part
def _smaller_partners(hubs, criterion, x, searched, seen, reference, limit):
    """Return how many smaller hub documents x pairs with; counting stops above ``limit``."""
    row, count = row_of(searched, x), 0
    smallest = smallest_partner(hubs.sizes[x], criterion)
    low = first_above(hubs, row, smallest - 1)
    high = max(low, min(np.searchsorted(row, x), first_above(hubs, row, hubs.largest[x])))
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


@part
def _larger_in_row(hubs, searched, x, ahead):
    """Return (low, high): where the row of x has the documents after x, and ends above the size of its partners.

    ``ahead`` (int64[2, 3]) keeps, for both rows, the last low, size and high, as x only ascends.
    """
    row, kind, most = row_of(searched, x), np.int64(searched.kind[x] == 1), hubs.largest[x]
    low = ahead[kind, 0]
    while low < row.size and row[low] <= x:
        low += 1
    ahead[kind, 0] = low
    if ahead[kind, 1] != most:
        ahead[kind, 1], ahead[kind, 2] = most, first_above(hubs, row, most)
    return low, max(low, ahead[kind, 2])


@part
def _larger_partners(hubs, criterion, x, searched, asked, found, used):
    """Enter the pairs of x with larger documents in ``found`` from ``used`` on; return (found, used).

    ``asked`` = (seen, reference, the number of rows to stop at, ``ahead`` of ``_larger_in_row``).
    """
    row = row_of(searched, x)
    seen, reference, stop, ahead = asked
    low, high = _larger_in_row(hubs, searched, x, ahead)
    if _lists_pass_more(hubs, x, -1, high - low):
        at = low - 1
        while used < stop:
            at, shared = _next_swept(hubs, criterion, x, (at + 1, high, 1), searched, reference)
            if at == high:
                break
            found = with_space(found, used)
            found[used, 0], found[used, 1], found[used, 2] = x, row[at], shared
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
                found = with_space(found, used)
                found[used, 0], found[used, 1], found[used, 2] = x, hubs.members[j], shared
                used += 1
    return found, used


@entry(
    "PrefixIndex, Criterion, (int64, int64), Searched, out int64[:], int64, int64, int64 -> (int64[:, :], int64)"
)
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
    ahead = np.full((2, 3), -1, np.int64)
    ahead[0, 0], ahead[1, 0] = np.searchsorted(searched.inside, span[0]), np.searchsorted(searched.others, span[0])
    for x in range(span[0], span[1]):
        if used >= enough:
            return found[:used], x
        if searched.kind[x] == 2:
            continue
        before = used
        if limit >= 0:
            left = limit - partners[x]
            partners[x] += _smaller_partners(hubs, criterion, x, searched, seen, reference, left)
            most = limit - partners[x]
        if most >= 0:
            asked = (seen, reference, used + most + 1, ahead)
            found, used = _larger_partners(hubs, criterion, x, searched, asked, found, used)
        partners[x] += used - before
        if 0 <= limit < partners[x]:
            used = before
    return found[:used], span[1]


_SCALE = 1.0 / 2.0**64


@part(inline=True)
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


@part(inline=True)
def _bits(value):
    """Return the two bits of a hash within a word of the filter: by its low end, as a range fixes its high end."""
    return (_ONE << (value & _63)) | (_ONE << ((value >> _6) & _63))


@entry("int64[:], Criterion, out int64[:] -> None")
def fill_may_lack(sizes, criterion, out):
    """Fill ``out`` (int64) with the number of elements that sets of these sizes may lack in any partner."""
    for k in range(sizes.size):
        out[k] = sizes[k] - fewest_shared(sizes[k], criterion)


@entry("uint64[:], int64[:], int64[:], int64[:], uint64[:], out uint64[:, :], out int32[:] -> None")
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
