"""The documents of hub buckets → an exact join among them, made to be searched lazily.

A bucket with thousands of members is a crowd of true copies, or boilerplate that many unlike texts share. Its
members are joined exactly instead: each stands in the lists of its rarest shingles, and every pair at or above
the threshold meets in one of them. No pair of a hub bucket is lost, and most of its false ones are never
looked at.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from neardup.kernels import hubs as kernels
from neardup.kernels.hubs import Hubs
from neardup.kernels.order import equal_runs, sorted_by_key
from neardup.parallel import ordered_map
from neardup.shingle_store import ShingleStore
from neardup.tables import Bools, Int64s, UInt64s, verified_table

_SLICE = 1024
"""Documents whose partners one task looks for; each task holds 8 bytes for every hub document."""

_SORT_BITS = 11


def join_hubs(documents: Int64s, total: int, store: ShingleStore, least: tuple[int, int]) -> Hubs:
    """The prefix lists of the hub ``documents`` (ascending numbers below ``total``) for a threshold p, q."""
    if not len(documents):
        return no_hubs(total)
    found = store.get(documents)
    sets, at = found.sets, found.index(documents)
    order = np.argsort(sets.sizes[at], kind="stable")
    sizes, starts = sets.sizes[at[order]], sets.offsets[at[order]]
    repeats = _repeats(sets.hashes, starts, sizes)
    entries, owner, largest = kernels.rare_prefixes(sets.hashes, starts, sizes, repeats, *least)
    members, first = _lists(entries, owner)
    begin, list_of, place = _entries(members, first, len(documents))
    numbers = documents[order]
    local = np.full(total, -1, np.int64)
    local[numbers] = np.arange(len(documents))
    return Hubs(numbers, local, sets.hashes, starts, sizes, begin, list_of, place, members, first, largest)


def no_hubs(total: int) -> Hubs:
    """The join of no documents, for corpora without hubs."""
    nothing, one = np.zeros(0, np.int64), np.zeros(1, np.int64)
    local = np.full(total, -1, np.int64)
    hashes = np.zeros(0, np.uint64)
    return Hubs(nothing, local, hashes, nothing, nothing, one, nothing, nothing, nothing, one, nothing)


def all_pairs(hubs: Hubs, left_out: Bools, reference: int, least: tuple[int, int], threads: int) -> pa.Table:
    """The VERIFIED table of all pairs of hub documents, but for those with a document that is ``left_out``."""

    def work(first: int) -> Int64s:
        until = min(first + _SLICE, len(hubs.documents))
        found: Int64s = kernels.hub_pairs(hubs, first, until, left_out, reference, *least)
        return found

    slices = range(0, len(hubs.documents), _SLICE)
    return verified(hubs, np.concatenate([np.empty((0, 3), np.int64), *ordered_map(work, slices, threads)]))


def verified(hubs: Hubs, found: Int64s) -> pa.Table:
    """The VERIFIED table of rows (x, y, |x∩y|) of hub numbers."""
    a, b = hubs.documents[found[:, 0]], hubs.documents[found[:, 1]]
    size_a, size_b = hubs.sizes[found[:, 0]], hubs.sizes[found[:, 1]]
    swap = a > b
    ends = np.where(swap, b, a), np.where(swap, a, b)
    return verified_table(*ends, found[:, 2], np.where(swap, size_b, size_a), np.where(swap, size_a, size_b))


def _repeats(hashes: UInt64s, starts: Int64s, sizes: Int64s) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """How often each shingle comes again, by its low bits; about four bytes of scratch a shingle."""
    bits = max(16, int(sizes.sum()).bit_length())
    repeats = np.zeros(1 << bits, np.uint8)
    kernels.count_repeats(hashes, starts, sizes, np.zeros(1 << (bits - 2), np.uint64), repeats)
    return repeats


def _lists(entries: UInt64s, owner: np.ndarray[tuple[int], np.dtype[np.int32]]) -> tuple[Int64s, Int64s]:
    """(members, first): the owners of each entry that more than one document has, by size."""
    passes = max(1, min(4, (len(entries).bit_length() + 3) // _SORT_BITS + 1))
    order = sorted_by_key(entries, passes)  # stable, and owners come by size
    starts, lengths = equal_runs(entries, order, _SORT_BITS * passes)
    first = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    at = np.arange(first[-1]) - np.repeat(first[:-1], lengths) + np.repeat(starts, lengths)
    return owner[order[at]].astype(np.int64), first


def _entries(members: Int64s, first: Int64s, documents: int) -> tuple[Int64s, Int64s, Int64s]:
    """(begin, list_of, place): in which lists each document stands, and where."""
    list_of = np.repeat(np.arange(len(first) - 1), np.diff(first))
    place = np.arange(len(members)) - np.repeat(first[:-1], np.diff(first))
    order = np.argsort(members, kind="stable")
    begin = np.concatenate(([0], np.cumsum(np.bincount(members, minlength=documents)))).astype(np.int64)
    return begin, list_of[order], place[order]
