"""Pairs in order, in memory or in a working file: collected, sorted, read and looked up in portions.

Without a memory limit, pairs are tables. With one, whatever exceeds a portion is sorted portion by portion into a
working file, and the sorted portions are merged. A pair takes 8 bytes there, and 32 with its counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.io.writers.scratch import NumberFile, Scratch
from neardup.settings import SearchSettings
from neardup.tables import CANDIDATES, VERIFIED, Bools, Int64s, UInt64s, column

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


class PairFile:
    """Sorted pairs, each once: the first ``num_rows`` of a working ``file``, at most ``most`` at a time in memory.

    As a table they would be CANDIDATES or VERIFIED.
    """

    def __init__(self, file: NumberFile, most: int, end: int | None = None) -> None:
        self.file, self.most, self.num_rows = file, most, len(file) if end is None else end

    def batches(self, first: int = 0, until: int | None = None, most: int | None = None) -> Iterator[pa.Table]:
        """Yield the pairs from the place ``first`` to ``until`` in order, at most ``most`` at a time."""
        end = self.num_rows if until is None else until
        step = min(self.most, most or self.most)
        for begin in range(first, end, step):
            yield _table(self.file.read(begin, min(begin + step, end)))

    def place(self, key: int) -> int:
        """The place of the first pair that is not before ``key`` (a · 2³² + b)."""
        low, high = 0, self.num_rows
        while low < high:
            middle = (low + high) // 2
            if int(self.file.read(middle, middle + 1)["key"][0]) < key:
                low = middle + 1
            else:
                high = middle
        return low


Pairs: TypeAlias = pa.Table | PairFile
"""Pairs in order, each once: a table, or a working file under a memory limit."""


def batches(pairs: Pairs, most: int | None = None) -> Iterator[pa.Table]:
    """Yield all pairs in order, as tables of at most ``most``; without that, a table in one piece."""
    if isinstance(pairs, PairFile):
        yield from pairs.batches(most=most)
    elif most is None or pairs.num_rows <= most:
        yield pairs
    else:
        for first in range(0, pairs.num_rows, most):
            yield pairs.slice(first, most)


def keys_of(table: pa.Table) -> Int64s:
    """int64: a · 2³² + b of each pair."""
    return (column(table, "a") << 32) | column(table, "b")


def documents_in(pairs: Pairs, documents: int) -> Int64s:
    """The documents (ascending, below a number of documents) that have a pair."""
    has = np.zeros(documents, np.bool_)
    for table in batches(pairs):
        has[column(table, "a")] = has[column(table, "b")] = True
    return np.flatnonzero(has)


class PairLookup:
    """Looks pairs up by their keys (a · 2³² + b)."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        if isinstance(pairs, pa.Table):
            self._keys = keys_of(pairs)
            if not (self._keys[1:] > self._keys[:-1]).all():  # a table from elsewhere
                order = np.argsort(self._keys)
                self._pairs, self._keys = pairs.take(pa.array(order)), self._keys[order]

    def has(self, keys: Int64s) -> Bools:
        """bool[n]: whether there is a pair with each of the ``keys`` (ascending)."""
        found = np.zeros(len(keys), np.bool_)
        for span, _, known in self._around(keys):
            found[span] |= _inside(keys[span], known)[0]
        return found

    def at(self, keys: Int64s) -> pa.Table:
        """The pairs with these ``keys`` (ascending, each once), as far as they exist."""
        tables = []
        for span, table, known in self._around(keys):
            there, at = _inside(keys[span], known)
            tables.append(table.take(pa.array(at[there])))
        return pa.concat_tables(tables).combine_chunks() if tables else VERIFIED.empty_table()

    def _around(self, keys: Int64s) -> Iterator[tuple[slice, pa.Table, Int64s]]:
        """Yield some of the ``keys``, and a table of pairs that has those of them that exist, with its keys."""
        if isinstance(self._pairs, pa.Table):
            yield slice(0, len(keys)), self._pairs, self._keys
        elif len(keys):
            ends = self._pairs.place(int(keys[0])), self._pairs.place(int(keys[-1]) + 1)
            for table in self._pairs.batches(*ends):
                known = keys_of(table)
                first, last = np.searchsorted(keys, known[0]), np.searchsorted(keys, known[-1], "right")
                yield slice(int(first), int(last)), table, known


def filtered(pairs: Pairs, keep: Callable[[pa.Table], Bools], room: PairRoom) -> Pairs:
    """The pairs for which ``keep`` returns True; it receives some at a time."""
    if isinstance(pairs, pa.Table):
        return pairs.filter(pa.array(keep(pairs)))
    sorter = PairSorter(room, pairs.file.kind == _COUNTED)
    for table in pairs.batches():
        sorter.add(table.filter(pa.array(keep(table))))
    return sorter.finish()


def together(room: PairRoom, *several: Pairs) -> Pairs:
    """All pairs of several collections with counts, each once."""
    filled = [pairs for pairs in several if pairs.num_rows]
    if len(filled) < 2:
        return filled[0] if filled else several[0]
    sorter = PairSorter(room)
    for pairs in filled:
        sorter.adopt(pairs)
    return sorter.finish()


