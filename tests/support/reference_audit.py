"""Naive twins of the audit, in the manner of ``reference.py``: documents are numbers, sets are Python sets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

Pair = tuple[int, int]


def similar(a: Collection[object], b: Collection[object], threshold: Fraction) -> bool:
    """Return whether the resemblance of two sets is at or above the threshold."""
    a, b = set(a), set(b)
    return Fraction(len(a & b), len(a | b)) >= threshold


def partners(
    sets: Sequence[set[int]], drawn: Sequence[set[int]], threshold: Fraction
) -> set[tuple[int, int, int]]:
    """Return (k, s, shared) for every set k and drawn set s that are similar."""
    return {
        (k, s, len(a & b)) for k, a in enumerate(sets) for s, b in enumerate(drawn) if similar(a, b, threshold)
    }


def strata(units: Mapping[int, int], in_a_pair: Collection[int]) -> dict[int, str]:
    """Return the stratum of each document: its third by size, and whether a pair of it is reported."""
    ordered = sorted(units.values())
    short, medium = (ordered[ceil(len(ordered) * k / 3) - 1] for k in (1, 2))

    def name(document: int) -> str:
        size = "short" if units[document] <= short else "medium" if units[document] <= medium else "long"
        return f"{size}, in {'a' if document in in_a_pair else 'no'} pair"

    return {document: name(document) for document in units}


@dataclass(frozen=True)
class Counts:
    """Counts of true pairs and of found ones, and of documents with partners and of those reached."""

    pairs: int
    found: int
    with_partners: int
    reached: int


def count(drawn: Collection[int], true: Collection[Pair], is_found: Callable[[Pair], bool]) -> Counts:
    """Return the counts over the pairs that have an end among the drawn documents, each pair once."""
    some = set(drawn)
    theirs = [pair for pair in true if not some.isdisjoint(pair)]
    found = [pair for pair in theirs if is_found(pair)]
    with_partners, reached = (
        sum(any(document in pair for pair in pairs) for document in drawn) for pairs in (theirs, found)
    )
    return Counts(len(theirs), len(found), with_partners, reached)


def pair_recall(
    weight: Mapping[int, Fraction], true: Collection[Pair], is_found: Callable[[Pair], bool], reference: int = 0
) -> Fraction:
    """Return the recall in which each end of a pair that is drawn stands for its weight of documents.

    ``weight`` is N/n of the drawn documents. A pair of two documents that can be drawn counts half for each.
    """
    total = found = Fraction(0)
    for pair in true:
        can_be_drawn = [end for end in pair if end >= reference]
        for end in can_be_drawn:
            if end in weight:
                total += weight[end] / len(can_be_drawn)
                found += weight[end] / len(can_be_drawn) * is_found(pair)
    return found / total


def document_recall(
    weight: Mapping[int, Fraction], true: Collection[Pair], is_found: Callable[[Pair], bool]
) -> Fraction:
    """Return the share of the documents with a pair that have a found one, by weight."""
    with_partners = {end for pair in true for end in pair} & set(weight)
    reached = {end for pair in true if is_found(pair) for end in pair} & set(weight)
    return sum((weight[d] for d in reached), Fraction(0)) / sum((weight[d] for d in with_partners), Fraction(0))


def variance(strata: Sequence[tuple[int, Sequence[int], Sequence[int]]], share: float) -> float:
    """Return the variance of a ratio of weighted sums (Cochran 1977, section 6.11), from (N, hits, of)."""
    total = sum(n_all / len(of) * sum(of) for n_all, _, of in strata)
    sums = 0.0
    for n_all, hits, of in strata:
        n = len(of)
        if n < n_all:
            rest = [hit - share * counted for hit, counted in zip(hits, of, strict=True)]
            mean = sum(rest) / n
            spread = sum((value - mean) ** 2 for value in rest) / (n - 1)
            sums += n_all**2 * (1 - n / n_all) * spread / n
    return sums / total**2
