"""Exact joins of hub documents: prefix lists of rare shingles, and the searches over them.

A prefix of x, its |x| − ⌈t·|x|⌉ + 1 rarest shingles in any fixed order, must meet the prefix of every y with J(x,
y) ≥ t (Chaudhuri, Ganti and Kaushik 2006; Bayardo, Ma and Srikant 2007). For containment and overlap the prefix of
the smaller set is as long, and must meet the larger set anywhere: a document then also appears in the lists of
those of its shingles that are in the prefixes of others. Shingles of a single document only take up places in the
prefix and can never meet. The order is (frequency class, hash); an error in a frequency may cost time, never a
pair. Documents are numbered by size, smallest first.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.declarations import Int32s, Int64s, Uint64s, record
from neardup.kernels.sets import differ_in_more, fewest_shared, largest_partner, least_shared, shared_at_least

FARTHEST = np.int32(2**31 - 1)
"""The value of ``reach`` at a place that does not bound the size of a partner."""

_FEW = 16
_TRIES = 64
_ONE, _16, _52, _58, _63 = np.uint64(1), np.uint64(16), np.uint64(52), np.uint64(58), np.uint64(63)


@record
class PrefixIndex(NamedTuple):
    """The hub documents, numbered by size, and their prefix lists.

    The shingles of x are ``hashes[starts[x]:ends[x]]``, sorted. In a join of sets their number is ``sizes[x]``; in
    a join by common text (``cover_prefixes.py``) sizes are numbers of tokens, any partner of x shares at least
    ``least[x]`` shingles with it, and there are no parities. That join has a walker of its own: one for both would
    take twice the time for common text, and a tenth more for sets (measured).

    Entry e in ``begin[x]:begin[x + 1]`` means that x is in list ``list_of[e]`` at ``place[e]``; list k is
    ``members[first[k]:first[k + 1]]``, in ascending order. The entries up to ``probes[x]`` belong to the prefix of
    x; the rest, if any, to shingles in the prefixes of others. ``largest[x]`` is the greatest size that a partner
    of x can have. ``reach`` of a place in ``members`` is the greatest size of a partner that shares no shingle of
    the prefix before this one. The parities of x (``sets.py``) are the words from ``parity_at[x]`` on.
    """

    documents: Int64s  # int64[hubs] document number of each
    local: Int64s  # int64[documents] number among the hubs, or −1
    hashes: Uint64s  # uint64
    starts: Int64s  # int64[hubs]
    ends: Int64s  # int64[hubs]
    sizes: Int64s  # int64[hubs], ascending
    begin: Int64s  # int64[hubs + 1]
    probes: Int64s  # int64[hubs] end of the entries of its own prefix
    list_of: Int64s  # int64[entries]
    place: Int64s  # int64[entries]
    members: Int64s  # int64[entries]
    reach: Int32s  # int32[entries]
    first: Int64s  # int64[lists + 1]
    largest: Int64s  # int64[hubs]
    least: Int64s  # int64[hubs]; empty in a join of sets
    parities: Uint64s  # uint64
    parity_at: Int64s  # int64[hubs + 1]
    across: Uint64s  # uint64[hubs] documents with the same number are not a pair; empty: any two may be one
    run_begin: Int64s  # int64[members] the run of members with the same number in a list that a place is in: its
    run_end: Int64s  # int64[members] begin and end; both empty if ``across`` is
    within: Uint64s  # uint64[hubs] only those of the same number are a pair, and share a list; empty: all are


@entry("uint64[:], int64[:], int64[:], out uint64[:], out uint8[:], int64, int64 -> None")
def count_repeats(hashes, starts, sizes, seen, repeats, part, parts):
    """Count the repetitions of each hash in ``repeats`` (uint8 or uint16[power of two], saturating).

    ``seen`` (uint64[power of two], zeros) is a Bloom filter of two bits per hash. The low bits choose a cell of
    ``repeats``; it is 0 for a shingle of a single document, except for the few that collide with others in both.
    It is never 0 for a shingle of two documents.

    Only the hashes of one ``part`` of ``parts`` (a power of two) are counted: hashes of another part use other
    words and cells, if there are at least 2¹⁶·parts cells, so that threads can count in parallel.
    """
    words, cells = np.uint64(seen.size - 1), np.uint64(repeats.size - 1)
    for x in range(starts.size):
        for i in range(starts[x], starts[x] + sizes[x]):
            value = hashes[i]
            if (value >> _16) & np.uint64(parts - 1) != np.uint64(part):
                continue
            at = (value >> _16) & words
            bits = (_ONE << (value >> _58)) | (_ONE << ((value >> _52) & _63))
            if seen[at] & bits == bits:
                cell = value & cells
                before = repeats[cell]
                repeats[cell] = before + 1
                if repeats[cell] == 0:  # it was the greatest number the type can hold
                    repeats[cell] = before
            seen[at] |= bits


@entry("uint64[:], int64[:], int64[:], uint8[:], Criterion -> (uint64[:], int32[:], int64[:], int32[:])")
def rare_prefixes(hashes, starts, sizes, repeats, criterion):
    """Return the prefixes without unique shingles: (hashes uint64, owner int32, largest int64[n], reach int32).

    A document x shares at most |x| − unique shingles with a partner, which bounds the partner's size: ``largest``.
    A document whose unique shingles alone exceed the number that the threshold allows to differ has no partner of
    its size or above, and so no entries; nor has one without shingles.

    A pair meets first at the first shingle that both have, in the order of prefixes: it shares none of those
    before, so that at most |x| − place are shared (the positional filter of Xiao, Wang, Lin and Yu 2008). That
    bounds the partner: ``reach``.
    """
    mask, total, most = np.uint64(repeats.size - 1), np.int64(0), np.int64(0)
    first, largest = np.zeros(sizes.size, np.int64), np.zeros(sizes.size, np.int64)
    for x in range(sizes.size):
        size, unique = sizes[x], np.int64(0)
        for i in range(starts[x], starts[x] + size):
            unique += repeats[hashes[i] & mask] == 0
        largest[x], first[x] = largest_partner(size, size - unique, criterion), unique
        wanted = size - fewest_shared(size, criterion) + 1 - unique
        if size > 0 and wanted > 0:
            total += wanted
            most = max(most, size)
    entries, owner, reach = np.empty(total, np.uint64), np.empty(total, np.int32), np.empty(total, np.int32)
    places, keys = np.empty(most, np.int64), np.zeros(256, np.int64)
    used = 0
    for x in range(sizes.size):
        start, size = starts[x], sizes[x]
        last = size - fewest_shared(size, criterion)
        if size == 0 or first[x] > last:
            continue
        _fill_places(hashes, start, size, repeats, last, places, keys)
        for i in range(size):
            if first[x] <= places[i] <= last:
                entries[used], owner[used] = hashes[start + i], x
                reach[used] = min(largest_partner(size, size - places[i], criterion), np.int64(FARTHEST))
                used += 1
    return entries, owner, largest, reach


@part
def _fill_places(hashes, start, size, repeats, last, places, keys):
    """Fill ``places`` (int64) with the place of each shingle in the order of prefixes: by class, then by hash.

    A place after ``last`` may be any other after it. ``keys`` (int64[256]) are zeros, and are zeros on return.
    """
    mask = np.uint64(repeats.size - 1)
    if size <= _FEW:  # comparisons cost less than classes, and have no branch
        for i in range(size):
            keys[i] = np.int64(repeats[hashes[start + i] & mask]) * _FEW + i
        for i in range(size):
            place = np.int64(0)
            for j in range(size):
                place += keys[j] < keys[i]
            places[i] = place
        for i in range(size):
            keys[i] = 0
        return
    for i in range(size):
        keys[repeats[hashes[start + i] & mask]] += 1
    before, of_class = np.int64(0), np.int64(0)
    while of_class < keys.size and before <= last:
        keys[of_class], before = before, before + keys[of_class]
        of_class += 1
    for i in range(size):  # ascending hashes, which is the order within a class
        at = np.int64(repeats[hashes[start + i] & mask])
        places[i] = keys[at] if at < of_class else size
        keys[at] += 1
    for i in range(size):
        keys[repeats[hashes[start + i] & mask]] = 0
    for of_other in range(of_class):  # those without a shingle of this set
        keys[of_other] = 0


@entry("uint64[:], out uint64[:] -> None")
def mark_entries(entries, marked):
    """Set the bits of the ``entries`` (uint64) in ``marked`` (uint64[power of two], one bit per hash)."""
    words = np.uint64(marked.size - 1)
    for value in entries:
        marked[(value >> _16) & words] |= _ONE << (value >> _58)


@entry("uint64[:], int64[:], int64[:], uint64[:], int32[:], uint64[:] -> (uint64[:], int32[:], bool[:])")
def marked_shingles(hashes, starts, sizes, entries, owner, marked):
    """Return all shingles whose bits are set in ``marked``: (hashes uint64, owner int32, in_prefix bool).

    ``entries`` and ``owner`` are the prefixes of these documents, as returned by ``rare_prefixes``.
    """
    words = np.uint64(marked.size - 1)
    total = 0
    for x in range(starts.size):
        for i in range(starts[x], starts[x] + sizes[x]):
            total += np.int64((marked[(hashes[i] >> _16) & words] >> (hashes[i] >> _58)) & _ONE)
    found, of = np.empty(total, np.uint64), np.empty(total, np.int32)
    in_prefix = np.zeros(total, np.bool_)
    used = e = 0
    for x in range(starts.size):
        for i in range(starts[x], starts[x] + sizes[x]):
            value = hashes[i]
            if not (marked[(value >> _16) & words] >> (value >> _58)) & _ONE:
                continue
            if e < entries.size and owner[e] == x and entries[e] == value:  # both ascend
                in_prefix[used] = True
                e += 1
            found[used], of[used] = value, x
            used += 1
    return found, of, in_prefix


@part(inline=True)
def one_side(across, x, y):
    """Return whether x and y are on one side."""
    return across.size > 0 and across[x] == across[y]


@part(inline=True)
def related(across, within, documents, reference, x, y):
    """Return whether x and y may be a pair, if they are similar: the one rule of all searches.

    They are not on one side, have one value within, and are not both in the reference set, below ``reference``.
    The arrays are those of an index. They have names of their own, because in a loop passing the index for each
    pair counts references, at 20 times the cost.
    """
    return (
        not one_side(across, x, y)
        and (within.size == 0 or within[x] == within[y])
        and not (reference > 0 and documents[x] < reference and documents[y] < reference)
    )


@part(inline=True)
def restricted(across, within, documents, reference, x):
    """Return whether x may be unrelated to some documents: a loop over many asks this once before ``related``."""
    return across.size > 0 or within.size > 0 or documents[x] < reference


@part
def may_pair(hubs, x, y, reference):
    """Return True if x and y are related, and their sizes and unique shingles leave room for a pair."""
    fit = hubs.sizes[y] <= hubs.largest[x] and hubs.sizes[x] <= hubs.largest[y]
    return fit and related(hubs.across, hubs.within, hubs.documents, reference, x, y)


@part
def farthest(hubs, at, x):
    """Return the greatest size of a partner that document x, at place ``at`` of ``members``, meets here first."""
    reach = hubs.reach[at]
    return hubs.largest[x] if reach == FARTHEST else min(hubs.largest[x], np.int64(reach))


@part
def shared_of(hubs, criterion, x, y):
    """Return |x∩y|, or −1 if the pair does not meet the criterion, or x and y are not related."""
    if not related(hubs.across, hubs.within, hubs.documents, 0, x, y):
        return -1
    begin_x, begin_y = hubs.starts[x], hubs.starts[y]
    end_x, end_y = begin_x + hubs.sizes[x], begin_y + hubs.sizes[y]
    least = least_shared(hubs.sizes[x], hubs.sizes[y], criterion)
    if differ_in_more(hubs.parities, hubs.parity_at, x, y, hubs.sizes[x] + hubs.sizes[y] - 2 * least):
        return -1
    return shared_at_least(hubs.hashes, begin_x, end_x, begin_y, end_y, least)


@part
def above(hubs, low, high, size):
    """Return the first place in ``members[low:high]``, part of one list, of a size above ``size``; or high."""
    while low < high:
        middle = (low + high) // 2
        if hubs.sizes[hubs.members[middle]] <= size:
            low = middle + 1
        else:
            high = middle
    return low


@part
def _has_partner(hubs, k, i):
    """Return whether member i of list k can pair with another member; True if a few tries do not settle it."""
    x = hubs.members[i]
    tries = 0
    for j in range(i + 1, hubs.first[k + 1]):
        y = hubs.members[j]
        if hubs.sizes[y] > hubs.largest[x]:  # members ascend in size
            break
        tries += 1
        if tries > _TRIES or may_pair(hubs, x, y, 0):
            return True
    for j in range(above(hubs, hubs.first[k], i, hubs.largest[x]) - 1, hubs.first[k] - 1, -1):
        tries += 1
        if tries > _TRIES or may_pair(hubs, x, hubs.members[j], 0):
            return True
    return False


@entry("PrefixIndex -> bool[:]")
def with_partners(hubs):
    """Return bool[hubs]: False if no member of any list leaves room for a pair with the document.

    Without this check, a page of boilerplate in thousands of otherwise different texts would cost all their pairs:
    such texts meet in many lists, but their own words leave none of them room for a partner.
    """
    alive = np.zeros(hubs.documents.size, np.bool_)
    for k in range(hubs.first.size - 1):
        for i in range(hubs.first[k], hubs.first[k + 1]):
            if not alive[hubs.members[i]]:
                alive[hubs.members[i]] = _has_partner(hubs, k, i)
    return alive


@entry("PrefixIndex, int64 -> int64")
def count_lookups(hubs, limit):
    """Return how many partners ``met_pairs`` would examine, at most ``limit`` of each list for each document."""
    lookups = np.int64(0)
    for x in range(hubs.documents.size):
        for e in range(hubs.begin[x], hubs.probes[x]):
            k = hubs.list_of[e]
            after = hubs.first[k] + hubs.place[e] + 1
            lookups += min(limit, above(hubs, after, hubs.first[k + 1], hubs.largest[x]) - after)
    return lookups
