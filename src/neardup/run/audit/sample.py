"""The sample of documents for an audit: drawn by strata, and the same in every run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.kernels.shingles import mix_all
from neardup.tables import Bools, Int64s

SEED = 0x6E6561726475700A
"""Seed of the sample; fixed, so that an audit can be repeated."""

_SIZES = ("short", "medium", "long")


@dataclass(frozen=True)
class Strata:
    """The stratum of each document of a population (int64, numbers of ``names``)."""

    of: Int64s
    names: tuple[str, ...]

    @property
    def sizes(self) -> Int64s:
        """Number of documents of each."""
        return np.bincount(self.of, minlength=len(self.names))


def strata_of(units: Int64s, has_pair: Bools, wanted: int) -> Strata:
    """Thirds by size (``units``) × with or without a reported pair; a single stratum if few are ``wanted``."""
    ordered = np.sort(units)
    thirds = [ordered[(len(units) * k + 2) // 3 - 1] for k in (1, 2)]
    by_size = (units > thirds[0]).astype(np.int64) + (units > thirds[1])
    label, of = np.unique(2 * by_size + ~has_pair, return_inverse=True)
    if wanted < len(label):
        return Strata(np.zeros(len(units), np.int64), ("all",))
    return Strata(of, tuple(f"{_SIZES[k // 2]}, {'in no pair' if k % 2 else 'in a pair'}" for k in label))


def allocate(sizes: Int64s, wanted: int) -> Int64s:
    """How many documents to draw from each stratum: equal numbers; others make up for strata that are too small.

    >>> allocate(np.array([10, 500, 300]), 100)
    array([10, 45, 45])
    """
    drawn, left = np.zeros(len(sizes), np.int64), wanted
    order = np.argsort(sizes, kind="stable")
    for done, k in enumerate(order):
        drawn[k] = min(int(sizes[k]), left // (len(order) - done))
        left -= int(drawn[k])
    return drawn


def draw(strata: Strata, wanted: int, seed: int = SEED) -> Int64s:
    """The drawn documents, ascending: in each stratum, those whose numbers have the smallest hashes."""
    numbers = np.arange(len(strata.of)).astype(np.uint64)
    hashes = np.empty(len(numbers), np.uint64)
    mix_all(numbers + np.uint64(seed), hashes)
    order = np.lexsort((hashes, strata.of))
    firsts = np.concatenate(([0], np.cumsum(strata.sizes)))
    each = allocate(strata.sizes, wanted)
    return np.sort(np.concatenate([order[first : first + n] for first, n in zip(firsts, each, strict=False)]))
