"""The stages from the inputs to proved pairs, and the estimate of those that were missed."""

from dataclasses import replace

import numpy as np

from neardup.deduplication.group.leaders import Grouped, GroupRules
from neardup.deduplication.group.rows import CopyClasses, Ids, never_listed
from neardup.deduplication.join.base_documents import ReadBase, read_base
from neardup.deduplication.join.common_shingles import leave_out_common
from neardup.deduplication.join.corpus import Corpus
from neardup.deduplication.join.first_pass import LOOKED_AT, fingerprint
from neardup.deduplication.join.method import surely_exact
from neardup.deduplication.join.misses import missing_among, missing_members
from neardup.deduplication.join.pairs import PairRoom
from neardup.deduplication.join.rows import Rows, Sketches
from neardup.deduplication.join.search import ExactJoin, FoundPairs, HeldSets, Proposal, Search, SearchOutcome
from neardup.deduplication.join.search import propose as proposed
from neardup.deduplication.run.asked_columns import parts_of, related_notes
from neardup.deduplication.run.exclusions import left_aside_notes
from neardup.deduplication.run.pipeline import Meter
from neardup.deduplication.run.recall import Audit, Reported
from neardup.deduplication.run.recall import audit as audited
from neardup.deduplication.run.stages.records import (
    BandPlan,
    CommonShingles,
    Inputs,
    LearnedSets,
    MissingPairs,
    Notes,
)
from neardup.display import counted
from neardup.errors import InputError
from neardup.io.inputs import NAMED_BY_ROW, fault_of_ids
from neardup.settings import Keep, Relations, SearchSettings, Sketch
from neardup.text.lsh.bands import Plan, nearest_plan, plan


def bands(search: SearchSettings, sketch: Sketch) -> BandPlan:
    """Choose the bands in which similar documents meet."""
    if sketch.sketch == "simhash":
        return BandPlan(None)
    cut = plan if search.method == "lsh" else nearest_plan  # a run that may join exactly needs none
    return BandPlan(cut(search.threshold, search.recall, sketch.slots))


def corpus(inputs: Inputs, keep: Keep, relations: Relations) -> Corpus:
    """Name the columns to read from each input, and choose the key of the hashes."""
    parts = parts_of(inputs.documents, inputs.columns, keep, relations, inputs.against)
    return Corpus.of(parts, inputs.settings, empty_alike=keep.empty == "one")


def base_text(inputs: Inputs, corpus: Corpus, meter: Meter) -> tuple[Corpus, ReadBase]:
    """Read the text that does not count."""
    assert inputs.ignore is not None
    read = read_base(inputs.ignore, corpus.settings, corpus.key, meter)
    return replace(corpus, base=read.base if len(read.base) else None), read


def first_pass(corpus: Corpus, bands: BandPlan, meter: Meter) -> tuple[Rows, Sketches]:
    """Read every text: its tokens, shingles and signature, and the rows that are exact copies."""
    settings, slots = corpus.settings, corpus.settings.sketch.slots
    unsigned = bands.plan is None or surely_exact(settings.search)
    return fingerprint(corpus, 0 if unsigned else slots, meter, bands.plan)


def common_text(
    rows: Rows, sketches: Sketches, meter: Meter
) -> tuple[Rows, Sketches, CommonShingles, LearnedSets]:
    """Learn the shingles that many documents have, and leave them out."""
    rows, sketches, learned = leave_out_common(rows, sketches, meter)
    return rows, sketches, CommonShingles(learned.table, learned.different), LearnedSets(learned.sets)


