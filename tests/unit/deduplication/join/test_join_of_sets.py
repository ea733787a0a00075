"""``neardup.join``: the pairs of sets by the definition, from every form of sets, and what is no set."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.deduplication.run import sets as run_sets
from neardup.errors import InputError, SettingError
from support import reference_join
from support.messages import has_parts

MEASURES = ("resemblance", "containment", "overlap", "overlap-max", "dice", "cosine", "multiset")
SETS = [["a", "b"], ["b", "a", "c"], [], ["x"]]
ONES = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
NUMBERS = [[ord(element) for element in one] for one in SETS]


class Rows:
    """A matrix with the three attributes that a sparse matrix of ones has at least."""

    def __init__(self, matrix: Any) -> None:
        self.indptr, self.indices, self.shape = matrix.indptr, matrix.indices, matrix.shape


FORMS = {
    "tuples": tuple(map(tuple, SETS)),
    "sets": [frozenset(one) for one in SETS],
    "repeats": [one + one for one in SETS],
    "iterator": iter(SETS),
    "array of lists": np.array(SETS, object),
    "None for an empty set": [*SETS[:2], None, SETS[3]],
    "NaN for an empty set": [*SETS[:2], float("nan"), SETS[3]],
    "counts of 1": [{**dict.fromkeys(one, 1), "not there": 0} for one in SETS],
    "bytes": [[element.encode() for element in one] for one in SETS],
    "numbers": NUMBERS,
    "numbers of both types": [[np.int64(NUMBERS[0][0]), NUMBERS[0][1]], *NUMBERS[1:]],
    "the largest number": [[element + 2**64 - 200 for element in one] for one in NUMBERS],
    "elements that are tuples": [[(element, 1) for element in one] for one in SETS],
    "arrays": [np.array(one, np.int16) for one in NUMBERS],
    "arrays of both signs": [np.array(NUMBERS[0], np.int8), *(np.array(one, np.uint64) for one in NUMBERS[1:])],
    "arrow": pa.array(SETS),
    "arrow, large": pa.array(SETS, pa.large_list(pa.large_string())),
    "arrow, a slice": pa.array([["q"], *SETS, ["a", "b"]]).slice(1, 4),
    "arrow, chunks": pa.chunked_array([SETS[:1], SETS[1:]], pa.list_(pa.string())),
    "arrow, null": pa.array([*SETS[:2], None, SETS[3]]),
    "arrow, views": pa.array(SETS, pa.list_view(pa.string_view())),
    "arrow, dictionary": pa.array(SETS, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "arrow, numbers": pa.array(NUMBERS, pa.list_(pa.int32())),
    "polars": pl.Series(SETS),
    "pandas": pd.Series([frozenset(one) for one in SETS]),
    "pandas of arrow": pd.Series(SETS, dtype=pd.ArrowDtype(pa.list_(pa.string()))),
    "matrix": scipy.sparse.csr_matrix(ONES),
    "matrix of columns": scipy.sparse.csc_matrix(ONES.astype(bool)),
    "array of coordinates": scipy.sparse.coo_array(ONES.astype(float)),
    "like a matrix": Rows(scipy.sparse.csr_matrix(ONES)),
}


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def families() -> st.SearchStrategy[list[list[int]]]:
    """Lists of a few numbers, with repeats, of which some begin as others do."""
    lists = st.lists(st.lists(st.integers(0, 12), max_size=9), max_size=12)
    return lists.map(lambda some: [*some, *(one[: len(one) // 2 + 2] for one in some)])


@given(families(), st.none() | families(), st.sampled_from(MEASURES), st.sampled_from([0.1, 0.4, 0.5, 0.8, 1.0]))
def test_the_pairs_are_those_of_the_definition(
    left: list[list[int]], right: list[list[int]] | None, measure: str, threshold: float
) -> None:
    table = nd.join(left, right, measure=measure, threshold=threshold)
    assert rows_of(table) == reference_join.counted_pairs(left, right, measure, Fraction(str(threshold)))


WEIGHTS = [(1, 1), (0.5, 0.5), (1, 0), (0, 1), (0, 0), (0.1, 0.9), (2.5, 0.75), (1000, 0.001)]


def by_weights(
    left: list[list[int]], right: list[list[int]] | None, least: Fraction, alpha: float, beta: float
) -> list[tuple[Any, ...]]:
    """The definition: |A∩B| / (|A∩B| + α·|A−B| + β·|B−A|), in one collection the greater direction."""
    rows = []
    ends = combinations(range(len(left)), 2) if right is None else product(range(len(left)), range(len(right)))
    for x, y in ends:
        a, b = set(left[x]), set((left if right is None else right)[y])
        of_a, of_b = (Fraction(str(weight)) for weight in (alpha, beta))
        shares = [Fraction(len(a & b)) / (len(a & b) + of_a * len(a - b) + of_b * len(b - a))] if a & b else []
        if shares and right is None:
            shares.append(Fraction(len(a & b)) / (len(a & b) + of_b * len(a - b) + of_a * len(b - a)))
        if shares and max(shares) >= least:
            rows.append((x, y, float(max(shares)), len(a & b), len(a), len(b)))
    return rows


@given(families(), st.none() | families(), st.sampled_from(WEIGHTS), st.sampled_from([0.1, 0.4, 0.5, 0.8, 1.0]))
def test_weights_of_what_one_set_alone_has(
    left: list[list[int]], right: list[list[int]] | None, weights: tuple[float, float], threshold: float
) -> None:
    alpha, beta = weights
    table = nd.join(left, right, measure="tversky", threshold=threshold, alpha=alpha, beta=beta)
    assert rows_of(table) == by_weights(left, right, Fraction(str(threshold)), alpha, beta)
    one, other = left[0] if left else [], left[-1] if left else []
    expected = {row[:2]: row[2] for row in by_weights([one], [other], Fraction(0), alpha, beta)}
    value = nd.similarity(one, other, measure="tversky", alpha=alpha, beta=beta)
    assert value == expected.get((0, 0), float(not one and not other))
    assert nd.similarity(one, other, measure="shared") == len(set(one) & set(other))
    known = {(1, 1): "resemblance", (0.5, 0.5): "dice", (1, 0): "containment"}.get(weights)
    if known is not None:
        assert table.equals(nd.join(left, right, measure=known, threshold=f"{round(100 * threshold)}%"))


def test_weights_may_be_of_numpy_and_tiny() -> None:
    form: dict[str, Any] = {"measure": "tversky", "threshold": 0.6}
    half = nd.join(SETS, alpha=np.float64(0.5), beta=np.float32(0.5).item(), **form)
    assert half.equals(nd.join(SETS, measure="dice", threshold=0.6))
    assert rows_of(nd.join(SETS, alpha=0, beta=1e-320, **form)) == [(0, 1, 1.0, 2, 2, 3)]


def test_large_sets_and_weights_do_not_overflow() -> None:
    sizes = (np.array([2**31 - 2]), np.array([2**31 - 1]), np.array([2**31 - 1]))
    part, whole = run_sets._RatioModel(10**6, 999_999_999, 1).shares(*sizes, 10**6)
    assert part[0] * 10**6 == 10**12 * (2**31 - 2)
    assert whole[0] == 10**6 * (2**31 - 2) + 10**9


@given(families(), st.none() | families(), st.integers(1, 6))
def test_a_number_of_shared_elements(left: list[list[int]], right: list[list[int]] | None, least: int) -> None:
    ends = combinations(range(len(left)), 2) if right is None else product(range(len(left)), range(len(right)))
    others = left if right is None else right
    expected = [
        (x, y, float(shared), shared, len(set(left[x])), len(set(others[y])))
        for x, y in ends
        if (shared := len(set(left[x]) & set(others[y]))) >= least
    ]
    assert rows_of(nd.join(left, right, measure="shared", threshold=least)) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"measure": "shared"}, ("threshold is 0.8", "whole number")),
        ({"measure": "shared", "threshold": 2.5}, ("threshold is 2.5", "whole number")),
        ({"measure": "shared", "threshold": float("inf")}, ("threshold is inf", "whole number")),
        ({"measure": "shared", "threshold": 2**31}, ("threshold is 2147483648", "whole number")),
        ({"measure": "shared", "threshold": "80%"}, ("threshold is '80%'", "whole number")),
        ({"measure": "shared", "threshold": True}, ("threshold is True", "whole number")),
        ({"measure": "overlap", "threshold": 3}, ("threshold is 3", "measure shared")),
        ({"threshold": 80}, ("threshold is 80", "Did you mean 0.8?")),
        ({"measure": "tversky"}, ("alpha is None", "from 0 to 1,000")),
        ({"measure": "tversky", "alpha": 1, "beta": -1}, ("beta is -1",)),
        ({"measure": "tversky", "alpha": 1, "beta": float("nan")}, ("beta is nan",)),
        ({"measure": "tversky", "alpha": 1, "beta": 1, "threshold": 2}, ("threshold is 2",)),
        ({"measure": "dice", "alpha": 1}, ("alpha or beta", "'dice'", "measure tversky")),
    ],
)
def test_measures_of_a_join_refuse_what_they_cannot_follow(given: dict[str, Any], said: tuple[str, ...]) -> None:
    with pytest.raises(SettingError) as error:
        nd.join(SETS, **given)
    assert has_parts(str(error.value), *said)


@pytest.mark.parametrize("measure", ["shared", "tversky"])
def test_a_run_names_the_join_that_has_the_measure(measure: str) -> None:
    for call in (lambda: nd.find(sets=SETS, measure=measure), lambda: nd.find(["a b"], measure=measure)):
        with pytest.raises(SettingError) as error:
            call()
        assert has_parts(str(error.value), measure, "Use neardup.join")


def drawn(shape: str, number: int, seed: int) -> list[set[int]]:
    """Sets of a Poisson number of tokens: 10 of 209 equally frequent ones, or 30 by Zipf's law; some edited."""
    random = np.random.default_rng(seed)
    tokens, mean, skew = (209, 10, 0.0) if shape == "uniform" else (20_000, 30, 1.0)
    weights = np.arange(1, tokens + 1) ** -skew
    sizes = np.maximum(1, random.poisson(mean, number))
    sets = [set(random.choice(tokens, size, p=weights / weights.sum()).tolist()) for size in sizes]
    return [*sets, *({*sorted(one)[1:], int(random.integers(tokens))} for one in sets[::4])]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", ["uniform", "zipf"])
