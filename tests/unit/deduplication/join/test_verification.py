"""Closing: pairs that a chain of found pairs joins are compared, each once, whatever found the chain."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import neardup as nd
from neardup.deduplication.join import verification
from neardup.deduplication.join.candidates import Candidates
from neardup.deduplication.join.pairs import Pairs
from neardup.deduplication.join.shingle_store import DocumentSets
from neardup.deduplication.join.verification import Closed, close, verify
from neardup.kernels.sets import Criterion
from neardup.runtime import Silent
from neardup.settings import Settings
from neardup.tables import CANDIDATES
from neardup.text.sketch.documents import ShingleSets

Pair = tuple[int, int]


class Sets:
    """A store of sets that are known, which notes what it was asked for."""

    def __init__(self, sets: list[set[int]]) -> None:
        hashes = np.concatenate([np.array(sorted(of), np.uint64) for of in sets])
        self._sets = ShingleSets(hashes, np.cumsum([0, *map(len, sets)]))
        self.documents, self.held_shingles, self.journal = len(sets), 1 << 26, None

    def upper_bounds(self, documents: np.ndarray) -> np.ndarray:
        return self._sets.sizes[documents]

    def get(self, documents: np.ndarray) -> DocumentSets:
        return DocumentSets(np.arange(self.documents), self._sets)


def table(pairs: list[Pair]) -> pa.Table:
    a, b = np.array(sorted(pairs), np.uint32).reshape(-1, 2).T
    return pa.table([a, b], schema=CANDIDATES)


def pairs_of(verified: pa.Table) -> list[Pair]:
    return list(zip(verified["a"].to_pylist(), verified["b"].to_pylist(), strict=True))


def closed(
    sets: list[set[int]], proposed: list[Pair], hub: list[int] | None = None, reference: int = 0, **settings: Any
) -> Closed:
    chosen, store = Settings.of(threshold=0.5, **settings), Sets(sets)
    candidates = Candidates(Pairs.of(table(proposed)), np.array(hub or [], np.int64), 0, 0)
    found = verify(table(proposed), store, Criterion(1, 2, 0), 1, lambda _: None)  # type: ignore[arg-type]
    return close(Pairs.of(found), candidates, store, reference, chosen, Silent())  # type: ignore[arg-type]


def slid(documents: int, by: int = 10) -> list[set[int]]:
    """Sets of 100, each ``by`` further on: those up to 33 / ``by`` steps apart are pairs at .5."""
    return [set(range(by * k, by * k + 100)) for k in range(documents)]


def test_partners_of_partners_are_compared() -> None:
    """A chain 0 – 2 – 4 – 1 – 3 was proposed: all of the five are compared, those 3 steps apart are pairs."""
    got = closed(slid(5), [(0, 2), (2, 4), (1, 4), (1, 3)])
    assert pairs_of(got.pairs.table()) == [(a, b) for a, b in combinations(range(5), 2) if b - a <= 3]
    assert (got.components, got.documents, got.compared, got.found) == (1, 5, 6, 5)
    assert (got.joined, got.left_out, got.hub.tolist()) == (0, 0, [])


def test_no_pair_is_compared_twice() -> None:
    """What was proposed and is no pair is not compared again: (0, 4) fails once."""
    got = closed(slid(5), [(0, 2), (2, 4), (1, 4), (1, 3), (0, 4), (0, 1)])
    assert (got.compared, got.found) == (4, 4)


def test_families_of_two_and_strangers_cost_nothing() -> None:
    got = closed([*slid(2), *({1000 * k + i for i in range(9)} for k in range(1, 5))], [(0, 1), (2, 3), (1, 5)])
    assert pairs_of(got.pairs.table()) == [(0, 1)]
    assert (got.components, got.documents, got.compared) == (0, 0, 0)
    assert len(closed(slid(2), []).pairs) == 0


def test_two_documents_of_the_reference_set_are_not_compared() -> None:
    got = closed(slid(4), [(0, 3), (1, 3), (2, 3)], reference=2)
    assert pairs_of(got.pairs.table()) == [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert got.compared == 2


def test_a_family_with_a_hub_document_is_joined_as_a_whole() -> None:
    got = closed([*slid(5), *slid(3, by=1)[1:]], [(0, 2), (2, 4), (5, 6)], hub=[4])
    assert got.hub.tolist() == [0, 2, 4]
    assert (got.components, got.joined, got.compared) == (1, 2, 0)


def test_a_family_of_more_than_a_hundred_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "HUB", 6)
    chain = [(k, k + 1) for k in range(8) if k != 6]
    got = closed(slid(9), chain)
    assert got.hub.tolist() == list(range(7))
    assert (got.joined, got.components, got.documents) == (7, 1, 7)


def test_large_families_are_left_out_where_the_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two chains of 800 and 500 shingles, 48 bytes each, in the 30 kB of a megabyte: the smaller is joined."""
    monkeypatch.setattr(verification, "HUB", 3)
    monkeypatch.setattr(verification, "BYTES_A_SHINGLE", 48)
    sets = [*slid(8), *({10_000 + shingle for shingle in of} for of in slid(5))]
    chains = [*((k, k + 1) for k in range(7)), *((k, k + 1) for k in range(8, 12))]
    got = closed(sets, chains, memory=0.001)
    assert got.hub.tolist() == [8, 9, 10, 11, 12]
    assert (got.joined, got.left_out, got.components) == (5, 8, 2)


def test_pairs_are_compared_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [{10_000 * k + shingle for shingle in of} for k in range(6) for of in slid(5)]
    chains = [(5 * k + i, 5 * k + i + 1) for k in range(6) for i in range(4)]
    at_once = closed(sets, chains)
    monkeypatch.setattr(verification, "_AT_ONCE", 20)
    in_parts = closed(sets, chains)
    assert in_parts.pairs.table().equals(at_once.pairs.table())
    assert in_parts.as_dict() == at_once.as_dict()
    assert at_once.compared == 36


# --- whole runs


def versions(families: int, of_each: int) -> list[str]:
    """Texts of 120 words in families, each version with other words changed here and there."""
    choose = np.random.default_rng(5)
    texts = []
    for family in range(families):
        words = [f"w{family}x{k}" for k in range(120)]
        for version in range(of_each):
            changed = list(words)
            for place in choose.choice(120, 2, replace=False):
                changed[place] = f"v{version}x{place}"
            texts.append(" ".join(changed))
    return texts


@cache
def found_among_versions(method: str, threads: int) -> nd.Found:
    settings: dict[str, Any] = {"recall": 0.5} if method == "lsh" else {}
    return nd.find(versions(60, 10), method=method, threshold=0.7, pairs="all", threads=threads, **settings)


@pytest.mark.parametrize("threads", [1, 3])
def test_clustered_misses_disappear(threads: int) -> None:
    """LSH that is planned to miss half of the pairs at .7 misses some of 2,700; closing finds all but a few."""
    exact, found = found_among_versions("exact", 2), found_among_versions("lsh", threads)
    told = found.run.closed
    assert told.found > 100
    assert exact.pairs.num_rows - found.pairs.num_rows < told.found / 10
    missed = found.run.recall.missed
    assert missed.low <= exact.pairs.num_rows - found.pairs.num_rows <= missed.high
    counts = found.run.counts
    assert counts.verified == counts.candidates + told.compared
    again = found_among_versions("lsh", 2)
    assert found.pairs.equals(again.pairs)
    assert found.run.recall == again.run.recall
    assert exact.run.closed is None
