"""The first stages: the inputs are read once, and the base text is left out."""

from __future__ import annotations

from dataclasses import replace

from neardup.group.keep import never_listed
from neardup.join.base_documents import ReadBase, read_base
from neardup.join.corpus import Corpus
from neardup.join.first_pass import fingerprint
from neardup.join.method import surely_exact
from neardup.join.rows import Rows, Sketches
from neardup.lsh.bands import plan
from neardup.run.asked_columns import parts_of, related_notes
from neardup.run.not_judged import left_aside_notes
from neardup.run.pipeline import Meter
from neardup.run.stages.records import Bands, CommonText, Inputs, LearnedSets, Notes
from neardup.run.tables import check_ids, require_ids


def bands(inputs: Inputs) -> Bands:
    """Choose the bands in which similar documents meet."""
    settings = inputs.settings
    if settings.by_simhash:
        return Bands(None)
    return Bands(plan(settings.search.threshold, settings.search.recall, settings.sketch.slots))


def corpus(inputs: Inputs) -> Corpus:
    """Name the columns to read from each input, and choose the key of the hashes."""
    settings = inputs.settings
    return Corpus.of(parts_of(inputs.documents, inputs.columns, settings, inputs.against), settings)


def base_text(inputs: Inputs, corpus: Corpus, meter: Meter) -> tuple[Corpus, ReadBase]:
    """Read the text that does not count."""
    assert inputs.ignore is not None
    read = read_base(inputs.ignore, corpus.settings, corpus.key, meter)
    return replace(corpus, base=read.base if len(read.base) else None), read


def first_pass(corpus: Corpus, bands: Bands, meter: Meter) -> tuple[Rows, Sketches]:
    """Read every text: its tokens, shingles and signature, and the rows that are exact copies."""
    settings, slots = corpus.settings, corpus.settings.sketch.slots
    unsigned = bands.plan is None or surely_exact(settings.search)
    return fingerprint(corpus, 0 if unsigned else slots, meter, bands.plan)


def common_text(rows: Rows, sketches: Sketches, meter: Meter) -> tuple[Rows, Sketches, CommonText, LearnedSets]:
    """Learn the shingles that many documents have, and leave them out."""
    from neardup.join.common_shingles import leave_out_common  # other runs need none of it

    rows, sketches, learned = leave_out_common(rows, sketches, meter)
    return rows, sketches, CommonText(learned.table, learned.different), LearnedSets(learned.sets)


def names(inputs: Inputs, rows: Rows) -> tuple[Rows, Notes]:
    """Refuse a chosen id column that does not name every row once; drop a guessed one, and note that."""
    against, columns = inputs.against, inputs.columns
    guesses = (*(() if against is None else (against.columns.id_guessed,)), columns.id_guessed)
    faults, unnamed = [], set()
    for number, part in enumerate(rows.corpus.parts):
        if part.id is None:
            continue
        fault = check_ids(rows, number, part.id)
        if fault and not guesses[number]:
            require_ids(fault)
        if fault:
            unnamed.add(number)
            faults.append(f"{fault}; rows are named by source and row number instead")
    unlisted = never_listed(rows.settings.keep.keep, rows.extra)
    notes = (*columns.notes, *faults, *left_aside_notes(rows), *_read_notes(rows), *unlisted, *related_notes(rows))
    return rows.unnamed(unnamed), Notes(notes)


def _read_notes(rows: Rows) -> list[str]:
    """Notes available after reading everything; for a reference input also the notes from before reading."""
    *references, new = (part.documents.findings for part in rows.corpus.parts)
    before = [note for old in references for note in (*old.notes, *old.encoding_notes())]
    return [*new.encoding_notes(), *(f"--against: {note}" for note in before)]
