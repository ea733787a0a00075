"""Union-find over document numbers: documents linked by any chain of pairs."""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit


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
