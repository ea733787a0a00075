"""The number of look-ups that keeps a promised recall: pure formulas over a query of n shingles.

A document that overlaps enough shares at least c of the n. The hash puts the n in random order, so the m query
shingles of smallest hash are a draw of m without replacement. The number of them that the document contains, its
hits, is hypergeometric; more shared shingles only mean more hits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np

from neardup.tables import Floats

EXPECTED, TWOFOLD = 28, 2
"""The draw is large enough for ``EXPECTED`` expected hits in a document that shares just enough.

It is at least ``TWOFOLD`` times the look-ups that one hit needs. A document that shares half as much then seldom
passes.
"""


@dataclass(frozen=True)
class Promise:
    """A candidate has ``hits`` or more among the ``drawn`` query shingles of smallest hash.

    ``recall``: the probability with which a document that shares just enough has at least ``hits``.
    """

    drawn: int
    hits: int
    recall: float


def fewest_lookups(n: int, c: int, probability: float, most: int | None = None) -> int:
    """The smallest m for which a document with c of the n shingles has a hit with at least this probability.

    The search stops at ``most`` and then returns ``most`` + 1.

    P(no hit) = Π_{i<m} (n − c − i) / (n − i) ≤ (1 − c/n)^m.

    >>> fewest_lookups(1000, 200, 0.8), fewest_lookups(1000, 500, 0.95), fewest_lookups(10, 5, 1.0)
    (8, 5, 6)
    """
    missed, m = 1.0, 0
    last = n - c if most is None else min(n - c, most)
    while missed > 1 - probability and m <= last:
        missed *= (n - c - m) / (n - m)
        m += 1
    return m


def promised(n: int, c: int, available: int, probability: float) -> Promise | None:
    """Choose a draw that keeps ``probability`` with at most ``available`` look-ups; None if none does.

    One hit needs the fewest look-ups. But with more look-ups, more hits can be required at the same recall, which
    excludes documents that share less. So the largest number of hits is used, with only as many look-ups as these
    hits need. The choice depends on n and c alone. If it used the lengths of the postings, it would depend on the
    very draw that the promise is about: a query that is half boilerplate has fewer hits just when its sample is
    full of boilerplate.

    >>> found = promised(1000, 200, 100, 0.8)
    >>> found.drawn, found.hits, round(found.recall, 4)
    (99, 17, 0.8074)
    """
    single = fewest_lookups(n, c, probability, available)
    if single > available:
        return None
    most = min(available, max(-(-EXPECTED * n // c), TWOFOLD * single))
    hits = int(np.flatnonzero(passing(n, c, most) >= probability)[-1])
    if hits < 1:  # except for rounding, one hit would have kept it
        return None
    drawn = _fewest_drawn(n, c, most, hits, probability)
    return Promise(drawn, hits, float(passing(n, c, drawn)[hits]))


def _fewest_drawn(n: int, c: int, drawn: int, hits: int, probability: float) -> int:
    """The fewest look-ups, at most ``drawn``, that have at least ``hits`` hits with the probability.

    P(h hits or more of m) − P(h or more of m − 1) = P(h − 1 of m − 1) · (c − h + 1) / (n − m + 1): the m-th is the
    h-th hit.
    """
    if drawn >= n - c + hits:  # this many look-ups always have ``hits`` hits
        drawn = n - c + hits
        if drawn == hits or passing(n, c, drawn - 1)[hits] < probability:
            return drawn
        drawn -= 1
    chances = passing(n, c, drawn)
    enough, short, k = float(chances[hits]), float(chances[hits - 1] - chances[hits]), hits - 1
    while drawn > hits and short > 0:
        short *= (drawn - k) * (n - drawn + 1) / ((n - c - drawn + k + 1) * drawn)
        enough -= short * (c - k) / (n - drawn + 1)
        if enough < probability:
            break
        drawn -= 1
    return drawn


def passing(n: int, c: int, drawn: int) -> Floats:
    """float64[drawn + 2]: entry h is P(h or more hits among ``drawn``), hypergeometric.

    >>> [round(float(chance), 3) for chance in passing(10, 5, 2)]
    [1.0, 0.778, 0.222, 0.0]
    """
    least, most = max(0, drawn - (n - c)), min(c, drawn)
    k = np.arange(least, most)
    growth = np.log((c - k) * (drawn - k) / ((k + 1.0) * (n - c - drawn + k + 1.0)))
    weights = np.concatenate((np.zeros(1), np.cumsum(growth)))
    weights = np.exp(weights - weights.max())
    chances = np.zeros(drawn + 2)
    chances[least : most + 1] = weights / weights.sum()
    return np.minimum(np.cumsum(chances[::-1])[::-1], 1.0)


def most_hits(n: int, c: int, drawn: int, probability: float) -> int:
    """The greatest h for which a document with c of the n shingles has h hits or more, with this probability.

    Hits are counted among ``drawn`` of the n; 0 if no h qualifies.

    P(j hits) = C(c, j) · C(n − c, drawn − j) / C(n, drawn), summed in whole numbers.

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
