"""Naive twin of the adviser: every number from Python sets, every pair of documents looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import pyarrow as pa

from support import reference, reference_search

Shingle = tuple[str, ...]


class Naive:
    """Documents as sets of shingles, exact copies folded into the first of them."""

    def __init__(self, texts: Sequence[str], unit: str = "word", length: int = 5) -> None:
        self.texts, self.unit, self.length = texts, unit, length
        cut = reference.tokens if unit == "word" else reference.characters
        self.units = [cut(text) for text in texts]
        self.sets = [frozenset(reference.shingles_of(units, length)) for units in self.units]
        first: dict[tuple[str, ...], int] = {}
        self.firsts = [first.setdefault(tuple(units), k) for k, units in enumerate(self.units)]
        self.unique = [k for k, at in enumerate(self.firsts) if at == k and self.sets[k]]
        self.pairs = dict(self._pairs())

    def _pairs(self) -> Iterator[tuple[tuple[int, int], Fraction]]:
        for a, b in combinations(self.unique, 2):
            shared = len(self.sets[a] & self.sets[b])
            if shared:
                yield (a, b), Fraction(shared, len(self.sets[a] | self.sets[b]))

    def at_least(self, threshold: Fraction) -> dict[tuple[int, int], Fraction]:
        """Return the pairs at or above the threshold."""
        return {pair: similarity for pair, similarity in self.pairs.items() if similarity >= threshold}

    def leaders(self, threshold: Fraction) -> dict[int, int]:
        """Return the representative of every document that is not empty: the longest, ties to the first."""
        order = sorted(self.unique, key=lambda k: (-len(self.units[k]), k))
        number = {document: k for k, document in enumerate(self.unique)}
        rank = [order.index(document) for document in self.unique]
        found = {(number[a], number[b]): value for (a, b), value in self.at_least(threshold).items()}
        leader = reference_search.principal(found, rank, 0)
        of_unique = {document: self.unique[leader[k]] for document, k in number.items()}
        return {k: of_unique[at] for k, at in enumerate(self.firsts) if self.sets[k]}

    def removed(self, threshold: Fraction) -> set[int]:
        """Return the documents that go; those without text stay."""
        return {k for k, leader in self.leaders(threshold).items() if leader != k}

    def groups(self, threshold: Fraction) -> int:
        """Return the number of groups of at least two documents."""
        return sum(count > 1 for count in Counter(self.leaders(threshold).values()).values())


def numbered(units: Sequence[str], length: int) -> set[tuple[Shingle, int]]:
    """Return the shingles with the number of their occurrence: a set in which repeats stay apart."""
    seen: Counter[Shingle] = Counter()
    found = set()
    for start in range(max(len(units) - length, 0) + 1):
        shingle = tuple(units[start : start + length])
        found.add((shingle, seen[shingle]))
        seen[shingle] += 1
    return found


def as_texts(texts: Sequence[str]) -> pa.Array:
    """Return the texts as the adviser holds them."""
    return pa.array([text.encode() for text in texts], pa.large_binary())


def shared_shingles(texts: Sequence[str], unit: str, length: int) -> tuple[dict[tuple[int, int], int], list[int]]:
    """Return |A∩B| of every pair of texts, and the number of shingles of each."""
    sets = [reference.shingle_set(text, length, unit) for text in texts]
    return (
        {(a, b): len(sets[a] & sets[b]) for a, b in combinations(range(len(texts)), 2)},
        [len(found) for found in sets],
    )


def components(similar: Any, threshold: float) -> list[int]:
    """Return the smallest document that a chain of pairs at or above the threshold reaches, for each document."""
    reached = list(range(len(similar)))
    for start in range(len(similar)):
        if reached[start] != start:
            continue
        waiting = [start]
        while waiting:
            here = waiting.pop()
            for other in range(len(similar)):
                if reached[other] == other and other > start and similar[here][other] >= threshold:
                    reached[other] = start
                    waiting.append(other)
    return reached


def principal(similar: Any, threshold: float, units: Sequence[int]) -> list[int]:
    """Return the representative of each document: the longest first, with those near to it that are free."""
    leader: dict[int, int] = {}
    for k in sorted(range(len(units)), key=lambda k: (-units[k], k)):
        if k not in leader:
            leader[k] = k
            leader.update(
                {other: k for other in range(len(units)) if other not in leader and similar[k][other] >= threshold}
            )
    return [leader[k] for k in range(len(units))]
