"""The shingles, measure, threshold and grouping that separate the relatives of a sample from its strangers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log

import numpy as np

from neardup.corpus.advice.gap import (
    EXPECTED,
    MOST_TOGETHER,
    Gap,
    Gaps,
    LinkTree,
    find_gaps,
    groups_at,
    largest_usual,
    spanning_tree,
)
from neardup.corpus.advice.record import Look
from neardup.corpus.advice.sample import SharedCounts
from neardup.display import counted, similarity
from neardup.tables import Bools, Floats, Int64s

MEASURES = ("resemblance", "overlap")

LEAST = 0.04
"""The lowest threshold that is recommended: with the default slots and recall no bands are possible below it."""

SURE = 0.95
"""From this expected F1 on, the choice is sure."""

FEW, WIDE = 8, 0.5
"""Fewer links than this show no distribution; they count if no pair at all is in a gap this wide."""

STRANGERS = 20
"""Fewer groups than this, single documents included, show no distribution of strangers."""

UNCLEAR = 0.02
"""The pairs of a gap whose expected F1 is lower than the best by more than this are not missed by the others."""

NARROW = 0.25
"""A narrower gap is not sure: a slightly different threshold decides otherwise."""

MANY = 0.05
"""If a clear gap links this share of the pairs less or more, the choice between the two is not sure."""

TOO_MANY = 0.25
"""Above this share of all pairs within groups, another gap is better."""

LESS_KIND, LESS_OVERLAP, LESS_COMMON, LESS_RARE, LESS_LOW, LOW = 0.01, 0.002, 0.01, 0.04, 0.02, 0.2
"""Handicaps, in F1: of each later kind of shingles, of the overlap, of leaving out common text, of
that unless documents are in templates, and of thresholds below LOW, where few shingles decide."""

TEMPLATED = 0.25
"""If a smaller share of the documents is in templates, only a clearly better gap leaves out common text."""

LESS_NARROW, CLEARLY_WIDE = 0.05, 1.5
"""Handicap, in F1, for each unit of the scale by which a gap is less wide: chance seldom leaves a wide one."""

NO_GAP = ("char", 9, 0.8)
"""Without a gap: near copies share nearly all their text. A changed word takes less from runs of characters."""

ALIKE = 0.5
"""Without a gap, some pair must reach this resemblance, or there are no near copies."""

FAMILY = 4
"""Fewer documents than this are not called one family: strangers in one template look the same."""

SAME_GROUPS, CHAINS = 0.98, 0.01
"""Groups around representatives are preferred to chains that find at most this much more, or if more than this
share of the links is expected to be false."""

DOUBTS = {
    "no gap": "No threshold separates versions from unrelated documents.",
    "template": "Unrelated documents in one template are as alike as versions.",
    "one family": "No unrelated documents show where the versions end.",
    "no near copies": "Versions that share no more than unrelated documents do cannot be seen.",
}
"""Why the advice is not sure, if there is no gap."""


@dataclass(frozen=True, eq=False)
class Outlook:
    """The choice: documents are relatives if ``similar`` (float32[n, n]) is at least ``threshold``.

    ``doubt`` is the reason why the choice is not sure, "" if it is. Text in more than the share ``ignore_common``
    of the documents does not count; 0: all counts. ``without`` is the highest expected F1 of a gap if all counts,
    ``templated`` the number of documents in templates.
    """

    outcome: str
    counts: SharedCounts
    measure: str
    threshold: float
    groups: str
    similar: Floats
    tree: LinkTree
    gap: Gap | None
    doubt: str
    chained_pairs: int
    principal_pairs: int
    looks: tuple[Look, ...] = ()
    ignore_common: float = 0.0
    without: float = 0.0
    templated: int = 0


@dataclass(frozen=True, eq=False)
class Viewed:
    """All pairs, counted by each of KINDS, without the text in more than the share ``ignore_common`` of documents.

    ``false`` (bool[n, n]) marks strangers in one template. Its gaps have this ``handicap``, in F1.
    """

    counts: Sequence[SharedCounts]
    false: Bools
    ignore_common: float = 0.0
    handicap: float = 0.0

    @cached_property
    def gaps(self) -> "list[tuple[SharedCounts, str, Gaps, list[_Candidate]]]":
        """The gaps by each kind of shingles and both measures."""
        described = []
        for place, counts in enumerate(self.counts):
            for measure in MEASURES:
                by_overlap = measure == "overlap"
                chance = counts.kind.overlap_chance if by_overlap else counts.kind.chance
                gaps = find_gaps(counts.similar(measure), counts.shared, chance, self.false)
                handicap = LESS_KIND * place + LESS_OVERLAP * by_overlap + self.handicap
                candidates = [_Candidate(self, counts, measure, gaps.tree, gap, handicap) for gap in gaps.gaps]
                described.append((counts, measure, gaps, candidates))
        return described


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A gap by one kind of shingles and one measure."""

    view: Viewed
    counts: SharedCounts
    measure: str
    tree: LinkTree
    gap: Gap
    handicap: float

    def expected(self, most: float) -> float:
        """Return the expected F1, if there are ``most`` pairs of relatives."""
        cut = self.gap.cut
        return 2 * cut.right / (cut.pairs + max(most, cut.right * (1 + cut.missed / cut.links)))

    def worth(self, most: float) -> float:
        """Return the expected F1 less the handicaps."""
        narrow = LESS_NARROW * max(0.0, CLEARLY_WIDE - self.gap.width)
        return self.expected(most) - self.handicap - narrow - LESS_LOW * max(0.0, log(LOW / self.gap.threshold))


