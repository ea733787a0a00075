"""The exact join against brute force on generated sets of hashes: skewed frequencies, hubs, planted pairs.

Hundreds of sets at a time, so that counters saturate and lists grow long; ``test_kernels_hubs.py`` has
the small ones.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.deduplication.join import prefix_join
from neardup.deduplication.join.prefix_join import HubSearch, join_documents, pairs_of
from neardup.kernels.formulas import COSINE, DICE, LARGER, OVERLAP, RESEMBLANCE
from support import made_sets, reference_join, reference_search, strategies
from support.full_run import FULL

Sets = list[set[int]]


def ratios() -> st.SearchStrategy[Fraction]:
    """Thresholds: the usual ones, ratios of small numbers, and the finest a setting may have."""
    small = st.integers(1, 30).flatmap(lambda q: st.integers(1, q).map(lambda p: Fraction(p, q)))
    fine = st.integers(1, 10**6).map(lambda p: Fraction(p, 10**6))
    edges = st.sampled_from([Fraction(1, 10**6), Fraction(10**6 - 1, 10**6), Fraction(333_333, 10**6)])
    return st.one_of(st.sampled_from(made_sets.THRESHOLDS), small, fine, edges)


def hashing() -> st.SearchStrategy[Callable[[int], int]]:
    return st.sampled_from([strategies.mixed_hash, strategies.colliding_hash, edge_hash])


def edge_hash(number: int) -> int:
    """Return a mixed hash, but for the first numbers the smallest and the largest of 64 bits."""
    return {0: 0, 1: 2**64 - 1, 2: 1, 3: 2**64 - 2}.get(number, strategies.mixed_hash(number))


@st.composite
def skewed(draw: st.DrawFn, most: int = 400) -> Sets:
    """Return sets of numbers whose frequencies fall as a power of their rank, with hubs and edited copies."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    vocabulary = draw(st.sampled_from([8, 60, 1000, 100_000]))
    weights = np.arange(1, vocabulary + 1) ** -draw(st.sampled_from([0.0, 0.7, 1.0, 2.0]))
    largest = draw(st.sampled_from([4, 30, 120]))
    hub = set(range(draw(st.sampled_from([0, 0, 1, 5, 40]))))  # the most frequent are in every other set
    copied = draw(st.sampled_from([0.0, 0.3, 0.8]))
    sets: Sets = []
    for _ in range(draw(st.integers(0, most))):
        if sets and random.random() < copied:
            values = set(sets[random.integers(len(sets))])
            for _ in range(random.integers(4)):
                values.discard(next(iter(values), 0))
                values.add(int(random.integers(vocabulary)))
        else:
            size = random.integers(1, largest + 1)
            values = set(random.choice(vocabulary, size, p=weights / weights.sum()).tolist())
        sets.append(values | hub if random.random() < 0.5 else values)
    return sets


MEASURES = {
    RESEMBLANCE: reference_join.resemblance,
    OVERLAP: reference_join.overlap,
    LARGER: reference_join.larger,
    DICE: reference_join.dice,
    COSINE: reference_join.cosine,
}


def joined(sets: Sets, threshold: Fraction, threads: int = 2, measure: int = RESEMBLANCE) -> list[tuple[int, ...]]:
    """Return the rows (a, b, |A∩B|, |A|, |B|) that the exact join gives, all documents being hubs."""
    n, asked = len(sets), made_sets.criterion(threshold, measure)
    hubs = join_documents(np.arange(n), n, made_sets.MadeStore(sets), asked, threads).hubs  # type: ignore[arg-type]
    everything = HubSearch(asked, np.zeros(n, np.bool_), np.zeros(n, np.int64), None, 0)
    met, over = pairs_of(hubs, everything, threads)
    assert not over.any()
    table = met.table()
    return list(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))


def counted(sets: Sets, threshold: Fraction, measure: int = RESEMBLANCE) -> list[tuple[int, ...]]:
    """Return the rows that brute force gives."""
    return reference_join.join(reference_join.sets_of_numbers(sets), MEASURES[measure](threshold)).rows()


