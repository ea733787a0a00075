"""The exact method against brute force on real corpora of thousands of documents, at every threshold.

The brute force (``reference_join``) tokenises by another route, hashes nothing and counts every shared shingle of
every pair; ``real_corpora`` says what the documents are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import neardup as nd
from support import real_corpora, reference, reference_join
from support.full_run import FULL
from support.reference_join import Joined

THRESHOLDS = (0.3, 0.5, 0.7, 0.8, 0.9, 1.0)
LOWEST = Fraction(3, 10)

EXACTLY_AT = {
    "bible_verses": (0.3, 0.5, 0.7, 0.8, 0.9),
    "bible_verses_by_word": THRESHOLDS,
    "law_windows": (0.3, 0.5, 0.7, 0.8, 0.9),
    "django_windows": (0.3, 0.5, 0.7, 0.8, 0.9),
    "licence_windows": THRESHOLDS,
    "spaceless_pieces": (0.3, 0.5, 0.7, 0.8, 0.9),
    "stdlib_functions": (0.5,),
}
"""At which thresholds a corpus is sure to have pairs exactly there; short documents have many at 1/2."""


@dataclass(frozen=True)
class Counted:
    """A corpus and what brute force says of it; of exact copies only the first has pairs."""

    name: str
    length: int
    texts: list[str]
    units: list[list[str]]
    first: list[int]
    pairs: Joined
    contained: Joined

    @property
    def different(self) -> list[int]:
        return [k for k, first in enumerate(self.first) if first == k and self.units[k]]


@pytest.fixture(scope="module", params=[*real_corpora.CORPORA] if FULL else [*real_corpora.CORPORA][:1])
def corpus(request: pytest.FixtureRequest) -> Counted:
    """Count a corpus once; the thresholds come one after the other."""
    name: str = request.param
    texts, length = real_corpora.documents(name), real_corpora.CORPORA[name].length
    units = [reference_join.tokens(text) for text in texts]
    number: dict[tuple[str, ...], int] = {}
    first = [number.setdefault(tuple(of_text), k) for k, of_text in enumerate(units)]
    sets = reference_join.naive_sets([u if first[k] == k else [] for k, u in enumerate(units)], length)
    alike, within = reference_join.resemblance(LOWEST), reference_join.overlap(Fraction(1, 2))
    either = reference_join.join(sets, lambda *counts: alike(*counts) | within(*counts))
    return Counted(name, length, texts, units, first, either.meeting(alike), either.meeting(within))


@pytest.mark.part(8)
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_exactly_the_pairs_of_brute_force(corpus: Counted, threshold: float) -> None:
    """The same pairs with the same three integers, and no others."""
    least = Fraction(repr(threshold))
    found = nd.find(corpus.texts, threshold=threshold, method="exact", pairs="all", length=corpus.length)
    expected = corpus.pairs.meeting(reference_join.resemblance(least))
    for got, wanted in zip(by_pair(found), expected.columns, strict=True):
        assert np.array_equal(got, wanted)
    # documents without a token are copies of nothing
    copies = [(k, first) for k, first in enumerate(corpus.first) if first != k and corpus.units[k]]
    assert list(zip(*found.copies.select(["id", "copy_of"]).to_pydict().values(), strict=True)) == copies
    union = expected.size_a + expected.size_b - expected.shared
    at = int((expected.shared * least.denominator == least.numerator * union).sum())
    print(f"{corpus.name}, t = {threshold}: {len(expected.a)} pairs, {at} exactly at t")
    assert at > 0 or threshold not in EXACTLY_AT.get(corpus.name, ())
    assert len(expected.a) > 0 or threshold == 1


@pytest.mark.part(8)
@pytest.mark.parametrize("threshold", [0.5, 0.8, 1.0])
def test_exactly_the_contained_ones_of_brute_force(corpus: Counted, threshold: float) -> None:
    asked: dict[str, Any] = {"threshold": threshold, "measure": "overlap", "pairs": "all", "length": corpus.length}
    expected = corpus.contained.meeting(reference_join.overlap(Fraction(repr(threshold))))
    for got, wanted in zip(by_pair(nd.find(corpus.texts, **asked)), expected.columns, strict=True):
        assert np.array_equal(got, wanted)
    assert len(expected.a) > 0 or threshold == 1


def by_pair(found: nd.Found) -> list[np.ndarray]:
    """Return the five columns of the reported pairs, by (a, b)."""
    columns = [found.pairs[name].to_numpy() for name in ("id_a", "id_b", "shared", "size_a", "size_b")]
    order = np.lexsort((columns[1], columns[0]))
    return [column[order] for column in columns]


def test_brute_force_is_what_the_definition_says(corpus: Counted) -> None:
    """A sample of documents by the readable twins: their tokens, and their pairs as Python sets."""
    for k in range(0, len(corpus.texts), max(1, len(corpus.texts) // 20)):
        text = corpus.texts[k][:5000]
        assert reference_join.tokens(text) == reference.tokens(text)
    pairs = corpus.pairs.where(np.arange(len(corpus.pairs.a)) % max(1, len(corpus.pairs.a) // 50) == 0)
    for a, b, shared, size_a, size_b in pairs.rows():
        of_a, of_b = (shingles(corpus.units[k], corpus.length) for k in (a, b))
        assert (shared, size_a, size_b) == (len(of_a & of_b), len(of_a), len(of_b))
    assert len(pairs.a) >= 50


def test_the_corpora_are_large(corpus: Counted) -> None:
    """Thousands of documents that differ; as many as are said to be, where the source is the same everywhere."""
    cut = real_corpora.CORPORA[corpus.name]
    assert len(corpus.different) >= 3000
    print(f"{corpus.name}: {len(corpus.texts)} documents, {len(corpus.different)} different ones, {cut.source}")
    assert cut.documents in (None, len(corpus.texts))


def shingles(units: list[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(units[i : i + length]) for i in range(max(1, len(units) - length + 1))}
