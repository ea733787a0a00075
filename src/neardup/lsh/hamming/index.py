"""A growing index of fingerprints that finds those that differ from a given one in few bits.

Additions wait in a short list that every query reads. When the list is full it becomes a *segment* with its own
tables, and segments of similar size are merged. Thus n fingerprints are in at most log₂ n segments, and each was
sorted at most log₂ n times. Tables hold positions only: about 6 bytes per fingerprint each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from neardup.display.view import facts, heading, view
from neardup.errors import InputError
from neardup.kernels.lsh.hamming import near_queries
from neardup.lsh.hamming.words import MOST, FingerprintWords, cut, distinct, in_order, read_fingerprints
from neardup.settings.rules import check
from neardup.tables import NEIGHBOURS, Int32s, Int64s, UInt64s

WAITING = 1024
"""The most additions that are read one by one; then they become a segment."""

_IN_A_CELL = 4


class HammingIndex:
    """Fingerprints of ``bits`` bits (64 or 128), searched for those within ``distance`` of a given one.

    Results are complete. Fingerprints are numbered 0, 1, 2 … in the order of addition; equal fingerprints are all
    kept and all found. Raises SettingError for a distance above a quarter of the bits.

    >>> index = HammingIndex(distance=2)
    >>> index.add([0b1111, 0b0000, 0b0111]).tolist()
    [0, 1, 2]
    >>> index.query(0b1110).tolist()
    [0, 2]
    """

    def __init__(self, bits: int = 64, distance: int = 3) -> None:
        check(bits, distance)
        self.bits, self.distance = bits, distance
        self._segments: list[_Segment] = []
        self._waiting: list[UInt64s] = []
        self._last: _Segment | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"HammingIndex({self._size} fingerprints of {self.bits} bits, distance {self.distance})"

    def _repr_html_(self) -> str:
        lines = [("fingerprints", f"{self._size:,}"), ("bits", f"{self.bits}"), ("distance", f"{self.distance}")]
        return view(heading("HammingIndex"), facts(lines))

    def add(self, fingerprints: Any) -> Int64s:
        """Add one fingerprint (an integer) or many (from ``SimHash.sketch``); return their numbers, int64[n]."""
        rows = self._rows(fingerprints)
        if self._size + len(rows) >= MOST:
            raise InputError(f"The index would hold {self._size + len(rows)} fingerprints", "Fewer than 2^31")
        numbers = np.arange(self._size, self._size + len(rows))
        self._waiting.append(rows.copy())  # the caller's array may change
        self._size += len(rows)
        self._last = None
        if sum(map(len, self._waiting)) > WAITING:
            self._settle()
        return numbers

    def query(self, fingerprint: Any) -> Int64s:
        """Return the numbers (int64, ascending) of all fingerprints within the distance of one (an integer)."""
        rows = self._rows(fingerprint)
        if len(rows) != 1:
            raise InputError(f"There are {len(rows)} fingerprints", "A single one", "Ask neighbours() for many")
        found: Int64s = self.neighbours(rows).column("number").to_numpy().astype(np.int64)
        return found

    def neighbours(self, fingerprints: Any) -> pa.Table:
        """The neighbours of many fingerprints: a table (query, number, distance), sorted by the first two."""
        rows = self._rows(fingerprints)
        queries = np.zeros((len(rows), 2), np.uint64)
        queries[:, : rows.shape[1]] = rows
        if self._last is None:
            self._last = self._unsettled()
        parts = [segment.near(queries, self.distance) for segment in (*self._segments, self._last)]
        query, number, apart = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.lexsort((number, query))
        columns = [query[order].astype(np.uint32), number[order].astype(np.uint32), apart[order]]
        return pa.table(columns, schema=NEIGHBOURS)

    def _rows(self, fingerprints: Any) -> UInt64s:
        if isinstance(fingerprints, int | np.integer):
            return read_fingerprints([fingerprints], self.bits)
        if isinstance(fingerprints, np.ndarray) and fingerprints.ndim == 1 and self.bits == 128:
            return read_fingerprints(fingerprints.reshape(1, -1), self.bits)  # one row of sketch()
        return read_fingerprints(fingerprints, self.bits)

    def _unsettled(self) -> _Segment:
        """The waiting additions as a segment without tables."""
        self._waiting = [np.concatenate([np.empty((0, self.bits // 64), np.uint64), *self._waiting])]
        return _Segment(self._waiting[0], self._size - len(self._waiting[0]), None)

    def _settle(self) -> None:
        """Merge the waiting additions and the last segments less than twice as large into a new segment."""
        rows = self._waiting
        while self._segments and len(self._segments[-1].rows) < 2 * sum(map(len, rows)):
            rows = [self._segments.pop().rows, *rows]
        merged = np.concatenate(rows)
        self._segments.append(_Segment(merged, self._size - len(merged), self.distance))
        self._waiting = []


class _Segment:
    """Immutable fingerprints: ``rows`` uint64[n, words], numbered from ``first`` on.

    Without a ``distance`` there are no tables, and every query is compared with all fingerprints.
    """

    def __init__(self, rows: UInt64s, first: int, distance: int | None) -> None:
        self.rows, self._first = rows, first
        self._classes = distinct(FingerprintWords.of(rows))
        words = self._classes.words
        masks = np.zeros((1, 2), np.uint64) if distance is None else cut(words, distance)
        tables = [in_order(words, mask) for mask in masks]
        cell_bits = min(tables[0][1], max(1, (len(words) // _IN_A_CELL).bit_length()))
        cells = np.stack([_cells(words.keys(mask), cell_bits) for mask in masks])
        orders = np.stack([order for order, _ in tables])
        self._tables = (masks, orders, cells, np.uint64(64 - cell_bits))

    def near(self, queries: UInt64s, distance: int) -> tuple[Int64s, Int64s, UInt64s]:
        """(query, number, distance) of all fingerprints in the segment that are within the distance of a query."""
        words = self._classes.words
        query, found, apart = near_queries(words.low, words.high, self._tables, queries, distance)
        number, which = self._classes.members(found)
        return query[which].astype(np.int64), self._first + number, apart[which]


def _cells(keys: UInt64s, bits: int) -> Int32s:
    """The start of the keys of each value of the top bits, then the end of the last: int32[2ᵇ + 1]."""
    counts = np.bincount((keys >> np.uint64(64 - bits)).astype(np.int64), minlength=1 << bits)
    return np.append(0, np.cumsum(counts)).astype(np.int32)
