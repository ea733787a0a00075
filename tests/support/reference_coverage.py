"""Naive twins of the joins by common text: what shingles cover, and what a document asks of a partner.

Plain Python by the definitions; see ``reference_matching.py`` for the matchings themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from support import reference_matching
from support.reference_matching import Tokens

Shingle = tuple[Any, ...]


def counting_tokens(tokens: Tokens, w: int, matching: str) -> set[int]:
    """Return the places of the tokens that count: all, or those that repeat nothing."""
    flags = reference_matching.redundant(tokens, w) if matching == "information" else [False] * len(tokens)
    return {i for i, redundant in enumerate(flags) if not redundant}


def covered(tokens: Tokens, shingles: Collection[Shingle], w: int, matching: str) -> int:
    """Return how many of the tokens that count lie in an occurrence of one of the ``shingles``."""
    places = set()
    for i, window in enumerate(reference_matching.windows(tokens, w)):
        if window in shingles:
            places |= set(range(i, i + w))
    return len(places & counting_tokens(tokens, w, matching))


def need(tokens: Tokens, w: int, matching: str, threshold: Fraction) -> int:
    """Return the least common text of a pair at or above the threshold with this document."""
    return ceil(threshold * len(counting_tokens(tokens, w, matching)))


def prefix(tokens: Tokens, order: Sequence[Shingle], w: int, matching: str, threshold: Fraction) -> set[Shingle]:
    """Return those of the shingles, which are in ``order``, from which on the rest covers enough."""
    enough = need(tokens, w, matching, threshold)
    return {order[k] for k in range(len(order)) if covered(tokens, order[k:], w, matching) >= enough}


def least(tokens: Tokens, shingles: Collection[Shingle], w: int, matching: str, threshold: Fraction) -> int:
    """Return the smallest number of shingles whose tokens, counted for each by itself, add up to enough."""
    enough = need(tokens, w, matching, threshold)
    amounts = sorted((covered(tokens, {shingle}, w, matching) for shingle in shingles), reverse=True)
    return next(k for k in range(len(amounts) + 1) if sum(amounts[:k]) >= enough)
