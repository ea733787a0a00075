"""Posting lists that change: a segment for what comes, merged with those before it so that there are never many.

A segment that is not larger than all behind it is merged with them: so there are at most as many as the number of
postings doubles, and while nothing is removed a posting is written anew as often at most (the binary structures of
Bentley and Saxe, J. Algorithms 1, 1980). Segments are merged range of keys by range, so that the
memory is bounded.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np

from neardup.collection.store.inserting import insert
from neardup.collection.store.schema import seal
from neardup.collection.store.segments import KEY_BITS, MOST_NUMBER, Segment, Segments, bits_for
from neardup.kernels.postings import encode
from neardup.kernels.sorting import sort_by_bits
from neardup.tables import Int64s, UInt64s

_MERGED_AT_ONCE = 1 << 20
"""Postings, about, that are held as numbers at a time."""


def postings_of(hashes: UInt64s, documents: Int64s) -> UInt64s:
    """The postings of hashes that are held by documents, in this order."""
    made: UInt64s = (hashes << np.uint64(KEY_BITS)) | documents.astype(np.uint64)
    return made


def in_order(postings: UInt64s) -> UInt64s:
    """Sorted, each once: two hashes of a document that agree in the low 32 bits are one posting."""
    made = sort_by_bits(postings.copy(), np.empty_like(postings), 0, 64)
    first = np.ones(len(made), np.bool_)
    first[1:] = made[1:] != made[:-1]
    found: UInt64s = made[first]
    return found


class SegmentWriting:
    """Adds and removes postings within the transaction of ``connection``; ``settle`` comes before the commit."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._segments = Segments(lambda statement, *given: connection.execute(statement, given).fetchall(), path)
        self._has_added = False

    def add(self, postings: UInt64s) -> None:
        """Store postings, all new, as a segment."""
        postings = in_order(postings)
        if len(postings):
            numbers = postings & np.uint64(MOST_NUMBER)
            bits = bits_for(len(postings))
            segment = Segment(self._next(), bits, len(postings), int(numbers.min()), int(numbers.max()))
            self._insert(segment, postings)
            self._register(segment)
            self._has_added = True

    def remove(self, postings: UInt64s) -> int:
        """Remove postings; returns how many of them were missing."""
        left = in_order(postings)
        for segment in reversed(self._segments.all()):
            numbers = left & np.uint64(MOST_NUMBER)
            here = left[(numbers >= segment.first) & (numbers <= segment.last)]
            if len(here):
                gone = self._remove(segment, here)
                left = np.setdiff1d(left, gone, assume_unique=True)
        return len(left)

    def settle(self) -> None:
        """After an addition: merge what is no larger than all that came after it."""
        if not self._has_added:
            return
        segments = self._segments.all()
        begin, behind = len(segments), 0
        for k in reversed(range(len(segments))):
            if segments[k].postings <= behind:
                begin = k
            behind += segments[k].postings
        self._merge(segments[begin:])
        self._has_added = False

    def merge_all(self) -> None:
        """Make one segment of all."""
        self._merge(self._segments.all())

    def _merge(self, segments: list[Segment]) -> None:
        if len(segments) < 2:
            return
        total = sum(segment.postings for segment in segments)
        first, last = min(one.first for one in segments), max(one.last for one in segments)
        merged = Segment(self._next(), bits_for(total), total, first, last)
        for one in segments:
            self._connection.execute("DELETE FROM segments WHERE number = ?", (one.number,))
        step = 1 << (KEY_BITS - max(0, (total // _MERGED_AT_ONCE).bit_length()))
        for low in range(0, 1 << KEY_BITS, step):
            parts = [self._segments.decoded(segment, low, low + step) for segment in segments]
            # what is read is let go at once, so that its pages are used for what is written
            self._delete_below(segments, low + step)
            self._insert(merged, np.sort(np.concatenate(parts), kind="stable"))
        if total:
            self._register(merged)

    def _delete_below(self, segments: Iterable[Segment], key: int) -> None:
        """Delete the blocks that hold smaller keys only."""
        for segment in segments:
            end = segment.row(key >> segment.shift)
            self._connection.execute("DELETE FROM postings WHERE block >= ? AND block < ?", (segment.row(0), end))

    def _remove(self, segment: Segment, postings: UInt64s) -> UInt64s:
        """Those of the postings that were in the segment, and are no more."""
        shift = np.uint64(KEY_BITS + segment.shift)
        rows = np.unique((postings >> shift).astype(np.int64)) + segment.row(0)
        held = self._segments.of_rows(segment, self._segments.rows(rows))
        places = np.minimum(np.searchsorted(postings, held), len(postings) - 1)
        gone = postings[places] == held
        changed = np.unique(held[gone] >> shift)
        kept = held[~gone & np.isin(held >> shift, changed)]
        self._connection.executemany(
            "DELETE FROM postings WHERE block = ?", [(segment.row(block),) for block in changed.tolist()]
        )
        self._insert(segment, kept)
        self._connection.execute("DELETE FROM segments WHERE number = ?", (segment.number,))
        left = segment._replace(postings=segment.postings - int(gone.sum()))
        if left.postings:
            self._register(left)
        taken: UInt64s = held[gone]
        return taken

    def _insert(self, segment: Segment, postings: UInt64s) -> None:
        n = len(postings)
        blocks, ends, out = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(14 * n, np.uint8)
        count = encode(postings, segment.shift, blocks, ends, out)
        bounds = [0, *ends[:count].tolist()]
        data = out[: bounds[-1]].tobytes()
        rows = (blocks[:count] + segment.row(0)).tolist()
        parts = (data[begin:end] for begin, end in pairwise(bounds))
        insert(self._connection, "postings", 2, zip(rows, parts, strict=True))

    def _register(self, segment: Segment) -> None:
        self._connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)", (*segment, seal(segment)))

    def _next(self) -> int:
        [(last,)] = self._connection.execute("SELECT IFNULL(MAX(number), 0) FROM segments").fetchall()
        return int(last) + 1
