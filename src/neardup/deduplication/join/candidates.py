"""Proposed pairs: documents that agree in a band of LSH, or whose SimHash fingerprints differ in few bits.

Bands are sorted one after the other (one in each thread), so the memory is that of one band, not of all bands. A
band that is too large for a memory limit is sorted in parts, by its keys, and pairs go to a working file.
Buckets of up to ``HUB`` documents yield all their pairs. The members of a larger bucket are passed on as *hub
documents*, which ``prefix_join.py`` joins exactly, so that no bucket costs quadratic work and none is dropped. A
search by SimHash does the same with crowds of fingerprints near each other. Candidates are among the finished
parts of a run, so that a killed run does not search for them again.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import pyarrow as pa

from neardup.deduplication.join.criterion import EVERYONE, Related
from neardup.deduplication.join.pairs import PairRoom, Pairs, PairSorter
from neardup.io.outputs import FinishedParts, Scratch
from neardup.kernels.lsh import band_keys, bucket_pairs
from neardup.kernels.sorting import equal_groups
from neardup.runtime import Advance, ordered_map, worker_count
from neardup.settings import SearchSettings, Work, check
from neardup.tables import CANDIDATES, Bools, Int32s, Int64s, UInt32s, UInt64s, column
from neardup.text.hamming import FingerprintWords, NearPairs, distinct, near_pairs, products, read_fingerprints
from neardup.text.lsh.bands import Plan

_AT_ONCE = 1 << 20
"""Pairs of one part: 8 MB."""

_HEAD = "candidates"

HUB = 100
"""A bucket of more documents than this is a hub: its 4,950 pairs would cost more than the exact join does."""

_BAND_BYTES = 26
"""Bytes a document while one band is searched: its key, its place in two orders, half a run, and the hub mark."""

_LOW = np.uint64(0xFFFF_FFFF)


@dataclass(frozen=True)
class Candidates:
    """Proposed pairs, and the documents of hub buckets, whose pairs are not included."""

    pairs: Pairs
    hub: Int64s
    hub_buckets: int
    largest_bucket: int


def join_everything(documents: int) -> Candidates:
    """Propose no pairs: every document is joined with all others, as hub documents are, and no pair is missed.

    Compared with LSH the join (``prefix_join.py``) costs one count of all shingles, and memory for all sets at
    once: 8 bytes per shingle for the sets, up to 8 more for counts and prefix lists. If that does not fit, the
    join is made in parts (``exact_parts.py``).
    """
    return Candidates(Pairs.of(CANDIDATES.empty_table()), np.arange(documents), 0, 0)


def kept_candidates(journal: FinishedParts | None, room: PairRoom, make: Callable[[], Candidates]) -> Candidates:
    """The candidates of a run: those in its ``journal``, or else those that ``make`` finds, which are put there.

    The last part says how many there are, so that a search that was not finished counts for nothing.
    """
    if journal is None:
        return make()
    candidates = _stored_candidates(journal, room)
    if candidates is None:
        candidates = make()
        _put(journal, candidates)
    return candidates


def _put(journal: FinishedParts, candidates: Candidates) -> None:
    """Put the candidates into the journal, pairs in parts."""
    parts = 0
    for table in candidates.pairs.batches(_AT_ONCE):
        journal.put(f"{_HEAD} {parts}", table.combine_chunks())
        parts += 1
    counts = {"parts": parts, "hub_buckets": candidates.hub_buckets, "largest_bucket": candidates.largest_bucket}
    head = pa.table({"hub": candidates.hub}).replace_schema_metadata({_HEAD: json.dumps(counts)})
    journal.put(_HEAD, head)


def _stored_candidates(journal: FinishedParts, room: PairRoom) -> Candidates | None:
    """The candidates in the journal; None unless all parts are there."""
    head = journal.get(_HEAD)
    if head is None:
        return None
    counts = json.loads((head.schema.metadata or {})[_HEAD.encode()])
    sorter = PairSorter(room, counted=False)
    for number in range(counts["parts"]):
        table = journal.get(f"{_HEAD} {number}")
        if table is None:
            return None
        sorter.add(table)
    return Candidates(sorter.finish(), column(head, "hub"), counts["hub_buckets"], counts["largest_bucket"])


class BandKeys(Protocol):
    """The keys of documents in the bands of a plan; ``len`` is the number of documents.

    Two documents that agree in all rows of a band have the same key in it. Bands are asked for by several threads.
    """

    def __len__(self) -> int: ...

    def of(self, band: int) -> UInt64s:
        """uint64[documents]: the keys in one band, in the order of documents."""


@dataclass(frozen=True, eq=False)
class SignatureBands:
    """The keys in the bands of ``plan``, from signatures in blocks uint32[m, slots]."""

    blocks: Sequence[UInt32s]
    plan: Plan

    def __len__(self) -> int:
        return sum(len(block) for block in self.blocks)

    def of(self, band: int) -> UInt64s:
        """The keys in one band, computed now."""
        keys, first, place = np.empty(len(self), np.uint64), sum(self.plan.bands[:band]), 0
        for block in self.blocks:
            band_keys(block, first, self.plan.bands[band], band, keys[place : place + len(block)])
            place += len(block)
        return keys


def keys_of(signatures: UInt32s, plan: Plan) -> UInt64s:
    """uint64[bands, m]: the keys of some documents in all bands, from their signatures uint32[m, slots]."""
    keys, first = np.empty((len(plan.bands), len(signatures)), np.uint64), 0
    for band, rows in enumerate(plan.bands):
        band_keys(signatures, first, rows, band, keys[band])
        first += rows
    return keys


def band_names(plan: Plan) -> list[str]:
    """The names of the columns of keys, one for each band of ``plan``."""
    return [f"band{band}" for band in range(len(plan.bands))]


def band_columns(signatures: UInt32s, plan: Plan) -> dict[str, UInt64s]:
    """The keys in the bands of ``plan``, as columns."""
    return dict(zip(band_names(plan), keys_of(signatures, plan), strict=True))


class SpilledBands:
    """The keys in working files, one for each band of ``plan``: 8 bytes a band a document."""

    def __init__(self, plan: Plan, scratch: Scratch) -> None:
        self.plan = plan
        self._files = [scratch.numbers() for _ in plan.bands]

    def __len__(self) -> int:
        return len(self._files[0])

    def add(self, keys: Sequence[UInt64s], which: Int64s) -> None:
        """Append the documents at the places ``which`` of the ``keys`` of each band."""
        for file, of_band in zip(self._files, keys, strict=True):
            file.append(of_band[which])

    def of(self, band: int) -> UInt64s:
        """The keys in one band, read now."""
        keys: UInt64s = self._files[band].read()
        return keys


def band_candidates(
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
        for order, starts, sizes in _equal_keys(of_band, parts):
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


def _equal_keys(keys: UInt64s, parts: int) -> Iterator[tuple[Int32s, Int64s, Int64s]]:
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


def bands_at_once(documents: int, search: SearchSettings, work: Work) -> tuple[int, int]:
    """(threads, parts): how many bands are searched side by side, and in how many parts each.

    Together they take at most a quarter of the room, but for the 8 bytes a document of the keys of one band.
    """
    threads, left = worker_count(work.threads), search.room
    if left is None or not documents:
        return threads, 1
    room = max(1, left // 4)
    threads = max(1, min(threads, room // (_BAND_BYTES * documents)))
    return threads, max(1, -(-_BAND_BYTES * documents // room)) if threads == 1 else 1


def near_candidates(
    fingerprints: UInt64s, distance: int, first_new: int, threads: int, advance: Advance
) -> Candidates:
    """Candidate pairs of the documents with these fingerprints (uint64[n], or uint64[n, k] for 64·k bits).

    Pairs of two documents below ``first_new`` are left out. Equal fingerprints are looked up once. A fingerprint
    is a hub if more than ``HUB`` documents have it or one near it. Its documents, and those of all fingerprints
    near it, are hub documents, and the pairs among them may be missing from the result. The result therefore has
    at most ``HUB`` / 2 pairs per document, however many equal fingerprints are near each other. ``hub_buckets``
    counts the fingerprints of hub documents; ``largest_bucket`` is the largest number of documents with one
    fingerprint (0: all differ). ``advance`` is called with 1 for each table. Raises SettingError and InputError as
    ``hamming_pairs`` does.
    """
    rows = read_fingerprints(fingerprints)
    check(64 * rows.shape[1], distance)
    classes = distinct(FingerprintWords.of(rows))
    near = near_pairs(classes.words, distance, threads, HUB, advance)
    full = _documents_near(near, classes.sizes) > HUB
    of_full = full[near.a] | full[near.b]
    hub = full.copy()
    hub[np.concatenate((near.crowded, near.a[of_full], near.b[of_full]))] = True
    several = np.flatnonzero((classes.sizes > 1) & ~full)
    a, b, _ = products(
        classes.rows,
        classes.starts,
        np.concatenate((near.a[~of_full], several)),
        np.concatenate((near.b[~of_full], several)),
    )
    largest = int(classes.sizes.max(initial=0))
    hub_rows, _ = classes.members(np.flatnonzero(hub))
    pairs = Pairs.of(_table(a, b, first_new))
    return Candidates(pairs, np.sort(hub_rows), int(hub.sum()), largest if largest > 1 else 0)


def _documents_near(near: NearPairs, sizes: Int64s) -> Int64s:
    """int64[fingerprints]: how many documents have this fingerprint or one near it."""
    counted = sizes.copy()
    np.add.at(counted, near.a, sizes[near.b])
    np.add.at(counted, near.b, sizes[near.a])
    return counted


def _table(a: Int64s, b: Int64s, first_new: int) -> pa.Table:
    """The pairs with a document at or above ``first_new``, each once and sorted, without self-pairs."""
    a, b = np.minimum(a, b), np.maximum(a, b)
    wanted = (a < b) & (b >= first_new)
    keys = np.unique(a[wanted].astype(np.uint64) << np.uint64(32) | b[wanted].astype(np.uint64))
    columns = [(keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)]
    return pa.table(columns, schema=CANDIDATES)
