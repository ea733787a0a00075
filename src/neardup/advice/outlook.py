"""Which shingles, measure, threshold and grouping separate the relatives of a sample from its strangers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from neardup.advice.gap import CLEAR, MOST_TOGETHER, Gap, LinkTree, find_gap, groups_at, spanning_tree
from neardup.advice.looks import SharedCounts
from neardup.advice.record import Look
from neardup.tables import Bools, Floats, Int64s

MEASURES = ("resemblance", "overlap")

LEAST = 0.04
"""The lowest threshold that is recommended: with the default slots and recall no bands are possible below it."""

CLEAR_ENOUGH = 0.8
"""From this clearness on, the gap that finds more pairs is the better one."""

LESS_KIND, LESS_OVERLAP, LESS_LOW, LOW = 0.02, 0.02, 0.1, 0.2
"""Handicaps: of each later kind of shingles; of the overlap; of thresholds below LOW, where few shingles "
"decide."""

NO_GAP = ("char", 9, 0.8)
"""Without a gap: near copies share nearly all their text. A changed word takes less from runs of characters."""

ALIKE = 0.5
"""Without a gap, some pair must reach this resemblance, or there are no near copies."""

FAMILY = 4
"""Fewer documents than this are not called one family: strangers in one template look the same."""

SAME_GROUPS = 0.98
"""Groups around representatives are preferred to chains that find at most this much more."""


@dataclass(frozen=True, eq=False)
class Outlook:
    """The choice: documents are relatives if ``similar`` (float32[n, n]) is at least ``threshold``."""

    outcome: str
    counts: SharedCounts
    measure: str
    threshold: float
    groups: str
    similar: Floats
    tree: LinkTree
    gap: Gap | None
    chained_pairs: int
    principal_pairs: int


@dataclass(frozen=True, eq=False)
class Separation:
    """The recommended separation, and the looks that it is chosen from.

    ``ignore_common`` is the share of documents from which on their common text does not count in it; 0: it counts.
    """

    outlook: Outlook
    looks: tuple[Look, ...]
    ignore_common: float = 0.0


@dataclass(frozen=True, eq=False)
class _Candidate:
    counts: SharedCounts
    measure: str
    gap: Gap
    handicap: float

    def worth(self, most_pairs: int) -> float:
        """Return how good the choice is: clear, and missing few of the pairs that the others find."""
        return min(self.gap.clearness, CLEAR_ENOUGH) + log(self.gap.pairs / most_pairs) - self.handicap


def look(
    counts: Sequence[SharedCounts], false: Bools, units: Int64s, weights: Int64s
) -> tuple[tuple[Look, ...], Outlook]:
    """Look for the gap by each of the ``counts`` (those of KINDS) and both measures, and choose one.

    ``false`` (bool[n, n]) marks strangers in one template; ``units`` are the words of each document, ``weights``
    the documents it stands for, copies included.
    """
    looks, clear = [], []
    for place, kind in enumerate(counts):
        for measure in MEASURES:
            similar = kind.similar(measure)
            by_overlap = measure == "overlap"
            floor = kind.kind.overlap_floor if by_overlap else kind.kind.floor
            gap, tree = find_gap(similar, floor, false, weights)
            looks.append(_described(kind, measure, similar, tree, gap))
            if gap is not None and gap.clearness >= CLEAR:
                low = LESS_LOW * max(0.0, log(LOW / gap.middle))
                handicap = LESS_KIND * place + LESS_OVERLAP * by_overlap + low
                clear.append(_Candidate(kind, measure, gap, handicap))
    clear = [candidate for candidate in clear if not candidate.gap.lump] or clear
    if clear:
        most = max(candidate.gap.pairs for candidate in clear)
        best = max(clear, key=lambda candidate: candidate.worth(most))
        threshold = rounded(max(best.gap.middle, LEAST))
        return tuple(looks), _outlook("gap", best.counts, best.measure, threshold, best.gap, units)
    return tuple(looks), _without_gap(counts, false, units)


