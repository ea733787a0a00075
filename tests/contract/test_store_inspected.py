"""What every store tells for checks: all of its postings, words, places and facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_store import STORES

from made_collections import put
from neardup.collection.contract import PLACE_FACTOR, PLACE_PRIME, Store, place_value
from neardup.collection.facts import facts
from neardup.text import tokens
from strategies import any_text


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = STORES[request.param](tmp_path)
    yield made
    made.close()


def value(document: int, place: int) -> int:
    """``place_value`` in plain words."""
    mixed = (document % PLACE_PRIME * PLACE_FACTOR + place) % PLACE_PRIME
    return mixed * mixed % PLACE_PRIME + 1


@given(st.lists(st.tuples(st.integers(1, 2**40), st.integers(0, 2**27)), min_size=1, max_size=20))
def test_the_value_of_a_place(places: list[tuple[int, int]]) -> None:
    documents, words = (np.array(column, np.int64) for column in zip(*places, strict=True))
    assert place_value(documents, words).tolist() == [value(*place) for place in places]


@given(st.lists(any_text(), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_all_words_and_where_they_stand(tmp_path_factory: pytest.TempPathFactory, texts: Sequence[str]) -> None:
    for make in STORES.values():
        store = make(tmp_path_factory.mktemp("words"))
        known = put(store, {f"{k}": text for k, text in enumerate(texts)}).tolist()
        wanted: Counter[bytes] = Counter()
        for number, text in zip(known, texts, strict=True):
            for place, token in enumerate(tokens(text)):
                wanted[token.encode()[:32_768]] += value(number, place)
        assert dict(pair for block in store.words() for pair in block) == wanted
        store.close()


def test_a_long_word_is_told_cut(store: Store) -> None:
    put(store, {"long": "ä" * 20_000, "longer": "ä" * 30_000})
    [[(word, total)]] = list(store.words())
    assert word == ("ä" * 20_000).encode()[:32_768]
    assert total == value(1, 0) + value(2, 0)


def test_all_facts(store: Store) -> None:
    metadata: list[dict[str, Any]] = [
        {"from": ["ann", "bob"], "size": 3, "head": {"date": "2020"}, "none": None},
        {"size": 2.5, "new": True, "from": "ann"},
        {},
    ]
    known = put(store, {"a": "x", "b": "y", "c": "z"}, metadata).tolist()
    wanted = {(key, said, known[k]) for k, record in enumerate(metadata) for key, said in facts(record)}
    told = [fact for block in store.facts() for fact in block]
    assert set(told) == wanted
    assert len(told) == len(wanted) == 7
