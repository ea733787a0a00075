"""The stages from pairs to the fate of every row: groups, decisions of people, and the text that is lost."""

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from neardup.deduplication.group.decisions import Decisions, Heads, decisions_of, heads_of, leader_keys, settle
from neardup.deduplication.group.leaders import Grouped, GroupRules, group_found, merge_tables, only_pairs
from neardup.deduplication.group.loss import Standing, initial_standing, with_lost, with_passages
from neardup.deduplication.group.rows import CopyClasses, JudgedRows, classes, keep_rank
from neardup.deduplication.join.common_text import count_common, counting_of
from neardup.deduplication.join.criterion import Related, at_least, every_pair
from neardup.deduplication.join.pairs import PairRoom, Pairs, verified_room
from neardup.deduplication.join.rows import Rows
from neardup.deduplication.join.search import ExactJoin, FoundPairs, HeldSets
from neardup.deduplication.join.shingle_store import FeatureStores
from neardup.deduplication.join.verification import verify
from neardup.deduplication.run.copy_differences import CopyDifferences, pairs_of
from neardup.deduplication.run.exclusions import dropped_rows
from neardup.deduplication.run.kinds import texts_of
from neardup.deduplication.run.lost_text import with_lost_columns
from neardup.deduplication.run.pipeline import Condition, Meter, Stage
from neardup.deduplication.run.recall import Audit
from neardup.deduplication.run.review_decisions import (
    Applied,
    ReviewedResult,
    alike_by,
    apply_decisions,
    leaders_at,
    settle_review,
)
from neardup.deduplication.run.stages.records import (
    HeadPairs,
    LeaderPairs,
    LookedAt,
    MemberTable,
    Purpose,
    ShinglePairs,
)
from neardup.deduplication.run.tables import Represented, differing_ends, group_table, representatives
from neardup.runtime import release_memory
from neardup.settings import KEEP_NONE, MEASURES, GroupSettings, Keep, Measure, SearchSettings, Shingles, Work
from neardup.tables import CANDIDATES, VERIFIED, column

HELD = (ExactJoin, HeldSets)
"""Sets of documents in memory, which the stages find by the store of the rows."""

DECISIONS = Condition.of("--decisions", ReviewedResult)
NONE = Condition.of("--keep none", Keep, lambda keep: keep.keep == KEEP_NONE)
NOT_NONE = Condition.of("not with --keep none", Keep, lambda keep: keep.keep != KEEP_NONE)
NONE_DECIDED = Condition("--keep none --decisions", NONE.holds + DECISIONS.holds)
DECIDED = Condition("--decisions, not with --keep none", NOT_NONE.holds + DECISIONS.holds)
COUNT = Condition.of("--count", Keep, lambda keep: keep.count)
GROUP = Condition.of("neardup group", Purpose, lambda purpose: purpose.action == "group")


def group_rules(search: SearchSettings, keep: Keep, grouping: GroupSettings, work: Work) -> GroupRules:
    """Say how pairs become groups."""
    return GroupRules.of(search, keep, grouping, work)


def order(rows: Rows, keep: Keep) -> JudgedRows:
    """Rank the rows by the keep policy."""
    return JudgedRows.of_run(rows, keep_rank(keep.keep, rows.units, rows.first_new, rows.extra), keep.sources)


def copies(judged: JudgedRows) -> CopyClasses:
    """Make one document of the rows with the same text, ranked by the best of them."""
    return classes(judged)


def resources(rows: Rows, search: SearchSettings) -> tuple[FeatureStores, PairRoom, Related]:
    """Find the sets of the documents, the room for their pairs, and who may be a pair."""
    return rows.stores, verified_room(search, rows.corpus.scratch), rows.related


def group(
    judged: JudgedRows,
    documents: CopyClasses,
    found_pairs: FoundPairs,
    exact: ExactJoin,
    rules: GroupRules,
    room: PairRoom,
    meter: Meter,
) -> tuple[Grouped, Heads]:
    """Choose the representatives."""
    groups = group_found(found_pairs, exact, documents.rank, judged.first_new_document, rules, room, meter)
    return groups, heads_of(judged, documents, groups.leader)