def look(views: Sequence[Viewed], units: Mapping[str, Int64s]) -> Outlook:
    """Look for gaps in each of the views by each kind of shingles and both measures, and choose one.

    ``units`` are the words and the characters of each document, by unit.
    """
    views = [view for view in views if view is views[0] or not view.false.any()]
    every = [one for view in views for one in view.gaps]
    n = len(views[0].false)
    candidates = [  # without the common text, chance makes wide gaps of a few links, and links most documents
        one
        for *_, gaps in every
        for one in gaps
        if (one.gap.cut.links >= FEW and (one.view is views[0] or one.gap.cut.links <= n - STRANGERS))
        or (one.gap.width >= WIDE and not one.view.ignore_common)
    ]
    cautious = [one for one in candidates if _is_cautious(one, n)]
    candidates = _without_lumps(candidates, n)
    best, most = _best(candidates)
    if best is not None and not best.view.ignore_common:  # as if no other view had been tried
        best = _best([one for one in candidates if one.view is best.view])[0]
    others = 0 if best is None else _others(best, [gaps for _, _, gaps, _ in every])
    doubt = "" if best is None else _doubt(best, most, others, n) or _rivalled(best, candidates)
    if best is None:
        choices = [(_without_gap(one, units), one) for one in views]
        chosen, view = next((one for one in choices if one[0].outcome != "template"), choices[0])
    else:
        if n - best.gap.cut.links < STRANGERS:  # others are as unsure, but link fewer
            wide = [one for one in candidates if one.gap.width >= WIDE > best.gap.width]
            most = _best(cautious or wide or [best])[1]
            best = max(cautious or wide or [best], key=lambda one: one.worth(most))
        threshold, view = rounded(max(best.gap.threshold, LEAST)), best.view
        chosen = _outlook("gap", best.counts, best.measure, threshold, units, best.gap, doubt)
    looks = []
    for counts, measure, gaps, own in view.gaps:
        shown = max(own, key=lambda one: (one is best, one in candidates, one.worth(most)), default=None)
        looks.append(_described(counts, measure, gaps, shown, most))
    without = max((one.expected(most) for one in candidates if not one.view.ignore_common), default=0.0)
    templated = int(views[0].false.any(axis=1).sum())
    return replace(
        chosen, looks=tuple(looks), ignore_common=view.ignore_common, without=without, templated=templated
    )


