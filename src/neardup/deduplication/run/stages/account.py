"""The account of a run, made of the records of its stages; the removed share of each file and source."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.group.decisions import Decisions
from neardup.deduplication.group.leaders import Grouped
from neardup.deduplication.group.rows import JudgedRows
from neardup.deduplication.join.base_documents import ReadBase
from neardup.deduplication.join.common_crowds import CROWD
from neardup.deduplication.join.pairs import Pairs
from neardup.deduplication.join.rows import Met, Rows
from neardup.deduplication.join.search import SearchOutcome
from neardup.deduplication.join.verification import families_in
from neardup.deduplication.run import account as accounts
from neardup.deduplication.run.exclusions import not_judged_counts
from neardup.deduplication.run.kinds import counts_of
from neardup.deduplication.run.lost_text import lost_counts
from neardup.deduplication.run.recall import Audit, Predicted, recall_of
from neardup.deduplication.run.review_decisions import Applied
from neardup.deduplication.run.stages import records
from neardup.deduplication.run.tables import Represented
from neardup.deduplication.run.texts import InputTexts
from neardup.display import Extent, counted, number, percent, printable, similarity
from neardup.errors import OutputError
from neardup.io.contents import packages
from neardup.io.outputs import access_of
from neardup.kernels.match import LCS_CAP, TILING_CAP
from neardup.runtime import installed_version, peak_memory
from neardup.settings import (
    KEEP_NONE,
    MEASURES,
    TOKENIZERS,
    Keep,
    SearchSettings,
    Settings,
    as_tuple,
    ratio,
    tokenizer_version,
)
from neardup.tables import FORMAT_VERSION, Bools, Int64s, column, distinct
from neardup.text.hamming import HammingPlan
from neardup.unicode import UNICODE_VERSION

LISTED = 1000
"""Files and sources that run.json lists, those with most documents first."""
SUSPICIOUS = (100, 0.5)
"""A file or source of at least this many documents that loses more than this share of them gets a warning."""

FEW_DOCUMENTS = 1000
"""Corpora smaller than this get no large-group warning."""

LARGE_GROUP = 0.01
"""A group with a larger share of all documents than this gets a warning."""


def removed_by(rows: Rows, decisions: Decisions, sources: str) -> accounts.RemovedBy:
    """Return the documents read and removed of each data file and of each source.

    Its ``files`` are data files; the documents of folders are one entry together. Its
    ``sources`` are the values of the column ``sources``, an empty list without one. Only the first LISTED of each.
    """
    gone, first = decisions.gone, rows.first_new
    removed = np.zeros(len(rows) - first, np.bool_)
    removed[gone[gone >= first] - first] = True
    by = accounts.RemovedBy(files=_removed_shares(*_files(rows), removed), sources=[])
    values = rows.extra.get(sources)
    if values is not None:
        encoded = pc.cast(values, pa.string()).dictionary_encode()
        codes = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy().astype(np.int64)
        by.sources = _removed_shares([*encoded.dictionary.to_pylist(), None], codes, removed)
    return by


def suspicious(shares: accounts.RemovedBy, most: float, *, referred: bool) -> list[str]:
    """Warn about files and sources that lose more than the share ``most`` or, if that is 1, half.

    A run over one file without a reference set (``referred``) has the same share in its summary.
    """
    least = 1
    if most == 1:
        least, most = SUSPICIOUS
        if not referred and len(shares.files) < 2 and not shares.sources:
            return []
    return [
        f"{_entry_text(entry)} go; --most-removed stops such a run before anything is written"
        for entry in _above(shares, most)
        if entry.read >= least
    ]


def require_most_removed(run: accounts.RunAccount) -> None:
    """Raise OutputError if more of a file or source would go than the setting ``most_removed`` allows."""
    limit = run.settings["most_removed"]
    beyond = list(_above(run.removed_by, limit)) if limit < 1 and run.removed_by is not None else []
    if beyond:
        more = f"; and too many of {len(beyond) - 3} more" if len(beyond) > 3 else ""
        raise OutputError(
            f"{'; '.join(map(_entry_text, beyond[:3]))} would go{more}",
            f"At most {percent(limit, 1)} of each input file and source (--most-removed)",
            "Look at the groups with --dry-run, then change the settings or --most-removed; nothing was written",
        )


def _above(shares: accounts.RemovedBy, limit: float) -> Iterator[accounts.RemovedShare]:
    for entry in (*shares.files, *shares.sources):
        if entry.removed > limit * entry.read:
            yield entry


def _entry_text(entry: accounts.RemovedShare) -> str:
    name = "documents without a source" if entry.name is None else printable(entry.name)
    share = percent(entry.removed, entry.read)
    return f"{number(entry.removed)} of {number(entry.read)} documents of {name} ({share})"


def _files(rows: Rows) -> tuple[list[str], Int64s]:
    """The names of the data files, and the number of the file of each new row."""
    corpus = rows.corpus
    part = corpus.parts[-1].documents
    pieces = [piece for piece in corpus.pieces if piece.part == rows.new_part]
    counts = [piece.count for piece in pieces]
    if part.format == "text":
        return [", ".join(part.names[:3])], np.zeros(sum(counts), np.int64)
    names = list(dict.fromkeys(piece.source for piece in pieces))
    place = {name: k for k, name in enumerate(names)}
    return names, np.repeat([place[piece.source] for piece in pieces], counts).astype(np.int64)


def _removed_shares(names: Sequence[str | None], of_row: Int64s, removed: Bools) -> list[accounts.RemovedShare]:
    read = np.bincount(of_row, minlength=len(names))
    gone = np.bincount(of_row[removed], minlength=len(names))
    order = [k for k in np.argsort(-read, kind="stable").tolist() if read[k]]
    return [accounts.RemovedShare(names[k], int(read[k]), int(gone[k])) for k in order[:LISTED]]


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """Groups and decisions to account for: those of a run, or derived from a stored result."""

    rows: JudgedRows
    groups: Grouped
    decisions: Decisions


@dataclass(frozen=True, eq=False)
class Run:
    """A run whose groups are decided: the data for its account, and for writing the kept rows."""

    inputs: records.Inputs
    rows: Rows
    judged_rows: JudgedRows
    search: SearchOutcome
    groups: Grouped
    decisions: Decisions
    missing: records.MissingPairs
    members: records.MemberTable
    tables: records.RowTables
    pairs: records.PairTable
    notes: records.Notes
    audited: Audit | None
    missed: records.MissedTable | None
    represented: Represented | None
    applied: Applied | None
    base: ReadBase | None
    common: records.CommonShingles | None

    @property
    def settings(self) -> Settings:
        """The settings of the run."""
        return self.inputs.settings

    @property
    def judged(self) -> JudgedRun:
        """The groups and decisions of the run."""
        return JudgedRun(self.judged_rows, self.groups, self.decisions)

    @property
    def texts(self) -> InputTexts:
        """The texts of the run, read again on request."""
        return InputTexts(self.rows.corpus, self.decisions.dropped, self.rows.first_new)

    @property
    def access(self) -> int:
        """The permission bits that everything that was read has."""
        ignored = [] if self.inputs.ignore is None else [self.inputs.ignore.documents]
        return access_of(*(part.documents for part in self.rows.corpus.parts), *ignored)


def account(run: Run, seconds: Mapping[str, float]) -> accounts.RunAccount:
    """The content of ``run.json`` so far; writing adds its seconds."""
    settings, search, parts, rows = run.settings, run.search, run.rows.corpus.parts, run.rows
    new, old = parts[-1], parts[0] if len(parts) > 1 else None
    before = _read(run, rows.units[: rows.first_new], rows.met_before)
    shares = removed_by(rows, run.decisions, settings.keep.sources)
    judged = groups_account(run.judged, settings.search, settings.keep, len(rows.unique))
    return accounts.RunAccount(
        neardup_version=installed_version("neardup") or "",
        format=FORMAT_VERSION,
        action=run.inputs.action,
        settings=settings.as_dict(),
        settings_digest=settings.digest(),
        versions=_versions(settings.cleaning.tokenizer),
        unicode=UNICODE_VERSION,
        inputs=list(new.documents.names),
        against=[] if old is None else list(old.documents.names),
        columns=accounts.UsedColumns(new.text, new.id),
        columns_against=None if old is None else accounts.UsedColumns(old.text, old.id),
        counts=_counts(run),
        counts_against=None if old is None else accounts.InputCounts(**before),
        not_judged=_not_judged(run),
        left_out=left_out(rows),
        bytes=accounts.Bytes(int(rows.bytes[rows.first_new :].sum()), int(rows.bytes[run.decisions.gone].sum())),
        lost=lost_counts(run.members.table),
        choice=accounts.ChoiceAccount(**search.choice.as_dict()),
        plan=search.plan.as_dict(),
        recall=_recall(run),
        audit=None if run.audited is None else run.audited.account(),
        large_buckets=accounts.LargeBuckets(search.hub_buckets, _in_large_buckets(search), search.largest_bucket),
        decisions=None if run.applied is None else run.applied.account(),
        closed=None if search.closed is None else accounts.ClosedComponents(**search.closed.as_dict()),
        removed_by=shares,
        large_clusters=judged.crowds,
        popular=judged.popular,
        chaining=judged.chaining,
        warnings=[*judged.warnings, *_warnings(run, shares)],
        regrouped_from=None,
        notes=[*run.notes.texts, *(() if run.base is None else run.base.notes)],
        reading=accounts.FilesRead(**new.documents.findings.as_dict()),
        reading_against=None if old is None else accounts.FilesRead(**old.documents.findings.as_dict()),
        seconds=dict(seconds),
        peak_memory_bytes=peak_memory(),
        kinds=counts_of(run.pairs.table),
        base_text=_base_text(run),
    )


def _warnings(run: Run, shares: accounts.RemovedBy) -> Iterator[str]:
    """The warnings of a run besides those about its groups."""
    search, keep, rows = run.settings.search, run.settings.keep, run.judged_rows
    yield from _below_plan(run)
    yield from not_in_full(run.search.capped, search.measure)
    yield from why_nothing_goes(search, keep, run.decisions, run.groups.pairs, rows.unique, rows.first_new)
    yield from why_holders_stay(search, keep, rows, run.decisions, run.groups.pairs)
    yield from suspicious(shares, keep.most_removed, referred=run.rows.first_new > 0)
    if run.applied is not None:
        yield from run.applied.warnings()


class GroupsAccount(NamedTuple):
    """The part of an account about the groups."""

    crowds: list[accounts.LargeCluster]
    popular: accounts.Popular
    chaining: accounts.Chaining
    warnings: list[str]


def groups_account(judged: JudgedRun, search: SearchSettings, keep: Keep, different: int) -> GroupsAccount:
    """The account of the groups; ``different`` is the number of different documents they were made from."""
    chaining = _chaining_account(judged, search.threshold)
    # none asks for whole families
    chains = [] if keep.keep == KEEP_NONE else _chain(chaining, search.threshold)
    warnings = [*_large_group(judged.decisions, different), *chains]
    return GroupsAccount(_crowds(judged), _popular(judged), chaining, warnings)


def _versions(tokenizer: str) -> dict[str, str]:
    known = {name: installed_version(name) or "" for name in ("numpy", "pyarrow")}
    named = {f"{TOKENIZERS} {tokenizer}": tokenizer_version(tokenizer)} if tokenizer else {}
    return {"python": platform.python_version(), **known, **packages(), **named}


def _in_large_buckets(search: SearchOutcome) -> int:
    if not search.hub_buckets:
        return 0
    return len(search.hub) - (0 if search.closed is None else search.closed.joined)


def _counts(run: Run) -> accounts.RunCounts:
    rows, first = run.rows, run.rows.first_new
    # the pairs that a join by common text looks at depend on the hashes, and differ from run to run
    candidates = run.search.candidates
    numbers = np.arange(first, len(rows))
    copies = rows.copy_of[first:] != numbers
    return accounts.RunCounts(
        **_read(run, rows.units[first:], rows.met),
        exact_copies=int(copies.sum()),
        identical_copies=int((copies & (rows.alike.characters[first:] != numbers)).sum()),
        not_judged=run.tables.not_judged.num_rows,
        different=len(rows.unique),
        candidates=candidates,
        verified=candidates + (0 if run.search.closed is None else run.search.closed.compared),
        capped=run.search.capped,
        pairs=run.pairs.table.num_rows,
        **decision_counts(run.judged_rows, run.decisions, len(rows) - first, len(run.decisions.dropped)),
    )


def _read(run: Run, units: Int64s, met: Met) -> dict[str, int]:
    """Read the counts of the new input or of the reference set alone."""
    return {
        "read": len(units),
        "rejected": met.rejected,
        "empty": int((units == 0).sum()),
        "short": int(((units > 0) & (units < run.settings.shingles.length)).sum()),
        "null": met.nulls,
        "invalid_utf8": met.invalid,
    }


def left_out(rows: Rows) -> accounts.LeftOutText | None:
    """The text of the new input that is left out, by rule: places and documents; None for a run without rules.

    Exact copies count like other documents.
    """
    rules = rows.settings.cleaning
    if not rules.is_on:
        return None
    counts = rows.cleaned.tolist()
    masks = [accounts.MaskCount(mask, *count) for mask, count in zip(rules.mask, counts, strict=False)]
    return accounts.LeftOutText(masks, accounts.LeftOutCount(*counts[-2]), accounts.LeftOutCount(*counts[-1]))


def _not_judged(run: Run) -> accounts.NotJudgedCounts:
    rows = run.rows
    aside = sum(of == rows.new_part for of, _ in rows.left_aside)
    return not_judged_counts(run.tables.not_judged, rows.corpus.parts[-1].documents.format, aside)


def _base_text(run: Run) -> accounts.BaseTextAccount | None:
    rows, read, common = run.rows, run.base, run.common
    if read is None and common is None:
        return None
    firsts = np.flatnonzero((rows.copy_of == np.arange(len(rows))) & (rows.units > 0))
    counts = np.zeros((0, 3), np.int64) if rows.left is None else rows.left[firsts]
    return accounts.BaseTextAccount(
        inputs=[] if read is None else list(read.names),
        documents=0 if read is None else read.documents,
        shingles=0 if read is None else len(read.base),
        common=0 if common is None else common.table.num_rows,
        of_documents=0 if common is None else common.different,
        shingles_before=int(counts[:, 0].sum()),
        shingles_after=int(counts[:, 1].sum()),
        documents_with=int((counts[:, 1] < counts[:, 0]).sum()),
        base_text_only=len(rows.base_only),
    )


def decision_counts(rows: JudgedRows, decisions: Decisions, read: int, dropped: int) -> dict[str, int]:
    """Count groups, near copies, and removed and kept documents of the ``read``; ``dropped`` were not judged."""
    removed = int((~decisions.kept).sum()) + dropped
    near = ~decisions.is_representative & ~decisions.exact & (rows.copy_of[decisions.rows] == decisions.rows)
    return {
        "groups": int(decisions.is_representative.sum()),
        "near_copies": int(near.sum()),
        "removed": removed,
        "kept": read - removed,
    }


def _recall(run: Run) -> accounts.Recall:
    """The recall of a run, estimated from the families that were compared and those that were joined exactly."""
    search, audited = run.search, run.audited
    predicted = Predicted(
        run.missing.estimate,
        run.pairs.table.num_rows,
        bound=search.closed is not None and search.closed.left_out > 0,
        measured=None if audited is None else audited.recall,
        unlisted=bool(run.groups.crowds) or len(run.groups.popular) > 0,
        looked=_searched_extent(run.rows),
    )
    settings = run.settings
    return recall_of(settings.search, settings.shingles, settings.simhash, search.plan, predicted)


def _searched_extent(rows: Rows) -> Extent:
    """The rows and files among which pairs were searched: those that were read, and are not left aside."""
    rejected = rows.met.rejected + rows.met_before.rejected
    return Extent("row or file", len(rows), len(rows.left_aside), rejected, "rows or files")


def _crowds(judged: JudgedRun) -> list[accounts.LargeCluster]:
    crowds = judged.groups.crowds
    heads = judged.rows.unique[np.array([crowd.leader for crowd in crowds], np.int64)]
    return [
        accounts.LargeCluster(head, crowd.members, crowd.left_out)
        for head, crowd in zip(judged.rows.ids.of(heads).to_pylist(), crowds, strict=True)
    ]


def _popular(judged: JudgedRun) -> accounts.Popular:
    """Documents outside crowds with too many partners: their number, a lower bound for omitted pairs, some ids."""
    documents = judged.groups.popular
    examples = judged.rows.ids.of(judged.rows.unique[documents[:10]]).to_pylist()
    reported = 0
    for some in judged.groups.pairs.batches() if len(documents) else ():
        reported += int(np.sum(np.isin(column(some, "a"), documents) | np.isin(column(some, "b"), documents)))
    count, partners = len(documents), len(documents) * (CROWD + 1)
    # a pair of two of them counts for both: that is half of all at most, and no more than there are such pairs
    least = max(0, max((partners + 1) // 2, partners - count * (count - 1) // 2) - reported)
    return accounts.Popular(len(documents), least, examples)


def _chaining_account(judged: JudgedRun, threshold: float) -> accounts.Chaining:
    """Groups with a member below the threshold to its representative, and the farthest such member if known."""
    decisions = judged.decisions
    unknown = np.isnan(decisions.similarity)
    far = (unknown | (decisions.similarity < threshold)) & ~decisions.placed
    would = _components_that_would_chain(judged)
    if not far.any():
        return accounts.Chaining(0, None, would)
    groups = len(np.unique(decisions.representative_row[far]))
    if unknown[far].any():
        return accounts.Chaining(groups, None, would)
    place = int(np.argmin(np.where(far, decisions.similarity, np.inf)))
    head, member = judged.rows.ids.of(
        np.array([decisions.representative_row[place], decisions.rows[place]])
    ).to_pylist()
    return accounts.Chaining(groups, accounts.Link(head, head, member, float(decisions.similarity[place])), would)


def _components_that_would_chain(judged: JudgedRun) -> int:
    """How many components of the pairs contain several groups, which joining every chain would have merged."""
    grouped = judged.groups
    roots = families_in(grouped.pairs, len(grouped.leader))[distinct(grouped.leader)]
    return int((np.unique(roots, return_counts=True)[1] > 1).sum())


def _chain(chaining: accounts.Chaining, threshold: float) -> list[str]:
    """Warn about components with members below the threshold to their representative; principal avoids them."""
    if not chaining.groups:
        return []
    link, weakest = chaining.weakest, ""
    if link is not None:
        weakest = f"; the weakest: {link.id_b} in the group of {link.id_a}, at {similarity(link.similarity)}"
    groups = counted(chaining.groups, "group") + (" holds" if chaining.groups == 1 else " hold")
    return [
        f"{groups} documents below the threshold {threshold:g} to their representative, "
        f"joined by chains of pairs{weakest}. --groups principal (the default) does not chain"
    ]


def _below_plan(run: Run) -> list[str]:
    """Warn if an audit found a lower recall than planned."""
    recall, plan = None if run.audited is None else run.audited.recall, run.search.plan
    if isinstance(plan, HammingPlan):
        return []
    exact = run.search.choice.method == "exact"
    planned = 1.0 if exact else plan.recall
    if recall is None or recall.high >= planned:
        return []
    todo = "this is a defect, please report it" if exact else "raise --slots or --recall, or use --method exact"
    return [
        f"the audit puts the recall at {similarity(recall.low)} to {similarity(recall.high)}, "
        f"below the {similarity(planned)} that was planned: {todo}"
    ]


def not_in_full(capped: int, measure: str) -> list[str]:
    """Warn about pairs whose common text was not counted in full."""
    if not capped:
        return []
    why = LCS_CAP if MEASURES[measure].counting == "order" else TILING_CAP
    return [f"common text may be undercounted for {counted(capped, 'pair')}: {why}"]


def _large_group(decisions: Decisions, documents: int) -> list[str]:
    if not len(decisions.rows):
        return []
    near = decisions.rows[~decisions.exact | decisions.is_representative]
    sizes = np.bincount(decisions.representative_row[~decisions.exact], minlength=1)
    largest = int(sizes.max()) + 1 if len(near) else 0
    if documents < FEW_DOCUMENTS or largest <= LARGE_GROUP * documents:
        return []
    return [
        f"one group holds {largest:,} of {documents:,} different documents "
        f"({percent(largest, documents)}): look at it before you remove it"
    ]


def why_nothing_goes(
    search: SearchSettings, keep: Keep, decisions: Decisions, pairs: Pairs, rows: Int64s, first_new: int
) -> list[str]:
    """Explain in a sentence why a run found ``pairs`` but removed nothing, though it may; empty for other runs.

    ``rows`` are the rows of the document numbers in ``pairs``; the rows before ``first_new`` are a reference set.
    """
    # not those within the reference set
    pairs_found = sum(int(np.count_nonzero(rows[column(some, "b")] >= first_new)) for some in pairs.batches())
    if decisions.none_goes or not pairs_found or not decisions.kept.all():
        return []
    directed = MEASURES[search.measure].directed
    if keep.only_contained > 0 and len(decisions.rows):
        share = f"{keep.only_contained:g}"
        why = f"the kept documents hold less than {share} of the shingles of the others (only_contained)"
    elif keep.lose < 1 and decisions.lost is not None and decisions.lost.spared.any():
        share = f"{keep.lose:g}"
        why = f"each document would lose more than {share} of its shingles (lose)"
    elif directed and not first_new:
        why = (
            f"a document goes if it is contained in one that keep {' then '.join(as_tuple(keep.keep))} "
            "prefers, and the preferred ones are contained in the others. keep longest prefers these"
        )
    else:
        return []
    return [f"{counted(pairs_found, 'pair')} found, nothing removed: {why}"]


def why_holders_stay(
    search: SearchSettings, keep: Keep, rows: JudgedRows, decisions: Decisions, pairs: Pairs
) -> list[str]:
    """Say how many new documents hold one of the reference set and stay, and the setting that removes them.

    Only for a measure with a direction, by which a new document goes if it is itself held in the other one.
    """
    directed = MEASURES[search.measure].directed
    if not rows.first_new or not directed or keep.direction != Keep().direction or decisions.none_goes:
        return []
    numerator, denominator = ratio(search.threshold)
    holds = np.zeros(len(rows), np.bool_)
    for some in pairs.batches():
        old = rows.unique[column(some, "a")] < rows.first_new
        inside = column(some, "shared") * denominator >= numerator * column(some, "size_a")
        holds[rows.unique[column(some, "b")[old & inside]]] = True
    holders = holds[rows.copy_of] | (rows.copy_of < rows.first_new)  # copies of one hold it, too
    holders[: rows.first_new] = False
    count = int(np.count_nonzero(holders))
    holders[decisions.gone] = False
    stay = int(np.count_nonzero(holders))
    if not stay:
        return []
    holding = f"{counted(count, 'document')} that hold a document of the reference set"
    threshold = f"{search.threshold:g}"
    return [
        f"{number(stay)} of {holding} to {threshold} or more are kept, because with --direction new-in-old a "
        "document goes only if it is itself held in one of the reference set. --direction old-in-new removes them"
    ]
