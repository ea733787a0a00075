"""What every store must do with base texts."""

from __future__ import annotations

import pytest
from test_store import TEXTS, Opens, open_store, remove, store

from neardup.collection.sets import NO_BASE, base_of
from neardup.collection.store import Store
from support import reference
from support.made_collections import numbers, put

__all__ = ["open_store", "store"]


def mark(store: Store, *given: int) -> None:
    with store.writing() as transaction:
        transaction.mark_base(numbers(*given))


def test_base_texts_stay_until_they_are_removed(open_store: Opens) -> None:
    store = open_store()
    dog, cat, other, *_ = put(store, TEXTS).tolist()
    assert store.base_texts() == {}
    mark(store, dog, other)
    known = store.base_texts()
    assert sorted(known) == [dog, other]
    assert len(set(known.values())) == 2
    store.close()
    store = open_store()
    assert store.base_texts() == known
    remove(store, "dog", "cat")
    assert store.base_texts() == {other: known[other]}
    assert cat not in store.everything()


def test_a_base_text_that_is_stored_again_has_another_mark(store: Store) -> None:
    """Otherwise nobody would see that its text has changed."""
    put(store, {"a": "one two three four five"})
    mark(store, 1)
    [before] = store.base_texts().values()
    remove(store, "a")
    put(store, {"b": "six"})
    mark(store, 2)
    assert before not in store.base_texts().values()


def undone(store: Store, number: int) -> None:
    """Mark a base text in a transaction that raises."""
    with store.writing() as transaction:
        transaction.mark_base(numbers(number))
        assert number in store.base_texts()
        raise RuntimeError("undone")


def test_what_is_undone_leaves_no_base_text(store: Store) -> None:
    put(store, TEXTS)
    with pytest.raises(RuntimeError):
        undone(store, 1)
    assert store.base_texts() == {}
    with store.together():
        mark(store, 2)
        with pytest.raises(RuntimeError):
            undone(store, 3)
    assert sorted(store.base_texts()) == [2]


def test_the_base_text_is_read_again_after_a_change(store: Store) -> None:
    put(store, TEXTS)
    assert base_of(store) is NO_BASE
    mark(store, 1)
    first = base_of(store)
    assert len(first) == len(reference.shingle_set(TEXTS["dog"], 5, "word"))
    put(store, {"new": "one more document that is not a base text"})
    assert base_of(store) is first
    mark(store, 3)
    both = set(reference.shingle_set(TEXTS["dog"], 5, "word")) | reference.shingle_set(TEXTS["other"], 5, "word")
    assert len(base_of(store)) == len(both)
    remove(store, "dog", "other")
    assert base_of(store) is NO_BASE
