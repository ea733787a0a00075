"""The exact join of more documents than the memory holds: in parts that have no pair in common.

The sets are read in blocks: to count the shingles, to list the documents under their rarest ones, and to join. The
lists connect documents into families (``kernels/components.py``); a pair at or above the threshold is always
within one. Whole families are joined part by part, each with its own index, so groups and crowds are the same
as those of one index. Held for all documents are their outlines: 44 bytes and 2 to 4 bits per shingle. A family
larger than the room is joined alone: its sets are mapped from a file, and its lists take the memory they need.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.deduplication.join.criterion import Related, takes_any_subset
from neardup.deduplication.join.method import BYTES_A_SHINGLE
from neardup.deduplication.join.prefix_join import (
    Prefixes,
    Repeats,
    joined_sets,
    no_marks,
    prefixes_of,
    with_hosts,
)
from neardup.deduplication.join.shingle_store import DocumentSets, SpilledSets
from neardup.io.outputs import Scratch
from neardup.kernels.groups import Outlines, PrefixLists, best_of_tree, unite_met
from neardup.kernels.join import FARTHEST, PrefixIndex, mark_entries
from neardup.kernels.sets import Criterion, fill_parities, parity_words
from neardup.kernels.sorting import equal_groups
from neardup.runtime import Advance
from neardup.tables import Bools, Int32s, Int64s, UInt64s, numbers_in
from neardup.text.sketch import ShingleSets

_ENTRY_BYTES = 64
"""Upper bound for the bytes that an entry of a prefix needs while a portion of them is sorted into lists."""

_CELL_BYTES = 3
"""Bytes a cell while shingles are counted (``Repeats``)."""

_MOST_TRIES = 4096
"""A document compared in vain with this many others of one list is put into one family with the rest."""

_PORTIONS = 1 << 6
"""Portions by hash into which entries of prefixes are written; several are sorted at a time if they fit."""

_ENTRY = np.dtype([("hash", np.uint64), ("owner", np.int32), ("reach", np.int32)])
"""An entry of a prefix as working files have it: 16 bytes."""


@dataclass(frozen=True)
class Join:
    """The exact join asked for: which pairs, among which documents, within how many bytes of ``room``.

    Pairs of two documents below ``first_new`` are not wanted.
    """

    criterion: Criterion
    related: Related
    first_new: int
    room: int
    threads: int


@dataclass(frozen=True, eq=False)
class ExactParts:
    """All documents of a join that may have a partner, ``parts`` by part: ascending numbers, whole families.

    The ``sets`` of all documents are in a working file.
    """

    asked: Join
    sets: SpilledSets
    parts: tuple[Int64s, ...]

    def indexes(self) -> Iterator[tuple[Int64s, PrefixIndex]]:
        """Yield the documents of each part, and their index, which numbers them from 0."""
        for documents in self.parts:
            alone, related = np.arange(len(documents)), self.asked.related.of(documents)
            most = self.asked.room // BYTES_A_SHINGLE
            sets = DocumentSets(alone, self.sets.load(documents, most).sets)
            joined = joined_sets(alone, len(alone), sets, self.asked.criterion, self.asked.threads, related)
            del sets
            yield documents, joined.hubs


def exact_parts(sets: SpilledSets, join: Join, scratch: Scratch, advance: Advance) -> ExactParts:
    """Find the families of all documents, and share them out in parts that fit the room.

    ``advance`` is called with numbers of documents, twice for each. ``scratch`` holds the entries of prefixes.
    """
    repeats, sizes = _count_repeats(sets, join, advance), np.diff(sets.offsets)
    listed = _Listed(sets, join, scratch)
    listed.fill(repeats, advance)
    del repeats
    parent = np.arange(len(sets))
    most = max(1, join.room // _ENTRY_BYTES)
    for lists in listed.lists(most):
        unite_met(lists, listed.outlines, join.criterion, join.first_new, _MOST_TRIES, parent)
    family: Int64s = best_of_tree(parent, np.arange(len(sets)))
    return ExactParts(join, sets, tuple(_shared_out(family, sizes, join.room // BYTES_A_SHINGLE)))


def _count_repeats(filed: SpilledSets, join: Join, advance: Advance) -> Repeats:
    """How often shingles occur again."""
    most = max(16, (join.room // (2 * _CELL_BYTES)).bit_length() - 1)
    repeats = Repeats(min(most, max(16, int(filed.offsets[-1]).bit_length())), join.threads)
    for _, sets in filed.ranges(_at_once(join)):
        repeats.add(sets.hashes, sets.offsets[:-1], sets.sizes)
        advance(len(sets.sizes))
    return repeats


class _Listed:
    """Documents under the shingles of their prefixes, in working files by hash; and their outlines."""

    def __init__(self, sets: SpilledSets, join: Join, scratch: Scratch) -> None:
        self._sets, self._asked, sizes = sets, join, np.diff(sets.offsets)
        begin, across = parity_words(sizes), join.related.across
        largest, words = np.zeros(len(sizes), np.int64), np.zeros(begin[-1], np.uint64)
        self.outlines = Outlines(sizes, largest, words, begin, across)
        by_size = np.argsort(sizes, kind="stable")
        self._number = np.empty(len(sizes), np.int32)
        self._number[by_size] = np.arange(len(sizes), dtype=np.int32)
        self._files = [scratch.numbers(_ENTRY) for _ in range(_PORTIONS)]

    def fill(self, repeats: Repeats, advance: Advance) -> None:
        """Read all sets, and write the entries of their prefixes."""
        any_subset = takes_any_subset(self._asked.criterion.measure)
        marked = no_marks(int(self.outlines.sizes.sum()) >> 2) if any_subset else None
        if marked is not None:
            for first, sets in self._sets.ranges(_at_once(self._asked)):
                mark_entries(self._prefixes(first, sets, repeats, None)[0].entries, marked)
        for first, sets in self._sets.ranges(_at_once(self._asked)):
            self._write(*self._prefixes(first, sets, repeats, marked), first)
            advance(len(sets.sizes))

    def lists(self, most: int) -> Iterator[PrefixLists]:
        """Yield the lists of shingles that several documents share, of at most ``most`` entries at a time."""
        waiting: list[Entries] = []
        for number, file in enumerate(self._files):
            waiting.append(file.read())
            file.close()
            more = len(self._files[number + 1]) if number + 1 < _PORTIONS else most
            if sum(map(len, waiting)) + more > most:
                entries = np.concatenate(waiting)
                waiting = []
                yield _lists_of(entries, self._number)

    def _prefixes(
        self, first: int, sets: ShingleSets, repeats: Repeats, marked: UInt64s | None
    ) -> tuple[Prefixes, Int32s]:
        """The prefixes of documents from ``first`` on, owners numbered from 0, and the reach of each entry.

        Fills the outlines of these documents.
        """
        starts, sizes, asked = sets.offsets[:-1], sets.sizes, self._asked
        outlines, until = self.outlines, first + len(sizes)
        listed = prefixes_of(sets.hashes, starts, sizes, repeats.cells, asked.criterion, asked.threads)
        prefixes, reach, outlines.largest[first:until] = listed
        if marked is not None:
            prefixes = with_hosts(sets.hashes, starts, sizes, prefixes, marked, asked.threads)
            reach = np.full(len(prefixes.entries), FARTHEST)
        outlines.parities[outlines.parity_at[first] : outlines.parity_at[until]] = 0
        fill_parities(sets.hashes, starts, sizes, outlines.parity_at[first : until + 1], outlines.parities)
        return prefixes, reach

    def _write(self, prefixes: Prefixes, reach: Int32s, first: int) -> None:
        entries = np.empty(len(reach), _ENTRY)
        entries["owner"] = prefixes.owner + np.int32(first)
        entries["hash"] = self._asked.related.apart(prefixes.entries, entries["owner"])
        entries["reach"] = np.where(prefixes.in_prefix, reach, -reach)  # the sign says whether it is in the prefix
        portion = (entries["hash"] >> np.uint64(32)) % np.uint64(_PORTIONS)
        order = np.argsort(portion.astype(np.uint8), kind="stable")
        ends = np.cumsum(np.bincount(portion.astype(np.int64), minlength=_PORTIONS))
        for file, mine in zip(self._files, np.split(entries[order], ends[:-1]), strict=True):
            file.append(mine)


Entries = np.ndarray[tuple[int], np.dtype[np.void]]


def _lists_of(entries: Entries, number: Int32s) -> PrefixLists:
    """The lists of the entries; ``number`` is the place of each document by size."""
    entries = entries[np.argsort(number[entries["owner"]], kind="stable")]
    order, starts, lengths = equal_groups(np.ascontiguousarray(entries["hash"]))
    first = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    chosen = entries[order[numbers_in(starts, lengths)]]
    reach = np.ascontiguousarray(chosen["reach"])
    inside: Bools = reach >= 0
    return PrefixLists(np.ascontiguousarray(chosen["owner"]), np.abs(reach), inside, first)


def _at_once(join: Join) -> int:
    """The shingles that are read at a time: an eighth of the room."""
    return max(1, join.room // (8 * 8))


def _shared_out(family: Int64s, sizes: Int64s, most: int) -> Iterator[Int64s]:
    """Yield the documents of families of two or more, ascending, in parts of about ``most`` shingles."""
    several = np.flatnonzero(np.bincount(family, minlength=len(family))[family] > 1)
    if not len(several):
        return
    order = several[np.argsort(family[several], kind="stable")]
    heads, firsts = np.unique(family[order], return_index=True)
    shingles = np.add.reduceat(sizes[order], firsts)
    begin = used = 0
    ends = np.append(firsts[1:], len(order))
    for number in range(len(heads)):
        if used and used + shingles[number] > most:
            yield np.sort(order[begin : firsts[number]])
            begin, used = int(firsts[number]), 0
        used += int(shingles[number])
    yield np.sort(order[begin : ends[-1]])
