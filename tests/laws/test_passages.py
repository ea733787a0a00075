"""Repeated passages: the kernels against every stretch of every document, and against a suffix array."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.corpus.repetition.cuts import places_to_cut
from neardup.corpus.repetition.repeats import MaximalRepeats, maximal_repeats
from neardup.corpus.repetition.stream import CorpusTokens, DocumentRows
from neardup.corpus.repetition.windows import repeated_blocks
from neardup.deduplication.run.pipeline import Meter
from neardup.io.writers.scratch import Scratch
from neardup.runtime import Silent
from neardup.tables import Int64s
from support.reference_passages import maximal_passages

DOCUMENTS = st.lists(st.text("abc", max_size=14), min_size=1, max_size=5)


def stream_of(documents: list[str]) -> CorpusTokens:
    """A stream of documents whose tokens are characters."""
    draw = np.random.default_rng(5)
    hashes = {letter: np.uint64(draw.integers(1 << 63)) for letter in sorted(set("".join(documents)))}
    tokens = np.array([hashes[letter] for text in documents for letter in text], np.uint64)
    ends = np.cumsum([len(text) for text in documents]).astype(np.int64)
    rows = DocumentRows(np.zeros(len(ends), np.int64), np.arange(len(ends)), {0: "made"}, None)
    return CorpusTokens(tokens, ends, rows, ())


def repeats_of(
    stream: CorpusTokens, length: int, memory: int | None = None, most: int = 1_000_000
) -> MaximalRepeats:
    blocks = repeated_blocks(stream, length, 2, memory, Scratch(), Meter(Silent()))
    return maximal_repeats(blocks, most)


def listed(stream: CorpusTokens, places: Int64s) -> list[tuple[int, int]]:
    documents = stream.documents_at(places)
    return list(zip(documents.tolist(), (places - stream.begins_of(documents)).tolist(), strict=True))


def assert_as_defined(documents: list[str], length: int, most: int, memory: int | None = None) -> None:
    stream = stream_of(documents)
    repeats = repeats_of(stream, length, memory, most)
    expected = maximal_passages(documents, length)
    if not repeats.nested:
        expected = [passage for passage in expected if passage.alone]
    found, starts = [], repeats.blocks.places
    for k in range(len(repeats)):
        placed = repeats.places(k, k + 1)
        places = listed(stream, starts[placed.occurrences])
        document, begin = places[0]
        tokens = tuple(documents[document][begin : begin + repeats.tokens[k]])
        alone = [place for place, own in zip(places, placed.alone, strict=True) if own]
        found.append((tokens, int(repeats.times[k]), places, alone))
    wanted = [(p.tokens, len(p.places), p.places if repeats.nested else p.alone, p.alone) for p in expected]
    if not repeats.nested:  # ordered by the first listed place
        wanted.sort(key=lambda row: (row[2][0], -len(row[0])))
    assert found == wanted


@given(DOCUMENTS, st.integers(2, 5))
def test_all_maximal_repeats_are_found_with_all_their_places(documents: list[str], length: int) -> None:
    assert_as_defined(documents, length, 1_000_000)


@given(DOCUMENTS, st.integers(2, 5))
def test_with_too_many_places_those_of_their_own_are_listed(documents: list[str], length: int) -> None:
    assert_as_defined(documents, length, 0)


@pytest.mark.parametrize("length", [2, 3, 8])
def test_sorts_in_parts_find_the_same(length: int) -> None:
    draw = random.Random(length)
    phrase = "".join(draw.choices("abcdefgh", k=60))
    documents = [
        phrase[draw.randrange(30) : draw.randrange(30, 60)] + "".join(draw.choices("abcdefgh", k=10))
        for _ in range(8)
    ]
    assert_as_defined(documents, length, 1_000_000, memory=2000)


def cut_tokens(documents: list[str], length: int, order: list[int]) -> list[list[bool]]:
    """Naive: a token goes if it is in a window with an equal one before it, by rank of document and place."""
    windows: dict[str, list[tuple[int, int]]] = {}
    for number, text in enumerate(documents):
        for begin in range(len(text) - length + 1):
            windows.setdefault(text[begin : begin + length], []).append((number, begin))
    cut = [[False] * len(text) for text in documents]
    for places in windows.values():
        for number, begin in sorted(places, key=lambda place: (order[place[0]], place[1]))[1:]:
            cut[number][begin : begin + length] = [True] * length
    return cut


@given(DOCUMENTS, st.integers(2, 4), st.randoms(use_true_random=False))
def test_each_window_stays_in_the_first_place_by_rank(
    documents: list[str], length: int, draw: random.Random
) -> None:
    order = list(range(len(documents)))
    draw.shuffle(order)
    stream = stream_of(documents)
    blocks = repeated_blocks(stream, length, 1, None, Scratch(), Meter(Silent()))
    ranges = places_to_cut(blocks, stream, np.array(order))
    cut = [[False] * len(text) for text in documents]
    for number, (begin, end) in enumerate(pairwise([0, *stream.ends.tolist()])):
        for first, last in ranges.of(begin, end).tolist():
            cut[number][first:last] = [True] * (last - first)
    assert cut == cut_tokens(documents, length, order)
