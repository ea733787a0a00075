"""Sampled documents against all documents that stream by: their true pairs, and which the run found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.join.pair_file import Pairs, batches, documents_in, keys_of
from neardup.join.related import EVERYONE, Related
from neardup.join.shingle_store import DocumentSets
from neardup.kernels.join.audit import DrawnDocuments, partners
from neardup.kernels.sets import Criterion
from neardup.sketch.documents import ShingleSets
from neardup.tables import Bools, Int64s, column, verified_table

_ENOUGH = 1 << 20
"""Pairs that a thread collects before it checks which of them were found."""

_OFTEN = 16
"""A shingle in more drawn documents than this is boilerplate, and costs less if it is counted last."""


@dataclass(frozen=True)
class Reported:
    """The pairs a run reports, in some collections (VERIFIED), and those it omits because there are too many.

    Pairs of two ``joined`` documents (bool[documents]) were joined exactly; not all pairs with a ``limited``
    document are written.
    """

    pairs: tuple[Pairs, ...]
    joined: Bools
    limited: Bools

    def has_pair(self) -> Bools:
        """bool[documents]: whether a pair of the document is reported."""
        has = np.zeros(len(self.joined), np.bool_)
        for pairs in self.pairs:
            has[documents_in(pairs, len(has))] = True
        return has

    def keys(self, drawn: Bools) -> Int64s:
        """The pairs with a ``drawn`` document, each as a · 2³² + b, ascending."""
        tables = (table for pairs in self.pairs for table in batches(pairs))
        keys = [keys_of(some)[drawn[column(some, "a")] | drawn[column(some, "b")]] for some in tables]
        return np.unique(np.concatenate(keys))

    def left_out(self, a: Int64s, b: Int64s) -> Bools:
        """Which pairs the run could find, but need not have written."""
        left_out: Bools = self.joined[a] & self.joined[b] & (self.limited[a] | self.limited[b])
        return left_out


@dataclass(frozen=True)
class Known:
    """All documents: their rows, the first that is not in the reference set, the criterion, the reported pairs."""

    rows: Int64s
    first_new: int
    criterion: Criterion
    reported: Reported
    related: Related = EVERYONE


@dataclass(frozen=True)
class Tally:
    """Counts of pairs: for each drawn document (int64[drawn]), and for each stratum and in all, each pair once.

    ``of`` counts true pairs and ``hits`` found ones. In these two, a pair with a reference document counts twice,
    because only one of its ends can be drawn. ``missed`` is a VERIFIED table.
    """

    documents: int
    of: Int64s
    hits: Int64s
    stratum_pairs: Int64s
    stratum_found: Int64s
    pairs: int
    found: int
    missed: pa.Table

    def __add__(self, other: Tally) -> Tally:
        mine, others = vars(self), vars(other)
        counts = {name: mine[name] + others[name] for name in mine if name != "missed"}
        # most tallies have none, and thousands of empty chunks would slow everything down
        missed = [table for table in (self.missed, other.missed) if table.num_rows]
        return Tally(**counts, missed=pa.concat_tables(missed) if missed else self.missed)


class Count:
    """Counts the pairs of the drawn documents with the documents that stream by."""

    def __init__(self, drawn: DocumentSets, stratum: Int64s, known: Known) -> None:
        self._order = np.argsort(drawn.sets.sizes, kind="stable")
        self._table = posted(drawn.sets, self._order)
        self._numbers, self._stratum = drawn.documents[self._order], stratum[self._order]
        self._place = np.full(len(known.rows), -1, np.int64)
        self._place[self._numbers] = np.arange(len(self._order))
        self._known, self._keys = known, known.reported.keys(self._place >= 0)

    def of_chunk(self, rows: Int64s, sets: ShingleSets) -> Tally:
        """The tally of the documents in some rows."""
        numbers, at = np.searchsorted(self._known.rows, rows), 0
        tally = self._tally(len(rows), np.empty((0, 3), np.int64), numbers, sets.sizes)
        while at < len(rows):
            pairs, at = partners(
                sets.hashes, sets.offsets, at, self._table, self._known.criterion, _ENOUGH, _OFTEN
            )
            tally += self._tally(0, pairs, numbers, sets.sizes)
        return tally

    def _tally(self, documents: int, pairs: Int64s, numbers: Int64s, sizes: Int64s) -> Tally:
        """The tally of ``pairs`` (set, drawn document, |A∩B|); the sets are documents ``numbers`` of ``sizes``."""
        pairs = pairs[numbers[pairs[:, 0]] != self._numbers[pairs[:, 1]]]
        other, drawn, shared = numbers[pairs[:, 0]], pairs[:, 1], pairs[:, 2]
        if self._known.related.restricts:
            wanted = self._known.related.may_pair(other, self._numbers[drawn])
            pairs, other, drawn, shared = pairs[wanted], other[wanted], drawn[wanted], shared[wanted]
        number, stratum, place = self._numbers[drawn], self._stratum[drawn], self._place[other]
        found = self._found(np.minimum(other, number), np.maximum(other, number))
        # the pair of two drawn documents comes from both; it counts once in all, and once in a stratum with both
        once = (place < 0) | (other > number)
        once_there = once | (self._stratum[place] != stratum)
        adds = np.where(other < self._known.first_new, 2, 1)
        missed = once & ~found
        ends = number[missed], other[missed]
        both_sizes = self._table.sizes[drawn[missed]], sizes[pairs[missed, 0]]
        return Tally(
            documents,
            of=self._by_drawn(drawn, adds),
            hits=self._by_drawn(drawn[found], adds[found]),
            stratum_pairs=self._by_stratum(stratum[once_there]),
            stratum_found=self._by_stratum(stratum[found & once_there]),
            pairs=int(once.sum()),
            found=int((found & once).sum()),
            missed=_in_order(ends, shared[missed], both_sizes),
        )

    def _found(self, a: Int64s, b: Int64s) -> Bools:
        keys = (a << 32) | b
        at = np.searchsorted(self._keys, keys)
        written = at < len(self._keys)
        written[written] = self._keys[at[written]] == keys[written]
        found: Bools = written | self._known.reported.left_out(a, b)
        return found

    def _by_drawn(self, drawn: Int64s, amounts: Int64s) -> Int64s:
        """Sums by drawn document, in the original order of the drawn documents."""
        sums = np.zeros(len(self._order), np.int64)
        np.add.at(sums, self._order[drawn], amounts)
        return sums

    def _by_stratum(self, strata: Int64s) -> Int64s:
        return np.bincount(strata, minlength=int(self._stratum.max()) + 1)


def _in_order(ends: tuple[Int64s, Int64s], shared: Int64s, sizes: tuple[Int64s, Int64s]) -> pa.Table:
    """The VERIFIED table of pairs whose two ends come in any order."""
    swap = ends[0] > ends[1]
    a, b = (np.where(swap, ends[1 - k], ends[k]) for k in (0, 1))
    size_a, size_b = (np.where(swap, sizes[1 - k], sizes[k]) for k in (0, 1))
    return verified_table(a, b, shared, size_a, size_b)


def posted(sets: ShingleSets, order: Int64s) -> DrawnDocuments:
    """The table of the shingles of sets that are numbered in the given ``order``, by size."""
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    owner = np.repeat(number, sets.sizes)
    at = np.lexsort((owner, sets.hashes))
    hashes, members = sets.hashes[at], owner[at]
    first = np.flatnonzero(np.concatenate((np.ones(1, np.bool_), hashes[1:] != hashes[:-1])))
    keys = hashes[first]
    bits = len(keys).bit_length()  # about one shingle in a cell
    in_cell = np.bincount((keys >> np.uint64(64 - bits)).astype(np.int64), minlength=1 << bits)
    cells = np.concatenate(([0], np.cumsum(in_cell)))
    return DrawnDocuments(keys, np.append(first, len(hashes)), members, cells, sets.sizes[order])
