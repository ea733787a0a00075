"""A finished run, or a reviewed result → its folder: kept documents with added columns, tables, ``run.json``."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from msgspec import structs

from neardup.deduplication.run.account import RunCounts, kept_files
from neardup.deduplication.run.by_value import ByValue
from neardup.deduplication.run.fates import FileFates
from neardup.deduplication.run.findings import Found, write_result
from neardup.deduplication.run.pipeline import Meter
from neardup.deduplication.run.places import StoredPlaces, no_places_error, opened_input
from neardup.deduplication.run.records import with_account
from neardup.deduplication.run.review_decisions import ReviewedResult
from neardup.deduplication.run.stages.account import Run, require_most_removed
from neardup.deduplication.run.stages.records import Action
from neardup.deduplication.run.stages.result import Outcome
from neardup.deduplication.run.stored_review import after_review
from neardup.deduplication.run.tables import COUNTED, SOURCES, Represented
from neardup.deduplication.run.texts import InputTexts
from neardup.display import counted
from neardup.errors import InputError, OutputError
from neardup.io.inputs import (
    Capture,
    Chunk,
    Documents,
    NativeRows,
    Problem,
    Removal,
    ReplacesRows,
    as_opened,
    formats_of,
    have_columns,
)
from neardup.io.outputs import (
    ChunkRows,
    KeptLayout,
    OutputFolder,
    WrittenRows,
    check_extra,
    require_room,
    value_folder,
    write_kept,
    writer_threads,
)
from neardup.runtime import Advance, Progress, Silent
from neardup.settings import Keep, Settings
from neardup.tables import TEXTS_FILE, Int64s, column

ANNOTATIONS = ("group", "representative", "similarity")
"""The columns that ``--annotate`` adds."""


REASONS = ("kept_id", "reason")
"""The columns of the removed rows."""
_CAPTURES = 10_000
WITHOUT = pa.array(["without text, and empty is drop"], pa.large_string())

_DEFAULTS = Keep()


class AddedColumns(Protocol):
    """Columns to add to rows."""

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""

    def columns(self, rows: Int64s) -> pa.Table:
        """The columns of ``rows``."""


def added_names(keep: Keep, documents: Documents, *, annotate: bool) -> tuple[str, ...]:
    """The names of the columns that a run adds to its kept rows.

    Text files have no place for counts; groups.parquet has them for every format.
    """
    has_counts = keep.count and have_columns(documents)
    counted = (*COUNTED, *((SOURCES,) if keep.sources else ())) if has_counts else ()
    return (*(ANNOTATIONS if annotate else ()), *counted)


def added_to(run: Run, documents: Documents, *, annotate: bool) -> AddedColumns | None:
    """The columns that a run adds to its kept rows, or None."""
    added: list[AddedColumns] = [Annotations(run)] if annotate else []
    if run.represented is not None and have_columns(documents):
        added.append(_Flat(run.represented) if "csv" in formats_of(documents) else run.represented)
    return _Together(added) if added else None


class Annotations:
    """The columns group, representative, similarity; null outside groups."""

    def __init__(self, run: Run) -> None:
        decisions = run.decisions
        self._ids = run.judged_rows.ids
        self._at = np.full(len(run.rows), -1, np.int64)
        self._at[decisions.rows] = np.arange(len(decisions.rows))
        self._decisions = decisions
        group = self._ids.of(np.empty(0, np.int64)).type
        self.schema = pa.schema(zip(ANNOTATIONS, (group, pa.bool_(), pa.float64()), strict=True))

    def columns(self, rows: Int64s) -> pa.Table:
        """The added columns of ``rows``."""
        places = self._at[rows]
        member = places >= 0
        index = pa.array(places, mask=~member)
        group = self._ids.of(self._decisions.representative_row[places[member]])
        place = pa.array(np.cumsum(member) - 1, mask=~member)
        columns = [
            group.take(place),
            pa.array(self._decisions.is_representative).take(index),
            pa.array(self._decisions.similarity).take(index),
        ]
        return pa.table(columns, schema=self.schema)


class Reasons:
    """The columns kept_id and reason of the rows that go."""

    def __init__(self, run: Run) -> None:
        self._ids = run.judged_rows.ids
        self.heads = np.full(len(run.rows), -1, np.int64)
        self.heads[run.decisions.rows] = run.decisions.representative_row
        self._member = np.full(len(run.rows), len(run.decisions.rows), np.int64)
        self._member[run.decisions.rows] = np.arange(len(run.decisions.rows))
        reasons = run.members.table["reason"].cast(pa.large_string())
        self._reasons = pa.concat_arrays([*reasons.chunks, WITHOUT])
        kept = self._ids.of(np.empty(0, np.int64)).type
        self.schema = pa.schema(zip(REASONS, (kept, pa.large_string()), strict=True))

    def columns(self, rows: Int64s) -> pa.Table:
        """The columns of ``rows``; rows without text have no kept_id."""
        heads = self.heads[rows]
        member = heads >= 0
        kept = self._ids.of(heads[member]).take(pa.array(np.cumsum(member) - 1, mask=~member))
        return pa.table([kept, self._reasons.take(pa.array(self._member[rows]))], schema=self.schema)


class Revisits:
    """Why rows of web archives go: the records in the place of removed ones name those that stay."""

    def __init__(self, run: Run) -> None:
        self._corpus, self._part = run.rows.corpus, run.rows.new_part
        self._reasons = Reasons(run)
        self._firsts = np.array([piece.first for piece in self._corpus.pieces], np.int64)
        documents: Any = self._corpus.parts[self._part].documents
        self._rows: dict[int, dict[int, int]] = {}
        for piece in self._corpus.pieces:
            if piece.part == self._part:
                rows = range(piece.first, piece.first + piece.count)
                of_file = self._rows.setdefault(documents.names.index(piece.source), {})
                of_file.update(zip(piece.row_numbers.tolist(), rows, strict=True))
        self._capture = lru_cache(maxsize=_CAPTURES)(self._capture_of)

    def __call__(self, position: int, number: int) -> Removal:
        """Return why the record of a number in the file at a position goes."""
        row = self._rows[position][number]
        head = int(self._reasons.heads[row])
        reason = self._reasons.columns(np.array([row]))["reason"][0].as_py()
        return Removal(None if head < 0 else self._capture(head), reason)

    def _capture_of(self, row: int) -> Capture | None:
        piece = self._corpus.pieces[int(np.searchsorted(self._firsts, row, side="right")) - 1]
        documents = as_opened(self._corpus.parts[piece.part].documents)
        if not hasattr(documents, "capture"):
            return None
        captured: Capture | None = documents.capture(piece.source, int(piece.row_numbers[row - piece.first]))
        return captured


class _Flat:
    """The counts with the list of sources as JSON, for formats without lists."""

    def __init__(self, counted: Represented) -> None:
        self._counted = counted
        self.schema = flat_schema(counted.schema)

    def columns(self, rows: Int64s) -> pa.Table:
        return flat(self._counted.columns(rows))


def flat_schema(counted: pa.Schema) -> pa.Schema:
    """The schema of counts with the list of sources as JSON."""
    return pa.schema([pa.field(field.name, pa.string()) if field.name == SOURCES else field for field in counted])


def flat(counted: pa.Table) -> pa.Table:
    """The counts with the list of sources as JSON."""
    if SOURCES not in counted.column_names:
        return counted
    lists = counted[SOURCES].to_pylist()
    lists_as_json = [None if one is None else json.dumps(one, ensure_ascii=False) for one in lists]
    return counted.set_column(len(COUNTED), SOURCES, pa.array(lists_as_json, pa.string()))


class _Together:
    """The columns of several, side by side."""

    def __init__(self, parts: Sequence[AddedColumns]) -> None:
        self._parts = parts
        self.schema = pa.schema([field for part in parts for field in part.schema])

    def columns(self, rows: Int64s) -> pa.Table:
        arrays = [column for part in self._parts for column in part.columns(rows).columns]
        return pa.table(arrays, schema=self.schema)


def check_before(
    documents: Documents,
    out: Path,
    action: Action,
    keep: Keep = _DEFAULTS,
    *,
    removed: bool = False,
    revisits: bool = False,
    file_size: int = 0,
) -> None:
    """Raise OutputError for faults that are known before the work: columns that clash, a disk that is too full.

    ``removed`` rows and ``revisits`` are written as well, into files of ``file_size`` if it is not 0.

    The rows written take at most as much space as the input. Half of that must be free for ``dedup``, which rarely
    keeps less, and all of it for ``annotate``.
    """
    if action in ("dedup", "annotate"):
        names = added_names(keep, documents, annotate=action == "annotate")
        if names:
            check_extra(documents, names)
        if removed and have_columns(documents):
            check_extra(documents, REASONS)
        if revisits and not isinstance(documents, ReplacesRows):
            raise OutputError(
                f"--revisits: the input is {', '.join(sorted(formats_of(documents)))}",
                "Web archives, whose records have addresses and dates",
                "Leave it out",
            )
        KeptLayout.of(documents, file_size)
        require_room(out, (documents.size_bytes or 0) // (1 if action == "annotate" else 2))


def save(outcome: Outcome, out: Path, *, action: Action, overwrite: bool = False) -> Found:
    """Write the folder ``out`` atomically; see :func:`fill`. Raises OutputError as well."""
    with OutputFolder(out, overwrite=overwrite) as folder:
        return fill(outcome, folder, action)


@dataclass(frozen=True)
class RowFiles:
    """The files of the rows that a run writes.

    The kept rows are in one file for each data file of the input, or in files of about ``file_size`` bytes; with
    ``by`` in folders of the values of a column, unless several files of the input have their own. The ``removed``
    rows are in files of their own, with their reasons. ``revisits`` replace removed records of web archives.
    """

    file_size: int = 0
    by: ByValue | None = None
    removed: bool = False
    revisits: bool = False


DEFAULT_FILES = RowFiles()


def _silent(_: int) -> None:
    """Report no progress: the rows were counted before."""


def fill(
    outcome: Outcome,
    folder: OutputFolder,
    action: Action,
    progress: Progress | None = None,
    *,
    store_texts: bool = True,
    files: RowFiles = DEFAULT_FILES,
) -> Found:
    """Write everything into an open folder, and return the result as written.

    ``dedup`` writes the rows that stay; ``annotate`` writes all rows with the columns group, representative and
    similarity; ``group`` writes only the tables. The setting ``count`` adds columns to the rows. Rows that were
    judged by their text but cannot be written, because another of their columns is damaged, become problems of the
    result. The rows are written into ``files``. Raises InputError if the input has changed.
    """
    by = files.by
    result, run = outcome.found, outcome.run
    meter = Meter(progress or Silent(), dict(result.run.seconds))
    if action == "dedup":
        require_most_removed(result.run)
    if action in ("dedup", "annotate"):
        rows = _RunRows(outcome, annotate=action == "annotate", files=files)
        with meter.stage("write", len(run.rows), "rows") as advance:
            texts_of = _texts_of(result) if store_texts and not folder.rows_only else None
            if texts_of is None:
                written = rows.write(folder, advance)
            else:
                with folder.texts(TEXTS_FILE) as texts:
                    rows.beside = lambda chunk, native: texts.add(texts_of(chunk, native))
                    written = rows.write(folder, advance)
                store_texts = False
            if files.removed:
                others = _RunRows(outcome, annotate=False, files=RowFiles(files.file_size), removed=True)
                others.write(folder, _silent)
        result = _without(with_account(result, kept_files=kept_files(written)), rows.problems, rows.lost)
    if by is not None:
        result = with_account(result, by=by.account())
        folder.write_table("by.parquet", by.counts)
    result = with_account(result, seconds=meter.seconds)
    return write_result(result, folder, store_texts=store_texts, measured=True)


def _texts_of(result: Found) -> Callable[[Chunk, NativeRows], pa.Table] | None:
    """Return what makes the stored texts from the rows as they are written; None if they are read apart."""
    return (
        result.texts.maker_of_texts(column(result.ranks, "row")) if isinstance(result.texts, InputTexts) else None
    )


def _without(result: Found, problems: Sequence[Problem], lost: int) -> Found:
    """Add the rows that could not be written to the problems of the result; ``lost`` of them would have stayed."""
    if not problems:
        return result
    counts = result.run.counts
    warning = (
        f"{counted(lost, 'document')} of those kept could not be written: a column that was not judged "
        "is damaged; problems.jsonl says where"
    )
    counts = structs.replace(counts, rejected=counts.rejected + len(problems), kept=counts.kept - lost)
    accounted = with_account(result, counts=counts, warnings=[*result.run.warnings, warning])
    return replace(accounted, problems=(*result.problems, *problems))


class _RunRows:
    """The rows of a run, chunk by chunk: which of them stay, with their columns.

    ``problems`` are those of rows that were judged but cannot be written, and ``lost`` is the number of these rows
    that would have stayed. ``beside`` is called with the rows of each chunk, once.
    """

    def __init__(self, outcome: Outcome, *, annotate: bool, files: RowFiles, removed: bool = False) -> None:
        self._outcome, self._run, self._by = outcome, outcome.run, files.by
        self._size, self._name = files.file_size, "removed" if removed else "kept"
        corpus = self._run.rows.corpus
        self._part = self._run.rows.new_part
        self._documents = as_opened(corpus.parts[self._part].documents)
        self._pieces = {piece.chunk: piece for piece in corpus.pieces if piece.part == self._part}
        self._stays = np.full(len(self._run.rows), not removed)
        self._stays[self._run.decisions.gone] = annotate or removed
        self._added = added_to(self._run, self._documents, annotate=annotate)
        if removed:
            self._added = Reasons(self._run) if have_columns(self._documents) else None
        if isinstance(self._documents, ReplacesRows):
            self._documents.removals = Revisits(self._run) if files.revisits else None
        self._seen: set[int] = set()
        self.beside: Callable[[Chunk, NativeRows], None] = lambda chunk, native: None
        self.problems: list[Problem] = []
        self.lost = 0

    def write(self, folder: OutputFolder, advance: Advance) -> dict[str, Any]:
        """Write the chosen rows into an open folder; return the files."""
        by, settings = self._by, self._run.settings
        folders = () if by is None else [value_folder(by.column, value) for value in by.values]
        return write_kept(
            folder,
            self._documents,
            self._of,
            writer_threads(settings.work.threads, settings.search.room),
            advance,
            extra=self._added.schema if self._added else None,
            judged=self._pieces.keys(),
            layout=replace(KeptLayout.of(self._documents, self._size, folders), name=self._name),
        ).files

    def _of(self, chunk: Chunk, native: NativeRows) -> ChunkRows:
        # a column that the first pass did not read may be damaged: its rows are missing in ``native``
        piece = self._pieces[chunk.index]
        present = np.isin(piece.row_numbers, native.row_numbers)
        if int(present.sum()) != len(native.row_numbers):
            raise InputError(
                f"{piece.source} changed while it was read",
                "Inputs that do not change during a run",
                "Start again when nothing writes to it",
            )
        every = np.arange(piece.first, piece.first + piece.count)
        if chunk.index not in self._seen:  # rows in folders of many values are read several times
            self._seen.add(chunk.index)
            self.problems += [problem for problem in native.problems if problem not in self._known]
            self.lost += int(self._stays[every[~present]].sum())
            self.beside(chunk, native)
        rows = every[present]
        extra = self._added.columns(rows) if self._added else None
        return ChunkRows(self._stays[rows], extra, self._by.of(rows) if self._by else None)

    @cached_property
    def _known(self) -> frozenset[Problem]:
        """The problems of the first pass."""
        left_aside = (problem for of, problem in self._run.rows.left_aside if of == self._part)
        return frozenset((*self._outcome.found.problems, *left_aside))


def final_result(record: Found, given: ReviewedResult) -> Found:
    """Return a loaded result as the decisions leave it. Raises InputError."""
    result = after_review(record, given)
    if result.run.settings["count"]:
        note = "the kept documents have no columns of --count: groups.parquet has them"
        result = with_account(result, notes=[*result.run.notes, note])
    return result


def fill_final(
    record: Found,
    given: ReviewedResult,
    folder: OutputFolder,
    progress: Progress | None = None,
    moved: Sequence[str] = (),
) -> Found:
    """Write the documents that stay and the tables into an open folder, and return the result as written.

    The documents are read from their recorded files, or from files and folders that have ``moved``.
    Raises InputError if the input is not the recorded one, has changed, or was in memory.
    """
    result = final_result(record, given)
    places = record.places
    if not isinstance(places, StoredPlaces):
        raise no_places_error()
    meter = Meter(progress or Silent())
    documents = opened_input(places.inputs(moved), record)
    files = {number: name for number, name in places.names() if not places.file(number).reference}
    fates = FileFates(result, places, documents, files)

    def rows_of(chunk: Chunk, native: NativeRows) -> ChunkRows:
        return ChunkRows(fates.kept(chunk, native.row_numbers))

    threads = Settings.of(**record.run.settings).work.threads
    with meter.stage("write", record.run.counts.read, "rows") as advance:
        written = write_kept(folder, documents, rows_of, threads, advance)
    _require_counts(written, result.run.counts)
    result = with_account(result, kept_files=kept_files(written.files), seconds=meter.seconds)
    return write_result(result, folder, measured=True)


def _require_counts(written: WrittenRows, counts: RunCounts) -> None:
    """Raise InputError if the rows that were read and removed are not those of the result."""
    removed = written.read - written.kept
    if (written.read, removed) != (counts.read, counts.removed):
        raise InputError(
            f"The input has {written.read:,} documents, {removed:,} of them to remove; "
            f"the result records {counts.read:,} and {counts.removed:,}",
            "The input as the run read it",
            "Make the result again",
        )
