"""The first documents of an input, held in memory, with a record of whether the input was read completely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.display import counted, number
from neardup.io.readers import join_ids
from neardup.io.readers.base import Documents, Problem, ReadRows
from neardup.io.readers.columns import Chosen
from neardup.join.base_documents import BaseDocuments, read_texts
from neardup.join.criterion import Related
from neardup.run.asked_columns import asked_columns, relations_of
from neardup.runtime import Progress
from neardup.settings import Cleaning, Settings
from neardup.sketch.cleaning import cleaned
from neardup.tables import Int64s, one_array
from neardup.text.keys import process_key

MOST_DOCUMENTS = 100_000
MOST_BYTES = {"word": 200_000_000, "char": 40_000_000}
"""Bytes at which the adviser stops, by unit: the exact join needs 16 bytes per shingle (token or character)."""


def _no_texts() -> pa.Array:
    return pa.array([], pa.large_binary())


@dataclass(frozen=True, eq=False)
class SampledTexts:
    """Texts (large_binary[n]) with their display names (string[n]).

    ``columns`` are those that the settings name, ``base`` the base texts (large_binary[m]) that do not count.
    """

    texts: pa.Array
    ids: pa.Array
    complete: bool
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    columns: Mapping[str, pa.Array] = field(default_factory=dict)
    base: pa.Array = field(default_factory=_no_texts)

    @property
    def sizes(self) -> Int64s:
        """The bytes of each text, int64[n]; 0 for a missing one."""
        return _lengths(self.texts)

    def first(self, most_bytes: int) -> SampledTexts:
        """Return the sample of the first texts, of at most ``most_bytes`` bytes together, but at least one."""
        n = max(1, int(np.searchsorted(np.cumsum(self.sizes), most_bytes, side="right")))
        columns = {name: values.slice(0, n) for name, values in self.columns.items()}
        return replace(self, texts=self.texts.slice(0, n), ids=self.ids.slice(0, n), columns=columns)

    def counted(self, settings: Settings) -> tuple[SampledTexts, Settings]:
        """Return the sample without the text that the settings leave out, and settings that leave out no more."""
        made, base = cleaned(self.texts, settings), cleaned(self.base, settings)
        return replace(self, texts=made.texts, base=base.texts), replace(settings, cleaning=Cleaning())

    def related(self, settings: Settings) -> Related:
        """Return which of the documents may be pairs."""
        return relations_of(self.columns, settings, process_key())


def take(
    documents: Documents, columns: Chosen, settings: Settings, base: BaseDocuments | None, progress: Progress
) -> SampledTexts:
    """Read the documents up to the limits of the adviser, and all base texts."""
    extra = asked_columns(settings)
    names = list(dict.fromkeys(name for name in (columns.text, columns.id, *extra) if name))
    texts, ids = [_no_texts()], [pa.array([], pa.large_string())]
    asked: dict[str, list[pa.Array]] = {name: [] for name in extra}
    problems: list[Problem] = []
    room, rows_left, complete = MOST_BYTES[settings.shingles.unit], MOST_DOCUMENTS, True
    with progress.stage("read", documents.size_bytes, "bytes") as advance:
        for chunk in documents.chunks(None, names):
            rows = chunk.read(names)
            problems.extend(rows.problems)
            found = _bytes_of(rows.table.column(columns.text))
            totals = np.cumsum(_lengths(found))
            fits = min(int(np.searchsorted(totals, room, side="right")), rows_left)
            if len(found) and not fits and rows_left == MOST_DOCUMENTS:
                fits = 1  # one huge document is better than an empty sample
            texts.append(found.slice(0, fits))
            ids.append(_names(rows, columns, chunk.source, documents.format == "arrow").slice(0, fits))
            for name in extra:
                asked[name].append(one_array(rows.table.column(name)).slice(0, fits))
            read = int(totals[fits - 1]) if fits else 0
            room, rows_left = room - read, rows_left - fits
            advance(read)
            if fits < len(found):
                complete = False
                break
    together = pa.concat_arrays(ids)
    notes = (*columns.notes, *documents.findings.encoding_notes(), *_repeated(together))
    ignored = pa.concat_arrays([_no_texts(), *(read_texts(base) if base else ())])
    of_columns = {name: one_array(join_ids(arrays)) for name, arrays in asked.items() if arrays}
    return SampledTexts(pa.concat_arrays(texts), together, complete, tuple(problems), notes, of_columns, ignored)


def _names(rows: ReadRows, columns: Chosen, source: str, in_memory: bool) -> pa.Array:
    """Return the ids of the rows; without an id column source#row, or only the row number for data in memory."""
    if columns.id:
        found = pc.fill_null(pc.cast(rows.table.column(columns.id), pa.large_string()), "")
        return _one(found)
    prefix = "" if in_memory else f"{source}#"
    return pa.array([f"{prefix}{row}" for row in rows.row_numbers.tolist()], pa.large_string())


def _repeated(ids: pa.Array) -> tuple[str, ...]:
    again = len(ids) - pc.count_distinct(ids, mode="all").as_py()
    if not again:
        return ()
    return (
        f"{counted(again, 'document has', 'documents have')} an id that another one has, of {number(len(ids))}",
    )


def _bytes_of(column: pa.ChunkedArray) -> pa.Array:
    return _one(column.cast(pa.large_binary()))


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _lengths(texts: pa.Array) -> Int64s:
    lengths: Int64s = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths
