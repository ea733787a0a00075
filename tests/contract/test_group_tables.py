"""The contract of the tables of groups, for every store."""

from __future__ import annotations

from operator import eq, ge, gt, le, lt

import numpy as np
import pytest
from test_store import TEXTS, open_store, store

from neardup.collection.contract import ChangeRow, GroupRow, MemberRow
from neardup.collection.store import Store
from neardup.errors import SecondReviewError
from neardup.io.decisions.log import TAG, Decided
from neardup.io.decisions.records import Judgement, SecondReview, SecondVerdict

__all__ = ["open_store", "store"]


def save(store: Store, *groups: GroupRow) -> list[int]:
    with store.writing():
        return [store.groups.save(group) for group in groups]


def test_a_group_keeps_its_number_and_it_is_never_given_again(store: Store) -> None:
    first, second = save(store, GroupRow(0, 5, 0.8), GroupRow(0, 6, 0.9))
    assert (first, second, store.groups.count()) == (1, 2, 2)
    save(store, GroupRow(first, 7, 0.8))
    assert store.groups.rows([first, 99]) == {first: GroupRow(first, 7, 0.8)}
    with store.writing():
        store.groups.end(second)
    assert save(store, GroupRow(0, 6, 0.9)) == [3]
    assert [row.number for row in store.groups.page(0, 10)] == [1, 3]
    assert [row.number for row in store.groups.page(1, 10)] == [3]
    assert len(store.groups.page(0, 1)) == store.groups.count() - 1 == 1


def test_a_document_is_in_one_group(store: Store) -> None:
    members = [MemberRow(document, 1, 10 * document) for document in (3, 1, 2)]
    with store.writing():
        store.groups.join(members)
        store.groups.join([MemberRow(2, 4, 7)])
        assert store.groups.memberships([2]) == {2: MemberRow(2, 4, 7)}, "the writing thread sees what it did"
    assert store.groups.members(1) == [MemberRow(1, 1, 10), MemberRow(3, 1, 30)]
    assert store.groups.members(1, after=1) == store.groups.members(1)[1:]
    assert store.groups.members(1, limit=1) == store.groups.members(1)[:1]
    assert (store.groups.size(1), store.groups.size(4), store.groups.size(9)) == (2, 1, 0)
    with store.writing():
        store.groups.leave([1, 2, 99])
    assert store.groups.memberships([1, 2, 3]) == {3: MemberRow(3, 1, 30)}


def test_the_decisions_about_documents(store: Store) -> None:
    log = store.decisions
    changes = [Judgement(1, 2, "duplicate", "why 'not'\n"), Judgement(3, 1, "unsure")]
    with store.writing():
        log.act(changes, by="ann", what="both")
        log.act([Judgement(2, 1, "not alike")], by="", what="one")
        assert log.last() == 2, "the writing thread sees what it did"
    unsure, apart = log.pairs_of([1])
    assert [(row.a, row.b, row.value, row.by, row.action) for row in (unsure, apart)] == [
        (1, 3, "unsure", "ann", 1),
        (1, 2, "not alike", "", 2),
    ]
    assert log.pairs_of([2]) == log.pairs_after(unsure.number, 10) == [apart]
    assert log.pairs_of([3, 2, 1]) == log.pairs_after(0, 10) == [unsure, apart]
    assert log.in_force(("pair", 1, 2)) == apart
    with store.writing():
        log.undo(by="")
    [first] = log.pairs_of([2])
    assert (first.value, first.note, first.by, first.action) == ("duplicate", "why 'not'\n", "ann", 1)
    assert log.faults() == []


