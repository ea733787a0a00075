"""Documents that may be pairs → families: what prefix lists connect, without a look at the sets.

Two documents are united if they meet in a list and neither sizes, places nor parities rule their pair out. A pair
at or above the threshold is therefore always within one family. Families may be larger than the pairs alone would
make them, which costs room and never a pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.join.prefix_index import FARTHEST
from neardup.kernels.parities import differ_in_more
from neardup.kernels.sets import least_shared
from neardup.kernels.union_find import tree_root


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
