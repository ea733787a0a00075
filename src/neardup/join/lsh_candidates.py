"""Candidates by locality-sensitive hashing: documents that agree in all rows of some band.

Bands are sorted one after the other (one in each thread), so the memory is that of one band, not of all bands. A
band that is too large for a memory limit is sorted in parts, by its keys.
Buckets of up to ``HUB`` documents yield all their pairs. The members of a larger bucket are passed on as *hub
documents*, which ``prefix_join.py`` joins exactly, so that no bucket costs quadratic work and none is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.join.band_keys import BandKeys
from neardup.join.portions import MERGED_PAIRS
from neardup.join.related import EVERYONE, Related
from neardup.kernels.lsh.buckets import bucket_pairs
from neardup.kernels.sorting import equal_groups
from neardup.runtime import Advance, ordered_map
from neardup.tables import CANDIDATES, Bools, Int32s, Int64s, UInt64s, distinct

HUB = 100
"""A bucket of more documents than this is a hub: its 4,950 pairs would cost more than the exact join does."""

_LOW = np.uint64(0xFFFF_FFFF)


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
    parts: int = 1,
    most: int = MERGED_PAIRS,
) -> Candidates:
    """Return the candidate pairs of the documents that have these ``keys`` in the ``bands`` of a plan.

    Pairs of two documents below ``first_new`` are left out, and those of documents that are not ``related``.
    ``advance`` is called with 1 for each band. A band is sorted in a number of ``parts``, and repeats among pairs
    are dropped whenever ``most`` have accumulated; the result does not depend on either.
    """
    n = len(keys)
    everybody = np.arange(n if related.restricts else 0)

    def one_band(band: int) -> tuple[UInt64s, Bools, int, int]:
        of_band = related.apart(keys.of(band), everybody)
        hub, found, hubs, largest = np.zeros(n, np.bool_), [], 0, 0
        for order, starts, sizes in _equal(of_band, parts):
            pairs, of_part, size = bucket_pairs(order, starts, sizes, HUB, first_new, hub)
            found.append(_between(related, pairs))
            hubs, largest = hubs + of_part, max(largest, size)
        return found[0] if parts == 1 else np.concatenate(found), hub, hubs, largest

    hub = np.zeros(n, np.bool_)
    waiting: list[UInt64s] = []
    held = buckets = largest = 0
    for pairs, members, hubs, size in ordered_map(one_band, range(bands), threads):
        hub |= members
        buckets, largest = buckets + hubs, max(largest, size)
        waiting.append(pairs)
        held += len(pairs)
        if held > most:
            waiting = [distinct(*waiting)]
            held = 0
        advance(1)
    merged = distinct(*waiting) if waiting else np.empty(0, np.uint64)
    return Candidates(_table(merged), np.flatnonzero(hub), buckets, int(largest))


def _equal(keys: UInt64s, parts: int) -> Iterator[tuple[Int32s, Int64s, Int64s]]:
    """Yield ``equal_groups`` of all keys, or of one part of them after the other."""
    if parts == 1:
        yield equal_groups(keys)
        return
    for part in range(parts):
        inside = np.flatnonzero(keys % np.uint64(parts) == part).astype(np.int32)
        order, starts, sizes = equal_groups(keys[inside])
        yield inside[order], starts, sizes


def _between(related: Related, pairs: UInt64s) -> UInt64s:
    """The pairs of documents that are related."""
    if not related.restricts:
        return pairs
    return pairs[related.may_pair((pairs >> np.uint64(32)).astype(np.int64), (pairs & _LOW).astype(np.int64))]


def _table(pairs: UInt64s) -> pa.Table:
    a, b = (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)
    return pa.table([a, b], schema=CANDIDATES)
