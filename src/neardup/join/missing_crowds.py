"""Listed pairs of crowds → an estimate of the members that LSH lost, with its uncertainty.

The documents of large buckets are joined exactly, so that a pair of two of them is never missed. But LSH gathers
these documents: one that shares no band with the others is not among them, and is lost to the whole crowd. Of a
crowd only the pair of each member with its leader is listed, so a lost member is one missed pair. The members are
therefore sketched again with other seeds, and those are counted that neither agree with their leader, nor are in a
large bucket, nor agree with another document of the crowd that is a pair with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from neardup.join.estimates import FEW, Missing
from neardup.join.lsh_candidates import HUB
from neardup.join.pair_file import Pairs, batches
from neardup.join.resketch import banded_again
from neardup.join.shingle_store import sets_at
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.kernels.sorting import equal_groups
from neardup.lsh.bands import Plan
from neardup.sketch.documents import ShingleSets
from neardup.tables import Bools, Floats, Int64s, UInt64s, column

_SHINGLES = 1 << 18
"""Shingles of the members sketched again; from larger crowds, members are drawn."""

_FEWEST = 64
"""Members of a crowd that are drawn, at least."""


class Members(NamedTuple):
    """The pairs of ``member`` and ``leader`` (places in ``documents``), the ``crowd`` of each, and its ``weight``.

    ``documents`` (int64, ascending) are all these; of each, ``share`` documents of its crowd were drawn.
    """

    documents: Int64s
    member: Int64s
    leader: Int64s
    crowd: Int64s
    weight: Floats
    share: Floats


def missing_members(
    pairs: Pairs,
    index: PrefixIndex,
    limited: Bools,
    criterion: Criterion,
    plan: Plan,
    sketch: str,
    threads: int = 1,
) -> Missing:
    """Estimate the missed pairs from the reported ``pairs`` that have a ``limited`` document of the ``index``."""
    drawn = _drawn(*_with_leaders(pairs, index, limited), index)
    if not len(drawn.member):
        return Missing()
    at = index.local[drawn.documents]
    sets = sets_at(index.hashes, index.starts[at], index.sizes[at])

    def look(bands: Iterator[UInt64s]) -> Bools:
        return found_again(bands, drawn, sets, criterion)

    one_family = np.zeros(len(drawn.documents), np.int64)
    return of_members(drawn, banded_again(sets, one_family, plan, sketch, look, threads))


def of_members(drawn: Members, found: Iterable[Bools]) -> Missing:
    """Estimate the missed pairs from whether LSH with other seeds has ``found`` each member (bool[members])."""
    hits = np.array(list(found), np.bool_)
    # unbiased for 1/π, except for members that hardly any seed finds
    each = (len(hits) + 1) / (hits.sum(axis=0) + 1)
    odds, number = each - 1, int(drawn.crowd.max()) + 1
    alone = odds + odds * odds
    of_crowd = np.bincount(drawn.crowd, alone, number)
    weight = np.bincount(drawn.crowd, drawn.weight, number) / np.bincount(drawn.crowd, minlength=number)
    off = np.array([np.bincount(drawn.crowd, 1 - hit * each, number) for hit in hits])
    # members are lost together with the slots of their leader: this part grows with the square of the crowd
    together = np.maximum(0, (off**2).mean(axis=0) - of_crowd)
    variance = FEW * (weight**2 * together + weight * of_crowd)
    estimated, unrelated = (float((values * drawn.weight).sum()) for values in (odds, alone))
    return Missing(estimated, float(variance.sum()), unrelated)


def found_again(bands: Iterable[UInt64s], drawn: Members, sets: ShingleSets, criterion: Criterion) -> Bools:
    """bool[members]: which ones LSH gathers by these keys (uint64[documents] for each band)."""
    found, kept = np.zeros(len(drawn.documents), np.bool_), []
    agreed = np.zeros(len(drawn.member), np.bool_)
    for keys in bands:
        agreed |= keys[drawn.member] == keys[drawn.leader]
        order, starts, sizes = equal_groups(keys)
        several = np.flatnonzero(sizes > 1)
        bucket = np.repeat(several, sizes[several])
        inside = order[np.repeat(starts[several], sizes[several]) + _within(sizes[several])]
        # a document stands for several of its bucket
        large = np.bincount(bucket, 1 / drawn.share[inside], len(sizes)) > HUB
        found[inside[large[bucket]]] = True
        kept.append((inside, bucket))
    found[drawn.member[agreed]] = True
    lost = np.flatnonzero(~found)
    if len(lost):
        found[_met(lost, kept, sets, criterion)] = True
    gathered: Bools = found[drawn.member]
    return gathered


def _met(lost: Int64s, buckets: list[tuple[Int64s, Int64s]], sets: ShingleSets, criterion: Criterion) -> Int64s:
    """Those of the ``lost`` documents that are in a bucket with a document that is a pair with them."""
    is_lost = np.zeros(len(sets.sizes), np.bool_)
    is_lost[lost] = True
    ends = [np.empty((2, 0), np.int64)]
    for inside, bucket in buckets:  # buckets ascend
        places = np.flatnonzero(is_lost[inside])
        begin, end = (np.searchsorted(bucket, bucket[places], side) for side in ("left", "right"))
        others = inside[np.repeat(begin, end - begin) + _within(end - begin)]
        ends.append(np.stack((np.repeat(inside[places], end - begin), others)))
    x, y = np.concatenate(ends, axis=1)
    x, y = x[x != y], y[x != y]
    shared = np.empty(len(x), np.int64)
    verify_pairs(sets.hashes, sets.offsets, x, y, criterion, shared)
    return np.unique(x[shared >= 0])


def _within(sizes: Int64s) -> Int64s:
    """0, 1, … below each of the sizes, one after the other."""
    numbers: Int64s = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return numbers


def _with_leaders(pairs: Pairs, index: PrefixIndex, limited: Bools) -> tuple[Int64s, Int64s]:
    """(members, leaders): the ends of the pairs with a limited document; the one with more such pairs leads."""
    inside, ends = index.local >= 0, [np.empty((0, 2), np.int64)]
    for some in batches(pairs):
        a, b = column(some, "a"), column(some, "b")
        chosen = inside[a] & inside[b] & (limited[a] | limited[b])
        ends.append(np.column_stack((a[chosen], b[chosen])))
    a, b = np.concatenate(ends).T
    counts = np.bincount(np.concatenate((a, b)), minlength=len(limited))
    leads = counts[a] >= counts[b]
    return np.where(leads, b, a), np.where(leads, a, b)


def _drawn(members: Int64s, leaders: Int64s, index: PrefixIndex) -> Members:
    """All members and their leaders, or some of each crowd if they are too many."""
    heads, crowd, sizes = np.unique(leaders, return_inverse=True, return_counts=True)
    shingles = int(index.sizes[index.local[members]].sum())
    least = np.minimum(1, _FEWEST / sizes)
    share = np.maximum(min(1.0, _SHINGLES / max(1, shingles)), least)[crowd]
    kept = np.flatnonzero(np.random.default_rng(12).random(len(members)) < share)
    members, leaders, of = members[kept], leaders[kept], crowd[kept]
    drawn = np.bincount(of, minlength=len(heads))
    weight = (sizes / np.maximum(drawn, 1))[of]
    documents = np.unique(np.concatenate((members, leaders)))
    shares = np.ones(len(documents))
    shares[np.searchsorted(documents, members)] = 1 / weight
    shares[np.searchsorted(documents, leaders)] = 1  # a leader is there anyway
    ends = np.searchsorted(documents, members), np.searchsorted(documents, leaders)
    return Members(documents, *ends, np.unique(of, return_inverse=True)[1], weight, shares)
