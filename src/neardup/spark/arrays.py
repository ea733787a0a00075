"""Arrow batches of Spark ↔ NumPy arrays for the kernels.

Spark has no unsigned integers, so a hash travels as the int64 with the same bits, and a shingle set as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.sketch.documents import ShingleSets
from neardup.tables import Bools, Int64s, UInt64s

Batches = Iterator[pa.RecordBatch]

_WORD = 8


def whole(batch: pa.RecordBatch | pa.Table, name: str) -> Int64s:
    """int64[rows]: a column of whole numbers, in memory that the kernels may write to."""
    numbers: Int64s = np.array(batch.column(name).to_numpy(zero_copy_only=False), np.int64)
    return numbers


def truths(batch: pa.RecordBatch | pa.Table, name: str) -> Bools:
    """bool[rows]: a column of truth values."""
    values: Bools = np.array(batch.column(name).to_numpy(zero_copy_only=False), np.bool_)
    return values


def words(values: pa.Array) -> tuple[UInt64s, Int64s]:
    """(uint64, int64[n + 1]): the 64-bit words of binary values, one value after the other, and their offsets."""
    large = values.cast(pa.large_binary())
    _, offset_buffer, value_buffer = large.buffers()
    offsets = np.frombuffer(offset_buffer, "<i8")[large.offset : large.offset + len(large) + 1] // _WORD
    if value_buffer is None or not len(large):
        return np.empty(0, np.uint64), np.zeros(len(large) + 1, np.int64)
    # a copy, because kernels are compiled for arrays that can be written to
    found = np.array(np.frombuffer(value_buffer, "<u8", offsets[-1]), np.uint64)
    return found[offsets[0] :], offsets - offsets[0]


def binary(values: UInt64s, offsets: Int64s) -> pa.Array:
    """Binary values from 64-bit words: value k is ``values[offsets[k]:offsets[k + 1]]``."""
    buffers = [None, pa.py_buffer((offsets * _WORD).astype(np.int32)), pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)


def sets_in(values: pa.Array) -> ShingleSets:
    """The shingle sets in a binary column; a null is an empty set."""
    return ShingleSets(*words(values))


def signed(values: UInt64s) -> Int64s:
    """The int64 with the same bits."""
    return values.view(np.int64)


def unsigned(values: Int64s) -> UInt64s:
    """The uint64 with the same bits."""
    return values.view(np.uint64)


def batch_of(**columns: Any) -> pa.RecordBatch:
    """A batch of these columns: arrays of NumPy or Arrow."""
    arrays = [values if isinstance(values, pa.Array) else pa.array(values) for values in columns.values()]
    return pa.record_batch(arrays, names=list(columns))


def run_starts(keys: Int64s) -> Int64s:
    """The places at which a run of equal ``keys`` begins."""
    if not len(keys):
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1))


def whole_runs(batches: Batches, name: str, enough: int) -> Iterator[pa.Table]:
    """Yield tables of at least ``enough`` bytes, cut only where the sorted column ``name`` changes.

    The last table may be smaller, and one run of equal values may be larger.
    """
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        size += batch.nbytes
        if size < enough:
            continue
        cut = int(run_starts(whole(batch, name))[-1])
        if cut == 0 and len(held) == 1:
            continue
        if cut == 0 and batch.column(name)[0] == held[-2].column(name)[-1]:
            continue  # one run goes through all of the batch
        yield pa.Table.from_batches([*held[:-1], batch.slice(0, cut)])
        held = [batch.slice(cut)]
        size = held[0].nbytes
    if held:
        yield pa.Table.from_batches(held)


def concatenated(parts: Sequence[Int64s]) -> Int64s:
    """The arrays one after the other; int64[0] without any."""
    return np.concatenate([np.empty(0, np.int64), *parts])
