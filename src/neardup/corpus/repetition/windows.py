"""A stream of tokens → the blocks of windows that occur more than once, exactly."""

from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np
import pyarrow as pa

from neardup.corpus.repetition.stream import CorpusTokens
from neardup.deduplication.runs import Meter
from neardup.io.outputs import FinishedParts, NumberFile, Scratch
from neardup.kernels.passages import (
    anchors,
    are_equal,
    blocks,
    classes,
    first_of_each,
    mark,
    marked_windows,
    packed,
    unpacked,
    window_hashes,
)
from neardup.kernels.sorting import equal_groups
from neardup.kernels.text import PRIME, Key
from neardup.runtime import ordered_map, release_memory, worker_count
from neardup.tables import Int64s, UInt64s
from neardup.text.keys import new_key

_BITS_OF_ANCHOR = 16
_BYTES_OF_TOKEN = 80
"""Bytes of a repeated token while its portion is searched: packed with its run, hashed, sorted and numbered."""
WITHOUT_LIMIT = 1 << 30
"""Bytes of the portions that are searched at a time in a run without a memory limit."""
_MOST_PORTIONS = 1 << 10

_FOUND = ("places", "windows", "numbers")


@dataclass(frozen=True, eq=False)
class RepeatedBlocks:
    """The occurrences of blocks in a stream, in order: ``places``, ``windows`` and ``numbers``, int64[n] each.

    A *block* is a longest run of windows of ``length`` tokens such that each occurrence of one of them, at least
    two, is an occurrence of the whole run. Occurrence i has ``windows[i]`` windows from token ``places[i]`` on,
    and is one of block ``numbers[i]``. Each window that occurs again is in one block.
    """

    length: int
    places: Int64s
    windows: Int64s
    numbers: Int64s

    @property
    def count(self) -> int:
        """The number of blocks."""
        return int(self.numbers.max()) + 1 if len(self.numbers) else 0

    @property
    def tokens(self) -> Int64s:
        """The number of tokens of each occurrence."""
        return self.windows + (self.length - 1)


