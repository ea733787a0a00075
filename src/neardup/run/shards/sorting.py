"""The keys of a part in the bands of a plan, in order, so that later documents are looked up and not sorted in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.io.fingerprints.writing import FingerprintFolder
from neardup.kernels.lsh.buckets import band_keys
from neardup.lsh.bands import Plan
from neardup.tables import UInt32s, UInt64s


def write_sorted_bands(made: FingerprintFolder, plan: Plan) -> None:
    """Sort the keys of all rows with text, band by band; the memory is that of one band."""
    made.write_sorted(plan.bands, _sorted_bands(made, plan))


def _sorted_bands(made: FingerprintFolder, plan: Plan) -> Iterator[tuple[UInt64s, UInt32s]]:
    found = list(made.seals())
    with_text = np.flatnonzero(np.concatenate([np.empty(0, np.int64), *(units for units, _ in found)]))
    rows, seals = with_text.astype(np.uint32), [seals for _, seals in found]
    first = 0
    for band, count in enumerate(plan.bands):
        blocks = [keys_of(block, band) for block in made.slots(first, count)]
        yield _in_order(blocks, rows)
        first += count
    yield _in_order(seals, rows)


def keys_of(slots: UInt32s, band: int) -> UInt64s:
    """Return the keys uint64[n] of documents in a ``band`` from its slots, uint32[n, rows of the band]."""
    keys = np.empty(len(slots), np.uint64)
    band_keys(slots, 0, slots.shape[1], band, keys)
    return keys


def _in_order(blocks: list[UInt64s], rows: UInt32s) -> tuple[UInt64s, UInt32s]:
    keys = np.concatenate([np.empty(0, np.uint64), *blocks])[rows]
    order = np.argsort(keys, kind="stable")
    return keys[order], rows[order]
