"""Decisions about rows → the tables that people read, with ids, reasons, and counts of represented documents."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.group.decisions import Decisions, same_side
from neardup.deduplication.group.rows import JudgedRows
from neardup.deduplication.join.criterion import similarity_of
from neardup.deduplication.join.pairs import Pairs
from neardup.deduplication.run.account import RunAccount
from neardup.deduplication.run.copy_differences import CopyDifferences
from neardup.display import similarity
from neardup.io.contents import (
    ATTACHED,
    ATTACHMENTS,
    NOT_COMPARED,
    UNREAD,
    Carried,
    column_for,
    differences,
    kinds_not_compared,
    lacking_places,
    same_or_not,
)
from neardup.io.inputs import as_text
from neardup.settings import MEASURES, SearchSettings
from neardup.tables import OLD_LEADS, Bools, Int64s, UInt64s, column

COUNTED = ("copies", "exact_copies", "near_copies")
"""The columns of ``count``: the represented documents, and how many of them are exact and near copies."""

SOURCES = "sources"
"""The column of ``sources``."""

COUNTS = ("shared", "size_a", "size_b")

MEASURED = ("common", "total_a", "total_b")
"""The columns of a measure that does not count shingles: common to both documents, and in each of them."""

_SLICE = 1 << 16
"""Rows whose reasons are made at a time."""

SAME_VALUE = "; kept: across removes only documents of another value"
PAIRS = ("id_a", "id_b", "shared", "size_a", "size_b", "resemblance", "containment_a", "containment_b")

HELD_WORDS = {
    "new-in-old": " (of this document in that one)",
    "old-in-new": " (of that document in this one)",
    "either": " (of the smaller one in the larger one)",
}
"""Which side a measure with a direction is seen from."""


@dataclass(frozen=True, eq=False)
class Represented:
    """For each row: whether it ``stays`` (bool[rows]), and the exact and near copies it represents (int64[rows]).

    A removed document is represented by its first exact copy in the group that stays, else by the representative
    if that stays and is not in the reference set, else by none. ``by`` and ``of`` are (row that stays, document it
    represents), row by row. ``values`` are the sources of the rows from ``first_new`` on, or None.
    """

    stays: Bools
    exact: Int64s
    near: Int64s
    by: Int64s
    of: Int64s
    values: pa.Array | None
    first_new: int

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        listed = [] if self.values is None else [(SOURCES, pa.list_(pa.large_string()))]
        return pa.schema([*((name, pa.int64()) for name in COUNTED), *listed])

    def columns(self, rows: Int64s) -> pa.Table:
        """The columns of ``rows``, null for those that do not stay."""
        goes = ~self.stays[rows]
        numbers = (self.exact[rows] + self.near[rows], self.exact[rows], self.near[rows])
        arrays = [pa.array(counts, mask=goes) for counts in numbers]
        if self.values is not None:
            arrays.append(self._sources(rows, goes))
        return pa.table(arrays, schema=self.schema)

    def _sources(self, rows: Int64s, goes: Bools) -> pa.Array:
        """The distinct values among each row and those it represents, sorted, without null."""
        staying = np.flatnonzero(~goes)
        order = np.argsort(rows[staying], kind="stable")
        first, last = (np.searchsorted(self.by, rows[staying][order], side) for side in ("left", "right"))
        counts = last - first
        others = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        owner = np.concatenate((staying, np.repeat(staying[order], counts)))
        of = np.concatenate((rows[staying], self.of[others]))
        assert self.values is not None
        coded = pc.dictionary_encode(self.values.take(pa.array(of - self.first_new)))
        rank = pc.rank(coded.dictionary, "ascending").to_numpy().astype(np.int64) - 1
        names = coded.dictionary.take(pc.sort_indices(coded.dictionary))
        given = coded.indices.is_valid().to_numpy(zero_copy_only=False)
        code = rank[coded.indices.fill_null(0).to_numpy()[given]] if given.any() else np.empty(0, np.int64)
        pairs = np.unique(owner[given] * max(1, len(names)) + code)
        owners, codes = np.divmod(pairs, max(1, len(names)))
        ends = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(rows))))).astype(np.int32)
        lists = pa.ListArray.from_arrays(pa.array(ends), names.take(pa.array(codes)))
        return pc.if_else(pa.array(goes), pa.scalar(None, lists.type), lists)


def representatives(decisions: Decisions, rows: JudgedRows) -> Represented:
    """Who represents whom."""
    first_new, members = rows.first_new, decisions.rows
    new = members >= first_new
    stays = np.ones(len(rows), np.bool_)
    stays[:first_new] = False
    stays[decisions.gone] = False
    own_class = rows.copy_of[members]
    staying = np.flatnonzero(decisions.kept & new)[::-1]
    keeper = np.full(len(rows), -1, np.int64)
    keeper[own_class[staying]] = members[staying]  # of several, the last assignment is the first in the group
    gone = np.flatnonzero(~decisions.kept & new)
    heads = decisions.representative_row[gone]
    copied = keeper[own_class[gone]]
    by = np.where(copied >= 0, copied, np.where(stays[heads], heads, -1))
    exact, near = (by[which] for which in (copied >= 0, (copied < 0) & (by >= 0)))
    order = np.argsort(by, kind="stable")
    order = order[by[order] >= 0]
    counts = [np.bincount(rows_of, minlength=len(rows)) for rows_of in (exact, near)]
    text = None if rows.sources is None else as_text(rows.sources)
    return Represented(stays, counts[0], counts[1], by[order], members[gone][order], text, first_new)


def pair_table(pairs: pa.Table, shingles: pa.Table, rows: JudgedRows, measure: str) -> pa.Table:
    """The pairs as users see them, from two VERIFIED tables: counted by the measure, and on the shingle sets.

    A measure without a column of its own gets one, after its integers if it does not count shingles. If documents
    carry attachments or unread parts, columns show whether those of the two differ. With a reference set (the
    first rows), a last column shows whether document a is in it.
    """
    unique, row = rows.unique, MEASURES[measure]
    a, b = column(pairs, "a"), column(pairs, "b")
    shared, size_a, size_b = (column(shingles, name) for name in COUNTS)
    values = [
        rows.ids.of(unique[a]),
        rows.ids.of(unique[b]),
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
    kinds = {one.kind for parts in rows.attachments.values() for one in parts}
    if ATTACHED in kinds:
        differ = same_or_not(unique[a], unique[b], rows.attachments)
        table = table.append_column("attachments_differ", differ)
    if UNREAD in kinds:
        table = table.append_column(NOT_COMPARED, kinds_not_compared(unique[a], unique[b], rows.attachments))
    if rows.first_new:
        table = table.append_column("a_in_reference", pa.array(unique[a] < rows.first_new))
    return table


def compared_with(decisions: Decisions, rows: JudgedRows) -> Int64s:
    """int64[members]: the row whose text is compared with that of each member: its representative, or of a copy
    of another document the first row of its text."""
    first, heads = rows.copy_of[decisions.rows], decisions.representative_row
    copies_another = ~decisions.exact & ~decisions.is_representative & (first != decisions.rows)
    return np.where(copies_another, first, heads)


def differing_ends(rows: JudgedRows, decisions: Decisions) -> tuple[Int64s, Int64s]:
    """The rows that tables and reasons compare with others, and these: int64[n] each."""
    copies = rows.new_copies
    own = np.concatenate((copies, decisions.rows))
    return own, np.concatenate((rows.copy_of[copies], compared_with(decisions, rows)))


def copy_table(rows: JudgedRows, differences: CopyDifferences) -> pa.Table:
    """id, copy_of, identical_to, difference for every exact copy in the new input."""
    copies = rows.new_copies
    others, identical = rows.copy_of[copies], rows.alike.characters[copies]
    return pa.table(
        {
            "id": rows.ids.of(copies),
            "copy_of": rows.ids.of(others),
            "identical_to": pc.if_else(pa.array(identical != copies), rows.ids.of(identical), None),
            "difference": pa.array(differences.of_rows(copies, others), pa.string()),
        }
    )


def rank_table(rows: JudgedRows, pairs: Pairs, more: Int64s | None) -> pa.Table:
    """id, row, first, words, identical, rank, reference, bytes of every row that other settings may decide about.

    ``more`` are other rows that people look at; their copies are added. Also the number of its value ``across``
    and its ``source``, if the settings name such columns.
    """
    numbers = involved_rows(rows, pairs, more)
    columns = {
        "id": rows.ids.of(numbers),
        "row": pa.array(numbers),
        "first": pa.array(rows.copy_of[numbers]),
        "words": pa.array(rows.alike.words[numbers]),
        "identical": pa.array(rows.alike.characters[numbers]),
        "rank": pa.array(rows.rank[numbers]),
        "reference": pa.array(numbers < rows.first_new),
        "bytes": pa.array(rows.bytes[numbers]),
    }
    sources = rows.sources
    if len(rows.across):
        columns["across"] = pa.array(numbers_of_values(rows.across[numbers]))
    if sources is not None:
        known = np.concatenate((np.full(rows.first_new, -1), np.arange(len(rows) - rows.first_new)))[numbers]
        columns["source"] = as_text(sources).take(pa.array(known, mask=known < 0))
    return _with_attachments(pa.table(columns), numbers, rows.attachments)


def numbers_of_values(values: UInt64s) -> Int64s:
    """int64[n]: each value as its number in the order of first appearance.

    >>> numbers_of_values(np.array([7, 2, 7], np.uint64))
    array([0, 1, 0])
    """
    _, first, of = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[of]


def _with_attachments(table: pa.Table, numbers: Int64s, carried: Carried) -> pa.Table:
    """Append the column ``attachments`` of some rows, if any document of the run carries some."""
    return table.append_column(ATTACHMENTS, column_for(numbers, carried)) if carried else table


def involved_rows(rows: JudgedRows, pairs: Pairs, more: Int64s | None = None) -> Int64s:
    """The rows (ascending) of documents that are in a pair or have a copy among the new rows, with all copies.

    Also those of the rows ``more``.
    """
    first = np.zeros(len(rows), np.bool_)
    if more is not None:
        first[rows.copy_of[more]] = True
    first[rows.unique[pairs.documents(len(rows.unique))]] = True
    first[rows.copy_of[rows.new_copies]] = True
    return np.flatnonzero(first[rows.copy_of])


def group_table(
    decisions: Decisions,
    rows: JudgedRows,
    differences: CopyDifferences,
    search: SearchSettings,
    side: str,
    counted: Represented | None = None,
) -> pa.Table:
    """id, group, representative, similarity, identical, kept, reason, size: one row per member.

    An unknown similarity is null; ``size`` is the number of members of the group. With a reference set a column
    shows whether the representative is in it, as no other member is.

    The reasons name the measure, and the side it is seen from (``side``). ``counted`` adds its columns. If
    documents carry attachments,
    a last column lists them.
    """
    heads = rows.ids.of(decisions.representative_row)
    identical = rows.alike.characters[decisions.rows] == rows.alike.characters[decisions.representative_row]
    columns = {
        "id": rows.ids.of(decisions.rows),
        "group": heads,
        "representative": pa.array(decisions.is_representative),
        "similarity": pa.array(decisions.similarity, mask=np.isnan(decisions.similarity)),
        "identical": pa.array(identical),
        "kept": pa.array(decisions.kept),
        "reason": _reasons(decisions, rows, differences, search, side),
        "size": pa.array(group_sizes(decisions)),
    }
    if rows.first_new:
        columns[OLD_LEADS] = pa.array(decisions.representative_row < rows.first_new)
    table = pa.table(columns)
    if counted is not None:
        for name, values in zip(counted.schema.names, counted.columns(decisions.rows).columns, strict=True):
            table = table.append_column(name, values)
    return _with_attachments(table, decisions.rows, rows.attachments)


def with_sides(groups: pa.Table, run: RunAccount) -> pa.Table:
    """Return the table of groups of a run with a reference set with its column, also if no group has one of it."""
    if not run.counts_against or OLD_LEADS in groups.column_names:
        return groups
    return groups.append_column(OLD_LEADS, pa.array(np.zeros(groups.num_rows, np.bool_)))


def group_sizes(decisions: Decisions) -> Int64s:
    """int64[members]: the number of members in the group of each."""
    heads = decisions.representative_row
    return np.bincount(heads)[heads] if len(heads) else np.empty(0, np.int64)


def _reasons(
    decisions: Decisions, rows: JudgedRows, differences: CopyDifferences, search: SearchSettings, side: str
) -> pa.Array:
    """The reasons, made slice by slice: a sentence takes several times its size while it is made."""
    counts, members = group_sizes(decisions) - 1, len(decisions.rows)
    if rows.attachments or members <= _SLICE:  # the reason of one member may be an attachment of another
        return _reasons_of(decisions, counts, rows, differences, search, side)
    parts = [slice(first, first + _SLICE) for first in range(0, members, _SLICE)]
    return pa.concat_arrays(
        [_reasons_of(decisions.part(part), counts[part], rows, differences, search, side) for part in parts]
    )


def _reasons_of(
    decisions: Decisions,
    counts: Int64s,
    rows: JudgedRows,
    differences: CopyDifferences,
    search: SearchSettings,
    side: str,
) -> pa.Array:
    heads = decisions.representative_row
    where = pa.array(np.where(heads < rows.first_new, " in the reference set", "").astype(str))
    leading = rows.ids.text(heads)
    carried, spared = _attachment_remarks(decisions, rows)
    same = same_side(rows, decisions.rows, heads) & ~decisions.is_representative & (not decisions.none_goes)
    stays = pa.array(np.where(same & decisions.kept, SAME_VALUE, "").astype(str))
    reasons = _stay_reasons(decisions, spared | same)
    alike = _similarities(decisions, search, side, rows.first_new)
    first = rows.copy_of[decisions.rows]
    characters = np.array(differences.words(decisions.rows, compared_with(decisions, rows), rows.alike), object)
    of_near = np.where((first == decisions.rows) & (characters != ""), "; " + characters, "")
    near = pc.binary_join_element_wise(
        "near copy of ", leading, where, alike, pa.array(of_near, pa.string()), carried, reasons, stays, ""
    )
    said = pa.array(characters, pa.string())
    copy = pc.binary_join_element_wise("exact copy of ", leading, where, ": ", said, carried, stays, "")
    of_first = pc.binary_join_element_wise("exact copy of ", rows.ids.text(first), ": ", said, ", ", near, "")
    others = pa.array(np.where(counts == 1, " other document", " other documents").astype(str))
    number = pc.cast(pa.array(counts), pa.string())
    goes = pa.array(np.where(decisions.kept, "", "; goes, too: keep is none").astype(str))
    lead = pc.binary_join_element_wise("represents ", number, others, goes, "")
    followed = pc.if_else(pa.array(first == decisions.rows), near, of_first)
    return pc.if_else(
        pa.array(decisions.is_representative), lead, pc.if_else(pa.array(decisions.exact), copy, followed)
    )


def _similarities(decisions: Decisions, search: SearchSettings, side: str, first_new: int) -> pa.Array:
    """The similarities to representatives, in words, each different one made once."""
    measure = search.in_words
    of_old = (decisions.representative_row < first_new).astype(np.int64)
    sides = ("", "")
    if MEASURES[search.measure].directed:
        sides = HELD_WORDS["new-in-old"], HELD_WORDS[side]
    pairs, place = np.unique(np.column_stack((of_old, decisions.similarity)), axis=0, return_inverse=True)
    words = [
        f" by a chain of pairs: {measure} not stored"
        if np.isnan(value)
        else f": {measure} {similarity(value)}{sides[int(old)]}"
        for old, value in pairs
    ]
    return pa.array(words, pa.string()).take(pa.array(place.reshape(-1)))


def _attachment_remarks(decisions: Decisions, judged: JudgedRows) -> tuple[pa.Array, Bools]:
    """The remark on attachments for each row, "" without any; and whether it explains why the document stays."""
    rows, heads, carried = decisions.rows, decisions.representative_row, judged.attachments
    reasons, spared = np.full(len(rows), "", object), np.zeros(len(rows), np.bool_)
    if not carried:
        return pa.array(reasons, pa.string()), spared
    spared[lacking_places(rows, heads, carried)] = not decisions.none_goes
    first = judged.copy_of[rows]
    # copies of each other with an attachment that the representative lacks: one stays
    stays = dict(zip(first[spared & decisions.kept].tolist(), rows[spared & decisions.kept].tolist(), strict=True))
    for place, difference in differences(rows, heads, judged.ids.text(heads), carried):
        joint = ", " if decisions.exact[place] else "; kept: " if spared[place] else "; "
        if spared[place] and not decisions.kept[place]:
            kept = judged.ids.text(np.array([stays[int(first[place])]]))[0].as_py()
            joint, difference = "; ", f"{difference}; its exact copy {kept} stays"
        reasons[place] = joint + difference
    return pa.array(reasons, pa.string()), spared & decisions.kept


def _stay_reasons(decisions: Decisions, explained: Bools) -> pa.Array:
    """The reasons why other near copies stay, except those already explained (``explained``)."""
    spared = decisions.kept & ~decisions.is_representative & ~explained & (not decisions.none_goes)
    unknown = "; kept: its share in the representative is not stored"
    reasons = np.where(
        np.isnan(decisions.similarity), unknown, "; kept: the representative holds too little of it"
    )
    if decisions.lost is not None:
        reasons = np.where(decisions.lost.spared, "; kept: too much of its text would be lost", reasons)
    return pa.array(np.where(spared, reasons, "").astype(str))
