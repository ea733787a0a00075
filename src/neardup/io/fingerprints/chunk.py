"""The fingerprints of one chunk: a batch that the first pass makes, and that memory, files and journals hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.io.readers.base import Problem
from neardup.settings import Settings
from neardup.tables import Int64s, UInt32s, UInt64s, facts_of, one_array, with_facts

_TYPES: dict[str, pa.DataType] = {
    "row": pa.int64(),  # its number in its file
    "units": pa.int64(),  # tokens, or characters
    "bytes": pa.int64(),  # of its text
    "key": pa.list_(pa.uint64(), 2),  # of its stream, its attachments and its relations: equal for exact copies
    "characters": pa.uint64(),  # a hash: of exact copies, those with the same one are identical
    "within": pa.uint64(),  # hashes of the values that relations name, if they do
    "across": pa.uint64(),
    "remaining": pa.int64(),  # the units that count, if the settings leave out text
}
"""The columns that all fingerprints have, and those that depend on the settings.

Others are the ``SKETCHES``, in lists, zero for texts without units; ``id``, ``attachments`` and, after ``EXTRA``,
columns of the input. A run may add ``left``, three counts without base text, the ``sets`` of features, and in
place of signatures the keys of each band, ``band0``, ``band1`` and so on.
"""
UNITS, KEY = (list(_TYPES).index(name) for name in ("units", "key"))
"""The places of two columns among these."""
SKETCHES: dict[str, pa.DataType] = {"signature": pa.uint32(), "simhash": pa.uint64()}
EXTRA = "extra:"
"""The beginning of the names of columns of the input."""

Values: TypeAlias = npt.NDArray[Any] | pa.Array
"""A column: of Arrow, an array [rows], or an array [rows, n], which becomes a column of lists."""


def row_schema(settings: Settings) -> pa.Schema:
    """Return the schema of the columns that saved fingerprints have of each row besides sketches."""
    relations = settings.relations
    there = {"within": relations.within, "across": relations.across, "remaining": settings.cleaning.is_on}
    return pa.schema([(name, kind) for name, kind in _TYPES.items() if there.get(name, True)])


def sketch_schema(slots: int, words: int) -> pa.Schema:
    """Return the schema of saved sketches: one column a slot or word, so that a band is read alone."""
    widths = zip(SKETCHES.items(), (slots, words), strict=True)
    return pa.schema([(f"{name}{k}", kind) for (name, kind), width in widths for k in range(width)])


def by_slot(chunk: ReadChunk) -> list[pa.Array]:
    """Return the columns of ``sketch_schema``."""
    sketches = [chunk.numbers(name) for name in SKETCHES if name in chunk]
    return [pa.array(slot) for values in sketches for slot in np.ascontiguousarray(values.T)]


def from_slots(saved: pa.RecordBatch, slots: int) -> dict[str, Values]:
    """Return the sketches of which ``by_slot`` has made columns, the first ``slots`` those of signatures."""
    by_name: dict[str, Values] = {}
    several = (saved.columns[:slots], saved.columns[slots:])
    for (name, kind), columns in zip(SKETCHES.items(), several, strict=True):
        values = np.empty((saved.num_rows, len(columns)), kind.to_pandas_dtype())
        for place, column in enumerate(columns):
            values[:, place] = column.to_numpy(zero_copy_only=False)
        by_name[name] = values
    return by_name


class ChunkFacts(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """The facts of a chunk as a whole: its place, and the counts and problems of its texts.

    ``part`` is the number of its input. ``cleaned`` are the numbers of left out places and texts (see
    ``sketch.cleaning``). ``scans`` are the places of texts that look like the output of OCR, among those that were
    looked at. ``memory``, in a journal, is that of its reader for its files.
    """

    index: int
    source: str
    rows: int
    invalid: int
    nulls: int
    problems: Sequence[Problem] = ()
    cleaned: Sequence[Sequence[int]] = ()
    scans: Sequence[int] = ()
    part: int = 0
    memory: str | None = None


@dataclass(frozen=True, eq=False)
class ReadChunk:
    """One chunk, read and fingerprinted: a ``batch`` with a row for each document; ``len`` is their number."""

    facts: ChunkFacts
    batch: pa.RecordBatch

    @classmethod
    def of(cls, facts: ChunkFacts, columns: Mapping[str, Values]) -> ReadChunk:
        """The chunk of these columns; lists of no values are left out."""
        arrays = {name: _arrow(values) for name, values in columns.items()}
        return cls(facts, pa.record_batch({name: array for name, array in arrays.items() if array is not None}))

    @classmethod
    def of_table(cls, table: pa.Table) -> ReadChunk:
        """The chunk that ``table`` has made a table."""
        facts = facts_of(table, ChunkFacts)
        return cls(facts, pa.record_batch({name: one_array(table[name]) for name in table.column_names}))

    def table(self) -> pa.Table:
        """The batch as a table, with the facts in its metadata."""
        return with_facts(pa.Table.from_batches([self.batch]), self.facts)

    def __len__(self) -> int:
        return self.facts.rows

    def __contains__(self, name: str) -> bool:
        return name in self.batch.schema.names

    @property
    def of_input(self) -> list[str]:
        """The columns of the input besides attachments."""
        return [name for name in self.batch.schema.names if name == "id" or name.startswith(EXTRA)]

    def numbers(self, name: str) -> Any:
        """The values of a column of numbers, or of lists of n numbers: an array [rows] or [rows, n]."""
        column = self.batch.column(name)
        if not pa.types.is_fixed_size_list(column.type):
            return column.to_numpy(zero_copy_only=False)
        return column.flatten().to_numpy().reshape(len(column), column.type.list_size)

    @property
    def row_numbers(self) -> Int64s:
        """The numbers of the rows in their file."""
        numbers: Int64s = self.numbers("row")
        return numbers

    @property
    def units(self) -> Int64s:
        """The units of each text."""
        units: Int64s = self.numbers("units")
        return units

    @property
    def counting(self) -> Int64s:
        """The units of each text that count: all, or those that the settings do not leave out."""
        counting: Int64s = self.numbers("remaining" if "remaining" in self else "units")
        return counting

    @property
    def keys(self) -> UInt64s:
        """The stream keys, uint64[rows, 2]."""
        keys: UInt64s = self.numbers("key")
        return keys

    @property
    def signatures(self) -> UInt32s:
        """uint32[rows, slots]; [rows, 0] without signatures."""
        nothing = np.empty((len(self), 0), np.uint32)
        signatures: UInt32s = self.numbers("signature") if "signature" in self else nothing
        return signatures

    @property
    def bytes_read(self) -> int:
        """The size of the texts."""
        return int(self.numbers("bytes").sum())

    def with_facts(self, **facts: Any) -> ReadChunk:
        """The same chunk with other facts."""
        return replace(self, facts=msgspec.structs.replace(self.facts, **facts))

    def with_columns(self, columns: Mapping[str, Values]) -> ReadChunk:
        """The same chunk with further columns, or others of the same name."""
        known = dict(zip(self.batch.schema.names, self.batch.columns, strict=True))
        return ReadChunk.of(self.facts, {**known, **columns})

    def without(self, name: str) -> ReadChunk:
        """The same chunk without a column, if it has it."""
        return replace(self, batch=self.batch.drop_columns([name])) if name in self else self

    def only(self, places: Int64s) -> ReadChunk:
        """The rows at some places (ascending) only, without the problems of the chunk."""
        chosen = replace(self, batch=self.batch.take(pa.array(places)))
        return chosen.with_facts(rows=len(places), problems=())


def _arrow(values: Values) -> pa.Array | None:
    if isinstance(values, pa.Array):
        return values
    if values.ndim == 1:
        return pa.array(values)
    width = values.shape[1]
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), width) if width else None
