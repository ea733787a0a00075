"""The groups and decisions of a collection as tables for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from neardup.errors import SettingError

if TYPE_CHECKING:
    from neardup.collection.collection import Collection

_GROUPS = pa.schema(
    [
        *((name, pa.string()) for name in ("id", "group")),
        ("representative", pa.bool_()),
        ("similarity", pa.float64()),
        ("held_by", pa.string()),
        ("number", pa.int64()),
    ]
)
_DECISIONS = pa.schema(
    [*((name, pa.string()) for name in ("decision", "id", "other", "note", "by", "at")), ("action", pa.int64())]
)
_PAGE = 1000


def collection_table(collection: Collection, what: str) -> pa.Table:
    """Return the ``groups`` of a collection, a row for each member, or its ``decisions``, the latest first.

    ``number`` is the permanent id of the group, ``group`` the id of its representative. Raises SettingError for
    anything else.
    """
    if what == "groups":
        return pa.Table.from_pylist(_members(collection), _GROUPS)
    if what == "decisions":
        return pa.Table.from_pylist(_decisions(collection), _DECISIONS)
    raise SettingError(f"The export is {what!r}", "One of groups, decisions: a collection has no tags")


def _members(collection: Collection) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after: int | None = None
    while True:
        page = collection.groups(after, _PAGE)
        for group in page.groups:
            members = list(group.members)
            while len(members) < group.size and (more := collection.members(group.id, members[-1].id)):
                members += more
            found += [
                {
                    "id": member.id,
                    "group": group.representative,
                    "representative": member.held_by == "representative",
                    "similarity": member.resemblance,
                    "held_by": member.held_by,
                    "number": group.id,
                }
                for member in members
            ]
        if page.next is None:
            return found
        after = page.next


def _decisions(collection: Collection) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = 0
    while decisions := collection.decisions(after, _PAGE):
        after = decisions[-1].number
        found += [
            {
                "decision": one.verdict,
                "id": one.a,
                "other": one.b,
                "note": one.note,
                "by": one.by,
                "at": one.at,
                "action": one.number,
            }
            for one in decisions
        ]
    return found[::-1]
