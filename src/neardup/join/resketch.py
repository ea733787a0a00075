"""Families of documents → the pairs among them that LSH would propose with other hash functions.

Similarities alone do not determine which pairs are missed together; the sets do. Shingles that occur in the same
documents of a family are interchangeable, so the label of a shingle consists of the documents that contain it and
a number among the shingles with the same documents. Labels are hashed anew for each seed, then sketched and banded
as in a run. The result therefore depends only on which documents share how many shingles, not on the original
hashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from neardup.kernels.lsh.buckets import band_keys
from neardup.kernels.sketch.minhash import sketch_sets
from neardup.lsh.bands import Plan
from neardup.runtime import ordered_map
from neardup.sketch.documents import ShingleSets, classic_coefficients
from neardup.tables import Bools, Int64s, UInt64s

SEEDS = 100
"""Number of seeds with which families are sketched again."""

_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15))


def proposed_again(
    sets: ShingleSets, families: Int64s, ends: tuple[Int64s, Int64s], plan: Plan, sketch: str, threads: int = 1
) -> Iterator[Bools]:
    """Yield bool[pairs] for each of SEEDS seeds: which pairs of sets agree in a band of ``plan``.

    ``families`` (int64[sets]) numbers the family of each set; ``ends`` has the two sets of each pair.
    """
    a, b = ends

    def agreeing(bands: Iterator[UInt64s]) -> Bools:
        hit = np.zeros(len(a), np.bool_)
        for keys in bands:
            hit |= keys[a] == keys[b]
        return hit

    return banded_again(sets, families, plan, sketch, agreeing, threads)


def banded_again(
    sets: ShingleSets,
    families: Int64s,
    plan: Plan,
    sketch: str,
    look: Callable[[Iterator[UInt64s]], Bools],
    threads: int = 1,
) -> Iterator[Bools]:
    """Yield what ``look`` makes of the bands with each of SEEDS seeds: it receives the keys of all sets, by band.

    ``families`` (int64[sets]) numbers the family of each set. The keys of a band (uint64[sets]) are valid until
    the next one.
    """
    labels, documents = labels_of(sets, families), len(sets.offsets) - 1
    firsts, coefficients = np.concatenate(([0], np.cumsum(plan.bands))), classic_coefficients(plan.slots)

    def looked_at(seed: np.uint64) -> Bools:
        hashes, keys = _hashed_anew(labels, seed), np.empty(documents, np.uint64)
        signatures = np.empty((documents, plan.slots), np.uint32)
        chosen = np.empty((documents, plan.slots), np.bool_)
        sketch_sets(hashes, sets.offsets, sketch == "classic", *coefficients, signatures, chosen)

        def bands() -> Iterator[UInt64s]:
            for band, rows in enumerate(plan.bands):
                band_keys(signatures, firsts[band], rows, band, keys)
                yield keys

        return look(bands())

    return ordered_map(looked_at, mixed(np.arange(SEEDS, dtype=np.uint64)), threads)


def _hashed_anew(labels: UInt64s, seed: np.uint64) -> UInt64s:
    """Return new hashes of the labels, which are already well mixed."""
    out, high = np.bitwise_xor(labels, seed), np.empty_like(labels)
    for factor in _MIX[:2]:
        np.multiply(out, factor, out=out)
        np.right_shift(out, np.uint64(32), out=high)
        np.bitwise_xor(out, high, out=out)
    return out


def labels_of(sets: ShingleSets, families: Int64s) -> UInt64s:
    """uint64[shingles]: the label of each shingle; within a family, equal shingles have equal labels.

    A label combines the numbers of the sets that contain the shingle with its number among the shingles of exactly
    those sets.
    """
    owner = np.repeat(np.arange(len(sets.offsets) - 1, dtype=np.uint64), sets.sizes)
    of_family = mixed(families.astype(np.uint64) + np.uint64(1))
    places = sets.hashes ^ of_family[owner.astype(np.int64)]  # the same shingle in two families counts as two
    order = np.argsort(places, kind="stable")
    new = np.ones(len(order), np.bool_)
    new[1:] = places[order[1:]] != places[order[:-1]]
    group = np.cumsum(new) - 1
    if not len(order):
        return np.empty(0, np.uint64)
    holders = np.add.reduceat(mixed(owner[order] + np.uint64(1)), np.flatnonzero(new))
    # the number of each shingle among those that the same sets contain
    like = np.argsort(holders, kind="stable")
    begins = np.ones(len(like), np.bool_)
    begins[1:] = holders[like[1:]] != holders[like[:-1]]
    at = np.arange(len(like))
    number = np.empty(len(like), np.uint64)
    number[like] = at - np.maximum.accumulate(np.where(begins, at, 0))
    labels = np.empty(len(order), np.uint64)
    # the sum alone would not distinguish number and holders
    labels[order] = mixed(mixed(holders) + number)[group]
    return labels


def mixed(numbers: UInt64s) -> UInt64s:
    """uint64: each number well mixed (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    first, second, step = _MIX
    x = numbers + step
    x ^= x >> np.uint64(30)
    x *= first
    x ^= x >> np.uint64(27)
    x *= second
    x ^= x >> np.uint64(31)
    return x