@pytest.mark.part(4)
@pytest.mark.parametrize("measure", MEASURES)
@given(sets=skewed(), by=hashing(), threshold=ratios(), threads=st.sampled_from([1, 2]))
def test_skewed_sets(
    measure: int, sets: Sets, by: Callable[[int], int], threshold: Fraction, threads: int
) -> None:
    sets = made_sets.hashed(sets, by)
    assert joined(sets, threshold, threads, measure) == counted(sets, threshold, measure)


@st.composite
def planted(draw: st.DrawFn, threshold: Fraction) -> tuple[Sets, list[tuple[int, int, int]]]:
    """Return sets, and (a, b, how many shared shingles too few) of pairs at the threshold or just below.

    The shingles of all pairs are drawn from one skewed pool, so that they are in one another's lists.
    """
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pool = draw(st.sampled_from([200, 2000]))
    weights = np.arange(1, pool + 1) ** -draw(st.sampled_from([0.0, 1.0]))
    p, q = threshold.as_integer_ratio()
    sets: Sets = list(map(set, random.choice(pool, (300, 30), p=weights / weights.sum()).tolist()))
    at = []
    for times in range(1, 1 + min(12, pool // (2 * q))):
        shared, union = p * times, q * times
        values = random.choice(pool, union, replace=False, p=weights / weights.sum()).tolist()
        left = shared + int(random.integers(union - shared + 1))  # own shingles of the one and of the other
        a, b = set(values[:left]), set(values[:shared] + values[left:])
        at.append((len(sets), len(sets) + 1, 0))
        sets += [a, b] if random.random() < 0.5 else [b, a]
        if shared > 1:
            other = pool + len(sets)  # in place of a shared shingle one of its own, or nothing
            for fewer in (b - {values[0]}, b - {values[0]} | {other}):
                at.append((len(sets), len(sets) + 1, 1))
                sets += [set(a), fewer]
    return sets, at


@pytest.mark.part(4)
@pytest.mark.parametrize("threshold", [*made_sets.THRESHOLDS, Fraction(1, 3), Fraction(19, 20)])
@given(data=st.data(), by=hashing())
@settings(max_examples=25)
def test_planted_pairs(threshold: Fraction, data: st.DataObject, by: Callable[[int], int]) -> None:
    """Exactly at the threshold: in. One shared shingle fewer: out. And all others as brute force has them."""
    sets, at = data.draw(planted(threshold))
    rows = joined(made_sets.hashed(sets, by), threshold)
    pairs = {row[:2] for row in rows}
    for a, b, missing in at:
        assert reference_search.resemblance(sets[a], sets[b]) == threshold or missing
        assert ((a, b) in pairs) == (not missing)
    assert len({missing for *_, missing in at}) == 2
    assert rows == counted(sets, threshold)


MANY = 20_000 if FULL else 5000


@pytest.mark.parametrize("threshold", [Fraction(3, 10), Fraction(4, 5)])
def test_more_documents_than_one_task_takes(threshold: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of sets of few shingles, of which the frequent ones are in hundreds and thousands of sets."""
    if not FULL:
        monkeypatch.setattr(prefix_join, "_SLICE", prefix_join._SLICE // 4)
    assert MANY > prefix_join._SLICE
    random = np.random.default_rng(11)
    shingles = (random.random((MANY, 14)) ** 3 * 60_000).astype(np.int64)
    sizes = random.integers(6, 15, MANY)
    sets = [set(row[:size]) for row, size in zip(shingles.tolist(), sizes.tolist(), strict=True)]
    for k in range(0, MANY, 9):  # edited copies of documents far away
        sets[k] = set(sorted(sets[(k * 31 + 7) % MANY])[: k % 4 + 6]) | {70_000 + k}
    rows = counted(sets, threshold)
    assert joined(made_sets.hashed(sets, strategies.mixed_hash), threshold) == rows
    assert len(rows) > MANY // 40


# --- brute force itself


@given(made_sets.collections(), ratios())
def test_brute_force_and_the_naive_twin(sets: Sets, threshold: Fraction) -> None:
    rows = counted(sets, threshold)
    assert {row[:2] for row in rows} == set(reference_search.all_pairs(sets, threshold))
    for a, b, shared, size_a, size_b in rows:
        assert (shared, size_a, size_b) == (len(sets[a] & sets[b]), len(sets[a]), len(sets[b]))
