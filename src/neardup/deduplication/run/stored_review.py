"""The decisions in a result folder: read for another run, and applied to the result itself."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace as replace_fields

from neardup.deduplication.group.decisions import Decisions, Heads, decisions_of, settle
from neardup.deduplication.group.leaders import GroupRules
from neardup.deduplication.group.loss import initial_standing, with_lost
from neardup.deduplication.group.rows import CopyClasses, JudgedRows, classes
from neardup.deduplication.join.pairs import Pairs
from neardup.deduplication.run.account import Bytes, RunAccount
from neardup.deduplication.run.exclusions import bytes_removed
from neardup.deduplication.run.lost_text import COLUMNS, lost_counts, with_lost_columns
from neardup.deduplication.run.records import ResultRecord
from neardup.deduplication.run.regroup import differences_in, document_pairs, require, stored_rows
from neardup.deduplication.run.result_folder import read_result
from neardup.deduplication.run.review_decisions import (
    Applied,
    ReviewedResult,
    alike_by,
    apply_decisions,
    leaders_at,
    sizes_of,
    with_decided,
)
from neardup.deduplication.run.stages.account import decision_counts
from neardup.deduplication.run.tables import group_table, representatives, with_sides
from neardup.display import counted, printable
from neardup.errors import InputError, NeardupError
from neardup.io.decisions import DecisionStore
from neardup.io.files import beginning
from neardup.io.sources import ChangedError, read_manifest
from neardup.settings import KEEP_NONE, MEASURES, Keep, Settings
from neardup.tables import DECISIONS_FILE, OLD_LEADS, Bools, Int64s

_PAGE_MARK = re.compile(rb'\n<meta name="neardup-state" content="([0-9a-f]{64}) ([0-9]{1,18})">\n')

_PAGE_HEAD = 4096
"""Bytes of a page that hold its mark."""


def read_review(folder: str | Path) -> ReviewedResult:
    """Read the decisions in a result folder.

    Raises InputError for a folder that is not a result or holds no decisions, FormatError for damaged decisions.
    """
    given = review_in(read_result(Path(folder)).tables["ranks"], folder)
    if not given.state.number:
        raise InputError(
            f"{folder} holds no decisions",
            f"A result folder with {DECISIONS_FILE}",
            f"Decide with neardup review {folder} first",
        )
    return given


def review_in(ranks: pa.Table, folder: str | Path, until: int | None = None) -> ReviewedResult:
    """Read the decisions in the folder of a result with this table of ranks; there may be none yet.

    ``until`` is the last action that counts, by default that of the folder. Raises FormatError for damaged
    decisions.
    """
    with DecisionStore(Path(folder), read_only=True) as store:
        state = store.state() if until is None else store.state_after(until)
        return ReviewedResult(str(folder), state, sizes_of(ranks))


Result = TypeVar("Result", bound=ResultRecord)


def as_reviewed(result: Result) -> Result:
    """Return a loaded result as the decisions in its folder leave it; the result itself if there are none.

    Raises FormatError for damaged decisions.
    """
    if result.folder is None:
        return result
    given = review_in(result.ranks, result.folder)
    return after_review(result, given) if given.state.number else result


def later_action(result: ResultRecord) -> int:
    """Return the number of the last action of the review that a loaded result follows, if it is a later one.

    0 if no later action is known: the reviewed folder may have moved, or another result may have its name.
    """
    decisions = result.run.decisions
    if result.folder is None or not decisions:
        return 0
    try:
        reviewed_folder = Path(decisions.result)
        own, other = (read_manifest(folder).files["ranks.parquet"] for folder in (result.folder, reviewed_folder))
        if own.sha256 != other.sha256:
            return 0
        with DecisionStore(reviewed_folder, read_only=True) as store:
            number = store.state().number
    except (NeardupError, ChangedError, OSError, ValueError, KeyError):
        return 0
    return number if number > decisions.last_action else 0


def page_state(folder: str | Path | None, last_action: int) -> str:
    """Return the mark of a report in its head: the result and the last action that it includes; "" without any."""
    digest = "" if folder is None else _digest(folder)
    return digest and f"{digest} {last_action}"


def older_report(folder: Path, last_action: int) -> str:
    """Return a sentence about a report beside a result folder that lacks its last actions; "" if there is none.

    A report is found under the name ``report.html`` or that of the folder.
    """
    place = folder.resolve()
    for path in (place.parent / "report.html", place.with_name(f"{place.name}.html")):
        try:
            mark = _PAGE_MARK.search(beginning(path, _PAGE_HEAD))
        except OSError:
            continue
        if mark and int(mark[2]) < last_action and mark[1].decode() == _digest(place):
            missing = counted(last_action - int(mark[2]), "action")
            return f"{printable(path.name)} is older than the decisions by {missing}"
    return ""


def _digest(folder: str | Path) -> str:
    """Return the digest of the documents of a result, "" if it is unknown. Results with other fates share it."""
    try:
        return read_manifest(Path(folder)).files["ranks.parquet"].sha256 or ""
    except (ChangedError, KeyError):
        return ""


def after_review(result: Result, given: ReviewedResult) -> Result:
    """Return a result as the decisions about it leave it.

    Nothing is compared again: a member whose pair with its representative is not stored has no similarity. Groups
    that no decision changes are as they were, unless nothing was to be removed (``neardup group``). Raises
    InputError for tables that do not belong together.
    """
    rows, settings = stored_rows(result), Settings.of(**result.run.settings)
    stored = _Stored.of(result, rows)
    pairs, shingles = document_pairs(result.pairs, rows, settings.search.measure)
    documents = classes(rows)
    decided = apply_decisions(given, rows, documents)
    heads, decided = decided.place(Heads.of(stored.heads), rows.rank, alike_by(Pairs.of(pairs), documents))
    same = stored.is_unchanged(heads.rows)
    rules = GroupRules.of(settings.search, settings.keep, settings.grouping, settings.work)
    decisions = decisions_of(rows, documents, heads, pairs, rules)
    compared = pairs if MEASURES[settings.search.measure].features == "shingles" else shingles
    decisions = settle(
        stored.with_similarities(decisions), rows, documents, compared, settings.keep.only_contained
    )
    decisions = _final_decisions(
        stored.with_fates(decisions, same), decided, rows, documents, settings.keep, compared, same
    )
    counted_copies = representatives(decisions, rows) if settings.keep.count else None
    differences = differences_in(result, rows, decisions)
    groups = group_table(decisions, rows, differences, settings.search, settings.keep.direction, counted_copies)
    groups = stored.with_texts(with_lost_columns(groups, decisions), decisions, same)
    groups = with_decided(groups, decided, decisions, settings.search.in_words)
    groups = with_sides(groups, result.run)
    run = _account(result, decisions, rows, groups, decided)
    return replace(result, groups=groups, run=run, folder=None)


def _final_decisions(
    decisions: Decisions,
    applied: Applied,
    rows: JudgedRows,
    documents: CopyClasses,
    keep: Keep,
    shingles: pa.Table,
    same: Bools,
) -> Decisions:
    """The decisions of people, and those by lost text in groups that are not the ``same``."""
    if keep.keep == KEEP_NONE:
        return applied.fates(decisions.none_kept(rows.first_new), rows.rank, none_stays=True)
    decisions = applied.fates(decisions, rows.rank)
    heads = np.arange(len(rows))
    heads[decisions.rows] = decisions.representative_row
    before = initial_standing(
        decisions, documents, leaders_at(heads, documents), rows.first_new_document, shingles
    )
    spared = np.zeros(len(decisions.rows), np.bool_)
    if keep.lose < 1:
        by_loss, _ = with_lost(decisions, documents, before, keep.lose, None)
        spared = by_loss.kept & ~decisions.kept & ~same[decisions.rows]
    final = applied.fates(replace(decisions, kept=decisions.kept | spared), rows.rank)
    lost, _ = with_lost(final, documents, before.at(final, documents), 1.0, None)
    assert lost.lost is not None
    return replace(lost, lost=replace(lost.lost, spared=spared & lost.kept))


@dataclass(frozen=True, eq=False)
class _Stored:
    """The table of groups of a result: ``place`` (int64[rows]) is the entry of each row, −1 without one."""

    groups: pa.Table
    heads: Int64s
    place: Int64s
    decided: bool
    """Whether the result removes documents."""

    @classmethod
    def of(cls, result: ResultRecord, rows: JudgedRows) -> "_Stored":
        """A representative may be in the reference set, other members never are."""
        old, new = (rows.ids.of(np.arange(*span)) for span in ((0, rows.first_new), (rows.first_new, len(rows))))

        def numbers(ids: pa.ChunkedArray) -> tuple[Int64s, Int64s]:
            of_old, of_new = (pc.fill_null(pc.index_in(ids, value_set=part), -1).to_numpy() for part in (old, new))
            return of_old, np.where(of_new < 0, -1, of_new + rows.first_new)

        of_old, of_new = numbers(result.groups["group"])
        led = result.groups[OLD_LEADS].to_numpy() if rows.first_new else False
        head = np.where(led, of_old, of_new)
        leads = result.groups["representative"].to_numpy()
        member = np.where(leads, head, numbers(result.groups["id"])[1])
        require(bool((head >= 0).all() and (member >= 0).all()))
        heads, place = np.arange(len(rows)), np.full(len(rows), -1)
        heads[member], place[member] = head, np.arange(len(member))
        return cls(result.groups, heads, place, result.run.action != "group")

    def is_unchanged(self, heads: Int64s) -> Bools:
        """bool[rows]: which rows are in a group that the new ``heads`` leave as it was."""
        moved = heads != self.heads
        changed = np.zeros(len(heads), np.bool_)
        changed[heads[moved]] = changed[self.heads[moved]] = True
        same: Bools = ~changed[heads] & (self.place >= 0)
        return same

    def with_similarities(self, decisions: Decisions) -> Decisions:
        """The decisions with stored similarities where no pair shows them."""
        place = self.place[decisions.rows]
        values = pc.fill_null(self.groups["similarity"], np.nan).to_numpy()
        known = (place >= 0) & (self.heads[decisions.rows] == decisions.representative_row)
        lacking = known & np.isnan(decisions.similarity)
        similarity = decisions.similarity.copy()
        similarity[lacking] = values[place[lacking]]
        return replace(decisions, similarity=similarity)

    def with_fates(self, decisions: Decisions, same: Bools) -> Decisions:
        """The decisions with the stored fates in the ``same`` groups."""
        if not self.decided:
            return decisions
        which = same[decisions.rows]
        kept = decisions.kept.copy()
        kept[which] = self.groups["kept"].to_numpy()[self.place[decisions.rows[which]]]
        return replace(decisions, kept=kept)

    def with_texts(self, groups: pa.Table, decisions: Decisions, same: Bools) -> pa.Table:
        """The table with the stored reasons and lost text of members whose group and fate are unchanged."""
        place = self.place[decisions.rows]
        kept = self.groups["kept"].to_numpy()[place] if len(self.groups) else decisions.kept
        which = same[decisions.rows] & (kept == decisions.kept) & self.decided
        rows = pa.array(np.where(which, place, 0), mask=~which)
        for name in ("reason", *COLUMNS):
            stored = self.groups[name].combine_chunks().take(rows)
            values = pc.if_else(pa.array(which), stored, groups[name].combine_chunks())
            groups = groups.set_column(groups.schema.get_field_index(name), name, values)
        return groups


def _account(
    result: ResultRecord, decisions: Decisions, rows: JudgedRows, groups: pa.Table, applied: Applied
) -> RunAccount:
    """The account of the run, with all that the decisions change."""
    run, aside = result.run, int(pc.sum(pc.invert(result.not_judged["kept"])).as_py() or 0)
    counts = replace_fields(run.counts, **decision_counts(rows, decisions, run.counts.read, aside))
    removed_text = int(rows.bytes[decisions.gone].sum()) + bytes_removed(result.not_judged)
    figures = {name: getattr(run.counts, name) for name in ("groups", "near_copies", "removed", "kept")}
    before = None if run.action == "group" else {**figures, "removed_text": run.bytes.removed_text}
    return replace_fields(
        run,
        action="dedup",
        by=None,
        kept_files=None,
        removed_by=None,  # by the run, before the decisions
        counts=counts,
        bytes=Bytes(run.bytes.text, removed_text),
        lost=lost_counts(groups),
        decisions=replace_fields(applied.account(), before=before),
        warnings=[*run.warnings, *applied.warnings()],
        notes=[*run.notes, f"made from {applied.given.name} and its decisions; nothing was compared again"],
    )
