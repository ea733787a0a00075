"""The posting lists in their tables: segments of blocks, in which a shingle is found by its key alone.

A posting is a uint64: the low 32 bits of a hash (its key) and the number of a document. Each addition makes a
segment: its postings, sorted, in blocks by the first bits of their keys (``kernels/postings.py``), about 128 in
each. A block is a row whose number combines the number of its segment and these bits, so looking up a key needs
one row in each segment.

A segment that is not larger than all later ones together is merged with them. So the number of segments is at most
the number of times that the postings double, and while nothing is removed, a posting is rewritten at most this
often (the binary structures of Bentley and Saxe, J. Algorithms 1, 1980). Segments are merged one range of keys at
a time, so that the memory is bounded.

A large merge is spread over transactions, so that none takes long: each moves the next range of keys from the old
segments to the new one, and leaves all of them whole. Nothing records that it is under way: a large segment that
has no keys from some key on, after segments that have keys only from there, is one that they are moved to.

A number is given to one segment only: the last one stays registered when all its postings are removed. So the
number of a segment and that of its postings, of which a segment that is not written by a large merge can only lose
some, identify its content. By these a reader keeps the postings of segments that it reads often.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from neardup.collection.contract import KEPT
from neardup.collection.store.failures import damaged_error, well_formed
from neardup.collection.store.statements import LISTED, Tables, list_parameter
from neardup.errors import FormatError
from neardup.io.decisions import seal
from neardup.io.place import Place
from neardup.kernels import postings as kernels
from neardup.kernels.postings import encode
from neardup.kernels.sorting import sort_by_bits
from neardup.tables import Int64s, UInt8s, UInt64s

KEY_BITS = 32
MOST_NUMBER = (1 << 32) - 1
"""The largest number of a document."""

BLOCK_BITS = 24
_MOVED = 8
"""Postings moved for each one added: a large merge ends before the next one of its size is due."""
_MOST_COMMON = 100_000
"""The most keys whose numbers of documents are kept in memory."""


class Portions(NamedTuple):
    """How much is worked on at a time."""

    block: int = 128
    """Postings of a block: rows of half a kB fill pages well, and few bytes are read needlessly."""
    hashes: int = 20_000
    """Hashes that are looked up."""
    blocks: int = 4_000
    """Blocks of a segment that are read in order."""
    merged: int = 1 << 20
    """About how many postings are in memory as numbers while segments are merged."""
    step: int = 1 << 16
    """The least postings that a transaction moves while a large merge is under way: 5 ms."""
    at_once: int = 1 << 21
    """The most postings that are merged within one transaction: 0.2 s."""


PORTIONS = Portions()

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


def segments_statement(table: str) -> str:
    """The statement that reads the rows of segments, oldest first."""
    return f"SELECT number, bits, postings, first, last, seal FROM {table} ORDER BY number"


def contents(run: All) -> frozenset[tuple[int, int]]:
    """The number of each segment with that of its postings, which identify its content."""
    return frozenset(run("SELECT number, postings FROM segments"))


def bits_for(n_postings: int, block: int = PORTIONS.block) -> int:
    """The number of first bits that makes blocks of about this many postings.

    >>> bits_for(100), bits_for(1_000_000)
    (0, 13)
    """
    return min(BLOCK_BITS, max(0, (n_postings // block).bit_length()))


class _Located(NamedTuple):
    """int64[segments, hashes]: the documents of each hash, and where each list begins.

    It begins in the postings of a segment, or, where these are None, in ``data``: the blocks that were read.
    """

    data: UInt8s
    postings: list[UInt64s | None]
    counts: Int64s
    places: Int64s

    def of(self, chosen: Int64s) -> "_Located":
        """The same for some of the hashes."""
        counts, places = (np.ascontiguousarray(table[:, chosen]) for table in (self.counts, self.places))
        return self._replace(counts=counts, places=places)


_HELD = 1 << 23
"""The most postings in memory, 64 MB."""
_COUNTED = 10_000
"""The most segments whose look-ups are counted."""


class HeldSegments:
    """The postings of segments that were looked into so often that reading all their blocks takes no longer.

    So with them a reader spends at most twice the time that it would spend without. Segments are forgotten in the
    order in which they were read. For all threads.
    """

    def __init__(self, most: int = _HELD) -> None:
        self._most, self._size, self._lock = most, 0, threading.Lock()
        self._blocks: Counter[tuple[int, int]] = Counter()
        self._held: OrderedDict[tuple[int, int], UInt64s] = OrderedDict()

    def of(self, segment: Segment) -> UInt64s | None:
        """The postings of a segment, if they are held."""
        return self._held.get((segment.number, segment.postings))

    def is_due(self, segment: Segment, blocks: int) -> bool:
        """Count ``blocks`` that are looked up in a segment; whether it should be read as a whole."""
        if segment.postings > self._most:
            return False
        with self._lock:
            if len(self._blocks) > _COUNTED:
                self._blocks.clear()
            self._blocks[segment.number, segment.postings] += blocks
            return self._blocks[segment.number, segment.postings] > 1 << segment.bits

    def keep(self, segment: Segment, postings: UInt64s) -> None:
        """Hold the postings of a segment (uint64, sorted)."""
        with self._lock:
            if (segment.number, segment.postings) not in self._held:
                self._held[segment.number, segment.postings] = postings
                self._size += len(postings)
            while self._size > self._most:
                self._size -= len(self._held.popitem(last=False)[1])


def _rarest(counts: Int64s, most: int) -> Int64s:
    """The places of the least counts, ascending, whose sum is at most ``most``; at least one."""
    order = np.argsort(counts, kind="stable")
    fitting = int(np.searchsorted(np.cumsum(counts[order]), most, side="right"))
    return np.sort(order[: max(1, fitting)])


class Segments:
    """The look-ups; ``run`` executes a statement with parameters and returns all rows.

    ``prefix`` is the beginning of the names of the two tables. ``memory`` has the postings of segments, within a
    transaction only of those of ``settled`` (see ``contents``): its changes may be undone.
    """

    def __init__(
        self,
        run: All,
        place: Place,
        portions: Portions = PORTIONS,
        prefix: str = "",
        *,
        memory: HeldSegments | None = None,
        settled: frozenset[tuple[int, int]] | None = None,
    ) -> None:
        self._run, self._path, self._portions = run, place, portions
        self._segments, self._postings = f"{prefix}segments", f"{prefix}postings"
        self._memory, self._settled = memory, settled

    def all(self) -> list[Segment]:
        """The segments, oldest first."""
        rows = self._run(segments_statement(self._segments))
        for *row, stored in rows:
            if seal(row) != stored:
                raise self.damaged_error("a row of its posting lists was changed")
        return [Segment(*row[:-1]) for row in rows]

    def lists(self, hashes: UInt64s) -> tuple[Int64s, Int64s]:
        """The documents of hash k are ``documents[offsets[k]:offsets[k + 1]]``, sorted."""
        segments = self.all()
        step = self._portions.hashes
        portions = (hashes[begin : begin + step] for begin in range(0, len(hashes), step))
        parts = [self._gather(self._locate(segments, portion)) for portion in portions]
        counts = [np.diff(offsets) for _, offsets in parts]
        offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), *counts]))
        return np.concatenate([np.empty(0, np.int64), *(documents for documents, _ in parts)]), offsets

    def counts(self, hashes: UInt64s) -> Int64s:
        """The number of documents of each hash."""
        counted: Int64s = self._locate(self.all(), hashes).counts.sum(axis=0)
        return counted

    def rarest(self, hashes: UInt64s, most: int, common: dict[int, int]) -> tuple[Int64s, list[Int64s]]:
        """The places of the rarest hashes, ascending, and their documents: ``most`` in sum, but one hash at least.

        ``common`` maps keys of this state to their numbers of documents. Lists longer than ``most`` are
        not read unless all lists are. Other keys with such lists are added to it.
        """
        known = np.array([common.get(key, 0) for key in (hashes & KEPT).tolist()], np.int64)
        if known.max(initial=0) > most:
            sought = np.flatnonzero(known <= most)
            places, lists = self._rarest_read(hashes[sought], most, common)
            if lists and len(lists[0]) <= most:
                return sought[places], lists
        return self._rarest_read(hashes, most, common)

    def _rarest_read(self, hashes: UInt64s, most: int, common: dict[int, int]) -> tuple[Int64s, list[Int64s]]:
        """The rarest of all hashes are among the rarest of their portion."""
        segments = self.all()
        places, lists = np.empty(0, np.int64), list[Int64s]()
        for begin in range(0, len(hashes), self._portions.hashes):
            portion = hashes[begin : begin + self._portions.hashes]
            located = self._locate(segments, portion)
            counts = located.counts.sum(axis=0)
            if len(common) < _MOST_COMMON:
                longer = counts > most
                common.update(zip((portion[longer] & KEPT).tolist(), counts[longer].tolist(), strict=True))
            chosen = _rarest(counts, most)
            documents, offsets = self._gather(located.of(chosen))
            places = np.concatenate((places, begin + chosen))
            lists += [documents[first:end] for first, end in pairwise(offsets.tolist())]
        chosen = _rarest(np.array([len(documents) for documents in lists], np.int64), most)
        return places[chosen], [lists[k] for k in chosen.tolist()]

    def decoded_postings(self, segment: Segment, low: int = 0, high: int = 1 << KEY_BITS) -> UInt64s:
        """The postings with keys from ``low`` up to ``high``."""
        first, last = segment.row(low >> segment.shift), segment.row((high - 1) >> segment.shift)
        statement = f"SELECT block, data FROM {self._postings} WHERE block BETWEEN ? AND ? ORDER BY block"
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
            raise self.damaged_error("a block of its posting lists was changed")
        return out[:count]

    def rows(self, numbers: Int64s) -> list[tuple[int, bytes]]:
        """The rows with these numbers, which ascend, that exist, in this order."""
        # CROSS JOIN keeps the order, in three quarters of the time of IN with ORDER BY (measured)
        statement = f"SELECT block, data FROM json_each(?) CROSS JOIN {self._postings} ON block = value"
        return self._run(statement, list_parameter(numbers))

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
                count = f"SELECT COUNT(*) FROM {self._postings} WHERE block BETWEEN ? AND ?"
                [(rows,)] = self._run(count, segment.row(0), segment.row((1 << segment.bits) - 1))
                known += rows
            [(rows,)] = self._run(f"SELECT COUNT(*) FROM {self._postings}")
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
        parts = max(1, (1 << segment.bits) // self._portions.blocks)
        bounds = [(k << KEY_BITS) // parts for k in range(parts + 1)]
        return (self.decoded_postings(segment, low, high) for low, high in pairwise(bounds))

    def damaged_error(self, what: str) -> FormatError:
        """The error for tables that were changed."""
        return damaged_error(self._path, what)

    def _locate(self, segments: list[Segment], hashes: UInt64s) -> _Located:
        """Where the lists of hashes are, in segments that are held and in the blocks of others."""
        keys = (hashes & KEPT).astype(np.int64)
        postings = [self._postings_of(segment, len(keys)) for segment in segments]
        counts, places = np.zeros((2, len(segments), len(keys)), np.int64)
        for k, known in enumerate(postings):
            if known is not None:
                kernels.find_lists(known, keys, counts[k], places[k])
        unread = [k for k, known in enumerate(postings) if known is None]
        data, counts[unread], places[unread] = self._in_blocks([segments[k] for k in unread], keys)
        return _Located(data, postings, counts, places)

    def _postings_of(self, segment: Segment, keys: int) -> UInt64s | None:
        """The postings of a segment, if they are held or are to be, since these ``keys`` are looked up, too."""
        # a large segment may be one that a merge is writing: the number of its postings does not identify them
        large = bits_for(self._portions.at_once, self._portions.block)
        if self._memory is None or segment.bits >= large:
            return None
        if self._settled is not None and (segment.number, segment.postings) not in self._settled:
            return None
        known = self._memory.of(segment)
        if known is None and self._memory.is_due(segment, min(keys, 1 << segment.bits)):
            known = self.decoded_postings(segment)
            self._memory.keep(segment, known)
        return known

    def _in_blocks(self, segments: list[Segment], keys: Int64s) -> tuple[UInt8s, Int64s, Int64s]:
        """The blocks that may contain the keys, verified; int64[segments, keys]: the counts and places in them."""
        shifts = np.array([segment.shift for segment in segments], np.int64)[:, None]
        begins = np.array([segment.row(0) for segment in segments], np.int64)[:, None]
        asked = (begins + (keys >> shifts)).ravel()
        found = self.rows(np.unique(asked)) if len(asked) else []
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
            raise self.damaged_error("a block of its posting lists was changed")
        shape = len(segments), len(keys)
        return data, counts.reshape(shape), places.reshape(shape)

    def _gather(self, located: _Located) -> tuple[Int64s, Int64s]:
        data, postings, counts, places = located
        # key by key, and for each key the segments in their order
        ends = np.cumsum(counts.T.ravel())
        starts = np.ascontiguousarray(ends.reshape(counts.T.shape).T - counts)
        documents = np.empty(int(counts.sum()), np.int64)
        unread = [k for k, known in enumerate(postings) if known is None]
        in_blocks = (table[unread].ravel() for table in (counts, places, starts))
        if not kernels.gather(data, *in_blocks, documents):
            raise self.damaged_error("a block of its posting lists was changed")
        for k, known in enumerate(postings):
            if known is not None:
                kernels.copy_lists(known, counts[k], places[k], starts[k], documents)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts.sum(axis=0))))
        descents = np.flatnonzero(documents[1:] < documents[:-1]) + 1
        if (offsets[np.searchsorted(offsets, descents)] != descents).any():  # within a list: they seldom are
            kernels.sort_lists(documents, offsets)
        return documents, offsets


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
    """Adds and removes postings within the transaction of ``tables``; call ``settle`` before the commit."""

    def __init__(self, tables: Tables, place: Place, portions: Portions = PORTIONS, prefix: str = "") -> None:
        self._tables, self._portions = tables, portions
        self._segments = Segments(tables.run, place, portions, prefix)
        self._registered, self._blocks = f"{prefix}segments", f"{prefix}postings"
        self._added = 0

    def add(self, postings: UInt64s) -> None:
        """Store postings, all new, as a segment."""
        postings = in_order(postings)
        if len(postings):
            numbers = postings & np.uint64(MOST_NUMBER)
            bits = bits_for(len(postings), self._portions.block)
            segment = Segment(self._next(), bits, len(postings), int(numbers.min()), int(numbers.max()))
            self._insert(segment, postings)
            self._register(segment)
            self._added += len(postings)

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
        """After an addition, merge the segments that are not larger than all later ones together.

        A large merge is only continued.
        """
        if not self._added:
            return
        to_move, self._added = max(self._portions.step, _MOVED * self._added), 0
        segments = self._segments.all()
        begin, end = self._under_way(segments)
        if end:
            self._move(segments[begin:end], to_move)
            self._settle(segments[end:], 0)
        else:
            self._settle(segments, to_move)

    def proceed(self) -> bool:
        """Continue a large merge by ``Portions.at_once`` postings; return whether it has to go on after that."""
        segments = self._segments.all()
        begin, end = self._under_way(segments)
        if not end:
            return False
        self._move(segments[begin:end], self._portions.at_once)
        return self._under_way(self._segments.all())[1] > 0

    def _settle(self, segments: list[Segment], to_move: int) -> None:
        """Merge those that are not larger than all later ones; begin a large merge if postings are to be moved."""
        begin, behind = len(segments), 0
        for k in reversed(range(len(segments))):
            if segments[k].postings <= behind:
                begin = k
            behind += segments[k].postings
        chosen = segments[begin:]
        total = sum(segment.postings for segment in chosen)
        if total > self._portions.at_once and to_move:
            self._move([*chosen, self._merged_segment(chosen)._replace(postings=0)], to_move)
            return
        while total > self._portions.at_once:
            total -= chosen.pop(0).postings
        self._merge(chosen)

    def _under_way(self, segments: list[Segment]) -> tuple[int, int]:
        """The range of the segments of a large merge, the last of which is written; (0, 0): there is none."""
        least = bits_for(self._portions.at_once, self._portions.block)
        for end, target in enumerate(segments):
            if target.bits < least:
                continue
            position, begin = self._end_of(target), end
            while begin and self._first_key(segments[begin - 1]) >= position:
                begin -= 1
            total = sum(segment.postings for segment in segments[begin : end + 1])
            if begin < end and target.bits >= bits_for(total, self._portions.block):
                return begin, end + 1
        return 0, 0

    def _end_of(self, segment: Segment) -> int:
        """The first key after the last block of a segment."""
        last = f"SELECT MAX(block) FROM {self._blocks} WHERE block BETWEEN ? AND ?"
        [(row,)] = self._tables.run(last, *self._rows_of(segment))
        return 0 if row is None else (row - segment.row(0) + 1) << segment.shift

    def _first_key(self, segment: Segment) -> int:
        first = f"SELECT block, data FROM {self._blocks} WHERE block BETWEEN ? AND ? ORDER BY block LIMIT 1"
        rows = self._tables.run(first, *self._rows_of(segment))
        return int(self._segments.of_rows(segment, rows)[0] >> np.uint64(KEY_BITS)) if rows else 1 << KEY_BITS

    def _rows_of(self, segment: Segment) -> tuple[int, int]:
        return segment.row(0), segment.row((1 << segment.bits) - 1)

    def _move(self, segments: list[Segment], most: int) -> None:
        """Move about ``most`` postings of the first keys to the last of the segments; all of them stay whole."""
        *sources, target = segments
        low, left, moved = self._end_of(target), sum(segment.postings for segment in sources), 0
        while moved < min(most, left):
            share = min(1.0, min(most, self._portions.merged) / (left - moved))
            blocks = max(1, round(((1 << KEY_BITS) - low) * share) >> target.shift)
            high = min(1 << KEY_BITS, low + (blocks << target.shift))
            parts = []
            for k, segment in enumerate(sources):
                end = -(-high >> segment.shift) << segment.shift  # of the block that ``high`` is in
                postings = self._segments.decoded_postings(segment, low, end)
                count = int(np.count_nonzero(postings >> np.uint64(KEY_BITS) < np.uint64(high)))
                parts.append(postings[:count])
                self._delete_below([segment], end)
                self._insert(segment, postings[count:])
                sources[k] = segment._replace(postings=segment.postings - count)
            together = np.sort(np.concatenate(parts), kind="stable")
            self._insert(target, together)
            target = target._replace(postings=target.postings + len(together))
            low, moved = high, moved + len(together)
        for segment in (target, *sources):
            self._register_again(segment)

    def merge_all(self) -> None:
        """Merge all segments into one."""
        self._merge(self._segments.all())

    def _merge(self, segments: list[Segment]) -> None:
        if len(segments) < 2:
            return
        merged = self._merged_segment(segments)
        total = merged.postings
        for one in segments:
            self._tables.run(f"DELETE FROM {self._registered} WHERE number = ?", one.number)
        step = 1 << (KEY_BITS - max(0, (total // self._portions.merged).bit_length()))
        for low in range(0, 1 << KEY_BITS, step):
            parts = [self._segments.decoded_postings(segment, low, low + step) for segment in segments]
            # the blocks read are deleted at once, so that their pages are reused for the new ones
            self._delete_below(segments, low + step)
            self._insert(merged, np.sort(np.concatenate(parts), kind="stable"))
        self._register(merged)

    def _merged_segment(self, segments: list[Segment]) -> Segment:
        """The new segment for all postings of segments."""
        total = sum(segment.postings for segment in segments)
        first, last = min(one.first for one in segments), max(one.last for one in segments)
        return Segment(self._next(), bits_for(total, self._portions.block), total, first, last)

    def _delete_below(self, segments: Iterable[Segment], key: int) -> None:
        """Delete the blocks that contain only smaller keys."""
        for segment in segments:
            end = segment.row(key >> segment.shift)
            self._tables.run(f"DELETE FROM {self._blocks} WHERE block >= ? AND block < ?", segment.row(0), end)

    def _remove(self, segment: Segment, postings: UInt64s) -> UInt64s:
        """Remove the postings that the segment contains, and return them."""
        shift = np.uint64(KEY_BITS + segment.shift)
        rows = np.unique((postings >> shift).astype(np.int64)) + segment.row(0)
        held = self._segments.of_rows(segment, self._segments.rows(rows))
        places = np.minimum(np.searchsorted(postings, held), len(postings) - 1)
        gone = postings[places] == held
        blocks = (held >> shift).astype(np.int64)
        changed = np.unique(blocks[gone])
        kept = held[~gone & np.isin(blocks, changed)]
        left = [(data, row) for row, data in self._encoded_rows(segment, kept)]
        emptied = np.setdiff1d(changed + segment.row(0), [row for _, row in left], assume_unique=True)
        self._tables.change(f"UPDATE {self._blocks} SET data = ? WHERE block = ?", left)
        if len(emptied):
            self._tables.run(f"DELETE FROM {self._blocks} WHERE block {LISTED}", list_parameter(emptied))
        self._register_again(segment._replace(postings=segment.postings - int(gone.sum())))
        taken: UInt64s = held[gone]
        return taken

    def _insert(self, segment: Segment, postings: UInt64s) -> None:
        self._tables.insert(self._blocks, self._encoded_rows(segment, postings))

    def _encoded_rows(self, segment: Segment, postings: UInt64s) -> Iterator[tuple[int, bytes]]:
        """The rows (block, data) of sorted postings."""
        n = len(postings)
        blocks, ends, out = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(14 * n, np.uint8)
        count = encode(postings, segment.shift, blocks, ends, out)
        bounds = [0, *ends[:count].tolist()]
        data = out[: bounds[-1]].tobytes()
        rows = (blocks[:count] + segment.row(0)).tolist()
        parts = (data[begin:end] for begin, end in pairwise(bounds))
        return zip(rows, parts, strict=True)

    def _register(self, segment: Segment) -> None:
        self._tables.insert(self._registered, [(*segment, seal(segment))])

    def _register_again(self, segment: Segment) -> None:
        """Register a changed segment, an empty one if it is the last: its number must not be given again."""
        self._tables.run(f"DELETE FROM {self._registered} WHERE number = ?", segment.number)
        if segment.postings or self._next() <= segment.number:
            self._register(segment)

    def _next(self) -> int:
        [(last,)] = self._tables.run(f"SELECT coalesce(max(number), 0) FROM {self._registered}")
        return int(last) + 1
