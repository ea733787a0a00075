"""The posting lists in their tables: segments of blocks, in which a shingle is found by its key alone.

A posting is a uint64: the low 32 bits of a hash (its key) and the number of a document. Each addition makes a
segment: its postings, sorted, in blocks by the first bits of their keys (``kernels/postings.py``), about 128 in
each. A block is a row whose number combines the number of its segment and these bits, so looking up a key needs
one row in each segment; ``merging.py`` keeps the segments few.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neardup.collection.contract import KEPT
from neardup.collection.store.failures import damaged, well_formed
from neardup.errors import FormatError
from neardup.io.decisions.log import seal
from neardup.kernels import postings as kernels
from neardup.tables import Int64s, UInt8s, UInt64s

KEY_BITS = 32
MOST_NUMBER = (1 << 32) - 1
"""The largest number of a document."""

BLOCK_BITS = 24
_BLOCK = 128
"""Postings of a block: rows of half a kB fill pages well, and few bytes are read needlessly."""
_AT_ONCE = 20_000
_ROWS = 4_000

All = Callable[..., list[Any]]
"""Runs a statement with parameters and returns all rows."""


class Segment(NamedTuple):
    """A segment: its number, ``bits``, its postings, its smallest and its largest document.

    ``bits`` is how many first bits of a key identify its block.
    """

    number: int
    bits: int
    postings: int
    first: int
    last: int

    @property
    def shift(self) -> int:
        """The number of bits of a key after those that identify its block."""
        return KEY_BITS - self.bits

    def row(self, block: int) -> int:
        """The number of the row of a block."""
        return (self.number << BLOCK_BITS) + block


def bits_for(n_postings: int) -> int:
    """The number of first bits that makes blocks of about 128 postings.

    >>> bits_for(100), bits_for(1_000_000)
    (0, 13)
    """
    return min(BLOCK_BITS, max(0, (n_postings // _BLOCK).bit_length()))


class _Located(NamedTuple):
    """Blocks as bytes; int64[segments, hashes] of documents for each hash, and where each list begins, flat."""

    data: UInt8s
    counts: Int64s
    places: Int64s


def _portions(hashes: UInt64s) -> Iterator[UInt64s]:
    return (hashes[begin : begin + _AT_ONCE] for begin in range(0, len(hashes), _AT_ONCE))


class Segments:
    """The look-ups; ``run`` executes a statement with parameters and returns all rows."""

    def __init__(self, run: All, path: Path) -> None:
        self._run, self._path = run, path

    def all(self) -> list[Segment]:
        """The segments, oldest first."""
        rows = self._run("SELECT number, bits, postings, first, last, seal FROM segments ORDER BY number")
        for *row, stored in rows:
            if seal(row) != stored:
                raise self.damaged("a row of its posting lists was changed")
        return [Segment(*row[:-1]) for row in rows]

    def lists(self, hashes: UInt64s) -> tuple[Int64s, Int64s]:
        """The documents of hash k are ``documents[offsets[k]:offsets[k + 1]]``, sorted."""
        segments = self.all()
        parts = [self._lists(segments, part) for part in _portions(hashes)]
        counts = [np.diff(offsets) for _, offsets in parts]
        offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), *counts]))
        return np.concatenate([np.empty(0, np.int64), *(documents for documents, _ in parts)]), offsets

    def counts(self, hashes: UInt64s) -> Int64s:
        """The number of documents of each hash."""
        segments = self.all()
        counts = [self._located(segments, part).counts.sum(axis=0) for part in _portions(hashes)]
        return np.concatenate([np.empty(0, np.int64), *counts])

    def decoded(self, segment: Segment, low: int = 0, high: int = 1 << KEY_BITS) -> UInt64s:
        """The postings with keys from ``low`` up to ``high``."""
        first, last = segment.row(low >> segment.shift), segment.row((high - 1) >> segment.shift)
        statement = "SELECT block, data FROM postings WHERE block BETWEEN ? AND ? ORDER BY block"
        found = self.of_rows(segment, self._run(statement, first, last))
        bounds = np.array([low, high - 1], np.uint64) << np.uint64(KEY_BITS)
        bounds[1] |= np.uint64(MOST_NUMBER)
        begin, end = np.searchsorted(found, bounds[0]), np.searchsorted(found, bounds[1], side="right")
        return found[begin:end]

    def of_rows(self, segment: Segment, rows: Sequence[tuple[int, bytes]]) -> UInt64s:
        """The postings of rows (block, data) of a segment."""
        with well_formed(self._path):
            blocks = np.array([block for block, _ in rows], np.int64) - segment.row(0)
            ends = np.cumsum([len(data) for _, data in rows], dtype=np.int64)
            data = np.frombuffer(b"".join(data for _, data in rows), np.uint8)
        out = np.empty(len(data), np.uint64)
        count = kernels.decode(data, ends, blocks, segment.shift, out)
        if count < 0:
            raise self.damaged("a block of its posting lists was changed")
        return out[:count]

    def rows(self, numbers: Int64s) -> list[tuple[int, bytes]]:
        """The rows with these numbers that exist, in ascending order."""
        statement = (
            "SELECT block, data FROM postings WHERE block IN (SELECT value FROM json_each(?)) ORDER BY block"
        )
        return self._run(statement, json.dumps(numbers.tolist()))

    def each(self) -> Iterator[UInt64s]:
        """All postings, some at a time."""
        for segment in self.all():
            yield from self._parts(segment)

    def faults(self) -> list[str]:
        """The faults, as sentences."""
        found = []
        known = 0
        try:
            for segment in self.all():
                if not self._is_whole(segment):
                    found.append(f"segment {segment.number} of the posting lists is not as it was written")
                count = "SELECT COUNT(*) FROM postings WHERE block BETWEEN ? AND ?"
                [(rows,)] = self._run(count, segment.row(0), segment.row((1 << segment.bits) - 1))
                known += rows
            [(rows,)] = self._run("SELECT COUNT(*) FROM postings")
        except FormatError as error:
            return [*found, error.given]
        return [*found, "there are posting lists of no segment"] if rows != known else found

    def _is_whole(self, segment: Segment) -> bool:
        """Whether the segment contains the recorded number of postings, in order and in its range of documents."""
        count, last = 0, -1
        for part in self._parts(segment):
            numbers = part & np.uint64(MOST_NUMBER)
            if len(part) and not (segment.first <= numbers.min() <= numbers.max() <= segment.last):
                return False
            if len(part) and (int(part[0]) <= last or (part[1:] <= part[:-1]).any()):
                return False
            count, last = count + len(part), int(part[-1]) if len(part) else last
        return count == segment.postings

    def _parts(self, segment: Segment) -> Iterator[UInt64s]:
        """The postings of a segment in order, from some thousand blocks at a time."""
        parts = max(1, (1 << segment.bits) // _ROWS)
        bounds = [(k << KEY_BITS) // parts for k in range(parts + 1)]
        return (self.decoded(segment, low, high) for low, high in pairwise(bounds))

    def damaged(self, what: str) -> FormatError:
        """The error for tables that were changed."""
        return damaged(self._path, what)

    def _located(self, segments: list[Segment], hashes: UInt64s) -> _Located:
        """The blocks that may contain the hashes, verified, and where the lists are in them."""
        keys = (hashes & KEPT).astype(np.int64)
        shifts = np.array([segment.shift for segment in segments], np.int64)[:, None]
        begins = np.array([segment.row(0) for segment in segments], np.int64)[:, None]
        asked = (begins + (keys >> shifts)).ravel()
        found = self.rows(np.unique(asked))
        with well_formed(self._path):
            numbers = np.array([number for number, _ in found] or [-1], np.int64)
            bounds = np.cumsum([0, *(len(data) for _, data in found)], dtype=np.int64)
            data = np.frombuffer(b"".join(data for _, data in found), np.uint8)
        rows = np.minimum(np.searchsorted(numbers, asked), len(numbers) - 1)
        rows[numbers[rows] != asked] = -1
        counts, places = np.zeros(len(asked), np.int64), np.zeros(len(asked), np.int64)
        steps = (keys & ((1 << shifts) - 1)).ravel()
        sound = kernels.first_damaged(data, bounds) < 0
        if not (sound and kernels.locate(data, bounds, rows, steps, counts, places)):
            raise self.damaged("a block of its posting lists was changed")
        return _Located(data, counts.reshape(len(segments), len(keys)), places)

    def _lists(self, segments: list[Segment], hashes: UInt64s) -> tuple[Int64s, Int64s]:
        data, counts, places = self._located(segments, hashes)
        # key by key, and for each key the segments in their order
        ends = np.cumsum(counts.T.ravel())
        starts = ends.reshape(counts.T.shape).T - counts
        documents = np.empty(int(counts.sum()), np.int64)
        if not kernels.gather(data, counts.ravel(), places, starts.ravel(), documents):
            raise self.damaged("a block of its posting lists was changed")
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts.sum(axis=0))))
        kernels.sort_lists(documents, offsets)
        return documents, offsets
