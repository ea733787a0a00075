"""Every store gives a check all of its words and facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_store import ids, open_store, remove, store

from neardup.collection.fields import facts
from neardup.collection.store import Store
from neardup.unicode import tokens
from support.made_collections import put
from support.strategies import any_text

__all__ = ["open_store", "store"]


@given(st.lists(any_text(), min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_all_words_and_their_documents(store: Store, texts: Sequence[str]) -> None:
    remove(store, *ids(store))
    known = put(store, {f"{k}": text for k, text in enumerate(texts)}).tolist()
    wanted: dict[bytes, list[int]] = defaultdict(list)
    for number, text in zip(known, texts, strict=True):
        for token in set(tokens(text)):
            wanted[token.encode()[:32_768]].append(number)
    assert sorted(store.words()) == sorted((word, len(own), sum(own)) for word, own in wanted.items())


def test_a_long_word_is_told_cut(store: Store) -> None:
    put(store, {"long": "ä" * 20_000, "longer": "ä" * 30_000})
    assert list(store.words()) == [(("ä" * 20_000).encode()[:32_768], 2, 1 + 2)]


def test_all_facts(store: Store) -> None:
    metadata: list[dict[str, Any]] = [
        {"from": ["ann", "bob"], "size": 3, "head": {"date": "2020"}, "none": None},
        {"size": 2.5, "new": True, "from": "ann"},
        {},
    ]
    known = put(store, {"a": "x", "b": "y", "c": "z"}, metadata).tolist()
    wanted = {(key, said, known[k]) for k, record in enumerate(metadata) for key, said in facts(record)}
    told = list(store.facts())
    assert set(told) == wanted
    assert len(told) == len(wanted) == 7
