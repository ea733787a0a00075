"""Pairs within a Hamming distance, and the index, against plain Python; crowds; what is refused."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.deduplication.join import candidates as proposing
from neardup.deduplication.join.candidates import near_candidates
from neardup.errors import InputError, SettingError
from neardup.kernels.lsh.hamming import near_in_runs, pairs_alike
from neardup.tables import CANDIDATES, COPIES_OF, HAMMING, NEIGHBOURS
from neardup.text.lsh import hamming as searching
from neardup.text.lsh.hamming import FingerprintWords, cut, distinct
from support import reference_hamming as twin
from support.messages import assert_refused


def rows_of(numbers: list[int], bits: int) -> np.ndarray:
    """Return numbers as what SimHash.sketch gives."""
    words = [[number >> shift & 2**64 - 1 for shift in range(0, bits, 64)] for number in numbers]
    rows = np.array(words, np.uint64).reshape(len(numbers), bits // 64)
    return rows.reshape(-1) if bits == 64 else rows


@st.composite
def alike(draw: st.DrawFn, bits: int, most: int = 40) -> list[int]:
    """Return fingerprints: a few centres, others that differ from them in some bits, equal ones."""
    centres = draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=4))
    flips = st.lists(st.integers(0, bits - 1), max_size=6)
    members = draw(st.lists(st.tuples(st.sampled_from(centres), flips), max_size=most))
    return [centre ^ sum(1 << bit for bit in set(changed)) for centre, changed in members]


BITS = st.sampled_from([64, 128, 192, 320])
DISTANCES = st.integers(0, 9)


@pytest.fixture
def cut_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use tables, and tables inside their runs, for a handful of fingerprints already."""
    monkeypatch.setattr(searching, "LONG", 3)


