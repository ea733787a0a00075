"""Pairs in working files are those of plain sets: sorted, each once, found by their keys."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup.io.writers.scratch import Scratch
from neardup.join import pairs as pairs_module
from neardup.join.pairs import (
    PairFile,
    PairLookup,
    PairRoom,
    Pairs,
    PairSorter,
    batches,
    documents_in,
    filtered,
    keys_of,
    together,
)
from neardup.tables import CANDIDATES, VERIFIED, column, verified_table
from support.full_run import FULL


def drawn(number: int, documents: int, seed: int = 0) -> pa.Table:
    """Pairs of documents with counts that follow from the documents, unsorted, some repeated."""
    draw = np.random.default_rng(seed)
    a, b = np.sort(draw.integers(0, documents, (2, number)), axis=0)
    a, b = a[a < b], b[a < b]
    ends = [numbers.astype(np.uint32) for numbers in (a, b)]
    return pa.table([*ends, a + 7 * b, a + 100, b + 100], schema=VERIFIED)


def rows_of(pairs: Pairs) -> list[tuple[int, ...]]:
    return [tuple(row.values()) for table in batches(pairs) for row in table.to_pylist()]


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
    assert isinstance(pairs, PairFile) == (number > most)
    assert pairs.num_rows == len(plain(table))
    assert not list(tmp_path.iterdir())
    keys = PairSorter(PairRoom(scratch, most), counted=False)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: keys.add_keys(keys_of(table)[k::9].astype(np.uint64)), range(9)))
    found = keys.finish()
    assert all(some.schema == CANDIDATES for some in batches(found))
    assert rows_of(found) == [row[:2] for row in plain(table)]


@pytest.mark.parametrize("most", [37, 10_000])
def test_pairs_are_looked_up_filtered_and_put_together(most: int, tmp_path: Path) -> None:
    room = PairRoom(Scratch(tmp_path), most)
    table, other = drawn(2000, 90), drawn(1000, 120, seed=1)
    pairs = made(table, room)
    wanted = np.unique(keys_of(other))
    known = set(keys_of(table).tolist())
    assert PairLookup(pairs).has(wanted).tolist() == [key in known for key in wanted.tolist()]
    expected = [row for row in plain(table) if (row[0] << 32) | row[1] in set(wanted.tolist())]
    assert [tuple(row.values()) for row in PairLookup(pairs).at(wanted).to_pylist()] == expected
    nothing = np.empty(0, np.int64)
    assert PairLookup(pairs).at(nothing).num_rows == len(PairLookup(pairs).has(nothing)) == 0
    even = filtered(pairs, lambda some: column(some, "b") % 2 == 0, room)
    assert rows_of(even) == [row for row in plain(table) if row[1] % 2 == 0]
    assert rows_of(together(room, pairs, made(other, room), VERIFIED.empty_table())) == plain(table, other)
    assert together(room, VERIFIED.empty_table(), pairs) is pairs
    assert documents_in(pairs, 90).tolist() == sorted({end for row in plain(table) for end in row[:2]})
    assert [some.num_rows for some in batches(pairs, 10)][:2] == [10, 10]


def test_a_table_out_of_order_is_looked_up(tmp_path: Path) -> None:
    ends = np.array([[5, 1, 3], [6, 2, 4]])
    table = verified_table(*ends, *np.ones((3, 3), np.int64)).take([2, 0, 1])
    keys = np.array([(1 << 32) | 2, (2 << 32) | 3, (5 << 32) | 6])
    assert PairLookup(table).has(keys).tolist() == [True, False, True]
    assert column(PairLookup(table).at(keys), "a").tolist() == [1, 5]


def test_a_sorted_sequence_is_not_written_again(tmp_path: Path) -> None:
    """Pairs that arrive in order, as those of verification do, are in their file already."""
    scratch = Scratch(tmp_path)
    table = pa.concat_tables([made(drawn(3000, 300), PairRoom())])
    pairs = made(table, PairRoom(scratch, 60), step=61)
    assert rows_of(pairs) == rows_of(table)
    assert scratch.most == 32 * table.num_rows
