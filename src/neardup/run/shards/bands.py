"""The keys of documents in the bands of a plan: in order for each part, so that new documents are looked up.

Only saved documents that share a band or an exact copy with new ones take part in a run of new documents against
saved ones: two saved documents are never paired, so that a saved document without such a partner changes nothing.
New keys are looked up in the sorted keys of each part, in a time that depends on the new documents and on the
logarithm of the saved ones. A part whose keys are sorted for another plan is scanned, one band at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from neardup.io.fingerprints.chunk import ReadChunk
from neardup.io.fingerprints.folder import FingerprintFolder, SavedFingerprints, SortedBands
from neardup.kernels.lsh.buckets import band_keys
from neardup.lsh.bands import Plan
from neardup.tables import Bools, Int64s, UInt32s, UInt64s


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


@dataclass(frozen=True, eq=False)
class NewKeys:
    """The distinct keys of new documents, ascending: of each band of the ``plan``, and of their seals."""

    plan: Plan
    bands: tuple[UInt64s, ...]
    seals: UInt64s

    @classmethod
    def of(cls, chunks: Sequence[ReadChunk], plan: Plan) -> NewKeys:
        """The keys of fingerprinted chunks."""
        nothing, found = np.empty(0, np.uint64), []
        for band, (first, count) in enumerate(_slots(plan)):
            keys = [
                keys_of(np.ascontiguousarray(chunk.signatures[chunk.units > 0, first : first + count]), band)
                for chunk in chunks
            ]
            found.append(np.unique(np.concatenate([nothing, *keys])))
        seals = np.concatenate([nothing, *(chunk.keys[chunk.units > 0, 0] for chunk in chunks)])
        return cls(plan, tuple(found), np.unique(seals))


def meeting(part: SavedFingerprints, new: NewKeys) -> Int64s:
    """Return the rows of a part, ascending, that share a key with new documents."""
    meets = np.zeros(part.manifest.counts.rows, np.bool_)
    if part.manifest.bands == new.plan.bands:
        bands = SortedBands(part)
        for place, keys in enumerate((*new.bands, new.seals)):
            meets[bands.rows_with(place, keys)] = True
        return np.flatnonzero(meets)
    for keys, found in zip(new.bands, _scanned(part, new.plan), strict=True):
        meets |= _among(found, keys)
    seals = [seal for _, seal in part.seals()]
    meets |= _among(np.concatenate([np.empty(0, np.uint64), *seals]), new.seals)
    return np.flatnonzero(meets)


def _scanned(part: SavedFingerprints, plan: Plan) -> Iterator[UInt64s]:
    """Yield the keys of all rows of a part, band by band."""
    for band, (first, count) in enumerate(_slots(plan)):
        blocks = [keys_of(block, band) for block in part.slots(first, count)]
        yield np.concatenate([np.empty(0, np.uint64), *blocks])


def _slots(plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield the first slot and the number of slots of each band."""
    first = 0
    for count in plan.bands:
        yield first, count
        first += count


def _among(values: UInt64s, ascending: UInt64s) -> Bools:
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    found: Bools = ascending[at] == values
    return found
