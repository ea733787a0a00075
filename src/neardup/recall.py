"""How many pairs an LSH run missed, estimated from those it found, and the recall that this amounts to.

Every found pair has exact integers, so the probability π that LSH finds a pair like it is known. A pair found with
probability π stands for 1/π pairs, found and missed (Horvitz and Thompson 1952): the expected number of missed
pairs is Σ (1/π − 1), unbiased whatever the corpus.

A search by SimHash has no such π: what is said of it is in ``within_distance``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, sqrt
from typing import Any

import numpy as np

from neardup.blocks import HammingPlan
from neardup.kernels.agreement import no_band_agrees, none_whole
from neardup.plan import Plan
from neardup.settings import Settings
from neardup.tables import Floats, Int64s
from neardup.views import similarity

LEVEL = 0.95
"""Probability that an interval is to hold the truth."""

SINGLE = 0.02
"""Where one whole number more or less moves the probability by more than this, the interval takes it in."""

_NEVER = 1e-9
"""A pair missed less often than this is not looked at more closely: a billion of them make one missed pair."""


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95 % interval, both ends included; the estimate lies within."""

    estimated: float
    low: float
    high: float


def missed_with(plan: Plan, sketch: str, shared: Int64s, union: Int64s) -> Floats:
    """1 − π (float64[n]) of pairs that share ``shared`` of ``union`` ≥ 1 shingles: no band of ``plan`` agrees.

    Classic slots are independent, each agrees with probability J = shared / union, and no band with Π (1 − J^rᵢ).
    The slots that shingles of a one-permutation sketch choose hold different shingles, which makes the number
    of slots that agree vary less: a pair above the threshold is missed more rarely, by half and more. That
    probability is computed exactly (``kernels/agreement.py``).

    >>> twenty = np.array([20])
    >>> missed_with(Plan(0.8, 0.99, 2, (1, 1)), "classic", np.array([10]), twenty)
    array([0.25])
    """
    similarity, missed = shared / union, np.ones(len(shared))
    for rows in sorted(set(plan.bands)):
        missed *= (1 - similarity**rows) ** plan.bands.count(rows)
    close = np.flatnonzero(missed > _NEVER)
    if sketch == "one-permutation" and len(close):
        # many pairs have the same two numbers; ascending unions are what the kernel asks for
        numbers, of = np.unique((union[close] << 32) | shared[close], return_inverse=True)
        exact = np.empty(len(numbers))
        no_band_agrees(numbers & 0xFFFFFFFF, numbers >> 32, none_whole(np.array(plan.bands)), exact)
        missed[close] = exact[of]
    return missed


def missed_pairs(chances: Floats, at_threshold: float) -> Interval:
    """The number of missed pairs, from the 1 − π of every found pair, and from that of a pair at the threshold.

    What is missed beside one found pair is the number of failures before a success of probability π: geometric,
    of mean (1 − π)/π and variance (1 − π)/π². The truth is taken as a sum of those, with the negative binomial
    distribution of their mean and variance, and the interval holds the likeliest whole numbers. One found pair
    more, at the threshold, is put in for the interval, so that a few pairs, or none, do not look surer than they
    are (the flat prior of Bayes for a binomial count).

    >>> missed_pairs(np.full(9900, 0.01), 0.01)
    Interval(estimated=100.0, low=81, high=119)
    """
    odds = chances / (1 - chances)
    more = at_threshold / (1 - at_threshold)
    estimated = float(odds.sum())
    low, high = _likeliest(estimated + more, float((odds * odds).sum()) + more * more)
    return Interval(estimated, min(low, floor(estimated)), max(high, ceil(estimated)))


def predicted_recall(found: int, missed: Interval) -> Interval:
    """The recall that ``found`` pairs and the missed ones amount to; 1 where there is nothing to find.

    >>> predicted_recall(98, Interval(2.0, 0, 5))
    Interval(estimated=0.98, low=0.9514563106796117, high=1.0)
    """

    def share(others: float) -> float:
        return found / (found + others) if found + others else 1.0

    return Interval(share(missed.estimated), share(missed.high), share(missed.low))


def within_distance(settings: Settings, plan: HammingPlan) -> dict[str, Any]:
    """What is known of the recall of a search by SimHash: ``at_threshold`` and the ``statement``.

    Within the distance nothing is missed; how many pairs are within it nobody planned. At the threshold a formula
    tells (``HammingPlan.probability``), where the features are the shingles that the measure counts: of documents
    of one size without repeats; of unequal ones more are within. Elsewhere ``at_threshold`` is None. Nothing is
    estimated from the pairs that were found: of pairs that a distance all but never finds they tell nothing.

    >>> from neardup.blocks import hamming_plan
    >>> chosen = Settings.of(sketch="simhash", features="shingle:5")
    >>> round(within_distance(chosen, hamming_plan(1000))["at_threshold"], 4)
    0.0085
    """
    search, features = settings.search, settings.simhash.features
    counted = search.measure == "resemblance" and settings.shingles.unit == "word"
    same = counted and features == f"shingle:{settings.shingles.length}"
    at, half = plan.probability(search.threshold) if same else None, similarity(plan.half_found())
    if at is None:
        expected = f"half of those whose features ({features}) have resemblance {half}, fewer below"
    else:
        expected = f"{similarity(at, 4)} of those at resemblance {search.threshold:g}, half of those at {half}"
    statement = (
        f"not planned: of the pairs at {search.in_words} {search.threshold:g} or above all within {plan.distance} "
        f"of {plan.bits} bits are found; expected there: {expected}; --audit N measures what was missed"
    )
    return {"at_threshold": at, "statement": statement}


def _likeliest(mean: float, more: float) -> tuple[int, int]:
    """The likeliest run of whole numbers, of probability LEVEL, of a count of variance ``mean + more``.

    The run that comes closest to LEVEL where the last number weighs little, the one that reaches it elsewhere.
    """
    if mean == 0:
        return 0, 0
    reach = 10 * sqrt(mean + more) + 30
    first = max(0, floor(mean - reach))
    counts = np.arange(first, ceil(mean + reach))
    # p(n + 1)/p(n) = (n + r)/(n + 1) · q of the negative binomial, with r = mean²/more and q = more/(mean + more)
    steps = np.log((counts * more + mean * mean) / (mean + more) / (counts + 1))
    weights = np.concatenate(([0.0], np.cumsum(steps)))
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    low = high = int(weights.argmax())
    held = float(weights[low])
    while True:
        below = float(weights[low - 1]) if low > 0 else 0.0
        above = float(weights[high + 1])
        next_held = held + max(below, above)
        if next_held >= LEVEL and max(below, above) <= SINGLE and next_held - LEVEL > LEVEL - held:
            break
        if below >= above:
            low -= 1
        else:
            high += 1
        held = next_held
        if held >= LEVEL:
            break
    return first + low, first + high