def people_groups(
    review: ReviewedResult,
    judged: JudgedRows,
    documents: CopyClasses,
    groups: Grouped,
    heads: Heads,
    meter: Meter,
) -> tuple[Grouped, Heads, Applied]:
    """Change the groups as people decided."""
    with meter.stage("group", None, "documents"):
        decided = apply_decisions(review, judged, documents)
        moved, decided = decided.place(heads, judged.rank, alike_by(groups.pairs, documents))
        return replace(groups, leader=leaders_at(moved.rows, documents)), moved, decided


def pairs_of_leaders(documents: CopyClasses, groups: Grouped, heads: Heads, room: PairRoom) -> HeadPairs:
    """Look up the pairs of documents with their representative."""
    pairs, keys = groups.pairs, leader_keys(heads.rows, documents)
    known = pairs.at(keys) if pairs.exceeds(room) else pairs.table()
    keys = keys[~pairs.has(keys)]
    ends = (keys >> 32).astype(np.uint32), (keys & 0xFFFFFFFF).astype(np.uint32)
    return HeadPairs(known, pa.table(ends, schema=CANDIDATES))


def leader_distances(
    stores: FeatureStores,
    pairs: HeadPairs,
    search: SearchSettings,
    shingles: Shingles,
    work: Work,
    meter: Meter,
) -> LeaderPairs:
    """Compare documents with their representative where no pair does."""
    far = VERIFIED.empty_table()
    if pairs.unknown.num_rows:
        far = _count_pairs(stores, pairs.unknown, search, shingles, work, meter)
    needed = merge_tables(pairs.known, far)
    return LeaderPairs(needed, on_shingles(stores, needed, search, work, meter), far)


def fates(
    judged: JudgedRows, documents: CopyClasses, heads: Heads, pairs: LeaderPairs, rules: GroupRules, keep: Keep
) -> Decisions:
    """Decide which rows stay, by the keep policy and its exceptions."""
    decisions = decisions_of(judged, documents, heads, pairs.pairs, rules)
    return settle(decisions, judged, documents, pairs.shingles, keep.only_contained)


def no_text(rows: Rows, decisions: Decisions) -> Decisions:
    """Remove the documents without text."""
    return replace(decisions, dropped=dropped_rows(rows))


def people_fates(applied: Applied, decisions: Decisions, judged: JudgedRows) -> tuple[Decisions, LookedAt]:
    """Change the fates as people decided."""
    return applied.fates(decisions, judged.rank), LookedAt(decisions.rows)


def stand(
    judged: JudgedRows, documents: CopyClasses, groups: Grouped, decisions: Decisions, pairs: LeaderPairs
) -> Standing:
    """List the documents that stay."""
    return initial_standing(decisions, documents, groups.leader, judged.first_new_document, pairs.shingles)


def whole_families(judged: JudgedRows, decisions: Decisions) -> Decisions:
    """Remove whole families: no representative stays."""
    return decisions.none_kept(judged.first_new)


def people_exceptions(applied: Applied, decisions: Decisions, judged: JudgedRows) -> Decisions:
    """Keep the members of such families that people keep."""
    return applied.fates(decisions, judged.rank, none_stays=True)


def lost_text(
    stores: FeatureStores | None,
    documents: CopyClasses,
    decisions: Decisions,
    before: Standing,
    keep: Keep,
    meter: Meter,
) -> tuple[Decisions, Standing]:
    """Count the text that removed documents take with them; documents that would lose too much stay."""
    with meter.stage("lost text", None, "documents"):
        return with_lost(decisions, documents, before, keep.lose, None if stores is None else stores.of())


def people_last_word(
    stores: FeatureStores,
    judged: JudgedRows,
    documents: CopyClasses,
    applied: Applied,
    decisions: Decisions,
    before: Standing,
    meter: Meter,
) -> tuple[Decisions, Standing]:
    """Let people decide about documents that would stay for their text, and count the lost text again."""
    with meter.stage("lost text", None, "documents"):
        return settle_review(applied, decisions, documents, before, judged.rank, stores.of())


