"""The stages from pairs to the fate of every row: groups, decisions of people, and the text that is lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from neardup.group.decisions import (
    Decisions,
    Heads,
    decisions_of,
    heads_of,
    leader_keys,
    leader_pairs,
    settle,
)
from neardup.group.leaders import Grouped, GroupRules, group_found, merged, only_pairs
from neardup.group.lost import Standing, standing, with_lost, with_passages
from neardup.group.rows import CopyClasses, JudgedRows, classes, keep_rank
from neardup.join.criterion import at_least, every_pair
from neardup.join.pairs import PairRoom, Pairs, verified_room
from neardup.join.rows import Rows
from neardup.join.search import ExactJoin, FoundPairs
from neardup.join.verification import verify
from neardup.measures import MEASURES, Measure
from neardup.run.not_judged import dropped_rows
from neardup.run.pipeline import Meter
from neardup.run.recall import Audit
from neardup.run.represented import Represented, represented
from neardup.run.review_decisions import Applied, alike_by, applied, leaders_at, settled
from neardup.run.stages.records import Inputs, LeaderPairs, LookedAt, ShinglePairs
from neardup.settings import GroupSettings, Keep, SearchSettings, Shingles, Work
from neardup.tables import CANDIDATES, VERIFIED, Int64s, column


def group_rules(search: SearchSettings, keep: Keep, grouping: GroupSettings, work: Work) -> GroupRules:
    """Say how pairs become groups."""
    return GroupRules.of(search, keep, grouping, work)


def order(rows: Rows, keep: Keep) -> tuple[JudgedRows, CopyClasses]:
    """Rank the rows by the keep policy, and the documents by their best row."""
    rank = keep_rank(keep.keep, rows.units, rows.first_new, rows.extra)
    judged = JudgedRows.of_run(rows, rank, keep.sources)
    return judged, classes(judged)


def group(
    rows: Rows,
    judged: JudgedRows,
    documents: CopyClasses,
    found: FoundPairs,
    exact: ExactJoin,
    rules: GroupRules,
    search: SearchSettings,
    meter: Meter,
) -> tuple[Grouped, Heads]:
    """Choose the representatives."""
    first_new, room = judged.first_new_document, verified_room(search, rows.corpus.scratch)
    with meter.stage("group", None, "documents"):
        groups = group_found(found, exact, documents.rank, first_new, rules, room)
        return groups, heads_of(judged, documents, groups.leader)


def people_groups(
    inputs: Inputs, judged: JudgedRows, documents: CopyClasses, groups: Grouped, heads: Heads, meter: Meter
) -> tuple[Grouped, Heads, Applied]:
    """Change the groups as people decided."""
    assert inputs.review is not None
    with meter.stage("group", None, "documents"):
        asked = applied(inputs.review, judged, documents)
        moved, asked = asked.place(heads, judged.rank, alike_by(groups.pairs, documents))
        return replace(groups, leader=leaders_at(moved.rows, documents)), moved, asked


def leader_distances(
    rows: Rows,
    documents: CopyClasses,
    groups: Grouped,
    heads: Heads,
    search: SearchSettings,
    shingles: Shingles,
    work: Work,
    meter: Meter,
) -> LeaderPairs:
    """Compare documents with their representative where no pair does."""
    a, b = leader_pairs(heads.rows, documents, groups.pairs)
    far = VERIFIED.empty_table()
    if len(a):
        chained = pa.table([a.astype(np.uint32), b.astype(np.uint32)], schema=CANDIDATES)
        far = _counted(rows, chained, search, shingles, work, meter)
    room = verified_room(search, rows.corpus.scratch)
    pairs = merged(_pairs_needed(groups.pairs, heads.rows, documents, room), far)
    return LeaderPairs(pairs, on_shingles(rows, pairs, search, work, meter), far)


def fates(
    rows: Rows,
    judged: JudgedRows,
    documents: CopyClasses,
    heads: Heads,
    pairs: LeaderPairs,
    rules: GroupRules,
    keep: Keep,
) -> tuple[Decisions, LookedAt]:
    """Decide which rows stay, by the keep policy and its exceptions."""
    decisions = decisions_of(judged, documents, heads, pairs.pairs, rules)
    decisions = settle(decisions, judged, documents, pairs.shingles, keep.only_contained)
    return replace(decisions, dropped=dropped_rows(rows, keep.empty)), LookedAt(np.empty(0, np.int64))


def people_fates(asked: Applied, decisions: Decisions, judged: JudgedRows) -> tuple[Decisions, LookedAt]:
    """Change the fates as people decided."""
    return asked.fates(decisions, judged.rank), LookedAt(decisions.rows)


def stand(
    judged: JudgedRows, documents: CopyClasses, groups: Grouped, decisions: Decisions, pairs: LeaderPairs
) -> Standing:
    """List the documents that stay."""
    return standing(decisions, documents, groups.leader, judged.first_new_document, pairs.shingles)


def whole_families(judged: JudgedRows, decisions: Decisions) -> Decisions:
    """Remove whole families: no representative stays."""
    return decisions.none_kept(judged.first_new)


def people_exceptions(asked: Applied, decisions: Decisions, judged: JudgedRows) -> Decisions:
    """Keep the members of such families that people keep."""
    return asked.fates(decisions, judged.rank, none_stays=True)


def lost_text(
    rows: Rows, documents: CopyClasses, decisions: Decisions, before: Standing, keep: Keep, meter: Meter
) -> tuple[Decisions, Standing]:
    """Count the text that removed documents take with them; documents that would lose too much stay."""
    with meter.stage("lost text", None, "documents"):
        return with_lost(decisions, documents, before, keep.lose, rows.sets())


def people_last_word(
    rows: Rows,
    judged: JudgedRows,
    documents: CopyClasses,
    asked: Applied,
    decisions: Decisions,
    before: Standing,
    meter: Meter,
) -> tuple[Decisions, Standing]:
    """Let people decide about documents that would stay for their text, and count the lost text again."""
    with meter.stage("lost text", None, "documents"):
        return settled(asked, decisions, documents, before, judged.rank, rows.sets())


def reported_pairs(
    rows: Rows, groups: Grouped, pairs: LeaderPairs, rules: GroupRules, search: SearchSettings
) -> tuple[Grouped, ShinglePairs]:
    """Add the pairs with representatives that reach the threshold to the reported ones."""
    room = verified_room(search, rows.corpus.scratch)
    # two documents of the reference set may follow one leader; their pair is not wanted
    ends = column(pairs.far, "a"), column(pairs.far, "b")
    new = ends[1] >= rows.first_new_document
    wanted = at_least(pairs.far, rules.criterion) & new & rows.related.may_pair(*ends)
    reported = groups.pairs.union(room, Pairs.of(pairs.far.filter(pa.array(wanted))))
    shingles = None if reported.exceeds(room) else only_pairs(pairs.shingles, reported)
    return replace(groups, pairs=reported), ShinglePairs(shingles)


def counts(judged: JudgedRows, decisions: Decisions) -> Represented:
    """Count the removed documents that each remaining one represents."""
    return represented(decisions, judged)


def no_removal(decisions: Decisions) -> Decisions:
    """Let all members of the groups stay."""
    return decisions.all_kept()


def lost_passages(
    rows: Rows, documents: CopyClasses, decisions: Decisions, now: Standing, meter: Meter
) -> Decisions:
    """Read the passages again that are lost."""
    with meter.stage("lost text", None, "documents"):
        return with_passages(decisions, documents, now, rows)


def audited_rows(rows: Rows, looked_at: LookedAt, audit: Audit) -> LookedAt:
    """Add the documents of the pairs that the audit found missing to those that people look at."""
    missed = rows.unique[audit.missed.documents(len(rows.unique))]
    return LookedAt(np.concatenate((looked_at.rows, missed)))


def on_shingles(rows: Rows, pairs: pa.Table, search: SearchSettings, work: Work, meter: Meter) -> pa.Table:
    """The same pairs counted on the shingle sets: the table itself unless the measure counts other features."""
    if MEASURES[search.measure].of_shingles:
        return pairs
    return _verified(rows, pairs.select(CANDIDATES.names), MEASURES["resemblance"], work, meter)


def _pairs_needed(pairs: Pairs, heads: Int64s, documents: CopyClasses, room: PairRoom) -> pa.Table:
    """The pairs that decisions need: all, or if they exceed the room those with representatives."""
    return pairs.at(leader_keys(heads, documents)) if pairs.exceeds(room) else pairs.table()


def _counted(
    rows: Rows, pairs: pa.Table, search: SearchSettings, shingles: Shingles, work: Work, meter: Meter
) -> pa.Table:
    """The VERIFIED table of these pairs at any similarity, counted as the measure requires."""
    measure = MEASURES[search.measure]
    if measure.features != "tokens":
        return _verified(rows, pairs, measure, work, meter)
    from neardup.join.common_text import count_common, counting_of  # other runs need not wait for its kernels

    criterion, counting = every_pair(measure.formula), counting_of(search, shingles)
    with meter.stage("verify", pairs.num_rows, "pairs") as advance:
        return count_common(pairs, rows.sets("tokens"), criterion, counting, work.threads, advance).pairs


def _verified(rows: Rows, pairs: pa.Table, measure: Measure, work: Work, meter: Meter) -> pa.Table:
    """The same, counted on the sets of features of a ``measure``."""
    with meter.stage("verify", pairs.num_rows, "pairs") as advance:
        return verify(pairs, rows.sets(measure.features), every_pair(measure.formula), work.threads, advance)
