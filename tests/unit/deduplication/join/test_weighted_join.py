"""``neardup.join`` by weights: the pairs by the definition in fractions, tf-idf by hand, and wrong weights."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.errors import InputError, NeardupError, SettingError
from neardup.kernels.join import fill_rests
from support import reference_join
from support.messages import has_parts

COSINE, RESEMBLANCE = "weighted-cosine", "weighted-resemblance"
MEASURES = st.sampled_from([RESEMBLANCE, COSINE])
THRESHOLDS = st.sampled_from([0.05, 0.3, 0.5, 0.6, 0.8, 1.0])
WHOLE = st.integers(0, 3)
REAL = st.floats(1e-3, 1e3)
OF_ELEMENTS = {number: (0.0, 1.0, 0.3, 2.5)[number % 4] for number in range(13)}


def families(weights: st.SearchStrategy[float]) -> st.SearchStrategy[list[dict[int, float]]]:
    """Sets of a few numbers, some of them twice, with all weights doubled, or with one weight of 1."""

    def with_relatives(sets: list[dict[int, float]]) -> list[dict[int, float]]:
        doubled = [{element: 2 * weight for element, weight in one.items()} for one in sets[::3]]
        return [*sets, *sets[:2], *doubled, *({**one, 5: 1.0} for one in sets[::2])]

    return st.lists(st.dictionaries(st.integers(0, 12), weights, max_size=8), max_size=10).map(with_relatives)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


@given(
    st.sampled_from([WHOLE, REAL]).flatmap(lambda weights: st.lists(families(weights), min_size=1, max_size=2)),
    MEASURES,
    THRESHOLDS,
    st.sampled_from([None, "tf-idf", OF_ELEMENTS]),
)
def test_the_pairs_are_those_of_the_definition(
    sides: list[list[dict[int, float]]], measure: str, threshold: float, weights: Any
) -> None:
    rows = rows_of(nd.join(*sides, measure=measure, threshold=threshold, weights=weights))
    weighted = reference_join.weighted_by(sides, weights)
    expected = reference_join.weighted_pairs(weighted, measure, Fraction(str(threshold)))
    assert [row[:2] for row in rows] == [row[:2] for row in expected]
    for row, twin in zip(rows, expected, strict=True):
        assert row[2:] == pytest.approx(twin[2:], rel=1e-12)
        assert threshold <= row[2] <= 1


@given(families(WHOLE | REAL), MEASURES, st.sampled_from([None, OF_ELEMENTS]))
def test_two_sets_have_the_similarity_of_the_definition(
    sets: list[dict[int, float]], measure: str, weights: Any
) -> None:
    for one, other in itertools.pairwise(sets):
        weighted = reference_join.weighted_by([[one], [other]], weights)
        rows = reference_join.weighted_pairs(weighted, measure, Fraction(0))
        expected = rows[0][2] if rows else float(weighted == [[{}], [{}]])
        assert nd.similarity(one, other, measure=measure, weights=weights) == pytest.approx(expected, rel=1e-12)


@given(st.lists(st.integers(0, 9), max_size=9), st.lists(st.integers(0, 9), max_size=9))
def test_two_sets_without_weights_have_the_similarity_of_a_join(one: list[int], other: list[int]) -> None:
    for measure in ("resemblance", "containment", "overlap", "multiset"):
        table = nd.join([one], [other], measure=measure, threshold=0.01)
        expected = table["similarity"].to_pylist() or [float(not one and not other)]
        assert [nd.similarity(one, other, measure=measure)] == expected


@given(st.lists(st.lists(st.integers(0, 12), max_size=9), max_size=12), THRESHOLDS)
def test_weights_of_one_are_counts(sets: list[list[int]], threshold: float) -> None:
    counted = nd.join(sets, measure="multiset", threshold=threshold)
    assert rows_of(nd.join(sets, measure="weighted-jaccard", threshold=threshold)) == rows_of(counted)
    plain = nd.join([*map(set, sets)], threshold=threshold)
    weighted = nd.join([*map(set, sets)], measure=RESEMBLANCE, threshold=threshold)
    assert rows_of(weighted) == rows_of(plain)


def drawn(number: int, seed: int) -> scipy.sparse.csr_matrix:
    """Rows of real weights of about 20 of 2,000 elements by Zipf's law; a quarter are edited copies."""
    random = np.random.default_rng(seed)
    share = 1 / np.arange(1, 2001)
    rows = np.zeros((number, 2000))
    for row in rows:
        chosen = random.choice(2000, random.poisson(20) + 1, p=share / share.sum())
        row[chosen] = random.gamma(2, size=len(chosen))
    rows[::4] = rows[1::4]
    rows[::4, :40] *= random.uniform(0.5, 2, (number // 4, 40))
    return scipy.sparse.csr_matrix(rows)


def test_thousands_of_rows_of_a_matrix_by_brute_force() -> None:
    matrix = drawn(4200, 3)  # more than one part of the join
    unit = scipy.sparse.diags(1 / np.sqrt(matrix.multiply(matrix).sum(axis=1).A1)) @ matrix
    product = unit @ unit.T
    for threshold, threads in ((0.5, 2), (0.8, 1)):
        table = nd.join(matrix, measure=COSINE, threshold=threshold, threads=threads)
        assert {(a, b) for a, b, *_ in rows_of(table)} == pairs_of(product, threshold)
    between = product[:600, 600:1500].tocoo()
    cells = zip(between.row.tolist(), between.col.tolist(), between.data.tolist(), strict=True)
    across = nd.join(matrix[:600], matrix[600:1500], measure=COSINE, threshold=0.3)
    assert {(a, b) for a, b, *_ in rows_of(across)} == {(a, b) for a, b, value in cells if value >= 0.3}
    dense = matrix[:300].toarray()
    least = np.minimum(dense[:, None], dense[None]).sum(axis=2)
    most = dense.sum(axis=1)[:, None] + dense.sum(axis=1)[None] - least
    table = nd.join(matrix[:300], measure=RESEMBLANCE, threshold=0.5)
    assert {(a, b) for a, b, *_ in rows_of(table)} == pairs_of(scipy.sparse.csr_matrix(least / most), 0.5)
    assert table.num_rows > 30


def pairs_of(product: Any, threshold: float) -> set[tuple[int, int]]:
    upper = scipy.sparse.triu(product, 1).tocoo()
    reached = upper.data >= threshold
    return {*zip(upper.row[reached].tolist(), upper.col[reached].tolist(), strict=True)}


def test_sums_in_any_order_decide_alike() -> None:
    """Three tenths in any order are not .3 in float64, and both sets are at the threshold of 1."""
    one, other = {"a": 0.1, "b": 0.2, "c": 0.3}, {"c": 0.3, "b": 0.2, "a": 0.1}
    third = {name: weight / 3 for name, weight in one.items()}
    for measure in (RESEMBLANCE, COSINE):
        ((*places, similarity, _, _, _),) = rows_of(nd.join([one, other], measure=measure, threshold=1))
        assert (places, similarity) == ([0, 1], 1)
    assert rows_of(nd.join([one, third], measure=COSINE, threshold=1)) == []  # a third is rounded
    assert nd.join([one, third], measure=COSINE, threshold=0.999999).num_rows == 1


def test_tf_idf_is_that_of_scikit_learn() -> None:
    """The counts of its user guide, section 6.2.3.5, and the rows of unit norm that it prints for them."""
    counts = [[3, 0, 1], [2, 0, 0], [3, 0, 0], [4, 0, 0], [3, 2, 0], [3, 0, 2]]
    printed = np.array(
        [
            [0.85151335, 0.0, 0.52433293],
            [1.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [0.55422893, 0.83236428, 0.0],
            [0.63035731, 0.0, 0.77630514],
        ]
    )
    table = nd.join(scipy.sparse.csr_matrix(counts), measure=COSINE, threshold=0.01, weights="tf-idf")
    assert table.num_rows == 15
    for a, b, similarity, *_ in rows_of(table):
        assert similarity == pytest.approx(printed[a] @ printed[b], abs=1e-7)


def test_rarities_count_the_sets_of_both_collections() -> None:
    left, right = [["a", "a", "b"], []], [["a", "c"], {"c": 0, "d": 1}]
    (row,) = rows_of(nd.join(left, right, measure=RESEMBLANCE, threshold=0.1, weights="tf-idf"))
    a, single = math.log(5 / 3) + 1, math.log(5 / 2) + 1
    assert row == pytest.approx((0, 0, a / (2 * a + 2 * single), a, 2 * a + single, a + single), rel=1e-9)


FORMS = {
    "mappings": [{"a": 0.5, "b": 2, "x": 0}, {"a": 1.5}],
    "one mapping": [{"a": 0.5, "b": 2}, Counter("a")],
    "matrix": scipy.sparse.csr_matrix([[0.5, 2.0], [1.5, 0.0]]),
    "entries of one place": scipy.sparse.csr_matrix(([0.5, 1.0, 1.0, 1.5], [0, 1, 1, 0], [0, 3, 4]), shape=(2, 2)),
}


@pytest.mark.parametrize("form", FORMS)
def test_weights_of_every_form(form: str) -> None:
    other = 1.0 if form == "one mapping" else 1.5
    assert rows_of(nd.join(FORMS[form], measure=RESEMBLANCE, threshold=0.1)) == [
        (0, 1, 0.5 / (2 + other), 0.5, 2.5, other)
    ]


def test_lists_weigh_their_repeats() -> None:
    expected = [(0, 1, 2 / 4, 2.0, 3.0, 3.0)]
    for form in (
        [["a", "a", "b"], ["a", "b", "b"]],
        [[7, 7, 2**63], np.array([7, 2**63, 2**63], np.uint64)],
        pl.Series([["a", "a", "b"], ["a", "b", "b"]]),
        pa.array([[1, 1, 2], [1, 2, 2]]),
    ):
        assert rows_of(nd.join(form, measure=RESEMBLANCE, threshold=0.5)) == expected


def test_weights_of_elements_are_looked_up_by_the_elements() -> None:
    for sets, weights in (
        ([["a", "b"], ["a", "c"]], {"a": 2, "b": 1, "c": 3, "unused": 1}),
        ([[4, 2**64 - 1], [4, 9]], {4: 2.0, 2**64 - 1: 1, 9: 3}),
        ([[("a", 1), ()], [("a", 1), (2,)]], {("a", 1): 2, (): 1, (2,): 3}),
        (scipy.sparse.csr_matrix([[1, 1, 0], [1, 0, 1]]), {0: 2, 1: 1, 2: 3}),
    ):
        assert rows_of(nd.join(sets, measure=RESEMBLANCE, threshold=0.1, weights=weights)) == [
            (0, 1, 2 / 6, 2.0, 3.0, 5.0)
        ]
    ones = defaultdict(lambda: 1.0, a=2.0)
    assert (
        nd.join([["a", "b"], ["a"]], measure=RESEMBLANCE, threshold=0.1, weights=ones)["size_left"][0].as_py() == 3
    )
    nothing = dict.fromkeys("abc", 0)
    assert rows_of(nd.join([["a", "b"], ["a", "b"]], measure=COSINE, threshold=0.1, weights=nothing)) == []


def test_a_mapping_names_its_sets() -> None:
    table = nd.join({"x": {"a": 0.5}}, {7: {"b": 1}, 8: {"a": 0.25}}, measure=COSINE)
    assert table.select(["left", "right", "similarity"]).to_pylist() == [
        {"left": "x", "right": 8, "similarity": 1}
    ]


@given(st.lists(st.lists(REAL, min_size=1, max_size=6), max_size=5))
def test_rests_are_sums_and_norms_from_each_place_on(sets: list[list[float]]) -> None:
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    rest = np.empty(offsets[-1])
    for by_product, whole in ((False, sum), (True, lambda some: math.hypot(*some))):
        fill_rests(np.array([weight for one in sets for weight in one]), offsets, by_product, rest)
        expected = [whole(one[place:]) for one in sets for place in range(len(one))]
        assert rest.tolist() == pytest.approx(expected, rel=1e-12)


REFUSED: list[tuple[Any, dict[str, Any], type[NeardupError], str]] = [
    ([{"a": -1}], {}, InputError, "left has a weight of -1|1e-50 to 1e+50"),
    ([{"a": float("nan")}], {}, InputError, "left has a weight of nan"),
    ([{"a": 1e60}], {}, InputError, "left has a weight of 1e+60|scale"),
    ([{"a": 1e-60}], {}, InputError, "left has a weight of 1e-60"),
    ([{"a": "x"}], {}, InputError, "left has a weight of x"),
    ([["a"]], {"weights": {"b": 1}}, InputError, "weights has no weight of the element 'a'|defaultdict"),
    ([["a"]], {"weights": {"a": -2}}, InputError, "weights has a weight of -2"),
    ([{"a": 1e40}], {"weights": {"a": 1e40}}, InputError, "left has a weight of 1e+80"),
    ([["a"]], {"weights": "idf"}, SettingError, "weights is 'idf'|'tf-idf'"),
    ([["a"]], {"threshold": 80}, SettingError, "threshold is 80"),
    (
        [["a"]],
        {"measure": "jaccard", "weights": "tf-idf"},
        SettingError,
        "with measure 'resemblance'|weighted-cosine",
    ),
    (
        [["a"]],
        {"measure": "weighted-overlap"},
        SettingError,
        "measure is 'weighted-overlap'|multiset, weighted-resemblance, weighted-cosine",
    ),
]


@pytest.mark.parametrize(("sets", "settings", "kind", "parts"), REFUSED)
def test_other_weights_are_refused(
    sets: Any, settings: dict[str, Any], kind: type[NeardupError], parts: str
) -> None:
    with pytest.raises(kind) as refused:
        nd.join(sets, **{"measure": RESEMBLANCE, **settings})
    assert has_parts(str(refused.value), *parts.split("|"))
    assert "Allowed: " in str(refused.value)


def test_texts_and_rarities_are_not_for_two_sets() -> None:
    for one, weights, kind, parts in (
        ("a text", None, InputError, ("A text", "neardup.compare")),
        ({"a"}, "tf-idf", SettingError, ("weights is 'tf-idf' for two sets", "Join")),
        (7, None, InputError, ("Set 0 of a is a int",)),
    ):
        with pytest.raises(kind) as refused:
            nd.similarity(one, ["a"], measure=COSINE, weights=weights)  # type: ignore[arg-type]
        assert has_parts(str(refused.value), *parts)


def test_runs_name_the_join_of_weights() -> None:
    for measure in (RESEMBLANCE, COSINE, "weighted-jaccard"):
        with pytest.raises(SettingError) as refused:
            nd.find(["a text"], measure=measure)
        assert has_parts(str(refused.value), f"measure is {measure!r}", "neardup.join")