def test_thousands_of_sets_by_brute_force(shape: str, threads: int) -> None:
    sets = drawn(shape, 1500, 7)
    for threshold in (Fraction(3, 10), Fraction(1, 2), Fraction(4, 5)):
        expected = reference_join.join(reference_join.sets_of_numbers(sets), reference_join.resemblance(threshold))
        table = nd.join(sets, threshold=float(threshold), threads=threads)
        columns = (table[name].to_pylist() for name in ("left", "right", "shared", "size_left", "size_right"))
        assert list(zip(*columns, strict=True)) == expected.rows()
        first, second = sets[:700], sets[700:]
        across = nd.join(first, second, threshold=float(threshold), threads=threads)
        pairs = [
            (a, b - 700) for a, b in zip(expected.a.tolist(), expected.b.tolist(), strict=True) if a < 700 <= b
        ]
        assert list(zip(across["left"].to_pylist(), across["right"].to_pylist(), strict=True)) == pairs


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_sets(form: str) -> None:
    assert rows_of(nd.join(FORMS[form], threshold=0.5)) == [(0, 1, 2 / 3, 2, 2, 3)]


def test_forms_meet_each_other() -> None:
    assert rows_of(nd.join(SETS, pl.Series([["c", "b"]]), threshold=0.5)) == [(1, 0, 2 / 3, 2, 3, 2)]
    assert rows_of(nd.join(pa.array(NUMBERS), [[98, 99]], threshold=0.5)) == [(1, 0, 2 / 3, 2, 3, 2)]


