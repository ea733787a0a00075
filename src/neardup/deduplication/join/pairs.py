"""Pairs in order, in memory or in a working file: collected, sorted, read and looked up in portions.

Without a memory limit, pairs are in memory. With one, those that exceed a portion are sorted portion by portion
into a working file, and the sorted portions are merged. A pair takes 8 bytes there, and 32 with its counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.io.outputs import NumberFile, Scratch
from neardup.settings import SearchSettings
from neardup.tables import CANDIDATES, VERIFIED, Bools, Int64s, UInt64s, column, places_among

MERGED_PAIRS = 1 << 24
"""Pairs from several bands are merged, and repeats dropped, whenever this many (128 MB) have accumulated."""

_FEWEST = 1 << 10

_KEY = np.dtype([("key", np.uint64)])
"""A pair in a working file: a · 2³² + b."""

_COUNTED = np.dtype([("key", np.uint64), ("shared", np.int64), ("size_a", np.int64), ("size_b", np.int64)])
"""A pair with its counts."""

_SIDE_BY_SIDE = 32
"""Sorted portions that are merged at a time."""

_LEAST = 1 << 10
"""Pairs that are read at a time from each sorted portion, at least."""

_LOW = np.uint64(0xFFFF_FFFF)

Records = npt.NDArray[np.void]


@dataclass(frozen=True)
class PairRoom:
    """The room for pairs: ``most`` at a time in memory, and the rest in ``scratch``; None: all in memory."""

    scratch: Scratch | None = None
    most: int = 1 << 24


def proposed_room(search: SearchSettings, scratch: Scratch | None) -> PairRoom:
    """Room for pairs without counts: a sixteenth of the room, three times that while they are sorted."""
    room = search.room
    return PairRoom(scratch, MERGED_PAIRS if room is None else max(_FEWEST, min(MERGED_PAIRS, room // 128)))


def verified_room(search: SearchSettings, scratch: Scratch | None) -> PairRoom:
    """Room for pairs with counts: about an eighth of the room while they are verified or sorted."""
    room = search.room
    return PairRoom(scratch, MERGED_PAIRS if room is None else max(_FEWEST, min(MERGED_PAIRS, room // 1024)))


@dataclass(frozen=True, eq=False)
class Pairs:
    """A ``number`` of pairs in the order of (a, b), each once, with the columns of CANDIDATES or VERIFIED.

    ``read(begin, end)`` returns those from place ``begin`` to ``end`` − 1 as a table. It costs nothing for pairs
    in memory; of pairs in a working file, at most ``most`` are read at a time.
    """

    read: Callable[[int, int], pa.Table]
    number: int
    most: int

    @classmethod
    def of(cls, table: pa.Table) -> Pairs:
        """The pairs of a table in this order; it is not copied."""
        return cls(lambda begin, end: table.slice(begin, end - begin), table.num_rows, table.num_rows)

    def __len__(self) -> int:
        return self.number

    def exceeds(self, room: PairRoom) -> bool:
        """Whether they have to be in a working file rather than in memory."""
        return room.scratch is not None and len(self) > room.most

    def table(self) -> pa.Table:
        """All pairs, in memory."""
        return pa.concat_tables(self.batches())

    def batches(self, most: int | None = None) -> Iterator[pa.Table]:
        """Yield all pairs in order, in one or more tables of at most ``most``."""
        step = max(1, min(self.most, most or self.most))
        for begin in range(0, max(1, len(self)), step):
            yield self.read(begin, min(begin + step, len(self)))

    def part(self, begin: int, end: int) -> Pairs:
        """The pairs from place ``begin`` to ``end`` − 1."""
        return Pairs(lambda first, until: self.read(begin + first, begin + until), end - begin, self.most)

    def place(self, key: int) -> int:
        """The place of the first pair that is not before ``key`` (a · 2³² + b)."""
        return bisect_left(range(len(self)), key, key=lambda k: int(keys_of(self.read(k, k + 1))[0]))

    def has(self, keys: Int64s) -> Bools:
        """bool[n]: whether there is a pair with each of the ``keys`` (ascending)."""
        has = np.zeros(len(keys), np.bool_)
        for span, _, known in self._around(keys):
            has[span] |= places_among(keys[span], known)[0]
        return has

    def at(self, keys: Int64s) -> pa.Table:
        """The pairs with these ``keys`` (ascending, each once), as far as they exist."""
        tables = [self.read(0, 0)]
        for span, table, known in self._around(keys):
            there, places = places_among(keys[span], known)
            tables.append(table.take(pa.array(places[there])))
        return pa.concat_tables(tables).combine_chunks()

    def documents(self, total: int) -> Int64s:
        """The documents (ascending, below ``total``) that have a pair."""
        has = np.zeros(total, np.bool_)
        for table in self.batches():
            has[column(table, "a")] = has[column(table, "b")] = True
        return np.flatnonzero(has)

    def filter(self, keep: Callable[[pa.Table], Bools], room: PairRoom) -> Pairs:
        """The pairs for which ``keep`` returns True; it receives some at a time."""
        return gather((table.filter(pa.array(keep(table))) for table in self.batches()), room)

    def union(self, room: PairRoom, *others: Pairs) -> Pairs:
        """These pairs and others, all with counts, each once."""
        filled = [pairs for pairs in (self, *others) if len(pairs)]
        if len(filled) < 2:
            return filled[0] if filled else self
        sorter = PairSorter(room)
        for pairs in filled:
            sorter.adopt(pairs)
        return sorter.finish()

    def _around(self, keys: Int64s) -> Iterator[tuple[slice, pa.Table, Int64s]]:
        """Yield some of the ``keys``, and a table of pairs that has those of them that exist, with its keys."""
        if not len(keys):
            return
        for table in self.part(self.place(int(keys[0])), self.place(int(keys[-1]) + 1)).batches():
            known = keys_of(table)
            if len(known):
                first, last = np.searchsorted(keys, known[0]), np.searchsorted(keys, known[-1], "right")
                yield slice(int(first), int(last)), table, known


def keys_of(table: pa.Table) -> Int64s:
    """int64: a · 2³² + b of each pair."""
    return (column(table, "a") << 32) | column(table, "b")


def gather(tables: Iterable[pa.Table], room: PairRoom) -> Pairs:
    """The pairs of one or more tables, each in order; a single table is not copied."""
    each = iter(tables)
    first, second = next(each), next(each, None)
    if second is None:
        return Pairs.of(first)
    sorter = PairSorter(room, counted=first.schema == VERIFIED)
    for table in chain((first, second), each):
        sorter.add(table)
    return sorter.finish()


class _Portion(NamedTuple):
    """Sorted records: how they are read, their places, and their first and last key."""

    read: Callable[[int, int], Records]
    begin: int
    end: int
    first: int
    last: int


class PairSorter:
    """Collects pairs, with or without counts (``counted``); ``finish`` returns them in order, each once.

    Several threads may add pairs. Pairs that are added twice have the same counts.
    """

    def __init__(self, room: PairRoom, counted: bool = True) -> None:
        self._room, self._kind = room, _COUNTED if counted else _KEY
        self._waiting: list[Records] = []
        self._held = 0
        self._file: NumberFile | None = None
        self._portions: list[_Portion] = []  # of the file
        self._adopted: list[_Portion] = []
        self._lock = Lock()

    def add(self, table: pa.Table) -> None:
        """Add the pairs of a table."""
        self._add(_records(table, self._kind))

    def add_keys(self, keys: UInt64s) -> None:
        """Add pairs without counts, as a · 2³² + b."""
        self._add(keys.view(_KEY))

    def adopt(self, pairs: Pairs) -> None:
        """Add pairs that are in order; those that exceed the room are not copied."""
        if pairs.exceeds(self._room):
            portion = _portion(lambda begin, end: _records(pairs.read(begin, end), self._kind), 0, len(pairs))
            with self._lock:
                self._adopted.append(portion)
        else:
            for table in pairs.batches():
                self.add(table)

    def finish(self) -> Pairs:
        """All pairs, in order: in memory if they fit into a portion."""
        last, self._waiting = _in_order(self._waiting, self._kind), []
        if not self._portions and not self._adopted:
            return Pairs.of(_table(last))
        if len(last):
            self._write(last)
        portions, adopted, file = self._portions, self._adopted, self._file
        self._portions, self._adopted, self._file = [], [], None
        follow = all(one.last < other.first for one, other in pairwise(portions))
        if file is None or adopted or not follow:
            file = self._merge([*portions, *adopted])
        return Pairs(lambda begin, end: _table(file.read(begin, end)), len(file), self._room.most)

    def _add(self, records: Records) -> None:
        with self._lock:
            self._waiting.append(records)
            self._held += len(records)
            if self._held <= self._room.most:
                return
            ordered, self._waiting, self._held = _in_order(self._waiting, self._kind), [], 0
            if self._room.scratch is None:
                self._waiting.append(ordered)  # repeats are gone
            else:
                self._write(ordered)

    def _write(self, ordered: Records) -> None:
        assert self._room.scratch is not None
        if self._file is None:
            self._file = self._room.scratch.numbers(self._kind)
        begin = len(self._file)
        self._file.append(ordered)
        self._portions.append(_portion(self._file.read, begin, len(self._file)))

    def _merge(self, portions: list[_Portion]) -> NumberFile:
        """A file of all records of the portions, in order."""
        while len(portions) > _SIDE_BY_SIDE:
            several = (portions[k : k + _SIDE_BY_SIDE] for k in range(0, len(portions), _SIDE_BY_SIDE))
            portions = [_portion(file.read, 0, len(file)) for file in map(self._merge, several)]
        assert self._room.scratch is not None
        file = self._room.scratch.numbers(self._kind)
        for records in _merged_records(portions, max(_LEAST, self._room.most // len(portions))):
            file.append(records)
        return file


class _Reader:
    """Reads a sorted portion, ``step`` records at a time; ``ahead`` are read and not yet taken."""

    def __init__(self, portion: _Portion, step: int) -> None:
        self._portion, self._step, self._at = portion, step, portion.begin
        self.ahead: Records = portion.read(portion.begin, portion.begin)

    def fill(self) -> None:
        """Read on if all that was read is taken."""
        if not len(self.ahead) and not self.at_end:
            until = min(self._at + self._step, self._portion.end)
            self.ahead, self._at = self._portion.read(self._at, until), until

    @property
    def at_end(self) -> bool:
        """Whether all is read."""
        return self._at == self._portion.end

    def take(self, key: int) -> Records:
        """Take the records up to this key."""
        cut = int(np.searchsorted(self.ahead["key"], np.array(key, np.uint64), side="right"))
        taken, self.ahead = self.ahead[:cut], self.ahead[cut:]
        return taken


def _merged_records(portions: Iterable[_Portion], step: int) -> Iterator[Records]:
    """Yield the records of sorted portions in order, each pair once; ``step`` are read at a time from each."""
    reading = [_Reader(portion, step) for portion in portions]
    while reading:
        for one in reading:
            one.fill()
        # the rest of a portion is after all that was read from it
        known = min((int(one.ahead["key"][-1]) for one in reading if not one.at_end), default=(1 << 64) - 1)
        taken = [one.take(known) for one in reading]
        yield _in_order(taken, taken[0].dtype)
        reading = [one for one in reading if len(one.ahead) or not one.at_end]


def _portion(read: Callable[[int, int], Records], begin: int, end: int) -> _Portion:
    """The portion from place ``begin`` to ``end`` − 1."""
    first, last = (int(read(place, place + 1)["key"][0]) for place in (begin, end - 1))
    return _Portion(read, begin, end, first, last)


def _in_order(several: Sequence[Records], kind: np.dtype[Any]) -> Records:
    """The records in the order of their keys, each pair once."""
    records = several[0] if len(several) == 1 else np.concatenate([np.empty(0, kind), *several])
    keys = records["key"]
    if not (keys[1:] > keys[:-1]).all():
        if kind == _KEY:
            return np.unique(keys).view(_KEY)
        _, once = np.unique(keys, return_index=True)
        records = records[once]
    return records


def _records(table: pa.Table, kind: np.dtype[Any]) -> Records:
    """The records of CANDIDATES or VERIFIED pairs; of a ``kind`` without counts, these are left out."""
    records = np.empty(table.num_rows, kind)
    records["key"] = keys_of(table)
    for name in (kind.names or ())[1:]:
        records[name] = column(table, name)
    return records


def _table(records: Records) -> pa.Table:
    """CANDIDATES or VERIFIED of the records."""
    keys = np.ascontiguousarray(records["key"])
    ends = [(keys >> np.uint64(32)).astype(np.uint32), (keys & _LOW).astype(np.uint32)]
    names = records.dtype.names or ()
    counts = [np.ascontiguousarray(records[name]) for name in names[1:]]
    return pa.table([*ends, *counts], schema=VERIFIED if counts else CANDIDATES)
