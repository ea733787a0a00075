"""A finished run → its folder: the kept rows in the format of the input, the tables, ``run.json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from neardup.display import counted
from neardup.errors import InputError
from neardup.io.readers.base import Documents, NativeRows, Problem
from neardup.io.writers import KeptLayout, KeptWriter, OutputFolder, open_kept, read_native, value_folder
from neardup.io.writers.kept import check_extra
from neardup.io.writers.room import require_room
from neardup.join.corpus import CorpusChunk
from neardup.run.added import AddedColumns, added_names, added_to
from neardup.run.by_value import ByValue
from neardup.run.found import Found, write_result
from neardup.run.pipeline import Meter
from neardup.run.shares import require_most_removed
from neardup.run.stages.records import Action
from neardup.run.stages.result import Outcome
from neardup.runtime import Advance, Progress, Silent, ordered_map, peak_memory
from neardup.settings import Settings
from neardup.tables import Bools

_DEFAULTS = Settings()


def check_before(documents: Documents, out: Path, action: Action, settings: Settings = _DEFAULTS) -> None:
    """Raise OutputError for faults that are known before the work: columns that clash, a disk that is too full.

    The rows written take at most as much space as the input. Half of that must be free for ``dedup``, which rarely
    keeps less, and all of it for ``annotate``.
    """
    if action in ("dedup", "annotate"):
        names = added_names(settings, documents.format, annotate=action == "annotate")
        if names:
            check_extra(documents, names)
        require_room(out, (documents.size_bytes or 0) // (1 if action == "annotate" else 2))


def save(outcome: Outcome, out: Path, *, action: Action, overwrite: bool = False) -> Found:
    """Write the folder ``out`` atomically; see :func:`fill`. Raises OutputError as well."""
    with OutputFolder(out, overwrite=overwrite) as folder:
        return fill(outcome, folder, action)


def fill(
    outcome: Outcome,
    folder: OutputFolder,
    action: Action,
    progress: Progress | None = None,
    *,
    store_texts: bool = False,
    shard_size: int = 0,
    by: ByValue | None = None,
) -> Found:
    """Write everything into an open folder, and return the result as written.

    ``dedup`` writes the rows that stay; ``annotate`` writes all rows with the columns group, representative and
    similarity; ``group`` writes only the tables. The setting ``count`` adds columns to the rows. Rows that were
    judged by their text but cannot be written, because another of their columns is damaged, become problems of the
    result. The kept rows are in one file for each data file of the input, or in files of about ``shard_size``
    bytes; with ``by`` in folders of the values of a column, unless several files of the input have their own.
    Raises InputError if the input has changed.
    """
    found, run = outcome.found, outcome.run
    meter = Meter(progress or Silent(), dict(found.run["seconds"]))
    if action == "dedup":
        require_most_removed(found.run)
    if action in ("dedup", "annotate"):
        with meter.stage("write", len(run.rows), "rows") as advance:
            asked = _Asked(action == "annotate", shard_size, by)
            lost = _write_rows(outcome, folder, advance, asked)
        found = _without(replace(found, run={**found.run, "kept_files": lost.files}), lost)
    if by is not None:
        found = replace(found, run={**found.run, "by": by.account()})
        folder.write_table("by.parquet", by.counts)
    spent = {"seconds": meter.seconds, "peak_memory_bytes": peak_memory()}
    found = replace(found, run={**found.run, **spent})
    write_result(found, folder, store_texts=store_texts)
    return found


def _without(found: Found, lost: Lost) -> Found:
    """Add the rows that could not be written to the problems of the result."""
    if not lost.problems:
        return found
    counts = found.run["counts"]
    rejected, kept = counts["rejected"] + len(lost.problems), counts["kept"] - lost.kept
    warning = (
        f"{counted(lost.kept, 'document')} of those that stay could not be written: a column that was not judged "
        "is damaged; problems.jsonl says where"
    )
    changed = {
        "counts": {**counts, "rejected": rejected, "kept": kept},
        "warnings": [*found.run["warnings"], warning],
    }
    return replace(found, run={**found.run, **changed}, problems=(*found.problems, *lost.problems))


@dataclass
class Lost:
    """Rows that were judged but could not be written: the problems, and how many of the rows would have stayed.

    ``files`` describes the files that were written.
    """

    problems: list[Problem] = field(default_factory=list)
    kept: int = 0
    files: dict[str, Any] = field(default_factory=dict)

    def add_files(self, account: dict[str, Any]) -> None:
        """Add the files of another pass."""
        if self.files:
            account = {**account, **{name: self.files[name] + account[name] for name in ("files", "listed")}}
        self.files = account


@dataclass(frozen=True)
class _Asked:
    """The rows and files asked for: all rows with their groups, files of one size, values with their folders."""

    annotate: bool
    shard_size: int
    by: ByValue | None


def _write_rows(outcome: Outcome, folder: OutputFolder, advance: Advance, asked: _Asked) -> Lost:
    run, by = outcome.run, asked.by
    part, corpus = run.rows.new_part, run.rows.corpus
    documents = corpus.parts[part].documents
    pieces = {piece.chunk: piece for piece in corpus.pieces if piece.part == part}
    stays = np.ones(len(run.rows), np.bool_)
    stays[run.decisions.gone] = asked.annotate
    added = added_to(run, documents.format, annotate=asked.annotate)
    lost, known = Lost(), _Known(outcome, part)
    folders = () if by is None else [value_folder(by.column, value) for value in by.values]
    layout = KeptLayout.of(documents, asked.shard_size, folders)
    threads = run.settings.work.threads
    where = (folder, documents, added.schema if added else None, threads)
    for some in layout.portions:
        with open_kept(*where, judged=True, layout=layout, some=some) as writer:
            for chunk, native in ordered_map(read_native, writer.natives(pieces.keys()), threads):
                piece = pieces[chunk.index]
                problems = known.without(native.problems)
                missing = _write_piece(writer, piece, native, stays, added, by)
                if not some.start:  # the other passes over the input find the same
                    lost.problems += problems
                    lost.kept += missing
                    advance(piece.count)
            writer.close()
        lost.add_files(writer.account())
    return lost


class _Known:
    """The problems of the first pass, looked up when the writing pass finds problems."""

    def __init__(self, outcome: Outcome, part: int) -> None:
        self._outcome, self._part = outcome, part

    def without(self, problems: Sequence[Problem]) -> list[Problem]:
        """The problems that are new."""
        return [problem for problem in problems if problem not in self._all] if problems else []

    @cached_property
    def _all(self) -> frozenset[Problem]:
        left_aside = (problem for of, problem in self._outcome.run.rows.left_aside if of == self._part)
        return frozenset((*self._outcome.found.problems, *left_aside))


def _write_piece(
    writer: KeptWriter,
    piece: CorpusChunk,
    native: NativeRows,
    stays: Bools,
    added: AddedColumns | None,
    by: ByValue | None,
) -> int:
    """Write the rows of a chunk that stay; return how many rows could not be written."""
    # a column that the first pass did not read may be damaged: its rows are missing in ``native``
    present = np.isin(piece.row_numbers, native.row_numbers)
    if int(present.sum()) != len(native.row_numbers):
        raise InputError(
            f"{piece.source} has changed while it was read",
            "Inputs that do not change during a run",
            "Start again when nothing writes to it",
        )
    rows = np.arange(piece.first, piece.first + piece.count)[present]
    writer.write(native, stays[rows], added.columns(rows) if added else None, by.of(rows) if by else None)
    all_rows = np.arange(piece.first, piece.first + piece.count)
    return int(stays[all_rows[~present]].sum())
