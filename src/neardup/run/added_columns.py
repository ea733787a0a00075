"""The columns that are added to the kept rows: those of ``--annotate``, and those of ``--count``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from neardup.io.readers.base import Format
from neardup.run.representation import COUNTED, SOURCES, Represented
from neardup.run.stages.account import Run
from neardup.settings import Keep
from neardup.tables import Int64s

ANNOTATIONS = ("group", "representative", "similarity")
"""The columns that ``--annotate`` adds."""


class AddedColumns(Protocol):
    """Columns to add to rows."""

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""

    def columns(self, rows: Int64s) -> pa.Table:
        """The columns of ``rows``."""


def added_names(keep: Keep, format: Format, *, annotate: bool) -> tuple[str, ...]:
    """The names of the columns that a run adds to its kept rows.

    Text files have no place for counts; groups.parquet has them for every format.
    """
    counted = (*COUNTED, *((SOURCES,) if keep.sources else ())) if keep.count and format != "text" else ()
    return (*(ANNOTATIONS if annotate else ()), *counted)


def added_to(run: Run, format: Format, *, annotate: bool) -> AddedColumns | None:
    """The columns that a run adds to its kept rows, or None."""
    found: list[AddedColumns] = [Annotations(run)] if annotate else []
    if run.represented is not None and format != "text":
        found.append(_Flat(run.represented) if format == "csv" else run.represented)
    return _Together(found) if found else None


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
    said = [None if one is None else json.dumps(one, ensure_ascii=False) for one in lists]
    return counted.set_column(len(COUNTED), SOURCES, pa.array(said, pa.string()))


class _Together:
    """The columns of several, side by side."""

    def __init__(self, parts: Sequence[AddedColumns]) -> None:
        self._parts = parts
        self.schema = pa.schema([field for part in parts for field in part.schema])

    def columns(self, rows: Int64s) -> pa.Table:
        arrays = [column for part in self._parts for column in part.columns(rows).columns]
        return pa.table(arrays, schema=self.schema)