def test_counts_of_every_form() -> None:
    expected = [(0, 1, 0.75, 3, 3, 4)]
    for form in (
        [Counter("aab"), ["a", "a", "b", "c"]],
        [[5, 5, 2**63], np.array([5, 2**63, 5, 7], np.uint64)],
        pa.array([["a", "a", "b"], ["b", "a", "a", "c"]]),
        scipy.sparse.csr_matrix([[2, 1, 0], [2, 1, 1]]),
    ):
        assert rows_of(nd.join(form, measure="multiset", threshold=0.75)) == expected


def test_a_mapping_names_its_sets() -> None:
    table = nd.join({"x": {1, 2}, "y": {3}}, {7: {3}, 8: {2, 1, 4}}, threshold=0.6)
    assert table.select(["left", "right"]).to_pylist() == [{"left": "x", "right": 8}, {"left": "y", "right": 7}]


def test_containment_has_a_direction_between_two_collections() -> None:
    small, large = [{1, 2}], [{1, 2, 3, 4, 5}]
    assert rows_of(nd.join(small, large, measure="containment")) == [(0, 0, 1.0, 2, 2, 5)]
    assert rows_of(nd.join(large, small, measure="containment")) == []
    assert rows_of(nd.join(large + small, measure="containment")) == [(0, 1, 1.0, 2, 5, 2)]


