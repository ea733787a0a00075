"""The gap between relatives and strangers in the similarities of all pairs.

Documents are linked by their most similar pairs first, as in a maximum spanning tree. Going down, the pairs within
the growing groups rise steeply while versions of one text find each other, hardly at all in a gap, and steeply
again when strangers begin to join. A gap is a wide range of thresholds in which they hardly rise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.tables import Bools, Floats, Int64s

STEP = 0.05
"""The thresholds examined are this far apart."""

HIGHEST = 0.99
"""The highest threshold examined."""

GROWTH = 3.0
"""The width of a gap, that outweighs a doubling of the pairs within groups."""

CHAINED = 3.0
"""The width of a gap, that outweighs groups whose pairs are all below it."""

WIDEST = 1.2
"""A gap is not the better for being wider than this."""

CLEAR = 0.42
"""A gap counts from this width on, less the parts that its growth and its chains outweigh."""

MOST_TOGETHER = 0.6
"""Above this share of all pairs within groups, the threshold separates nothing."""


MOST_FALSE = 0.05
"""The share of the pairs found that may be known strangers."""


LUMP, LUMP_SHARE, LUMP_BELOW = 8, 0.25, 5
"""A group with more documents, and more than this share of all, is rather a subject or a language than one text.

This holds for links at less than LUMP_BELOW times the level of chance.
"""


@dataclass(frozen=True)
class LinkTree:
    """The edges of a maximum spanning tree: ``similarity`` (float64[n − 1], falling), ``a`` and ``b`` (int64)."""

    similarity: Floats
    a: Int64s
    b: Int64s


@dataclass(frozen=True)
class Gap:
    """A range of thresholds, from ``low`` to ``high``, in which groups hardly grow.

    ``clearness`` is its width on the scale, less for growth and chains; ``pairs`` are the pairs within groups at
    ``low``, and ``chained`` the share of them that is itself below ``low``. ``lump`` is whether one group is so
    large that a gap between smaller ones is preferred.
    """

    low: float
    high: float
    clearness: float
    pairs: int
    chained: float
    lump: bool

    @property
    def middle(self) -> float:
        """The threshold to use: the middle on the scale, but not far below the relatives found."""
        middle = float(_at(np.array([(_place(self.low) + _place(self.high)) / 2]))[0])
        return max(middle, self.high / 2)


def spanning_tree(similar: Floats) -> LinkTree:
    """Return the maximum spanning tree of a symmetric matrix (float[n, n]), by Prim's method."""
    n = len(similar)
    if not n:
        return LinkTree(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
    best, link, done = similar[0].copy(), np.zeros(n, np.int64), np.zeros(n, np.bool_)
    done[0] = True
    edges = np.empty((max(n - 1, 0), 3))
    for k in range(n - 1):
        best[done] = -1.0
        nearest = int(best.argmax())
        edges[k] = best[nearest], link[nearest], nearest
        done[nearest] = True
        closer = similar[nearest] > best
        best, link = np.where(closer, similar[nearest], best), np.where(closer, nearest, link)
    order = np.argsort(-edges[:, 0], kind="stable")
    return LinkTree(edges[order, 0], edges[order, 1].astype(np.int64), edges[order, 2].astype(np.int64))


def groups_at(tree: LinkTree, threshold: float) -> Int64s:
    """Return int64[n]: a number for each document, equal for those linked by edges at or above the threshold."""
    kept = tree.similarity >= threshold
    parent = list(range(len(tree.a) + 1))
    for a, b in zip(tree.a[kept].tolist(), tree.b[kept].tolist(), strict=True):
        parent[_root(parent, a)] = _root(parent, b)
    return np.array([_root(parent, k) for k in range(len(parent))], np.int64)


def find_gap(similar: Floats, floor: float, false: Bools, weights: Int64s) -> tuple[Gap | None, LinkTree]:
    """Return the clearest gap at or above ``floor``, None without any pair above one, and the spanning tree.

    ``similar`` is float[n, n], symmetric. ``false`` (bool[n, n]) marks pairs known to be strangers: at most
    MOST_FALSE of the pairs above a gap are among them. ``weights`` (int64[n]) are the copies of each document.
    """
    tree = spanning_tree(similar)
    n = len(similar)
    if n < 3:
        return None, tree
    levels = _at(np.arange(_place(floor), _place(HIGHEST), STEP))
    pairs, largest = _growth(tree, levels, weights)
    every = (int(weights.sum()) ** 2 - int((weights**2).sum())) / 2
    usable = (pairs > 0) & (pairs <= MOST_TOGETHER * every)
    if false.any():
        known = np.sort(similar[false])
        usable &= (len(known) - np.searchsorted(known, levels)) / 2 <= MOST_FALSE * pairs
    lumps = (largest > max(LUMP, LUMP_SHARE * n)) & (levels < LUMP_BELOW * floor)
    gaps = []
    for allowed in (usable & ~lumps, usable):
        best = _widest(pairs, allowed)
        if best is not None:
            gaps.append(_measured(similar, tree, (levels, pairs, lumps), best))
    return next((gap for gap in gaps if gap.clearness >= CLEAR), gaps[-1] if gaps else None), tree


def _widest(pairs: Int64s, allowed: Bools) -> tuple[float, int, int] | None:
    """Return the score and the ends of the range, beginning at an allowed level, in which the pairs grow least."""
    best = None
    last = int(np.flatnonzero(pairs > 0)[-1]) if (pairs > 0).any() else -1
    for low in np.flatnonzero(allowed).tolist():
        highs = np.arange(low + 1, last + 1)
        if not len(highs):
            continue
        score = np.minimum((highs - low) * STEP, WIDEST) - GROWTH * (pairs[low] / pairs[highs] - 1)
        k = int(score.argmax())
        if best is None or score[k] > best[0]:
            best = (float(score[k]), int(low), int(highs[k]))
    return best


def _measured(
    similar: Floats, tree: LinkTree, steps: tuple[Floats, Int64s, Bools], best: tuple[float, int, int]
) -> Gap:
    """Return the gap, extended upwards as far as the groups stay the same, and less clear for its chains."""
    levels, pairs, lumps = steps
    score, low, high = best
    while high + 1 < len(levels) and pairs[high + 1] == pairs[high]:
        high += 1
    of_each = groups_at(tree, levels[low])
    together = of_each[:, None] == of_each[None, :]
    np.fill_diagonal(together, False)
    chained = float((similar[together] < levels[low]).mean()) if together.any() else 0.0
    clearness = score - CHAINED * chained
    return Gap(float(levels[low]), float(levels[high]), clearness, int(pairs[low]), chained, bool(lumps[low]))


def _growth(tree: LinkTree, levels: Floats, weights: Int64s) -> tuple[Int64s, Int64s]:
    """Return the pairs within the groups at each level, without those of copies, and the largest group."""
    parent, sizes = list(range(len(tree.a) + 1)), weights.tolist()
    members = [1] * len(parent)
    pairs, largest = np.zeros(len(parent), np.int64), np.ones(len(parent), np.int64)
    for k, (a, b) in enumerate(zip(tree.a.tolist(), tree.b.tolist(), strict=True)):
        a, b = _root(parent, a), _root(parent, b)
        pairs[k + 1] = pairs[k] + sizes[a] * sizes[b]
        parent[a] = b
        sizes[b] += sizes[a]
        members[b] += members[a]
        largest[k + 1] = max(largest[k], members[b])
    linked = np.searchsorted(-tree.similarity, -levels, side="right")
    return pairs[linked], largest[linked]


def _root(parent: list[int], k: int) -> int:
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


def _place(share: float) -> float:
    """Return the place of a similarity on the scale: logarithmic near 0, finer than that towards 1."""
    rest = float(np.sqrt(1 - share))
    return float(np.log((1 - rest) / (1 + rest)))


def _at(places: Floats) -> Floats:
    """Return the similarities at these places."""
    return 1 / np.cosh(places / 2) ** 2