class _Portion(NamedTuple):
    """A sorted portion of a file: its places, and its first and last key."""

    file: NumberFile
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
        self._portions: list[_Portion] = []
        self._lock = Lock()

    def add(self, table: pa.Table) -> None:
        """Add the pairs of a table."""
        records = np.empty(table.num_rows, self._kind)
        records["key"] = keys_of(table)
        for name in self._kind.names[1:] if self._kind.names else ():
            records[name] = column(table, name)
        self._add(records)

    def add_keys(self, keys: UInt64s) -> None:
        """Add pairs without counts, as a · 2³² + b."""
        self._add(keys.view(_KEY))

    def adopt(self, pairs: Pairs) -> None:
        """Add pairs that are in order; a file is not copied."""
        if isinstance(pairs, pa.Table):
            self.add(pairs)
        elif pairs.num_rows:
            with self._lock:
                self._portions.append(_portion(pairs.file, 0, pairs.num_rows))

    def finish(self) -> Pairs:
        """All pairs, in order: as a table if they fit into a portion."""
        last, self._waiting = _in_order(self._waiting, self._kind), []
        if not self._portions:
            return _table(last)
        if len(last):
            self._write(last)
        portions, self._portions = self._portions, []
        own = all(portion.file is portions[0].file for portion in portions)
        follow = all(one.last < other.first for one, other in pairwise(portions))
        if own and follow:
            return PairFile(portions[0].file, self._room.most)
        while len(portions) > 1:
            several = [portions[k : k + _SIDE_BY_SIDE] for k in range(0, len(portions), _SIDE_BY_SIDE)]
            portions = [self._merged(some) for some in several]
        return PairFile(portions[0].file, self._room.most)

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
        self._portions.append(_portion(self._file, begin, len(self._file)))

    def _merged(self, portions: Sequence[_Portion]) -> _Portion:
        if len(portions) == 1:
            return portions[0]
        assert self._room.scratch is not None
        file = self._room.scratch.numbers(self._kind)
        for records in _merging(portions, max(_LEAST, self._room.most // len(portions))):
            file.append(records)
        return _portion(file, 0, len(file))


class _Reader:
    """Reads a sorted portion, ``step`` records at a time; ``ahead`` are read and not yet taken."""

    def __init__(self, portion: _Portion, step: int) -> None:
        self._portion, self._step, self._at = portion, step, portion.begin
        self.ahead: Records = np.empty(0, portion.file.kind)

    def fill(self) -> None:
        """Read on if all that was read is taken."""
        if not len(self.ahead) and not self.at_end:
            until = min(self._at + self._step, self._portion.end)
            self.ahead, self._at = self._portion.file.read(self._at, until), until

    @property
    def at_end(self) -> bool:
        """Whether all is read."""
        return self._at == self._portion.end

    def take(self, key: int) -> Records:
        """Take the records up to this key."""
        cut = int(np.searchsorted(self.ahead["key"], np.array(key, np.uint64), side="right"))
        taken, self.ahead = self.ahead[:cut], self.ahead[cut:]
        return taken


def _merging(portions: Iterable[_Portion], step: int) -> Iterator[Records]:
    """Yield the records of sorted portions in order, each pair once; ``step`` are read at a time from each."""
    reading = [_Reader(portion, step) for portion in portions]
    while reading:
        for one in reading:
            one.fill()
        # what follows in a portion is after all that was read from it
        known = min((int(one.ahead["key"][-1]) for one in reading if not one.at_end), default=(1 << 64) - 1)
        taken = [one.take(known) for one in reading]
        yield _in_order(taken, taken[0].dtype)
        reading = [one for one in reading if len(one.ahead) or not one.at_end]


def _portion(file: NumberFile, begin: int, end: int) -> _Portion:
    """The portion of a file from ``begin`` to ``end``."""
    first, last = (int(file.read(at, at + 1)["key"][0]) for at in (begin, end - 1))
    return _Portion(file, begin, end, first, last)


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


def _inside(keys: Int64s, known: Int64s) -> tuple[Bools, Int64s]:
    """(whether it is there, where) for each of the ``keys`` among the ``known`` ones, both ascending."""
    at = np.searchsorted(known, keys)
    there = np.zeros(len(keys), np.bool_)
    inside = at < len(known)
    there[inside] = known[at[inside]] == keys[inside]
    return there, at


def _table(records: Records) -> pa.Table:
    """CANDIDATES or VERIFIED of the records."""
    keys = np.ascontiguousarray(records["key"])
    ends = [(keys >> np.uint64(32)).astype(np.uint32), (keys & _LOW).astype(np.uint32)]
    names = records.dtype.names or ()
    counts = [np.ascontiguousarray(records[name]) for name in names[1:]]
    return pa.table([*ends, *counts], schema=VERIFIED if counts else CANDIDATES)
