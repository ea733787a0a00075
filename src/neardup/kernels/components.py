"""Components: documents linked by any chain of pairs, by union-find over document numbers.

*Crowds*: the links of a crowd to other documents are found without examining all of its pairs.

*Families* are what prefix lists connect, without a look at the sets: two documents are united if they meet in a
list and neither sizes, places nor parities rule their pair out. A pair at or above the threshold is therefore
always within one family. Families may be larger than the pairs alone would make them, which costs room and never a
pair.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.declarations import Bools, Int32s, Int64, Int64s, Uint64s, record
from neardup.kernels.join.met_pairs import first_above
from neardup.kernels.join.prefix_index import FARTHEST, above, farthest, one_side, related, shared_of
from neardup.kernels.sets import differ_in_more, least_shared, shared_at_least
from neardup.kernels.sorting import copy_into, heap_sort, with_space


@part
def tree_root(parent, d):
    """Return the root of d's tree in ``parent`` (int64[documents]); the path to it is halved on the way."""
    while parent[d] != d:
        parent[d] = parent[parent[d]]
        d = parent[d]
    return d


@entry("out int64[:], int64[:], int64[:] -> None")
def unite(parent, a, b):
    """Unite the trees of a[k] and b[k] in ``parent`` (int64[documents]) for every k; smaller roots win."""
    for k in range(a.size):
        x, y = tree_root(parent, a[k]), tree_root(parent, b[k])
        parent[max(x, y)] = min(x, y)


@entry("out int64[:], int64[:] -> int64[:]")
def best_of_tree(parent, rank):
    """Return the leader (int64[documents]) of each document: the best-ranked of its tree."""
    n = parent.size
    best = np.arange(n)
    for d in range(n):
        root = tree_root(parent, d)
        if rank[d] < rank[best[root]]:
            best[root] = d
    leader = np.empty(n, np.int64)
    for d in range(n):
        leader[d] = best[tree_root(parent, d)]
    return leader


@record
class Balls(NamedTuple):
    """Groups of documents around a centre: |A Δ centre| ≤ radius for each member A. All are numbers of an index.

    Group g is ``members[first[g]:first[g + 1]]``, ascending, and its members are in one tree. ``free`` are the
    other documents that may be an end of a link.
    """

    centres: Int64s  # int64[groups]
    radius: Int64s  # int64[groups]
    first: Int64s  # int64[groups + 1]
    members: Int64s  # int64
    free: Int64s  # int64, ascending


@record
class LinkEnds(NamedTuple):
    """The documents that a link may connect, by number of an index. At least one end of a link is ``limited``."""

    limited: Bools  # bool[hubs]
    alive: Bools  # bool[hubs] the others have no partner
    balls: Balls  # Balls
    mixed: Bools  # bool[lists] the list has a limited member, and members of several trees
    rows: tuple[
        Int64s, Int64s, Int64s, Int64s
    ]  # of the free ends, ascending: all, the limited ones, and both outside the trunk
    trunk: Int64  # int64 a document number in the largest tree


@part
def _largest_tree(hubs, alive, parent):
    """Return a document number in the tree with most ``alive`` (bool[hubs]) documents."""
    sizes, largest = np.zeros(parent.size, np.int64), np.int64(0)
    for x in range(hubs.documents.size):
        if alive[x]:
            root = tree_root(parent, hubs.documents[x])
            sizes[root] += 1
            if sizes[root] > sizes[largest]:
                largest = root
    return largest


@entry("PrefixIndex, bool[:], bool[:], Balls, out int64[:] -> LinkEnds")
def link_ends(hubs, limited, alive, balls, parent):
    """Return the ``LinkEnds`` of the forest ``parent`` (int64[documents])."""
    lists, documents, trunk = hubs.first.size - 1, hubs.documents, _largest_tree(hubs, alive, parent)
    mixed = np.zeros(lists, np.bool_)
    for k in range(lists):
        one, several, some = np.int64(-1), False, False
        for i in range(hubs.first[k], hubs.first[k + 1]):
            x = hubs.members[i]
            if alive[x]:
                root = tree_root(parent, documents[x])
                several |= one >= 0 and root != one
                some |= limited[x]
                one = root
        mixed[k] = several and some
    rows, used = np.empty((4, balls.free.size), np.int64), np.zeros(4, np.int64)
    for x in balls.free:
        outside = tree_root(parent, documents[x]) != tree_root(parent, trunk)
        for row in range(4):
            if (limited[x] or row % 2 == 0) and (outside or row < 2):
                rows[row, used[row]] = x
                used[row] += 1
    of_rows = rows[0, : used[0]], rows[1, : used[1]], rows[2, : used[2]], rows[3, : used[3]]
    return LinkEnds(limited, alive, balls, mixed, of_rows, trunk)


