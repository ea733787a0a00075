"""Naive twins of the search for repeated passages: every stretch of every document, by dictionaries of tuples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

Place = tuple[int, int]
"""A document, and a token in it."""


class Passage(NamedTuple):
    """The tokens of a passage, all its places, and those that are not within a place of a longer one."""

    tokens: tuple[str, ...]
    places: list[Place]
    alone: list[Place]


def stretches(documents: Sequence[Sequence[str]], least: int) -> dict[tuple[str, ...], list[Place]]:
    """Every stretch of at least ``least`` tokens, with its places."""
    found: dict[tuple[str, ...], list[Place]] = defaultdict(list)
    for number, tokens in enumerate(documents):
        for begin in range(len(tokens)):
            for end in range(begin + least, len(tokens) + 1):
                found[tuple(tokens[begin:end])].append((number, begin))
    return found


def maximal_passages(documents: Sequence[Sequence[str]], least: int) -> list[Passage]:
    """All maximal repeats of at least ``least`` tokens, in the order of their first places, longer ones first.

    The definition: a stretch that occurs at least twice, not always after the same token, and not always
    before the same token.
    """
    repeated = {tokens: places for tokens, places in stretches(documents, least).items() if len(places) > 1}
    spans = {
        (document, begin, begin + len(tokens)) for tokens, places in repeated.items() for document, begin in places
    }
    passages = []
    for tokens, places in repeated.items():
        size = len(tokens)
        before = {documents[d][b - 1] if b else (d, b) for d, b in places}
        after = {documents[d][b + size] if b + size < len(documents[d]) else (d, b) for d, b in places}
        if len(before) > 1 and len(after) > 1:
            alone = [(d, b) for d, b in places if not {(d, b - 1, b + size), (d, b, b + size + 1)} & spans]
            passages.append(Passage(tokens, places, alone))
    return sorted(passages, key=lambda passage: (passage.places[0], -len(passage.tokens)))


def own_shares(tokens: Sequence[str], spans: Sequence[tuple[int, int]], n: int) -> tuple[int, int]:
    """The characters that the most frequent n-gram covers, and those that all repeated n-grams cover: by sets."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for begin in range(len(tokens) - n + 1):
        places[tuple(tokens[begin : begin + n])].append(begin)
    covered = {
        gram: {place for begin in begins for place in range(spans[begin][0], spans[begin + n - 1][1])}
        for gram, begins in places.items()
        if len(begins) > 1
    }
    if not covered:
        return 0, 0
    most = max(len(places[gram]) for gram in covered)
    top = max(len(characters) for gram, characters in covered.items() if len(places[gram]) == most)
    return top, len(set().union(*covered.values()))
