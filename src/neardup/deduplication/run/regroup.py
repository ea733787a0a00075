"""A stored result and a stricter threshold → the result at that threshold, from the exact integers of its pairs.

The rows in the table of ranks are numbered anew, as if they were all the documents. The other documents have no
pair and no copy, so they are in no group. Grouping and decisions use the same code as a run.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from neardup.deduplication.group.decisions import Decisions
from neardup.deduplication.group.leaders import merge_tables
from neardup.deduplication.group.rows import Ids, JudgedRows, classes
from neardup.deduplication.join.criterion import at_least, criterion_of, formula_of_old, shared_by
from neardup.deduplication.join.misses import missed_with, of_pairs
from neardup.deduplication.join.pairs import PairRoom, Pairs
from neardup.deduplication.join.rows import Alike
from neardup.deduplication.join.search import ExactJoin, FoundPairs
from neardup.deduplication.run.account import Bytes, Recall, Regrouped, RunAccount, plan_of
from neardup.deduplication.run.copy_differences import CopyDifferences, pairs_of
from neardup.deduplication.run.exclusions import bytes_removed
from neardup.deduplication.run.kinds import counts_of
from neardup.deduplication.run.lost_text import lost_counts
from neardup.deduplication.run.pipeline import Meter, Pipeline, Stage
from neardup.deduplication.run.recall import Predicted, recall_of
from neardup.deduplication.run.records import ResultRecord
from neardup.deduplication.run.stages import groups
from neardup.deduplication.run.stages.account import (
    JudgedRun,
    decision_counts,
    groups_account,
    not_in_full,
    why_holders_stay,
    why_nothing_goes,
)
from neardup.deduplication.run.stages.records import Action, LeaderPairs, MemberTable, Purpose
from neardup.deduplication.run.tables import COUNTS, MEASURED, differing_ends, involved_rows, with_sides
from neardup.display import Extent, counted
from neardup.errors import InputError, SettingError
from neardup.io.contents import stored_attachments
from neardup.runtime import Silent, peak_memory
from neardup.settings import MEASURES, SearchSettings, Settings, ratio
from neardup.tables import VERIFIED, Bools, Int64s, column, one_array, verified_table
from neardup.text.lsh.bands import Plan

Result = TypeVar("Result", bound=ResultRecord)


def regroup(result: Result, threshold: float) -> Result:
    """Return the result at ``threshold``, not below that of ``result``; at the same threshold ``result`` itself.

    It is the result a run at that threshold would have, as far as the pairs in ``result`` allow. Few pairs of
    crowds are stored, and not all similarities of components: warnings report where that matters. Raises
    SettingError for a threshold that is not allowed, InputError for tables that do not belong together.
    """
    was = Settings.of(**result.run.settings)
    now = Settings.of(**{**result.run.settings, "threshold": threshold})
    _require_stricter(was.search, now.search)
    if now == was:
        return result
    _require_no_decisions(result)
    meter = Meter(Silent())
    with meter.stage("regroup", None, "documents"):
        rows = stored_rows(result)
        stored = _stored_pairs(result, rows, was)
        wanted = JudgedRun, MemberTable
        judged, members = _run(STAGES, wanted, rows, stored, now, result.run.action)
        near = result.pairs.filter(pa.array(at_least(stored.pairs, criterion_of(now.search))))
        left = result.ranks.sort_by("row").take(pa.array(involved_rows(rows, judged.groups.pairs)))
        run = _account(result, judged, near, members.table, was.search, now)
    run = structs.replace(run, seconds=meter.seconds, peak_memory_bytes=peak_memory())
    groups = with_sides(members.table, run)
    return replace(result, pairs=near, groups=groups, missed=None, ranks=left, run=run, folder=None)


def require(together: bool) -> None:
    """Raise InputError unless the tables of a result are ``together``."""
    if not together:
        raise InputError(
            "The tables of this result do not belong together",
            "pairs, groups, copies and ranks of one run",
            "Run neardup on the documents again",
        )


def _require_stricter(was: SearchSettings, now: SearchSettings) -> None:
    least, wanted = was.threshold, now.threshold
    if Fraction(*ratio(wanted)) < Fraction(*ratio(least)):
        raise SettingError(
            f"threshold is {wanted:g}, but this result holds pairs at {least:g} and above only",
            f"A number from {least:g} to 1",
            "Run neardup on the documents again for pairs below that",
        )


def _require_no_decisions(result: ResultRecord) -> None:
    """Raise InputError for a result whose groups follow decisions, which its pairs do not hold."""
    if result.run.decisions:
        raise InputError(
            "The groups of this result follow decisions of a review, which its stored pairs do not hold",
            "A result made without --decisions",
            "Run neardup dedup --decisions on the documents at that threshold",
        )


def stored_rows(result: ResultRecord) -> JudgedRows:
    """Return the rows of the table of ranks of a result, numbered in the order of the input.

    Raises InputError without such a table, or if the tables do not belong together.
    """
    if not result.ranks.num_columns:
        raise InputError(
            "This result has no table of ranks",
            "A result of neardup.find or neardup.load",
            "Run neardup on the documents again",
        )
    ranks = result.ranks.sort_by("row")
    number, first, total = column(ranks, "row"), column(ranks, "first"), ranks.num_rows
    copy_of, first_new = np.searchsorted(number, first), int(pc.sum(ranks["reference"]).as_py() or 0)
    inside = total == 0 or int(copy_of.max()) < total
    require(inside and bool((number[copy_of] == first).all()))
    require(int((copy_of != np.arange(total))[first_new:].sum()) == result.copies.num_rows)
    settings = result.run.settings
    for given, name in ((settings["across"] or settings["no_self"], "across"), (settings["sources"], "source")):
        require(bool(given) == (name in ranks.column_names))
    return JudgedRows(
        copy_of,
        Alike(column(ranks, "words"), column(ranks, "identical")),
        np.flatnonzero(copy_of == np.arange(total)),
        first_new,
        np.argsort(np.argsort(column(ranks, "rank"))),
        column(ranks, "bytes"),
        Ids((one_array(ranks["id"]),)),
        stored_attachments(ranks),
        column(ranks, "across").astype(np.uint64) if "across" in ranks.column_names else np.empty(0, np.uint64),
        ranks["source"][first_new:] if "source" in ranks.column_names else None,
    )


def _numbers(rows: JudgedRows, ids: pa.ChunkedArray, in_reference: Bools) -> Int64s:
    """The document numbers of ``ids``; an id may name different documents in and outside the reference set."""
    own, old = rows.ids.of(rows.unique), rows.first_new_document
    numbers = np.full(len(ids), -1, np.int64)
    for first, part, which in ((0, own[:old], in_reference), (old, own[old:], ~in_reference)):
        places = pc.fill_null(pc.index_in(ids, value_set=part), -1 - first).to_numpy()
        numbers[which] = places[which] + first
        require(pc.count_distinct(part).as_py() == len(part))
    require(bool((numbers >= 0).all()))
    return numbers


def document_pairs(pairs: pa.Table, rows: JudgedRows, measure: str) -> tuple[pa.Table, pa.Table]:
    """The VERIFIED tables of pairs by id, by the measure and on shingles; b is never in the reference set."""
    nowhere = np.zeros(pairs.num_rows, np.bool_)
    known = "a_in_reference" in pairs.column_names
    in_reference = pairs["a_in_reference"].to_numpy() if known else nowhere
    ends = _numbers(rows, pairs["id_a"], in_reference), _numbers(rows, pairs["id_b"], nowhere)
    require(bool((ends[0] < ends[1]).all()) and bool((np.diff((ends[0] << 32) | ends[1]) > 0).all()))
    shingles = verified_table(*ends, *(column(pairs, name) for name in COUNTS))
    if MEASURES[measure].of_shingles:
        return shingles, shingles
    require(set(MEASURED) <= set(pairs.column_names))
    return verified_table(*ends, *(column(pairs, name) for name in MEASURED)), shingles


@dataclass(frozen=True, eq=False)
class ResultPairs:
    """The stored pairs of a result (VERIFIED), by the measure and counted on shingles.

    ``far`` are pairs of documents with their representatives that are not among them; ``differences`` finds the
    first differences of documents with the same words.
    """

    pairs: pa.Table
    shingles: pa.Table
    far: pa.Table
    differences: Callable[[JudgedRows, Decisions], CopyDifferences]


def differences_in(result: ResultRecord, rows: JudgedRows, decisions: Decisions) -> CopyDifferences:
    """Look up the first differences of documents with the same words; others are found in the texts again."""
    known = CopyDifferences.of_table(result.copies, rows)
    lacking = pairs_of(*differing_ends(rows, decisions), rows.alike, known)
    number = np.sort(column(result.ranks, "row"))

    def texts(wanted: Int64s) -> Iterator[bytes]:
        if result.texts is None:
            raise InputError("The texts are not stored", "A result with texts", "Save it with texts")
        return (text for _, text in result.texts.each(number[wanted]))

    return known.merge(CopyDifferences.of(lacking, rows.bytes, texts, 1))


def stored_differences(stored: ResultPairs, rows: JudgedRows, decisions: Decisions) -> CopyDifferences:
    """Look up the first differences of documents with the same words."""
    return stored.differences(rows, decisions)


def near_pairs(stored: ResultPairs, search: SearchSettings) -> tuple[FoundPairs, ExactJoin, PairRoom]:
    """Choose the stored pairs that reach the threshold."""
    near = stored.pairs.filter(pa.array(at_least(stored.pairs, criterion_of(search))))
    return FoundPairs(Pairs.of(near)), ExactJoin(), PairRoom()


def stored_distances(stored: ResultPairs, search: SearchSettings) -> LeaderPairs:
    """Look up the pairs of documents with their representative."""
    pairs = merge_tables(stored.pairs, stored.far)
    return LeaderPairs(pairs, pairs if MEASURES[search.measure].of_shingles else stored.shingles, stored.far)


DECIDED = (
    Stage(groups.copies),
    Stage(near_pairs),
    Stage(groups.group_rules),
    Stage(groups.group),
    Stage(stored_distances),
    *groups.FATES,
)
"""From stored pairs to the rows that stay."""

OUTCOME = (*DECIDED, Stage(groups.no_removal, groups.GROUP))
"""From stored pairs to the rows that stay, also of a run that removes nothing."""

STAGES = (
    *DECIDED,
    Stage(groups.counts, groups.COUNT),
    Stage(groups.no_removal, groups.GROUP),
    Stage(stored_differences),
    Stage(groups.member_table),
    Stage(JudgedRun),
)


class ThresholdOutcome(NamedTuple):
    """The groups of a result at a threshold, the documents in them, and those that it removes."""

    threshold: float
    groups: int
    documents: int
    removed: int


def outcomes(result: ResultRecord, thresholds: Iterable[float]) -> Iterator[ThresholdOutcome]:
    """Yield the outcome at each threshold, as :func:`regroup` finds it; no table is made.

    Raises the errors of ``regroup``.
    """
    was, counts = Settings.of(**result.run.settings), result.run.counts
    known: tuple[JudgedRows, ResultPairs] | None = None
    for threshold in thresholds:
        now = Settings.of(**{**result.run.settings, "threshold": threshold})
        _require_stricter(was.search, now.search)
        if now == was:
            yield ThresholdOutcome(threshold, counts.groups, result.groups.num_rows, counts.removed)
            continue
        if known is None:
            _require_no_decisions(result)
            rows = stored_rows(result)
            known = rows, _stored_pairs(result, rows, was)
        rows, stored = known
        decisions: Decisions
        (decisions,) = _run(OUTCOME, [Decisions], rows, stored, now, result.run.action)
        gone = decision_counts(rows, decisions, counts.read, _removed_unjudged(result))
        yield ThresholdOutcome(threshold, gone["groups"], len(decisions.rows), gone["removed"])


def _stored_pairs(result: ResultRecord, rows: JudgedRows, was: Settings) -> ResultPairs:
    pairs, shingles = document_pairs(result.pairs, rows, was.search.measure)
    stored = ResultPairs(pairs, shingles, pairs.slice(0, 0), partial(differences_in, result))
    return replace(stored, far=_far_pairs(result, rows, stored, was))


def _removed_unjudged(result: ResultRecord) -> int:
    """Return how many documents that were not judged are removed."""
    return int(pc.sum(pc.invert(result.not_judged["kept"])).as_py() or 0)


def _run(
    stages: Sequence[Stage],
    wanted: Sequence[type],
    rows: JudgedRows,
    stored: ResultPairs,
    settings: Settings,
    action: Action = "find",
) -> list[Any]:
    """Run the stages over stored pairs and return the ``wanted`` records."""
    # the pairs of large clusters were thinned out before they were stored; all the remaining ones are kept
    every = replace(settings.grouping, pairs="all")
    given = rows, stored, Purpose(action), Meter(Silent()), settings.search, settings.keep, every, settings.work
    return Pipeline.of(stages, given, wanted).run(*given)


def _far_pairs(result: ResultRecord, rows: JudgedRows, stored: ResultPairs, was: Settings) -> pa.Table:
    """The pairs of documents with representatives that only a chain connects, from the table of groups.

    That table holds only the similarity. The sizes of both sets are known from other pairs, and with them the
    similarity yields the exact number of shared shingles.
    """
    nothing, pairs, features = stored.far, stored.pairs, MEASURES[was.search.measure].features
    if was.grouping.groups != "components":
        return nothing
    if was.keep.only_contained > 0 and features != "shingles":
        return nothing  # containment on shingles is not stored for these pairs, and nothing else could explain it
    decisions: Decisions
    (decisions,) = _run(DECIDED, [Decisions], rows, stored, was)
    require(pa.chunked_array([rows.ids.of(decisions.rows)]).equals(result.groups["id"]))
    similarity = pc.fill_null(result.groups["similarity"], np.nan).to_numpy()
    far = np.isnan(decisions.similarity) & ~np.isnan(similarity)
    of_row = classes(rows).of_row
    own, head = (of_row[these[far]] for these in (decisions.rows, decisions.representative_row))
    sizes = np.zeros(len(rows.unique), np.int64)
    for end in ("a", "b"):
        sizes[column(pairs, end)] = column(pairs, f"size_{end}")
    by_formula = (
        shared_by(similarity[far], sizes[own], sizes[head], formula)
        for formula in (MEASURES[was.search.measure].formula, formula_of_old(was.search, was.keep.direction))
    )
    shared = np.where(rows.unique[head] < rows.first_new, *reversed(list(by_formula)))
    a, b = np.minimum(own, head), np.maximum(own, head)
    return merge_tables(nothing, verified_table(a, b, shared, sizes[a], sizes[b]))


def _account(
    result: ResultRecord,
    judged: JudgedRun,
    pairs: pa.Table,
    members: pa.Table,
    was: SearchSettings,
    now: Settings,
) -> RunAccount:
    """The account of the stored run, with everything that the other threshold changes."""
    run, rows, decisions = result.run, judged.rows, judged.decisions
    by = now.search, now.keep
    gone = _removed_unjudged(result)
    source = run.regrouped_from or Regrouped(
        threshold=was.threshold,
        large_clusters=len(run.large_clusters),
        cluster_members=sum(crowd.members for crowd in run.large_clusters),
        popular=run.popular.documents,
    )
    of_groups = groups_account(judged, *by, run.counts.different)
    removed = decisions.rows[~decisions.kept]
    note = f"made from the stored pairs of a search at threshold {source.threshold:g}"
    counts = decision_counts(rows, decisions, run.counts.read, gone)
    return structs.replace(
        run,
        large_clusters=of_groups.crowds,
        popular=of_groups.popular,
        chaining=of_groups.chaining,
        by=None,
        removed_by=None,
        kept_files=None,
        settings=now.as_dict(),
        settings_digest=now.digest(),
        counts=structs.replace(run.counts, pairs=pairs.num_rows, **counts),
        bytes=Bytes(run.bytes.text, int(rows.bytes[removed].sum()) + bytes_removed(result.not_judged)),
        lost=lost_counts(members),
        kinds=counts_of(pairs),
        recall=_recall(run, judged.groups.pairs, now),
        audit=None,
        regrouped_from=source,
        warnings=[
            *_left_out(source),
            *_not_stored(decisions),
            *_lost_unknown(decisions),
            *of_groups.warnings,
            *not_in_full(run.counts.capped, was.measure),
            *why_nothing_goes(*by, decisions, judged.groups.pairs, rows.unique, rows.first_new),
            *why_holders_stay(*by, rows, decisions, judged.groups.pairs),
        ],
        notes=[*(text for text in run.notes if text != note), note],
    )


def _recall(run: RunAccount, pairs: Pairs, now: Settings) -> Recall:
    """The recall at the stricter threshold: at least that of LSH alone, since chains are closed too.

    The result does not store how families fall apart, or which pairs were joined exactly.
    """
    method, plan, missing = run.choice.method, plan_of(run), None
    if method == "lsh" and isinstance(plan, Plan):
        shared, size_a, size_b = (column(pairs.table(), name) for name in VERIFIED.names[2:])
        missing = of_pairs(missed_with(plan, now.sketch.sketch, shared, size_a + size_b - shared))
    rejected = run.counts.rejected + (run.counts_against.rejected if run.counts_against else 0)
    aside = run.not_judged.files_left_aside if run.not_judged else 0
    looked = Extent("row or file", run.counts.read, aside, rejected, "rows or files")
    proposed = Predicted(missing, len(pairs), bound=True, looked=looked)
    return recall_of(now.search, now.shingles, now.simhash, plan, proposed)


def _left_out(source: Regrouped) -> list[str]:
    """Warn that only some pairs of large clusters were written."""
    if not source.large_clusters and not source.popular:
        return []
    crowds = f"{counted(source.large_clusters, 'large cluster')} of {counted(source.cluster_members, 'document')}"
    return [
        f"the stored result left out pairs within {crowds}, and pairs of {counted(source.popular, 'document')} "
        "elsewhere with too many partners: groups there may be split further than a run on the documents would "
        "split them. Store a result made with --pairs all where that matters"
    ]


def _not_stored(decisions: Decisions) -> list[str]:
    """Warn about documents in components that have another representative than at the stored threshold."""
    unknown = np.isnan(decisions.similarity)
    if not unknown.any():
        return []
    documents = int(unknown.sum())
    which = "it is" if documents == 1 else "they are"
    return [
        f"similarity to the representative is unknown for {counted(documents, 'document')}: {which} linked only "
        "through a chain of pairs at this threshold, and the similarity is null in the table of groups. Run "
        "neardup on the documents where that matters"
    ]


def _lost_unknown(decisions: Decisions) -> list[str]:
    """Warn about documents whose lost text the stored pairs do not show."""
    lost = decisions.lost
    if lost is None or decisions.none_goes:
        return []
    unknown, spared = int((lost.lost[~decisions.kept] < 0).sum()), int(lost.spared.sum())
    notes = [f"the text lost is unknown for {counted(unknown, 'document')}"] if unknown else []
    if spared:
        stay = "is kept" if spared == 1 else "are kept"
        notes.append(f"{counted(spared, 'document')} {stay} for lose, perhaps without need")
    if not notes:
        return []
    return [
        f"{' and '.join(notes)}: the stored pairs do not show what the kept documents hold of them. Run "
        "neardup on the documents where that matters"
    ]
