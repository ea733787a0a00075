"""Decisions about rows → the tables that people read, with the ids of the documents and the reasons."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.display import counted, similarity
from neardup.errors import InputError
from neardup.group.decide import Decisions, Streams, same_side
from neardup.io.attachments import ATTACHMENTS, Carried, column_for, differences, lacking_places, same_or_not
from neardup.io.labels import as_text
from neardup.io.readers.base import Documents
from neardup.join.criterion import similarity_of
from neardup.join.pair_file import Pairs, documents_in
from neardup.join.rows import Rows
from neardup.measures import MEASURES
from neardup.run.represented import Represented
from neardup.settings import Settings
from neardup.tables import Bools, Int64s, UInt64s, column

COUNTS = ("shared", "size_a", "size_b")
MEASURED = ("common", "total_a", "total_b")
"""The columns of a measure that does not count shingles: common to both documents, and in each of them."""
_SLICE = 1 << 16
"""Rows whose reasons are made at a time."""

SAME_VALUE = "; kept: across removes only documents of another value"
PAIRS = ("id_a", "id_b", "shared", "size_a", "size_b", "resemblance", "containment_a", "containment_b")


class Named(Protocol):
    """Anything that can look up the ids of rows."""

    def of(self, rows: Int64s) -> pa.Array:
        """The ids of ``rows``, in that order."""

    def text(self, rows: Int64s) -> pa.Array:
        """The ids as strings, for sentences."""


class Ids:
    """The ids of rows: the user's, or ``source#row`` (the row number for data in memory)."""

    def __init__(self, rows: Rows) -> None:
        self._columns, self._pieces, parts = rows.ids, rows.corpus.pieces, rows.corpus.parts
        self._firsts = np.array([piece.first for piece in self._pieces] or [0], np.int64)
        self._part_first = [rows.part_first(number) for number in range(len(parts))]
        self._in_memory = [_is_numbered(part.documents) for part in parts]
        self._named = [part.id is not None for part in parts]
        kinds = {str(self._type(number)) for number in range(len(parts))}
        self._as_text = len(kinds) > 1

    def of(self, rows: Int64s) -> pa.Array:
        """The ids of ``rows``, in that order: strings or integers, as the input has them."""
        if len(self._part_first) == 1:  # nothing to put in order
            return self._of_part(0, rows)
        owner = np.searchsorted(np.array(self._part_first[1:], np.int64), rows, side="right")
        places: list[Int64s] = []
        found: list[pa.Array] = []
        for number in range(len(self._part_first)):
            mine = np.flatnonzero(owner == number)
            places.append(mine)
            ids = self._of_part(number, rows[mine])
            found.append(pc.cast(ids, pa.string()) if self._as_text else ids)
        together = pa.concat_arrays([ids for ids in found if len(ids)] or found[:1])
        return together.take(pa.array(np.argsort(np.concatenate(places), kind="stable")))

    def text(self, rows: Int64s) -> pa.Array:
        """The ids as strings, for sentences."""
        return pc.cast(self.of(rows), pa.string())

    def _type(self, number: int) -> pa.DataType:
        if self._named[number]:
            return self._columns[number].type
        return pa.int64() if self._in_memory[number] else pa.string()

    def _of_part(self, number: int, rows: Int64s) -> pa.Array:
        if self._named[number]:
            return self._columns[number].take(pa.array(rows - self._part_first[number]))
        owner = np.searchsorted(self._firsts, rows, side="right") - 1
        numbers = np.empty(len(rows), np.int64)
        for k in np.unique(owner):
            mine = owner == k
            numbers[mine] = self._pieces[k].row_numbers[rows[mine] - self._firsts[k]]
        if self._in_memory[number]:
            return pa.array(numbers)
        sources = pa.array([piece.source for piece in self._pieces], pa.string()).take(pa.array(owner))
        return pc.binary_join_element_wise(sources, pc.cast(pa.array(numbers), pa.string()), "#")


def _is_numbered(documents: Documents) -> bool:
    """Whether the number of a row is its id: in memory, unless the rows have several sources."""
    return documents.format == "arrow" and len(documents.names) == 1