def names(inputs: Inputs, rows: Rows, keep: Keep, relations: Relations) -> tuple[Rows, Notes]:
    """Refuse a chosen id column that does not name every row once; drop a guessed one, and note that."""
    against, columns = inputs.against, inputs.columns
    guesses = (*(() if against is None else (against.columns.id_guessed,)), columns.id_guessed)
    faults, unnamed = [], set()
    for number, part in enumerate(rows.corpus.parts):
        if part.id is None:
            continue
        fault = fault_of_ids(rows.ids[number], part.id, limited=rows.settings.search.limit is not None)
        if fault and not guesses[number]:
            raise InputError(
                fault[0].upper() + fault[1:],
                "Ids that each name one document",
                "Choose another column with --id (id= in Python), or none: rows are then named source#row",
            )
        if fault:
            unnamed.add(number)
            faults.append(f"{fault}; {NAMED_BY_ROW}")
    unlisted = never_listed(keep.keep, rows.extra)
    notes = (
        *columns.notes,
        *faults,
        *left_aside_notes(rows),
        *_scan_notes(rows),
        *_read_notes(rows),
        *unlisted,
        *related_notes(rows, relations),
    )
    return rows.with_numbers_as_names(unnamed), Notes(notes)


def _scan_notes(rows: Rows) -> list[str]:
    """A note on texts that look like the output of OCR, whose copies share few runs of words."""
    if not len(rows.scans):
        return []
    looked_at = sum(min(LOOKED_AT, piece.count) for piece in rows.corpus.pieces if piece.part == rows.new_part)
    example = Ids.of_run(rows).text(rows.scans[:1])[0].as_py()
    return [
        f"{counted(len(rows.scans), 'text')} of {looked_at:,} looked at may be scans with errors of OCR, such as "
        f"{example}; --unit char finds their near copies by runs of characters"
    ]


def _read_notes(rows: Rows) -> list[str]:
    """Notes available after reading everything; for a reference input also the notes from before reading."""
    *references, new = (part.documents.findings for part in rows.corpus.parts)
    before = [note for old in references for note in (*old.notes, *old.reading_notes())]
    return [*new.reading_notes(), *(f"--against: {note}" for note in before)]


def propose(rows: Rows, sketches: Sketches, bands: BandPlan, meter: Meter) -> tuple[Search, Proposal]:
    """Choose the search, and propose pairs."""
    return proposed(rows, sketches, bands.plan, meter)


def prove(
    rows: Rows,
    search: Search,
    proposal: Proposal,
    documents: CopyClasses,
    rules: GroupRules,
    settings: SearchSettings,
    meter: Meter,
) -> tuple[FoundPairs, ExactJoin, HeldSets, SearchOutcome]:
    """Count the common shingles of each proposed pair, and of those that chains of pairs connect."""
    with_leaders = rules.grouping.groups == "principal" and rules.grouping.pairs == "needed" and not settings.audit
    return search.prove(rows, proposal, meter, documents.rank if with_leaders else None)


def audit(
    rows: Rows,
    found_pairs: FoundPairs,
    outcome: SearchOutcome,
    groups: Grouped,
    search: SearchSettings,
    meter: Meter,
) -> Audit:
    """Compare some documents with all others, and check the pairs that the run reports for them."""
    joined = np.zeros(len(rows.unique), np.bool_)
    joined[outcome.hub] = True
    reported = Reported((found_pairs.pairs, groups.pairs), joined, groups.limited)
    with meter.stage("audit", len(rows.unique), "documents") as advance:
        return audited(rows, reported, search, advance)


def missing_pairs(
    exact: ExactJoin,
    outcome: SearchOutcome,
    groups: Grouped,
    rules: GroupRules,
    sketch: Sketch,
    room: PairRoom,
    meter: Meter,
) -> MissingPairs:
    """Estimate the pairs that the search missed, also among the documents that were joined exactly."""
    if outcome.missing is None:
        return MissingPairs(None)
    plan, family, threads = outcome.plan, sketch.sketch, rules.threads
    with meter.stage("recall", None, "pairs"):
        if exact.index is None or outcome.in_buckets is None or not isinstance(plan, Plan):
            return MissingPairs(outcome.missing)
        limited, pairs = groups.limited, groups.pairs
        among = missing_among(pairs, exact.index, outcome.in_buckets, limited, plan, family, room, threads)
        members = missing_members(pairs, exact.index, limited, rules.criterion, plan, family, threads)
        return MissingPairs(outcome.missing + among + members)
