"""Candidate pairs → verified pairs: exact integers from the texts, and only pairs that meet the criterion."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from neardup.join.shingle_store import DocumentSets, ShingleStore
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.runtime import Advance, ordered_map
from neardup.tables import VERIFIED, Int64s, column, distinct, verified_table

_SLICE = 1 << 14
"""Pairs a thread verifies at a time."""


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
        found = None if store.journal is None else store.journal.get(name)
        if found is None:
            sets = store.get(distinct(a[inside], b[inside]))
            found = _verify_block(a[inside], b[inside], sets, criterion, threads, advance)
            if store.journal is not None:
                store.journal.put(name, found)
        results.append(found)
    table = pa.concat_tables(results)
    return verified_table(*(column(table, name) for name in VERIFIED.names))


def _name(a: Int64s, b: Int64s, criterion: Criterion, store: ShingleStore) -> str:
    """A name for the verification of these pairs."""
    if store.journal is None:
        return ""
    pairs = hashlib.sha256(np.concatenate((a, b)).tobytes()).hexdigest()
    return f"verified {store.features} {tuple(map(int, criterion))} {pairs}"


def _verify_block(
    a: Int64s, b: Int64s, found: DocumentSets, criterion: Criterion, threads: int, advance: Advance
) -> pa.Table:
    sets, set_a, set_b = found.sets, found.index(a), found.index(b)
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
    block = np.cumsum(store.bound(involved)) // max(1, store.held_shingles // 2)
    if block[-1] < 2:
        yield np.arange(len(a))
        return
    block_a, block_b = block[np.searchsorted(involved, a)], block[np.searchsorted(involved, b)]
    key = block_a * (int(block[-1]) + 1) + block_b
    order = np.argsort(key, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(key[order])) + 1)