def repeated_blocks(
    stream: CorpusTokens,
    length: int,
    threads: int,
    memory: int | None,
    scratch: Scratch,
    meter: Meter,
    journal: FinishedParts | None = None,
) -> RepeatedBlocks:
    """Find all windows of ``length`` tokens that occur more than once in a stream, as blocks.

    Anchors propose the windows, hashes group them, and the tokens of each are compared with those of the first of
    its group. The windows are searched in portions by the hashes of their anchors, so that equal ones are in the
    same portion. The portions are in a working file, and as many as ``memory`` (bytes) asks for. Adjacent blocks
    of portions that always occur together become one. Portions that the ``journal`` has are not searched again.
    """
    form = np.array([length, max(1, length // 2), int(stream.key.shingles[1])], np.uint64)
    portions = _portions(stream, form, threads, memory, scratch, meter)
    release_memory()
    files, count = tuple(scratch.numbers(np.int64) for _ in range(3)), 0
    with meter.stage("windows", portions.words, "tokens") as advance:
        work = partial(_search, portions, length=length, journal=journal)
        for portion, size in ordered_map(work, range(portions.count), portions.at_a_time):
            for file, numbers in zip(
                files, (portion.places, portion.windows, portion.numbers + count), strict=True
            ):
                file.append(numbers)
            count += portion.count
            advance(size)
        portions.file.close()
        release_memory()
        order = np.argsort(files[0].read(), kind="stable")
        places, windows, numbers = (file.read()[order] for file in files)
        del order
        return RepeatedBlocks(length, *blocks(places, windows, numbers, count))


@dataclass(frozen=True, eq=False)
class _Portions:
    """Packed runs of windows in a working file, by portions.

    Portion p of part i is the words ``edges[i, p]`` … ``edges[i, p + 1] - 1`` of the file. The memory holds
    ``at_a_time`` portions.
    """

    file: NumberFile
    edges: Int64s
    at_a_time: int

    @property
    def words(self) -> int:
        """The number of words of all portions."""
        return len(self.file)

    @property
    def count(self) -> int:
        """The number of portions."""
        return int(self.edges.shape[1]) - 1

    def read(self, portion: int) -> UInt64s:
        """Read the words of a portion."""
        begins, ends = self.edges[:, portion], self.edges[:, portion + 1]
        sizes = ends - begins
        words = np.empty(int(sizes.sum()), np.uint64)
        done = 0
        for begin, size in zip(begins[sizes > 0].tolist(), sizes[sizes > 0].tolist(), strict=True):
            self.file.read_into(words[done : done + size], begin)
            done += size
        return words


def _portions(
    stream: CorpusTokens, form: UInt64s, threads: int, memory: int | None, scratch: Scratch, meter: Meter
) -> _Portions:
    """Write the windows whose anchor seems to occur again, by portions."""
    tokens, workers = len(stream.tokens), worker_count(threads)
    # half of the rest: as much again for what a search makes of them
    room = WITHOUT_LIMIT if memory is None else max(memory // 8, (memory - stream.bytes_of_documents) // 2)
    expected = 64 + 2 * tokens // (int(form[0] - form[1]) + 2)
    bits = max(10, ceil(np.log2(_BITS_OF_ANCHOR * expected / 64)))
    while memory is not None and bits > 10 and 16 << bits > memory // 4:
        bits -= 1  # fewer bits let more windows pass, which the portions hold
    once, again = np.zeros(1 << bits, np.uint64), np.zeros(1 << bits, np.uint64)
    count = 1 << max(1, ceil(np.log2(1 + 2 * workers * tokens * _BYTES_OF_TOKEN / room)))
    count = min(count, _MOST_PORTIONS)
    file, edges = scratch.numbers(), [np.empty((0, count + 1), np.int64)]
    with meter.stage("anchors", 2 * tokens, "tokens") as advance:
        for names, size in ordered_map(partial(_anchors, form=form), stream.parts(int(form[0])), threads):
            mark(names, once, again)
            advance(size)
        del once
        work = partial(_pack, form=form, again=again, portions=count)
        for words, of_portions, size in ordered_map(work, stream.parts(int(form[0])), threads):
            edges.append(of_portions[None, :] + len(file))
            file.append(words)
            advance(size)
    ends = np.concatenate(edges)
    largest = int(np.diff(ends, axis=1).sum(axis=0).max(initial=0)) * _BYTES_OF_TOKEN
    return _Portions(file, ends, max(1, min(workers, room // max(1, largest))))


_Part = tuple[int, UInt64s, Int64s]


def _anchors(part: _Part, form: UInt64s) -> tuple[UInt64s, int]:
    return anchors(part[1], part[2], form), len(part[1])


def _pack(part: _Part, form: UInt64s, again: UInt64s, portions: int) -> tuple[UInt64s, Int64s, int]:
    """The windows of a part, packed by portions: (words, first word of each portion and the end, tokens)."""
    begin, tokens, ends = part
    runs = marked_windows(tokens, ends, form, again, portions)
    runs = runs[np.argsort(runs[:, 2], kind="stable")]
    words, edges = packed(tokens, runs, begin, int(form[0]))
    return words, edges[np.searchsorted(runs[:, 2], np.arange(portions + 1))], len(tokens)


def _search(
    portions: _Portions, portion: int, length: int, journal: FinishedParts | None
) -> tuple[RepeatedBlocks, int]:
    """The blocks of a portion, and its size in words."""
    size = int((portions.edges[:, portion + 1] - portions.edges[:, portion]).sum())
    name = f"windows {portion} of {portions.count}"
    finished = None if journal is None else journal.get(name)
    if finished is not None:
        return RepeatedBlocks(length, *(finished[column].to_numpy() for column in _FOUND)), size
    searched = _blocks_of(portions.read(portion), length)
    if journal is not None:
        journal.put(name, pa.table([searched.places, searched.windows, searched.numbers], names=_FOUND))
    return searched, size


def _blocks_of(words: UInt64s, length: int) -> RepeatedBlocks:
    """The blocks of the windows of one portion."""
    in_stream, runs = unpacked(words, length)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(runs[:, 1] - runs[:, 0])))
    where, of_class, number = classes(runs, _first_windows(words, runs, offsets, length, new_key()))
    places, windows, numbers = blocks(where, np.ones(len(where), np.int64), of_class, number)
    run = np.searchsorted(runs[:, 0], places, side="right") - 1
    # copies, since the blocks are few among the windows whose arrays they are in
    return RepeatedBlocks(length, in_stream[run] + places - runs[run, 0], windows.copy(), numbers.copy())


def _first_windows(words: UInt64s, runs: Int64s, offsets: Int64s, length: int, key: Key) -> Int64s:
    """For each window of ``runs``, the first one with the same tokens, or -1 for one that occurs once."""
    count = int(offsets[-1])
    first = np.empty(count, np.int64)
    while True:
        hashes = np.empty(count, np.uint64)
        point = np.uint64(2 + int(key.stream[0]) % (int(PRIME) - 2))
        window_hashes(words, runs, length, point, hashes)
        order, starts, sizes = equal_groups(hashes)
        del hashes
        first[:] = -1
        first_of_each(order, starts, sizes, first)
        del order
        if are_equal(words, runs, length, offsets, first):
            return first
        key = new_key()  # two different windows had the same hash: one run in 10¹⁰ with 10⁴ million windows
