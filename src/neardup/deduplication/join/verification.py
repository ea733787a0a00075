"""Candidate pairs → verified pairs, and every pair between documents that a chain of them connects.

Pairs are verified in exact integers, from the texts. A *family* is a set of documents that found pairs connect,
directly or through others (a connected component). In a family of up to ``HUB`` documents, every pair not yet
compared is compared. All documents of a larger family, and of a family with a hub document, go to the exact join,
which costs less for them. Comparing within families merges no two of them, so one round is enough: the pairs still
missed are between documents that no chain connects.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.deduplication.join.candidates import HUB, Candidates
from neardup.deduplication.join.criterion import EVERYONE, Related, criterion_of
from neardup.deduplication.join.method import BYTES_A_SHINGLE
from neardup.deduplication.join.pairs import PairRoom, Pairs, PairSorter, keys_of
from neardup.deduplication.join.shingle_store import DocumentSets, ShingleStore
from neardup.kernels.groups import best_of_tree, unite
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.runtime import Advance, Progress, ordered_map
from neardup.settings import JoinSettings
from neardup.tables import VERIFIED, Bools, Int64s, column, distinct, verified_table

_SLICE = 1 << 14
"""Pairs a thread verifies at a time."""

_AT_ONCE = 1 << 22
"""Pairs held at once for comparison: 32 MB."""


def verify(
    candidates: pa.Table, store: ShingleStore, criterion: Criterion, threads: int, advance: Advance
) -> pa.Table:
    """Return the VERIFIED table of the candidates that meet the ``criterion``.

    Documents are loaded in blocks of bounded size, and every pair of blocks that has candidates is loaded once, so
    the memory does not grow with the number of documents. ``advance`` is called with the number of pairs done.
    """
    a, b = column(candidates, "a"), column(candidates, "b")
    results = [VERIFIED.empty_table()]
    for inside in blocks(a, b, store):
        name = _name(a[inside], b[inside], criterion, store)
        verified = None if store.journal is None else store.journal.get(name)
        if verified is None:
            sets = store.get(distinct(a[inside], b[inside]))
            verified = _verify_block(a[inside], b[inside], sets, criterion, threads, advance)
            if store.journal is not None:
                store.journal.put(name, verified)
        results.append(verified)
    table = pa.concat_tables(results)
    return verified_table(*(column(table, name) for name in VERIFIED.names))


def _name(a: Int64s, b: Int64s, criterion: Criterion, store: ShingleStore) -> str:
    """A name for the verification of these pairs."""
    if store.journal is None:
        return ""
    pairs = hashlib.sha256(np.concatenate((a, b)).tobytes()).hexdigest()
    return f"verified {store.features} {tuple(map(int, criterion))} {pairs}"


def _verify_block(
    a: Int64s, b: Int64s, document_sets: DocumentSets, criterion: Criterion, threads: int, advance: Advance
) -> pa.Table:
    sets, set_a, set_b = document_sets.sets, document_sets.index(a), document_sets.index(b)
    shared = np.empty(len(a), np.int64)

    def work(first: int) -> int:
        part = slice(first, first + _SLICE)
        verify_pairs(sets.hashes, sets.offsets, set_a[part], set_b[part], criterion, shared[part])
        return len(shared[part])

    for done in ordered_map(work, range(0, len(a), _SLICE), threads):
        advance(done)
    similar = shared >= 0
    size_a, size_b = sets.sizes[set_a[similar]], sets.sizes[set_b[similar]]
    return verified_table(a[similar], b[similar], shared[similar], size_a, size_b)


def blocks(a: Int64s, b: Int64s, store: ShingleStore) -> Iterator[Int64s]:
    """Yield the indexes of the pairs of each pair of blocks; a block has about half of the shingles to hold."""
    involved = distinct(a, b)
    if len(involved) == 0:
        return
    block = np.cumsum(store.upper_bounds(involved)) // max(1, store.held_shingles // 2)
    if block[-1] < 2:
        yield np.arange(len(a))
        return
    block_a, block_b = block[np.searchsorted(involved, a)], block[np.searchsorted(involved, b)]
    key = block_a * (int(block[-1]) + 1) + block_b
    order = np.argsort(key, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(key[order])) + 1)


@dataclass(frozen=True)
class Closed:
    """The outcome of closing the pairs of a search.

    ``pairs`` (VERIFIED) are all known pairs, and ``hub`` (int64, ascending) the documents to join exactly. The
    ``components`` counted have at least three documents each, or a hub document; ``documents`` is their total.
    ``compared`` pairs within families were compared, and ``found`` of them met the criterion. ``joined`` documents
    were added to the hub documents; ``left_out`` documents were not, because the join would need more memory than
    the settings allow.
    """

    pairs: Pairs
    hub: Int64s
    components: int
    documents: int
    compared: int
    found: int
    joined: int
    left_out: int

    def as_dict(self) -> dict[str, int]:
        """The counts as ``run.json`` stores them."""
        names = ("components", "documents", "compared", "found", "joined", "left_out")
        return {name: int(getattr(self, name)) for name in names}


def families_of(a: Int64s, b: Int64s, documents: int) -> Int64s:
    """int64[documents]: the smallest document in the family of each document, from the pairs a[k], b[k].

    A document without a pair is its own family.
    """
    parent = np.arange(documents)
    unite(parent, a, b)
    family: Int64s = best_of_tree(parent, np.arange(documents))
    return family


def close(
    pairs: Pairs,
    proposed: Candidates,
    store: ShingleStore,
    first_new: int,
    settings: JoinSettings,
    progress: Progress,
    related: Related = EVERYONE,
    room: PairRoom | None = None,
) -> Closed:
    """Compare the documents that chains of ``pairs`` (VERIFIED) connect, or pass them on to the exact join.

    ``proposed`` holds the pairs already compared. Pairs of two documents below ``first_new`` are left out, and
    those of documents that are not ``related``. ``room`` is that for the pairs.
    """
    room = room or PairRoom()
    members, sizes = _families(pairs, store.documents)
    is_hub = np.zeros(store.documents, np.bool_)
    is_hub[proposed.hub] = True
    starts = np.cumsum(sizes) - sizes
    with_hub = np.add.reduceat(is_hub[members], starts) > 0 if len(sizes) else np.zeros(0, np.bool_)
    large = (sizes > HUB) | with_hub
    fits = _within_memory(members, sizes, large, is_hub, store, settings)
    is_hub[members[np.repeat(fits, sizes)]] = True
    small = ~large & (sizes > 2)
    chosen = np.repeat(small, sizes)
    sorter, compared = PairSorter(room), 0
    total = int((sizes[small] * (sizes[small] - 1) // 2).sum())
    with progress.stage("close", total, "pairs") as advance:
        within = _within(members[chosen], sizes[small], first_new, related, room)
        for table in within.batches(min(_AT_ONCE, room.most)):
            new = table.filter(pa.array(~proposed.pairs.has(keys_of(table))))
            if new.num_rows:
                sorter.add(verify(new, store, criterion_of(settings.search), settings.work.threads, advance))
                compared += new.num_rows
    more, hub = sorter.finish(), np.flatnonzero(is_hub)
    return Closed(
        pairs=pairs.union(room, more),
        hub=hub,
        components=int((large | small).sum()),
        documents=int(sizes[large | small].sum()),
        compared=compared,
        found=len(more),
        joined=len(hub) - len(proposed.hub),
        left_out=int(sizes[large & ~fits].sum()),
    )


def families_in(pairs: Pairs, documents: int) -> Int64s:
    """int64[documents]: like :func:`families_of`, from pairs that are read some at a time."""
    parent = np.arange(documents)
    for table in pairs.batches():
        unite(parent, column(table, "a"), column(table, "b"))
    family: Int64s = best_of_tree(parent, np.arange(documents))
    return family


def _families(pairs: Pairs, documents: int) -> tuple[Int64s, Int64s]:
    """(members, sizes): the documents that have pairs, family by family, ascending within each."""
    inside = pairs.documents(documents)
    family = families_in(pairs, documents)[inside]
    order = np.argsort(family, kind="stable")
    _, sizes = np.unique(family, return_counts=True)
    return inside[order], sizes.astype(np.int64)


def _within_memory(
    members: Int64s, sizes: Int64s, large: Bools, is_hub: Bools, store: ShingleStore, settings: JoinSettings
) -> Bools:
    """Which of the ``large`` families the exact join can hold besides the hub documents, smallest first."""
    if not large.any():
        return large
    room = settings.search.join_bytes / BYTES_A_SHINGLE - store.upper_bounds(np.flatnonzero(is_hub)).sum()
    shingles = np.add.reduceat(np.where(is_hub[members], 0, store.upper_bounds(members)), np.cumsum(sizes) - sizes)
    order = np.flatnonzero(large)[np.argsort(shingles[large], kind="stable")]
    fits = np.zeros(len(sizes), np.bool_)
    # a family whose documents are all hub documents already adds nothing, so it always fits
    fits[order] = (np.cumsum(shingles[order]) <= room) | (shingles[order] == 0)
    return fits


def _within(members: Int64s, sizes: Int64s, first_new: int, related: Related, room: PairRoom) -> Pairs:
    """The pairs within families that may be pairs."""
    sorter = PairSorter(room, counted=False)
    for keys in _pairs_within(members, sizes, min(_AT_ONCE, room.most)):
        keys = keys[(keys & 0xFFFF_FFFF) >= first_new]
        if related.restricts:
            keys = keys[related.may_pair(keys >> 32, keys & 0xFFFF_FFFF)]
        sorter.add_keys(keys.view(np.uint64))
    return sorter.finish()


def _pairs_within(members: Int64s, sizes: Int64s, most: int) -> Iterator[Int64s]:
    """Yield the keys of the pairs within families, about ``most`` at a time."""
    block = np.cumsum(sizes * (sizes - 1) // 2) // most
    starts = np.cumsum(sizes) - sizes
    for number in np.unique(block):
        parts = [np.empty(0, np.int64)]
        for size in np.unique(sizes[block == number]):
            first = starts[(block == number) & (sizes == size)]
            low, high = np.triu_indices(size, 1)
            a, b = (members[first[:, None] + end].ravel() for end in (low, high))
            parts.append((a << 32) | b)
        yield np.concatenate(parts)
