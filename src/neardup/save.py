"""A finished run → its folder: the kept rows in the format of the input, the tables, ``run.json``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.account import Action, Outcome
from neardup.corpus import Piece
from neardup.errors import InputError
from neardup.memory import peak_memory
from neardup.parallel import ordered_map
from neardup.progress import Advance
from neardup.readers.base import Chunk, NativeRows
from neardup.report import write_result
from neardup.results import Ids
from neardup.tables import Bools, Int64s
from neardup.writers import KeptWriter, OutputFolder, open_kept


def save(outcome: Outcome, out: Path, *, action: Action, overwrite: bool = False) -> None:
    """Write the folder ``out`` whole or not at all; see :func:`fill`. Raises OutputError as well."""
    with OutputFolder(out, overwrite=overwrite) as folder:
        fill(outcome, folder, action)


def fill(outcome: Outcome, folder: OutputFolder, action: Action) -> None:
    """Write everything into an open folder.

    ``dedup`` writes the rows that stay, ``annotate`` all rows with the columns group, representative and
    similarity, ``group`` the tables alone. Raises InputError when the input has changed.
    """
    found, stages = outcome.found, outcome.stages
    if action in ("dedup", "annotate"):
        with stages.stage("write", outcome.prints.rows, "rows") as advance:
            _write_rows(outcome, folder, advance, annotate=action == "annotate")
    found.run["peak_memory_bytes"] = peak_memory()
    write_result(found, folder)


def _write_rows(outcome: Outcome, folder: OutputFolder, advance: Advance, *, annotate: bool) -> None:
    part = len(outcome.corpus.parts) - 1
    documents = outcome.corpus.parts[part].documents
    pieces = {piece.chunk: piece for piece in outcome.prints.pieces if piece.part == part}
    stays = np.ones(outcome.prints.rows, np.bool_)
    stays[outcome.decisions.rows[~outcome.decisions.kept]] = annotate
    notes = _Annotations(outcome) if annotate else None
    with open_kept(folder, documents, notes.schema if notes else None) as writer:
        chunks = documents.chunks(pieces.keys(), None)
        threads = outcome.corpus.settings.work.threads
        for index, native in ordered_map(_native, chunks, threads):
            _write_piece(writer, pieces[index], native, stays, notes)
            advance(pieces[index].count)
        writer.close()


def _native(chunk: Chunk) -> tuple[int, NativeRows]:
    return chunk.index, chunk.read_native()


def _write_piece(
    writer: KeptWriter, piece: Piece, native: NativeRows, stays: Bools, notes: _Annotations | None
) -> None:
    # a column that the first pass did not read may be damaged: its rows are missing here
    present = np.isin(piece.row_numbers, native.row_numbers)
    if int(present.sum()) != len(native.row_numbers):
        raise InputError(
            f"{piece.source} has changed while it was read",
            "Inputs must stay as they are during a run",
            "Start again when nothing writes to it",
        )
    rows = np.arange(piece.first, piece.first + piece.count)[present]
    writer.write(native, stays[rows], notes.of(rows) if notes else None)


class _Annotations:
    """The columns that ``--annotate`` adds: group, representative, similarity; null outside of groups."""

    def __init__(self, outcome: Outcome) -> None:
        decisions = outcome.decisions
        self._ids = Ids(outcome.corpus, outcome.prints)
        self._at = np.full(outcome.prints.rows, -1, np.int64)
        self._at[decisions.rows] = np.arange(len(decisions.rows))
        self._decisions = decisions
        group = self._ids.of(np.empty(0, np.int64)).type
        fields = [("group", group), ("representative", pa.bool_()), ("similarity", pa.float64())]
        self.schema = pa.schema(fields)

    def of(self, rows: Int64s) -> pa.Table:
        """The added columns of ``rows``."""
        at = self._at[rows]
        member = at >= 0
        index = pa.array(at, mask=~member)
        group = self._ids.of(self._decisions.representative_row[at[member]])
        place = pa.array(np.cumsum(member) - 1, mask=~member)
        columns = [
            group.take(place),
            pa.array(self._decisions.is_representative).take(index),
            pa.array(self._decisions.similarity).take(index),
        ]
        return pa.table(columns, schema=self.schema)
