"""What found pairs of families stand for: families sketched again, drawn where they are many, cut where large."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from neardup.deduplication.join import misses
from neardup.deduplication.join.misses import (
    SEEDS,
    DrawnFamilies,
    Missing,
    labels_of,
    missed_with,
    missing_among,
    missing_pairs,
    mix_numbers,
    of_families,
    of_pairs,
    proposed_again,
)
from neardup.deduplication.join.pairs import Pairs
from neardup.deduplication.join.prefix_join import empty_index
from neardup.deduplication.run.account import Interval
from neardup.deduplication.run.recall import Predicted, missed_pairs, recall_of
from neardup.settings import SearchSettings, Shingles, SimHashing
from neardup.tables import verified_table
from neardup.text.intervals import Share
from neardup.text.lsh.bands import plan
from neardup.text.sketch.documents import ShingleSets
from support.messages import has_parts

ONE, CLASSIC = "one-permutation", "classic"


def hashed(sets: list[set[int]], key: int = 0) -> ShingleSets:
    """The sets with each shingle hashed by a key, ascending, as a run holds them."""
    hashes = [
        np.sort(mix_numbers(np.array(sorted(of), np.uint64) + mix_numbers(np.array([key], np.uint64))))
        for of in sets
    ]
    return ShingleSets(np.concatenate(hashes), np.cumsum([0, *map(len, sets)]))


def twins(families: int, shared: int, own: int) -> list[set[int]]:
    """Pairs of sets with these numbers of shingles, shared and each by itself."""
    size = shared + 2 * own
    first = [set(range(size * k, size * k + shared + own)) for k in range(families)]
    other = [set(range(size * k + own, size * (k + 1))) for k in range(families)]
    return [of for two in zip(first, other, strict=True) for of in two]


def verified(sets: list[set[int]], threshold: float) -> pa.Table:
    rows = [
        (a, b, len(sets[a] & sets[b]), len(sets[a]), len(sets[b]))
        for b in range(len(sets))
        for a in range(b)
        if len(sets[a] & sets[b]) >= threshold * len(sets[a] | sets[b])
    ]
    return verified_table(*np.array(rows, np.int64).reshape(-1, 5).T)


def fetching(sets: list[set[int]], key: int = 0) -> Callable[[np.ndarray], ShingleSets]:
    return lambda documents: hashed([sets[k] for k in documents], key)


def not_sure(pairs: pa.Table) -> np.ndarray:
    return np.zeros(pairs.num_rows, np.bool_)


def test_labels_say_what_is_shared_and_nothing_of_the_hashes() -> None:
    sets = [{1, 2, 3, 4, *range(20, 29)}, {3, 4, 5}, {4, 5, 6, 7}, {1, 2, 3, 4}, {31}, {32}]
    families = np.array([0, 0, 0, 1, 0, 0])
    one, other = (hashed(sets, key) for key in (1, 2))
    for made in (one, other):
        labels = labels_of(made, families)
        label = dict(zip(zip(np.repeat(np.arange(6), made.sizes), made.hashes, strict=True), labels, strict=True))
        for (a, x), (b, y) in ((p, q) for p in label for q in label):
            assert (label[a, x] == label[b, y]) == (x == y and families[a] == families[b])
    labels = [labels_of(made, families) for made in (one, other)]
    for begin, end in zip(one.offsets[:-1], one.offsets[1:], strict=True):
        assert sorted(labels[0][begin:end]) == sorted(labels[1][begin:end])
    assert len(labels_of(ShingleSets(np.empty(0, np.uint64), np.zeros(2, np.int64)), np.zeros(1, np.int64))) == 0


@pytest.mark.parametrize("sketch", [ONE, CLASSIC])
def test_families_sketched_again_are_missed_as_often_as_lsh_misses_them(sketch: str) -> None:
    sets, chosen = twins(300, 80, 10), plan(0.8, 0.9)
    numbers = np.arange(300)
    asked = hashed(sets), np.repeat(numbers, 2), (2 * numbers, 2 * numbers + 1), chosen, sketch
    hits = np.array(list(proposed_again(*asked)))
    assert (hits == np.array(list(proposed_again(*asked, threads=2)))).all()
    chance = missed_with(chosen, sketch, np.array([80]), np.array([100]))[0]
    error = np.sqrt(chance * (1 - chance) / hits.size)
    assert hits.shape == (SEEDS, 300)
    assert abs((~hits).mean() - chance) < 4 * error


def test_what_is_missing_does_not_depend_on_the_key_of_the_hashes() -> None:
    sets = [set(range(8 * k, 8 * k + 60)) for k in range(12)]
    pairs = verified(sets, 0.6)
    one, other = (
        missing_pairs(Pairs.of(pairs), plan(0.6, 0.5), ONE, not_sure, fetching(sets, key)) for key in (3, 4)
    )
    assert one == other
    assert one.estimated > 0.01


def test_pairs_of_two_documents_are_reckoned_as_before() -> None:
    sets, chosen = twins(40, 80, 10), plan(0.8, 0.9)
    pairs = verified(sets, 0.7)
    chances = missed_with(chosen, ONE, np.full(40, 80), np.full(40, 100))
    assert missing_pairs(Pairs.of(pairs), chosen, ONE, not_sure, fetching(sets)) == of_pairs(chances)


def test_the_pairs_of_one_document_are_missed_together() -> None:
    """One text and 30 equal but for a word: if it is lost, it is lost to all; nothing else can happen."""
    sets = [set(range(100)), *(set(range(11, 111)) | {1000 + k} for k in range(30))]
    pairs, chosen = verified(sets, 0.75), plan(0.8, 0.9)
    assert pairs.num_rows == 30 * 31 // 2
    got = missing_pairs(Pairs.of(pairs), chosen, ONE, not_sure, fetching(sets))
    alone = of_pairs(missed_with(chosen, ONE, *(np.full(30, n) for n in (89, 112))))
    assert 0.3 * alone.estimated < got.estimated < 2 * alone.estimated
    assert got.together > 10
    assert missed_pairs(got, 0.1).high >= 30 > missed_pairs(alone, 0.1).high


def test_chains_find_what_lsh_misses() -> None:
    """Ten close versions: hardly a pair can be missed, though LSH by itself would miss some."""
    sets = [set(range(k, k + 60)) for k in range(10)]
    pairs, chosen = verified(sets, 0.7), plan(0.7, 0.5)
    counts = [pairs[name].to_numpy() for name in ("shared", "size_a", "size_b")]
    alone = of_pairs(missed_with(chosen, ONE, counts[0], counts[1] + counts[2] - counts[0]))
    assert missing_pairs(Pairs.of(pairs), chosen, ONE, not_sure, fetching(sets)).estimated < alone.estimated / 3
    assert missing_pairs(Pairs.of(pairs), chosen, ONE, lambda some: ~not_sure(some), fetching(sets)) == Missing()


def families(number: int) -> list[set[int]]:
    return [set(range(1000 * k + 8 * i, 1000 * k + 8 * i + 60)) for k in range(number) for i in range(4)]


def test_some_families_stand_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of 300 alike families is drawn: the estimate is near that from all of them, and less sure."""
    sets, chosen = families(300), plan(0.6, 0.5)
    pairs = verified_table(
        *np.array([(4 * k + a, 4 * k + b, *c) for k in range(300) for a, b, *c in rows_of_one()]).T
    )
    whole = missing_pairs(Pairs.of(pairs), chosen, ONE, not_sure, fetching(sets))
    monkeypatch.setattr(misses, "_SHINGLES", 300 * 4 * 60 // 3)
    some = missing_pairs(Pairs.of(pairs), chosen, ONE, not_sure, fetching(sets))
    assert some.estimated == pytest.approx(whole.estimated, rel=0.3)
    assert some.variance > whole.variance
    assert some.bounded == whole.bounded == 0


def rows_of_one() -> list[tuple[int, ...]]:
    return [tuple(row.values()) for row in verified(families(1), 0.6).to_pylist()]


def test_of_a_large_family_some_documents_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    sets, chosen = [set(range(4 * k, 4 * k + 60)) for k in range(60)], plan(0.6, 0.5)
    pairs = verified(sets, 0.6)
    whole = missing_pairs(Pairs.of(pairs), chosen, ONE, not_sure, fetching(sets))
    monkeypatch.setattr(misses, "_SHINGLES", 60 * 60 * 2)
    part = missing_pairs(Pairs.of(pairs), chosen, ONE, not_sure, fetching(sets))
    assert whole.bounded == 0
    assert part.bounded == part.estimated > whole.estimated
    assert part.mostly_bounded


def test_of_many_pairs_those_within_crowds_are_taken_for_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 near copies, and two texts like two of them: only these can be missed, with and without the limit."""
    more = set(range(200, 212))
    crowd = [set(range(100)) | {1000 + k} | (more if k < 2 else set()) for k in range(40)]
    sets = [*crowd, set(range(17, 100)) | more, set(range(18, 100)) | more | {300}]
    pairs, chosen, documents = verified(sets, 0.8), plan(0.8, 0.9), np.arange(42)
    made = hashed(sets)
    hubs = empty_index(42)._replace(
        documents=documents, local=documents, hashes=made.hashes, starts=made.offsets[:-1], sizes=made.sizes
    )
    nobody = np.zeros(42, np.bool_)
    monkeypatch.setattr(misses, "HUB", 20)
    whole = missing_among(Pairs.of(pairs), hubs, documents, nobody, chosen, ONE)
    monkeypatch.setattr(misses, "_MANY", 100)
    part = missing_among(Pairs.of(pairs), hubs, documents, nobody, chosen, ONE)
    assert part.estimated == pytest.approx(whole.estimated, abs=0.3)
    assert part.estimated > 0
    assert missing_among(Pairs.of(pairs), hubs, documents, ~nobody, chosen, ONE) == Missing()


def test_a_family_stands_for_its_pairs_and_more_where_it_was_drawn() -> None:
    """Two documents and a seed of four that misses them: 5/4 for each pair, as (seeds + 1) / (found + 1) says."""
    a, b = np.array([0, 2]), np.array([1, 3])
    hits = np.array([[True, True], [True, True], [True, False], [True, True]])
    got = of_families(a, b, np.array([0, 1]), hits)
    assert got.estimated == pytest.approx(0.25)
    drawn = of_families(a, b, np.array([0, 1]), hits, DrawnFamilies(np.array([1.0, 4.0]), np.array([1.0, 1.0])))
    assert drawn.estimated == pytest.approx(1.0)
    assert drawn.variance > 4 * got.variance
    part = of_families(a, b, np.array([0, 1]), hits, DrawnFamilies(np.ones(2), np.array([1.0, 3.0])))
    assert part.estimated == part.bounded == pytest.approx(0.75)


def test_the_statement_says_at_least_where_only_a_bound_is_known() -> None:
    of_run = SearchSettings(), Shingles(), SimHashing(), plan(0.8, 0.99)
    said = recall_of(*of_run, Predicted(Missing(4.0, 8.0, 4.0), 996, bound=True))
    assert said.at_least is True
    assert said.missed.low == 0
    assert said.predicted.high == 1
    assert has_parts(
        said.statement,
        "planned 0.9918",
        "resemblance 0.8",
        "about 0.9960",
        "at most about 4",
        f"(95 %: up to {said.missed.high})",
        "--audit N",
    )
    measured = Predicted(Missing(4.0, 8.0, 4.0, bounded=2.0), 996, measured=Share(0.995, 0.99, 0.999))
    said = recall_of(*of_run, measured)
    assert said.statement.endswith("; the audit measured 0.995 (95 % interval 0.990 to 0.999)")
    plain = recall_of(*of_run, Predicted(Missing(4.0, 8.0, 4.0, bounded=0.3), 996))
    assert plain.at_least is False
    assert "missed: about 4 (95 % interval " in plain.statement
    assert missed_pairs(Missing(), 0.01) == Interval(0.0, 0, 0)
