"""The formulas of the promise against counting: hypergeometric probabilities as fractions, and all orders."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.collection.query.plan import EXPECTED, TWOFOLD, chosen_draw, fewest_lookups, tail_probabilities


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


@pytest.mark.parametrize(("n", "c", "drawn"), [(7, 3, 4), (8, 2, 6), (6, 6, 3), (9, 4, 4), (5, 1, 5)])
def test_passing_counted_over_all_orders(n: int, c: int, drawn: int) -> None:
    """Which of the n drawn are shared: all choices are equally likely, and the first of them are the smallest."""
    placings = list(combinations(range(n), c))
    for hits in range(drawn + 1):
        good = sum(sum(place < drawn for place in places) >= hits for places in placings)
        assert tail_probabilities(n, c, drawn)[hits] == pytest.approx(good / len(placings), abs=1e-12)


@given(SIZES, st.integers(0, 120), PROBABILITIES)
def test_the_promise_is_kept_with_the_most_hits(sizes: tuple[int, int], available: int, asked: Fraction) -> None:
    n, c = sizes
    available = min(available, n)
    found = chosen_draw(n, c, available, float(asked))
    if found is None:
        assert 1 - no_hit(n, c, available) < asked + Fraction(1, 10**9)
        return
    assert 1 <= found.hits <= found.drawn <= available
    assert tail(n, c, found.drawn, found.hits) == pytest.approx(found.recall, abs=1e-9)
    assert found.recall >= float(asked)
    assert tail(n, c, found.drawn - 1, found.hits) < float(asked) + 1e-9, "fewer look-ups would do"
    most = min(available, max(-(-EXPECTED * n // c), TWOFOLD * fewest_lookups(n, c, float(asked))))
    assert tail(n, c, most, found.hits + 1) < float(asked) + 1e-9, "more hits could be asked for"


@pytest.mark.parametrize(("n", "c", "asked"), [(600, 180, 0.8), (400, 80, 0.95), (90, 45, 0.8)])
def test_in_random_orders_it_is_found_as_often_as_promised(n: int, c: int, asked: float) -> None:
    found = chosen_draw(n, c, n // 5, asked)
    assert found is not None
    generator = np.random.default_rng(5)
    shared = np.arange(n) < c
    rounds = 20_000
    passed = sum(generator.permutation(shared)[: found.drawn].sum() >= found.hits for _ in range(rounds))
    assert passed / rounds == pytest.approx(found.recall, abs=4 * (asked * (1 - asked) / rounds) ** 0.5)


def tail(n: int, c: int, drawn: int, hits: int) -> float:
    return sum(comb(c, k) * comb(n - c, drawn - k) for k in range(hits, max(drawn, 0) + 1)) / comb(n, drawn)
