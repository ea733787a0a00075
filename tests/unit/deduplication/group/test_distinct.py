"""``nd.distinct``: chunks in the order of a retriever, without those that repeat an earlier one."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import neardup as nd
from support.messages import assert_refused

OWN = Path(__file__).parents[3] / "data" / "own" / "documents.jsonl"


def naive(chunks: list[str], threshold: Fraction, measure: str) -> tuple[list[int], list[tuple[int, int]]]:
    """The same with Python sets and fractions: every chunk against every earlier one that stays."""
    sets = [nd.shingles(chunk) for chunk in chunks]
    kept: list[int] = []
    dropped: list[tuple[int, int]] = []
    for place, own in enumerate(sets):
        best, of = Fraction(0), -1
        for one in kept:
            shared = len(own & sets[one])
            below = {
                "containment": len(own),
                "resemblance": len(own) + len(sets[one]) - shared,
                "overlap": min(len(own), len(sets[one])),
            }[measure]
            value = Fraction(shared, below) if below and shared else Fraction(0)
            if value > best:
                best, of = value, one
        if of >= 0 and best >= threshold:
            dropped.append((place, of))
        else:
            kept.append(place)
    return kept, dropped


def windows() -> list[str]:
    """Overlapping windows of real texts, and their documents' first sentences, in a mixed order."""
    texts = [json.loads(line)["text"] for line in OWN.read_text(encoding="utf-8").splitlines()[:60]]
    cut = [text[start : start + 400] for text in texts for start in range(0, min(len(text), 1600), 130)]
    return [cut[k * 37 % len(cut)] for k in range(len(cut))]


@pytest.mark.part(3)
@pytest.mark.parametrize("measure", ["containment", "resemblance", "overlap"])
@pytest.mark.parametrize("threshold", ["0.3", "0.6", "1"])
def test_the_same_as_with_sets(measure: str, threshold: str) -> None:
    chunks = windows()
    found = nd.distinct(chunks, float(threshold), measure=measure)
    kept, dropped = naive(chunks, Fraction(threshold), measure)
    assert found.places == kept
    assert [(one.place, one.of) for one in found.dropped] == dropped
    assert list(found) == [chunks[place] for place in kept]
    assert len(dropped) > 5


def test_the_counts_prove_it() -> None:
    chunks = windows()
    for one in nd.distinct(chunks, 0.5).dropped:
        own, other = nd.shingles(chunks[one.place]), nd.shingles(chunks[one.of])
        assert (one.shared, one.size, one.size_of) == (len(own & other), len(own), len(other))
        assert one.similarity == one.shared / one.size >= 0.5


def test_objects_come_back_as_they_are() -> None:
    class Chunk:
        def __init__(self, text: str) -> None:
            self.text = text

    chunks = [Chunk("one two three four five six"), Chunk("one two three four five six"), Chunk("")]
    found = nd.distinct(chunks, text=lambda chunk: chunk.text)
    assert found.kept == [chunks[0], chunks[2]]
    assert repr(found) == "Distinct(2 kept, 1 dropped)"


def test_a_larger_chunk_adds_text_and_stays() -> None:
    part = "hand in all receipts for travel by noon on friday"
    assert nd.distinct([part, f"{part} and bring the originals to the office on the second floor"]).places == [
        0,
        1,
    ]
    assert nd.distinct([f"{part} and bring the originals", part]).places == [0]


def test_chunks_without_text_are_never_dropped() -> None:
    assert nd.distinct(["", "…", ""]).places == [0, 1, 2]
    assert nd.distinct([]).kept == []


def test_mistakes_are_said() -> None:
    assert_refused(
        (nd.InputError, "place 1 is a NoneType", lambda: nd.distinct(["a", None])),
        (nd.InputError, "one str", lambda: nd.distinct("a text")),
        (nd.SettingError, "measure is 'order'", lambda: nd.distinct(["a"], measure="order")),
        (nd.SettingError, "threshold", lambda: nd.distinct(["a"], 1.5)),
    )
