"""What every store must do with changed metadata and with copies of itself."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from test_store import STORES, TEXTS, Opens, ids, open_store, remove, store

from neardup.collection.contract import MemberRow
from neardup.collection.fields import facts
from neardup.collection.store import Store
from neardup.errors import InputError, OutputError
from support.made_collections import numbers, put

__all__ = ["open_store", "store"]

FILES = ["sqlite"]
"""The stores that are files, which can be copied."""

BEFORE: list[dict[str, Any]] = [
    {"year": 2020, "tags": ["a", "b"], "from": {"name": "ann"}, "draft": True},
    {"year": 2020},
]
AFTER: list[dict[str, Any]] = [
    {"year": 2021, "tags": ["b", "c", "c"], "from": {"name": "ann", "age": 3}},
    {"year": 2020.0, "tags": []},
    {},
]


def state(store: Store) -> list[Any]:
    """Everything about the documents but their metadata."""
    every = store.everything()
    rows = [(row.number, row.id, row.size, row.tokens, row.shingles) for row in store.rows(every)]
    lists = [store.packed(every), store.signatures(every).tolist(), store.sizes(every).tolist()]
    postings = sorted(
        (hash, number)
        for hashes, documents in store.sampled()
        for hash, number in zip(hashes.tolist(), documents.tolist(), strict=True)
    )
    return [rows, lists, postings, sorted(store.words())]


@pytest.mark.parametrize("after", AFTER)
def test_metadata_is_replaced_and_everything_else_stays(open_store: Opens, after: dict[str, Any]) -> None:
    store = open_store()
    put(store, {name: TEXTS[name] for name in ("dog", "cat")}, BEFORE)
    before, change = state(store), store.totals().change
    with store.writing() as transaction:
        transaction.set_metadata(1, after)
        assert store.rows(numbers(1))[0].metadata == after, "the writing thread sees it"
    assert store.totals().change > change
    store.close()
    store = open_store()
    assert state(store) == before
    assert [row.metadata for row in store.rows(numbers(1, 2))] == [after, BEFORE[1]]
    wanted = {(key, value, 1) for key, value in facts(after)} | {("year", 2020, 2)}
    assert set(store.facts()) == wanted
    assert len(list(store.facts())) == len(wanted)
    assert store.faults() == []


def test_changed_metadata_of_a_transaction_that_raises_is_as_before(store: Store) -> None:
    put(store, {"dog": TEXTS["dog"]}, BEFORE[:1])
    known = sorted(store.facts(), key=repr)
    with suppress(ZeroDivisionError), store.writing() as transaction:
        transaction.set_metadata(1, {"new": 1})
        raise ZeroDivisionError
    assert store.rows(numbers(1))[0].metadata == BEFORE[0]
    assert sorted(store.facts(), key=repr) == known


def test_grouped_documents_are_listed(store: Store) -> None:
    assert store.groups.grouped_documents().tolist() == []
    with store.writing():
        store.groups.join([MemberRow(7, 1, 3), MemberRow(2, 1, 3), MemberRow(5, 4, 1)])
        assert store.groups.grouped_documents().tolist() == [2, 5, 7]
        store.groups.leave([5])
    assert store.groups.grouped_documents().tolist() == [2, 7]
    assert store.groups.grouped_documents().dtype.name == "int64"


def test_a_server_makes_its_own_backups(tmp_path: Path) -> None:
    store = STORES["postgres"](tmp_path)
    with pytest.raises(InputError, match="pg_dump"):
        store.backup(tmp_path / "copy")
    store.close()


@pytest.mark.parametrize("name", FILES)
def test_a_backup_is_the_state_at_its_beginning_while_others_write(name: str, tmp_path: Path) -> None:
    """A reader holds one state, another thread writes, and the copy made then is of the held state."""
    store = STORES[name](tmp_path)
    put(store, {"dog": TEXTS["dog"], "cat": TEXTS["cat"]}, BEFORE)
    before = state(store)
    folder = tmp_path / "copies"
    folder.mkdir()
    copy = folder / "made.neardup"
    with store.reading():
        assert len(store.everything()) == 2
        writer = threading.Thread(target=lambda: put(store, {"other": TEXTS["other"]}))
        writer.start()
        writer.join()
        store.backup(copy)
    remove(store, "cat")
    assert ids(store) == ["dog", "other"]
    store.close()
    restored = STORES[name](folder)
    assert ids(restored) == ["dog", "cat"]
    assert (state(restored), restored.faults()) == (before, [])
    assert put(restored, {"other": TEXTS["other"]}).tolist() == [3], "and it is a store like any other"
    restored.close()
    assert {path.name for path in folder.iterdir()} == {copy.name}


@pytest.mark.parametrize("name", FILES)
def test_a_backup_replaces_nothing_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    store = STORES[name](tmp_path)
    put(store, TEXTS)
    there = tmp_path / "there"
    there.write_text("mine")
    with pytest.raises(OutputError):
        store.backup(there)
    assert there.read_text() == "mine"
    with pytest.raises(OutputError, match="cannot be made"):
        store.backup(tmp_path / "nowhere" / "copy")
    with pytest.raises(OutputError), store.writing():
        store.backup(tmp_path / "copy")
    store.close()
    assert not [path for path in tmp_path.iterdir() if "copy" in path.name or path.name.endswith(".new")]
