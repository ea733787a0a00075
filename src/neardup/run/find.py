"""The batch run: runs the stages in order and keeps the account.

fingerprint → candidates → verify → group → decide → tables; ``save`` writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack, cast

import numpy as np
import pyarrow as pa

from neardup.group.decide import (
    CopyClasses,
    Decisions,
    classes,
    decide_at,
    heads_of,
    leader_keys,
    leader_pairs,
    settle,
)
from neardup.group.in_parts import group_found
from neardup.group.keep import keep_rank, never_listed
from neardup.group.leaders import Grouped, merged, only_pairs
from neardup.group.lost import Standing, standing, with_lost
from neardup.group.passages import with_passages
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.base import Documents
from neardup.io.readers.columns import Chosen, Reference
from neardup.io.writers import access_of
from neardup.io.writers.scratch import TABLE_ROWS
from neardup.join.base_documents import BaseDocuments, open_base
from neardup.join.corpus import Corpus
from neardup.join.criterion import at_least, criterion_of, every_pair
from neardup.join.estimates import Missing
from neardup.join.evidence import Evidence
from neardup.join.first_pass import fingerprint
from neardup.join.method import surely_exact
from neardup.join.missing import missing_among
from neardup.join.missing_crowds import missing_members
from neardup.join.pair_file import PairLookup, PairRoom, Pairs, batches, documents_in, together
from neardup.join.portions import verified_room
from neardup.join.rows import Rows
from neardup.join.search import propose
from neardup.join.verify import verify
from neardup.lsh.bands import Plan, plan
from neardup.measures import MEASURES, Measure
from neardup.run.account import Action, Run, Stages, account
from neardup.run.asked_columns import FindKeywords, parts_of, reference_of, related_notes, require_reference
from neardup.run.audit.count import Reported
from neardup.run.audit.outcome import Audit, audit
from neardup.run.base_text import with_base, with_common, with_full_sizes
from neardup.run.decided import Applied, ReviewedResult, alike_by, leaders_at, settled
from neardup.run.decided import applied as applied_to
from neardup.run.decided_reasons import with_decided
from neardup.run.found import Found
from neardup.run.kinds import counts_of, with_kinds, with_kinds_of_copies
from neardup.run.lost import lost_counts, with_lost_columns
from neardup.run.not_judged import dropped_rows, left_aside_notes, not_judged_table
from neardup.run.represented import Represented, represented
from neardup.run.reviewed import reviewed
from neardup.run.tables import (
    Ids,
    check_ids,
    copy_table,
    group_table,
    new_copies,
    pair_table,
    rank_table,
    require_ids,
)
from neardup.run.texts import InputTexts
from neardup.runtime import Progress, Silent, release_memory
from neardup.settings import SettingKeywords, Settings
from neardup.settings.rules import KEEP_NONE
from neardup.tables import CANDIDATES, VERIFIED, Int64s, column


@dataclass(frozen=True)
class Outcome:
    """A finished run: the result for users, and the data for writing the kept rows."""

    found: Found
    run: Run


def find(
    documents: object,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    against: object | None = None,
    ignore: object | None = None,
    decisions: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Unpack[FindKeywords],
) -> Found:
    """Find near-duplicate documents, prove each pair, and group them.

    ``documents``: paths; a list, tuple or array of str; a frame of pandas, polars or another library; Arrow data;
    a list of dict, or a dict of columns; data sets of Hugging Face and of pyarrow; an iterator of str, dict or
    Arrow batches (docs/howto/dataframes.md). ``text`` and ``id`` name columns or nested fields, ``text`` also
    several (docs/howto/what-is-compared.md); ``against`` is a reference set of the same kinds, with the same
    columns, unless ``against_text`` and ``against_id`` name its own. ``ignore``: paths of files or folders with
    base texts, such as templates, whose shingles do not count. ``decisions`` is the folder of a result that people
    have reviewed: the groups follow their decisions. ``settings``: see :data:`neardup.settings.FIELDS`.

    Raises SettingError for settings out of range, and InputError for input that cannot be used.

    >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
    >>> found = find([text, text + " today", "something else"], threshold=0.8)
    >>> found.pairs.select(["id_a", "id_b", "shared", "size_a", "size_b"]).to_pylist()
    [{'id_a': 0, 'id_b': 1, 'shared': 9, 'size_a': 9, 'size_b': 10}]
    """
    of_old = settings.pop("against_text", None), settings.pop("against_id", None)
    chosen = Settings.of(**cast(SettingKeywords, settings))
    opened = open_documents(documents, reading=chosen.reading)
    columns = choose_columns(opened, text, id)
    old = None if against is None else open_documents(against, reading=chosen.reading)
    reference = reference_of(old, columns, *of_old)
    base = open_base(ignore, columns, chosen)
    review = None if decisions is None else reviewed(decisions)
    return run(opened, columns, chosen, reference, progress or Silent(), ignore=base, review=review).found


def run(
    documents: Documents,
    columns: Chosen,
    settings: Settings,
    against: Reference | None,
    progress: Progress,
    action: Action = "find",
    *,
    ignore: BaseDocuments | None = None,
    review: ReviewedResult | None = None,
) -> Outcome:
    """Find near-duplicates of opened documents; ``action`` is the intended use of the decisions.

    ``review`` holds decisions of people, which the groups follow. Under a memory limit, working files are made
    where ``scratch.working_in`` says.
    """
    require_reference(settings, against)
    stages, asked, slots, keep = Stages(progress), settings.search, settings.sketch.slots, settings.keep.keep
    bands = None if settings.by_simhash else plan(asked.threshold, asked.recall, slots)
    corpus, base = with_base(Corpus.of(parts_of(documents, columns, settings, against), settings), ignore, stages)
    rows, sketches = fingerprint(corpus, 0 if bands is None or surely_exact(asked) else slots, stages, bands)
    rows, sketches, base = with_common(rows, sketches, base, stages)
    noticed = (*left_aside_notes(rows), *_read_notes(rows), *never_listed(keep, rows.extra), *related_notes(rows))
    rows, of_ids = _settle_ids(rows, columns, against)
    search, proposal = propose(rows, sketches, bands, stages)
    del sketches  # verification needs the memory
    evidence = search.prove(rows, proposal, stages)
    del search, proposal
    base = base.without_sets()
    row_rank = keep_rank(keep, rows.units, rows.first_new, rows.extra)
    made = _decide(rows, evidence, row_rank, stages, review)
    groups, shingles, applied, listed = made.groups, made.shingles, made.applied, made.listed
    counted_copies = _represented(made.decisions, rows) if settings.keep.count else None
    decisions = made.decisions.all_kept() if action == "group" else _with_passages(made, rows, stages)
    del made
    evidence = replace(evidence, held=None, parts=None)  # the next stages need the memory
    audited = _audit(rows, evidence, groups, stages) if settings.search.audit else None
    evidence = replace(evidence, pairs=VERIFIED.empty_table())
    release_memory()
    with stages.stage("tables", None, "rows"):
        ids = Ids(rows)
        of_groups = group_table(decisions, rows, ids, settings, counted_copies)
        if applied is not None:
            of_groups = with_decided(of_groups, applied, decisions, settings.search.in_words)
        of_groups = with_lost_columns(of_groups, decisions)
        ranks = rank_table(rows, row_rank, groups.pairs, ids, _also_ranked(rows, listed, audited))
        copies = copy_table(rows, ids)
        aside = not_judged_table(rows, decisions.dropped, ids)
    pairs = _pairs_with_ids(groups.pairs, shingles, rows, ids, stages)
    copies = with_kinds_of_copies(copies, new_copies(rows), rows, stages)
    missed = None if audited is None else _pairs_with_ids(audited.missed, None, rows, ids, stages)
    missing = _missing(rows, evidence, groups, stages)
    parts = (pairs.num_rows, aside, audited, counted_copies, applied)
    done = Run(rows, evidence, groups, decisions, dict(stages.seconds), missing, *parts)
    notes = (*columns.notes, *of_ids, *noticed, *base.notes)
    told = account(action, done, ids, notes, lost_counts(of_groups)) | counts_of(pairs) | base.as_dict(rows)
    access = access_of(*_inputs(rows, ignore))
    tables = (pairs, of_groups, copies, told, rows.problems, missed, ranks, aside)
    return Outcome(Found(*tables, access, base.common, _texts(rows, decisions)), done)


def _inputs(rows: Rows, ignore: BaseDocuments | None) -> list[Documents]:
    """Everything that was read."""
    return [*(part.documents for part in rows.corpus.parts), *([] if ignore is None else [ignore.documents])]


def _texts(rows: Rows, decisions: Decisions) -> InputTexts:
    """The texts of the run, read again on request."""
    return InputTexts(rows.corpus, decisions.dropped, rows.first_new)


def _also_ranked(rows: Rows, listed: Int64s, audited: Audit | None) -> Int64s:
    """The rows of decisions, and the documents of the pairs that an audit found missing: people look at these."""
    if audited is None:
        return listed
    return np.concatenate((listed, rows.unique[documents_in(audited.missed, len(rows.unique))]))


def _pairs_with_ids(pairs: Pairs, shingles: pa.Table | None, rows: Rows, ids: Ids, stages: Stages) -> pa.Table:
    """The table of pairs for users, from pairs by document number; ``shingles``: the same counted on shingles.

    The table of pairs in a file is in a working file, too.
    """
    if isinstance(pairs, pa.Table):
        shingles = _on_shingles(rows, pairs, stages) if shingles is None else shingles
        return _table_with_ids(pairs, shingles, rows, ids, stages)
    quiet, scratch = Stages(Silent()), rows.corpus.scratch
    assert scratch is not None
    with stages.stage("tables", pairs.num_rows, "pairs") as advance, scratch.table() as made:
        for some in batches(pairs, TABLE_ROWS):
            made.add(_table_with_ids(some, _on_shingles(rows, some, quiet), rows, ids, quiet))
            advance(some.num_rows)
    return made.table


def _table_with_ids(pairs: pa.Table, shingles: pa.Table, rows: Rows, ids: Ids, stages: Stages) -> pa.Table:
    with stages.stage("tables", None, "rows"):
        table = pair_table(pairs, shingles, rows, ids, rows.settings.search.measure)
        table = with_full_sizes(table, pairs, rows)
    return with_kinds(table, pairs, rows, stages)


def _read_notes(rows: Rows) -> list[str]:
    """Notes available after reading everything; for a reference input also the notes from before reading."""
    *references, new = (part.documents.findings for part in rows.corpus.parts)
    told = [note for old in references for note in (*old.notes, *old.encoding_notes())]
    return [*new.encoding_notes(), *(f"--against: {note}" for note in told)]


def _settle_ids(rows: Rows, columns: Chosen, against: Reference | None) -> tuple[Rows, list[str]]:
    """Refuse a chosen id column that does not name every row once; drop a guessed one, and note that."""
    guesses = (*(() if against is None else (against.columns.id_guessed,)), columns.id_guessed)
    notes, unnamed, parts = [], set(), rows.corpus.parts
    for number, part in enumerate(parts):
        if part.id is None:
            continue
        fault = check_ids(rows, number, part.id)
        if fault and not guesses[number]:
            require_ids(fault)
        if fault:
            unnamed.add(number)
            notes.append(f"{fault}; rows are named by source and row number instead")
    return rows.unnamed(unnamed), notes


@dataclass(frozen=True, eq=False)
class _Decided:
    """The decisions about rows, the groups they follow from, and the documents as they leave them.

    ``shingles`` are the pairs of the groups, counted on shingles; None if the pairs are in a file. ``applied`` are
    the decisions of people.
    """

    decisions: Decisions
    groups: Grouped
    documents: CopyClasses
    standing: Standing
    shingles: pa.Table | None
    applied: Applied | None = None

    @property
    def listed(self) -> Int64s:
        """The rows that a decision may have put into the tables."""
        return np.empty(0, np.int64) if self.applied is None else self.decisions.rows


def _decide(
    rows: Rows, evidence: Evidence, row_rank: Int64s, stages: Stages, review: ReviewedResult | None
) -> _Decided:
    """Group the documents, and decide about their rows."""
    settings = rows.settings
    criterion = criterion_of(settings.search)
    first_new = rows.first_new_document
    applied, room = None, _room(rows)
    with stages.stage("group", None, "documents"):
        documents = classes(rows, row_rank)
        groups = group_found(evidence, documents.rank, first_new, criterion, settings, room)
        heads = heads_of(rows, documents, row_rank, groups.leader)
        if review is not None:
            applied = applied_to(review, rows, Ids(rows), documents)
            before, heads = heads, applied.place(heads, row_rank, alike_by(groups.pairs, documents))
            groups = replace(groups, leader=leaders_at(heads, documents))
    far = _far_leaders(rows, groups, heads, documents, stages)
    scored = merged(_pairs_needed(groups.pairs, heads, documents), far)
    listed = None if applied is None else applied.goes
    decisions = decide_at(rows, documents, heads, scored, settings, listed)
    if applied is not None:
        decisions = replace(decisions, placed=(heads != before)[decisions.rows])
    shingles = _on_shingles(rows, scored, stages)
    decisions = settle(decisions, rows, documents, shingles, settings.keep.only_contained)
    decisions = replace(decisions, dropped=dropped_rows(rows))
    if applied is not None:
        decisions = applied.fates(decisions, row_rank)
    after = standing(decisions, documents, groups.leader, first_new, shingles)
    if settings.keep.keep == KEEP_NONE:  # all text of a family goes
        decisions = decisions.none_kept(rows.first_new)
        decisions = decisions if applied is None else applied.fates(decisions, row_rank, none_stays=True)
    else:
        with stages.stage("lost text", None, "documents"):
            decisions, after = with_lost(decisions, documents, after, settings.keep.lose, rows.sets())
            if applied is not None:
                decisions, after = settled(applied, decisions, documents, after, row_rank, rows.sets())
    # two documents of the reference set may follow one leader; their pair is not wanted
    ends = column(far, "a"), column(far, "b")
    wanted = at_least(far, criterion) & (ends[1] >= first_new) & rows.related.may_pair(*ends)
    found = far.filter(pa.array(wanted))
    groups = replace(groups, pairs=together(room, groups.pairs, found))
    of_pairs = only_pairs(shingles, groups.pairs) if isinstance(groups.pairs, pa.Table) else None
    return _Decided(decisions, groups, documents, after, of_pairs, applied)


def _pairs_needed(pairs: Pairs, heads: Int64s, documents: CopyClasses) -> pa.Table:
    """The pairs that decisions need: all in memory, and of those in a file the ones with representatives."""
    if isinstance(pairs, pa.Table):
        return pairs
    return PairLookup(pairs).at(leader_keys(heads, documents))


def _room(rows: Rows) -> PairRoom:
    return verified_room(rows.settings, rows.corpus.scratch)


def _with_passages(made: _Decided, rows: Rows, stages: Stages) -> Decisions:
    """The decisions with the passages that are lost."""
    if made.decisions.lost is None:
        return made.decisions
    with stages.stage("lost text", None, "documents"):
        return with_passages(made.decisions, made.documents, made.standing, rows)


def _represented(decisions: Decisions, rows: Rows) -> Represented:
    """What the documents that stay represent."""
    sources = rows.settings.keep.sources
    return represented(decisions, rows, rows.extra.get(sources) if sources else None)


def _audit(rows: Rows, evidence: Evidence, groups: Grouped, stages: Stages) -> Audit:
    """Compare some documents with all others, and check the pairs that the run reports for them."""
    joined = np.zeros(len(rows.unique), np.bool_)
    joined[evidence.proposed.hub] = True
    reported = Reported((evidence.pairs, groups.pairs), joined, groups.limited)
    with stages.stage("audit", len(rows.unique), "documents") as advance:
        return audit(rows, reported, advance)


def _missing(rows: Rows, evidence: Evidence, groups: Grouped, stages: Stages) -> Missing | None:
    """The estimate of all missed pairs: those of the search, and those among the documents of the index."""
    if evidence.missing is None:
        return None
    with stages.stage("recall", None, "pairs"):
        plan, index, sketch = evidence.plan, evidence.index, rows.settings.sketch.sketch
        if index is None or evidence.in_buckets is None or not isinstance(plan, Plan):
            return evidence.missing
        asked = (groups.limited, plan, sketch, _room(rows), rows.settings.work.threads)
        among = missing_among(groups.pairs, index, evidence.in_buckets, *asked)
        criterion, threads = criterion_of(rows.settings.search), rows.settings.work.threads
        members = missing_members(groups.pairs, index, groups.limited, criterion, plan, sketch, threads)
        return evidence.missing + among + members


def _far_leaders(rows: Rows, groups: Grouped, heads: Int64s, documents: CopyClasses, stages: Stages) -> pa.Table:
    """The unreported pairs of documents with their leaders: in components, and where people decided.

    Most are below the threshold, connected by a chain. Some are above it: pairs of a crowd that were not needed
    until its leader was known.
    """
    a, b = leader_pairs(heads, documents, groups.pairs)
    if not len(a):
        return VERIFIED.empty_table()
    chained = pa.table([a.astype(np.uint32), b.astype(np.uint32)], schema=CANDIDATES)
    return _counted(rows, chained, MEASURES[rows.settings.search.measure], stages)


def _on_shingles(rows: Rows, pairs: pa.Table, stages: Stages) -> pa.Table:
    """The same pairs counted on the shingle sets: the table itself unless the measure counts other features."""
    if MEASURES[rows.settings.search.measure].of_shingles:
        return pairs
    return _counted(rows, pairs.select(CANDIDATES.names), MEASURES["resemblance"], stages)


def _counted(rows: Rows, pairs: pa.Table, measure: Measure, stages: Stages) -> pa.Table:
    """The VERIFIED table of these pairs at any similarity, counted as the ``measure`` requires."""
    store, criterion = rows.sets(measure.features), every_pair(measure.formula)
    with stages.stage("verify", pairs.num_rows, "pairs") as advance:
        if measure.features == "tokens":
            from neardup.join.common_text import count_common  # other runs need not wait for its kernels

            return count_common(pairs, store, criterion, rows.settings, advance).pairs
        return verify(pairs, store, criterion, rows.settings.work.threads, advance)