def _best(candidates: Sequence[_Candidate]) -> tuple[_Candidate | None, float]:
    """Return the gap of the highest worth, and the pairs of relatives that it is judged by."""
    clearest = max((one.gap.cut.expected for one in candidates), default=0.0)
    most = max(
        (one.gap.cut.right for one in candidates if one.gap.cut.expected >= clearest - UNCLEAR), default=0.0
    )
    return max(candidates, key=lambda one: one.worth(most), default=None), most


def _is_cautious(one: _Candidate, documents: int) -> bool:
    """Whether a gap leaves enough strangers to show their distribution, and no group that may be a subject."""
    cut = one.gap.cut
    few = documents - cut.links < STRANGERS or cut.largest > largest_usual(documents)
    return not few and one.gap.width >= NARROW


def _without_lumps(candidates: list[_Candidate], documents: int) -> list[_Candidate]:
    """Return the gaps between groups that are no subjects and no languages, if there are others."""
    every = documents * (documents - 1) / 2
    modest = [one for one in candidates if one.gap.cut.pairs <= TOO_MANY * every]
    wide = [one for one in modest if one.gap.width >= NARROW]
    usual = [one for one in wide if one.gap.cut.largest <= largest_usual(documents)]
    clear = any(one.gap.cut.expected >= SURE and one.gap.width >= WIDE for one in usual)
    return usual if clear else wide or modest or candidates


def _others(best: _Candidate, every: Sequence[Gaps]) -> int:
    """Return the most pairs that some runs and measure find above strangers, and the best gap does not."""
    of_each, most = groups_at(best.tree, best.gap.threshold), 0
    for one in every:
        theirs = groups_at(one.tree, one.precise)
        _, both = np.unique(np.stack((of_each, theirs)), axis=1, return_inverse=True)
        most = max(most, pairs_in(theirs) - pairs_in(both))
    return most


def _doubt(best: _Candidate, most: float, others: int, documents: int) -> str:
    """Return the reason why a gap is not sure, or ""."""
    gap, cut, expected = best.gap, best.gap.cut, best.expected(most)
    if cut.links < FEW:
        return f"Only {counted(cut.pairs, 'pair')} of versions: too few to show how alike versions are."
    if documents - cut.links < STRANGERS:
        differ = counted(documents - cut.links, "text")
        return f"Only {differ} that differ: too few to show how alike unrelated documents are."
    if cut.largest > largest_usual(documents):
        return (
            f"One group has {cut.largest:,} of {counted(documents, 'document')}: it may be a subject or a form, "
            "and not versions of one text."
        )
    if gap.width < NARROW:
        return f"The gap is narrow, from {similarity(gap.low, 2)} to {similarity(gap.high, 2)}."
    if expected < SURE:
        return f"The two sides overlap: the expected F1 is {similarity(expected, 2)}."
    if best.expected(cut.right + others) < EXPECTED:
        return f"Other runs find {counted(others, 'pair')} that these do not."
    return ""


def _rivalled(best: _Candidate, candidates: Sequence[_Candidate]) -> str:
    """Return the doubt that another gap links other pairs, or ""; text of templates that counts is a doubt, too.

    A gap that links fewer pairs counts if it is as wide and as clear as a wide one, and one that links more if it
    were sure by itself.
    """
    cut, width = best.gap.cut, best.gap.width
    if best.view.false.any():
        documents = counted(int(best.view.false.any(axis=1).sum()), "document")
        return f"The text of templates counts: {documents} of them may be as alike as versions."
    sure = [one.gap for one in candidates if one.gap.cut.expected >= SURE and one.gap.width >= NARROW]
    more = max((gap.cut.pairs - cut.pairs for gap in sure), default=0)
    if more > MANY * cut.pairs:
        return f"Another gap is nearly as clear, and links {counted(more, 'pair')} more."
    same = [one.gap for one in candidates if bool(one.view.ignore_common) == bool(best.view.ignore_common)]
    clear = [gap for gap in same if gap.cut.expected >= cut.expected - UNCLEAR]
    fewer = max((cut.pairs - gap.cut.pairs for gap in clear if gap.width >= width), default=0)
    if width < WIDE or fewer <= MANY * cut.pairs:
        return ""
    return f"Another gap is as clear, and links {counted(fewer, 'pair')} fewer."


