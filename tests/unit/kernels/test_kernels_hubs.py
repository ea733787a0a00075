"""The exact join inside hubs: its prefixes against the naive twin, its pairs against all pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neardup.deduplication.join.prefix_join
from neardup.deduplication.group.leaders import LinkLimits, _balls, link_crowds
from neardup.deduplication.join.prefix_join import (
    HubSearch,
    _frequent,
    empty_index,
    join_documents,
    pairs_of,
    search_plan,
)
from neardup.kernels.components import crowd_links, link_ends, tree_root
from neardup.kernels.join.prefix_index import PrefixIndex, count_repeats, rare_prefixes, with_partners
from neardup.kernels.leaders import Groups
from support import made_sets, reference, reference_search, strategies
from support.made_sets import THRESHOLDS, MadeStore

CELLS = st.sampled_from([1, 2, 8, 64, 1 << 16])


def join(sets: list[set[int]], threshold: Fraction, documents: list[int] | None = None) -> PrefixIndex:
    numbers = np.array(range(len(sets)) if documents is None else documents, np.int64)
    return join_documents(numbers, len(sets), MadeStore(sets), made_sets.criterion(threshold), 2).hubs  # type: ignore[arg-type]


def found_pairs(
    hubs: PrefixIndex, sets: list[set[int]], threshold: Fraction, reference_documents: int = 0
) -> dict[tuple[int, int], Fraction]:
    met, over = pairs_of(hubs, search(hubs, threshold, old=reference_documents), 2)
    assert not over.any()
    table = met.table()
    return dict(made_sets.pairs_of(table, sets))


def search(
    hubs: PrefixIndex,
    threshold: Fraction,
    out: Sequence[bool] | None = None,
    old: int = 0,
    limit: int | None = None,
    known: int = 0,
) -> HubSearch:
    """Return the search to make: of all pairs, unless the caller changes it."""
    n = len(hubs.documents)
    left_out = np.zeros(n, np.bool_) if out is None else np.array(out, np.bool_)[hubs.documents]
    return HubSearch(made_sets.criterion(threshold), left_out, np.full(n, known, np.int64), limit, old)


def kernel_repeats(sets: list[set[int]], words: int, cells: int, parts: int = 1) -> list[int]:
    seen, repeats = np.zeros(words, np.uint64), np.zeros(cells, np.uint8)
    hashes, starts, sizes = made_sets.laid_out(sets)
    for part in range(parts):
        count_repeats(hashes, starts, sizes, seen, repeats, part, parts)
    counts: list[int] = repeats.tolist()
    return counts


@given(made_sets.collections(), CELLS, CELLS)
def test_repeats(sets: list[set[int]], words: int, cells: int) -> None:
    assert kernel_repeats(sets, words, cells) == reference_search.count_repeats(sets, words, cells)


@given(made_sets.collections(), st.sampled_from([2, 4]))
@settings(max_examples=20)
def test_parts_counted_apart_are_the_whole(sets: list[set[int]], parts: int) -> None:
    assert kernel_repeats(sets, 1 << 18, 1 << 18, parts) == kernel_repeats(sets, 1 << 18, 1 << 18)


@given(st.lists(st.sets(strategies.words64(), max_size=9), max_size=9), CELLS, CELLS)
def test_no_hash_of_two_documents_counts_as_unique(sets: list[set[int]], words: int, cells: int) -> None:
    repeats = kernel_repeats(sets, words, cells)
    for a, b in combinations(sets, 2):
        assert all(repeats[value % cells] > 0 for value in a & b)


def test_unique_hashes_are_told_from_repeated_ones() -> None:
    """With room enough nothing collides: what the counts are for, and a law alone would not show."""
    once = {reference.mix64(number) for number in range(100)}
    twice = {reference.mix64(number) for number in range(100, 150)}
    repeats = kernel_repeats([once | twice, twice], 1 << 14, 1 << 16)
    assert sum(repeats[value % (1 << 16)] > 0 for value in once) <= 1
    assert sum(repeats) == 50


def test_repeats_stop_at_255() -> None:
    sets = [{5}] * 300
    assert kernel_repeats(sets, 1, 8) == [0, 0, 0, 0, 0, 255, 0, 0]


@given(made_sets.collections(), CELLS, CELLS, st.sampled_from(THRESHOLDS), st.booleans())
def test_prefixes(sets: list[set[int]], words: int, cells: int, threshold: Fraction, crowded: bool) -> None:
    """Right also where counts are too high, as hashes that collide make them."""
    sets = sorted(sets, key=len)
    counts = reference_search.count_repeats(sets, words, cells)
    if crowded:
        counts = [min(count * 100, 255) for count in counts]
    entries, owner, largest, reach = rare_prefixes(
        *made_sets.laid_out(sets), np.array(counts, np.uint8), made_sets.criterion(threshold)
    )
    expected = [reference_search.rare_prefix(values, counts, threshold) for values in sets]
    assert [entries[owner == x].tolist() for x in range(len(sets))] == [prefix for prefix, _, _ in expected]
    assert largest.tolist() == [size for _, size, _ in expected]
    assert [reach[owner == x].tolist() for x in range(len(sets))] == [reaches for _, _, reaches in expected]
    assert (np.diff(owner) >= 0).all()


@given(made_sets.collections(), CELLS, CELLS, st.sampled_from(THRESHOLDS))
def test_prefixes_of_true_pairs_meet(sets: list[set[int]], words: int, cells: int, threshold: Fraction) -> None:
    """The law the join rests on, whatever hashes collide: nothing here knows of the lists."""
    counts = kernel_repeats(sets, words, cells)
    prefixes = [reference_search.rare_prefix(values, counts, threshold) for values in sets]
    for a, b in reference_search.all_pairs(sets, threshold):
        assert set(prefixes[a][0]) & set(prefixes[b][0])
        assert len(sets[a]) <= prefixes[b][1]
        assert len(sets[b]) <= prefixes[a][1]


@given(made_sets.collections(), st.sampled_from(THRESHOLDS), st.integers(0, 24))
def test_no_pair_is_lost_and_none_is_made_up(sets: list[set[int]], threshold: Fraction, old: int) -> None:
    assert found_pairs(join(sets, threshold), sets, threshold, old) == reference_search.all_pairs(
        sets, threshold, old
    )


@given(made_sets.collections(), st.sampled_from(THRESHOLDS), st.data())
def test_only_some_documents_are_in_hubs(sets: list[set[int]], threshold: Fraction, data: st.DataObject) -> None:
    inside = sorted(data.draw(st.sets(st.sampled_from(range(len(sets)))) if sets else st.just(set())))
    hubs = join(sets, threshold, inside)
    expected = reference_search.all_pairs(sets, threshold)
    assert found_pairs(hubs, sets, threshold) == {
        pair: value for pair, value in expected.items() if set(pair) <= set(inside)
    }
    assert np.flatnonzero(hubs.local >= 0).tolist() == inside
    assert hubs.documents[hubs.local[inside]].tolist() == inside


@given(made_sets.collections(), st.sampled_from(THRESHOLDS), st.data())
def test_documents_left_out(sets: list[set[int]], threshold: Fraction, data: st.DataObject) -> None:
    hubs = join(sets, threshold)
    out = data.draw(st.lists(st.booleans(), min_size=len(sets), max_size=len(sets)))
    met, _ = pairs_of(hubs, search(hubs, threshold, out), 1)
    expected = reference_search.all_pairs(sets, threshold)
    table = met.table()
    assert made_sets.pairs_of(table, sets) == {
        (a, b): value for (a, b), value in expected.items() if not out[a] and not out[b]
    }


@given(made_sets.collections(), st.sampled_from(THRESHOLDS), st.integers(0, 5), st.integers(0, 3))
def test_documents_with_too_many_partners(
    sets: list[set[int]], threshold: Fraction, limit: int, known: int
) -> None:
    """They are reported, and none of their pairs is given; ``known`` partners elsewhere count as well."""
    hubs = join(sets, threshold)
    met, over = pairs_of(hubs, search(hubs, threshold, limit=limit, known=known), 1)
    expected = reference_search.all_pairs(sets, threshold)
    partners = Counter(d for pair in expected for d in pair)
    popular = {d for d in range(len(sets)) if known + partners[d] > limit and (partners[d] or known > limit)}
    assert set(hubs.documents[over].tolist()) == popular & set(hubs.documents.tolist())
    table = met.table()
    assert made_sets.pairs_of(table, sets) == {
        pair: value for pair, value in expected.items() if not popular & set(pair)
    }


@given(made_sets.collections(), st.sampled_from(THRESHOLDS), st.integers(0, 24), st.sampled_from([None, 2]))
def test_pairs_counted_by_bits_are_those_of_merged_sets(
    sets: list[set[int]], threshold: Fraction, old: int, limit: int | None
) -> None:
    """With the bits of frequent shingles, which otherwise only long lists get: a few, or all shingles frequent.

    Two leaders are never a pair, and need not be compared.
    """
    hubs = join(sets, threshold)
    asked: dict[str, Any] = {"old": old, "limit": limit}
    merged, over = pairs_of(hubs, search(hubs, threshold, **asked), 1)
    for frequent in (2, 1 << 20):
        with ExitStack() as patched:
            for name, value in {"_LONG": 0, "_LEAST_WORDS": 0, "_MERGED": 0, "_FREQUENT": frequent}.items():
                patched.enter_context(mock.patch.object(neardup.deduplication.join.prefix_join, name, value))
            by_bits, of_bits = pairs_of(hubs, search(hubs, threshold, **asked), 1)
            leader = reference_search.principal(
                reference_search.all_pairs(sets, threshold, old), range(len(sets)), old
            )
            apart = (np.array(leader, np.int64)[hubs.documents] == hubs.documents) & (hubs.documents >= old)
            unlike, of_unlike = pairs_of(hubs, replace(search(hubs, threshold, **asked), apart=apart), 1)
        assert by_bits.table().equals(merged.table())
        assert (of_bits == over).all()
        assert unlike.table().equals(merged.table())
        assert (of_unlike == over).all()


def test_small_sets_get_no_bits() -> None:
    sets = made_sets.hashed([set(range(15)) | {100 + k} for k in range(600)], reference.mix64)
    assert not len(search_plan(join(sets, Fraction(1, 2)), np.zeros(600, np.bool_), 2).bits)


def test_sets_of_one_stock_get_bits() -> None:
    sets = made_sets.hashed([set(range(40)) | {100 + k} for k in range(600)], reference.mix64)
    hubs = join(sets, Fraction(1, 2))
    made = search_plan(hubs, np.zeros(600, np.bool_), 2)
    assert len(made.bits) == 600
    assert len(made.rest) < 60  # own shingles are in no other document, but for a few that collide
    assert len(found_pairs(hubs, sets, Fraction(1, 2))) == 600 * 599 // 2
    every = _frequent(hubs, made.inside)
    assert len(every) == 40
    assert _frequent(hubs, made.inside, 24 * 41).tolist() == every.tolist()  # 24 documents tell as much
    assert not len(_frequent(hubs, made.inside, 41))  # and one nothing


@given(made_sets.collections(), st.sampled_from(THRESHOLDS))
def test_no_document_with_a_partner_is_given_up(sets: list[set[int]], threshold: Fraction) -> None:
    hubs = join(sets, threshold)
    alive = with_partners(hubs)
    for pair in reference_search.all_pairs(sets, threshold):
        assert alive[hubs.local[list(pair)]].all()


def test_boilerplate_over_texts_of_their_own_is_given_up() -> None:
    """Half of each text is common to all of them: every pair meets in the lists, and none can be similar."""
    common = set(range(20))
    sets = made_sets.hashed(
        [common | {1000 * k + n for n in range(21)} for k in range(1, 60)], strategies.mixed_hash
    )
    assert not with_partners(join(sets, Fraction(1, 2))).any()
    assert with_partners(join(sets, Fraction(3, 10))).all()


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("times", [1, 7, 40])
def test_pairs_exactly_at_the_threshold(threshold: Fraction, times: int) -> None:
    """|A∩B| / |A∪B| is the threshold itself: found; one shared shingle less: not. Both ways round."""
    shared, union = threshold.numerator * times, threshold.denominator * times
    whole = set(range(union))
    inside = set(range(shared))  # a subset of the whole, and two sets that overlap
    left, right = (
        set(range(shared + (union - shared) // 2)),
        inside | set(range(shared + (union - shared) // 2, union)),
    )
    for a, b in ((whole, inside), (inside, whole), (left, right), (right, left)):
        fewer = b - {0} if len(b) > 1 else {10**6}
        sets = made_sets.hashed([a, b, {10**7}], strategies.mixed_hash)
        assert found_pairs(join(sets, threshold), sets, threshold) == {(0, 1): threshold}
        sets = made_sets.hashed([a, fewer | {10**6}, {10**7}], strategies.mixed_hash)
        assert found_pairs(join(sets, threshold), sets, threshold) == {}


@pytest.mark.parametrize("threshold", [Fraction(1, 2), Fraction(9, 10)])
def test_a_crowd_larger_than_a_slice_and_the_first_buffers(threshold: Fraction) -> None:
    """1 100 documents of 40 kinds: more than one task, more pairs than the buffers start with."""
    kinds = [set(range(1000 * kind, 1000 * kind + 12)) | {10**6, 10**6 + 1} for kind in range(40)]
    sets = made_sets.hashed([kinds[n * 7 % 40] | {2 * 10**6 + n % 3} for n in range(1100)], strategies.mixed_hash)
    found = found_pairs(join(sets, threshold), sets, threshold, 5)
    distinct, form = sets[:120], [n % 120 for n in range(1100)]
    assert all(sets[n] == distinct[form[n]] for n in range(1100))
    alike = reference_search.all_pairs([*distinct, *distinct], threshold, 0)
    assert found == {
        (a, b): alike[form[a], 120 + form[b]]
        for a, b in combinations(range(1100), 2)
        if b >= 5 and (form[a], 120 + form[b]) in alike
    }
    assert len(found) > 4000


def test_no_hubs() -> None:
    hubs = empty_index(3)
    assert hubs.local.tolist() == [-1] * 3
    assert with_partners(hubs).tolist() == []
    assert found_pairs(hubs, [{1}, {1}, {1}], Fraction(1, 2)) == {}
    empty = join([{1}, {1}], Fraction(1, 2), [])
    assert found_pairs(empty, [{1}, {1}], Fraction(1, 2)) == {}


@given(made_sets.collections(), st.sampled_from(THRESHOLDS), st.integers(0, 12), st.data())
def test_links_of_crowds_complete_the_components(
    sets: list[set[int]], threshold: Fraction, old: int, data: st.DataObject
) -> None:
    """Uniting all pairs without a limited end, and then the links, gives the components of all pairs."""
    hubs, sizes, numbers = join(sets, threshold), [len(values) for values in sets], range(len(sets))
    limited = data.draw(st.lists(st.booleans(), min_size=len(sets), max_size=len(sets)))
    limits = LinkLimits(data.draw(st.integers(1, 99)), data.draw(st.integers(1, 3)))
    pairs = reference_search.all_pairs(sets, threshold, old)
    leader = reference_search.principal(pairs, numbers, old)
    shared = [len(values & sets[head]) for values, head in zip(sets, leader, strict=True)]
    outside = [(a, b) for a, b in pairs if leader[b] == a or not (limited[a] or limited[b])]
    parent = np.array(reference_search.components(outside, numbers), np.int64)
    among = np.array(limited, np.bool_)[hubs.documents]
    groups = Groups(np.array(leader, np.int64), np.array(shared, np.int64))
    search = link_crowds(
        hubs, made_sets.criterion(threshold), groups, among, with_partners(hubs), parent, old, limits
    )
    links = [row for rows, _ in search for row in rows]
    found = [tuple(sorted(hubs.documents[row[:2]].tolist())) for row in links]
    assert found == reference_search.links(pairs, outside, sizes)
    assert [len(sets[a] & sets[b]) for a, b in found] == [int(row[2]) for row in links]
    assert [tree_root(parent, d) for d in numbers] == reference_search.components(pairs, numbers)


def test_a_group_whose_leader_is_too_far_is_passed_at_once() -> None:
    """Two crowds with half of their shingles in common: the members of one do not pass those of the other."""
    both, own = set(range(40)), {0: set(range(100, 140)), 1: set(range(200, 240))}
    n = 800  # shingles in more than 255 documents are equally rare, so that the crowds meet in lists
    sets = made_sets.hashed([both | own[k % 2] | {1000 + k} for k in range(n)], reference.mix64)
    hubs, everyone = join(sets, Fraction(4, 5)), np.ones(n, np.bool_)
    leader, shared = np.arange(n) % 2, np.full(n, 80, np.int64)
    criterion, found = made_sets.criterion(Fraction(4, 5)), {}
    for many in (2, 1000):
        parent = leader.copy()
        balls = _balls(hubs, Groups(leader, shared), everyone, parent, many)
        ends = link_ends(hubs, everyone, everyone, balls, parent)
        links, found[many] = crowd_links(hubs, criterion, ends, parent, 0, 0, 5000)
        assert len(links) == 0
    assert found[2] == n
    assert found[1000] < n // 10


def test_many_links() -> None:
    """More links than their buffer starts with: a star of crowds."""
    core = set(range(30))
    sets = made_sets.hashed([core] + [core | {1000 + n} for n in range(50)], reference.mix64)
    hubs = join(sets, Fraction(9, 10))
    parent, everyone = np.arange(len(sets)), np.ones(len(sets), np.bool_)
    groups = Groups(parent.copy(), parent.copy())
    search = link_crowds(hubs, made_sets.criterion(Fraction(9, 10)), groups, everyone, everyone, parent, 0)
    assert sum(len(links) for links, _ in search) == 50
