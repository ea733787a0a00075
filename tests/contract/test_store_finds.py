"""What every store must find by words and by metadata."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_store import TEXTS, ids, open_store, remove, store

from neardup import unicode as plain
from neardup.collection.contract import OPERATORS, Operator
from neardup.collection.fields import facts, holds
from neardup.collection.store import Store
from neardup.errors import InputError
from support import reference, shared_data
from support.made_collections import numbers, put
from support.strategies import any_text

__all__ = ["open_store", "store"]


def test_words_are_found_where_they_stand(store: Store) -> None:
    dog, cat, _, short, _ = put(store, TEXTS).tolist()
    assert store.containing(["quick", "brown"]).tolist() == [dog, cat, short]
    assert store.containing(["quick", "brown", "fox"]).tolist() == [dog, cat]
    assert store.containing(["fox", "brown", "fox", "quick"]).tolist() == [dog, cat]
    assert store.containing(["brown", "dog"]).tolist() == [dog]
    assert store.containing(["sleep"]).tolist() == []
    assert store.containing(["sleep"], prefix=True).tolist() == [cat]
    assert store.containing(["the", "la"], prefix=True).tolist() == [dog]
    assert store.containing([]).tolist() == []
    assert store.containing(["quick"], limit=2).tolist() == [dog, cat]
    assert store.containing(["quick"], among=numbers(short, cat, 999), limit=5).tolist() == [cat, short]
    assert store.occurrences(["quick", "the", "xyzzy", "lazy", "quick"], 9).tolist() == [3, 2, 0, 1, 3]
    assert store.occurrences([], 9).tolist() == []
    many = "The quick brown fox jumps over the lazy dog and runs away from here".lower().split()
    assert store.containing([*many * 9, *(word + "x" for word in many)]).tolist() == []
    assert store.containing(many * 9).tolist() == [dog]


def test_a_large_choice_gives_the_same_as_a_small_one(store: Store) -> None:
    put(store, {f"{place}": f"common words and number {place % 7}" for place in range(1200)}, [{"k": 1}] * 1200)
    everything = numbers(*range(1, 1201))
    some = everything[::5]
    large = np.concatenate((some, np.arange(5000, 6000)))
    for tokens in (["number", "3"], ["common"], ["absent"]):
        few = store.containing(tokens, among=some[3:9])
        assert few.tolist() == np.intersect1d(store.containing(tokens), some[3:9]).tolist()
        small = store.containing(tokens, among=some)
        assert small.tolist() == store.containing(tokens, among=large).tolist()
        assert small.tolist() == np.intersect1d(store.containing(tokens), some).tolist()
        assert store.containing(tokens, among=large, limit=3).tolist() == small[:3].tolist()
    assert store.where("k", "=", 1, among=large).tolist() == store.where("k", "=", 1, among=some).tolist()


@pytest.mark.part(3)
@pytest.mark.parametrize("name", ["own_scripts", "own", "thaigov_th", "udhr", "irplag_java", "law_de"])
def test_every_shingle_of_every_script_is_found_by_its_words(store: Store, name: str) -> None:
    texts = dict(list(shared_data.documents(name).items())[:60])
    given = put(store, texts)
    tokens = {number: reference.tokens(text) for number, text in zip(given.tolist(), texts.values(), strict=True)}
    holders: dict[tuple[str, ...], set[int]] = {}
    for number, words in tokens.items():
        for start in range(len(words) - 4):
            holders.setdefault(tuple(words[start : start + 5]), set()).add(number)
    vocabularies = {number: set(words) for number, words in tokens.items()}
    step = max(1, len(holders) // 1500)
    for shingle, wanted in list(holders.items())[::step]:
        holding = {number for number, words in vocabularies.items() if words.issuperset(shingle)}
        assert set(store.containing(shingle).tolist()) == holding >= wanted, shingle


@given(texts=st.lists(any_text(), min_size=1, max_size=4), asked=any_text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_words_of_hostile_texts_are_found_exactly(store: Store, texts: list[str], asked: str) -> None:
    remove(store, *ids(store))
    given = put(store, {str(place): text for place, text in enumerate(texts)}).tolist()
    words = {number: plain.tokens(text) for number, text in zip(given, texts, strict=True)}
    runs = [own[start : start + 3] for own in words.values() for start in range(len(own))] + [plain.tokens(asked)]
    for run in runs:
        wanted = [number for number, own in words.items() if run and set(run) <= set(own)]
        assert store.containing(run).tolist() == wanted


@pytest.mark.parametrize(
    "token",
    [
        "#",
        "#0000000",
        "A",
        "ab\u0000",
        '"',
        "*",
        "a b",
        "^a",
        "-",
        "tokens:",
        "NEAR(a b)",
        "a\0b",
        "\x00",
        "'",
        "()",
    ],
)
def test_what_is_no_token_cannot_become_a_query(store: Store, token: str) -> None:
    put(store, {"letters": "a b tokens near"})
    assert store.containing([token, "xyzzy"]).tolist() == []
    assert store.containing([token], among=numbers(99)).tolist() == []
    assert store.occurrences([token], 9).tolist() == [0]


METADATA: list[dict[str, Any]] = [
    {"n": 1, "from": "ann", "tags": ["a", "b"]},
    {"n": 2.5, "from": "bob", "tags": []},
    {"n": "2", "from": "Ann", "tags": ["b", 3]},
    {"n": None, "inner": {"n": 7, "deep": {"x": True}}},
    {"n": -(2**70), "from": ""},
    {"n": [1, 1.0, 2**70, 2**70 + 1], "from": "änn"},
    {},
]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "key", ["n", "from", "tags", "inner.n", "inner.deep.x", "absent", '$."n"', "n' OR 1=1 --"]
)
def test_metadata_is_compared_within_its_kind(store: Store, key: str, operator: Operator) -> None:
    given = put(store, {str(place): "" for place in range(len(METADATA))}, METADATA)
    assert store.has_key(key) == any(name == key for metadata in METADATA for name, _ in facts(metadata))
    for value in (1, 2.5, -1e300, 2, "2", "ann", "b", "", "true", "ä", 7, 3, "' OR 1=1 --", float(2**70)):
        wanted = [
            number
            for number, metadata in zip(given.tolist(), METADATA, strict=True)
            if holds([known for name, known in facts(metadata) if name == key], operator, value)
        ]
        assert store.where(key, operator, value).tolist() == wanted
        assert store.where(key, operator, value, among=given).tolist() == wanted
        assert store.where(key, operator, value, among=given[:3]).tolist() == [n for n in wanted if n in given[:3]]


@pytest.mark.parametrize("value", [None, True, [1], {"a": 1}, 2**70, "\ud800", b"x"])
def test_what_cannot_be_compared_is_refused(store: Store, value: Any) -> None:
    with pytest.raises(InputError):
        store.where("key", "=", value)


def test_an_unknown_comparison_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="no comparison 'LIKE'"):
        store.where("key", "LIKE", "x")  # type: ignore[arg-type]
