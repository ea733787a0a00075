"""Thousands of texts with one SimHash fingerprint, alike to just below the threshold: all pairs, and soon.

Marks outweigh the words, so that by characters all texts have one fingerprint, and all go to the exact join.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations
from random import Random
from time import process_time
from typing import Any

import numpy as np
import pytest

import neardup as nd
from support.full_run import FULL
from support.grouped import Pair, pairs_of

PARTS = 4000 if FULL else 2000
MARKS = "!" * 4000


def parts_of_a_page(n: int, sentences: int = 100, kept: int = 80, seed: int = 1) -> list[str]:
    """Return texts that hold most sentences of one page, each another choice: every shingle is in most of them."""
    random = Random(seed)
    page = [" ".join(f"s{number}w{place}" for place in range(9)) for number in range(sentences)]
    chosen = (sorted(random.sample(range(sentences), kept)) for _ in range(n))
    return [" ".join(page[number] for number in numbers) + MARKS for numbers in chosen]


def six_words(n: int, common: int = 5, each: int = 2) -> list[str]:
    """Return texts of six words: ``common`` ones, and others that ``each`` texts have in another order."""
    page = [f"c{number}" for number in range(common)]
    texts = []
    for k in range(n):
        own = [f"w{k // each}x{number}" for number in range(6 - common)]
        texts.append(" ".join([*page[: k % each], *own, *page[k % each :]]) + MARKS[:99])
    return texts


def few_words(n: int, seed: int = 2) -> list[str]:
    """Return texts of five to seven words, all of them frequent."""
    random, words = Random(seed), [f"v{number}" for number in range(12)]
    texts = {" ".join(random.sample(words, random.randrange(5, 8))) + MARKS[:99]: None for _ in range(n)}
    return list(texts)


@cache
def counted(crowd: str) -> dict[Pair, tuple[int, int]]:
    """Return how many shingles each two texts of a crowd have in common, and in all."""
    (texts, length), sets = CROWDS[crowd], []
    for text in texts:
        words = text.rstrip("!").split()
        sets.append({tuple(words[k : k + length]) for k in range(len(words) - length + 1)})
    return {(a, b): (len(x & y), len(x | y)) for (a, x), (b, y) in combinations(enumerate(sets), 2)}


def all_pairs(crowd: str, threshold: Fraction) -> set[Pair]:
    part, whole = threshold.as_integer_ratio()
    return {pair for pair, (shared, union) in counted(crowd).items() if shared * whole >= part * union}


def find(texts: list[str], **settings: Any) -> nd.Found:
    return nd.find(texts, sketch="simhash", **settings)


CROWDS = {
    "parts of a page": (parts_of_a_page(130, 40, 34), 5),
    "six words": (six_words(240, each=3), 1),
    "four common words": (six_words(240, 4), 1),
    "few words": (few_words(300), 1),
}


@pytest.mark.part(2)
@pytest.mark.parametrize("threshold", ["0.5", "0.6", "0.7", "0.8"])
@pytest.mark.parametrize("crowd", CROWDS)
def test_the_pairs_of_a_crowd_are_those_of_brute_force(crowd: str, threshold: str) -> None:
    texts, length = CROWDS[crowd]
    found = find(texts, length=length, threshold=float(threshold), pairs="all")
    assert found.run.large_buckets.largest == len(texts)
    assert pairs_of(found) == all_pairs(crowd, Fraction(threshold))


def test_the_crowds_have_pairs_at_some_thresholds_and_not_at_others() -> None:
    for crowd in CROWDS:
        counts = [len(all_pairs(crowd, Fraction(t, 10))) for t in (5, 8)]
        assert counts[0] > counts[-1]


def test_thousands_of_parts_of_a_page_below_the_threshold() -> None:
    """4000 took 66 s of processor time: all were counted with all, three times; and 2 s now."""
    texts = parts_of_a_page(PARTS)
    assert len(np.unique(nd.SimHash().sketch(texts[:100]))) == 1
    find(texts[:150])
    start = process_time()
    found = find(texts)
    assert found.run.large_buckets.largest == PARTS
    assert found.pairs.num_rows == 0
    # a limit that grows as the pairs do, so that counting all with all passes it at either size
    assert process_time() - start < 25 * (PARTS / 4000) ** 2


def test_fifty_thousand_texts_of_six_words_below_the_threshold() -> None:
    """Five words in common are J = 5/7. 10⁹ pairs were looked at, for minutes; half a second now."""
    texts = six_words(50_000)
    find(texts[:150], length=1)
    start = process_time()
    found = find(texts, length=1)
    assert found.run.large_buckets.largest == 50_000
    assert pairs_of(found) == {(k, k + 1) for k in range(0, 50_000, 2)}
    assert process_time() - start < 15
