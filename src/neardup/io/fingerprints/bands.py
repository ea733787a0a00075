"""The sorted keys of a part, mapped: a look-up reads a few pages of each band."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa

from neardup.io.fingerprints.reading import SavedFingerprints
from neardup.io.fingerprints.records import BAND_SCHEMA, BANDS
from neardup.tables import Int64s, UInt64s


class SortedBands:
    """The sorted keys of a part. Raises InputError for keys that cannot be those of its rows."""

    def __init__(self, part: SavedFingerprints) -> None:
        self._part, self._rows = part, part.manifest.counts.rows
        try:
            # the file is mapped, not read: it may be larger than memory
            self._reader = pa.ipc.open_file(pa.memory_map(os.fsencode(part.checked(BANDS))))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise part.unusable(f"{BANDS} cannot be used: {error}") from error
        whole = self._reader.num_record_batches == len(part.manifest.bands) + 1
        if not whole or not self._reader.schema.equals(BAND_SCHEMA):
            raise part.unusable(f"{BANDS} has other bands")

    def rows_with(self, place: int, keys: UInt64s) -> Int64s:
        """Return the rows that have one of these ``keys`` (ascending) in a band; the seals are the last one."""
        try:
            batch = self._reader.get_batch(place)
            batch.validate()
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._part.unusable(f"{BANDS} cannot be used: {error}") from error
        stored, rows = (batch.column(name).to_numpy() for name in BAND_SCHEMA.names)
        first, until = (np.searchsorted(stored, keys, side) for side in ("left", "right"))
        met = until > first
        first, counts = first[met], (until - first)[met]
        ends = np.cumsum(counts)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - counts), counts)
        found: Int64s = rows[places].astype(np.int64)
        if len(found) and int(found.max()) >= self._rows:
            raise self._part.unusable(f"{BANDS} names rows that the part does not have")
        return found
