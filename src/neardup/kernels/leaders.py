"""Pairs → groups. Documents are numbered; ``rank`` is a permutation, and a smaller rank is better to keep.

Similarities are compared exactly, as fractions shared / union of integers. A document of the reference set always
leads itself, and is preferred to any other leader.

Most pairs are verified before this step (``Links``). Pairs of two hub documents are not: a hub document is
compared only with the leaders it meets in a prefix list, so that a crowd costs one comparison per member instead
of one per pair. Which members of the lists lead is in bits over all members, searched by size, 64 × 64 at a time:
a crowd has one leader among thousands of members, and thousands of texts on one page of boilerplate lead
themselves. Both are searched in little more time than the number of leaders found requires.

*Complete linkage*: a document pairs with every member of a group, without a look at each. Members are stored in
classes by the shingles of their leader that they lack. For two members A and B of leader L,
|A∩B| ≥ |L| − |(L∖A) ∪ (L∖B)|, and members of one class lack the same shingles: in a crowd of forms, which all lack
the leader's date, one look at a class settles thousands of pairs.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.bits import next_set, no_bits, set_bit
from neardup.kernels.compiler import entry, part
from neardup.kernels.declarations import Int64, Int64s, Uint64s, record
from neardup.kernels.formulas import COSINE
from neardup.kernels.join.prefix_index import FARTHEST, above, farthest, one_side, related, shared_of
from neardup.kernels.sets import (
    differ_in_more,
    least_of_product,
    least_shared,
    part_of,
    smallest_partner,
    whole_of,
)
from neardup.kernels.shingles import mix64
from neardup.kernels.sorting import heap_sort, with_space


@record
class LeaderBits(NamedTuple):
    """Bit p of ``leads``: ``members[p]`` leads; bit w of ``words``: word w of ``leads`` is not 0.

    ``leaders`` and ``leader_words`` are the same for the documents themselves, in the order of size.
    """

    leads: Uint64s  # uint64[members / 64 + 1]
    words: Uint64s  # uint64[members / 4096 + 1]
    counts: Int64s  # int64[lists + 1] leaders in each list, then the number of all leaders
    leaders: Uint64s  # uint64[hubs / 64 + 1]
    leader_words: Uint64s  # uint64[hubs / 4096 + 1]


@part
def no_leaders(hubs):
    """Return a ``LeaderBits`` in which no member of any list leads."""
    leads, words = no_bits(hubs.members.size)
    leaders, leader_words = no_bits(hubs.documents.size)
    return LeaderBits(leads, words, np.zeros(hubs.first.size, np.int64), leaders, leader_words)


@part
def enter_leader(x, hubs, listed):
    """Record that hub document x leads from now on."""
    set_bit(listed.leaders, listed.leader_words, x)
    listed.counts[-1] += 1
    for e in range(hubs.begin[x], hubs.begin[x + 1]):
        place = hubs.first[hubs.list_of[e]] + hubs.place[e]
        set_bit(listed.leads, listed.words, place)
        listed.counts[hubs.list_of[e]] += 1


NONE = -1


@record
class MemberClasses(NamedTuple):
    """The members of each leader, by class. A class is identified by its first member, its head.

    All are int64[documents] but ``key``: ``first`` class of a leader, ``following`` class of a head, ``member``
    after a member; of a head also ``key`` (uint64, hash of the shingles its members lack), ``lacks`` (their
    number; −1 if not known) and ``largest`` (size of its largest member).
    """

    first: Int64s
    following: Int64s
    member: Int64s
    key: Uint64s
    lacks: Int64s
    largest: Int64s


@part
def no_classes(documents):
    """Return ``MemberClasses`` without members."""
    none = np.full(documents, NONE, np.int64)
    return MemberClasses(
        none.copy(), none.copy(), none.copy(), np.zeros(documents, np.uint64), none.copy(), none.copy()
    )


@part
def lacking(hubs, x, leader):
    """Return (key, number) of the shingles of hub document ``leader`` that hub document ``x`` lacks."""
    key, lacks = np.uint64(0), 0
    j, end = hubs.starts[x], hubs.starts[x] + hubs.sizes[x]
    for i in range(hubs.starts[leader], hubs.starts[leader] + hubs.sizes[leader]):
        while j < end and hubs.hashes[j] < hubs.hashes[i]:
            j += 1
        if j == end or hubs.hashes[j] != hubs.hashes[i]:
            key += mix64(hubs.hashes[i])
            lacks += 1
    return key, lacks


@part
def _describe(d, leader, hubs):
    """Return (key, lacks, size) of document d under a leader; lacks is −1 if a set is not available."""
    x, y = hubs.local[d], hubs.local[leader]
    if x < 0 or y < 0:
        return np.uint64(d), -1, 0
    key, lacks = lacking(hubs, x, y)
    if hubs.across.size > 0:  # members of a class are on one side
        key ^= mix64(hubs.across[x])
    return key, lacks, hubs.sizes[x]


@part
def pairs_with_all(d, leader, classes, partner_of, hubs, criterion):
    """Return whether d is a found pair with every member of the leader's group, or certain to be one."""
    key, lacks, size = _describe(d, leader, hubs)
    head = classes.first[leader]
    while head >= 0:
        certain = False
        if lacks >= 0 and classes.lacks[head] >= 0:
            same = key == classes.key[head] and lacks == classes.lacks[head]
            union = lacks if same else lacks + classes.lacks[head]
            shared = hubs.sizes[hubs.local[leader]] - union
            certain = shared >= least_shared(size, classes.largest[head], criterion)
            x, y = hubs.local[d], hubs.local[head]
            certain = certain and related(hubs.across, hubs.within, hubs.documents, 0, x, y)
        member = np.int64(NONE) if certain else head
        while member >= 0:
            if partner_of[member] != d and not _is_pair(hubs, criterion, d, member):
                return False
            member = classes.member[member]
        head = classes.following[head]
    return True


