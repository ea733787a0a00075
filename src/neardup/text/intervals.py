"""Turn counts into shares with their 95 % intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, floor, hypot, inf, lgamma, log, log1p, sqrt

import numpy as np

from neardup.tables import Int64s

Z95 = 1.959963984540054
"""Standard normal quantile of a two-sided 95 % interval."""

_TAIL = 0.05
_STEPS = 6
"""Newton's steps to a quantile: each about doubles the digits, from two."""
_NO_SPREAD = 1e-18
"""Variances up to this are rounding errors of equal numbers."""


@dataclass(frozen=True)
class Share:
    """A share with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Sampled:
    """One stratum of ``documents`` documents, some of them drawn at random without replacement.

    ``hits`` and ``of`` are int64[drawn]: the contributions of each drawn document to the numerator and to the
    denominator of a share over all documents.
    """

    documents: int
    hits: Int64s
    of: Int64s

    @property
    def drawn(self) -> int:
        """The number of documents drawn."""
        return len(self.of)

    @property
    def weight(self) -> float:
        """The number of documents that each drawn one represents."""
        return self.documents / self.drawn


def wilson(share: float, trials: float) -> Share:
    """Return the interval of a ``share`` seen in independent trials (Wilson 1927).

    It has the shares that a test of the score would not reject at 5 %. Any number of ``trials`` from 1 will do; it
    need not be whole, and infinitely many reduce the interval to a point. :func:`coverage` says how often it
    contains the true share.

    >>> print("%.3f %.3f" % (wilson(0.9, 100).low, wilson(0.9, 100).high))
    0.826 0.945
    """
    z2 = Z95 * Z95
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z95 * sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    # rounding must not move an end past the share
    low = 0.0 if share == 0 else min(share, centre - half)
    high = 1.0 if share == 1 else max(share, centre + half)
    return Share(share, low, high)


def coverage(share: float, trials: int) -> float:
    """Return the probability that the interval of :func:`wilson` contains the true ``share``.

    That is so if |hits − trials · share| ≤ z √(trials · share (1 − share)), where the hits are binomial. On
    average over all shares it is .95; near 0 and 1, and with few trials, it is between .79 and 1 (Brown, Cai and
    DasGupta 2001).

    >>> [round(coverage(share, 4), 3) for share in (0, 0.1, 0.25, 0.5)]
    [1.0, 0.948, 0.949, 0.875]
    """
    half = Z95 * sqrt(trials * share * (1 - share))
    if half == 0:
        return 1.0
    hits = range(ceil(trials * share - half), floor(trials * share + half) + 1)
    logs = (lgamma(trials + 1) - lgamma(i + 1) - lgamma(trials - i + 1) for i in hits)
    rest = log1p(-share)
    return min(
        sum(exp(ways + i * log(share) + (trials - i) * rest) for i, ways in zip(hits, logs, strict=True)), 1.0
    )


def waiting_times(k: int) -> tuple[float, float]:
    """Return the quantiles .025 and .975 of the sum of ``k`` independent waiting times of rate 1.

    The sum is below x if the time x brings k or more events, a sum of Poisson probabilities. Newton's steps start
    at the quantiles of Wilson and Hilferty (1931).

    >>> print("%.4f %.4f" % waiting_times(1))
    0.0253 3.6889
    """
    counts = np.arange(k)
    logs = np.concatenate([np.zeros(1), np.cumsum(np.log(counts[1:]))])
    ends = []
    for z, share in ((-Z95, _TAIL / 2), (Z95, 1 - _TAIL / 2)):
        x = k * (1 - 1 / (9 * k) + z / (3 * k**0.5)) ** 3
        for _ in range(_STEPS):
            events = np.exp(counts * log(x) - x - logs)
            x += (share - 1 + float(events.sum())) / float(events[-1])
        ends.append(x)
    return ends[0], ends[1]


def least_share(trials: float) -> float:
    """Return the share exceeded with 95 % confidence if ``trials`` independent trials saw no miss: .05^(1/trials).

    About 1 − 3 / trials, the rule of three (Hanley and Lippman-Hand 1983).

    >>> round(least_share(300), 4)
    0.9901
    """
    return float(_TAIL ** (1 / trials))


def share_of_totals(strata: Sequence[Sampled], adds: int = 1) -> Share | None:
    """Estimate a share over all documents of some strata from those drawn; None if nothing was counted.

    Each drawn document represents N/n documents of its stratum. The share is the ratio of the two weighted sums;
    its variance is that of a combined ratio estimator (Cochran 1977, section 6.11) over the drawn documents:
    Σ N² (1 − n/N) s² / n, with s² the variance of hits − share·of. The interval is Wilson's for the number of
    independent trials that would have the same variance (Korn and Graubard 1998).

    That variance ignores misses in strata in which none was seen. Consider an event that adds at most ``adds`` to
    each of its documents, and t in total. The sample shows it with a probability of at least 1 − (1 − f)^(t/adds),
    where f is the smallest n/N of those strata. The sample is therefore worth M = −ln(1 − f) · total / adds trials
    of the rarest kind, and with 95 % confidence the unseen share is at most 1 − .05^(1/M). M is about the total
    seen if there is one stratum, and infinite if all documents were drawn. The two distances are combined as the
    root of their sum of squares (Zou and Donner 2008). If all strata were drawn whole, the share is exact.
    """
    total = sum(part.weight * int(part.of.sum()) for part in strata)
    if not total:
        return None
    misses = [not np.array_equal(part.hits, part.of) for part in strata]
    hits = sum(part.weight * int(part.hits.sum()) for part in strata)
    share = hits / total if any(misses) else 1.0  # avoids the quotient of two rounded sums
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
    """Return the number of trials of the rarest kind a sample is worth; see :func:`share_of_totals`."""
    fraction = min((part.drawn / part.documents for part in strata), default=1.0)
    return inf if fraction == 1 else -log1p(-fraction) * total


def _variance(part: Sampled, share: float) -> float:
    """Return the variance of the weighted sum of hits − share·of over one stratum."""
    rest = part.hits - share * part.of
    if part.drawn == part.documents:
        return 0.0
    # one document has no spread of its own: use its distance from 0
    spread = float(rest.var(ddof=1)) if part.drawn > 1 else float(rest[0] ** 2)
    return part.documents**2 * (1 - part.drawn / part.documents) * spread / part.drawn
