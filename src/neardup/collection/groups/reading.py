"""Convert rows of the group tables to groups, decisions and changes with ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from neardup.collection.contract import ChangeRow, GroupRow, MemberRow, StoredRow
from neardup.collection.groups.records import ABOUT, Change, PairDecision, StoredGroup, StoredMember
from neardup.collection.sets import Sets, reaches
from neardup.collection.store import Store
from neardup.io.decisions.log import InForce

SHOWN = 1000
"""The most members that a ``StoredGroup`` lists itself."""


def group_of_row(store: Store, row: GroupRow) -> StoredGroup:
    """A group with its first members."""
    members = members_of(store, row, store.groups.members(row.number, limit=SHOWN))
    [head] = _documents(store, [row.representative]).values()
    return StoredGroup(row.number, head.id, row.threshold, store.groups.size(row.number), tuple(members))


def members_of(store: Store, row: GroupRow, found: Sequence[MemberRow]) -> list[StoredMember]:
    """The given members of a group, with ids and sizes."""
    documents = _documents(store, [row.representative, *(one.document for one in found)])
    sizes = Sets(store).sizes(list(documents))
    of_size = sizes[row.representative]
    return [_member(row, one, documents[one.document].id, (sizes[one.document], of_size)) for one in found]


def _member(row: GroupRow, one: MemberRow, id: str, sizes: tuple[int, int]) -> StoredMember:
    if one.document == row.representative:
        return StoredMember(id, one.shared, *sizes, "representative")
    enough = reaches(one.shared, *sizes, row.threshold)
    return StoredMember(id, one.shared, *sizes, "resemblance" if enough else "decision")


def decisions_of(store: Store, rows: Sequence[InForce]) -> tuple[PairDecision, ...]:
    """Decisions with ids."""
    ids = _documents(store, [one for row in rows for one in (row.a, row.b)])
    return tuple(
        PairDecision(row.number, ids[row.a].id, ids[row.b].id, row.value, row.by, row.note, row.at) for row in rows
    )


def change_of(row: ChangeRow) -> Change:
    """A line of the log; fields that a later version may add to it are left out."""
    known = {name: value for name, value in row.about.items() if name in ABOUT}
    return Change(row.number, row.at, row.what, row.group or None, **known)


def _documents(store: Store, numbers: Iterable[int]) -> dict[int, StoredRow]:
    wanted = np.unique(np.fromiter(numbers, np.int64))
    return {row.number: row for row in store.rows(wanted)}