@part
def _is_pair(hubs, criterion, d, other):
    x, y = hubs.local[d], hubs.local[other]
    return x >= 0 and y >= 0 and shared_of(hubs, criterion, min(x, y), max(x, y)) >= 0


@part
def enter_member(d, leader, classes, hubs):
    """Put d into its class among the members of the leader."""
    key, lacks, size = _describe(d, leader, hubs)
    head = classes.first[leader]
    while head >= 0 and (lacks < 0 or classes.lacks[head] != lacks or classes.key[head] != key):
        head = classes.following[head]
    if head < 0:
        classes.key[d], classes.lacks[d], classes.largest[d] = key, lacks, size
        classes.following[d] = classes.first[leader]
        classes.first[leader] = d
        return
    classes.largest[head] = max(classes.largest[head], size)
    classes.member[d] = classes.member[head]
    classes.member[head] = d


_ONE = np.uint64(1)

MOST_LEADERS = 1000
"""A document that pairs with more leaders than this joins the most similar of the first ones, by size.

Without this limit, thousands of texts on one page of boilerplate, each near enough to most leaders, would cost all
their pairs.
"""


@record
class Links(NamedTuple):
    """Verified pairs as partner lists: the partners of d are ``partners[begin[d]:begin[d + 1]]``."""

    begin: Int64s  # int64[documents + 1]
    partners: Int64s  # int64[2 * pairs]
    shared: Int64s  # int64[2 * pairs] |A∩B|
    whole: Int64s  # int64[2 * pairs] ``whole_of`` the measure, seen from d: |A∪B| for the resemblance


@record
class OldDocuments(NamedTuple):
    """The reference set: the ``number`` of its documents, which come first, and the formula of its pairs.

    ``formula`` is that of the measure, or another one of its directions: which side has to be held in the other.
    """

    number: Int64  # int64
    formula: Int64  # int64


@record
class Groups(NamedTuple):
    """Groups under construction: each document's leader and the elements it shares with it."""

    leader: Int64s  # int64[documents], −1 where not yet processed
    shared: Int64s  # int64[documents] |A∩B| with the leader


@part(inline=True)
def _compare(shared, whole, other_shared, other_whole):
    """Return the sign of shared / whole − other_shared / other_whole, without rounding."""
    left, right = shared * other_whole, other_shared * whole
    return np.int64(left > right) - np.int64(left < right)


@part
def _compare_squares(shared, whole, other_shared, other_whole):
    """Return the sign of shared² / whole − other_shared² / other_whole, without rounding or products above 2⁶².

    Both are continued fractions: their whole parts are compared, else the reciprocals of the rests, which are in
    the opposite order.
    """
    a, b, c, d, sign = shared * shared, whole, other_shared * other_shared, other_whole, np.int64(1)
    while True:
        left, right = a // b, c // d
        if left != right:
            return sign if left > right else -sign
        a, c = a % b, c % d
        if a == 0 or c == 0:
            return sign * (np.int64(a > 0) - np.int64(c > 0))
        a, b, c, d, sign = b, a, d, c, -sign


@part
def _takes(shared, whole, criterion):
    """Return whether a leader accepts a member by the member's own direction; a pair may meet it by either."""
    if criterion.measure == COSINE:
        return shared >= least_of_product(whole, criterion)
    return part_of(shared, criterion.measure) * criterion.denominator >= criterion.numerator * whole


@part
def _gather(d, links, groups, found, criterion):
    """Write the leaders among d's partners to ``found`` (int64[·, 3]: leader, shared, whole); return how many."""
    n = 0
    for k in range(links.begin[d], links.begin[d + 1]):
        other = links.partners[k]
        if groups.leader[other] == other and _takes(links.shared[k], links.whole[k], criterion):
            found[n, 0], found[n, 1], found[n, 2] = other, links.shared[k], links.whole[k]
            n += 1
    return n