def check_ids(rows: Rows, number: int, name: str) -> str | None:
    """Describe the fault in the id column of a part; None if it names every row once."""
    ids = rows.ids[number]
    if ids.null_count:
        return f'the id column "{name}" is empty in {ids.null_count:,} rows'
    if _all_distinct(ids, limited=rows.settings.search.limit is not None):
        return None
    counts = pc.value_counts(ids)
    often = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    examples = ", ".join(repr(value) for value in often.slice(0, 3).to_pylist())
    return f'the id column "{name}" names {counted(len(often), "id")} more than once, for example {examples}'


def _all_distinct(ids: pa.Array, *, limited: bool) -> bool:
    """Whether no two ids are equal; sorting takes less memory than counting, but longer for strings."""
    if pa.types.is_integer(ids.type):
        ordered = np.sort(ids.to_numpy(zero_copy_only=False))
        return not bool((ordered[1:] == ordered[:-1]).any())
    if not limited:
        return bool(pc.count_distinct(ids).as_py() == len(ids))
    order = pc.sort_indices(ids)
    for first in range(0, len(ids), _SLICE):
        part = ids.take(order.slice(first, _SLICE + 1))
        if pc.any(pc.equal(part.slice(1), part.slice(0, max(0, len(part) - 1)))).as_py():
            return False
    return True


def require_ids(fault: str | None) -> None:
    """Raise InputError for the ``fault`` of an id column that the user chose."""
    if fault:
        raise InputError(
            fault[0].upper() + fault[1:],
            "Ids that each name one document",
            "Choose another column with --id (id= in Python), or none: rows are then named source#row",
        )


def pair_table(pairs: pa.Table, shingles: pa.Table, rows: Streams, ids: Named, measure: str) -> pa.Table:
    """The pairs as users see them, from two VERIFIED tables: counted by the measure, and on the shingle sets.

    A measure without a column of its own gets one, after its integers if it does not count shingles. If documents
    carry attachments, a column shows whether those of the two differ. With a reference set (the first rows), a
    last column shows whether document a is in it.
    """
    unique, row = rows.unique, MEASURES[measure]
    a, b = column(pairs, "a"), column(pairs, "b")
    shared, size_a, size_b = (column(shingles, name) for name in COUNTS)
    values = [
        ids.of(unique[a]),
        ids.of(unique[b]),
        *(pa.array(numbers) for numbers in (shared, size_a, size_b)),
        *(pa.array(shared / whole) for whole in (size_a + size_b - shared, size_a, size_b)),
    ]
    table = pa.table(values, names=list(PAIRS))
    common, total_a, total_b = (column(pairs, name) for name in COUNTS)
    if not row.of_shingles:
        for name, numbers in zip(MEASURED, (common, total_a, total_b), strict=True):
            table = table.append_column(name, pa.array(numbers))
    if row.column:
        value = similarity_of(common, total_a, total_b, row.formula)
        table = table.append_column(row.column, pa.array(value))
    if rows.attachments:
        differ = same_or_not(unique[a], unique[b], rows.attachments)
        table = table.append_column("attachments_differ", differ)
    if rows.first_new:
        table = table.append_column("a_in_reference", pa.array(unique[a] < rows.first_new))
    return table


def copy_table(rows: Streams, ids: Named) -> pa.Table:
    """id, copy_of for every exact copy in the new input."""
    copies = new_copies(rows)
    return pa.table([ids.of(copies), ids.of(rows.copy_of[copies])], names=["id", "copy_of"])


def rank_table(rows: Rows, row_rank: Int64s, pairs: Pairs, ids: Named, more: Int64s) -> pa.Table:
    """id, row, first, rank, reference, bytes of every row that a stricter threshold may have to decide about.

    ``more`` are other rows that people look at; their copies are added. Also the number of its value ``across``
    and its ``source``, if the settings name such columns.
    """
    numbers = involved(rows, pairs, more)
    columns = {
        "id": ids.of(numbers),
        "row": pa.array(numbers),
        "first": pa.array(rows.copy_of[numbers]),
        "rank": pa.array(row_rank[numbers]),
        "reference": pa.array(numbers < rows.first_new),
        "bytes": pa.array(rows.bytes[numbers]),
    }
    sources = rows.extra.get(rows.settings.keep.sources)
    if len(rows.across):
        columns["across"] = pa.array(numbered(rows.across[numbers]))
    if sources is not None:
        known = np.concatenate((np.full(rows.first_new, -1), np.arange(len(rows) - rows.first_new)))[numbers]
        columns["source"] = as_text(sources).take(pa.array(known, mask=known < 0))
    return _with_attachments(pa.table(columns), numbers, rows.attachments)


