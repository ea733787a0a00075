"""Documents of an index that share most shingles with many others: their frequent shingles, as bits."""

from __future__ import annotations

import numpy as np

from neardup.join.repeats import repeats_of
from neardup.kernels.join.frequent import Searched, fill_frequent, fill_rest
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.runtime import ordered_map
from neardup.tables import Bools, Int64s, UInt64s

_LONG = 256
"""Lists that hold this many places to pass for each document are long: texts of one template are in them."""

_DRAWN = 4096
"""Documents that are looked at for frequent shingles."""

_FREQUENT = 64
"""A shingle is frequent if it is in more than one of this many documents."""

_WORDS = 4
"""Words of bits for a document, at most; together at most as many as their parities have."""

_MERGED = 4
"""Bits are not worth it if more than one of this many shingles would have to be merged all the same."""

_SLICE = 1 << 14


def searched(hubs: PrefixIndex, left_out: Bools, threads: int) -> Searched:
    """The documents to search, all but those ``left_out`` (bool[hubs]), with bits if their lists are long."""
    found, lengths = without_bits(left_out), np.diff(hubs.first)
    if not len(found.inside) or (lengths * lengths).sum() <= 2 * _LONG * len(found.inside):
        return found
    return _with_bits(found, hubs, threads)


def without_bits(left_out: Bools) -> Searched:
    """All documents but those ``left_out`` (bool[hubs]); their sets are merged."""
    nothing, words = np.zeros(0, np.int64), np.zeros(0, np.uint64)
    return Searched(left_out, np.flatnonzero(~left_out), np.zeros(0, np.int32), words, nothing, words, words)


def _with_bits(plain: Searched, hubs: PrefixIndex, threads: int) -> Searched:
    inside, hashes = plain.inside, hubs.hashes
    starts, sizes = hubs.starts[inside], hubs.sizes[inside]
    frequent = _frequent(hubs, inside)
    repeats = repeats_of(hashes, starts, sizes, threads)
    bits, counts = np.zeros((len(inside), -(-len(frequent) // 64)), np.uint64), np.empty(len(inside), np.int64)
    spans = [slice(first, first + _SLICE) for first in range(0, len(inside), _SLICE)]

    def count(span: slice) -> None:
        fill_frequent(hashes, starts[span], sizes[span], frequent, repeats, bits[span], counts[span])

    for _ in ordered_map(count, spans, threads):
        pass
    rest_at = np.concatenate(([0], np.cumsum(counts)))
    if not len(frequent) or _MERGED * rest_at[-1] > sizes.sum():
        return plain
    rest, rest_bits = np.empty(rest_at[-1], np.uint64), np.zeros(len(inside), np.uint64)

    def fill(span: slice) -> None:
        ends = rest_at[span.start : span.stop + 1]
        fill_rest(hashes, starts[span], sizes[span], frequent, repeats, ends, rest, rest_bits[span])

    for _ in ordered_map(fill, spans, threads):
        pass
    place = np.full(len(hubs.documents), -1, np.int32)
    place[inside] = np.arange(len(inside), dtype=np.int32)
    return Searched(plain.left_out, inside, place, bits.ravel(), rest_at, rest, rest_bits)


def _frequent(hubs: PrefixIndex, inside: Int64s) -> UInt64s:
    """The most frequent shingles (uint64, ascending) of the documents inside, by some of them."""
    drawn = inside[:: -(-len(inside) // _DRAWN)]
    sets = [hubs.hashes[hubs.starts[x] : hubs.starts[x] + hubs.sizes[x]] for x in drawn]
    values, counts = np.unique(np.concatenate(sets), return_counts=True)
    words = min(_WORDS, int(np.diff(hubs.parity_at)[inside].sum()) // len(inside))
    many = np.flatnonzero(counts > max(1, len(drawn) // _FREQUENT))
    chosen = many[np.argsort(-counts[many], kind="stable")][: 64 * words]
    return np.sort(values[chosen])