def rounded(threshold: float) -> float:
    """Return a threshold with two decimals.

    >>> rounded(0.4273), rounded(0.9951)
    (0.43, 0.99)
    """
    return min(round(threshold, 2), 0.99)


def _without_gap(view: Viewed, units: Mapping[str, Int64s]) -> Outlook:
    """Return the cautious choice: a high threshold, above all strangers in one template."""
    unit, length, threshold = NO_GAP
    chosen = next(one for one in view.counts if (one.kind.unit, one.kind.length) == (unit, length))
    similar = chosen.similar("resemblance")
    outcome, n, links = "no near copies", len(similar), spanning_tree(similar).similarity
    if view.false.any():
        outcome, threshold = "template", max(threshold, rounded((1 + float(similar[view.false].max())) / 2))
    elif n >= FAMILY and links[-1] >= ALIKE and (similar >= ALIKE).sum() > MOST_TOGETHER * n * (n - 1):
        outcome, threshold = "one family", min(threshold, int(links[-1] * 100) / 100)
    elif n and similar.max() >= ALIKE:
        outcome = "no gap"
    return _outlook(outcome, chosen, "resemblance", threshold, units, None, DOUBTS[outcome])


def _outlook(
    outcome: str,
    counts: SharedCounts,
    measure: str,
    threshold: float,
    units: Mapping[str, Int64s],
    gap: Gap | None,
    doubt: str,
) -> Outlook:
    similar = counts.similar(measure)
    tree = spanning_tree(similar)
    chained = pairs_in(groups_at(tree, threshold))
    principal = pairs_in(_principal(similar, threshold, units[counts.kind.unit]))
    safe = outcome == "one family" or (gap is not None and gap.cut.false < CHAINS * gap.cut.links)
    groups = "components" if safe and principal < SAME_GROUPS * chained else "principal"
    return Outlook(outcome, counts, measure, threshold, groups, similar, tree, gap, doubt, chained, principal)


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


def _described(kind: SharedCounts, measure: str, gaps: Gaps, candidate: _Candidate | None, most: float) -> Look:
    unit, length, similar = kind.kind.unit, kind.kind.length, kind.similar(measure)
    a, b = np.triu_indices(len(similar), 1)
    values = similar[a, b].astype(np.float64)
    if candidate is None:
        return Look(unit, length, measure, None, strangers_high=_quantile(values, 0.99))
    gap = candidate.gap
    of_each = groups_at(gaps.tree, gap.threshold)
    within = of_each[a] == of_each[b]
    few = gap.cut.links < FEW
    return Look(
        unit=unit,
        length=length,
        measure=measure,
        threshold=rounded(max(gap.threshold, LEAST)),
        low=gap.low,
        high=gap.high,
        expected_f1=0.0 if few else candidate.expected(most),
        clear=gap.cut.expected >= SURE and not few,
        pairs=int(within.sum()),
        strangers_high=_quantile(values[~within], 0.99),
        relatives_low=_quantile(values[within], 0.05),
    )


def _quantile(values: Floats, share: float) -> float:
    """Return the value that the share of the values does not exceed, or does not fall short of; 0 without any.

    >>> _quantile(np.array([0.1, 0.2, 0.9]), 0.05), _quantile(np.array([0.1, 0.2, 0.9]), 0.99)
    (0.1, 0.9)
    """
    return float(np.quantile(values, share, method="lower" if share < 0.5 else "higher")) if len(values) else 0.0
