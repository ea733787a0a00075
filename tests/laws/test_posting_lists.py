"""Posting lists in segments: whatever is added and removed, they hold what a dict of sets holds."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup.collection.store import schema
from neardup.collection.store.segments import (
    KEY_BITS,
    MOST_NUMBER,
    HeldSegments,
    Portions,
    Segments,
    SegmentWriting,
    postings_of,
)
from neardup.collection.store.sqlite_tables import SqliteTables
from neardup.tables import UInt64s

PLACE = Path("x.neardup")
HASHES = st.integers(0, 30) | st.integers(0, 2**64 - 1) | st.integers(0, 30).map(lambda low: low << 40 | 7)
BATCHES = st.lists(st.sets(HASHES, max_size=12), min_size=1, max_size=8)
STEPS = st.lists(
    st.tuples(st.just("add"), BATCHES) | st.tuples(st.just("remove"), st.lists(st.integers(0, 60), max_size=5)),
    max_size=12,
)
CARED_FOR = (1 << KEY_BITS) - 1
SMALL = Portions(block=2, hashes=7, blocks=3, merged=8)


@contextmanager
def opened() -> Iterator[tuple[sqlite3.Connection, Segments]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        schema.create(connection)

        def run(statement: str, *given: Any) -> list[Any]:
            return connection.execute(statement, given).fetchall()

        yield connection, Segments(run, PLACE, SMALL, memory=HeldSegments(40))


def postings(held: dict[int, set[int]]) -> UInt64s:
    """The postings of documents by what they hold."""
    hashes = [hash for held_ in held.values() for hash in sorted(held_)]
    owners = [number for number, held_ in held.items() for _ in held_]
    return postings_of(np.array(hashes, np.uint64), np.array(owners, np.int64))


@given(STEPS)
def test_they_hold_what_a_dict_holds(steps: list[tuple[str, Any]]) -> None:
    known: dict[int, set[int]] = {}
    following = 1
    with opened() as (connection, stored):
        for what, given_ in steps:
            writing = SegmentWriting(SqliteTables(connection), PLACE, SMALL)
            if what == "add":
                new = dict(enumerate(given_, following))
                following += len(given_)
                writing.add(postings(new))
                known |= new
            else:
                gone = {number: known.pop(number) for number in set(given_) & set(known)}
                assert writing.remove(postings(gone)) == 0
                assert writing.remove(postings(gone)) == len(kept(gone))
            writing.settle()
            agree(stored, known)
            sizes = [segment.postings for segment in stored.all()]
            assert what == "remove" or all(size > sum(sizes[k + 1 :]) for k, size in enumerate(sizes[:-1]))
        SegmentWriting(SqliteTables(connection), PLACE, SMALL).merge_all()
        agree(stored, known)
        assert len(stored.all()) <= 1


@given(STEPS, st.integers(1, 20), st.integers(1, 40))
def test_a_large_merge_in_steps_loses_nothing(steps: list[tuple[str, Any]], step: int, at_once: int) -> None:
    """Whatever is added and removed while it is under way; once it has ended, the sizes are as usual."""
    portions = SMALL._replace(step=step, at_once=at_once)
    known: dict[int, set[int]] = {}
    following = 1
    with opened() as (connection, stored):
        for what, given_ in [*steps, ("add", [{5, 1 << 31}])]:
            writing = SegmentWriting(SqliteTables(connection), PLACE, portions)
            if what == "add":
                new = dict(enumerate(given_, following))
                following += len(given_)
                writing.add(postings(new))
                known |= new
            else:
                gone = {number: known.pop(number) for number in set(given_) & set(known)}
                assert writing.remove(postings(gone)) == 0
            writing.settle()
            agree(stored, known)
        while writing.proceed():
            agree(stored, known)
        agree(stored, known)


def test_a_large_merge_is_spread_over_the_additions_after_it() -> None:
    """No addition moves much more than it adds, and no more than a few segments stay."""
    portions = Portions(block=4, merged=64, step=16, at_once=256)
    draw = np.random.default_rng(5)
    with opened() as (connection, stored):
        most, known = 0, np.empty(0, np.uint64)
        for k in range(200):
            new = draw.integers(0, 1 << 63, 20).astype(np.uint64)
            added = postings_of(new, np.full(20, k + 1))
            before = connection.total_changes
            writing = SegmentWriting(SqliteTables(connection), PLACE, portions)
            writing.add(added)
            writing.settle()
            most = max(most, connection.total_changes - before)
            known = np.concatenate((known, added))
            assert stored.faults() == []
            assert len(stored.all()) < 20
        assert sum(segment.postings for segment in stored.all()) == len(known)
        assert most < 400, "a merge of all would delete and write 1,000 blocks each"


def kept(known: dict[int, set[int]]) -> set[tuple[int, int]]:
    """(key, document), each once."""
    return {(hash & CARED_FOR, number) for number, held in known.items() for hash in held}


def agree(stored: Segments, known: dict[int, set[int]]) -> None:
    wanted = kept(known)
    found = np.concatenate([np.empty(0, np.uint64), *stored.each()])
    pairs = [(int(word) >> KEY_BITS, int(word) & MOST_NUMBER) for word in found.tolist()]
    assert sorted(pairs) == sorted(wanted)
    assert stored.faults() == []
    asked = sorted({hash for held in known.values() for hash in held} | {3, 2**64 - 1})
    documents, offsets = stored.lists(np.array(asked, np.uint64))
    holders: dict[int, list[int]] = {}
    for key, number in sorted(wanted):
        holders.setdefault(key, []).append(number)
    for k, hash in enumerate(asked):
        assert documents[offsets[k] : offsets[k + 1]].tolist() == holders.get(hash & CARED_FOR, [])
    lists = [holders.get(hash & CARED_FOR, []) for hash in asked]
    common: dict[int, int] = {}
    for most in (0, 3, 10, 10_000, 3, 0, 10):  # several portions of 7 hashes
        rarest = sorted(range(len(asked)), key=lambda place: (len(lists[place]), place))
        while len(rarest) > 1 and sum(len(lists[place]) for place in rarest) > most:
            rarest.pop()
        places, some = stored.rarest(np.array(asked, np.uint64), most, common)
        assert places.tolist() == sorted(rarest)
        assert [one.tolist() for one in some] == [lists[place] for place in sorted(rarest)]


def test_nothing_is_asked_of_nothing() -> None:
    with opened() as (connection, stored):
        documents, offsets = stored.lists(np.array([1, 2], np.uint64))
        assert (documents.tolist(), offsets.tolist()) == ([], [0, 0, 0])
        documents, offsets = stored.lists(np.empty(0, np.uint64))
        assert (documents.tolist(), offsets.tolist()) == ([], [0])
        writing = SegmentWriting(SqliteTables(connection), PLACE, SMALL)
        writing.add(np.empty(0, np.uint64))
        writing.settle()
        assert (writing.remove(np.array([5], np.uint64)), stored.all()) == (1, [])
