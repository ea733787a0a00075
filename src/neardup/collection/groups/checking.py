"""Check that the groups of a store agree with its texts, decisions and change log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from neardup.collection.contract import GroupRow, MemberRow
from neardup.collection.groups.forming import Ties
from neardup.collection.sets import Sets, reaches
from neardup.collection.store import Store
from neardup.io.decisions.records import TOGETHER

_PAGE = 1000


def faults(store: Store) -> Iterator[str]:
    """The faults found, as sentences."""
    replayed = _replayed(store)
    sets = Sets(store)
    after = 0
    while page := store.groups.page(after, _PAGE):
        for row in page:
            members = store.groups.members(row.number)
            yield from _of_group(store, sets, row, members)
            if replayed.pop(row.number, None) != (row.representative, {one.document for one in members}):
                yield f"Group {row.number} contradicts the change log"
        after = page[-1].number
    for group in replayed:
        yield f"The change log says that there is a group {group}"
    yield from store.decisions.faults()
    yield from _decisions(store)


def _of_group(store: Store, sets: Sets, row: GroupRow, members: list[MemberRow]) -> Iterator[str]:
    documents = [one.document for one in members]
    known = np.array(documents, np.int64)
    if len(documents) < 2 or row.representative not in documents or len(store.rows(known)) < len(documents):
        yield f"Group {row.number} has members that are not there, or lacks its representative"
        return
    sizes = sets.sizes(documents)
    if not sets.base.numbers.isdisjoint(documents):
        yield f"Group {row.number} has a member that is a base text"
    counted = dict(zip(documents, sets.shared(row.representative, documents).tolist(), strict=True))
    if counted != {one.document: one.shared for one in members}:
        yield f"Counts of members of group {row.number} with its representative contradict their texts"
    ties = Ties(store.decisions.pairs_of(documents))
    head = sizes[row.representative]
    near = {one for one in documents if reaches(counted[one], sizes[one], head, row.threshold)}
    near.add(row.representative)
    inside = set(documents)
    for one in documents:
        bundle = ties.bundle(one)
        if near.isdisjoint(bundle) or not inside.issuperset(bundle):
            yield f"Document number {one} does not belong in group {row.number}"
    if ties.apart(documents, inside):
        yield f"Group {row.number} has members that were decided not to be alike"


def _decisions(store: Store) -> Iterator[str]:
    after = 0
    while page := store.decisions.pairs_after(after, _PAGE):
        wanted = sorted({one for row in page for one in (row.a, row.b)})
        there = {row.number for row in store.rows(np.array(wanted, np.int64))}
        groups = store.groups.memberships(wanted)
        for row in page:
            if not {row.a, row.b} <= there:
                yield f"Decision {row.number} is about a document that is not there"
            elif row.value in TOGETHER and (
                row.a not in groups or row.b not in groups or groups[row.a].group != groups[row.b].group
            ):
                yield f"The documents of decision {row.number} are not in one group"
        after = page[-1].number


def _replayed(store: Store) -> dict[int, tuple[int, set[int]]]:
    """The groups that result from replaying the change log: (representative, members) by group."""
    heads: dict[int, int] = {}
    members: dict[int, Counter[int]] = {}
    after = 0
    while page := store.groups.changes(after, _PAGE):
        for row in page:
            after = row.number
            if row.what in ("made", "leads"):
                heads[row.group] = row.document
            if row.what in ("made", "joined", "left"):
                members.setdefault(row.group, Counter())[row.document] += -1 if row.what == "left" else 1
            if row.what == "ended":
                heads.pop(row.group, None)
                members.pop(row.group, None)
    return {
        group: (head, {one for one, times in members.get(group, Counter()).items() if times > 0})
        for group, head in heads.items()
    }
