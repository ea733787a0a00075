"""Pairs in working files are those of plain sets: sorted, each once, found by their keys."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup.deduplication.join import pairs as pairs_module
from neardup.deduplication.join.pairs import PairRoom, Pairs, PairSorter, gather, keys_of
from neardup.io.writers.scratch import Scratch
from neardup.tables import CANDIDATES, VERIFIED, column
from support.full_run import FULL


def drawn(number: int, documents: int, seed: int = 0) -> pa.Table:
    """Pairs of documents with counts that follow from the documents, unsorted, some repeated."""
    draw = np.random.default_rng(seed)
    a, b = np.sort(draw.integers(0, documents, (2, number)), axis=0)
    a, b = a[a < b], b[a < b]
    ends = [numbers.astype(np.uint32) for numbers in (a, b)]
    return pa.table([*ends, a + 7 * b, a + 100, b + 100], schema=VERIFIED)


def rows_of(pairs: Pairs) -> list[tuple[int, ...]]:
    return [tuple(row.values()) for table in pairs.batches() for row in table.to_pylist()]


def plain(*tables: pa.Table) -> list[tuple[int, ...]]:
    return sorted({tuple(row.values()) for table in tables for row in table.to_pylist()})


def made(table: pa.Table, room: PairRoom, step: int = 50) -> Pairs:
    sorter = PairSorter(room)
    for first in range(0, table.num_rows, step):
        sorter.add(table.slice(first, step))
    return sorter.finish()


HUNDRED = 100 if FULL else 40  # as many parts are merged in either case


@pytest.mark.parametrize(
    ("number", "most"),
    [(0, 10), (5, 10), (30 * HUNDRED, HUNDRED * 2 // 5), (60 * HUNDRED, HUNDRED * 4 // 5), (30 * HUNDRED, 10_000)],
)
def test_pairs_come_out_sorted_and_once(
    number: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs_module, "_LEAST", 3)
    table, scratch = drawn(number, 300), Scratch(tmp_path)
    pairs = made(table, PairRoom(scratch, most))
    assert rows_of(pairs) == rows_of(made(table, PairRoom(None, most))) == plain(table)
    assert (pairs.most < len(pairs)) == pairs.exceeds(PairRoom(scratch, most)) == (number > most)
    assert not pairs.exceeds(PairRoom(None, most))
    assert len(pairs) == len(plain(table))
    assert not list(tmp_path.iterdir())
    keys = PairSorter(PairRoom(scratch, most), counted=False)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: keys.add_keys(keys_of(table)[k::9].astype(np.uint64)), range(9)))
    found = keys.finish()
    assert all(some.schema == CANDIDATES for some in found.batches())
    assert rows_of(found) == [row[:2] for row in plain(table)]


@pytest.mark.parametrize("most", [37, 10_000])
def test_pairs_are_those_of_a_plain_list(most: int, tmp_path: Path) -> None:
    """Read in portions, looked up, cut, filtered and united, in a file or in memory."""
    room = PairRoom(Scratch(tmp_path), most)
    table, other = drawn(2000, 90), drawn(1000, 120, seed=1)
    pairs, twin = made(table, room), plain(table)
    keys = [(row[0] << 32) | row[1] for row in twin]
    assert rows_of(Pairs.of(pairs.table())) == rows_of(pairs) == twin
    assert [some.num_rows for some in pairs.batches(10)] == [
        len(twin[k : k + 10]) for k in range(0, len(twin), 10)
    ]
    wanted = np.unique(keys_of(other))
    assert pairs.has(wanted).tolist() == [key in set(keys) for key in wanted.tolist()]
    assert [tuple(row.values()) for row in pairs.at(wanted).to_pylist()] == [
        row for row, key in zip(twin, keys, strict=True) if key in set(wanted.tolist())
    ]
    for key in (0, keys[0], keys[40] - 1, keys[40], keys[40] + 1, keys[-1] + 1):
        assert pairs.place(key) == sum(known < key for known in keys)
    assert rows_of(pairs.part(30, 130).part(20, 90)) == twin[50:120]
    even = pairs.filter(lambda some: column(some, "b") % 2 == 0, room)
    assert rows_of(even) == [row for row in twin if row[1] % 2 == 0]
    assert pairs.documents(90).tolist() == sorted({end for row in twin for end in row[:2]})
    nothing = Pairs.of(VERIFIED.empty_table())
    assert rows_of(pairs.union(room, made(other, room), nothing)) == plain(table, other)
    assert rows_of(Pairs.of(other.take([3])).union(room, pairs)) == plain(table, other.take([3]))
    assert nothing.union(room, pairs) is pairs


@pytest.mark.parametrize("most", [37, 10_000])
def test_no_pairs_are_one_table_without_rows(most: int, tmp_path: Path) -> None:
    room, no_keys = PairRoom(Scratch(tmp_path), most), np.empty(0, np.int64)
    pairs = made(drawn(2000, 90), room)
    none = pairs.filter(lambda some: np.zeros(some.num_rows, np.bool_), room)
    for some in (none, pairs.part(5, 5), Pairs.of(VERIFIED.empty_table())):
        assert [one.schema for one in some.batches()] == [VERIFIED]
        assert len(some) == some.table().num_rows == some.place(1 << 40) == len(some.documents(90)) == 0
        assert some.has(np.array([1, 2])).tolist() == [False, False]
    assert pairs.at(no_keys).schema == VERIFIED
    assert pairs.at(no_keys).num_rows == len(pairs.has(no_keys)) == 0


def test_a_single_table_is_not_copied(tmp_path: Path) -> None:
    table, room = drawn(100, 9), PairRoom(Scratch(tmp_path), 10)
    address = table["shared"].chunk(0).buffers()[1].address
    for some in (gather([table], room).table(), *Pairs.of(table).batches()):
        assert some["shared"].chunk(0).buffers()[1].address == address


def test_a_sorted_sequence_is_not_written_again(tmp_path: Path) -> None:
    """Pairs that arrive in order, as those of verification do, are in their file already."""
    scratch = Scratch(tmp_path)
    table = made(drawn(3000, 300), PairRoom()).table()
    pairs = made(table, PairRoom(scratch, 60), step=61)
    assert rows_of(pairs) == plain(table)
    assert scratch.most == 32 * table.num_rows