def numbered(values: UInt64s) -> Int64s:
    """int64[n]: each value as its number in the order of first appearance.

    >>> numbered(np.array([7, 2, 7], np.uint64))
    array([0, 1, 0])
    """
    _, first, of = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[of]


def _with_attachments(table: pa.Table, numbers: Int64s, carried: Carried) -> pa.Table:
    """Append the column ``attachments`` of some rows, if any document of the run carries some."""
    return table.append_column(ATTACHMENTS, column_for(numbers, carried)) if carried else table


def involved(rows: Streams, pairs: Pairs, more: Int64s | None = None) -> Int64s:
    """The rows (ascending) of documents that are in a pair or have a copy among the new rows, with all copies.

    Also those of the rows ``more``.
    """
    first = np.zeros(len(rows), np.bool_)
    if more is not None:
        first[rows.copy_of[more]] = True
    first[rows.unique[documents_in(pairs, len(rows.unique))]] = True
    first[rows.copy_of[new_copies(rows)]] = True
    return np.flatnonzero(first[rows.copy_of])


def new_copies(rows: Streams) -> Int64s:
    """The rows of the new input that are exact copies."""
    numbers = np.arange(len(rows))
    copies: Int64s = numbers[(rows.copy_of != numbers) & (numbers >= rows.first_new)]
    return copies


def group_table(
    decisions: Decisions, rows: Streams, ids: Named, settings: Settings, counted: Represented | None = None
) -> pa.Table:
    """id, group, representative, similarity, kept, reason, size: one row per member.

    An unknown similarity is null; ``size`` is the number of members of the group.

    The reasons name the measure of the ``settings``. ``counted`` adds its columns. If documents carry attachments,
    a last column lists them.
    """
    heads = ids.of(decisions.representative_row)
    columns = {
        "id": ids.of(decisions.rows),
        "group": heads,
        "representative": pa.array(decisions.is_representative),
        "similarity": pa.array(decisions.similarity, mask=np.isnan(decisions.similarity)),
        "kept": pa.array(decisions.kept),
        "reason": _reasons(decisions, rows, ids, settings),
        "size": pa.array(group_sizes(decisions)),
    }
    table = pa.table(columns)
    if counted is not None:
        for name, values in zip(counted.schema.names, counted.columns(decisions.rows).columns, strict=True):
            table = table.append_column(name, values)
    return _with_attachments(table, decisions.rows, rows.attachments)


def group_sizes(decisions: Decisions) -> Int64s:
    """int64[members]: the number of members in the group of each."""
    heads = decisions.representative_row
    return np.bincount(heads)[heads] if len(heads) else np.empty(0, np.int64)


def _reasons(decisions: Decisions, rows: Streams, ids: Named, settings: Settings) -> pa.Array:
    """The reasons, made slice by slice: a sentence takes several times its size while it is made."""
    counts, members = group_sizes(decisions) - 1, len(decisions.rows)
    if rows.attachments or members <= _SLICE:  # the reason of one member may be an attachment of another
        return _reasons_of(decisions, counts, rows, ids, settings)
    parts = [slice(first, first + _SLICE) for first in range(0, members, _SLICE)]
    return pa.concat_arrays(
        [_reasons_of(decisions.part(part), counts[part], rows, ids, settings) for part in parts]
    )


