"""Band keys, buckets and their pairs, and exact copies, against the naive twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.kernels.lsh.buckets import band_keys, bucket_pairs
from neardup.kernels.names import FREE, enter_keys
from neardup.kernels.sorting import equal_runs, sorted_by_key
from support import reference, reference_search, strategies

SLOT_VALUES = st.one_of(st.integers(0, 3), st.integers(0, 2**32 - 1), st.just(2**32 - 1))


@given(
    st.lists(st.lists(SLOT_VALUES, min_size=8, max_size=8), max_size=6),
    st.integers(0, 7),
    st.integers(1, 8),
    st.integers(0, 4095),
)
def test_band_keys(signatures: list[list[int]], first: int, rows: int, band: int) -> None:
    rows = min(rows, 8 - first)
    out = np.zeros(len(signatures), np.uint64)
    band_keys(np.array(signatures, np.uint32).reshape(-1, 8), first, rows, band, out)
    assert out.tolist() == [reference_search.band_key(row[first : first + rows], band) for row in signatures]


def test_keys_of_like_bands_differ() -> None:
    """Slots that change places, one slot off by one bit, and the same slots in another band."""
    rows = [[1, 2, 3, 4], [2, 1, 3, 4], [4, 3, 2, 1], [1, 2, 3, 5], [0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    signatures = np.array(rows, np.uint32)
    keys = np.zeros((3, len(rows)), np.uint64)
    for band in range(3):
        band_keys(signatures, 0, 4, band, keys[band])
    assert len(set(keys.reshape(-1).tolist())) == 3 * len(rows)


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(1, 12), st.sampled_from([0, 1, 2, 3, 5, 8, 45]))
@example([0] * 5, 9, 3)
@example([0] * 3, 3, 0)
@example([0] * 4, 3, 0)
@example([], 1, 0)
def test_pairs_of_buckets(labels: list[int], limit: int, below: int) -> None:
    labels_mixed = [reference.mix64(label) for label in labels]
    keys = np.array(labels_mixed, np.uint64)
    order = sorted_by_key(keys, 1)
    starts, sizes = equal_runs(keys, order, 11)
    hub = np.zeros(len(labels), np.bool_)
    packed, hubs, largest = bucket_pairs(order, starts, sizes, limit, below, hub)

    buckets = reference_search.equal_runs(labels_mixed)
    pairs, members, large, size = reference_search.bucket_pairs(buckets, limit, below)
    found = [(value >> 32, value & (2**32 - 1)) for value in packed.tolist()]
    assert sorted(found) == sorted(pairs)
    assert set(np.flatnonzero(hub).tolist()) == members
    assert (hubs, largest) == (large, size)


def test_marks_of_earlier_bands_stay() -> None:
    hub = np.array([True, False, False])
    order, two = np.array([1, 2, 0], np.int32), np.array([2], np.int64)
    bucket_pairs(order, np.array([0], np.int64), two, 1, 0, hub)
    assert hub.tolist() == [True, True, True]


def entered(keys: list[tuple[int, int]], capacity: int, steps: list[int]) -> tuple[list[int], list[int]]:
    """Return the first document with each key, and the new keys of each step, entered in steps."""
    array = np.array(keys, np.uint64).reshape(-1, 2)
    table, copy_of = np.full(capacity, FREE, np.int64), np.full(len(keys), -9, np.int64)
    new = []
    for first, until in zip([0, *steps], [*steps, len(keys)], strict=True):
        new.append(int(enter_keys(array, first, until, table, copy_of)))
        assert (copy_of[until:] == -9).all()
    return copy_of.tolist(), new


KEYS = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.integers(0, 3).map(lambda high: high << 60), st.integers(0, 1)),  # all start in one cell
        st.tuples(st.just(2**64 - 1), strategies.words64()),  # at the end of the table, and round it
        st.tuples(strategies.words64(), strategies.words64()),
    ),
    max_size=40,
)


@given(KEYS, st.data(), st.sampled_from([2, 4, 16, 1024]))
def test_first_document_with_each_key(keys: list[tuple[int, int]], data: st.DataObject, room: int) -> None:
    capacity = room
    while capacity < 2 * len(set(keys)):
        capacity *= 2
    steps = sorted(data.draw(st.lists(st.integers(0, len(keys)), max_size=3)))
    expected = reference_search.first_with_key(keys)
    copy_of, new = entered(keys, capacity, steps)
    assert copy_of == expected
    assert sum(new) == len(set(keys))
    assert new[0] == len(set(keys[: [*steps, len(keys)][0]]))


@pytest.mark.parametrize("capacity", [256, 512, 4096])
def test_keys_that_agree_in_the_bits_that_choose_the_cell(capacity: int) -> None:
    """The chains run over the end of the table; half of a key alone is no copy."""
    keys = [(number % 64 * 4096 + 4095, number // 64 % 2) for number in range(200)]
    copy_of, new = entered(keys, capacity, [50, 129])
    assert copy_of == reference_search.first_with_key(keys)
    assert new == [50, 78, 0]