def listed(table: pa.Table) -> list[tuple[int, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


# All pairs


@given(st.data(), BITS, DISTANCES, st.sampled_from([1, 2, 5, 2048]))
def test_no_pair_is_missed(data: st.DataObject, bits: int, distance: int, long: int) -> None:
    numbers = data.draw(alike(bits))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "LONG", long)
        found = nd.hamming_pairs(rows_of(numbers, bits), distance, threads=1)
    first = [numbers.index(number) for number in numbers]
    every = twin.near(numbers, distance)
    assert found.documents == len(numbers)
    assert found.copies.schema == COPIES_OF
    assert listed(found.copies) == [(row, first[row]) for row in range(len(numbers)) if first[row] < row]
    assert found.pairs.schema == HAMMING
    assert listed(found.pairs) == [(a, b, apart) for a, b, apart in every if (first[a], first[b]) == (a, b)]
    assert listed(found.expanded()) == every


@pytest.mark.part(2)
@pytest.mark.usefixtures("cut_early")
@pytest.mark.parametrize("bits", [64, 128, 192])
@pytest.mark.parametrize("kind", ["ball", "grid", "few bits", "one run"])
def test_skewed_fingerprints(kind: str, bits: int) -> None:
    """Where long runs lie in long runs: all near one; few values a block; most bits alike; one block alike."""
    rng = np.random.default_rng(7)
    numbers = {
        "ball": [0, *(1 << a | 1 << b for a, b in combinations(range(0, bits, 3), 2))],
        "grid": [sum(int(rng.integers(3)) << at for at in range(0, bits, 8)) for _ in range(400)],
        "few bits": [number << 23 for number in range(300)],
        "one run": [int(rng.integers(2**48)) << 8 for _ in range(300)],
    }[kind]
    for distance in (1, 3):
        found = nd.hamming_pairs(rows_of(numbers, bits), distance)
        assert listed(found.expanded()) == twin.near(numbers, distance)


def test_any_number_of_threads() -> None:
    rows = np.random.default_rng(1).integers(0, 2**20, 5000, dtype=np.uint64) << np.uint64(11)
    one, many = (nd.hamming_pairs(rows, 2, threads) for threads in (1, 3))
    assert one.pairs.equals(many.pairs)
    assert one.copies.equals(many.copies)
    assert one.pairs.num_rows > 1000


def test_a_crowd_of_equal_fingerprints_is_listed_once() -> None:
    rows = np.full(100_000, 77, np.uint64)
    rows[5] = 76
    found = nd.hamming_pairs(rows)
    assert listed(found.pairs) == [(0, 5, 1)]
    assert found.copies.num_rows == 99_998
    assert repr(found) == "HammingPairs(1 pairs, 99998 copies, 100000 rows)"


def test_nothing_and_little() -> None:
    for rows in (np.empty(0, np.uint64), np.empty((0, 2), np.uint64), [], [5]):
        found = nd.hamming_pairs(rows)
        assert (found.pairs.num_rows, found.copies.num_rows, found.expanded().num_rows) == (0, 0, 0)


def test_fingerprints_in_any_form() -> None:
    numbers = [0b11, 0b1, 2**64 - 1]
    for form in (numbers, tuple(numbers), np.array(numbers, np.uint64), pa.array(numbers, pa.uint64())):
        assert listed(nd.hamming_pairs(form, 1).pairs) == [(0, 1, 1)]
    assert listed(nd.hamming_pairs(np.array([3, 1], np.int32), 1).pairs) == [(0, 1, 1)]
    strided = np.array([[3, 0, 5], [1, 0, 5]], np.uint64)[:, ::2]
    assert listed(nd.hamming_pairs(strided, 1).pairs) == [(0, 1, 1)]


@pytest.mark.parametrize(
    ("fingerprints", "said"),
    [
        ("abc", "The fingerprints are a str."),
        (7, "a int"),
        ([1, -1], "holding -1"),
        ([2**64], "holding 18446744073709551616"),
        ([1.5], "holding 1.5"),
        (np.array([1.5]), "an array of float64"),
        (np.array([-1]), "an array of int64"),
        (np.zeros((2, 0), np.uint64), "an array of shape (2, 0)"),
        (np.zeros((2, 17), np.uint64), "a multiple of 64 bits up to 1024"),
        (np.zeros((2, 1, 1), np.uint64), "an array of shape (2, 1, 1)"),
    ],
)
def test_what_is_no_fingerprint(fingerprints: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        nd.hamming_pairs(fingerprints)
    assert said in str(error.value)
    assert "SimHash.sketch" in str(error.value)


def test_distances_that_are_refused() -> None:
    assert_refused(
        (SettingError, "from 0 to 16, since unrelated", lambda: nd.hamming_pairs([1, 2], distance=17)),
        (SettingError, "from 0 to 255", lambda: nd.hamming_pairs(np.zeros((2, 16), np.uint64), distance=256)),
    )
    assert nd.hamming_pairs(np.zeros((2, 2), np.uint64), distance=32).copies.num_rows == 1
    far = nd.hamming_pairs(rows_of([0, (1 << 255) - 1 << 700, 1 << 1023], 1024), distance=255)
    assert listed(far.pairs) == [(0, 1, 255), (0, 2, 1)]


# Parts


def test_only_bits_that_vary_are_cut() -> None:
    numbers = [number << 20 | 0b1011 for number in range(4096)]
    masks = cut(FingerprintWords.of(rows_of(numbers, 64).reshape(-1, 1)), 3)
    assert len(masks) > 1
    assert all(int(low) & ~(4095 << 20) == 0 for [low] in masks)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=30))
def test_pairs_alike_counts_pairs_by_their_top_bits(keys: list[int]) -> None:
    keys = [key & ~(3 << 50) for key in keys]
    expected = sum(a >> 48 == b >> 48 for a, b in combinations(keys, 2))
    assert pairs_alike(np.array(keys, np.uint64)) == expected


