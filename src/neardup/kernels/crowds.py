"""Crowds and components: which other documents a crowd is linked to, without looking at all of its pairs."""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.hubs import may_pair, more_rows, shared_of
from neardup.kernels.trees import tree_root


@njit(cache=True, nogil=True)
def _find_link(hubs, part, other, crowded, reference):
    """(x, y, |x∩y|) of the first pair between two components that links them by a member of a crowd, or −1s."""
    for x in part:
        for y in other:
            if not (crowded[x] or crowded[y]) or not may_pair(hubs, min(x, y), max(x, y)):
                continue
            if hubs.documents[x] < reference and hubs.documents[y] < reference:
                continue
            shared = shared_of(hubs, x, y)
            if shared >= 0:
                return x, y, shared
    return -1, -1, -1


@njit(cache=True, nogil=True)
def _components_of(hubs, k, parent):
    """Members of list k by component: (members, cuts), component c is ``members[cuts[c]:cuts[c + 1]]``."""
    inside = hubs.members[hubs.first[k] : hubs.first[k + 1]]
    roots = np.empty(inside.size, np.int64)
    for i in range(inside.size):
        roots[i] = tree_root(parent, hubs.documents[inside[i]])
    order = np.argsort(roots)
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
def link_crowds(hubs, crowded, parent, reference):
    """Unite in ``parent`` (a forest over document numbers) what pairs with a member of a crowd.

    ``crowded`` bool[hubs]. All other pairs must be united already. Two components of a list are compared until
    one pair links them, so a crowd, which is one component, costs nothing by itself. Pairs of two documents
    below ``reference`` do not count. Returns int64[m, 3] of x, y, |x∩y| for the pairs that united something.
    """
    links, used = np.empty((16, 3), np.int64), 0
    for k in range(hubs.first.size - 1):
        members, cuts = _components_of(hubs, k, parent)
        for c in range(cuts.size - 1):
            part = members[cuts[c] : cuts[c + 1]]
            has_crowd = False
            for x in part:
                has_crowd |= crowded[x]
            if not has_crowd:
                continue
            for o in range(cuts.size - 1):
                other = members[cuts[o] : cuts[o + 1]]
                root = tree_root(parent, hubs.documents[part[0]])
                other_root = tree_root(parent, hubs.documents[other[0]])
                if root == other_root:
                    continue
                x, y, shared = _find_link(hubs, part, other, crowded, reference)
                if shared < 0:
                    continue
                parent[max(root, other_root)] = min(root, other_root)
                if used == links.shape[0]:
                    links = more_rows(links, used)
                links[used, 0], links[used, 1], links[used, 2] = x, y, shared
                used += 1
    return links[:used]
