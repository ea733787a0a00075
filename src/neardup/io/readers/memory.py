"""Rows that are held by this process: any run of them becomes an Arrow table, and some of them are given back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers.arrow_types import cut_by_bytes, fitted, plain, row_lengths, without_views
from neardup.io.readers.base import CHUNK_BYTES, Chunk, Column, Format, NativeRows, NativeTable, ReadRows, Sink
from neardup.io.readers.findings import Findings
from neardup.io.writers.kept_parquet import ParquetSink, extended
from neardup.tables import Bools

# Bounds the per-row work of a chunk when the texts are very short.
CHUNK_ROWS = 65536

NAME = "input"


class HeldRows(Protocol):
    """Rows of the caller: a frame, a list, a data set. ``len`` is their number, which must not change."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns and their kinds."""

    @property
    def size_bytes(self) -> int | None:
        """Size in memory, if that is known without reading."""

    @property
    def step(self) -> int:
        """Number of rows that may be measured at a time: few, where measuring makes a copy of them."""

    def __len__(self) -> int:
        """Number of rows."""

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column. Raises InputError for values without one."""

    def table(self, start: int, stop: int, names: Sequence[str]) -> pa.Table:
        """Return these columns of some rows; threads may call it at the same time."""

    def require(self, text: str) -> None:
        """Raise InputError if a value of the column cannot be a text."""

    def given(self, stays: Bools) -> Any:
        """Return the rows for which ``stays`` (bool[rows]) is true, in the type of the caller's object."""


class HeldDocuments:
    """Rows of this process as documents: every row is good, and chunks are runs of rows, read when needed."""

    format: Format = "arrow"

    def __init__(self, rows: HeldRows, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.rows = rows
        self.names = (NAME,)
        self.findings = Findings()
        self.columns = rows.columns
        self.size_bytes = rows.size_bytes
        self.count = len(rows)
        self._chunk_bytes = chunk_bytes
        self._bounds: list[int] | None = None

    def require(self, text: str, id: str | None) -> None:
        """Refuse a column with values that are not texts."""
        self.rows.require(text)

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column. Raises InputError for values without one."""
        return self.rows.type_of(name)

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of native rows, without views: Arrow can neither filter nor write views everywhere."""
        return without_views(pa.schema([(column.name, self.type_of(column.name)) for column in self.columns]))

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[Chunk]:
        """Yield runs of at most ``chunk_bytes`` of text and ``CHUNK_ROWS`` rows."""
        if self._bounds is None:
            self._bounds = [0, *self._ends()]
        chosen = None if wanted is None else frozenset(wanted)
        for index, (start, end) in enumerate(pairwise(self._bounds)):
            if chosen is None or index in chosen:
                yield _HeldChunk(index, start, end, self)

    def sink(self, folder: Path, extra: Any, threads: int = 1) -> Sink:
        """Open ``kept.parquet``."""
        return ParquetSink(folder / "kept.parquet", extended(self.schema, extra), threads=threads)

    def give_back(self, stays: Bools) -> Any:
        """Return the rows that stay, in the type of the caller's object. Raises InputError if it has changed."""
        self._require_unchanged()
        return self.rows.given(stays)

    def read(self, start: int, stop: int, names: Sequence[str]) -> pa.Table:
        """Return columns of some rows. Raises InputError if the object has changed."""
        self._require_unchanged()
        return self.rows.table(start, stop, names)

    def _require_unchanged(self) -> None:
        if len(self.rows) != self.count:
            raise InputError(
                f"The documents have changed: there were {self.count:,} rows, and there are {len(self.rows):,}",
                "The object that was given, unchanged",
                "Give a copy of it",
            )

    def _ends(self) -> Iterator[int]:
        texts = [column.name for column in self.columns if column.kind == "text"]
        for first in range(0, self.count, CHUNK_ROWS):
            until = min(first + CHUNK_ROWS, self.count)
            if not texts:
                yield until
                continue
            steps = (slice(at, min(at + self.rows.step, until)) for at in range(first, until, self.rows.step))
            lengths = [row_lengths(self.read(part.start, part.stop, texts)) for part in steps]
            yield from (first + end for end in cut_by_bytes(np.concatenate(lengths), self._chunk_bytes))


@dataclass(frozen=True, eq=False)
class _HeldChunk:
    index: int
    first_row: int
    stop: int
    owner: HeldDocuments
    source: str = NAME

    def read(self, columns: Sequence[str]) -> ReadRows:
        return ReadRows(plain(self.owner.read(self.first_row, self.stop, columns)), self._row_numbers())

    def read_native(self) -> NativeRows:
        schema = self.owner.schema
        table = self.owner.read(self.first_row, self.stop, schema.names)
        return NativeTable(self._row_numbers(), fitted(table, schema))

    def _row_numbers(self) -> Any:
        return np.arange(self.first_row, self.stop)