@part
def _met_in_list(x, hubs, criterion, listed, span, seen, met, n):
    """Append to ``met``, from ``n`` on, the leaders that x meets first in ``span``; return the new number."""
    members, sizes, reach, largest = hubs.members, hubs.sizes, hubs.reach, hubs.largest
    words, words_at, leads, any_leads = hubs.parities, hubs.parity_at, listed.leads, listed.words
    size, most = sizes[x], largest[x]
    across, within, documents, run_end = hubs.across, hubs.within, hubs.documents, hubs.run_end
    at = next_set(leads, any_leads, span[0], span[1])
    while at < span[1]:
        y = members[at]
        if one_side(across, x, y):  # a crowd of one side is passed in one step
            at = next_set(leads, any_leads, run_end[at], span[1])
            continue
        if seen[y] != x and (reach[at] >= size or reach[at] == FARTHEST):
            seen[y] = x
            other = sizes[y]
            if other <= most and size <= largest[y] and related(across, within, documents, 0, x, y):
                apart = size + other - 2 * least_shared(size, other, criterion)
                if not differ_in_more(words, words_at, x, y, apart):
                    met[n] = y
                    n += 1
        at += 1
        if at < span[1] and not (leads[at >> 6] >> np.uint64(at & 63)) & _ONE:
            at = next_set(leads, any_leads, at, span[1])
    return n


@part
def _swept(x, hubs, criterion, listed, span, met):
    """Write the leaders in ``span``, in the order of size, that may pair with x to ``met``; return how many."""
    sizes, largest, across, within, documents = hubs.sizes, hubs.largest, hubs.across, hubs.within, hubs.documents
    words, words_at, leaders, any_leaders = hubs.parities, hubs.parity_at, listed.leaders, listed.leader_words
    size, n = sizes[x], 0
    other, apart = np.int64(-1), np.int64(0)
    y = next_set(leaders, any_leaders, span[0], span[1])
    while y < span[1]:
        if sizes[y] != other:
            other = sizes[y]
            apart = size + other - 2 * least_shared(size, other, criterion)
        may = size <= largest[y] and related(across, within, documents, 0, x, y)
        if may and not differ_in_more(words, words_at, x, y, apart):
            met[n] = y
            n += 1
        y += 1
        if y < span[1] and not (leaders[y >> 6] >> np.uint64(y & 63)) & _ONE:
            y = next_set(leaders, any_leaders, y, span[1])
    return n


@part
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


@part
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
        found = with_space(found, n)
        found[n, 0], found[n, 1], found[n, 2] = hubs.documents[y], shared, whole
        n += 1
    return found, n


@part
def _precedes(found, i, j, rank, old, formula):
    """Return whether leader i of ``found`` is preferred to leader j."""
    old_i, old_j = found[i, 0] < old.number, found[j, 0] < old.number
    if old_i != old_j:
        return old_i
    if formula == COSINE:
        sign = _compare_squares(found[i, 1], found[i, 2], found[j, 1], found[j, 2])
    else:
        sign = _compare(found[i, 1], found[i, 2], found[j, 1], found[j, 2])
    return sign > 0 or (sign == 0 and rank[found[i, 0]] < rank[found[j, 0]])


@record
class Formation(NamedTuple):
    """Groups under construction, and what their leaders are searched by; ``seen`` and ``met`` are scratch."""

    groups: Groups  # Groups
    classes: MemberClasses  # MemberClasses, of no documents unless linkage is complete
    partner_of: Int64s  # int64[documents] the last document that has this one as a verified partner
    listed: LeaderBits  # LeaderBits
    seen: Int64s  # int64[hubs]
    met: Int64s  # int64[hubs]


@entry("int64, PrefixIndex, bool -> Formation")
def no_groups(documents, hubs, complete):
    """Return a ``Formation`` in which no document has a leader. ``complete``: all members of a group are pairs."""
    none, total = np.full(documents, NONE, np.int64), hubs.documents.size
    return Formation(
        Groups(none.copy(), np.zeros(documents, np.int64)),
        no_classes(documents if complete else 0),
        none,
        no_leaders(hubs),
        np.full(total, NONE, np.int64),
        np.empty(total, np.int64),
    )


@entry("int64[:], out Formation, int64[:], Links, PrefixIndex, Criterion, bool[:], OldDocuments -> None")
def lead(order, formation, rank, links, hubs, criterion, alive, old):
    """Group the documents of ``order``: each joins the leader it is most similar to, or becomes a leader.

    All documents come once, in one call or several, best first. Every member is a found pair with its leader
    (*principal*, the CENTER family of Hassanzadeh et al. 2009); with classes, also with every other member (greedy
    complete linkage; a pair that follows with certainty from the shingles that both share with the leader counts
    as found). ``alive`` bool[hubs]: False if a hub document has no partner in any list. ``old`` is an
    ``OldDocuments``.
    """
    groups, classes, partner_of, listed, seen, met = formation
    complete = classes.first.size > 0
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


@part
def _best(d, rank, found, hubs, criterion, classes, partner_of, old):
    """Return the index in ``found`` of the most similar leader whose group accepts d, or −1.

    Without classes every group accepts d.
    """
    complete = classes.first.size > 0
    tried = np.zeros(found.shape[0], np.bool_)
    for _ in range(found.shape[0]):
        best = NONE
        for i in range(found.shape[0]):
            if not tried[i] and (best < 0 or _precedes(found, i, best, rank, old, criterion.measure)):
                best = i
        if not complete or pairs_with_all(d, found[best, 0], classes, partner_of, hubs, criterion):
            return best
        tried[best] = True
    return NONE
