"""A stream of tokens → the blocks of windows that occur more than once, exactly."""

from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np

from neardup.io.writers.scratch import Scratch
from neardup.kernels.passages.streams import anchors, candidate_windows, mark
from neardup.kernels.passages.windows import are_equal, blocks, classes, first_of_each, window_hashes
from neardup.kernels.sorting import equal_groups
from neardup.kernels.text.keyed import PRIME, Key
from neardup.repetition.stream import CorpusTokens
from neardup.run.pipeline import Meter
from neardup.runtime import ordered_map
from neardup.tables import Int64s, UInt64s
from neardup.text.keys import new_key

_BITS_OF_ANCHOR = 16
_PART_BYTES = 48
"""Bytes of a window while its group is formed: its hash, and the arrays of the sort."""
_WITHOUT_LIMIT = 1 << 34


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
    stream: CorpusTokens, length: int, threads: int, memory: int | None, scratch: Scratch, meter: Meter
) -> RepeatedBlocks:
    """Find all windows of ``length`` tokens that occur more than once in a stream, as blocks.

    Anchors propose the windows, hashes group them, and the tokens of each are compared with those of the first of
    its group. ``memory`` (bytes) bounds the arrays of a sort; larger ones are in working files.
    """
    key = new_key()
    form = np.array([length, max(1, length // 2), int(key.shingles[1])], np.uint64)
    runs = _candidates(stream, form, threads, meter)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(runs[:, 1] - runs[:, 0])))
    count = int(offsets[-1])
    if not count:
        nothing = np.empty(0, np.int64)
        return RepeatedBlocks(length, nothing, nothing, nothing)
    with meter.stage("windows", count, "windows") as advance:
        first = _first_windows(stream.tokens, runs, offsets, length, key, memory, scratch)
        advance(count)
        where, of_class, number = classes(runs, first)
        return RepeatedBlocks(length, *blocks(where, of_class, number))


def _candidates(stream: CorpusTokens, form: UInt64s, threads: int, meter: Meter) -> Int64s:
    """The windows whose anchor seems to occur again: runs int64[n, 2] of places in the stream."""
    expected = 64 + 2 * len(stream.tokens) // (int(form[0] - form[1]) + 2)
    words = 1 << max(10, ceil(np.log2(_BITS_OF_ANCHOR * expected / 64)))
    once, again = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    with meter.stage("anchors", 2 * len(stream.tokens), "tokens") as advance:
        for hashes, size in ordered_map(partial(_anchors, form=form), stream.parts(), threads):
            mark(hashes, once, again)
            advance(size)
        runs = [np.empty((0, 2), np.int64)]
        for of_part, size in ordered_map(partial(_windows, form=form, again=again), stream.parts(), threads):
            runs.append(of_part)
            advance(size)
    return np.concatenate(runs)


def _anchors(part: tuple[int, UInt64s, Int64s], form: UInt64s) -> tuple[UInt64s, int]:
    return anchors(part[1], part[2], form), len(part[1])


def _windows(part: tuple[int, UInt64s, Int64s], form: UInt64s, again: UInt64s) -> tuple[Int64s, int]:
    begin, tokens, ends = part
    return candidate_windows(tokens, ends, form, again) + begin, len(tokens)


def _first_windows(
    tokens: UInt64s, runs: Int64s, offsets: Int64s, length: int, key: Key, memory: int | None, scratch: Scratch
) -> Int64s:
    """For each window of ``runs``, the first one with the same tokens, or -1 for one that occurs once."""
    count = int(offsets[-1])
    parts = 1 << max(0, ceil(np.log2(count * _PART_BYTES / (memory or _WITHOUT_LIMIT))))
    filed = memory is not None and 16 * count > memory // 4
    hashes = scratch.numbers().alike(count) if filed else np.empty(count, np.uint64)
    first = scratch.numbers(np.int64).alike(count) if filed else np.empty(count, np.int64)
    while True:
        point = np.uint64(2 + int(key.stream[0]) % (int(PRIME) - 2))
        window_hashes(tokens, runs, length, point, hashes)
        first[:] = -1
        every = np.arange(count) if parts == 1 else None
        for part in range(parts):
            members = _members(hashes, part, parts) if every is None else every
            first_of_each(*equal_groups(hashes if every is not None else hashes[members]), members, first)
        if are_equal(tokens, runs, length, offsets, first):
            return first
        key = new_key()  # two different windows had the same hash: one run in 10¹⁰ with 10⁴ million windows


def _members(hashes: UInt64s, part: int, parts: int) -> Int64s:
    """The windows of one of ``parts`` (a power of two) equal ranges of the hashes; reads them piece by piece."""
    shift = np.uint64(64 - (parts.bit_length() - 1))
    piece = 1 << 20
    members = [
        begin + np.flatnonzero(hashes[begin : begin + piece] >> shift == part)
        for begin in range(0, len(hashes), piece)
    ]
    return np.concatenate(members)
