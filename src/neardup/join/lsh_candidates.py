"""Candidates by locality-sensitive hashing: documents that agree in all rows of some band.

Bands are sorted one after the other (one in each thread), so the memory is that of one band, not of all bands. A
band that is too large for a memory limit is sorted in parts, by its keys, and pairs go to a working file.
Buckets of up to ``HUB`` documents yield all their pairs. The members of a larger bucket are passed on as *hub
documents*, which ``prefix_join.py`` joins exactly, so that no bucket costs quadratic work and none is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from neardup.join.band_keys import BandKeys
from neardup.join.candidates import Candidates
from neardup.join.pair_file import PairRoom, PairSorter
from neardup.join.related import EVERYONE, Related
from neardup.kernels.lsh.buckets import bucket_pairs
from neardup.kernels.sorting import equal_groups
from neardup.runtime import Advance, ordered_map
from neardup.tables import Bools, Int32s, Int64s, UInt64s

HUB = 100
"""A bucket of more documents than this is a hub: its 4,950 pairs would cost more than the exact join does."""

_LOW = np.uint64(0xFFFF_FFFF)


def candidates(
    keys: BandKeys,
    bands: int,
    first_new: int,
    threads: int,
    advance: Advance,
    related: Related = EVERYONE,
    parts: int = 1,
    room: PairRoom | None = None,
) -> Candidates:
    """Return the candidate pairs of the documents that have these ``keys`` in the ``bands`` of a plan.

    Pairs of two documents below ``first_new`` are left out, and those of documents that are not ``related``.
    ``advance`` is called with 1 for each band. A band is sorted in a number of ``parts``, and its pairs go to the
    ``room``; they do not depend on either.
    """
    n, room = len(keys), room or PairRoom()
    everybody = np.arange(n if related.restricts else 0)
    sorter = PairSorter(room, counted=False)

    def one_band(band: int) -> tuple[Bools, int, int]:
        of_band = related.apart(keys.of(band), everybody)
        hub, hubs, largest = np.zeros(n, np.bool_), 0, 0
        for order, starts, sizes in _equal(of_band, parts):
            for some in _few(sizes, room.most):
                pairs, of_part, size = bucket_pairs(order, starts[some], sizes[some], HUB, first_new, hub)
                sorter.add_keys(_between(related, pairs))
                hubs, largest = hubs + of_part, max(largest, size)
        return hub, hubs, largest

    hub = np.zeros(n, np.bool_)
    buckets = largest = 0
    for members, hubs, size in ordered_map(one_band, range(bands), threads):
        hub |= members
        buckets, largest = buckets + hubs, max(largest, size)
        advance(1)
    return Candidates(sorter.finish(), np.flatnonzero(hub), buckets, int(largest))


def _few(sizes: Int64s, most: int) -> Iterator[slice]:
    """Yield slices of buckets of these sizes: each has about ``most`` pairs, at the most."""
    if len(sizes) * HUB * HUB <= 2 * most:
        yield slice(None)
        return
    portion = np.cumsum(np.where(sizes <= HUB, sizes * (sizes - 1) // 2, 0)) // most
    cuts = [0, *(np.flatnonzero(np.diff(portion)) + 1).tolist(), len(sizes)]
    yield from (slice(begin, end) for begin, end in pairwise(cuts))


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
