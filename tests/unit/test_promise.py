"""The formulas of the promise against counting: hypergeometric probabilities as fractions, and all orders."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.collection.query.promise import fewest_lookups, passing, ways


def no_hit(n: int, c: int, m: int) -> Fraction:
    return Fraction(comb(n - c, m), comb(n, m))


SIZES = st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))
PROBABILITIES = st.integers(1, 999).map(lambda value: Fraction(value, 1000))


@given(SIZES, PROBABILITIES)
def test_the_fewest_lookups_are_enough_and_one_less_is_not(sizes: tuple[int, int], asked: Fraction) -> None:
    n, c = sizes
    m = fewest_lookups(n, c, float(asked))
    slack = Fraction(1, 10**9)
    assert 1 - no_hit(n, c, m) >= asked - slack
    assert m == 1 or 1 - no_hit(n, c, m - 1) < asked + slack


@pytest.mark.parametrize(
    ("overlap", "probability", "lookups"),
    [(20, 80, 8), (20, 95, 14), (50, 80, 3), (50, 95, 5), (80, 95, 2), (80, 99, 3)],
)
def test_lookups_of_a_long_document_are_those_of_the_formula(overlap: int, probability: int, lookups: int) -> None:
    n = 100_000
    assert fewest_lookups(n, n * overlap // 100, probability / 100) == lookups
    missed = 1 - overlap / 100
    assert missed**lookups <= 1 - probability / 100 < missed ** (lookups - 1)


def test_certainty_takes_all_but_the_shared_ones_and_one_more() -> None:
    assert [fewest_lookups(10, c, 1.0) for c in (1, 5, 10)] == [10, 6, 1]
    assert fewest_lookups(1000, 1, 0.99, most=20) == 21


@pytest.mark.parametrize(
    ("n", "c", "single", "drawn"), [(7, 3, 2, 4), (8, 2, 3, 6), (6, 6, 1, 3), (9, 4, 4, 4), (5, 1, 1, 5)]
)
def test_passing_both_ways_counted_over_all_orders(n: int, c: int, single: int, drawn: int) -> None:
    """Which of the n drawn are shared: all choices are equally likely, and the first of them are the smallest."""
    placings = list(combinations(range(n), c))
    for hits in range(drawn + 1):
        good = sum(
            any(place < single for place in places) and sum(place < drawn for place in places) >= hits
            for places in placings
        )
        assert passing(n, c, single, drawn)[hits] == pytest.approx(good / len(placings), abs=1e-12)


@given(SIZES, st.integers(0, 120), PROBABILITIES)
def test_both_ways_keep_the_promise(sizes: tuple[int, int], available: int, asked: Fraction) -> None:
    n, c = sizes
    found = ways(n, c, min(available, n), float(asked))
    if found is None:
        assert 1 - no_hit(n, c, min(available, n)) < asked + Fraction(1, 10**9)
        return
    assert found.single <= available
    assert 1 - no_hit(n, c, found.single) >= found.recall - 1e-9 >= float(asked) - 2e-9
    assert found.single >= fewest_lookups(n, c, float(asked))
    if found.several:
        drawn, hits = found.several
        assert found.single < drawn <= available
        assert hits >= 2
        tail = sum(
            Fraction(comb(c, k) * comb(n - c, drawn - k), comb(n, drawn)) for k in range(hits, min(c, drawn) + 1)
        )
        assert tail >= found.recall - 1e-9


def test_a_choice_by_the_postings_breaks_the_promise_of_each_way_alone_but_not_that_of_both() -> None:
    """Many documents hold what is shared, and none the rest: few postings in the sample then mean few hits.

    So one hit is asked for just where there is none. The ways are taken with the promised probability each, and
    then as ``ways`` plans them.
    """
    n, c, asked = 600, 180, 0.8
    planned = ways(n, c, 64, asked)
    assert planned is not None
    assert planned.several is not None
    drawn, hits = planned.several
    single = fewest_lookups(n, c, asked)
    alone = max(h for h in range(1, drawn) if tail(n, c, drawn, h) >= asked)
    assert (single, hits) < (planned.single, alone + 1)
    generator = np.random.default_rng(5)
    shared = np.arange(n) < c
    rounds = 20_000
    found_alone = found_both = 0
    for _ in range(rounds):
        order = generator.permutation(shared)
        counted = order[:drawn].sum()
        found_alone += order[:single].any() and counted >= alone
        found_both += order[: planned.single].any() and counted >= hits
    margin = 4 * (asked * (1 - asked) / rounds) ** 0.5
    assert found_alone / rounds < asked - margin
    assert found_both / rounds == pytest.approx(planned.recall, abs=margin)
    assert planned.recall >= asked


def tail(n: int, c: int, drawn: int, hits: int) -> float:
    return sum(comb(c, k) * comb(n - c, drawn - k) for k in range(hits, drawn + 1)) / comb(n, drawn)
