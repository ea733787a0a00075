"""How many look-ups keep the promise of a recall: pure formulas over a query of n shingles.

A document that overlaps enough shares at least c of the n. The hash puts the n in random order, so the m query
shingles of smallest hash are m drawn without replacement, and the number of them that the document holds, its
hits, is hypergeometric; more shared shingles only mean more hits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.tables import Floats

MOST_DRAWN, FOURFOLD = 48, 4
"""Several hits are counted among so many look-ups, or four times those of one hit where these are more."""
TRIES = 3


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

    >>> found = ways(1000, 200, 60, 0.8)
    >>> found.single, found.several, round(found.recall, 4)
    (8, (60, 7), 0.8183)
    """
    single = fewest_lookups(n, c, probability, available)
    if single > available:
        return None
    drawn = min(available, max(MOST_DRAWN, FOURFOLD * single))
    for more in range(TRIES):
        passes = passing(n, c, single + more, drawn)
        enough = np.flatnonzero(passes >= probability)
        hits = int(enough[-1]) if len(enough) else 0
        if hits >= 2 and single + more < drawn:
            return Ways(single + more, (drawn, hits), float(passes[hits]))
    return Ways(single, None, float(passing(n, c, single, single)[1]))


def passing(n: int, c: int, single: int, drawn: int) -> Floats:
    """float64[drawn + 2]: entry h is P(a hit among the first ``single``, h or more among the first ``drawn``)."""
    chances = np.zeros(drawn + 1)
    chances[0] = 1.0
    hits = np.arange(drawn + 1)
    for i in range(drawn):
        if i == single:
            chances[0] = 0.0
        hit = np.clip((c - hits) / (n - i), 0.0, 1.0)
        gained = chances * hit
        chances -= gained
        chances[1:] += gained[:-1]
    if single == drawn:
        chances[0] = 0.0
    return np.append(np.cumsum(chances[::-1])[::-1], 0.0)
