"""Some columns of a file of fingerprints, batch by batch: the others are not read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.io.fingerprints.chunk import KEY, UNITS
from neardup.tables import Int64s, UInt32s, UInt64s


def read_slots(path: Path, first: int, count: int) -> Iterator[UInt32s]:
    """Yield the slots ``first`` … ``first + count − 1`` of all signatures, uint32[rows, count], chunk by chunk."""
    for batch in _batches(path, range(first, first + count)):
        found = np.empty((batch.num_rows, count), np.uint32)
        for place in range(count):
            found[:, place] = batch.column(place).to_numpy()
        yield found


def read_seals(path: Path) -> Iterator[tuple[Int64s, UInt64s]]:
    """Yield (units, first words of the seals) of all rows, chunk by chunk."""
    for batch in _batches(path, (UNITS, KEY)):
        yield batch.column("units").to_numpy(), batch.column("key").flatten().to_numpy()[::2]


def _batches(path: Path, columns: Sequence[int]) -> Iterator[pa.RecordBatch]:
    options = pa.ipc.IpcReadOptions(included_fields=list(columns), ensure_native_endian=False)
    with pa.OSFile(os.fsencode(path)) as file:
        reader = pa.ipc.open_file(file, options=options)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