def reported_pairs(
    judged: JudgedRows, related: Related, room: PairRoom, groups: Grouped, pairs: LeaderPairs, rules: GroupRules
) -> tuple[Grouped, ShinglePairs]:
    """Add the pairs with representatives that reach the threshold to the reported ones."""
    # two documents of the reference set may follow one leader; their pair is not wanted
    ends = column(pairs.far, "a"), column(pairs.far, "b")
    new = ends[1] >= judged.first_new_document
    wanted = at_least(pairs.far, rules.criterion) & new & related.may_pair(*ends)
    reported = groups.pairs.union(room, Pairs.of(pairs.far.filter(pa.array(wanted))))
    shingles = None if reported.exceeds(room) else only_pairs(pairs.shingles, reported)
    return replace(groups, pairs=reported), ShinglePairs(shingles)


def counts(judged: JudgedRows, decisions: Decisions) -> Represented:
    """Count the removed documents that each remaining one represents."""
    return representatives(decisions, judged)


def no_removal(decisions: Decisions) -> Decisions:
    """Let all members of the groups stay."""
    return decisions.all_kept()


def lost_passages(
    rows: Rows, documents: CopyClasses, decisions: Decisions, now: Standing, meter: Meter
) -> Decisions:
    """Read the passages again that are lost."""
    with meter.stage("lost text", None, "documents"):
        return with_passages(decisions, documents, now, rows)


def audited_rows(judged: JudgedRows, looked_at: LookedAt | None, audit: Audit) -> LookedAt:
    """Add the documents of the pairs that the audit found missing to those that people look at."""
    missed = judged.unique[audit.missed.documents(len(judged.unique))]
    return LookedAt(missed if looked_at is None else np.concatenate((looked_at.rows, missed)))


def copy_differences(
    rows: Rows, judged: JudgedRows, decisions: Decisions, work: Work, meter: Meter
) -> CopyDifferences:
    """Read documents of the same words that are not identical again, for their first difference."""
    pairs = pairs_of(*differing_ends(judged, decisions), judged.alike)
    with meter.stage("copies", len(pairs), "pairs"):
        return CopyDifferences.of(pairs, judged.bytes, partial(texts_of, rows), work.threads)


def member_table(
    judged: JudgedRows,
    decisions: Decisions,
    differences: CopyDifferences,
    represented: Represented | None,
    search: SearchSettings,
    keep: Keep,
    meter: Meter,
) -> MemberTable:
    """Make the table of groups."""
    release_memory()
    with meter.stage("tables", None, "rows"):
        members = group_table(decisions, judged, differences, search, keep.direction, represented)
        return MemberTable(with_lost_columns(members, decisions))


def on_shingles(
    stores: FeatureStores, pairs: pa.Table, search: SearchSettings, work: Work, meter: Meter
) -> pa.Table:
    """The same pairs counted on the shingle sets: the table itself unless the measure counts other features."""
    if MEASURES[search.measure].of_shingles:
        return pairs
    return _verify(stores, pairs.select(CANDIDATES.names), MEASURES["resemblance"], work, meter)


def _count_pairs(
    stores: FeatureStores,
    pairs: pa.Table,
    search: SearchSettings,
    shingles: Shingles,
    work: Work,
    meter: Meter,
) -> pa.Table:
    """The VERIFIED table of these pairs at any similarity, counted as the measure requires."""
    measure = MEASURES[search.measure]
    if measure.features != "tokens":
        return _verify(stores, pairs, measure, work, meter)
    criterion, counting = every_pair(measure.formula), counting_of(search, shingles)
    with meter.stage("verify", pairs.num_rows, "pairs") as advance:
        return count_common(pairs, stores.of("tokens"), criterion, counting, work.threads, advance).pairs


def _verify(stores: FeatureStores, pairs: pa.Table, measure: Measure, work: Work, meter: Meter) -> pa.Table:
    """The same, counted on the sets of features of a ``measure``."""
    with meter.stage("verify", pairs.num_rows, "pairs") as advance:
        return verify(pairs, stores.of(measure.features), every_pair(measure.formula), work.threads, advance)


FATES = (
    Stage(fates),
    Stage(people_fates, DECISIONS),
    Stage(stand),
    Stage(whole_families, NONE),
    Stage(people_exceptions, NONE_DECIDED),
    Stage(lost_text, NOT_NONE, holds=HELD),
    Stage(people_last_word, DECIDED, holds=HELD),
)
"""From groups to the rows that stay: in every run, also one that begins with stored pairs."""
