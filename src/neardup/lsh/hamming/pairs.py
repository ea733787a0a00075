"""All pairs of fingerprints that differ in few bits: none is missed, for any fingerprints.

Tables are sorted and scanned one after the other (one in each thread), so the memory is that of one table. A pair
is reported by the first table that has both fingerprints in one run. The members of a long run differ in fewer
bits, and there are fewer of them: they are cut into tables of their own if these promise to halve the comparisons.
Thus there are never more comparisons than pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.display.view import facts, heading, table, view
from neardup.kernels.lsh.hamming import near_in_runs, pairs_alike, run_ends
from neardup.lsh.hamming.words import DistinctWords, FingerprintWords, cut, distinct, in_order, read_fingerprints
from neardup.runtime import ordered_map
from neardup.settings.rules import check
from neardup.tables import COPIES_OF, HAMMING, Int32s, Int64s, UInt64s

SHOWN = 10
"""Pairs that a notebook shows."""
LONG = 2048
"""Longer runs are cut again: their 2 million comparisons cost more than a few tables of 2,048."""

NO_LIMIT = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class HammingPairs:
    """The result of :func:`hamming_pairs` for ``documents`` fingerprints.

    ``copies`` (row, first): each row whose fingerprint equals that of an earlier row, and the first such row.
    ``pairs`` (a, b, distance): the pairs of different fingerprints within the distance, a < b, sorted; the first
    row with a fingerprint represents it.
    """

    documents: int
    pairs: pa.Table
    copies: pa.Table

    def __repr__(self) -> str:
        return f"HammingPairs({self.pairs.num_rows} pairs, {self.copies.num_rows} copies, {self.documents} rows)"

    def _repr_html_(self) -> str:
        lines = [("fingerprints", f"{self.documents:,}"), ("pairs", f"{self.pairs.num_rows:,}")]
        first = self.pairs.slice(0, SHOWN).to_pylist()
        rows = [[str(row[name]) for name in HAMMING.names] for row in first]
        listed = table(HAMMING.names, rows, frozenset((0, 1, 2))) if rows else ""
        return view(heading("HammingPairs"), facts([*lines, ("copies", f"{self.copies.num_rows:,}")]), listed)

    def expanded(self) -> pa.Table:
        """Return all pairs of rows, copies included (at distance 0, and with every pair of their first row).

        m equal fingerprints make m(m − 1)/2 pairs; for collections with crowds of them the result may not fit in
        memory.
        """
        first = np.arange(self.documents)
        first[self.copies.column("row").to_numpy()] = self.copies.column("first").to_numpy()
        rows = np.argsort(first, kind="stable")
        starts = np.searchsorted(first[rows], np.arange(self.documents + 1))
        a, b, distances = (self.pairs.column(name).to_numpy() for name in HAMMING.names)
        crowds = np.flatnonzero(np.diff(starts) > 1)
        row_a, row_b, which = products(rows, starts, np.append(a, crowds), np.append(b, crowds))
        apart = np.append(distances, np.zeros(len(crowds), np.uint8))[which]
        once = (row_a < row_b) | (apart > 0)
        return pairs_table(row_a[once], row_b[once], apart[once])


def hamming_pairs(fingerprints: object, distance: int = 3, threads: int = 0) -> HammingPairs:
    """Find all pairs of fingerprints that differ in at most ``distance`` bits; none is missed.

    ``fingerprints`` is the result of ``SimHash.sketch``, uint64[n] or uint64[n, 2] for 128 bits, or a list of
    integers below 2⁶⁴. Equal fingerprints are listed once, as copies of the first (``.copies``), rather than as
    all pairs among them, since a crowd of m has m(m − 1)/2; ``.expanded()`` writes these out. Rows are numbered
    from 0. ``threads``: 0 for one on each core; the result is the same for any number. Raises SettingError for a
    distance above a quarter of the bits, InputError for input that is not fingerprints.

    >>> found = hamming_pairs([0b1111, 0b0111, 0b1111, 0b110000], distance=2)
    >>> found.pairs.to_pylist(), found.copies.to_pylist()
    ([{'a': 0, 'b': 1, 'distance': 1}], [{'row': 2, 'first': 0}])
    """
    rows = read_fingerprints(fingerprints)
    check(64 * rows.shape[1], distance)
    classes = distinct(FingerprintWords.of(rows))
    near = near_pairs(classes.words, distance, threads)
    first = classes.first
    return HammingPairs(len(rows), pairs_table(first[near.a], first[near.b], near.distances), _copies(classes))


@dataclass(frozen=True)
class NearPairs:
    """Pairs a, b (positions) with their distances, and the positions of the crowded fingerprints."""

    a: Int32s
    b: Int32s
    distances: UInt64s
    crowded: Int32s


Part = tuple[FingerprintWords, Int32s]
"""Fingerprints, and the position of each in the whole input."""


def near_pairs(
    words: FingerprintWords,
    distance: int,
    threads: int = 0,
    most: int = NO_LIMIT,
    advance: Callable[[int], None] | None = None,
) -> NearPairs:
    """All pairs of different fingerprints within the distance; neither the pairs nor a and b are in any order.

    A fingerprint with more than ``most`` pairs from one table is *crowded*, and so are those near it; further
    pairs of crowded fingerprints are left out. ``advance`` is called with 1 for each table.
    """
    masks = _masks(words, distance)
    everyone: Part = (words, np.arange(len(words), dtype=np.int32))

    def one_table(at: int) -> list[NearPairs]:
        return list(_in_table(everyone, masks, at, np.zeros((1, 2), np.uint64), (distance, most)))

    found: list[NearPairs] = []
    for parts in ordered_map(one_table, range(len(masks)), threads):
        found += parts
        if advance is not None:
            advance(1)
    return NearPairs(
        np.concatenate([part.a for part in found]),
        np.concatenate([part.b for part in found]),
        np.concatenate([part.distances for part in found]),
        np.unique(np.concatenate([part.crowded for part in found])),
    )


def _masks(words: FingerprintWords, distance: int) -> UInt64s:
    """The prefixes of the tables, or a single empty prefix if tables would not halve the comparisons."""
    if len(words) > LONG:
        masks = cut(words, distance)
        left = len(words) * (len(words) - 1) // 4
        for mask in masks:
            left -= pairs_alike(words.keys(mask))
            if left < 0:
                break
        else:
            return masks
    return np.zeros((1, 2), np.uint64)


def _in_table(part: Part, masks: UInt64s, at: int, outer: UInt64s, wanted: tuple[int, int]) -> Iterator[NearPairs]:
    """The pairs that table ``at`` is the first to bring together, and those from the tables within its long runs.

    ``outer`` uint64[1 + k, 2]: the bits in which the enclosing tables agree, and the masks of the tables before
    those. ``wanted`` = (distance, most pairs of one fingerprint).
    """
    words, positions = part
    conditions = np.concatenate((outer[:1] | masks[at], outer[1:], masks[:at]))
    if not masks[at].any():
        yield _scanned(part, np.array([len(words)], np.int32), conditions, wanted, len(words))
        return
    order, bits = in_order(words, masks[at])
    words, positions = words.take(order), positions[order]
    ends = run_ends(words.keys(masks[at]), np.uint64(64 - bits))
    yield _scanned((words, positions), ends, conditions, wanted, LONG)
    sizes = np.diff(ends, prepend=np.int32(0))
    for run in np.flatnonzero(sizes > LONG):
        whole = slice(ends[run] - sizes[run], ends[run])
        inner = (words.take(whole), positions[whole])
        inner_masks = _masks(inner[0], wanted[0])
        for k in range(len(inner_masks)):
            yield from _in_table(inner, inner_masks, k, conditions, wanted)


def _scanned(part: Part, ends: Int32s, conditions: UInt64s, wanted: tuple[int, int], longest: int) -> NearPairs:
    words, positions = part
    distance, most = wanted
    a, b, apart, crowded = near_in_runs(words.low, words.high, ends, conditions, distance, (longest, most))
    return NearPairs(positions[a], positions[b], apart, positions[crowded])


def products(rows: Int64s, starts: Int64s, a: Int64s, b: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Combine every row of class a[k] with every row of class b[k]: (row of a, row of b, k), one entry for each.

    Class c has the rows ``rows[starts[c]:starts[c + 1]]``.
    """
    wide = starts[b + 1] - starts[b]
    counts = (starts[a + 1] - starts[a]) * wide
    which = np.repeat(np.arange(len(a)), counts)
    inside = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows[starts[a][which] + inside // wide[which]], rows[starts[b][which] + inside % wide[which]], which


def pairs_table(a: Int64s, b: Int64s, distances: UInt64s) -> pa.Table:
    """The HAMMING table of pairs that come in any order, each of them once."""
    a, b = np.minimum(a, b), np.maximum(a, b)
    order = np.argsort(a.astype(np.uint64) << np.uint64(32) | b.astype(np.uint64))
    columns = [a[order].astype(np.uint32), b[order].astype(np.uint32), distances[order].astype(np.uint8)]
    return pa.table(columns, schema=HAMMING)


def _copies(classes: DistinctWords) -> pa.Table:
    rows, first = classes.rows, np.repeat(classes.first, classes.sizes)
    again = rows != first
    order = np.argsort(rows[again])
    columns = [rows[again][order].astype(np.uint32), first[again][order].astype(np.uint32)]
    return pa.table(columns, schema=COPIES_OF)
