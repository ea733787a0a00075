"""The promise of the query language, measured on real documents of 41 to 5 800 words and passages of 9 to 60.

What overlaps what is counted by the definition, on the reference shingles of every pair. Exact: whatever a search
finds overlaps enough, and with complete look-ups all that does is found. Measured: with probability p at least
the share p of what overlaps enough is found. The seeds of the hash are fixed, so the texts are seeded instead (a
suffix behind every token), which leaves every overlap as it is. Everything here is deterministic.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import pytest

from neardup.collection.query import canonical, parse
from neardup.collection.query.plan import QueryPlan, fewest_lookups, plan, tail_probabilities
from neardup.collection.query.syntax import Fingerprint, Pasted, Query, Stored, percentage
from neardup.collection.search import Evaluation
from neardup.tables import Int64s
from support import shared_data
from support.full_run import FULL
from support.memory_collection import MemoryCollection

SETS = ("own", "django_docs", "law_de", "license_texts", "site_policy")
OVERLAPS, PROBABILITIES = ("5", "20", "50", "80"), ("80", "95", "99")
EVERY = 4 if FULL else 8
"""The interval of the documents that are queried."""
SEEDS = ("k", "m") if FULL else ("k",)

Shingles = frozenset[tuple[str, ...]]


@dataclass(frozen=True)
class Asked:
    """A query document (None: pasted) with its text, and for each other document |A∩B|, where any; |A|."""

    name: str | None
    text: str
    shared: dict[int, int]
    size: int

    def overlapping(self, overlap: str) -> set[int]:
        return {b for b, shared in self.shared.items() if shared * 100 >= Fraction(overlap) * self.size}


@cache
def collection(name: str, seed: str) -> MemoryCollection:
    found = shared_data.tokens(name)
    texts = {id: seeded(found[k], seed) for k, id in enumerate(shared_data.documents(name))}
    return MemoryCollection(texts, scale=16, floor=8)


def seeded(tokens: list[str], seed: str) -> str:
    return " ".join(token + seed for token in tokens)


@cache
def stored(name: str, seed: str) -> list[Asked]:
    sets = shared_data.sets(name)
    names, tokens = list(shared_data.documents(name)), shared_data.tokens(name)
    return [
        Asked(names[a], seeded(tokens[a], seed), counted(sets[a], sets, a), len(sets[a]))
        for a in range(0, len(sets), EVERY)
        if sets[a]
    ]


@cache
def excerpts(name: str, seed: str) -> list[Asked]:
    """Passages of 9 to 60 words out of documents, some words of which are changed."""
    sets, tokens = shared_data.sets(name), shared_data.tokens(name)
    drawn = random.Random(f"{name} {seed}")
    found = []
    for a in range(0, len(sets), EVERY):
        begin = drawn.randrange(max(1, len(tokens[a]) - 60))
        words = tokens[a][begin : begin + drawn.randrange(9, 60)]
        words[len(words) // 2] = "changed"
        shingles = frozenset(tuple(words[k : k + 5]) for k in range(len(words) - 4))
        if shingles:
            found.append(Asked(None, seeded(words, seed), counted(shingles, sets, -1), len(shingles)))
    return found


def counted(shingles: Shingles, sets: list[Shingles], without: int) -> dict[int, int]:
    shared = {b: len(shingles & of_b) for b, of_b in enumerate(sets) if b != without}
    return {b: count for b, count in shared.items() if count}


def search(
    documents: MemoryCollection, asked: Asked, overlap: str, probability: str | None = None, taken: str = ""
) -> tuple[set[int], QueryPlan]:
    source = Pasted(asked.text) if asked.name is None else Stored(asked.name)
    node = Fingerprint(source, percentage(overlap), percentage(probability) if probability else None)
    planned = plan(parse(canonical(Query(node))), documents, taken=taken)
    found: Int64s = Evaluation(planned, documents).documents()
    return set(found.tolist()), planned


@dataclass
class Measured:
    """Documents that overlap enough, how many of them were found, and by which ways."""

    true: int = 0
    found: int = 0
    promised: float = 1.0
    ways: Counter[str] | None = None

    @property
    def recall(self) -> float:
        return self.found / self.true


def measure(
    name: str, queries: list[Asked], overlap: str, probability: str, seed: str, taken: str = ""
) -> Measured:
    documents, measured = collection(name, seed), Measured(ways=Counter())
    for asked in queries:
        found, planned = search(documents, asked, overlap, probability, taken)
        true = asked.overlapping(overlap)
        assert found <= true, "everything that is found overlaps enough"
        measured.true += len(true)
        measured.found += len(found)
        measured.promised = min(measured.promised, planned.recall)
        assert measured.ways is not None
        measured.ways[planned.fingerprints[0].way] += 1
    return measured


def test_the_documents_are_of_very_different_lengths() -> None:
    sizes = [len(of_text) for name in SETS for of_text in shared_data.tokens(name)]
    assert min(sizes) < 50
    assert max(sizes) > 100 * min(sizes)
    assert min(len(asked.text.split()) for name in SETS for asked in excerpts(name, "q")) < 12


@pytest.mark.part(12)
@pytest.mark.parametrize("probability", PROBABILITIES)
@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("name", SETS)
def test_of_what_overlaps_enough_at_least_the_promised_share_is_found(
    name: str, overlap: str, probability: str
) -> None:
    measured = measure(name, stored(name, "q"), overlap, probability, "q")
    assert measured.promised >= float(probability) / 100
    assert measured.recall >= float(probability) / 100
    assert measured.true > 320 / EVERY


@pytest.mark.part(7)
@pytest.mark.parametrize("taken", ["", "c"])
@pytest.mark.parametrize("overlap", ["0.0001", "20", "80", "100"])
@pytest.mark.parametrize("name", SETS)
def test_complete_look_ups_miss_nothing_and_find_nothing_else(name: str, overlap: str, taken: str) -> None:
    documents = collection(name, "q")
    for asked in stored(name, "q")[:: 1 if taken else 2] + excerpts(name, "q"):
        found, planned = search(documents, asked, overlap, "100", taken)
        assert found == asked.overlapping(overlap)
        assert planned.recall == 1
        if taken:
            step = planned.fingerprints[0]
            assert step.n_lookups == asked.size - max(1, -(-asked.size * Fraction(overlap) // 100)) + 1


@pytest.mark.part(4)
@pytest.mark.parametrize("probability", ["80", "95"])
@pytest.mark.parametrize("overlap", ["20", "50", "80"])
@pytest.mark.parametrize("name", SETS)
def test_short_passages_are_found_in_long_documents(name: str, overlap: str, probability: str) -> None:
    measured = measure(name, excerpts(name, "q"), overlap, probability, "q")
    assert measured.recall >= float(probability) / 100
    assert measured.ways is not None
    assert sum(measured.ways[way] for way in ("one hit or words", "complete", "every document")) > 0


@dataclass(frozen=True)
class Trial:
    """A query that shares a part with exactly one document, counted by the definition."""

    query: Asked
    document: int


def long_texts() -> list[tuple[list[str], Shingles]]:
    names = [shared_data.or_own(name) for name in ("django_docs", "license_texts")]
    return [both for name in names for both in zip(shared_data.tokens(name), shared_data.sets(name), strict=True)]


@cache
def independent(seed: str) -> MemoryCollection:
    """The documents, each with a suffix of its own, so that a query overlaps one only."""
    documents = MemoryCollection(scale=16, floor=8)
    documents.add_all({str(k): seeded(tokens, f"{seed}{k}") for k, (tokens, _) in enumerate(long_texts())})
    return documents


def trials(overlap: int, seed: str) -> list[Trial]:
    """Of each document a passage, continued by other text, so that the overlap is just enough."""
    others = [token for of_text in shared_data.tokens(shared_data.or_own("law_de")) for token in of_text]
    drawn, found = random.Random(f"{overlap} {seed}"), []
    for k, (tokens, whole) in enumerate(long_texts()):
        length = drawn.randrange(50, 800)
        begin = drawn.randrange(max(1, len(tokens) - length))
        passage = tokens[begin : begin + length]
        start = drawn.randrange(len(others) - 20_000)
        words = passage + others[start : start + int(len(passage) * (95 / overlap - 1))]
        shingles = frozenset(tuple(words[j : j + 5]) for j in range(len(words) - 4))
        shared = len(shingles & whole)
        if len(shingles) > 160 and overlap <= 100 * shared / len(shingles) < 1.1 * overlap:
            found.append(Trial(Asked(None, seeded(words, f"{seed}{k}"), {k: shared}, len(shingles)), k))
    return found


@pytest.mark.part(8)
@pytest.mark.parametrize("probability", PROBABILITIES)
@pytest.mark.parametrize("overlap", [20, 50, 80])
def test_just_above_the_overlap_as_many_are_found_as_the_formula_says(overlap: int, probability: str) -> None:
    """Here the promise is tight: found are about as many as the hypergeometric probabilities sum up to."""
    hits = n = 0
    expected = variance = 0.0
    for seed in SEEDS:
        documents = independent(seed)
        for trial in trials(overlap, seed):
            query = trial.query
            found, planned = search(documents, query, str(overlap), probability)
            assert found <= {trial.document}
            step = planned.fingerprints[0]
            if step.way not in ("one hit", "several hits"):
                continue
            chance = tail_probabilities(query.size, query.shared[trial.document], step.n_lookups)[step.hits]
            assert chance >= float(probability) / 100
            n, hits = n + 1, hits + len(found)
            expected, variance = expected + chance, variance + chance * (1 - chance)
    assert n > 125 * len(SEEDS)
    assert abs(hits - expected) <= 4 * variance**0.5 + 1


def test_several_hits_make_fewer_candidates_than_one_hit() -> None:
    """The same queries with the same promise, kept by the fewest look-ups of which one hit suffices."""
    documents = collection(shared_data.or_own("license_texts"), "q")
    one = several = 0
    for asked in stored(shared_data.or_own("license_texts"), "q"):
        _, planned = search(documents, asked, "50", "95")
        step = planned.fingerprints[0]
        fewest = fewest_lookups(step.target.n, step.least, 0.95)
        one += len(documents.holders(step.target.hashes[:fewest])[0])
        several += len(documents.holders(step.sampled, step.hits)[0])
    assert several < 0.8 * one
