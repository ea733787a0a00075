"""Components: documents linked by any chain of pairs, by union-find over document numbers.

*Crowds*: the links of a crowd to other documents are found without examining all of its pairs.

*Families* are what prefix lists connect, without a look at the sets: two documents are united if they meet in a
list and neither sizes, places nor parities rule their pair out. A pair at or above the threshold is therefore
always within one family. Families may be larger than the pairs alone would make them, which costs room and never a
pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.join.prefix_index import FARTHEST, may_pair, shared_of
from neardup.kernels.sets import differ_in_more, least_shared


@njit(cache=True, nogil=True)
def tree_root(parent, d):
    """Return the root of d's tree in ``parent`` (int64[documents]); the path to it is halved on the way."""
    while parent[d] != d:
        parent[d] = parent[parent[d]]
        d = parent[d]
    return d


@njit(cache=True, nogil=True)
def unite(parent, a, b):
    """Unite the trees of a[k] and b[k] in ``parent`` (int64[documents]) for every k; smaller roots win."""
    for k in range(a.size):
        x, y = tree_root(parent, a[k]), tree_root(parent, b[k])
        parent[max(x, y)] = min(x, y)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _find_link(hubs, criterion, part, other, crowded, reference):
    """Return (x, y, |x∩y|) of the first pair that links two components by a member of a crowd, or −1s."""
    for x in part:
        for y in other:
            if not (crowded[x] or crowded[y]) or not may_pair(hubs, min(x, y), max(x, y), reference):
                continue
            shared = shared_of(hubs, criterion, min(x, y), max(x, y))
            if shared >= 0:
                return x, y, shared
    return -1, -1, -1


@njit(cache=True, nogil=True)
def _components_of(hubs, k, parent):
    """Group the members of list k by component: (members, cuts), component c is ``members[cuts[c]:cuts[c + 1]]``.

    Components ascend by root, and members ascend within each.
    """
    inside = hubs.members[hubs.first[k] : hubs.first[k + 1]]
    roots = np.empty(inside.size, np.int64)
    for i in range(inside.size):
        roots[i] = tree_root(parent, hubs.documents[inside[i]])
    order = np.argsort(roots, kind="mergesort")
    members, cuts = np.empty(inside.size, np.int64), np.empty(inside.size + 1, np.int64)
    n = 0
    for i in range(order.size):
        members[i] = inside[order[i]]
        if i == 0 or roots[order[i]] != roots[order[i - 1]]:
            cuts[n] = i
            n += 1
    cuts[n] = inside.size
    return members, cuts[: n + 1]


@njit(cache=True, nogil=True)
def crowd_links(hubs, criterion, crowded, parent, reference):
    """Return, for every two components that meet in a list, its first pair there by a member of a crowd, if any.

    ``crowded`` bool[hubs]; ``parent`` is a forest over document numbers in which all other pairs are already
    united. Pairs of two documents below ``reference`` do not count. Each row of int64[m, 5] has the two roots, the
    smaller one first, then x and y in these components, and |x∩y|. For any lists, the first pair of two components
    in the order of (x, y) is among them, because its documents meet in one. A crowd is one component and by itself
    costs nothing.
    """
    links, used = np.empty((16, 5), np.int64), 0
    for k in range(hubs.first.size - 1):
        members, cuts = _components_of(hubs, k, parent)
        has_crowd = np.zeros(cuts.size - 1, np.bool_)
        for c in range(cuts.size - 1):
            for i in range(cuts[c], cuts[c + 1]):
                has_crowd[c] |= crowded[members[i]]
        for c in range(cuts.size - 1):
            if not has_crowd[c]:
                continue
            for o in range(cuts.size - 1):
                if o == c or (o < c and has_crowd[o]):
                    continue
                low, high = min(c, o), max(c, o)
                part, other = members[cuts[low] : cuts[low + 1]], members[cuts[high] : cuts[high + 1]]
                x, y, shared = _find_link(hubs, criterion, part, other, crowded, reference)
                if shared < 0:
                    continue
                if used == links.shape[0]:
                    larger = np.empty((2 * used, 5), np.int64)
                    for i in range(used):
                        for column in range(5):
                            larger[i, column] = links[i, column]
                    links = larger
                links[used, 0] = tree_root(parent, hubs.documents[part[0]])
                links[used, 1] = tree_root(parent, hubs.documents[other[0]])
                links[used, 2], links[used, 3], links[used, 4] = x, y, shared
                used += 1
    return links[:used]


@njit(cache=True, nogil=True)
def unite_by(links, parent):
    """Unite in ``parent`` the components of ``links`` (int64[·, 5]) in order; return bool[·]: which united two."""
    united = np.zeros(links.shape[0], np.bool_)
    for i in range(links.shape[0]):
        root, other = tree_root(parent, links[i, 0]), tree_root(parent, links[i, 1])
        if root != other:
            parent[max(root, other)] = min(root, other)
            united[i] = True
    return united


class Outlines(NamedTuple):
    """Sizes, bounds and parities of every document; documents are numbered in any order."""

    sizes: Any  # int64[documents]
    largest: Any  # int64[documents] greatest size of a partner
    parities: Any  # uint64
    parity_at: Any  # int64[documents + 1]
    across: Any  # uint64[documents] documents with the same number are not a pair; empty: any two may be one


class PrefixLists(NamedTuple):
    """Documents under shingles: list k is ``members[first[k]:first[k + 1]]``, ascending in size.

    ``reach`` of a place is the greatest size of a partner that shares no shingle of the prefix before this one.
    ``in_prefix`` says whether the shingle is in the prefix of the member.
    """

    members: Any  # int32[entries]
    reach: Any  # int32[entries]
    in_prefix: Any  # bool[entries]
    first: Any  # int64[lists + 1]


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
