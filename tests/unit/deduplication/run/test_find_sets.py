"""``neardup.find(sets=…)``: pairs as ``neardup.join`` counts them, groups and kept sets, and settings of texts."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
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
from neardup.errors import InputError, SettingError
from neardup.io.inputs import ElementNumbers
from support import reference_join
from support.messages import has_parts

SETS = [["Dark red", "blue"], ["blue", "Dark red", "x"], ["blue", "Dark red"], ["q"]]
ONES = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]])


def pairs_in(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = ("id_a", "id_b", "shared", "size_a", "size_b")
    return list(zip(*(table[name].to_pylist() for name in columns), strict=True))


@given(
    st.lists(st.frozensets(st.integers(0, 9), min_size=1, max_size=6), max_size=14, unique=True),
    st.sampled_from(["resemblance", "containment", "overlap"]),
    st.sampled_from([0.3, 0.5, 0.8]),
)
def test_pairs_are_those_of_the_definition(sets: list[frozenset[int]], measure: str, threshold: float) -> None:
    expected = reference_join.counted_pairs([*map(list, sets)], None, measure, Fraction(str(threshold)))
    named = {f"set {number}": elements for number, elements in enumerate(sets)}
    found = nd.find(sets=named or [[]], measure=measure, threshold=threshold, pairs="all", method="exact")
    there = [(f"set {a}", f"set {b}", *counts) for a, b, _, *counts in expected]
    assert sorted(pairs_in(found.pairs)) == sorted(there)


FORMS = {
    "list": (SETS, [SETS[1], SETS[3]]),
    "tuple": (tuple(SETS), (SETS[1], SETS[3])),
    "iterator": (iter(SETS), [SETS[1], SETS[3]]),
    "mapping": (dict(zip("abcd", SETS, strict=True)), {"b": SETS[1], "d": SETS[3]}),
    "counts": ([*map(Counter, SETS)], [Counter(SETS[1]), Counter(SETS[3])]),
    "numbers": ([[1, 2], [2, 1, 3], [2, 1], [9]], [[2, 1, 3], [9]]),
    "bytes": ([[b"1", b"2"], [b"2", b"1", b"\xff"], [b"2", b"1"], [b"9"]], [[b"2", b"1", b"\xff"], [b"9"]]),
    "tuples": ([[(1,), (2,)], [(2,), (1,), (3,)], [(2,), (1,)], [()]], [[(2,), (1,), (3,)], [()]]),
    "surrogates": ([["\ud800", "a"], ["a", "\ud800", "b"], ["a", "\ud800"], ["c"]], [["a", "\ud800", "b"], ["c"]]),
}


@pytest.mark.parametrize("form", FORMS)
def test_sets_that_stay_are_those_that_were_given(form: str) -> None:
    given_sets, kept = FORMS[form]
    found = nd.find(sets=given_sets, threshold=0.6)
    assert found.kept == kept
    assert [(shared, a, b) for _, _, shared, a, b in pairs_in(found.pairs)] == [(2, 2, 3)]
    assert found.copies.num_rows == 1


def test_columns_and_matrices_come_back_in_their_type() -> None:
    kept = nd.find(sets=pa.chunked_array([SETS[:2], SETS[2:]]), threshold=0.6).kept
    assert kept.to_pylist() == [SETS[1], SETS[3]]
    assert nd.find(sets=pl.Series("tags", SETS), threshold=0.6).kept.to_list() == [SETS[1], SETS[3]]
    assert nd.find(sets=pd.Series(SETS, index=[*"wxyz"]), threshold=0.6).kept.index.tolist() == ["x", "z"]
    matrix = nd.find(sets=scipy.sparse.csr_matrix(ONES), threshold=0.6).kept
    assert matrix.toarray().tolist() == ONES[[1, 3]].tolist()


def test_counts_are_those_of_a_multiset() -> None:
    counted = [Counter("aab"), Counter("aabc"), Counter("abc")]
    found = nd.find(sets=counted, measure="multiset", threshold=0.75, pairs="all")
    assert [ends[:2] for ends in pairs_in(found.pairs)] == [(0, 1), (1, 2)]
    with pytest.raises(InputError) as refused:
        nd.find(sets=counted)
    assert has_parts(str(refused.value), "multiset")


def test_reference_sets_have_the_same_elements() -> None:
    found = nd.find(sets={"new": {1, 2, 3}}, against={"old": [3, 2, 1, 4]}, threshold=0.7)
    assert pairs_in(found.pairs) == [("old", "new", 3, 4, 3)]
    assert found.kept == {}
    with pytest.raises(InputError) as refused:
        nd.find(sets=[{1, 2}], against=[{"1", "2"}])
    assert has_parts(str(refused.value), "against holds str", "after")


def test_sets_without_elements_are_no_pair() -> None:
    found = nd.find(sets=[[], [], {"a"}], threshold=0.1)
    assert found.pairs.num_rows == 0
    assert found.kept == [[], [], {"a"}]


def test_no_passage_is_looked_for_in_words_without_order() -> None:
    found = nd.find(sets=[range(40), range(2, 41)], threshold=0.6)
    (removed,) = (row for row in found.groups.to_pylist() if not row["kept"])
    assert (removed["lost_shingles"], removed["lost_units"], removed["lost_passage"]) == (1, None, None)


ELEMENTS = [
    "a",
    "A",
    "a b",
    "ab",
    "a_b",
    "a\u0301",
    "\u00e1",
    "ﬁ",
    "fi",
    "\ud800",
    "日本",
    "",
    " ",
    "0",
    "00",
    "1.5",
    "15",
]


def test_a_word_is_that_of_one_element_in_every_run() -> None:
    def words(values: list[Any]) -> list[str]:
        elements = ElementNumbers()
        return elements.words(elements.of(values, np.array([len(values)]), "sets")).to_pylist()

    forward, backward = words(ELEMENTS), words(ELEMENTS[::-1])
    assert forward == backward[::-1]
    assert nd.tokens(" ".join(forward)) == forward
    assert len(set(forward)) == len(ELEMENTS)
    in_unicode = [word for word in ELEMENTS if word != "\ud800"]  # arrays hold no lone surrogates
    assert words(in_unicode) == [word for word, of in zip(forward, ELEMENTS, strict=True) if of in in_unicode]
    assert words([b"a", b"\xff"])[0] != words(["a"])[0]


@pytest.mark.parametrize("last", [[], ["\ud800", "c"], ["", "a ", "c"], ["a\0", "\0", "", "c", "\0a", "a"]])
def test_equal_elements_of_several_collections_have_equal_numbers(last: list[str]) -> None:
    elements, collections = ElementNumbers(), [["b", "a", "b"], ["c", "a", "d", "c"], ["e", "b"], last, ["d", "f"]]
    numbers = [n for one in collections for n in elements.of(one, np.array([len(one)]), "sets").tolist()]
    values = [value for one in collections for value in one]
    assert len({*zip(values, numbers, strict=True)}) == len(set(values)) == len(set(numbers))
    assert elements.words(np.array(numbers, np.uint64)).to_pylist()[:6] == values[:6]


def test_bytes_among_str_are_refused() -> None:
    with pytest.raises(InputError) as refused:
        nd.find(sets=[["a", b"a"], ["b"]])
    assert has_parts(str(refused.value), "sets holds", "after")


REFUSED = {
    "unit": {"unit": "char"},
    "length": {"length": 3},
    "kinds": {"kinds": True},
    "stop_words": {"stop_words": ["a"]},
    "id and text": {"text": "a", "id": "b"},
    "which needs a text": {"measure": "lcs"},
}


@pytest.mark.parametrize("words", REFUSED)
def test_settings_of_texts_are_refused(words: str) -> None:
    settings: dict[str, Any] = REFUSED[words]
    with pytest.raises(SettingError) as refused:
        nd.find(sets=SETS, **settings)
    assert has_parts(str(refused.value), words, "Allowed: ")


def test_documents_or_sets() -> None:
    for arguments, words in (((), "Neither"), ((["a"], SETS), "Both")):
        with pytest.raises(InputError) as refused:
            nd.find(*arguments[:1], sets=arguments[1] if len(arguments) > 1 else None)
        assert has_parts(str(refused.value), words)
