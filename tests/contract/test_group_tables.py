"""What the tables of groups of every store must do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_store import STORES, TEXTS

from neardup.collection.contract import Store
from neardup.collection.groups.contract import ChangeRow, DecisionRow, GroupRow, MemberRow


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = STORES[request.param](tmp_path)
    yield made
    made.close()


def save(store: Store, *groups: GroupRow) -> list[int]:
    with store.writing() as transaction:
        return [transaction.groups.save(group) for group in groups]


def test_a_group_keeps_its_number_and_it_is_never_given_again(store: Store) -> None:
    first, second = save(store, GroupRow(0, 5, 0.8), GroupRow(0, 6, 0.9))
    assert (first, second, store.groups.count()) == (1, 2, 2)
    save(store, GroupRow(first, 7, 0.8))
    assert store.groups.rows([first, 99]) == {first: GroupRow(first, 7, 0.8)}
    with store.writing() as transaction:
        transaction.groups.end(second)
    assert save(store, GroupRow(0, 6, 0.9)) == [3]
    assert [row.number for row in store.groups.page(0, 10)] == [1, 3]
    assert [row.number for row in store.groups.page(1, 10)] == [3]
    assert len(store.groups.page(0, 1)) == store.groups.count() - 1 == 1


def test_a_document_is_in_one_group(store: Store) -> None:
    members = [MemberRow(document, 1, 10 * document) for document in (3, 1, 2)]
    with store.writing() as transaction:
        transaction.groups.join(members)
        transaction.groups.join([MemberRow(2, 4, 7)])
        assert store.groups.memberships([2]) == {2: MemberRow(2, 4, 7)}, "the writing thread sees what it did"
    assert store.groups.members(1) == [MemberRow(1, 1, 10), MemberRow(3, 1, 30)]
    assert store.groups.members(1, after=1) == store.groups.members(1)[1:]
    assert store.groups.members(1, limit=1) == store.groups.members(1)[:1]
    assert (store.groups.size(1), store.groups.size(4), store.groups.size(9)) == (2, 1, 0)
    with store.writing() as transaction:
        transaction.groups.leave([1, 2, 99])
    assert store.groups.memberships([1, 2, 3]) == {3: MemberRow(3, 1, 30)}


def test_one_decision_about_a_pair(store: Store) -> None:
    row = DecisionRow(0, 1, 2, "same", "ann", "why 'not'\n", "now")
    with store.writing() as transaction:
        transaction.groups.decide(row)
        transaction.groups.decide(replace(row, b=3))
        transaction.groups.decide(replace(row, verdict="different", by=""))
    second, third = store.groups.decisions([1])
    assert (second, third) == (replace(row, number=2, b=3), replace(row, number=3, verdict="different", by=""))
    assert store.groups.decisions([2]) == [third]
    assert store.groups.decisions([3, 2, 1]) == store.groups.decided(0, 10) == [second, third]
    assert store.groups.decided(2, 10) == [third]
    with store.writing() as transaction:
        transaction.groups.withdraw(1, 2)
        transaction.groups.withdraw(1, 9)
    assert store.groups.decided(0, 10) == [second]
    with store.writing() as transaction:
        assert transaction.groups.decide(third) == third.number, "restored"
        assert transaction.groups.decide(replace(row, a=5, b=9)) == 4, "never used before"
    assert store.groups.decisions([1]) == [second, third]


def test_the_log_is_kept_in_its_order(store: Store) -> None:
    about = {"why": "removed", "document": 'a "b" \\ ü\0', "shared": 3}
    with store.writing() as transaction:
        transaction.groups.log([])
        transaction.groups.log(ChangeRow(0, "z", "left", 1, 2, about) for _ in range(3))
        transaction.groups.log([ChangeRow(0, "a", "made", 1, 2, {})])
    assert store.groups.decision_changes(9, 5) == []
    rows = store.groups.changes(0, 10)
    assert [row.number for row in rows] == [1, 2, 3, 4]
    assert rows[0] == ChangeRow(1, "z", "left", 1, 2, about)
    assert store.groups.changes(2, 1) == rows[2:3]
    assert store.groups.last_change() == 4
    with store.writing() as transaction:
        transaction.groups.log(ChangeRow(0, "b", what, 0, 2, {}) for what in ("decided", "left", "withdrawn"))
        assert store.groups.last_change() == 7
    assert [row.number for row in store.groups.decision_changes(9, 5)] == [7, 5]
    assert [row.number for row in store.groups.decision_changes(7, 5)] == [5]
    assert store.groups.decision_changes(9, 1)[0].what == "withdrawn"


def test_what_failed_is_in_no_table(store: Store) -> None:
    with pytest.raises(RuntimeError):
        _fail(store)
    assert (store.groups.count(), store.groups.members(1), store.groups.changes(0, 1)) == (0, [], [])
    assert save(store, GroupRow(0, 1, 0.5)) == [1]


def _fail(store: Store) -> None:
    with store.writing() as transaction:
        transaction.groups.join([MemberRow(1, transaction.groups.save(GroupRow(0, 1, 0.5)), 1)])
        transaction.groups.log([ChangeRow(0, "", "made", 1, 1, {})])
        raise RuntimeError


def test_postings_of_the_transaction_are_seen_in_it(store: Store) -> None:
    from support.made_collections import made

    with store.writing() as transaction:
        entries = made({"dog": TEXTS["dog"]}, store.settings)
        [number] = transaction.put(entries, np.zeros(1, np.int64)).tolist()
        assert [one.tolist() for one in store.postings(entries.hashes[:1])] == [[number]]
        assert store.occurrences(["dog"], 5).tolist() == [1]
