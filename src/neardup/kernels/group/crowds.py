"""Crowds and components: the links of a crowd to other documents, without examining all of its pairs."""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.join.prefix_index import may_pair, shared_of
from neardup.kernels.union_find import tree_root


@njit(cache=True, nogil=True)
def _find_link(hubs, criterion, part, other, crowded, reference):
    """Return (x, y, |x∩y|) of the first pair that links two components by a member of a crowd, or −1s."""
    for x in part:
        for y in other:
            if not (crowded[x] or crowded[y]) or not may_pair(hubs, min(x, y), max(x, y)):
                continue
            if hubs.documents[x] < reference and hubs.documents[y] < reference:
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
