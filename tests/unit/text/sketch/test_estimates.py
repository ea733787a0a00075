"""Estimates from matching slots: the Wilson interval against its definition and published numbers."""

from __future__ import annotations

import re
from math import comb, exp, factorial, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.errors import FormatError
from neardup.text.intervals import waiting_times
from neardup.text.sketch.families import ShingleFamily
from neardup.text.sketch.minhash import MinHash
from neardup.text.sketch.provenance import Estimate, SizeEstimate, estimate
from neardup.text.sketch.samples import SampledShingles

Z = 1.959963984540054  # 97.5 % of a standard normal variable lie below


@given(st.integers(1, 4096), st.data())
def test_wilson_interval(slots: int, data: st.DataObject) -> None:
    """Its ends are the p at which the observed share is z standard errors of p away (Wilson 1927)."""
    matches = data.draw(st.integers(0, slots))
    found = estimate(matches, slots)
    share = matches / slots
    assert found.value == share
    assert 0 <= found.low <= share + 1e-15
    assert share <= found.high + 1e-15
    assert found.high <= 1
    for end in (found.low, found.high):
        assert (share - end) ** 2 == pytest.approx(Z * Z * end * (1 - end) / slots, abs=1e-12)
    assert found.low > 0 or matches == 0
    assert found.high > share or matches == slots
    assert found.low < share or matches == 0


def test_the_interval_holds_the_estimate_itself() -> None:
    for slots in range(1, 300):
        assert estimate(slots, slots).high == 1
        assert estimate(0, slots).low == 0


@given(st.integers(1, 40), st.floats(0.001, 10))
def test_the_interval_of_a_size_by_the_gamma_distribution(slots: int, wait: float) -> None:
    """P(Γ(k) < x) for whole k: 1 − P(fewer than k events of a Poisson distribution with mean x)."""
    size = SizeEstimate.of(np.full(slots, wait))
    total = slots * wait
    assert size.value == pytest.approx((slots - 1 or log(2)) / total)
    assert size.low < size.value < size.high
    for bound, share in ((size.low, 0.025), (size.high, 0.975)):
        mean = bound * total
        below = 1 - sum(mean**i * exp(-mean) / factorial(i) for i in range(slots))
        assert below == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize("slots", [1, 2, 3, 128, 4096, 100_000])
def test_the_quantiles_of_any_number_of_waiting_times(slots: int) -> None:
    """Against sums that were drawn: the shares of them below the quantiles."""
    low, high = waiting_times(slots)
    sums = np.random.default_rng(7).gamma(slots, size=400_000)
    assert float((sums < low).mean()) == pytest.approx(0.025, abs=0.0016)  # 6.2 standard errors
    assert float((sums < high).mean()) == pytest.approx(0.975, abs=0.0016)


@pytest.mark.parametrize(("slots", "labels"), [(1, ["0", "1"]), (3, ["0", "0.33", "0.67", "1"])])
def test_the_figure_of_few_slots_has_the_estimates_that_they_can_have(slots: int, labels: list[str]) -> None:
    shown = re.findall(r">estimate ([\d.]+)<", nd.ModP(slots)._repr_html_())
    assert shown == labels


def test_sizes_that_a_signature_shows_and_does_not() -> None:
    family = nd.MinHash(256)
    one, other = family.of_ids(range(600)), family.of_ids(range(300, 900))
    assert (one | other).size == family.of_ids(range(900)).size
    assert 700 < (one | other).size < 1100
    assert family.of("").size.value == family.of("").size.high == 0
    assert str(family.of_ids(range(10**4)).size).startswith("9,")
    assert "256 slots" in one.size._repr_html_()
    without = [nd.ModP(), nd.MultiplyShift(), nd.BucketMinHash(), nd.BBit(nd.MinHash())]
    for kind in without:
        with pytest.raises(FormatError) as refused:
            _ = kind.of_ids([1, 2]).size
        assert "MinHash.of" in str(refused.value)


def test_published_numbers() -> None:
    assert (round(estimate(138, 200).low, 2), round(estimate(138, 200).high, 2)) == (0.62, 0.75)
    half = estimate(100, 200)
    assert half.low == pytest.approx(0.5 - 0.069, abs=0.001)
    assert half.high == pytest.approx(0.5 + 0.069, abs=0.001)
    # of no matches the interval is [0, z² / (n + z²)]
    assert (estimate(0, 10).low, round(estimate(0, 10).high, 4)) == (0, 0.2775)


@pytest.mark.parametrize("slots", [128, 200])
@pytest.mark.parametrize("similarity", [0.1, 0.5, 0.8])
def test_the_interval_covers_about_95_percent(slots: int, similarity: float) -> None:
    """The exact coverage, summed over the binomial distribution of the matching slots."""
    covered = 0.0
    for matches in range(slots + 1):
        found = estimate(matches, slots)
        if found.low <= similarity <= found.high:
            covered += comb(slots, matches) * similarity**matches * (1 - similarity) ** (slots - matches)
    assert 0.925 < covered < 0.975


def test_an_estimate_as_text() -> None:
    assert str(estimate(138, 200)) == "0.690 (95 % interval 0.622–0.750, 200 slots)"
    assert str(Estimate(0.5, 0.25, 0.75, 4)) == "0.500 (95 % interval 0.250–0.750, 4 slots)"


def test_an_estimate_is_rounded_down_everywhere() -> None:
    """As all similarities: one page does not show two values of one estimate."""
    found = Estimate(0.2579, 0.1999, 0.9999, 128)
    assert str(found) == "0.257 (95 % interval 0.199–0.999, 128 slots)"
    assert "0.258" not in found._repr_html_()


def test_an_estimate_is_read_as_a_number() -> None:
    found = estimate(138, 200)
    assert found.error == pytest.approx(sqrt(0.69 * 0.31 / 200), rel=0.02)
    assert float(found) == 0.69
    assert found < 0.7 < 0.71 > found >= 0.69 >= found > 0.5 <= found <= 1
    assert estimate(1, 4) < estimate(1, 2) <= estimate(2, 4) <= np.float64(0.5)
    assert min(estimate(3, 4), estimate(1, 4), estimate(2, 4)) == estimate(1, 4)
    assert (f"{found:.2f}", f"{found:.1%}", f"{found}") == ("0.69", "69.0%", str(found))
    assert np.array([found, estimate(1, 2)], float).tolist() == [0.69, 0.5]
    assert estimate(1, 2) != estimate(2, 4)  # the intervals differ
    with pytest.raises(TypeError):
        assert found < "0.7"


def test_only_a_family_with_slots_shows_how_far_its_estimates_vary() -> None:
    def figures(family: ShingleFamily) -> int:
        return family._repr_html_().count("<svg")

    assert figures(SampledShingles()) == 0
    assert figures(MinHash(slots=64)) == 1
