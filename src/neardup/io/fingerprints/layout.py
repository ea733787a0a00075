"""The fingerprints of a chunk as columns, and back: for saved fingerprints and for the finished parts of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.io.attachments import ATTACHMENTS, carried_by, column_of
from neardup.io.fingerprints.records import SavedChunk
from neardup.io.readers.base import Problem

_PLAIN = {"row": "row_numbers", "units": "units", "bytes": "bytes"}
_RELATED = ("within", "across")
SLOT, SIMHASH, EXTRA = "slot", "simhash", "extra:"
"""The beginnings of the names of columns: of slots, of words of SimHash, of columns that were asked for."""


def row_columns(chunk: SavedChunk) -> dict[str, pa.Array]:
    """The columns of ``row_schema``."""
    columns = {name: pa.array(getattr(chunk, of)) for name, of in _PLAIN.items()}
    columns |= matrix_columns("key_", chunk.keys, "ab")
    if chunk.remaining is not None:
        columns["remaining"] = pa.array(chunk.remaining)
    return columns | {
        name: pa.array(hashes) for name, hashes in zip(_RELATED, chunk.related, strict=True) if len(hashes)
    }


def sketch_columns(chunk: SavedChunk) -> dict[str, pa.Array]:
    """The columns of ``sketch_schema``: one for each slot and word, 0 for texts without units."""
    without = (chunk.units if chunk.remaining is None else chunk.remaining) == 0
    found: dict[str, pa.Array] = {}
    for name, values in ((SLOT, chunk.signatures), (SIMHASH, chunk.simhashes)):
        by_column = np.ascontiguousarray(values.T)
        by_column[:, without] = 0  # memory that was never written
        found |= {f"{name}{place}": pa.array(column) for place, column in enumerate(by_column)}
    return found


def further_columns(chunk: SavedChunk) -> dict[str, pa.Array]:
    """The id, the columns that were asked for, and the attachments if there are any."""
    columns = {f"{EXTRA}{name}": values for name, values in chunk.extra.items()}
    if chunk.ids is not None:
        columns["id"] = chunk.ids
    if chunk.attachments:
        columns[ATTACHMENTS] = column_of([chunk.attachments.get(k, ()) for k in range(len(chunk.units))])
    return columns


def chunk_of(
    described: Mapping[str, Any], columns: Mapping[str, pa.Array], problems: Sequence[Problem]
) -> SavedChunk:
    """The chunk of all its columns, with the index, source and counts that ``described`` has."""
    related = [numbers(columns[name]) if name in columns else np.empty(0, np.uint64) for name in _RELATED]
    return SavedChunk(
        index=described["index"],
        source=described["source"],
        problems=problems,
        attachments=carried_by(columns[ATTACHMENTS]) if ATTACHMENTS in columns else {},
        **{of: numbers(columns[name]) for name, of in _PLAIN.items()},
        keys=matrix_of(columns, "key_", np.uint64, "ab"),
        signatures=matrix_of(columns, SLOT, np.uint32),
        simhashes=matrix_of(columns, SIMHASH, np.uint64),
        invalid=described["invalid"],
        nulls=described["nulls"],
        ids=columns.get("id"),
        extra={name.removeprefix(EXTRA): found for name, found in columns.items() if name.startswith(EXTRA)},
        related=(related[0], related[1]),
        remaining=numbers(columns["remaining"]) if "remaining" in columns else None,
        cleaned=np.array(described.get("cleaned") or (), np.int64).reshape(-1, 2),
    )


def matrix_columns(
    name: str, values: npt.NDArray[Any], places: Sequence[object] | None = None
) -> dict[str, pa.Array]:
    """The columns of an array [rows, n], named by ``name`` and their place."""
    named = range(values.shape[1]) if places is None else places
    return {f"{name}{place}": pa.array(np.ascontiguousarray(values[:, k])) for k, place in enumerate(named)}


def matrix_of(
    columns: Mapping[str, pa.Array], name: str, kind: npt.DTypeLike, places: Sequence[object] | None = None
) -> npt.NDArray[Any]:
    """The array [rows, n] of the columns named by ``name`` and their place; n is 0 without any."""
    named = range(len(columns)) if places is None else places
    there = [columns[found] for place in named if (found := f"{name}{place}") in columns]
    made = np.empty((len(columns["row"]), len(there)), kind)
    for place, column in enumerate(there):
        made[:, place] = numbers(column)
    return made


def numbers(column: pa.Array) -> Any:
    """The values of a column of numbers."""
    return column.to_numpy(zero_copy_only=False)
