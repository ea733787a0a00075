"""An estimate of the pairs an LSH run missed, from the pairs it found, and the recall that results.

Every found pair has exact integers, so the probability π that LSH finds such a pair is known. A pair found with
probability π represents 1/π pairs, found and missed (Horvitz and Thompson 1952). The expected number of missed
pairs is Σ (1/π − 1), unbiased for any corpus. If chains of pairs are closed, 1 − π is the probability that a
family falls apart between the two documents. ``join/missing.py`` measures it; this module derives the recall from
it.

A search by SimHash has no such π: see ``within_distance``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import ceil, floor, sqrt
from typing import Any

import numpy as np

from neardup.display import similarity
from neardup.intervals import Share
from neardup.join.estimates import Missing
from neardup.kernels.formulas import RESEMBLANCE
from neardup.lsh.bands import Plan
from neardup.lsh.hamming.tables import HammingPlan
from neardup.measures import MEASURES
from neardup.settings import Settings

LEVEL = 0.95
"""The probability with which an interval should contain the truth."""

SINGLE = 0.02
"""If one more whole number changes the probability by more than this, the interval includes it."""


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95 % interval, which includes both ends and the estimate."""

    estimated: float
    low: float
    high: float


_UNLISTED = "; not every pair is listed (--pairs all lists them)"


def missed_pairs(missing: Missing, at_threshold: float) -> Interval:
    """The number of missed pairs, from the estimate of the found pairs and the 1 − π of a pair at the threshold.

    The number of pairs missed for one found pair is the number of failures before a success of probability π:
    geometric, with mean (1 − π)/π and variance (1 − π)/π². The truth is modelled as a sum of such numbers, or of
    the estimates of families, by the negative binomial distribution with their mean and variance; the interval
    holds the likeliest whole numbers. For the interval one found pair at the threshold is added, so that few
    pairs, or none, do not look more certain than they are (the flat Bayesian prior for a binomial count). If pairs
    are missed together, as many are added as are missed together.

    >>> from neardup.join.missing import of_pairs
    >>> missed_pairs(of_pairs(np.full(9900, 0.01)), 0.01)
    Interval(estimated=100.0, low=81, high=119)
    """
    more, together = at_threshold / (1 - at_threshold), missing.together
    mean = missing.estimated + together * more
    variance = missing.variance + together**2 * (more + more * more)
    low, high = _likeliest(mean, max(variance - mean, 1e-12 * mean))
    return Interval(missing.estimated, min(low, floor(missing.estimated)), max(high, ceil(missing.estimated)))


def predicted_recall(found: int, missed: Interval) -> Interval:
    """The recall that follows from ``found`` and missed pairs; 1 if there are none.

    >>> predicted_recall(98, Interval(2.0, 0, 5))
    Interval(estimated=0.98, low=0.9514563106796117, high=1.0)
    """

    def share(others: float) -> float:
        return found / (found + others) if found + others else 1.0

    return Interval(share(missed.estimated), share(missed.high), share(missed.low))


@dataclass(frozen=True)
class Predicted:
    """The data a recall is predicted from: the estimate of ``missing`` pairs, and the number of pairs ``found``.

    With ``bound`` the estimate is known to be too high, or too little is known about how pairs are missed
    together; then only one end of an interval is stated. ``measured`` is the recall an audit found, if there was
    one. ``unlisted``: of crowds, and of documents with many partners, not all pairs are listed.
    """

    missing: Missing | None
    found: int
    bound: bool = False
    measured: Share | None = None
    unlisted: bool = False


