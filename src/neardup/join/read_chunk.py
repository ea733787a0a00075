"""One chunk, read and fingerprinted; as a table, to keep it until a run has ended, and back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from neardup.io.fingerprints.layout import (
    chunk_of,
    further_columns,
    matrix_columns,
    matrix_of,
    numbers,
    row_columns,
    sketch_columns,
)
from neardup.io.fingerprints.records import SavedChunk
from neardup.io.readers.base import Problem
from neardup.io.readers.problems import LineProblems
from neardup.join.band_keys import keys_of
from neardup.join.corpus import one_array
from neardup.lsh.bands import Plan
from neardup.sketch.documents import ShingleSets
from neardup.tables import Int64s, UInt64s

_LEFT, _BAND, _SETS = "left", "band", "sets"


class _About(msgspec.Struct, forbid_unknown_fields=True):
    """A chunk beside its columns; ``memory`` is what its reader remembers of its files."""

    part: int
    index: int
    source: str
    invalid: int
    nulls: int
    problems: tuple[Problem, ...]
    memory: str | None
    cleaned: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class ReadChunk(SavedChunk):
    """One chunk, read and fingerprinted: the ``part`` of the input that it is of, and further values for a run.

    ``left`` are the counts without base text, int64[rows, 3]. ``bands`` are the keys of the bands,
    uint64[bands, rows], if they are wanted instead of signatures, and ``sets`` the feature sets of all rows.
    """

    part: int
    left: Int64s | None = None
    sets: ShingleSets | None = None
    bands: UInt64s | None = None

    @classmethod
    def of(cls, chunk: SavedChunk, part: int, **more: Any) -> ReadChunk:
        """The saved chunk as one of a ``part`` of the input."""
        return cls(**vars(chunk), part=part, **more)

    @property
    def bytes_read(self) -> int:
        """The size of the texts."""
        return int(self.bytes.sum())

    def with_bands(self, plan: Plan) -> ReadChunk:
        """The same with the keys of the bands of ``plan`` instead of signatures."""
        return replace(self, signatures=self.signatures[:, :0], bands=keys_of(self.signatures, plan))


def table_of(read: ReadChunk, memory: str | None = None) -> pa.Table | None:
    """The fingerprints of a chunk, and what its reader remembers; None for one with rejected lines."""
    if isinstance(read.problems, LineProblems) and len(read.problems):
        return None  # there may be as many as lines
    columns = row_columns(read) | sketch_columns(read) | further_columns(read)
    if read.left is not None:
        columns |= matrix_columns(_LEFT, read.left)
    if read.bands is not None:
        columns |= matrix_columns(_BAND, read.bands.T)
    if read.sets is not None:
        columns[_SETS] = pa.LargeListArray.from_arrays(read.sets.offsets, read.sets.hashes)
    told = (read.part, read.index, read.source, read.invalid, read.nulls)
    about = _About(*told, tuple(read.problems), memory, tuple(read.cleaned.ravel().tolist()))
    return pa.table(columns).replace_schema_metadata({"chunk": msgspec.json.encode(about)})


def read_chunk_of(table: pa.Table) -> tuple[ReadChunk, str | None]:
    """The fingerprints in a table that ``table_of`` has made, and the memory of the reader."""
    about = msgspec.json.decode(table.schema.metadata[b"chunk"], type=_About)
    columns = {name: one_array(table[name]) for name in table.column_names}
    left, bands = matrix_of(columns, _LEFT, np.int64), matrix_of(columns, _BAND, np.uint64)
    made = chunk_of(msgspec.structs.asdict(about), columns, about.problems)
    more = {"left": left if left.size else None, "bands": np.ascontiguousarray(bands.T) if bands.size else None}
    return ReadChunk.of(made, about.part, **more, sets=_sets(columns)), about.memory


def _sets(columns: dict[str, pa.Array]) -> ShingleSets | None:
    if _SETS not in columns:
        return None
    stored = columns[_SETS]
    return ShingleSets(numbers(stored.flatten()), numbers(stored.offsets))
