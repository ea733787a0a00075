"""Candidates by locality-sensitive hashing: documents that agree in all rows of some band.

Bands are sorted one after the other (one in each thread), so the memory is that of one band, not of all bands.
Buckets of up to ``HUB`` documents yield all their pairs. The members of a larger bucket are passed on as *hub
documents*, which ``prefix_join.py`` joins exactly, so that no bucket costs quadratic work and none is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.join.band_keys import BandKeys
from neardup.join.related import EVERYONE, Related
from neardup.kernels.lsh.buckets import bucket_pairs
from neardup.kernels.sorting import equal_groups
from neardup.runtime import Advance, ordered_map
from neardup.tables import CANDIDATES, Bools, Int64s, UInt64s

HUB = 100
"""A bucket of more documents than this is a hub: its 4,950 pairs would cost more than the exact join does."""

_LOW = np.uint64(0xFFFF_FFFF)

_MERGE_PAIRS = 1 << 24
"""Pairs from several bands are merged, and repeats dropped, whenever this many (128 MB) have accumulated."""


@dataclass(frozen=True)
class Candidates:
    """Proposed pairs, and the documents of hub buckets, whose pairs are not included."""

    pairs: pa.Table
    hub: Int64s
    hub_buckets: int
    largest_bucket: int


def candidates(
    keys: BandKeys,
    bands: int,
    first_new: int,
    threads: int,
    advance: Advance,
    related: Related = EVERYONE,
) -> Candidates:
    """Return the candidate pairs of the documents that have these ``keys`` in the ``bands`` of a plan.

    Pairs of two documents below ``first_new`` are left out, and those of documents that are not ``related``.
    ``advance`` is called with 1 for each band.
    """
    n = len(keys)
    everybody = np.arange(n if related.restricts else 0)

    def one_band(band: int) -> tuple[UInt64s, Bools, int, int]:
        order, starts, sizes = equal_groups(related.apart(keys.of(band), everybody))
        hub = np.zeros(n, np.bool_)
        pairs, hubs, largest = bucket_pairs(order, starts, sizes, HUB, first_new, hub)
        return _between(related, pairs), hub, hubs, largest

    hub = np.zeros(n, np.bool_)
    waiting: list[UInt64s] = []
    held = buckets = largest = 0
    for pairs, members, hubs, size in ordered_map(one_band, range(bands), threads):
        hub |= members
        buckets, largest = buckets + hubs, max(largest, size)
        waiting.append(pairs)
        held += len(pairs)
        if held > _MERGE_PAIRS:
            waiting = [np.unique(np.concatenate(waiting))]
            held = 0
        advance(1)
    merged = np.unique(np.concatenate(waiting)) if waiting else np.empty(0, np.uint64)
    return Candidates(_table(merged), np.flatnonzero(hub), buckets, int(largest))


def _between(related: Related, pairs: UInt64s) -> UInt64s:
    """The pairs of documents that are related."""
    if not related.restricts:
        return pairs
    return pairs[related.may_pair((pairs >> np.uint64(32)).astype(np.int64), (pairs & _LOW).astype(np.int64))]


def _table(pairs: UInt64s) -> pa.Table:
    a, b = (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)
    return pa.table([a, b], schema=CANDIDATES)
