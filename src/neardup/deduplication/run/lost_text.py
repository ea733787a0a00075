"""The text that removed documents take with them: the columns of the table of groups, and the totals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.run.account import Lost, LostMost
from neardup.deduplication.run.records import MemberLost
from neardup.display import counted, number, percent, printable
from neardup.io.contents import lost_unread, stored_attachments
from neardup.tables import Int64s

if TYPE_CHECKING:
    from neardup.deduplication.group.decisions import Decisions

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
    position = groups.schema.get_field_index("reason") + 1
    for name, values in reversed(_columns(decisions).items()):
        groups = groups.add_column(position, name, values)
    return groups


def _columns(decisions: Decisions) -> dict[str, pa.Array]:
    lost, entries = decisions.lost, len(decisions.rows)
    if lost is None:
        return {name: pa.nulls(entries, kind) for name, kind in COLUMNS.items()}
    stays, passages = decisions.kept, lost.passages
    units = np.where(lost.lost == 0, 0, -1) if passages is None else passages.units
    longest = pa.nulls(entries, pa.string()) if passages is None else passages.longest
    numbers = [
        _with_unknown(values, stays | (values < 0))
        for values in (_member_shingles(lost.shingles), lost.lost, units)
    ]
    return dict(zip(COLUMNS, (*numbers, pc.if_else(pa.array(stays), None, longest)), strict=True))


def _member_shingles(shingles: Int64s) -> Int64s:
    """The shingles of each member, −1 where they were not counted: for exact copies of a document that stays."""
    return np.where(shingles > 0, shingles, -1)


def _with_unknown(values: Int64s, unknown: Any) -> pa.Array:
    return pa.array(values, mask=unknown)


def lost_counts(groups: pa.Table) -> Lost:
    """The totals of a table of groups, and the removed documents that lose most."""
    removed = groups.filter(pc.invert(groups["kept"]))
    known = removed.filter(pc.is_valid(removed["lost_shingles"]))
    losing = known.filter(pc.greater(known["lost_shingles"], 0))
    lost = losing["lost_shingles"].to_numpy()
    order = np.argsort(-lost, kind="stable")[:LISTED]
    most = losing.select(["id", "group", *COLUMNS]).take(pa.array(order)).to_pylist()
    unread = lost_unread(groups["group"].to_pylist(), groups["kept"].to_pylist(), stored_attachments(groups))
    return Lost(
        removed=removed.num_rows,
        losing=losing.num_rows,
        unknown=removed.num_rows - known.num_rows,
        shingles=pc.sum(known["shingles"]).as_py() or 0,
        lost=int(lost.sum()),
        identical=pc.sum(removed["identical"]).as_py() or 0,
        most=[LostMost(**row) for row in most],
        unread=unread,
    )


def of_member(row: Mapping[str, Any], settings: Mapping[str, Any]) -> MemberLost | None:
    """The loss in a row of the table of groups; None for a document that stays, or without the columns."""
    if row["kept"] or "lost_shingles" not in row:
        return None
    shingles, lost, units, passage = (row[name] for name in COLUMNS)
    unit = "token" if settings["unit"] == "word" else "character"
    return MemberLost(shingles, lost, units, passage, unit, bool(row["identical"]))


def lost_in_words(lost: Lost, one: str = "removed document", more: str = "removed documents") -> str:
    """Return the totals in a sentence; ``one`` and ``more`` name the documents that go.

    Documents with the characters of their representative lose nothing. Others may lose case, punctuation, signs
    and operators, which are in no shingle.
    """
    if not lost.removed:
        return "none"
    unknown = f"; unknown for {number(lost.unknown)}" if lost.unknown else ""
    if not lost.losing:
        if lost.identical == lost.removed:
            return f"none: the {more} have the characters of kept ones"
        if lost.unknown:
            return f"no word found{unknown}"
        others = counted(lost.removed - lost.identical, one, more)
        are = "is" if lost.removed - lost.identical == 1 else "are"
        return f"no word: the kept documents hold all shingles; {others} {are} not identical"
    return (
        f"{number(lost.losing)} of {counted(lost.removed, one, more)} "
        f"{'loses' if lost.losing == 1 else 'lose'} some: {number(lost.lost)} of {number(lost.shingles)} "
        f"shingles ({percent(lost.lost, lost.shingles)}){unknown}"
    )


def lost_beside(lost: Lost) -> str:
    """The parts of removed documents beside their text that no document that stays has; "" without any."""
    kinds = [f"{kind} of {counted(count, 'document')}" for kind, count in lost.unread.items()]
    return f"; not compared, and in no kept document: {', '.join(kinds)}" if kinds else ""


def totals_sentence(lost: Lost, *, dry: bool = False) -> str:
    """The totals in a sentence, with the document that loses most; ``dry``: nothing was removed."""
    totals = lost_in_words(lost, *(("document to remove", "documents to remove") if dry else ()))
    beside = lost_beside(lost)
    if not lost.most:
        return totals + beside
    worst = lost.most[0]
    passage = "" if worst.lost_passage is None else f", for example “{printable(worst.lost_passage)}”"
    which = f"; most: {printable(worst.id)}, " if lost.losing > 1 else ": "
    return f"{totals}{which}{number(worst.lost_shingles)} of {number(worst.shingles or 0)}{passage}{beside}"