def _reasons_of(decisions: Decisions, counts: Int64s, rows: Streams, ids: Named, settings: Settings) -> pa.Array:
    heads = decisions.representative_row
    where = pa.array(np.where(heads < rows.first_new, " in the reference set", "").astype(str))
    leading = ids.text(heads)
    carried, spared = _carried(decisions, rows, ids)
    same = same_side(rows, decisions.rows, heads) & ~decisions.is_representative & (not decisions.none_goes)
    stays = pa.array(np.where(same & decisions.kept, SAME_VALUE, "").astype(str))
    said = _spared(decisions, spared | same)
    alike = _similarities(decisions, settings, rows.first_new)
    near = pc.binary_join_element_wise("near copy of ", leading, where, alike, carried, said, stays, "")
    copy = pc.binary_join_element_wise("exact copy of ", leading, where, carried, stays, "")
    first = rows.copy_of[decisions.rows]
    of_first = pc.binary_join_element_wise("exact copy of ", ids.text(first), ", ", near, "")
    others = pa.array(np.where(counts == 1, " other document", " other documents").astype(str))
    number = pc.cast(pa.array(counts), pa.string())
    goes = pa.array(np.where(decisions.kept, "", "; goes, too: keep is none").astype(str))
    lead = pc.binary_join_element_wise("represents ", number, others, goes, "")
    followed = pc.if_else(pa.array(first == decisions.rows), near, of_first)
    return pc.if_else(
        pa.array(decisions.is_representative), lead, pc.if_else(pa.array(decisions.exact), copy, followed)
    )


HELD_WORDS = {
    "new-in-old": " (of this document in that one)",
    "old-in-new": " (of that document in this one)",
    "either": " (of the smaller one in the larger one)",
}
"""Which side a measure with a direction is seen from."""


def _similarities(decisions: Decisions, settings: Settings, first_new: int) -> pa.Array:
    """The similarities to representatives, in words, each different one made once."""
    measure = settings.search.in_words
    of_old = (decisions.representative_row < first_new).astype(np.int64)
    sides = ("", "")
    if MEASURES[settings.search.measure].directed:
        sides = HELD_WORDS["new-in-old"], HELD_WORDS[settings.keep.held]
    pairs, at = np.unique(np.column_stack((of_old, decisions.similarity)), axis=0, return_inverse=True)
    said = [
        f" by a chain of pairs: {measure} not stored"
        if np.isnan(value)
        else f": {measure} {similarity(value)}{sides[int(old)]}"
        for old, value in pairs
    ]
    return pa.array(said, pa.string()).take(pa.array(at.reshape(-1)))


def _carried(decisions: Decisions, streams: Streams, ids: Named) -> tuple[pa.Array, Bools]:
    """The remark on attachments for each row, "" without any; and whether it explains why the document stays."""
    rows, heads, carried = decisions.rows, decisions.representative_row, streams.attachments
    said, spared = np.full(len(rows), "", object), np.zeros(len(rows), np.bool_)
    if not carried:
        return pa.array(said, pa.string()), spared
    spared[lacking_places(rows, heads, carried)] = not decisions.none_goes
    first = streams.copy_of[rows]
    # copies of each other with an attachment that the representative lacks: one stays
    stays = dict(zip(first[spared & decisions.kept].tolist(), rows[spared & decisions.kept].tolist(), strict=True))
    for place, difference in differences(rows, heads, ids.text(heads), carried):
        joint = ", " if decisions.exact[place] else "; kept: " if spared[place] else "; "
        if spared[place] and not decisions.kept[place]:
            kept = ids.text(np.array([stays[int(first[place])]]))[0].as_py()
            joint, difference = "; ", f"{difference}; its exact copy {kept} stays"
        said[place] = joint + difference
    return pa.array(said, pa.string()), spared & decisions.kept


def _spared(decisions: Decisions, said: Bools) -> pa.Array:
    """The reasons why other near copies stay, except those already explained (``said``)."""
    spared = decisions.kept & ~decisions.is_representative & ~said & (not decisions.none_goes)
    unknown = "; kept: its share in the representative is not stored"
    told = np.where(np.isnan(decisions.similarity), unknown, "; kept: the representative holds too little of it")
    if decisions.lost is not None:
        told = np.where(decisions.lost.spared, "; kept: too much of its text would be lost", told)
    return pa.array(np.where(spared, told, "").astype(str))
