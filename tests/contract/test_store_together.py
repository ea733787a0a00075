"""What every store must do with several transactions in one, and with a clock."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from test_store import TEXTS, Opens, ids, open_store, remove, store

from neardup.collection.store import Store
from neardup.errors import LimitError, OutputError
from neardup.runtime import Deadline
from support.made_collections import made, numbers, put

__all__ = ["open_store", "store"]


def test_transactions_together_are_one_and_each_is_undone_by_itself(store: Store, open_store: Opens) -> None:
    other = open_store()
    change = store.totals().change
    with store.together():
        first = put(store, {"dog": TEXTS["dog"]}, [{"key": 1}])
        with suppress(ZeroDivisionError), store.writing() as transaction:
            transaction.put(made({"cat": TEXTS["cat"]}, store.settings, [{"lost": 1}]), numbers(0))
            raise ZeroDivisionError
        assert ids(store) == ["dog"]
        second = put(store, {"cat": TEXTS["cat"], "empty": ""})
        remove(store, "dog")
        assert ids(other) == []
        assert not store.has_key("lost")
    assert ids(store) == ids(other) == ["cat", "empty"]
    assert min(second) > max(first)
    assert store.totals().change > change
    assert store.faults() == []
    assert store.containing(["brown", "fox"]).tolist() == [second[0]]


def test_together_is_undone_as_a_whole(store: Store) -> None:
    with suppress(ZeroDivisionError), store.together():
        put(store, TEXTS)
        raise ZeroDivisionError
    assert ids(store) == []
    put(store, TEXTS)
    with pytest.raises(OutputError), store.writing(), store.writing():
        pass
    assert ids(store) == list(TEXTS)


def test_look_ups_end_when_time_is_up(store: Store) -> None:
    with store.writing() as transaction:
        texts = {f"{number}": f"common words and {number}" for number in range(3000)}
        transaction.put(made(texts, store.settings), np.zeros(len(texts), np.int64))
    with pytest.raises(LimitError), store.reading(Deadline(-1)):
        list(store.words())
    assert len(store.everything()) == 3000


def test_look_ups_of_a_transaction_end_when_time_is_up_and_it_goes_on(store: Store) -> None:
    texts = {f"{number}": f"common words and {number}" for number in range(3000)}
    with store.writing() as transaction:
        transaction.put(made(texts, store.settings), np.zeros(len(texts), np.int64))
        with pytest.raises(LimitError), store.reading(Deadline(-1)):
            list(store.words())
        assert len(list(store.words())) > 3000
        transaction.put(made({"late": "one more"}, store.settings), np.zeros(1, np.int64))
    assert len(store.everything()) == 3001
