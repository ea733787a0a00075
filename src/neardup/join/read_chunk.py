"""One chunk, read and fingerprinted; as a table, to keep it until a run has ended, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.io.formats import Attachment
from neardup.io.readers.base import Problem
from neardup.join.band_keys import keys_of
from neardup.join.corpus import one_array
from neardup.lsh.bands import Plan
from neardup.sketch.documents import ShingleSets
from neardup.tables import Int64s, UInt32s, UInt64s

_PLAIN = ("row_numbers", "units", "bytes")
_MATRICES = ("keys", "signatures", "simhashes", "left", "bands")
"""Arrays of two dimensions; ``bands`` has a column for each document, the others a row."""


@dataclass(frozen=True)
class ReadChunk:
    """One chunk, read and fingerprinted."""

    part: int
    index: int
    source: str
    row_numbers: Int64s
    problems: Sequence[Problem]
    attachments: dict[int, tuple[Attachment, ...]]
    units: Int64s
    keys: UInt64s
    signatures: UInt32s  # none if the keys of the ``bands`` are wanted instead
    left: Int64s | None
    simhashes: UInt64s
    bytes: Int64s
    invalid: int
    nulls: int
    ids: pa.Array | None
    extra: dict[str, pa.Array]
    related: tuple[UInt64s, UInt64s]
    sets: ShingleSets | None
    remaining: Int64s | None = None  # the units of each text that count, if some do not
    cleaned: Int64s = field(default_factory=lambda: np.empty((0, 2), np.int64))  # see ``sketch.cleaning.Cleaned``
    bands: UInt64s | None = None

    @property
    def bytes_read(self) -> int:
        """The size of the texts."""
        return int(self.bytes.sum())

    def with_bands(self, plan: Plan) -> ReadChunk:
        """The same with the keys of the bands of ``plan`` instead of signatures."""
        return replace(self, signatures=self.signatures[:0], bands=keys_of(self.signatures, plan))


def table_of(read: ReadChunk) -> pa.Table | None:
    """The fingerprints of a chunk; None for one to be read again: with problems or attachments."""
    if len(read.problems) or read.attachments:
        return None
    rows = len(read.units)
    columns = {name: pa.array(getattr(read, name)) for name in _PLAIN}
    shapes: dict[str, Any] = {}
    for name in _MATRICES:
        found = getattr(read, name)
        if found is None:
            continue
        shapes[name] = [*found.shape, found.dtype.str]
        by_row = found.T if name == "bands" else found
        if by_row.size:
            flat = pa.array(np.ascontiguousarray(by_row).ravel())
            columns[name] = pa.FixedSizeListArray.from_arrays(flat, by_row.shape[1])
    for number, hashes in enumerate(read.related):
        if len(hashes):
            columns[f"related {number}"] = pa.array(hashes)
    if read.sets is not None:
        columns["sets"] = pa.LargeListArray.from_arrays(read.sets.offsets, read.sets.hashes)
    if read.ids is not None:
        columns["id"] = read.ids
    if read.remaining is not None:
        columns["remaining"] = pa.array(read.remaining)
    columns.update({f"extra:{name}": values for name, values in read.extra.items()})
    told = {name: getattr(read, name) for name in ("part", "index", "source", "invalid", "nulls")}
    about = json.dumps({**told, "cleaned": read.cleaned.tolist(), "shapes": shapes, "rows": rows})
    return pa.table(columns).replace_schema_metadata({"chunk": about})


def chunk_of(table: pa.Table) -> ReadChunk:
    """The fingerprints in a table that ``table_of`` has made."""
    about = json.loads(table.schema.metadata[b"chunk"])
    shapes = about.pop("shapes")
    del about["rows"]
    counts = np.array(about.pop("cleaned"), np.int64).reshape(-1, 2)
    matrices = {name: _matrix(table, name, shapes.get(name)) for name in _MATRICES}
    extra = {
        name.removeprefix("extra:"): one_array(table[name])
        for name in table.column_names
        if name.startswith("extra:")
    }
    return ReadChunk(
        **about,
        **{name: _numbers(table[name]) for name in _PLAIN},
        **matrices,
        problems=(),
        attachments={},
        ids=one_array(table["id"]) if "id" in table.column_names else None,
        extra=extra,
        related=(_related(table, 0), _related(table, 1)),
        sets=_sets(table),
        remaining=_numbers(table["remaining"]) if "remaining" in table.column_names else None,
        cleaned=counts,
    )


def _matrix(table: pa.Table, name: str, shape: list[Any] | None) -> Any:
    if shape is None:
        return None
    first, second, kind = shape
    if name not in table.column_names:
        return np.empty((first, second), np.dtype(kind))
    values = one_array(table[name]).flatten().to_numpy(zero_copy_only=False)
    return values.reshape(second, first).T if name == "bands" else values.reshape(first, second)


def _sets(table: pa.Table) -> ShingleSets | None:
    if "sets" not in table.column_names:
        return None
    stored = one_array(table["sets"])
    return ShingleSets(stored.flatten().to_numpy(), stored.offsets.to_numpy())


def _related(table: pa.Table, number: int) -> Any:
    name = f"related {number}"
    return _numbers(table[name]) if name in table.column_names else np.empty(0, np.uint64)


def _numbers(column: pa.ChunkedArray) -> Any:
    return one_array(column).to_numpy(zero_copy_only=False)
