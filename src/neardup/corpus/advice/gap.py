"""The gaps between relatives and strangers in the similarities of all pairs.

Documents are linked by their most similar pairs first, as in a maximum spanning tree. Each threshold cuts this
tree: links at or above it make groups, and the pairs between the groups are strangers. The tails of both sides,
the weakest links and the most similar strangers, show the errors to expect from a cut, and so its expected F1.
Where that is high, there is a gap.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neardup.deduplication.pairs import families_of
from neardup.tables import Bools, Floats, Int32s, Int64s

STEP = 0.05
"""The thresholds examined are this far apart on the scale."""

LOWEST, HIGHEST = 0.02, 0.99
"""The lowest and the highest threshold examined."""

TAIL = 30
"""The pairs on either side from which its tail is estimated."""

CHAINED = 0.5
"""The share of the pairs within groups, no more alike than strangers, that count as wrong."""

EXPECTED = 0.9
"""From this expected F1 on, there is a gap."""

SAME = 0.1
"""The cuts of one gap differ by at most this share of their pairs."""

MOST_TOGETHER = 0.6
"""Above this share of all pairs within groups, the threshold separates nothing."""

PRECISE = 0.985
"""From this expected precision on, a group is one of relatives, even if others are missed."""

MOST_FALSE = 0.05
"""The share of the pairs found that may be known strangers."""

LUMP, LUMP_SHARE = 8, 0.1
"""A group with more documents, and more than this share of all, may be a subject or a language."""


@dataclass(frozen=True)
class LinkTree:
    """The edges of a maximum spanning tree: ``similarity`` (float64[n − 1], falling), ``a`` and ``b`` (int64)."""

    similarity: Floats
    a: Int64s
    b: Int64s


class CutLinks(NamedTuple):
    """A threshold: its ``links``, the ``pairs`` within its groups, the ``largest`` group, and its expected errors.

    ``right`` is the expected number of pairs within groups that are relatives, ``false`` that of strangers linked,
    ``missed`` that of links of relatives below the threshold, ``expected`` the F1 of all these.
    """

    threshold: float
    links: int
    pairs: int
    largest: int
    right: float
    false: float
    missed: float
    expected: float


@dataclass(frozen=True)
class Gap:
    """The thresholds from ``low`` to ``high`` find nearly the same groups; ``cut`` is that in their middle."""

    low: float
    high: float
    cut: CutLinks

    @property
    def threshold(self) -> float:
        """The threshold to use: the middle, but not far below the relatives found."""
        return max(self.cut.threshold, self.high / 2)

    @property
    def width(self) -> float:
        """The width on the scale."""
        low, high = _places(np.array([self.low, self.high]))
        return round(float(high - low), 6)  # a multiple of STEP


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
    return families_of(tree.a[kept], tree.b[kept], len(tree.a) + 1)


@dataclass(frozen=True)
class Gaps:
    """The spanning ``tree``, the ``gaps`` in it, the clearest first, and a threshold above strangers.

    At ``precise``, the lowest such threshold, hardly any stranger is expected in a group; 1 without any.
    """

    tree: LinkTree
    gaps: tuple[Gap, ...]
    precise: float


def find_gaps(similar: Floats, shared: Int32s, chance: float, false: Bools) -> Gaps:
    """Find the gaps in the similarities of all pairs.

    ``similar`` is float[n, n], symmetric; ``shared`` (int[n, n]) the shingles that any two share. A large group
    below ``chance`` is not one of relatives. ``false`` (bool[n, n]) marks pairs known to be strangers: at most
    MOST_FALSE of the pairs above a gap are among them.
    """
    n, tree = len(similar), spanning_tree(similar)
    if n < 3:
        return Gaps(tree, (), 1.0)
    known = np.sort(similar[false])
    every, lump = n * (n - 1) // 2, largest_usual(n)
    cuts = [*_cuts(similar, shared, tree)]
    usable = [
        cut.pairs <= MOST_TOGETHER * every
        and (cut.largest <= lump or cut.threshold >= chance)
        and (len(known) - int(np.searchsorted(known, cut.threshold))) / 2 <= MOST_FALSE * cut.pairs
        for cut in cuts
    ]
    left = [usable[k] and cut.expected >= EXPECTED for k, cut in enumerate(cuts)]
    precise = (
        cut.threshold
        for k, cut in enumerate(cuts)
        if usable[k] and cut.largest <= lump and cut.right >= PRECISE * cut.pairs
    )
    gaps, seen = [], [False] * (len(cuts) + 2)
    while any(left):
        best = max(np.flatnonzero(left).tolist(), key=lambda k: cuts[k].expected)
        low = high = best
        while low and left[low - 1] and _same(cuts[low - 1], cuts[best]):
            low -= 1
        while high + 1 < len(cuts) and left[high + 1] and _same(cuts[high + 1], cuts[best]):
            high += 1
        # the slope beside a clearer gap is none itself
        if not seen[best] and not seen[best + 2]:
            gaps.append(Gap(cuts[low].threshold, cuts[high].threshold, cuts[(low + high) // 2]))
        left[low : high + 1] = [False] * (high + 1 - low)
        seen[low + 1 : high + 2] = [True] * (high + 1 - low)
    return Gaps(tree, tuple(gaps), next(precise, 1.0))


def _same(one: CutLinks, best: CutLinks) -> bool:
    """Return whether two cuts find nearly the same groups."""
    return abs(one.pairs - best.pairs) <= SAME * best.pairs


def largest_usual(documents: int) -> float:
    """Return the size from which on a group of these documents is suspiciously large.

    >>> largest_usual(20), largest_usual(2000)
    (8, 200.0)
    """
    return max(LUMP, LUMP_SHARE * documents)


def _cuts(similar: Floats, shared: Int32s, tree: LinkTree) -> Iterator[CutLinks]:
    """Yield the cuts that link any documents, the lowest threshold first."""
    joined, pairs, largest = _joined(tree)
    a, b = np.triu_indices(len(similar), 1)
    values, together = similar[a, b].astype(np.float64), joined[a, b]
    order = np.argsort(-values, kind="stable")[: int((values > 0).sum())]
    values, together = values[order], together[order]
    links, in_common = _places(tree.similarity), shared[tree.a, tree.b]
    without_one = tree.similarity * (1 - 1 / np.maximum(in_common, 1))
    lowest, highest = _places(np.array([LOWEST, HIGHEST])).tolist()
    places = np.arange(lowest, highest, STEP)
    for place, threshold in zip(places.tolist(), _at(places).tolist(), strict=True):
        count = int((tree.similarity >= threshold).sum())
        if not count:
            return
        strangers = _first_strangers(values, together, threshold)
        near = float(strangers[-1]) if len(strangers) else 0.0
        false = _tail(_places(strangers), place)
        # a link that rests on one shingle is no better than those of strangers
        weak = int((without_one[:count] <= near).sum())
        linked = int(pairs[count])
        chained = linked - int((together[: np.searchsorted(-values, -near)] >= threshold).sum())
        precision = max(0.0, 1 - (false + weak) / count - CHAINED * chained / linked)
        right, missed = precision * count, _tail(links[max(count - TAIL, 0) : count], place)
        yield CutLinks(
            threshold=threshold,
            links=count,
            pairs=linked,
            largest=int(largest[count]),
            false=false,
            missed=missed,
            right=precision * linked,
            expected=2 * right / (count + right + missed),
        )


def _joined(tree: LinkTree) -> tuple[Floats, Int64s, Int64s]:
    """Return the weakest link between any two documents, and the pairs and the largest of the groups.

    The first is float64[n, n]; the others are int64[n], after the number of links that is their place.
    """
    n = len(tree.a) + 1
    members, group = [[k] for k in range(n)], list(range(n))
    joined, pairs, largest = np.zeros((n, n)), np.zeros(n, np.int64), np.ones(n, np.int64)
    for k, (a, b) in enumerate(zip(tree.a.tolist(), tree.b.tolist(), strict=True)):
        into, gone = sorted((group[a], group[b]), key=lambda one: -len(members[one]))
        ours, theirs = members[into], members[gone]
        joined[np.ix_(ours, theirs)] = tree.similarity[k]
        joined[np.ix_(theirs, ours)] = tree.similarity[k]
        pairs[k + 1] = pairs[k] + len(ours) * len(theirs)
        for one in theirs:
            group[one] = into
        ours += theirs
        members[gone] = []
        largest[k + 1] = max(largest[k], len(ours))
    return joined, pairs, largest


def _first_strangers(values: Floats, together: Floats, threshold: float) -> Floats:
    """Return the first TAIL of the falling ``values`` whose documents no links at the threshold join."""
    begin, length = int(np.searchsorted(-values, -threshold, side="right")), TAIL
    while True:
        strangers = np.flatnonzero(together[begin : begin + length] < threshold)[:TAIL]
        if len(strangers) == TAIL or begin + length >= len(values):
            return values[begin + strangers]
        length *= 8


def _tail(places: Floats, place: float) -> float:
    """Return the expected number beyond a place, from the places of the pairs nearest to it on the other side."""
    far = places[np.abs(places - place).argmax()] if len(places) else 0.0
    return _beyond(np.abs(places - far), abs(place - far))


def _beyond(distances: Floats, end: float) -> float:
    """Return the expected number of pairs beyond the ``end`` of a tail, from the distances of those before it.

    Distances fall off exponentially from 0 on. The mean of those before the end is less than that of all, most of
    all if the tail goes on at the end, as half of it would say.
    """
    if len(distances) < 3 or not distances.any():
        return 0.0
    mean = float(distances.mean())
    scale = mean
    for _ in range(30):
        scale = mean + end / np.expm1(min(end / scale, 500.0))
        if scale > 10 * end:
            break
    beyond = float(np.exp(-end / scale))
    return len(distances) * beyond / (1 - beyond)


def _places(shares: Floats) -> Floats:
    """Return the places of similarities on the scale: logarithmic near 0, finer than that towards 1."""
    rest = np.sqrt(1 - np.clip(shares, 1e-6, 0.9999))
    places: Floats = np.log((1 - rest) / (1 + rest))
    return places


def _at(places: Floats) -> Floats:
    """Return the similarities at these places."""
    density: Floats = 1 / np.cosh(places / 2) ** 2
    return density