def test_numbers_that_one_low_or_high_half_tells_apart_are_different() -> None:
    assert rows_of(nd.join([{2**63}, {0}, {2**32}, {1}], threshold=0.1)) == []


REFUSED = {
    "left holds whole numbers, after str": [["a", 1]],
    "Set 1 of left holds None": [["a"], ["a", None]],
    "Set 0 of left holds a list|Flatten": [[["a"]]],
    "Set 0 of left holds nan": [[float("nan")]],
    "Set 0 of left holds True": [[True]],
    "Set 1 of left holds -1|0 to 2⁶⁴ − 1": [[1, 2], [-1]],
    "Set 0 of left holds 18446744073709551616": [[2**64]],
    "Set 0 of left is a str|neardup.tokens": ["a text"],
    "Set 0 of left is a int": [7],
    "Set 0 of left is a ndarray": [np.zeros((2, 2), np.int64)],
    "left holds -2|uint64": [np.array([-2])],
    "A tuple cannot be an element": [[([1],)]],
    "left is a str": "a text",
    "left is a int": 7,
    "left is an array of 2 by 3|csr_matrix": np.zeros((2, 3), np.int64),
    "left holds a null in a list": pa.array([["a", None]]),
    "left has lists of list": pa.array([[["a"]]]),
    "left holds string": pa.array(["a"]),
    "left counts an element 2 times|multiset": scipy.sparse.csr_matrix([[2]]),
    "left counts an element 3 times|multiset": [Counter("aaa")],
    "left counts an element -1 times": scipy.sparse.csr_matrix([[-1]]),
    "left counts an element 0.5 times": scipy.sparse.csr_matrix([[0.5]]),
    "left counts an element nan times": scipy.sparse.csr_matrix([[float("nan")]]),
    "left counts an element x times": [{"a": "x"}],
}


@pytest.mark.parametrize("parts", REFUSED)
def test_what_is_no_set_is_refused(parts: str) -> None:
    with pytest.raises(InputError) as refused:
        nd.join(REFUSED[parts])
    assert has_parts(str(refused.value), *parts.split("|"))
    assert "Allowed: " in str(refused.value)


def test_two_collections_have_one_type_of_elements() -> None:
    matrix = scipy.sparse.csr_matrix
    for left, right, words in (
        ([["a"]], [[1]], "right holds whole numbers"),
        (matrix([[1, 0]]), matrix([[1]]), "right holds rows of a matrix with 1 columns"),
        ([[0]], matrix([[1]]), "right holds rows"),
    ):
        with pytest.raises(InputError) as refused:
            nd.join(left, right)
        assert has_parts(str(refused.value), words, "after")


def test_settings_out_of_range_are_refused() -> None:
    cases: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        ({"threshold": 80}, ("threshold is 80", "0.8")),
        ({"threshold": 0}, ("threshold is 0", "above 0")),
        ({"measure": "lcs"}, ("measure is 'lcs'", "multiset")),
        ({"measure": "jacard"}, ("measure is 'jacard'", "Did you mean 'jaccard'?")),
        ({"measure": "vocabulary"}, ("measure is 'vocabulary'", "resemblance")),
    ]
    for settings, parts in cases:
        with pytest.raises(SettingError) as refused:
            nd.join(SETS, **settings)
        assert has_parts(str(refused.value), *parts)
