"""Every number of the adviser against a naive count over all pairs of documents."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.cli.demo_documents import documents_path
from neardup.corpus.advice import effects, sample
from neardup.io.readers import choose_columns, open_documents
from neardup.runtime import Silent
from neardup.settings import Settings
from support import reference, shared_data
from support.full_run import FULL
from support.messages import has_parts
from support.reference_advice import Naive, numbered
from support.small_limits import small_crowds

CASES = [
    ("demo", {}),
    ("license_texts", {"threshold": 0.8}),
    ("demo", {"unit": "char", "length": 9, "threshold": 0.6}),
    ("own", {"threshold": 0.6}),
    ("demo", {"threshold": 0.57, "length": 3}),
    ("django_docs", {"threshold": 0.7}),
]


@cache
def texts_of(name: str) -> tuple[str, ...]:
    if name == "demo":
        lines = documents_path().read_text(encoding="utf-8").splitlines()
        return tuple(json.loads(line)["text"] for line in lines)
    # the documents of the real sets are long
    most = 90 if FULL or name == "own" else 45
    return tuple(shared_data.documents(name).values())[:most]


@cache
def naive_of(name: str, unit: str = "word", length: int = 5) -> Naive:
    return Naive(texts_of(name), unit, length)


@cache
def looked_at(name: str, given: tuple[tuple[str, Any], ...]) -> tuple[nd.Advice, Naive]:
    values = dict(given)
    naive = naive_of(name, values.get("unit", "word"), values.get("length", 5))
    return nd.advise(list(texts_of(name)), **values), naive


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{'-'.join(map(str, case[1].values()))}")
def both(request: pytest.FixtureRequest) -> tuple[nd.Advice, Naive]:
    name, values = request.param
    return looked_at(name, tuple(values.items()))


def exactly(value: float) -> Fraction:
    return Fraction(repr(value))


@pytest.mark.part(3)
def test_steps_are_what_a_run_would_do(both: tuple[nd.Advice, Naive]) -> None:
    advice, naive = both
    tried = {step.threshold for step in advice.thresholds}
    assert tried == {part / 20 for part in range(10, 21)} | {advice.settings["threshold"]}
    assert [step.threshold for step in advice.thresholds] == sorted(tried)
    for step in advice.thresholds:
        threshold = exactly(step.threshold)
        removed = naive.removed(threshold)
        assert step.pairs == len(naive.at_least(threshold))
        assert step.removed == len(removed)
        assert step.groups == naive.groups(threshold)
        assert step.removed_share == pytest.approx(len(removed) / len(naive.texts))
        assert step.removed_bytes == sum(len(naive.texts[k].encode()) for k in removed)
    for step in advice.thresholds[::5]:
        run = nd.find(
            naive.texts, threshold=step.threshold, unit=naive.unit, length=naive.length, method="exact"
        ).run
        assert step.losing == run.lost.losing
        assert step.lost_share * run.lost.shingles == pytest.approx(run.lost.lost)


def check_measures(measures: dict[str, Any], a: str, b: str, unit: str, length: int) -> None:
    pair = SimpleNamespace(**measures)
    cut = reference.tokens if unit == "word" else reference.characters
    first, second = (reference.shingle_set(text, length, unit) for text in (a, b))
    shared = len(first & second)
    assert (pair.shared, pair.shingles_a, pair.shingles_b) == (shared, len(first), len(second))
    assert pair.resemblance == shared / len(first | second)
    assert (pair.containment_a, pair.containment_b) == (shared / len(first), shared / len(second))
    assert pair.overlap == max(pair.containment_a, pair.containment_b)
    words = [reference.tokens(text) for text in (a, b)]
    assert (pair.tokens_a, pair.tokens_b) == tuple(len(cut(text)) for text in (a, b))
    vocabulary = set(words[0]) | set(words[1])
    assert pair.vocabulary == (len(set(words[0]) & set(words[1])) / len(vocabulary) if vocabulary else 0)
    # the multiset measure is the resemblance of the sets of numbered occurrences
    once = [numbered(cut(text), length) for text in (a, b)]
    assert pair.multiset == len(once[0] & once[1]) / len(once[0] | once[1])


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=14).map(" ".join)


@given(a=WORDS, b=WORDS, unit=st.sampled_from(["word", "char"]), length=st.integers(1, 6))
def test_measures_of_any_two_texts(a: str, b: str, unit: str, length: int) -> None:
    check_measures(nd.compare(a, b, unit=unit, length=length).measures, a, b, unit, length)


def test_lowest_leaves_room_below_the_threshold() -> None:
    for percent in range(10, 101):
        low = effects.lowest(percent / 100)
        assert 0.05 <= low <= 0.3
        assert exactly(low) <= Fraction(percent, 100) - Fraction(1, 20)
        assert exactly(low) * 20 == round(low * 20)


PLACES = 25


def with_word_at(place: int, word: str) -> str:
    words = [f"w{k}" for k in range(30)]
    return " ".join([*words[:place], word, *words[place:]])


@cache
def alike(p: int, q: int) -> Fraction:
    a, b = (
        reference.shingle_set(with_word_at(place, word), 5, "word") for place, word in ((p, "one"), (q, "two"))
    )
    return Fraction(len(a & b), len(a | b))


def pairs_by_place(documents: int, threshold: Fraction) -> int:
    """Count the pairs of a crowd: how alike two of its documents are depends only on their two places."""
    often = [len(range(place, documents, PLACES)) for place in range(PLACES)]
    total = 0
    for p, q in combinations_with_replacement(range(PLACES), 2):
        if alike(p, q) >= threshold:
            total += often[p] * often[q] if p < q else often[p] * (often[p] - 1) // 2
    return total


CROWD = 300 if FULL else 100


def test_crowds_are_counted_in_full_or_said_to_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    small_crowds(monkeypatch, CROWD)
    documents = CROWD + 30
    texts = [with_word_at(k % PLACES, f"x{k}") for k in range(documents)]
    complete = nd.advise(texts, threshold=0.6)
    assert complete.sample.pairs_left_out == 0
    counts = {step.threshold: step.pairs for step in complete.thresholds}
    assert counts == {value: pairs_by_place(documents, exactly(value)) for value in counts}
    assert counts[0.5] == documents * (documents - 1) // 2
    monkeypatch.setattr(effects, "MOST_PAIRS", 0)
    bounded = nd.advise(texts, threshold=0.6)
    assert bounded.sample.pairs_left_out > 0
    assert has_parts(str(bounded), "pairs", "large clusters", "lower")
    assert all(step.pairs <= counts[step.threshold] for step in bounded.thresholds)
    assert [step.pairs for step in bounded.thresholds] == sorted(
        (step.pairs for step in bounded.thresholds), reverse=True
    )
    for ours, truth in zip(bounded.thresholds, complete.thresholds, strict=True):
        assert (ours.removed, ours.groups) == (truth.removed, truth.groups)


@pytest.mark.parametrize("most", [40, 104])
def test_reading_stops_at_the_limit_and_says_so(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(sample, "MOST_DOCUMENTS", most)
    advice = nd.advise(documents_path())
    assert advice.sample.documents == most
    assert advice.sample.complete == (most == 104)
    said = str(advice).replace("\n", " ")
    assert (f"The first {most} documents, " in said) == ("not read" in said) == (most < 104)
    assert advice.recommended.settings["method"] == ("exact" if most == 104 else "auto")


@pytest.mark.parametrize(("room", "documents"), [(1, 1), (9, 2), (10, 3), (99, 4)])
def test_reading_stops_at_so_many_bytes_but_reads_one(
    monkeypatch: pytest.MonkeyPatch, room: int, documents: int
) -> None:
    monkeypatch.setattr(sample, "MOST_BYTES", {"word": room})
    opened = open_documents(["abcd", "efgh", "ij", "k"])
    taken = sample.take(opened, choose_columns(opened, None, None), Settings(), None, Silent())
    assert [text.as_py() for text in taken.texts] == [b"abcd", b"efgh", b"ij", b"k"][:documents]
    assert [name.as_py() for name in taken.ids] == ["0", "1", "2", "3"][:documents]
    assert taken.complete == (documents == 4)


def test_the_ids_are_those_of_the_rows_and_repeated_ones_are_told() -> None:
    opened = open_documents(sample.pa.table({"name": ["x", "y", "x"], "text": ["one", "two", "three"]}))
    taken = sample.take(opened, choose_columns(opened, None, "name"), Settings(), None, Silent())
    assert taken.ids.to_pylist() == ["x", "y", "x"]
    assert any(has_parts(note, "1 document", "of 3") for note in taken.notes)
