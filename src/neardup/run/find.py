"""The batch run: runs the stages in order and keeps the account.

fingerprint → candidates → verify → group → decide → tables; ``save`` writes them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.group.decide import Decisions, classes, decide, leader_pairs, settle
from neardup.group.keep import keep_column, keep_rank, require_order
from neardup.group.leaders import Grouped, group, merged
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.base import Documents
from neardup.io.readers.columns import Chosen, find_column
from neardup.io.writers import access_of
from neardup.join.corpus import Corpus, Fingerprints, Part
from neardup.join.criterion import at_least, criterion_of, every_pair
from neardup.join.method import surely_exact
from neardup.join.search import Evidence, search
from neardup.join.shingle_store import ShingleStore
from neardup.join.verify import verify
from neardup.lsh.bands import plan
from neardup.measures import MEASURES, Measure
from neardup.run.account import Action, Run, Stages, account
from neardup.run.audit.count import Reported
from neardup.run.audit.outcome import Audit, audit
from neardup.run.found import Found
from neardup.run.not_judged import dropped_rows, left_aside_notes, not_judged_table
from neardup.run.tables import Ids, check_ids, copy_table, group_table, pair_table, rank_table, require_ids
from neardup.runtime import Progress, Silent, release_memory
from neardup.settings import Settings
from neardup.tables import CANDIDATES, VERIFIED, Int64s, column


@dataclass(frozen=True)
class Outcome:
    """A finished run: the result for users, and the data for writing the kept rows."""

    found: Found
    run: Run


def find(
    documents: object,
    *,
    text: str | None = None,
    id: str | None = None,
    against: object | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Found:
    """Find near-duplicate documents, prove each pair, and group them.

    ``documents``: a list of str; paths; anything with the Arrow PyCapsule interface (pyarrow, pandas, polars,
    Hugging Face datasets); an iterator of Arrow batches. ``text`` and ``id`` name columns; ``against`` is a
    reference set of the same kinds. ``settings`` are those of :data:`neardup.settings.FIELDS`.

    Raises SettingError for settings out of range, and InputError for input that cannot be used.

    >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
    >>> found = find([text, text + " today", "something else"], threshold=0.8)
    >>> found.pairs.select(["id_a", "id_b", "shared", "size_a", "size_b"]).to_pylist()
    [{'id_a': 0, 'id_b': 1, 'shared': 9, 'size_a': 9, 'size_b': 10}]
    """
    chosen = Settings.of(**settings)
    opened = open_documents(documents, reading=chosen.reading)
    columns = choose_columns(opened, text, id)
    old = None if against is None else open_documents(against, reading=chosen.reading)
    return run(opened, columns, chosen, old, progress or Silent()).found


def run(
    documents: Documents,
    columns: Chosen,
    settings: Settings,
    against: Documents | None,
    progress: Progress,
    action: Action = "find",
) -> Outcome:
    """Find near-duplicates of opened documents; ``action`` is the intended use of the decisions."""
    stages = Stages(progress)
    asked, slots = settings.search, settings.sketch.slots
    bands = None if settings.by_simhash else plan(asked.threshold, asked.recall, slots)
    corpus = Corpus(_parts(documents, columns, settings, against), settings)
    prints = corpus.fingerprint(stages, 0 if bands is None or surely_exact(asked) else slots)
    part, empty = len(corpus.parts) - 1, settings.keep.empty
    noticed = (*left_aside_notes(prints, part), *_read_notes(corpus))
    notes = (*columns.notes, *_settle_ids(corpus, prints, columns), *noticed)
    reference = prints.part_first(part)
    evidence = search(corpus, prints, bands, prints.documents_before(reference), stages)
    row_rank = keep_rank(settings.keep.keep, prints.units, reference, prints.extra)
    decisions, grouped = _decide(corpus, prints, evidence, row_rank, stages)
    if action == "group":
        decisions = decisions.all_kept()
    audited = _audit(corpus, prints, evidence, grouped, stages) if settings.search.audit else None
    release_memory()
    shingles = _on_shingles(corpus, prints, grouped.pairs, stages)
    counted = None if audited is None else _on_shingles(corpus, prints, audited.missed, stages)
    with stages.stage("tables", None, "rows"):
        ids = Ids(corpus, prints)
        measure, names = settings.search.measure, settings.search.in_words
        pairs = pair_table(grouped.pairs, shingles, prints, ids, reference, measure)
        groups = group_table(decisions, prints, ids, reference, names)
        ranks = rank_table(prints, row_rank, grouped.pairs, ids, reference)
        copies = copy_table(prints, ids, reference)
        aside = not_judged_table(prints, part, decisions.dropped, empty, ids)
        missed = None if audited is None else pair_table(audited.missed, counted, prints, ids, reference, measure)
    made = Run(corpus, prints, evidence, grouped, decisions, stages, pairs.num_rows, aside, audited)
    told = account(action, made, ids, notes)
    problems, access = prints.problems, access_of(documents, against)
    found = Found(pairs, groups, copies, told, problems, missed, ranks, aside, access)
    return Outcome(found, made)


def _read_notes(corpus: Corpus) -> list[str]:
    """Notes available after reading everything; for a reference input also the notes from before reading."""
    *references, new = (part.documents.findings for part in corpus.parts)
    told = [note for old in references for note in (*old.notes, *old.encoding_notes())]
    return [*new.encoding_notes(), *(f"--against: {note}" for note in told)]


def _parts(documents: Documents, columns: Chosen, settings: Settings, against: Documents | None) -> list[Part]:
    extra = keep_column(settings.keep.keep)
    if extra is not None:
        find_column(documents, extra, "--keep")
        schema: pa.Schema | None = getattr(documents, "schema", None)
        if schema is not None and extra in schema.names:
            require_order(settings.keep.keep, schema.field(extra).type)
    new = Part(documents, columns.text, columns.id, extra)
    if against is None:
        return [new]
    # a reference set is usually an earlier result: use the same columns, unless it lacks them
    names = {column.name for column in against.columns}
    same_text = columns.text if columns.text in names else None
    same_id = columns.id if columns.id in names else None
    old = choose_columns(against, same_text, same_id)
    return [Part(against, old.text, old.id), new]


def _settle_ids(corpus: Corpus, prints: Fingerprints, columns: Chosen) -> list[str]:
    """Refuse a chosen id column that does not name every row once; drop a guessed one; return notes on that."""
    notes = []
    for number, part in enumerate(corpus.parts):
        if part.id is None:
            continue
        fault = check_ids(prints, number, part.id)
        guessed = part is not corpus.parts[-1] or columns.id_guessed
        if fault and not guessed:
            require_ids(fault)
        if fault:
            corpus.parts[number] = Part(part.documents, part.text, None, part.extra)
            notes.append(f"{fault}; rows are named by source and row number instead")
    return notes


def _decide(
    corpus: Corpus, prints: Fingerprints, evidence: Evidence, row_rank: Int64s, stages: Stages
) -> tuple[Decisions, Grouped]:
    """The decisions about rows, and the groups they follow from."""
    settings = corpus.settings
    reference_rows = prints.part_first(len(corpus.parts) - 1)
    with stages.stage("group", None, "documents"):
        documents = classes(prints, row_rank)
        reference = prints.documents_before(reference_rows)
        grouped = group(evidence.pairs, evidence.hubs, documents.rank, reference, settings)
    far = _far_leaders(corpus, prints, grouped, stages)
    scored = merged(grouped.pairs, far)
    measure, least_contained = MEASURES[settings.search.measure], settings.keep.only_contained
    decisions = decide(prints, documents, row_rank, grouped.leader, scored, measure.formula)
    shingles = _on_shingles(corpus, prints, scored, stages) if least_contained > 0 else scored
    decisions = settle(decisions, documents, shingles, prints.attachments, least_contained, reference_rows)
    decisions = replace(decisions, dropped=dropped_rows(prints, reference_rows, settings.keep.empty))
    # two documents of the reference set may follow one leader; their pair is not wanted
    wanted = at_least(far, criterion_of(settings.search)) & (column(far, "b") >= reference)
    found = far.filter(pa.array(wanted))
    return decisions, replace(grouped, pairs=merged(grouped.pairs, found))


def _audit(corpus: Corpus, prints: Fingerprints, evidence: Evidence, grouped: Grouped, stages: Stages) -> Audit:
    """Compare some documents with all others, and check the pairs that the run reports for them."""
    joined = np.zeros(len(prints.unique), np.bool_)
    joined[evidence.proposed.hub] = True
    reported = Reported((evidence.pairs, grouped.pairs), joined, grouped.limited)
    with stages.stage("audit", len(prints.unique), "documents") as advance:
        return audit(corpus, prints, reported, advance)


def _far_leaders(corpus: Corpus, prints: Fingerprints, grouped: Grouped, stages: Stages) -> pa.Table:
    """The unreported pairs of documents with their leaders, which occur in components.

    Most are below the threshold, connected by a chain. Some are above it: pairs of a crowd that were not needed
    until its leader was known.
    """
    a, b = leader_pairs(grouped.leader, grouped.pairs)
    if not len(a):
        return VERIFIED.empty_table()
    chained = pa.table([a.astype(np.uint32), b.astype(np.uint32)], schema=CANDIDATES)
    measure = MEASURES[corpus.settings.search.measure]
    return _counted(corpus, prints, chained, measure, stages)


def _on_shingles(corpus: Corpus, prints: Fingerprints, pairs: pa.Table, stages: Stages) -> pa.Table:
    """The same pairs counted on the shingle sets: the table itself unless the measure counts other features."""
    if MEASURES[corpus.settings.search.measure].features == "shingles":
        return pairs
    return _counted(corpus, prints, pairs.select(CANDIDATES.names), MEASURES["resemblance"], stages)


def _counted(corpus: Corpus, prints: Fingerprints, pairs: pa.Table, measure: Measure, stages: Stages) -> pa.Table:
    """The VERIFIED table of these pairs at any similarity, counted as the ``measure`` requires."""
    store, criterion = ShingleStore(corpus, prints, measure.features), every_pair(measure.formula)
    with stages.stage("verify", pairs.num_rows, "pairs") as advance:
        if measure.features == "tokens":
            from neardup.join.common_text import count_common  # other runs need not wait for its kernels

            return count_common(pairs, store, criterion, corpus.settings, advance).pairs
        return verify(pairs, store, criterion, corpus.settings.work.threads, advance)
