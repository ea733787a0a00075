"""Texts made from a word list, edits of them, and what chance allows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import fsum

import numpy as np

ONSETS = tuple("b c d f g h j k l m n p r s t v w z br ch cl dr fl gr pl pr qu sh st th tr".split())  # noqa: SIM905
VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
CODAS = ("n", "r", "s", "t", "l", "m", "nd", "st", "ck", "ng")
WORDS = sorted({onset + vowel + coda for onset in ONSETS for vowel in VOWELS for coda in CODAS})
"""About two thousand four hundred words; the rank in a shuffled list gives their frequency."""

SHINGLE = 5


class Writer:
    """Writes running text: words of falling frequency, in sentences and paragraphs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        shuffled = list(WORDS)
        self.random.shuffle(shuffled)
        self._words = shuffled
        self._weights = np.cumsum([1 / (rank + 10) for rank in range(len(shuffled))]).tolist()

    def words(self, n: int) -> list[str]:
        return self.random.choices(self._words, cum_weights=self._weights, k=n)

    def text(self, n: int) -> str:
        return punctuated(self.words(n))


def punctuated(words: Sequence[str]) -> str:
    """Return the words as sentences of eleven words and paragraphs of five sentences."""
    sentences = [" ".join(words[k : k + 11]).capitalize() + "." for k in range(0, len(words), 11)]
    return "\n\n".join(" ".join(sentences[k : k + 5]) for k in range(0, len(sentences), 5))


def shingles(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Return the set of 5-word shingles of words that are tokens already."""
    if len(words) < SHINGLE:
        return {tuple(words)} if words else set()
    return {tuple(words[k : k + SHINGLE]) for k in range(len(words) - SHINGLE + 1)}


def resemblance(a: Sequence[str], b: Sequence[str]) -> float:
    of_a, of_b = shingles(a), shingles(b)
    return len(of_a & of_b) / len(of_a | of_b)


def edited(words: Sequence[str], least: float, writer: Writer) -> list[str]:
    """Return the words with random ones replaced, as many as the resemblance allows without passing ``least``."""
    changed, whole = list(words), shingles(words)
    while True:
        before = list(changed)
        changed[writer.random.randrange(len(changed))] = writer.random.choice(WORDS)
        now = shingles(changed)
        if len(whole & now) / len(whole | now) < least:
            return before


def changed_pieces(seed: int, pieces: Sequence[str]) -> tuple[str, str]:
    """A text of sixty drawn pieces, and the same after one to six edits: pieces put in, left out and exchanged."""
    drawn = random.Random(seed)
    a = [drawn.choice(pieces) for _ in range(60)]
    b = list(a)
    for _ in range(drawn.randint(1, 6)):
        begin = drawn.randrange(len(b))
        b[begin : begin + drawn.randint(0, 4)] = [drawn.choice(pieces) for _ in range(drawn.randint(0, 4))]
    return " ".join(a), " ".join(b)


def chance(probabilities: Sequence[float], found: int) -> tuple[float, float]:
    """Return P(X ≤ found) and P(X ≥ found) for the number X of successes of independent trials.

    Exact up to rounding: the distribution is built one trial after the other.
    """
    distribution = np.zeros(len(probabilities) + 1)
    distribution[0] = 1.0
    for n, p in enumerate(probabilities, start=1):
        distribution[1 : n + 1] = distribution[1 : n + 1] * (1 - p) + distribution[:n] * p
        distribution[0] *= 1 - p
    return fsum(distribution[: found + 1]), fsum(distribution[found:])
