"""Chains of rare shingles hold every pair that meets the criterion, and are short."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from neardup.deduplication.join.criterion import criterion_of, takes_any_subset
from neardup.deduplication.join.method import MOST_OF_A_LIST
from neardup.kernels.join import prefix_index as kernels
from neardup.settings import SearchSettings
from neardup.spark import pairs
from neardup.spark.groups import contract
from neardup.spark.job import batch_of, binary, truths, whole
from neardup.tables import UInt64s


@cache
def sets(seed: int) -> list[UInt64s]:
    """Families of sets, parts of others, and sets of their own; all hashes are well mixed."""
    draw = np.random.default_rng(seed)
    made: list[UInt64s] = []
    for _ in range(40):
        first = draw.integers(0, 1 << 63, draw.integers(5, 60), dtype=np.uint64)
        made.append(first)
        for _ in range(draw.integers(0, 4)):
            new = draw.integers(0, 1 << 63, draw.integers(1, 8), dtype=np.uint64)
            made.append(np.concatenate((first[draw.random(len(first)) < draw.choice([0.4, 0.95])], new)))
    return [np.unique(one) for one in made]


def batch(made: list[UInt64s], first: int) -> pa.RecordBatch:
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in made])))
    return batch_of(row=np.arange(len(made)) + first, shingles=binary(np.concatenate(made), offsets))


def in_order(entries: list[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """The entries sorted as one partition receives them."""
    table = pa.Table.from_batches(entries).sort_by([(name, "ascending") for name in ("entry", "size", "row")])
    yield from table.combine_chunks().to_batches(size)


def broadcast(value: Any) -> Any:
    return SimpleNamespace(value=value)


def listed(made: list[UInt64s], search: SearchSettings) -> tuple[list[pa.RecordBatch], Any]:
    """The entries of all sets, and the table of frequencies."""
    criterion = criterion_of(search)
    hashes, counts = np.unique(np.concatenate(made), return_counts=True)
    repeats = np.zeros(1 << 16, np.uint8)
    again = counts > 1
    np.add.at(repeats, (hashes[again] & np.uint64(len(repeats) - 1)).astype(np.int64), counts[again] - 1)
    half = len(made) // 2
    batches = [batch(made[:half], 0), batch(made[half:], half)]
    entries = list(pairs._list(criterion, broadcast(repeats), iter(batches)))
    if takes_any_subset(criterion.measure):
        marked = np.zeros(1 << 10, np.uint64)
        for one in entries:
            kernels.mark_entries(whole(one, "entry").view(np.uint64), marked)
        sent = broadcast(repeats), broadcast(marked)
        entries = list(pairs._list_hosts(criterion, *sent, iter(batches)))
    return entries, repeats


@cache
def all_shared(seed: int) -> dict[tuple[int, int], int]:
    """|A∩B| of each two sets."""
    made = sets(seed)
    return {(x, y): len(np.intersect1d(made[x], made[y])) for y in range(len(made)) for x in range(y)}


@pytest.mark.part(2)
@pytest.mark.parametrize("measure", ["resemblance", "containment", "overlap", "overlap-max", "dice", "cosine"])
@pytest.mark.parametrize("threshold", [0.35, 0.8])
@pytest.mark.parametrize("size", [1, 50, 100_000])
def test_every_pair_lies_in_one_component(measure: str, threshold: float, size: int) -> None:
    seed = round(threshold * 100)
    made = sets(seed)
    search = SearchSettings(measure=measure, threshold=threshold, method="exact")
    entries, _ = listed(made, search)
    edges = list(pairs._chain(in_order(entries, size)))
    assert sum(one.num_rows for one in edges) < sum(one.num_rows for one in entries), "linear, not quadratic"
    root = np.arange(len(made))
    for one in contract(iter(edges)):
        root[whole(one, "a")] = whole(one, "b")
    found_pairs = 0
    for (x, y), shared in all_shared(seed).items():
        sizes = len(made[x]), len(made[y])
        whole_of = {"resemblance": sum(sizes) - shared, "overlap-max": max(sizes), "dice": sum(sizes) / 2}
        whole_of["cosine"] = (sizes[0] * sizes[1]) ** 0.5
        least = whole_of.get(measure, min(sizes))
        if shared >= threshold * least:
            found_pairs += 1
            assert root[x] == root[y]
    assert found_pairs > 20


@pytest.mark.parametrize("size", [3, 100_000])
def test_lookups_are_counted_as_on_one_machine(size: int) -> None:
    made = sets(5) * 3
    search = SearchSettings(threshold=0.5)
    entries, _ = listed(made, search)
    counted = list(pairs._count(in_order(entries, size)))
    table = pa.Table.from_batches(entries)
    entry, sizes, largest = (whole(table, name) for name in ("entry", "size", "largest"))
    rows = whole(table, "row")
    expected = 0
    for k in range(len(entry)):
        later = (entry == entry[k]) & ((sizes > sizes[k]) | ((sizes == sizes[k]) & (rows > rows[k])))
        expected += min(MOST_OF_A_LIST, np.count_nonzero(later & (sizes <= largest[k])))
    assert sum(int(whole(one, "lookups").sum()) for one in counted) == expected > 0
    assert sum(int(whole(one, "tied").sum()) for one in counted) == np.count_nonzero(truths(table, "tied"))
