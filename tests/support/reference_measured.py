"""All pairs of texts by a measure, with its integers: brute force over every pair, nothing skipped by a bound.

Words and shingles are counted on plain Python sets and counters; chunks by ``nd.compare``, or by the bulk counts
of ``matching``, which have laws of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

import neardup as nd
from support import reference, shared_data
from support.chunk_counts import chunk_measures
from support.reference_join import cosine_of
from support.reference_matching import shingles
from support.reference_order import lcs_with, places_of

MEASURES = (
    ("vocabulary", "literal"),
    ("multiset", "literal"),
    ("chunk-longest", "literal"),
    ("chunk-longest", "information"),
    ("chunk-union", "literal"),
    ("chunk-union", "information"),
    ("lcs", "literal"),
)
"""(measure, matching) of the measures that do not count distinct shingles."""

OF_SHINGLES = ("overlap-max", "dice", "cosine")
"""Measures that count distinct shingles."""

COUNTED = ("shared", "size_a", "size_b")

Pair = tuple[int, int]


@dataclass(frozen=True)
class Integers:
    """The shared part, and the part of each."""

    common: int
    total_a: int
    total_b: int

    @classmethod
    def of(cls, row: dict[str, Any], measure: str) -> Integers:
        """Return those of a pair in a table."""
        shingles = measure in OF_SHINGLES
        return cls(*(row[name] for name in (COUNTED if shingles else ("common", "total_a", "total_b"))))

    def value(self, measure: str) -> Fraction:
        """Return the measure, or the square of a cosine."""
        return Fraction(*self.share(measure))

    def shown(self, measure: str) -> float:
        if measure == "cosine":
            return cosine_of(self.common, self.total_a, self.total_b)
        return float(self.value(measure))

    def share(self, measure: str) -> tuple[int, int]:
        if measure == "cosine":
            return self.common**2, self.total_a * self.total_b
        if measure in ("lcs", "dice"):
            return 2 * self.common, self.total_a + self.total_b
        if measure in ("chunk-longest", "overlap-max"):
            return self.common, max(self.total_a, self.total_b)
        return self.common, self.total_a + self.total_b - self.common

    def reaches(self, measure: str, least: Fraction) -> bool:
        part, whole = self.share(measure)
        least **= 1 + (measure == "cosine")
        return part * least.denominator >= least.numerator * whole


def key_in_compare(measure: str, matching: str) -> str:
    """Return what ``nd.compare`` calls the measure."""
    name = measure.replace("-", "_")
    return f"{name}_{matching}" if measure.startswith("chunk") else name


def by_compare(texts: Sequence[str], measure: str, matching: str, length: int) -> dict[Pair, float]:
    """Return the measure of every pair of texts, as ``nd.compare`` has it."""
    name = key_in_compare(measure, matching)
    return {
        (a, b): nd.compare(texts[a], texts[b], length=length).measures[name]
        for a, b in combinations(range(len(texts)), 2)
    }


@cache
def different(name: str) -> list[str]:
    """Return the texts of a real set without exact copies."""
    firsts = shared_data.firsts(name)
    return [text for k, text in enumerate(shared_data.documents(name).values()) if firsts[k] == k]


@cache
def different_tokens(name: str) -> list[list[str]]:
    firsts = shared_data.firsts(name)
    return [tokens for k, tokens in enumerate(shared_data.tokens(name)) if firsts[k] == k]


@cache
def counted_pairs(name: str, kind: str) -> dict[Pair, Integers]:
    """Return the integers of all pairs of ``different`` texts that have anything in common, 5-token shingles.

    ``kind`` is vocabulary, multiset, literal, information, lcs or one of OF_SHINGLES.
    """
    documents = different_tokens(name)
    if kind == "lcs":
        return _subsequences(documents)
    if kind in ("literal", "information"):
        return {pair: counts for pair, counts in _chunks(name)[kind].items() if counts.common}
    if kind == "vocabulary":
        counters = [Counter(set(tokens)) for tokens in documents]
    else:
        counters = [Counter(shingles(tokens, 5)) for tokens in documents]
    if kind in OF_SHINGLES:
        counters = [Counter(set(counter)) for counter in counters]
    keys = [frozenset(counter) for counter in counters]
    totals = [counter.total() for counter in counters]
    found = {}
    for a, b in combinations(range(len(documents)), 2):
        both = keys[a] & keys[b]
        common = len(both)
        if kind != "vocabulary":
            common = sum(min(counters[a][key], counters[b][key]) for key in both)
        if common:
            found[a, b] = Integers(common, totals[a], totals[b])
    return found


def _subsequences(documents: Sequence[Sequence[str]]) -> dict[Pair, Integers]:
    """Return the longest common subsequence of every pair; the places of the longer text are found once."""
    sizes = list(map(len, documents))
    order = sorted(range(len(documents)), key=lambda number: (-sizes[number], number))
    found = {}
    for at, longer in enumerate(order):
        places = places_of(documents[longer])
        for shorter in order[at + 1 :]:
            common = lcs_with(places, sizes[longer], documents[shorter])
            a, b = sorted((longer, shorter))
            found[a, b] = Integers(common, sizes[a], sizes[b])
    return dict(sorted(found.items()))


@cache
def _chunks(name: str) -> dict[str, dict[Pair, Integers]]:
    streams = [np.array(reference.unit_hashes(text, "word"), np.uint64) for text in different(name)]
    offsets = np.cumsum([0, *map(len, streams)])
    a, b = np.triu_indices(len(streams), 1)
    counts = chunk_measures(np.concatenate(streams), offsets, a, b)
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))

    def integers(*columns: np.ndarray) -> dict[Pair, Integers]:
        rows = np.column_stack(columns).tolist()
        return {pair: Integers(*row) for pair, row in zip(pairs, rows, strict=True)}

    return {
        "literal": integers(counts.common_literal, counts.tokens_a, counts.tokens_b),
        "information": integers(counts.common_information, counts.new_a, counts.new_b),
    }