@part
def _places(hubs, x, mixed, most):
    """Return how many places the mixed lists of x hold after it; counting stops above ``most``."""
    places = 0
    for e in range(hubs.begin[x], hubs.probes[x]):
        k = hubs.list_of[e]
        if mixed[k]:
            places += hubs.first[k + 1] - hubs.first[k] - hubs.place[e] - 1
            if places > most:
                break
    return places


@part
def _met_ends(hubs, x, ends, seen, met):
    """Write the ends that x meets first in its mixed lists to ``met`` (int64[hubs]); return how many."""
    members, reach, run_end, across = hubs.members, hubs.reach, hubs.run_end, hubs.across
    alive, size, n = ends.alive, hubs.sizes[x], 0
    for e in range(hubs.begin[x], hubs.probes[x]):
        k = hubs.list_of[e]
        if not ends.mixed[k]:
            continue
        own = hubs.first[k] + hubs.place[e]
        j, until = own + 1, above(hubs, own + 1, hubs.first[k + 1], farthest(hubs, own, x))
        while j < until:
            y = members[j]
            if one_side(across, x, y):
                j = run_end[j]
                continue
            if seen[y] != x and alive[y] and (reach[j] >= size or reach[j] == FARTHEST):
                seen[y] = x
                met[n] = y
                n += 1
            j += 1
    return n


@part
def _out_of_reach(hubs, criterion, x, centre, radius, sizes):
    """Return whether no document of ``sizes`` = (smallest, largest) within ``radius`` of a centre pairs with x.

    A partner y of x has |x Δ y| ≤ |x| + |y| − 2·least(|x|, |y|), which is convex in |y| ≥ |x| but for rounding,
    and |x Δ centre| ≤ |x Δ y| + |y Δ centre|.
    """
    size, apart = hubs.sizes[x], np.int64(0)
    for other in sizes:
        apart = max(apart, size + other - 2 * least_shared(size, other, criterion) + 2)
    apart += radius
    if differ_in_more(hubs.parities, hubs.parity_at, x, centre, apart):
        return True
    begin, other = hubs.starts[centre], hubs.sizes[centre]
    least = (size + other - apart + 1) // 2
    ends = hubs.starts[x], hubs.starts[x] + size, begin, begin + other
    return least > 0 and shared_at_least(hubs.hashes, ends[0], ends[1], ends[2], ends[3], least) < 0


@part
def _near_ends(hubs, criterion, x, row, ends, parent, met):
    """Write the members of groups near x in other trees, and those of a ``row``, to ``met``; return how many."""
    balls, n = ends.balls, 0
    root, largest = tree_root(parent, hubs.documents[x]), hubs.largest[x]
    for g in range(balls.centres.size):
        if tree_root(parent, hubs.documents[balls.centres[g]]) == root:
            continue
        members = balls.members[balls.first[g] : balls.first[g + 1]]
        at, until = np.searchsorted(members, x + 1), first_above(hubs, members, largest)
        if at >= until:
            continue
        sizes = hubs.sizes[members[at]], hubs.sizes[members[until - 1]]
        if not _out_of_reach(hubs, criterion, x, balls.centres[g], balls.radius[g], sizes):
            copy_into(met, n, members[at:until], until - at)
            n += until - at
    copy_into(met, n, row, row.size)
    return n + row.size


@part
def _may_link(hubs, criterion, x, ends, parent, reference, met):
    """Leave in ``met`` only those that sizes, sides and parities let pair with x, sorted; return how many."""
    documents, sizes, largest = hubs.documents, hubs.sizes, hubs.largest
    across, within, words, words_at = hubs.across, hubs.within, hubs.parities, hubs.parity_at
    limited, size, n, root = ends.limited, sizes[x], 0, tree_root(parent, documents[x])
    for y in met:
        if tree_root(parent, documents[y]) == root or size > largest[y] or not (limited[x] or limited[y]):
            continue
        if not related(across, within, documents, reference, x, y):
            continue
        apart = size + sizes[y] - 2 * least_shared(size, sizes[y], criterion)
        if not differ_in_more(words, words_at, x, y, apart):
            met[n] = y
            n += 1
    heap_sort(met, 0, n)
    return n


