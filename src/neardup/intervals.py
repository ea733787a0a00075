"""Counts → shares with their 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, inf, log1p, sqrt

import numpy as np

from neardup.tables import Int64s

Z95 = 1.959963984540054
"""Standard normal quantile of a two-sided 95 % interval."""

_TAIL = 0.05
_NO_SPREAD = 1e-18
"""A variance that is nothing but the rounding of equal numbers."""


@dataclass(frozen=True)
class Share:
    """A share with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Sampled:
    """One stratum: ``documents`` in it, of which some were drawn at random without replacement.

    ``hits`` and ``of`` are int64[drawn]: what each drawn document adds to the numerator and to the
    denominator of a share over all documents.
    """

    documents: int
    hits: Int64s
    of: Int64s

    @property
    def drawn(self) -> int:
        """How many were drawn."""
        return len(self.of)

    @property
    def weight(self) -> float:
        """How many documents a drawn one stands for."""
        return self.documents / self.drawn


def wilson(share: float, trials: float) -> Share:
    """The interval of a ``share`` seen in so many independent trials (Wilson 1927); trials need not be whole.

    Infinitely many make the interval a point.

    >>> print("%.3f %.3f" % (wilson(0.9, 100).low, wilson(0.9, 100).high))
    0.826 0.945
    """
    z2 = Z95 * Z95
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z95 * sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    # rounding must not put an end on the wrong side of the share
    low = 0.0 if share == 0 else min(share, centre - half)
    high = 1.0 if share == 1 else max(share, centre + half)
    return Share(share, low, high)


def least_share(trials: float) -> float:
    """The share above which 95 % confidence holds when so many independent trials saw no miss: .05^(1/trials).

    About 1 − 3 / trials, the rule of three (Hanley and Lippman-Hand 1983).

    >>> round(least_share(300), 4)
    0.9901
    """
    return float(_TAIL ** (1 / trials))


def share_of_totals(strata: Sequence[Sampled], adds: int = 1) -> Share | None:
    """A share over all documents of some strata, estimated from those drawn; None where nothing is counted.

    Each drawn document stands for N/n of its stratum; the share is the ratio of the two weighted sums, and its
    variance that of a combined ratio estimator (Cochran 1977, section 6.11), from what the documents
    drawn add: Σ N² (1 − n/N) s² / n, s² the variance of hits − share·of. The interval is Wilson's for as many
    independent trials as would have that variance (Korn and Graubard 1998).

    That variance knows nothing of misses in strata where none was seen. A thing to be counted that adds
    ``adds`` or less to each of its documents, and t to all of them, is seen with a probability of at least
    1 − (1 − f)^(t/adds), where f is the smallest n/N of those strata: so the sample is worth
    M = −ln(1 − f) · total / adds trials of the rarest kind, and at least .05^(1/M) of the total is there to be
    seen. M is about the total seen if there is one stratum, and infinite if all documents were drawn. Both
    distances are added as squares (Zou and Donner 2008). Where all strata were drawn whole, nothing is estimated.
    """
    total = sum(part.weight * int(part.of.sum()) for part in strata)
    if not total:
        return None
    misses = [not np.array_equal(part.hits, part.of) for part in strata]
    hits = sum(part.weight * int(part.hits.sum()) for part in strata)
    share = hits / total if any(misses) else 1.0  # not a quotient of two sums that may be rounded
    unseen = [part for part, missed in zip(strata, misses, strict=True) if not missed]
    least = least_share(_trials(unseen, total / adds))
    if share == 0:
        return Share(share, 0.0, 1 - least_share(_trials(strata, total / adds)))
    variance = sum(_variance(part, share) for part in strata) / total**2
    even = variance <= _NO_SPREAD
    trials = _trials(strata, total / adds) if even else share * (1 - share) / variance
    seen = wilson(share, trials) if share < 1 else Share(1.0, 1.0, 1.0)
    return Share(share, max(0.0, share - hypot(share - seen.low, share - share * least)), seen.high)


def _trials(strata: Sequence[Sampled], total: float) -> float:
    """How many trials of the rarest kind a sample is worth, of a ``total``; see :func:`share_of_totals`."""
    fraction = min((part.drawn / part.documents for part in strata), default=1.0)
    return inf if fraction == 1 else -log1p(-fraction) * total


def _variance(part: Sampled, share: float) -> float:
    """Variance of the weighted sum of hits − share·of over one stratum."""
    rest = part.hits - share * part.of
    if part.drawn == part.documents:
        return 0.0
    # a single document tells nothing of the spread: its distance from nothing is taken for it
    spread = float(rest.var(ddof=1)) if part.drawn > 1 else float(rest[0] ** 2)
    return part.documents**2 * (1 - part.drawn / part.documents) * spread / part.drawn
