"""Sets that may have a partner: none with one is missing, and those with shingles of their own leave."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.deduplication.join import prefix_join
from neardup.deduplication.join.prefix_join import (
    HubSearch,
    join_documents,
    joined_sets,
    pairs_of,
    with_possible_partners,
)
from neardup.kernels.formulas import COSINE, DICE, LARGER, OVERLAP, RESEMBLANCE
from neardup.kernels.join.met_pairs import unique_in_range
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.kernels.sets import Criterion
from neardup.tables import Int64s
from support import made_sets
from support.made_sets import MadeStore

WORDS = st.sampled_from([1, 2, 64, 1 << 12])
MEASURES = {
    RESEMBLANCE: lambda a, b: Fraction(len(a & b), len(a | b)),
    DICE: lambda a, b: Fraction(2 * len(a & b), len(a) + len(b)),
    LARGER: lambda a, b: Fraction(len(a & b), max(len(a), len(b))),
    COSINE: lambda a, b: Fraction(len(a & b) ** 2, len(a) * len(b)),
}


@pytest.fixture(autouse=True)
def _short_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix_join, "_IN_RANGE", 8)


def counted(sets: list[set[int]], some: Int64s, low: int, last: int, words: int) -> list[int]:
    hashes, starts, sizes = made_sets.laid_out(sets)
    found, span = np.full(len(some), -1, np.int32), np.array([low, last], np.uint64)
    unique_in_range(hashes, starts, sizes, some, span, np.zeros((words, 2), np.uint64), found)
    return [int(count) for count in found]


@given(made_sets.collections(), WORDS, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.data())
def test_counts_no_shared_hash_and_misses_unique_ones_only_by_collisions(
    sets: list[set[int]], words: int, one: int, other: int, data: st.DataObject
) -> None:
    low, last = min(one, other), max(one, other)
    chosen = data.draw(st.lists(st.integers(0, len(sets) - 1), unique=True)) if sets else []
    some = np.array(sorted(chosen), np.int64)
    inside = [{value for value in sets[k] if low <= value <= last} for k in some.tolist()]
    times = Counter(value for values in inside for value in values)
    unique = [sum(times[value] == 1 for value in values) for values in inside]
    found = counted(sets, some, low, last, words)
    assert all(0 <= count <= most for count, most in zip(found, unique, strict=True))
    if len({value & 0xFFF for value in times}) == len(times) and words == 1 << 12:
        places = [(value >> 16 & words - 1, value & 63, value >> 6 & 63) for value in times]
        apart = {(word, bit) for word, *bits in places for bit in bits}
        if len(apart) == 2 * len(places):
            assert found == unique


@pytest.mark.part(3)
@pytest.mark.parametrize("measure", MEASURES)
@given(sets=made_sets.collections(), threshold=st.sampled_from(made_sets.THRESHOLDS))
def test_no_set_with_a_partner_is_missing(measure: int, sets: list[set[int]], threshold: Fraction) -> None:
    hashes, starts, sizes = made_sets.laid_out(sets)
    asked = made_sets.criterion(threshold, measure)
    found = with_possible_partners(hashes, starts, sizes, asked, 1)
    threshold **= 1 + (measure == COSINE)
    assert (np.diff(found) > 0).all()
    paired = {
        k
        for pair in combinations(range(len(sets)), 2)
        if sets[pair[0]] and sets[pair[1]] and MEASURES[measure](*(sets[k] for k in pair)) >= threshold
        for k in pair
    }
    assert paired <= set(found.tolist())
    assert np.array_equal(found, with_possible_partners(hashes, starts, sizes, asked, 2))


def everything(asked: Criterion, hubs: PrefixIndex) -> HubSearch:
    """All documents of the index, of which none has partners elsewhere."""
    n = len(hubs.documents)
    return HubSearch(asked, np.zeros(n, np.bool_), np.zeros(n, np.int64), None, 0)


def test_sets_of_their_own_leave_and_copies_stay() -> None:
    made = np.random.default_rng(5).integers(0, 2**64 - 1, (40, 60), np.uint64)
    sets = [set(map(int, values)) for values in made]
    sets[7] = set(list(sets[3])[:57]) | {1, 2, 3}
    laid, asked = made_sets.laid_out(sets), made_sets.criterion(Fraction(4, 5))
    assert with_possible_partners(*laid, asked, 2).tolist() == [3, 7]
    overlap = made_sets.criterion(Fraction(4, 5), OVERLAP)  # any subset may be a partner
    assert len(with_possible_partners(*laid, overlap, 2)) == 40
    hubs = join_documents(np.arange(40), 40, MadeStore(sets), asked, 2).hubs  # type: ignore[arg-type]
    met, _ = pairs_of(hubs, everything(asked, hubs), 2)
    table = met.table()
    assert made_sets.pairs_of(table, sets) == {(3, 7): Fraction(57, 63)}
    alone = [values for k, values in enumerate(sets) if k not in (3, 7)]
    nobody = join_documents(np.arange(38), 38, MadeStore(alone), asked, 2).hubs  # type: ignore[arg-type]
    assert len(pairs_of(nobody, everything(asked, nobody), 2)[0]) == 0


def test_partners_known_among_all_sets_are_not_those_among_some_of_them() -> None:
    made = np.random.default_rng(6).integers(0, 2**64 - 1, (30, 60), np.uint64)
    sets = [set(map(int, values)) for values in made]
    for copy, original in ((4, 20), (25, 21)):
        sets[copy] = set(list(sets[original])[:58]) | {1, 2}
    asked = made_sets.criterion(Fraction(4, 5))
    store = MadeStore(sets)
    known = replace(store.sets, possible=with_possible_partners(*made_sets.laid_out(sets), asked, 2))
    for chosen, wanted in ((np.arange(30), {(4, 20), (21, 25)}), (np.arange(18, 30), {(21, 25)})):
        hubs = joined_sets(chosen, 30, known, asked, 2).hubs
        met, _ = pairs_of(hubs, everything(asked, hubs), 2)
        table = met.table()
        assert made_sets.pairs_of(table, sets).keys() == wanted