def recall_of(settings: Settings, method: str, plan: Plan | HammingPlan, made: Predicted) -> dict[str, Any]:
    """The planned recall, the recall predicted for this corpus, and the estimated number of missed pairs.

    For a search by SimHash no recall is planned, and none is estimated from the pairs it found.
    """
    threshold = settings.search.threshold
    if isinstance(plan, HammingPlan):
        names = ("planned", "predicted", "missed")
        return {**dict.fromkeys(names), "at_least": False, **within_distance(settings, plan)}
    aside = _UNLISTED if made.unlisted else ""
    if made.missing is None:
        statement = f"exact: every pair at {settings.search.in_words} {threshold:g} or above is found{aside}"
        everything = Interval(1.0, 1.0, 1.0)
        return _recall_of((1.0, 1.0), Interval(0.0, 0, 0), everything, False, statement)
    at = plan.probability(threshold)
    if threshold < 1:  # floating point rounds an almost certain probability up to 1
        at = min(at, float(np.nextafter(1, 0)))
    missed = missed_pairs(made.missing, 1 - at)
    predicted = predicted_recall(made.found, missed)
    planned = f"planned {similarity(at, 4)} for a pair at resemblance {threshold:g}; predicted "
    rest = f"{similarity(predicted.estimated, 4)} of all pairs here; missed: "
    at_least = made.bound or made.missing.mostly_bounded
    if at_least:
        missed, predicted = replace(missed, low=0), replace(predicted, high=1.0)
        most = f"at most about {missed.estimated:,.0f} (95 %: up to {missed.high:,})"
        statement = f"{planned}at least about {rest}{most}{aside}; {_measured(made.measured)}"
    else:
        interval = f"(95 % interval {missed.low:,} to {missed.high:,})"
        statement = f"{planned}{rest}about {missed.estimated:,.0f} {interval}{aside}"
    return _recall_of((plan.recall, at), missed, predicted, at_least, statement)


def _measured(recall: Share | None) -> str:
    if recall is None:
        return "--audit N measures it"
    shown = (similarity(number) for number in (recall.value, recall.low, recall.high))
    return "the audit measured {} (95 % interval {} to {})".format(*shown)


def _recall_of(
    planned: tuple[float, float], missed: Interval, predicted: Interval, at_least: bool, statement: str
) -> dict[str, Any]:
    return {
        "planned": planned[0],
        "at_threshold": planned[1],
        "predicted": asdict(predicted),
        "missed": asdict(missed),
        "at_least": at_least,
        "statement": statement,
    }


def within_distance(settings: Settings, plan: HammingPlan) -> dict[str, Any]:
    """The recall of a search by SimHash, as far as it is known: ``at_threshold`` and the ``statement``.

    Within the distance nothing is missed, but the number of pairs within it is not planned. If the features are
    the shingles that the measure counts, ``at_threshold`` comes from a formula (``HammingPlan.probability``) for
    documents of the same size without repeats; with unequal sizes more pairs are within the distance. Otherwise
    ``at_threshold`` is None. Nothing is estimated from the found pairs, because they contain no information about
    pairs that a search at this distance almost never finds.

    >>> from neardup.lsh.hamming.tables import hamming_plan
    >>> chosen = Settings.of(sketch="simhash", features="shingle:5")
    >>> round(within_distance(chosen, hamming_plan(1000))["at_threshold"], 4)
    0.0085
    """
    search, features = settings.search, settings.simhash.features
    measure, unit = MEASURES[search.measure], settings.shingles.unit
    counted = measure.of_shingles and measure.formula == RESEMBLANCE
    same = counted and unit == "word" and features == f"shingle:{settings.shingles.length}"
    at, half = plan.probability(search.threshold) if same else None, similarity(plan.half_found())
    if at is None:
        expected = f"half of the pairs whose features ({features}) have resemblance {half}, fewer below"
    else:
        expected = (
            f"{similarity(at, 4)} of the pairs at resemblance {search.threshold:g}, half of the pairs at {half}"
        )
    statement = (
        f"not planned: every pair at {search.in_words} {search.threshold:g} or above within {plan.distance} "
        f"of {plan.bits} bits is found, and the pairs that chains of them join; expected there: {expected}; "
        "--audit N counts the missed pairs"
    )
    return {"at_threshold": at, "statement": statement}


def _likeliest(mean: float, more: float) -> tuple[int, int]:
    """The likeliest range of whole numbers with probability LEVEL, for a count of variance ``mean + more``.

    The range is the one closest to LEVEL if its last number has little weight, otherwise the first to reach LEVEL.
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
