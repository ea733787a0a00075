"""The last stages: the tables with ids and reasons, the account, and the result that people question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from neardup.deduplication.group.decisions import Decisions
from neardup.deduplication.group.leaders import Grouped
from neardup.deduplication.group.rows import JudgedRows
from neardup.deduplication.join.pairs import Pairs, verified_room
from neardup.deduplication.join.rows import Rows
from neardup.deduplication.run.copy_differences import CopyDifferences
from neardup.deduplication.run.exclusions import not_judged_table
from neardup.deduplication.run.findings import Found
from neardup.deduplication.run.kinds import with_kinds, with_kinds_of_copies
from neardup.deduplication.run.pipeline import Meter
from neardup.deduplication.run.recall import Audit
from neardup.deduplication.run.records import Id
from neardup.deduplication.run.review_decisions import Applied, with_decided
from neardup.deduplication.run.stages import records
from neardup.deduplication.run.stages.account import Run, account
from neardup.deduplication.run.stages.groups import on_shingles
from neardup.deduplication.run.tables import copy_table, pair_table, rank_table
from neardup.display.view import excerpt
from neardup.io.contents import differing_kinds
from neardup.io.outputs import TABLE_ROWS
from neardup.runtime import Silent
from neardup.settings import GroupSettings, Keep, SearchSettings, Work
from neardup.tables import column

FULL = ("full_size_a", "full_size_b")
"""The columns of pairs with the shingles of both documents, base text included."""

_WIDEST = 500
"""Columns of the first words; a terminal shows fewer."""

_READ = 8 * _WIDEST
"""Bytes of a text that are looked at for its first words."""


@dataclass(frozen=True)
class Outcome:
    """A finished run: the result for users, and the data for writing the kept rows."""

    found: Found
    run: Run


def people_reasons(
    members: records.MemberTable, applied: Applied, decisions: Decisions, search: SearchSettings, meter: Meter
) -> records.MemberTable:
    """Name the decisions of people among the reasons."""
    with meter.stage("tables", None, "rows"):
        return records.MemberTable(with_decided(members.table, applied, decisions, search.in_words))


def row_tables(
    rows: Rows,
    judged: JudgedRows,
    groups: Grouped,
    decisions: Decisions,
    differences: CopyDifferences,
    looked_at: records.LookedAt | None,
    keep: Keep,
    meter: Meter,
) -> records.RowTables:
    """Make the tables of copies, ranks and documents that were not judged."""
    with meter.stage("tables", None, "rows"):
        return records.RowTables(
            copy_table(judged, differences),
            rank_table(judged, groups.pairs, None if looked_at is None else looked_at.rows),
            not_judged_table(rows, decisions.dropped, judged.ids, keep.empty),
        )


def kinds_of_copies(rows: Rows, judged: JudgedRows, tables: records.RowTables, meter: Meter) -> records.RowTables:
    """Say in what exact copies differ."""
    return replace(tables, copies=with_kinds_of_copies(tables.copies, judged.new_copies, rows, meter))


def pair_form(search: SearchSettings, grouping: GroupSettings, work: Work) -> records.PairForm:
    """Say which columns the tables of pairs have."""
    return records.PairForm(search, grouping.kinds, work)


def pairs(
    rows: Rows,
    judged: JudgedRows,
    groups: Grouped,
    shingles: records.ShinglePairs,
    form: records.PairForm,
    meter: Meter,
) -> records.PairTable:
    """Make the table of pairs, with the kinds of difference if they are asked for."""
    return records.PairTable(_pairs_with_ids(groups.pairs, shingles.pairs, rows, judged, form, meter))


def missed_pairs(
    rows: Rows, judged: JudgedRows, audit: Audit, form: records.PairForm, meter: Meter
) -> records.MissedTable:
    """Make the table of the pairs that the audit found missing."""
    return records.MissedTable(_pairs_with_ids(audit.missed, None, rows, judged, form, meter))


def result(run: Run, meter: Meter) -> Outcome:
    """Write the account, and put the result together."""
    tables = run.tables
    record = Found(
        pairs=run.pairs.table,
        groups=run.members.table,
        copies=tables.copies,
        run=account(run, meter.seconds),
        problems=run.rows.problems,
        missed=None if run.missed is None else run.missed.table,
        ranks=tables.ranks,
        not_judged=tables.not_judged,
        access=run.access,
        common=None if run.common is None else run.common.table,
        texts=run.texts,
        places=run.texts,
    )
    return Outcome(record, run)


def _pairs_with_ids(
    pairs: Pairs, shingles: pa.Table | None, rows: Rows, judged: JudgedRows, form: records.PairForm, meter: Meter
) -> pa.Table:
    """The table of pairs for users, from pairs by document number; ``shingles``: the same counted on shingles.

    The table of pairs that exceed the memory is in a working file.
    """
    scratch = rows.corpus.scratch
    if scratch is None or not pairs.exceeds(verified_room(form.search, scratch)):
        table = pairs.table()
        shingles = on_shingles(rows.stores, table, form.search, form.work, meter) if shingles is None else shingles
        return _table_with_ids(table, shingles, rows, judged, form, meter)
    quiet = Meter(Silent())
    with meter.stage("tables", len(pairs), "pairs") as advance, scratch.table() as spooled:
        for some in pairs.batches(TABLE_ROWS):
            counted = on_shingles(rows.stores, some, form.search, form.work, quiet)
            spooled.add(_table_with_ids(some, counted, rows, judged, form, quiet))
            advance(some.num_rows)
    return spooled.table


def _table_with_ids(
    pairs: pa.Table, shingles: pa.Table, rows: Rows, judged: JudgedRows, form: records.PairForm, meter: Meter
) -> pa.Table:
    with meter.stage("tables", None, "rows"):
        table = pair_table(pairs, shingles, judged, form.search.measure)
        table = _with_full_sizes(table, pairs, rows)
    return with_kinds(table, pairs, rows, form.work.threads, meter) if form.kinds else table


def _with_full_sizes(table: pa.Table, pairs: pa.Table, rows: Rows) -> pa.Table:
    """Append the columns FULL to the table of some ``pairs`` (VERIFIED); unchanged without base text."""
    if rows.left is None:
        return table
    for name, end in zip(FULL, ("a", "b"), strict=True):
        table = table.append_column(name, pa.array(rows.left[rows.unique[column(pairs, end)], 0]))
    return table


@dataclass(frozen=True)
class GroupMember:
    """A member: its id, its first words on one line, and its similarity to the representative (None: unknown).

    ``not_compared`` are the kinds of parts beside its text that differ from those of the representative.
    """

    id: Id
    words: str
    similarity: float | None
    is_copy: bool
    is_representative: bool
    not_compared: tuple[str, ...] = ()


@dataclass(frozen=True)
class LargeGroup:
    """A group: the number of its members, and the first ones, the representative first."""

    size: int
    members: tuple[GroupMember, ...]


def largest_groups(outcome: Outcome, most: int, members: int) -> list[LargeGroup]:
    """Return at most ``most`` groups, the largest first, with at most ``members`` each; texts are read again."""
    decisions = outcome.run.decisions
    heads, first, sizes = np.unique(decisions.representative_row, return_index=True, return_counts=True)
    order = np.lexsort((heads, -sizes))[:most].tolist()
    entries = [range(int(first[i]), int(first[i]) + min(int(sizes[i]), members)) for i in order]
    rows = (
        decisions.rows[[position for entry in entries for position in entry]] if entries else np.empty(0, np.int64)
    )
    words = _first_words(outcome, np.unique(rows).tolist())
    ids = dict(zip(rows.tolist(), outcome.run.judged_rows.ids.of(rows).to_pylist(), strict=True))
    carried = outcome.run.rows.attachments

    def member(place: int) -> GroupMember:
        row, similarity = int(decisions.rows[place]), float(decisions.similarity[place])
        kinds = bool(decisions.exact[place]), bool(decisions.is_representative[place])
        other = differing_kinds(carried.get(row, ()), carried.get(int(decisions.representative_row[place]), ()))
        return GroupMember(
            ids[row], words.get(row, ""), None if np.isnan(similarity) else similarity, *kinds, other
        )

    return [LargeGroup(int(sizes[i]), tuple(map(member, entry))) for i, entry in zip(order, entries, strict=True)]


def _first_words(outcome: Outcome, rows: Sequence[int]) -> dict[int, str]:
    """The beginnings of the texts of some rows, on one line each."""
    texts = outcome.found.texts
    if texts is None or not rows:
        return {}
    read = texts.each(np.array(rows, np.int64))
    return {row: excerpt(text[:_READ].decode("utf-8", "replace"), _WIDEST) for row, text in read}
