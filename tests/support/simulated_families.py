"""Runs of LSH over real families with other seeds: what each misses before and after closing, and what it states.

The tests and ``benchmarks/recall.py`` share it: what the one asserts, the other writes into a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

import neardup as nd
from neardup.deduplication.join.misses import SEEDS, Missing, missed_with, of_families, of_pairs
from neardup.deduplication.run.recall import missed_pairs
from neardup.kernels.components import best_of_tree, unite
from neardup.text.lsh.bands import Plan, plan
from support import reference, shared_data
from support.simulated_pairs import no_band_equal

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """Different texts of a set: their shingles as numbers, and all pairs that share some, counted."""

    ids: NDArray[np.uint64]
    offsets: Int64s
    a: Int64s
    b: Int64s
    shared: Int64s
    union: Int64s


@dataclass(frozen=True)
class Runs:
    """``runs`` over the ``pairs`` of a set: means of what was missed, and the share of statements that hold.

    ``widest`` is the greatest number of pairs missed after closing.
    """

    runs: int
    pairs: int
    before: float
    after: float
    estimated: float
    widest: int
    held: float


@cache
def texts_of(name: str) -> Texts:
    """Return the different texts of a set, by the unit its pairs are counted in."""
    unit = "char" if name in shared_data.CHAR_SETS else "word"
    number: dict[object, int] = {}
    documents = list(shared_data.documents(name).values())
    every = [documents[k] for k, first in enumerate(shared_data.firsts(name)) if first == k]
    sets = [found for text in every if (found := reference.shingle_set(text, 5, unit))]
    ids = np.concatenate([np.array([number.setdefault(s, len(number)) for s in of], np.uint64) for of in sets])
    offsets = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    owner, order = np.repeat(np.arange(len(sets)), np.diff(offsets)), np.argsort(ids, kind="stable")
    counts = np.zeros((len(sets), len(sets)), np.int64)
    for holders in np.split(owner[order], np.flatnonzero(np.diff(ids[order])) + 1):
        if len(holders) > 1:
            counts[np.ix_(holders, holders)] += 1
    a, b = np.nonzero(np.triu(counts, 1))
    sizes, shared = np.diff(offsets), counts[a, b]
    return Texts(ids, offsets, a, b, shared, sizes[a] + sizes[b] - shared)


def runs_of(name: str, threshold: float, sketch: str, recalls: tuple[float, ...], runs: int) -> Iterator[Runs]:
    """Run LSH with the seeds 1 … ``runs`` for each planned recall; later seeds sketch the families again."""
    texts = texts_of(name)
    true = texts.shared >= threshold * texts.union - 1e-9
    a, b, shared, union = (values[true] for values in (texts.a, texts.b, texts.shared, texts.union))
    plans = [plan(threshold, recall) for recall in recalls]
    proposed: list[list[Bools]] = [[] for _ in plans]
    for equal in _equal_slots(texts, a, b, sketch, runs + SEEDS):
        for chosen, hits in zip(plans, proposed, strict=True):
            hits.append(~no_band_equal(equal, chosen))
    for chosen, hits in zip(plans, proposed, strict=True):
        yield _runs(a, b, missed_with(chosen, sketch, shared, union), chosen, np.array(hits), runs)


def _equal_slots(texts: Texts, a: Int64s, b: Int64s, sketch: str, seeds: int) -> Iterator[Bools]:
    family = nd.MinHash(sketch=sketch)
    for seed in range(1, seeds + 1):
        offset = np.random.default_rng(seed).integers(0, 2**63, dtype=np.uint64)
        signatures, _ = family.sketch_ids(texts.ids + offset, texts.offsets)
        yield signatures[a] == signatures[b]


def _runs(a: Int64s, b: Int64s, chances: NDArray[np.float64], chosen: Plan, hits: Bools, runs: int) -> Runs:
    before, after, estimated, held = [], [], [], 0
    at_threshold = 1 - chosen.probability(chosen.threshold)
    for hit in hits[:runs]:
        family = components(a[hit], b[hit], int(max(a.max(), b.max())) + 1)
        found = family[a] == family[b]
        interval = missed_pairs(stated(a, b, family, found, chances, hits[runs:]), at_threshold)
        before.append((~hit).sum())
        after.append((~found).sum())
        estimated.append(interval.estimated)
        held += int(interval.low <= after[-1] <= interval.high)
    return Runs(runs, len(a), np.mean(before), np.mean(after), np.mean(estimated), int(np.max(after)), held / runs)


def stated(
    a: Int64s, b: Int64s, family: Int64s, found: Bools, chances: NDArray[np.float64], again: Bools
) -> Missing:
    """Return what the ``found`` pairs stand for, as in a run that sketches the families ``again``."""
    of_pair = family[a[found]]
    twos = np.bincount(family)[of_pair] == 2
    total = of_pairs(chances[found][twos])
    more = np.flatnonzero(found)[~twos]
    if not len(more):
        return total
    _, numbers = np.unique(of_pair[~twos], return_inverse=True)
    return total + of_families(a[more], b[more], numbers, again[:, more])


def components(a: Int64s, b: Int64s, documents: int) -> Int64s:
    """Return for each document the first of its family."""
    parent = np.arange(documents)
    unite(parent, a, b)
    first: Int64s = best_of_tree(parent, np.arange(documents))
    return first
