"""How many look-ups keep the promise of a recall: pure formulas over a query of n shingles.

A document that overlaps enough shares at least c of the n. The hash puts the n in random order, so the m query
shingles of smallest hash are m drawn without replacement, and the number of them that the document holds, its
hits, is hypergeometric; more shared shingles only mean more hits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np

from neardup.tables import Floats

MOST_DRAWN, FOURFOLD = 48, 4
"""Several hits are counted among so many look-ups, or four times those of one hit where these are more."""
MOST_COUNTED = 1_000
"""Hits are counted among the look-ups of so many single ones: it takes time with their square."""
MOST_MORE = 6
"""So many look-ups more for one hit, if more hits can be asked for then."""


@dataclass(frozen=True)
class Ways:
    """Two ways to look up, either of which keeps the promise, even when the postings decide which is taken.

    ``single``: a candidate has one hit or more among the ``single`` smallest shingles. ``several``: (m, h), it
    has h or more among the m smallest; None where nothing is gained. ``recall``: a document with c shared shingles
    passes BOTH with this probability.
    """

    single: int
    several: tuple[int, int] | None
    recall: float


def fewest_lookups(n: int, c: int, probability: float, most: int | None = None) -> int:
    """The smallest m for which a document with c of the n shingles has a hit with at least this probability.

    Not looked for beyond ``most``: one more then. P(no hit) = Π_{i<m} (n − c − i) / (n − i) ≤ (1 − c/n)^m.

    >>> fewest_lookups(1000, 200, 0.8), fewest_lookups(1000, 500, 0.95), fewest_lookups(10, 5, 1.0)
    (8, 5, 6)
    """
    missed, m = 1.0, 0
    last = n - c if most is None else min(n - c, most)
    while missed > 1 - probability and m <= last:
        missed *= (n - c - m) / (n - m)
        m += 1
    return m


def ways(n: int, c: int, available: int, probability: float) -> Ways | None:
    """How to keep ``probability`` with at most ``available`` look-ups; None: not at all.

    Which of two ways is cheaper, the lengths of the postings tell; but they depend on the same draw as the hits. A
    query half of which is boilerplate has fewer hits just when its sample is full of boilerplate. So
    h is chosen such that one document passes both ways with the probability promised: then whichever is taken, it
    is found.

    The most hits that keep the promise with all look-ups are asked for, if a few more look-ups for one hit make it
    possible: the more hits, the more documents are thrown out, and postings left unread.

    >>> found = ways(1000, 200, 60, 0.8)
    >>> found.single, found.several, round(found.recall, 4)
    (10, (48, 7), 0.8054)
    """
    single = fewest_lookups(n, c, probability, available)
    if single > available:
        return None
    if single > MOST_COUNTED:
        return Ways(single, None, 1 - missing(n, c, single))
    drawn = min(available, max(MOST_DRAWN, FOURFOLD * single))
    alone = int(np.flatnonzero(passing(n, c, drawn, drawn) >= probability)[-1])
    for hits in range(alone, 1, -1):
        for more in range(min(MOST_MORE, drawn - single - 1) + 1):
            recall = float(passing(n, c, single + more, drawn)[hits])
            if recall >= probability:
                return Ways(single + more, (drawn, hits), recall)
    return Ways(single, None, float(passing(n, c, single, single)[1]))


def missing(n: int, c: int, drawn: int) -> float:
    """P(no hit among ``drawn``): as ``passing`` has it, without its hits.

    >>> round(missing(1000, 200, 8), 12), round(float(1 - passing(1000, 200, 8, 8)[1]), 12)
    (0.166595254126, 0.166595254126)
    """
    i = np.arange(drawn)
    return float(np.prod((n - c - i) / (n - i)))


def passing(n: int, c: int, single: int, drawn: int) -> Floats:
    """float64[drawn + 2]: entry h is P(a hit among the first ``single``, h or more among the first ``drawn``).

    The hypergeometric probability of k hits, times that not all of them are behind the first ``single``, over all
    k from h on.
    """
    least, most = max(0, drawn - (n - c)), min(c, drawn)
    k = np.arange(least, most)
    growth = np.log((c - k) * (drawn - k) / ((k + 1.0) * (n - c - drawn + k + 1.0)))
    weights = np.concatenate((np.zeros(1), np.cumsum(growth)))
    weights = np.exp(weights - weights.max())
    i = np.arange(drawn)
    behind = np.concatenate((np.ones(1), np.cumprod(np.maximum(drawn - single - i, 0) / (drawn - i))))
    chances = np.zeros(drawn + 2)
    chances[least : most + 1] = weights / weights.sum() * (1 - behind[least : most + 1])
    return np.cumsum(chances[::-1])[::-1]


def most_hits(n: int, c: int, drawn: int, probability: float) -> int:
    """The greatest h for which a document with c of the n shingles has h hits or more, with this probability.

    Among ``drawn`` of the n; 0: there is none. P(j hits) = C(c, j) · C(n − c, drawn − j) / C(n, drawn), summed in
    whole numbers.

    >>> most_hits(500, 400, 16, 0.99), most_hits(500, 400, 2, 0.99), most_hits(10, 10, 4, 1.0)
    (9, 0, 4)
    """
    allowed = Fraction(1) - Fraction(repr(probability))
    bound = comb(n, drawn) * allowed.numerator
    fewer = 0  # ways to draw fewer than h hits
    for hits in range(drawn + 1):
        fewer += comb(c, hits) * comb(n - c, drawn - hits)
        if fewer * allowed.denominator > bound:
            return hits
    return drawn