def rounded(threshold: float) -> float:
    """Return a threshold with two decimals.

    >>> rounded(0.4273), rounded(0.9951)
    (0.43, 0.99)
    """
    return min(round(threshold, 2), 0.99)


def _without_gap(counts: Sequence[SharedCounts], false: Bools, units: Int64s) -> Outlook:
    """Return the cautious choice: a high threshold, above all strangers in one template."""
    unit, length, threshold = NO_GAP
    chosen = next(one for one in counts if (one.kind.unit, one.kind.length) == (unit, length))
    similar = chosen.similar("resemblance")
    if false.any():
        above = (1 + float(similar[false].max())) / 2
        return _outlook("template", chosen, "resemblance", max(threshold, rounded(above)), None, units)
    n, links = len(similar), spanning_tree(similar).similarity
    if n >= FAMILY and links[-1] >= ALIKE and (similar >= ALIKE).sum() > MOST_TOGETHER * n * (n - 1):
        lowest = int(links[-1] * 100) / 100
        return _outlook("one family", chosen, "resemblance", min(threshold, lowest), None, units)
    outcome = "no gap" if len(similar) and similar.max() >= ALIKE else "no near copies"
    return _outlook(outcome, chosen, "resemblance", threshold, None, units)


def _outlook(
    outcome: str, counts: SharedCounts, measure: str, threshold: float, gap: Gap | None, units: Int64s
) -> Outlook:
    similar = counts.similar(measure)
    tree = spanning_tree(similar)
    chained = pairs_in(groups_at(tree, threshold))
    principal = pairs_in(_principal(similar, threshold, units))
    chains = (gap is not None or outcome == "one family") and principal < SAME_GROUPS * chained
    groups = "components" if chains else "principal"
    return Outlook(outcome, counts, measure, threshold, groups, similar, tree, gap, chained, principal)


def pairs_in(of_each: Int64s) -> int:
    """Return the number of pairs within the groups, from the group of each document.

    >>> pairs_in(np.array([0, 0, 0, 3]))
    3
    """
    _, often = np.unique(of_each, return_counts=True)
    return int((often * (often - 1) // 2).sum())


def _principal(similar: Floats, threshold: float, units: Int64s) -> Int64s:
    """Return the groups in which each member is similar to the representative, the longest documents first."""
    leader = np.full(len(similar), -1, np.int64)
    for k in np.argsort(-units, kind="stable").tolist():
        if leader[k] < 0:
            leader[(leader < 0) & (similar[k] >= threshold)] = k
            leader[k] = k
    return leader


def _described(kind: SharedCounts, measure: str, similar: Floats, tree: LinkTree, gap: Gap | None) -> Look:
    unit, length = kind.kind.unit, kind.kind.length
    a, b = np.triu_indices(len(similar), 1)
    values = similar[a, b].astype(np.float64)
    if gap is None:
        median, high = np.quantile(values, [0.5, 0.99]) if len(values) else (0.0, 0.0)
        return Look(unit, length, measure, None, 0.0, 0.0, 0.0, False, 0, 0, float(median), float(high), 0.0, 0.0)
    of_each = groups_at(tree, gap.middle)
    within = of_each[a] == of_each[b]
    strangers = np.quantile(values[~within], [0.5, 0.99]) if not within.all() else np.zeros(2)
    relatives = np.quantile(values[within], [0.05, 0.5]) if within.any() else np.zeros(2)
    _, often = np.unique(of_each, return_counts=True)
    return Look(
        unit=unit,
        length=length,
        measure=measure,
        threshold=rounded(max(gap.middle, LEAST)),
        low=gap.low,
        high=gap.high,
        clearness=gap.clearness,
        clear=gap.clearness >= CLEAR,
        pairs=int(within.sum()),
        groups=int((often > 1).sum()),
        strangers_median=float(strangers[0]),
        strangers_high=float(strangers[1]),
        relatives_low=float(relatives[0]),
        relatives_median=float(relatives[1]),
    )
