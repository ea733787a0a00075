"""The reasons in the table of groups for documents that a person decided about."""

from __future__ import annotations

import pyarrow as pa

from neardup.display import counted, similarity
from neardup.group.decide import Decisions
from neardup.run.decided import Applied, Item

_RANK = {"keep": 0, "remove": 0, "keep both": 1, "duplicate": 2, "represents": 3, "not alike": 4}
"""The decision that settles a document is named: a fate before a verdict."""


def with_decided(groups: pa.Table, applied: Applied, decisions: Decisions, measure: str) -> pa.Table:
    """Return the table of groups with the decisions of people in its reasons.

    ``decisions`` are those about its rows; ``measure`` is its name in the reasons.
    """
    of_row, rows, placed = _by_row(applied), decisions.rows.tolist(), decisions.placed.tolist()
    members = groups.select(["id", "group", "representative", "similarity", "kept", "reason", "size"]).to_pylist()
    reasons = []
    for member, row, moved in zip(members, rows, placed, strict=True):
        named = [one for one in of_row.get(row, []) if _settles(one[0], member, moved)]
        if not named and not (moved and not member["representative"]):
            reasons.append(member["reason"])
            continue
        named.sort(key=lambda one: (_RANK[one[0].sort], -one[0].action))
        said = _sentence(*named[0]) if named else "placed by decisions on others in the group"
        known = not named and member["similarity"] is not None  # then the reason may say more
        reasons.append(f"{member['reason'] if known else _place(member, measure)}; {said}")
    at = groups.schema.get_field_index("reason")
    return groups.set_column(at, "reason", pa.array(reasons, pa.string()))


def _by_row(applied: Applied) -> dict[int, list[tuple[Item, object]]]:
    """The decisions about each row, with the id of the other document; "" for decisions about one."""
    found: dict[int, list[tuple[Item, object]]] = {}
    for item, rows in zip(applied.items, applied.rows_of, strict=True):
        if item.sort == "unsure":
            continue
        if item.sort == "represents":
            found.setdefault(rows[1], []).append((item, item.ids[0]))
            continue
        others = reversed(item.ids) if len(item.ids) == 2 else ("",)
        for row, other in zip(rows, others, strict=True):
            found.setdefault(row, []).append((item, other))
    return found


def _settles(item: Item, member: dict[str, object], moved: bool) -> bool:
    """Whether a decision explains the place or the fate of a document."""
    match item.sort:
        case "keep" | "remove" | "represents":
            return True
        case "keep both":
            return bool(member["kept"]) and (moved or not member["representative"])
        case "duplicate":
            return not member["kept"] or moved
    return moved


def _place(member: dict[str, object], measure: str) -> str:
    """The place of a document in its group."""
    size, group, value = member["size"], member["group"], member["similarity"]
    assert isinstance(size, int)
    if member["representative"]:
        return f"represents {counted(size - 1, 'other document')}" if size > 1 else "in no group"
    if not isinstance(value, float):
        return f"in the group of {group}"
    exact = str(member["reason"]).startswith("exact copy of") and value == 1
    return f"exact copy of {group}" if exact else f"in the group of {group}: {measure} {similarity(value)}"


def _sentence(item: Item, other: object) -> str:
    decision: str
    match item.sort:
        case "keep" | "remove":
            decision = item.sort
        case "represents":
            decision = f"represents the group of {other}"
        case "duplicate":
            decision = f"duplicate of {other}"
        case _:
            decision = f"{item.sort}: {other}"
    return f"decided by {item.by}: {decision}"