def test_a_first_verdict_waits_for_the_second_one_of_a_person(store: Store) -> None:
    log = store.decisions
    with store.writing():
        log.act([Judgement(1, 2, "duplicate", "why"), Judgement(1, 3, "unsure")], by="ann", what="first")
        log.act([SecondReview(1, 2, "bea"), SecondReview(1, 3, "cy")], by="max", what="draw")
    assert (log.waiting_for("bea"), log.waiting_for("ann")) == ({(1, 2)}, set())
    with pytest.raises(SecondReviewError), store.writing():
        log.act([Judgement(2, 1, "not alike")], by="bea", what="unseen")
    with store.writing():
        log.act([SecondVerdict(1, 2, "unsure")], by="bea", what="second")
        log.act([Judgement(2, 1, "not alike")], by="bea", what="resolved")
    assert log.waiting_for("bea") == set()
    seconds = log.state().seconds
    first = seconds[1, 2].first
    assert first is not None
    assert (first.verdict, first.note, first.action) == ("duplicate", "why", 1)
    assert (seconds[1, 3].person, seconds[1, 3].first) == ("cy", None)


def test_the_tags_of_documents(store: Store) -> None:
    """Tags in the order of characters on every store, whatever the collation of its database; pages, and undo."""
    log = store.decisions
    tags = sorted(["\x01", "A", "a", "b;", "é ü", "tag:", "~", "\U0010ffff"])
    with store.writing():
        number = log.begin("ann", "many", len(tags) + 2)
        for document, tag in [*((2, tag) for tag in tags), (1, "x"), (5, "x")]:
            log.decide(number, Decided((f"{TAG}{tag}", document, 0), "on", ""))
        log.act([Judgement(3, 4, "unsure")], by="ann", what="no tag")
        log.decide(log.begin("ben", "away", 1), Decided((f"{TAG}x", 1, 0), None, ""))
    assert [(row.a, row.kind) for row in log.tags_of()] == [*((2, f"{TAG}{tag}") for tag in tags), (5, f"{TAG}x")]
    assert [row.a for row in log.tags_of([5, 1, 9])] == [5]
    assert [log.tagged_after(0, 1), log.tagged_after(2, 9), log.tagged_after(0, 9)] == [[2], [5], [2, 5]]
    assert [(row.a, row.b) for row in log.pairs_after(0, 10)] == [(3, 4)]
    for operator, holds in (("=", eq), ("<", lt), ("<=", le), (">", gt), (">=", ge)):
        for tag in ("a", "é ü", "", "none", "x", "tag:", "a\0"):
            known = [2] * any(holds(one, tag) for one in tags) + [5] * holds("x", tag)
            assert log.tagged_documents(operator, tag) == known
    assert log.faults() == []


def test_the_log_is_kept_in_its_order(store: Store) -> None:
    about = {"why": "removed", "document": 'a "b" \\ ü\0', "shared": 3}
    with store.writing():
        store.groups.log([])
        store.groups.log(ChangeRow(0, "z", "left", 1, 2, about) for _ in range(3))
        store.groups.log([ChangeRow(0, "a", "made", 1, 2, {})])
    rows = store.groups.changes(0, 10)
    assert [row.number for row in rows] == [1, 2, 3, 4]
    assert rows[0] == ChangeRow(1, "z", "left", 1, 2, about)
    assert store.groups.changes(2, 1) == rows[2:3]
    assert store.groups.last_change() == 4


def test_what_failed_is_in_no_table(store: Store) -> None:
    with pytest.raises(RuntimeError):
        _fail(store)
    assert (store.groups.count(), store.groups.members(1), store.groups.changes(0, 1)) == (0, [], [])
    assert save(store, GroupRow(0, 1, 0.5)) == [1]


def _fail(store: Store) -> None:
    with store.writing():
        store.groups.join([MemberRow(1, store.groups.save(GroupRow(0, 1, 0.5)), 1)])
        store.groups.log([ChangeRow(0, "", "made", 1, 1, {})])
        raise RuntimeError


def test_postings_of_the_transaction_are_seen_in_it(store: Store) -> None:
    from support.made_collections import made

    with store.writing() as transaction:
        entries = made({"dog": TEXTS["dog"]}, store.settings)
        [number] = transaction.put(entries, np.zeros(1, np.int64)).tolist()
        assert [one.tolist() for one in store.postings(entries.hashes[:1])] == [[number]]
        assert store.occurrences(["dog"], 5).tolist() == [1]
