"""The text that removed documents take with them: the columns of the table of groups, and their totals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.group.decide import Decisions
from neardup.run.records import MemberLost
from neardup.tables import Int64s

COLUMNS = {
    "shingles": pa.int64(),
    "lost_shingles": pa.int64(),
    "lost_units": pa.int64(),
    "lost_passage": pa.string(),
}
"""The columns of the table of groups that describe lost text."""

LISTED = 10
"""Number of removed documents that ``run.json`` lists: those that lose most."""


def with_lost_columns(groups: pa.Table, decisions: Decisions) -> pa.Table:
    """The table of groups with the columns of COLUMNS, after its reasons; null for documents that stay."""
    at = groups.schema.get_field_index("reason") + 1
    for name, values in reversed(_columns(decisions).items()):
        groups = groups.add_column(at, name, values)
    return groups


def _columns(decisions: Decisions) -> dict[str, pa.Array]:
    lost, entries = decisions.lost, len(decisions.rows)
    if lost is None:
        return {name: pa.nulls(entries, kind) for name, kind in COLUMNS.items()}
    stays, passages = decisions.kept, lost.passages
    units = np.where(lost.lost == 0, 0, -1) if passages is None else passages.units
    longest = pa.nulls(entries, pa.string()) if passages is None else passages.longest
    numbers = [_known(values, stays | (values < 0)) for values in (_near(lost.shingles), lost.lost, units)]
    return dict(zip(COLUMNS, (*numbers, pc.if_else(pa.array(stays), None, longest)), strict=True))


def _near(shingles: Int64s) -> Int64s:
    """The shingles of each member, −1 where they were not counted: for exact copies of a document that stays."""
    return np.where(shingles > 0, shingles, -1)


def _known(values: Int64s, unknown: Any) -> pa.Array:
    return pa.array(values, mask=unknown)


def lost_counts(groups: pa.Table) -> dict[str, Any]:
    """The totals of a table of groups, and the removed documents that lose most, for ``run.json``."""
    removed = groups.filter(pc.invert(groups["kept"]))
    known = removed.filter(pc.is_valid(removed["lost_shingles"]))
    losing = known.filter(pc.greater(known["lost_shingles"], 0))
    lost = losing["lost_shingles"].to_numpy()
    order = np.argsort(-lost, kind="stable")[:LISTED]
    return {
        "removed": removed.num_rows,
        "losing": losing.num_rows,
        "unknown": removed.num_rows - known.num_rows,
        "shingles": pc.sum(known["shingles"]).as_py() or 0,
        "lost": int(lost.sum()),
        "most": losing.select(["id", "group", *COLUMNS]).take(pa.array(order)).to_pylist(),
    }


def of_member(row: Mapping[str, Any], settings: Mapping[str, Any]) -> MemberLost | None:
    """The loss in a row of the table of groups; None for a document that stays, or without the columns."""
    if row["kept"] or "lost_shingles" not in row:
        return None
    shingles, lost, units, passage = (row[name] for name in COLUMNS)
    return MemberLost(shingles, lost, units, passage, "token" if settings["unit"] == "word" else "character")