@given(st.data(), BITS)
def test_distinct(data: st.DataObject, bits: int) -> None:
    numbers = data.draw(alike(bits))
    classes = distinct(FingerprintWords.of(rows_of(numbers, bits).reshape(-1, bits // 64)))
    seen = [
        classes.rows[begin:end].tolist() for begin, end in zip(classes.starts, classes.starts[1:], strict=False)
    ]
    groups = {number: [k for k, other in enumerate(numbers) if other == number] for number in numbers}
    assert sorted(seen) == sorted(groups.values())
    assert classes.first.tolist() == [rows[0] for rows in seen]
    rows, which = classes.members(np.arange(len(seen)))
    assert rows.tolist() == [row for group in seen for row in group]
    assert which.tolist() == [k for k, group in enumerate(seen) for _ in group]


def test_a_limit_leaves_pairs_out_and_says_whose() -> None:
    star = np.array([0, *(1 << bit for bit in range(9)), 0b11 << 40], np.uint64)
    ends = np.array([len(star)], np.int32)
    nothing = np.zeros((1, 1), np.uint64)
    a, b, _, crowded = near_in_runs(star.reshape(1, -1), ends, nothing, 1, (99, 4))
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == [(0, 1), (0, 2), (0, 3), (0, 4)]
    assert np.flatnonzero(crowded).tolist() == [0, 5, 6, 7, 8, 9]


# Index


@given(st.data(), BITS, st.integers(0, 5), st.sampled_from([0, 3, 8, 1024]))
def test_the_index_finds_what_was_added_and_not_removed(
    data: st.DataObject, bits: int, distance: int, waiting: int
) -> None:
    index, stored, added = nd.HammingIndex(bits, distance), dict[int, int](), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "WAITING", waiting)
        for _ in range(data.draw(st.integers(1, 6))):
            numbers = data.draw(alike(bits, most=20))
            assert index.add(rows_of(numbers, bits)).tolist() == list(range(added, added + len(numbers)))
            stored |= dict(enumerate(numbers, added))
            added += len(numbers)
            leaving = data.draw(st.lists(st.sampled_from(sorted(stored)), unique=True)) if stored else []
            index.remove(leaving)
            stored = {number: value for number, value in stored.items() if number not in leaving}
            queries = data.draw(alike(bits, most=3)) + numbers[:5]
            expected = [
                (query, number, (value ^ other).bit_count())
                for query, value in enumerate(queries)
                for number, other in stored.items()
                if (value ^ other).bit_count() <= distance
            ]
            table = index.neighbours(rows_of(queries, bits))
            assert table.schema == NEIGHBOURS
            assert listed(table) == expected
            for query, value in enumerate(queries):
                assert index.query(value).tolist() == [number for asker, number, _ in expected if asker == query]
            assert len(index) == len(stored)


def test_an_index_without_its_removed_half_takes_no_room_for_it() -> None:
    rows = np.random.default_rng(4).integers(0, 2**64, 9000, dtype=np.uint64)
    index = nd.HammingIndex()
    index.add(rows)
    index.remove(np.arange(0, 9000, 3))
    index.remove(range(1, 9000, 3))
    assert sum(map(len, index._segments)) == len(index) == 3000
    assert index.add(7).tolist() == [9000]
    assert index.query(int(rows[2])).tolist() == [2]
    index.remove(np.append(np.arange(2, 9000, 3), 9000))
    assert (len(index), index.query(7).tolist()) == (0, [])
    assert index.add(7).tolist() == [9001]


def test_the_index_with_tables_agrees_with_the_pairs() -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2**64, 30_000, dtype=np.uint64)
    rows[20_000:] = rows[:10_000] ^ (np.uint64(1) << rng.integers(0, 64, 10_000, dtype=np.uint64))
    index = nd.HammingIndex()
    for part in np.array_split(rows, 7):
        index.add(part)
    expected = {(a, b, apart) for a, b, apart in listed(nd.hamming_pairs(rows).expanded())}
    found = {(a, b, apart) for a, b, apart in listed(index.neighbours(rows)) if a < b}
    assert found == expected
    assert len(expected) == 10_000


def test_one_query_in_any_form() -> None:
    index = nd.HammingIndex()
    for value in (3, np.uint64(1), [7], np.array([2**63], np.uint64)):
        index.add(value)
    for query in (3, np.uint64(3), [3], np.array([3], np.uint64)):
        assert index.query(query).tolist() == [0, 1, 2, 3]
    wide = nd.HammingIndex(128)
    made = nd.SimHash(128).sketch(["the moon is red", "the moon is red", "something else"])
    wide.add(made)
    assert wide.query(made[0]).tolist() == wide.query(nd.SimHash(128).of("the moon is red")).tolist() == [0, 1]
    assert repr(wide) == "HammingIndex(3 fingerprints of 128 bits, distance 3)"


def test_the_index_keeps_its_own_copy() -> None:
    index, rows = nd.HammingIndex(distance=0), np.array([5], np.uint64)
    index.add(rows)
    rows[0] = 6
    assert index.query(5).tolist() == [0]


def test_the_index_refuses() -> None:
    index, some = nd.HammingIndex(128), nd.HammingIndex()
    some.add([1, 2, 3])
    some.remove(0)
    assert_refused(
        (InputError, r"of shape \(3, 1\).*uint64\[n, 2\]", lambda: index.add(np.zeros((3, 1), np.uint64))),
        (InputError, "There are 2 fingerprints", lambda: index.query([1, 2])),
        (InputError, "below 2\\^64", lambda: nd.HammingIndex().query(2**64)),
        (SettingError, "a multiple of 64 bits up to 1024", lambda: nd.HammingIndex(96)),
        (SettingError, "", lambda: nd.HammingIndex(64, 17)),
        (InputError, "The number 3 ", lambda: some.remove(3)),
        (InputError, "The number -1 ", lambda: some.remove(-1)),
        (InputError, "The number 1 ", lambda: some.remove([1, 1])),
        (InputError, "The number 0 ", lambda: some.remove([2, 0])),
        (InputError, "float64", lambda: some.remove([1.0])),
    )
    assert some.query(2).tolist() == [1, 2]


# Candidates


@given(st.data(), BITS, st.integers(0, 4), st.integers(0, 20), st.sampled_from([1, 3, 100]))
def test_candidates_are_the_pairs_but_those_of_hubs(
    data: st.DataObject, bits: int, distance: int, reference: int, hub: int
) -> None:
    numbers = data.draw(alike(bits))
    steps: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposing, "HUB", hub)
        proposed = near_candidates(rows_of(numbers, bits), distance, reference, 1, steps.append)
    found, hubs = listed(proposed.pairs.table()), set(proposed.hub.tolist())
    wanted = [(a, b) for a, b, _ in twin.near(numbers, distance) if b >= reference]
    assert proposed.pairs.table().schema == CANDIDATES
    assert found == sorted(set(found))
    assert set(found) <= set(wanted)
    assert all(pair in found or set(pair) <= hubs for pair in wanted)
    sizes = {number: numbers.count(number) for number in numbers}
    around = Counter(row for pair in twin.near(numbers, distance) for row in pair[:2])
    assert {row for row in range(len(numbers)) if around[row] >= hub} <= hubs
    assert len(found) <= hub * len(numbers) / 2
    assert proposed.hub_buckets == len({numbers[row] for row in hubs})
    largest = max(sizes.values(), default=0)
    assert proposed.largest_bucket == (largest if largest > 1 else 0)
    assert set(steps) == {1}
    if hub == 100 and max(around.values(), default=0) < 100:
        assert (found, hubs) == (wanted, set())


def test_equal_fingerprints_near_each_other_are_not_multiplied() -> None:
    """Three crowds of 37 fingerprints within two bits, each of 90 documents: they had 16.6 million candidates."""
    crowds, bits = (0, 0xFF << 40, 0xFF << 50), (0, *(1 << k for k in range(36)))
    words = [crowd | bit for crowd in crowds for bit in bits]
    proposed = near_candidates(rows_of([word for word in words for _ in range(90)], 64), 3, 0, 1, lambda _: None)
    assert len(proposed.pairs) == 0
    assert len(proposed.hub) == 90 * len(words)


def test_crowds_become_hub_documents() -> None:
    crowd, lone, near = 0, 1 << 63 | 0xFFFF, 0b11
    proposed = near_candidates(rows_of([crowd] * 5000 + [lone, near, near], 64), 3, 0, 1, lambda _: None)
    assert listed(proposed.pairs.table()) == []
    assert proposed.hub.tolist() == [*range(5000), 5001, 5002]
    assert (proposed.hub_buckets, proposed.largest_bucket) == (2, 5000)
