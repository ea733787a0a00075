"""Posting lists that change: each addition is a new segment, merged with earlier ones to keep their number small.

A segment that is not larger than all later ones together is merged with them. So the number of segments is at most
the number of times that the postings double, and while nothing is removed, a posting is rewritten at most this
often (the binary structures of Bentley and Saxe, J. Algorithms 1, 1980). Segments are merged one range of keys at
a time, so that the memory is bounded.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np

from neardup.collection.store.inserting import insert
from neardup.collection.store.segments import KEY_BITS, MOST_NUMBER, Segment, Segments, bits_for
from neardup.io.decisions.log import seal
from neardup.kernels.postings import encode
from neardup.kernels.sorting import sort_by_bits
from neardup.tables import Int64s, UInt64s

_MERGED_AT_ONCE = 1 << 20
"""The approximate number of postings that are in memory as numbers at a time."""


def postings_of(hashes: UInt64s, documents: Int64s) -> UInt64s:
    """The postings of hashes and the documents that contain them, in this order."""
    made: UInt64s = (hashes << np.uint64(KEY_BITS)) | documents.astype(np.uint64)
    return made


def in_order(postings: UInt64s) -> UInt64s:
    """Sorted and without repeats: two hashes of a document that agree in the low 32 bits are one posting."""
    made = sort_by_bits(postings.copy(), np.empty_like(postings), 0, 64)
    first = np.ones(len(made), np.bool_)
    first[1:] = made[1:] != made[:-1]
    found: UInt64s = made[first]
    return found


class SegmentWriting:
    """Adds and removes postings within the transaction of ``connection``; call ``settle`` before the commit."""

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
        """Remove postings, and return the number of missing ones."""
        left = in_order(postings)
        for segment in reversed(self._segments.all()):
            numbers = left & np.uint64(MOST_NUMBER)
            here = left[(numbers >= segment.first) & (numbers <= segment.last)]
            if len(here):
                gone = self._remove(segment, here)
                left = np.setdiff1d(left, gone, assume_unique=True)
        return len(left)

    def settle(self) -> None:
        """After an addition, merge the segments that are not larger than all later ones together."""
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
        """Merge all segments into one."""
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
            # the blocks read are deleted at once, so that their pages are reused for the new ones
            self._delete_below(segments, low + step)
            self._insert(merged, np.sort(np.concatenate(parts), kind="stable"))
        if total:
            self._register(merged)

    def _delete_below(self, segments: Iterable[Segment], key: int) -> None:
        """Delete the blocks that contain only smaller keys."""
        for segment in segments:
            end = segment.row(key >> segment.shift)
            self._connection.execute("DELETE FROM postings WHERE block >= ? AND block < ?", (segment.row(0), end))

    def _remove(self, segment: Segment, postings: UInt64s) -> UInt64s:
        """Remove the postings that the segment contains, and return them."""
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
