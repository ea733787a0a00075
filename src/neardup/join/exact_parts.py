"""The exact join of more documents than the memory holds: in parts that have no pair in common.

The sets are read in blocks: to count the shingles, to list the documents under their rarest ones, and to join. The
lists connect documents into families (``kernels/join/families.py``); a pair at or above the threshold is always
within one. Whole families are joined part by part, each with its own index, so groups and crowds are the same
as those of one index. Held for all documents are their outlines: 44 bytes and 2 to 4 bits per shingle. A family
larger than the room is joined alone, in as much memory as it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np

from neardup.io.writers.scratch import Scratch
from neardup.join.criterion import takes_any_subset
from neardup.join.method import BYTES_A_SHINGLE
from neardup.join.prefix_join import Prefixes, Repeats, joined_sets, no_marks, prefixes_of, with_hosts
from neardup.join.related import Related
from neardup.join.shingle_store import DocumentSets, ShingleStore
from neardup.kernels.join import prefix_index as kernels
from neardup.kernels.join.families import Outlines, PrefixLists, unite_met
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.kernels.parities import fill_parities, parity_words
from neardup.kernels.sets import Criterion
from neardup.kernels.sorting import equal_groups
from neardup.kernels.union_find import best_of_tree
from neardup.runtime import Advance
from neardup.tables import Bools, Int32s, Int64s, UInt64s

_ENTRY_BYTES = 64
"""Upper bound for the bytes that an entry of a prefix needs while a portion of them is sorted into lists."""

_CELL_BYTES = 3
"""Bytes a cell while shingles are counted (``Repeats``)."""

_MOST_TRIES = 4096
"""A document compared in vain with this many others of one list is put into one family with the rest."""

_PORTIONS = 1 << 6
"""Portions by hash into which entries of prefixes are written; several are sorted at a time if they fit."""


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

    ``held`` keeps the sets open for the stages that ask for an index.
    """

    asked: Join
    store: ShingleStore
    parts: tuple[Int64s, ...]
    held: ExitStack = field(default_factory=ExitStack)

    def indexes(self) -> Iterator[tuple[Int64s, PrefixIndex]]:
        """Yield the documents of each part, and their index, which numbers them from 0."""
        for documents in self.parts:
            sets = self.store.get(documents).only(documents).sets
            alone, related = np.arange(len(documents)), self.asked.related.of(documents)
            found = DocumentSets(alone, sets)
            del sets
            made = joined_sets(alone, len(alone), found, self.asked.criterion, self.asked.threads, related)
            del found
            yield documents, made.hubs


def exact_parts(store: ShingleStore, asked: Join, scratch: Scratch, advance: Advance) -> ExactParts:
    """Find the families of all documents of ``store``, and share them out in parts that fit the room.

    ``advance`` is called with numbers of documents, twice for each. ``scratch`` holds the entries of prefixes.
    """
    held = ExitStack()
    held.enter_context(store.hold(np.arange(store.documents)))
    repeats, sizes = _counted(store, asked, advance)
    listed = _Listed(store, asked, sizes, scratch)
    listed.fill(repeats, advance)
    del repeats
    parent = np.arange(store.documents)
    most = max(1, asked.room // _ENTRY_BYTES)
    for lists in listed.lists(most):
        unite_met(lists, listed.outlines, asked.criterion, asked.first_new, _MOST_TRIES, parent)
    family: Int64s = best_of_tree(parent, np.arange(store.documents))
    return ExactParts(asked, store, tuple(_shared_out(family, sizes, asked.room // BYTES_A_SHINGLE)), held)


def _counted(store: ShingleStore, asked: Join, advance: Advance) -> tuple[Repeats, Int64s]:
    """How often shingles occur again, and the size of each set."""
    total = int(store.bound(np.arange(store.documents)).sum())
    most = max(16, (asked.room // (2 * _CELL_BYTES)).bit_length() - 1)
    repeats = Repeats(min(most, max(16, total.bit_length())), asked.threads)
    sizes = [np.empty(0, np.int64)]
    for block in _blocks(store, asked):
        sets = store.get(block).only(block).sets
        repeats.add(sets.hashes, sets.offsets[:-1], sets.sizes)
        sizes.append(sets.sizes)
        advance(len(block))
    return repeats, np.concatenate(sizes)


class _Listed:
    """Documents under the shingles of their prefixes, in working files by hash; and their outlines."""

    def __init__(self, store: ShingleStore, asked: Join, sizes: Int64s, scratch: Scratch) -> None:
        self._store, self._asked = store, asked
        begin, across = parity_words(sizes), asked.related.across
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
            for block in _blocks(self._store, self._asked):
                kernels.mark_entries(self._prefixes(block, repeats, None)[0].entries, marked)
        for block in _blocks(self._store, self._asked):
            prefixes, reach = self._prefixes(block, repeats, marked)
            self._write(prefixes, reach, int(block[0]))
            advance(len(block))

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

    def _prefixes(self, block: Int64s, repeats: Repeats, marked: UInt64s | None) -> tuple[Prefixes, Int32s]:
        """The prefixes of a block, owners numbered from 0, and the reach of each entry; fill its outlines."""
        sets, asked = self._store.get(block).only(block).sets, self._asked
        starts, sizes, first = sets.offsets[:-1], sets.sizes, int(block[0])
        outlines, until = self.outlines, first + len(block)
        found = prefixes_of(sets.hashes, starts, sizes, repeats.cells, asked.criterion, asked.threads)
        prefixes, reach, outlines.largest[first:until] = found
        if marked is not None:
            prefixes = with_hosts(sets.hashes, starts, sizes, prefixes, marked, asked.threads)
            reach = np.full(len(prefixes.entries), kernels.FARTHEST)
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


_ENTRY = np.dtype([("hash", np.uint64), ("owner", np.int32), ("reach", np.int32)])
"""An entry of a prefix as working files have it: 16 bytes."""

Entries = np.ndarray[tuple[int], np.dtype[np.void]]


def _lists_of(entries: Entries, number: Int32s) -> PrefixLists:
    """The lists of the entries; ``number`` is the place of each document by size."""
    entries = entries[np.argsort(number[entries["owner"]], kind="stable")]
    order, starts, lengths = equal_groups(np.ascontiguousarray(entries["hash"]))
    first = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    at = np.arange(first[-1]) - np.repeat(first[:-1], lengths) + np.repeat(starts, lengths)
    chosen = entries[order[at]]
    reach = np.ascontiguousarray(chosen["reach"])
    inside: Bools = reach >= 0
    return PrefixLists(np.ascontiguousarray(chosen["owner"]), np.abs(reach), inside, first)


def _blocks(store: ShingleStore, asked: Join) -> Iterator[Int64s]:
    """Yield all documents in ranges whose sets take about an eighth of the room."""
    most = max(1, asked.room // (8 * 8))
    block = np.cumsum(store.bound(np.arange(store.documents))) // most
    if len(block):
        yield from np.split(np.arange(store.documents), np.flatnonzero(np.diff(block)) + 1)


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
