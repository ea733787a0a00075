"""Shares over strata: against the textbook, at the edges, and whether their intervals cover the truth."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.text.intervals import Z95, Sampled, Share, least_share, share_of_totals, wilson
from neardup.text.intervals import coverage as coverage_of
from support import reference_audit

Population = list[tuple[np.ndarray, np.ndarray]]
"""Of each stratum: hits and counts of all its documents."""


@st.composite
def drawn_strata(draw: st.DrawFn) -> list[Sampled]:
    strata = []
    for _ in range(draw(st.integers(1, 4))):
        of = np.array(draw(st.lists(st.integers(0, 5), min_size=2, max_size=12)), np.int64)
        hits = np.array([draw(st.integers(0, int(most))) for most in of], np.int64)
        strata.append(Sampled(len(of) + draw(st.integers(0, 200)), hits, of))
    return strata


@given(drawn_strata())
def test_the_share_is_the_ratio_of_weighted_sums(strata: list[Sampled]) -> None:
    hits = sum(Fraction(part.documents, part.drawn) * int(part.hits.sum()) for part in strata)
    total = sum(Fraction(part.documents, part.drawn) * int(part.of.sum()) for part in strata)
    found = share_of_totals(strata)
    if total == 0:
        assert found is None
        return
    assert found is not None
    assert found.value == pytest.approx(float(hits / total), abs=1e-12)
    assert (found.value == 1) == (hits == total)
    assert 0 <= found.low <= found.value <= found.high <= 1
    if all(part.drawn == part.documents for part in strata):
        assert found == Share(found.value, found.value, found.value)


@given(drawn_strata())
def test_the_interval_is_wilsons_for_the_textbook_variance(strata: list[Sampled]) -> None:
    found = share_of_totals(strata)
    if found is None or found.value in (0, 1):
        return
    plain = [(part.documents, part.hits.tolist(), part.of.tolist()) for part in strata]
    variance = reference_audit.variance(plain, found.value)
    if variance > 1e-12:
        expected = wilson(found.value, found.value * (1 - found.value) / variance)
        assert found.high == pytest.approx(expected.high, abs=1e-9)
        assert found.low <= expected.low + 1e-9
        if all(part.drawn == part.documents or (part.hits < part.of).any() for part in strata):
            assert found.low == pytest.approx(expected.low, abs=1e-9)


def test_one_document_in_a_stratum_is_no_certainty() -> None:
    one, rest = (
        Sampled(50, np.array([1]), np.array([3])),
        Sampled(80, np.array([2, 2, 2, 2]), np.array([2, 2, 2, 2])),
    )
    found = share_of_totals([one, rest])
    assert found is not None
    assert found.low < found.value < found.high


@pytest.mark.parametrize("counted", [2, 3, 7])
def test_equal_documents_are_no_certainty(counted: int) -> None:
    """Each drawn document has one hit of as many: no spread, but for rounding, and still not all were drawn."""
    of = np.full(20, counted)
    found = share_of_totals([Sampled(1000, of // counted, of)])
    assert found is not None
    assert found.value == pytest.approx(1 / counted)
    assert found.low < found.value - 0.03
    assert found.high > found.value + 0.03


@pytest.mark.parametrize("pairs", [1, 3, 30, 300])
def test_no_miss_is_the_rule_of_three(pairs: int) -> None:
    """Of a thin even sample the bound is .05^(1 / pairs), about 1 − 3 / pairs: the p at which p^pairs is .05."""
    assert least_share(pairs) ** pairs == pytest.approx(0.05)
    of = np.zeros(1000, np.int64)
    of[:pairs] = 1
    found = share_of_totals([Sampled(10**9, of, of)])
    assert found is not None
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(least_share(pairs), rel=1e-4)
    # and where nothing was found, the other way round
    nothing = share_of_totals([Sampled(10**9, of * 0, of)])
    assert nothing is not None
    assert (nothing.value, nothing.low) == (0.0, 0.0)
    assert nothing.high == pytest.approx(1 - least_share(pairs), rel=1e-4)


def test_a_thinly_drawn_stratum_weakens_what_no_miss_proves() -> None:
    full = Sampled(100, np.ones(100, np.int64), np.ones(100, np.int64))
    empty = Sampled(10_000, np.zeros(100, np.int64), np.zeros(100, np.int64))
    found, alone = share_of_totals([full, empty]), share_of_totals([full])
    assert found is not None
    assert alone == Share(1.0, 1.0, 1.0)
    # a hundredth was seen of where misses may hide: about 300 could, beside the 100 that were found
    assert found.low == pytest.approx(np.exp(-3 / (100 * 0.01)), abs=0.01)
    more = share_of_totals([full, empty], 2)
    assert more is not None
    assert more.low < found.low


def sample(population: Population, drawn: list[int], rng: np.random.Generator) -> list[Sampled]:
    strata = []
    for (hits, of), n in zip(population, drawn, strict=True):
        chosen = rng.choice(len(of), n, replace=False)
        strata.append(Sampled(len(of), hits[chosen], of[chosen]))
    return strata


def coverage(population: Population, drawn: list[int], runs: int = 1000) -> tuple[float, float]:
    """Return how often the interval held the true share, and how often that was not below it."""
    rng = np.random.default_rng(3)
    truth = sum(hits.sum() for hits, _ in population) / sum(of.sum() for _, of in population)
    held = above = 0
    for _ in range(runs):
        found = share_of_totals(sample(population, drawn, rng))
        assert found is not None
        held += found.low <= truth <= found.high
        above += found.low <= truth
    return held / runs, above / runs


def made_population(seed: int, often: float) -> Population:
    """Return documents with pairs, of which some are missed, and documents of which all pairs are missed."""
    rng = np.random.default_rng(seed)
    of = rng.integers(1, 6, 2000)
    hits = rng.binomial(of, often)
    lonely = np.zeros(20_000, np.int64)
    lonely[: int(2000 * (1 - often))] = 1
    return [(hits, of), (lonely * 0, lonely)]


@pytest.mark.parametrize("often", [0.5, 0.8, 0.95])
def test_intervals_cover_the_truth(often: float) -> None:
    """Nominal 95 %; a ratio of skewed sums reaches 90 % at least, in 1 000 samples of 600 documents."""
    held, above = coverage(made_population(1, often), [300, 300])
    assert held >= 0.90
    assert above >= 0.94


@pytest.mark.parametrize("lost", [5, 20, 60, 100, 300])
def test_the_interval_holds_when_misses_are_hardly_seen(lost: int) -> None:
    """Misses stand only in a stratum of which one in a hundred is drawn: many samples see none of them."""
    of = np.ones(2000, np.int64)
    lonely = np.zeros(20_000, np.int64)
    lonely[:lost] = 1
    held, above = coverage([(of, of), (lonely * 0, lonely)], [200, 200])
    assert held >= 0.90
    assert above >= 0.94


@given(st.one_of(st.integers(1, 3), st.integers(1, 10**12)), st.data())
def test_wilsons_interval_of_few_and_very_many_trials(trials: int, data: st.DataObject) -> None:
    """Against the two shares p with (hits/n − p)² = z² p (1 − p) / n, by bisection with 60 digits."""
    hits = data.draw(st.integers(0, trials))
    interval = wilson(hits / trials, trials)
    with localcontext() as context:
        context.prec = 60
        share, z2 = Decimal(hits) / trials, Decimal(Z95) ** 2

        def accepted(p: Decimal) -> bool:
            return (share - p) ** 2 * trials <= z2 * p * (1 - p)

        for end, outside in ((interval.low, Decimal(0)), (interval.high, Decimal(1))):
            inside = share
            for _ in range(100):
                middle = (inside + outside) / 2
                inside, outside = (middle, outside) if accepted(middle) else (inside, middle)
            assert end == pytest.approx(float(inside), rel=1e-9, abs=1e-15)


@given(st.one_of(st.integers(1, 4), st.integers(1, 120)), st.integers(0, 1000))
def test_the_coverage_sums_the_draws_whose_interval_contains_the_share(trials: int, thousandths: int) -> None:
    share = Fraction(thousandths, 1000)
    total = Fraction(0)
    for hits in range(trials + 1):
        interval = wilson(hits / trials, trials)
        if interval.low <= share <= interval.high:
            total += comb(trials, hits) * share**hits * (1 - share) ** (trials - hits)
    assert coverage_of(float(share), trials) == pytest.approx(float(total), abs=1e-9)


@pytest.mark.parametrize("trials", [1, 2, 3, 4, 50, 400, 100_000])
def test_the_coverage_is_95_in_100_on_average(trials: int) -> None:
    shares = [coverage_of(place / 2000, trials) for place in range(1, 2000)]
    assert sum(shares) / len(shares) == pytest.approx(0.953, abs=0.006)
    assert min(shares) > 0.79
    assert max(shares) <= 1
    assert coverage_of(0, trials) == coverage_of(1, trials) == 1
