"""A shingle that is looked up by its words in the full text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

COST_PHRASE, COST_PHRASE_WORD = 300, 1
"""Approximate costs in microseconds: of a look-up by words, and of each document with its rarest word."""
COMMON = 8
"""A word in more than one in this many documents does not help to look up a shingle by its words."""


@dataclass(frozen=True)
class Worded:
    """A shingle as words to look up, with the cost of the look-up and the documents expected from it."""

    words: tuple[str, ...]
    cost: float
    candidates: float

    @classmethod
    def of(cls, counted: Mapping[str, int], total: int) -> Worded:
        """The words worth looking up, rarest first; ``counted``: the approximate number of documents with each."""
        rarest = sorted(counted, key=lambda word: (counted[word], word))
        words = [word for place, word in enumerate(rarest) if place < 2 or counted[word] * COMMON <= total]
        # words of a text are not independent; as usual, each word has half the weight of the one before
        shares = [min(1.0, counted[word] / max(1, total)) ** 0.5**place for place, word in enumerate(words)]
        cost = COST_PHRASE + COST_PHRASE_WORD * counted[words[0]]
        return cls(tuple(words), cost, total * math.prod(shares))


__all__ = ["Worded"]