@entry("PrefixIndex, Criterion, LinkEnds, out int64[:], int64, int64, int64 -> (int64[:, :], int64)")
def crowd_links(hubs, criterion, ends, parent, reference, first, most):
    """Unite in ``parent`` the trees that a pair with a limited end connects, by Kruskal's algorithm (1956).

    ``ends`` are the ``link_ends`` of ``parent``, a forest over document numbers. Pairs of two documents below
    ``reference`` do not count. Pairs come in the order of (x, y), x ≥ ``first`` before y: those that unite two
    trees are the minimum spanning forest in this order, for any lists. Returns (links int64[m, 3] of x,
    y, |x∩y|, the document to continue with), and stops after the document that brings the number of pairs passed
    to ``most``. A document passes those in its lists, or if they are fewer the groups near it and the free
    documents; in the largest tree only the free ones outside of it.
    """
    links, used, passed = np.empty((16, 3), np.int64), 0, 0
    seen, met = np.full(hubs.documents.size, -1, np.int64), np.empty(hubs.documents.size, np.int64)
    for x in range(first, hubs.documents.size):
        if passed >= most:
            return links[:used], x
        if not ends.alive[x]:
            continue
        inside = tree_root(parent, hubs.documents[x]) == tree_root(parent, ends.trunk)
        row = ends.rows[(0 if ends.limited[x] else 1) + (2 if inside else 0)]
        row = row[np.searchsorted(row, x + 1) : first_above(hubs, row, hubs.largest[x])]
        others = row.size + ends.balls.centres.size
        places = _places(hubs, x, ends.mixed, others)
        if places == 0:
            continue
        if places <= others:
            n = _met_ends(hubs, x, ends, seen, met)
        else:
            n = _near_ends(hubs, criterion, x, row, ends, parent, met)
        passed += others + n
        for y in met[: _may_link(hubs, criterion, x, ends, parent, reference, met[:n])]:
            root, root_y = tree_root(parent, hubs.documents[x]), tree_root(parent, hubs.documents[y])
            shared = np.int64(-1) if root == root_y else shared_of(hubs, criterion, x, y)
            if shared >= 0:
                parent[max(root, root_y)] = min(root, root_y)
                links = with_space(links, used)
                links[used, 0], links[used, 1], links[used, 2] = x, y, shared
                used += 1
    return links[:used], hubs.documents.size


@entry("int64[:, :], out int64[:] -> bool[:]")
def unite_by(links, parent):
    """Unite in ``parent`` the components of ``links`` (int64[·, 5]) in order; return bool[·]: which united two."""
    united = np.zeros(links.shape[0], np.bool_)
    for i in range(links.shape[0]):
        root, other = tree_root(parent, links[i, 0]), tree_root(parent, links[i, 1])
        if root != other:
            parent[max(root, other)] = min(root, other)
            united[i] = True
    return united


@record
class Outlines(NamedTuple):
    """Sizes, bounds and parities of every document; documents are numbered in any order."""

    sizes: Int64s  # int64[documents]
    largest: Int64s  # int64[documents] greatest size of a partner
    parities: Uint64s  # uint64
    parity_at: Int64s  # int64[documents + 1]
    across: Uint64s  # uint64[documents] documents with the same number are not a pair; empty: any two may be one


@record
class PrefixLists(NamedTuple):
    """Documents under shingles: list k is ``members[first[k]:first[k + 1]]``, ascending in size.

    ``reach`` of a place is the greatest size of a partner that shares no shingle of the prefix before this one.
    ``in_prefix`` says whether the shingle is in the prefix of the member.
    """

    members: Int32s  # int32[entries]
    reach: Int32s  # int32[entries]
    in_prefix: Bools  # bool[entries]
    first: Int64s  # int64[lists + 1]


@entry("PrefixLists, Outlines, Criterion, int64, int64, out int64[:] -> None")
def unite_met(lists, outlines, criterion, reference, most, parent):
    """Unite in ``parent`` (int64[documents], a forest) the documents that meet in a list and may be a pair.

    Pairs of two documents below ``reference`` are left out. A document that was compared with ``most`` others of a
    list in vain is united with the rest of those in reach, so that a long list does not cost all its pairs.
    """
    seen = np.full(parent.size, -1, np.int64)
    for k in range(lists.first.size - 1):
        begin, end = lists.first[k], lists.first[k + 1]
        apart = 0  # the families in this list
        for i in range(begin, end):
            root = tree_root(parent, lists.members[i])
            apart += seen[root] != k
            seen[root] = k
        for i in range(begin, end):
            if apart == 1:
                break
            if lists.in_prefix[i]:
                apart -= _unite_later(lists, outlines, criterion, reference, most, parent, i, end)


@part
def _unite_later(lists, outlines, criterion, reference, most, parent, i, end):
    """Unite the member at place ``i`` with later ones of its list; return the number of unions."""
    members, reach, sizes, largest = lists.members, lists.reach, outlines.sizes, outlines.largest
    x = members[i]
    size, across = sizes[x], outlines.across
    farthest = largest[x] if reach[i] == FARTHEST else min(largest[x], np.int64(reach[i]))
    root, united, tried = tree_root(parent, x), 0, 0
    for j in range(i + 1, end):
        y = members[j]
        other = sizes[y]
        if other > farthest:
            break
        if size > largest[y] or (reach[j] < size and reach[j] != FARTHEST) or max(x, y) < reference:
            continue
        if across.size > 0 and across[x] == across[y]:
            continue
        root_y = tree_root(parent, y)
        if root_y == root:
            continue
        if tried < most:
            apart = size + other - 2 * least_shared(size, other, criterion)
            if differ_in_more(outlines.parities, outlines.parity_at, x, y, apart):
                tried += 1
                continue
        low = min(root, root_y)
        parent[max(root, root_y)] = low
        root = low
        united += 1
    return united
