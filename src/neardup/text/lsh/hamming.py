"""Fingerprints that differ in few bits: all pairs of a collection, and a growing index. None is missed.

*Pairs*: tables are sorted and scanned one after the other (one in each thread), so the memory is that of one
table. A pair is reported by the first table that has both fingerprints in one run. The members of a long run
differ in fewer bits, and there are fewer of them: they are cut into tables of their own if these promise to halve
the comparisons. Thus there are never more comparisons than pairs.

*Index*: additions wait in a short list that every query reads. When the list is full it becomes a *segment* with
its own tables, and segments of similar size are merged. Thus n fingerprints are in at most log₂ n segments, and
each was sorted at most log₂ n times. Tables hold positions only: about 6 bytes per fingerprint each. A removed
fingerprint is marked, and left out when its segment is merged, or when most of those in the tables are removed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.display.view import PlainData, Public, facts, heading, table, view
from neardup.errors import InputError
from neardup.kernels.lsh import near_in_runs, near_queries, pairs_alike, prefix_keys, run_ends, varying
from neardup.kernels.sorting import DIGIT, sorted_by_key
from neardup.runtime import ordered_map
from neardup.settings import WIDTHS, WIDTHS_ALLOWED, check
from neardup.tables import COPIES_OF, HAMMING, NEIGHBOURS, Int32s, Int64s, UInt64s, numbers_in
from neardup.text.lsh.hamming_tables import best_design

MOST = 1 << 31
"""Fingerprints are numbered in 31 bits."""

_WORD = 0xFFFF_FFFF_FFFF_FFFF

SHOWN = 10
"""Pairs that a notebook shows."""

LONG = 2048
"""Longer runs are cut again: their 2 million comparisons cost more than a few tables of 2,048."""

NO_LIMIT = int(np.iinfo(np.int64).max)

WAITING = 1024
"""The most additions that are read one by one; then they become a segment."""

_IN_A_CELL = 4


@dataclass(frozen=True)
class FingerprintWords:
    """Fingerprints word by word: ``words`` uint64[words, n], the low bits first."""

    words: UInt64s

    @classmethod
    def of(cls, rows: UInt64s) -> "FingerprintWords":
        """From uint64[n, words]."""
        return cls(np.ascontiguousarray(rows.T))

    def __len__(self) -> int:
        return int(self.words.shape[1])

    def take(self, which: NDArray[Any] | slice) -> "FingerprintWords":
        """The words at the given positions."""
        if isinstance(which, slice):
            return FingerprintWords(np.ascontiguousarray(self.words[:, which]))
        return FingerprintWords(self.words.take(which, axis=1))

    def keys(self, mask: UInt64s) -> UInt64s:
        """uint64[n]: well-mixed keys, equal where the bits of ``mask`` (uint64[words]) are equal."""
        keys = np.empty(len(self), np.uint64)
        prefix_keys(self.words, mask, keys)
        return keys


@dataclass(frozen=True)
class DistinctWords:
    """The different fingerprints: class k has the rows ``rows[starts[k]:starts[k + 1]]``, ascending."""

    words: FingerprintWords
    rows: Int64s
    starts: Int64s

    @property
    def first(self) -> Int64s:
        """The first row of each class."""
        return self.rows[self.starts[:-1]]

    @property
    def sizes(self) -> Int64s:
        """The number of rows of each class."""
        return np.diff(self.starts)

    def members(self, classes: Int64s) -> tuple[Int64s, Int64s]:
        """The rows of the given classes, one class after the other, and the index of its class for each row."""
        begins = self.starts[classes]
        counts = self.starts[classes + 1] - begins
        return self.rows[numbers_in(begins, counts)], np.repeat(np.arange(len(classes)), counts)


def distinct(words: FingerprintWords) -> DistinctWords:
    """Group equal fingerprints."""
    order = np.lexsort(words.words)
    ordered = words.take(order)
    new = np.ones(len(words), np.bool_)
    new[1:] = (ordered.words[:, 1:] != ordered.words[:, :-1]).any(axis=0)
    begins = np.flatnonzero(new)
    return DistinctWords(ordered.take(begins), order.astype(np.int64), np.append(begins, len(words)))


def cut(words: FingerprintWords, distance: int) -> UInt64s:
    """The prefixes of the tables for these fingerprints, uint64[tables, words]; a single 0: compare all with all.

    Only bits in which the fingerprints differ are cut into blocks, since the others do not separate any. The
    number of documents is rounded up to a power of two, so that one plan serves many similar parts.
    """
    differing = [int(varying(row)) if len(words) else 0 for row in words.words]
    positions = [64 * word + bit for word, bits in enumerate(differing) for bit in range(64) if bits >> bit & 1]
    design = best_design(len(positions), distance, 1 << (len(words) - 1).bit_length() if len(words) else 1)
    masks = design.masks(positions)
    return np.array([_words_of(mask, len(differing)) for mask in masks], np.uint64)


def _words_of(number: int, words: int) -> list[int]:
    """The words of 64 bits of a whole number, the low bits first."""
    return [number >> 64 * word & _WORD for word in range(words)]


def in_order(words: FingerprintWords, mask: UInt64s) -> tuple[Int32s, int]:
    """(int32 order by the key of the masked bits, number of top bits of the key that are sorted)."""
    passes = 1 + (len(words) > 1 << DIGIT) + (len(words) > 1 << 2 * DIGIT + 4)
    return sorted_by_key(words.keys(mask), passes), DIGIT * passes


def read_fingerprints(fingerprints: Any, bits: int | None = None) -> UInt64s:
    """uint64[n, words] from an array, an Arrow column or a sequence of whole numbers.

    Without ``bits`` a sequence of numbers has 64. Raises InputError.
    """
    if isinstance(fingerprints, pa.Array | pa.ChunkedArray):
        fingerprints = fingerprints.to_numpy()
    if isinstance(fingerprints, np.ndarray):
        rows = _rows_of_array(fingerprints, bits)
    elif isinstance(fingerprints, Iterable) and not isinstance(fingerprints, str | bytes):
        rows = _rows_of_numbers(list(fingerprints), bits or 64)
    else:
        raise _refused_error(f"a {type(fingerprints).__name__}", bits)
    if len(rows) >= MOST:
        raise InputError(f"There are {len(rows)} fingerprints", "Fewer than 2^31", "Search in parts")
    return rows


def _rows_of_array(array: NDArray[Any], bits: int | None) -> UInt64s:
    if array.dtype.kind not in "iu" or (array.dtype.kind == "i" and array.size and int(array.min()) < 0):
        raise _refused_error(f"an array of {array.dtype}", bits)
    rows = array.reshape(-1, 1) if array.ndim == 1 else array
    if rows.ndim != 2 or rows.shape[1] * 64 not in (WIDTHS if bits is None else (bits,)):
        raise _refused_error(f"an array of shape {array.shape}", bits)
    return rows.astype(np.uint64, copy=False)


def _rows_of_numbers(numbers: Sequence[Any], bits: int) -> UInt64s:
    for number in numbers:
        if not isinstance(number, int | np.integer) or not 0 <= number < 1 << bits:
            raise _refused_error(f"holding {number!r}", bits)
    words = [_words_of(int(number), bits // 64) for number in numbers]
    return np.array(words, np.uint64).reshape(-1, bits // 64)


def _refused_error(what: str, bits: int | None) -> InputError:
    words = "k" if bits is None else bits // 64
    shape = "uint64[n]" if bits == 64 else f"uint64[n, {words}], low bits first"
    if bits is None:
        shape = f"uint64[n], or {shape}, for {WIDTHS_ALLOWED}"
    return InputError(
        f"The fingerprints are {what}",
        f"Fingerprints of SimHash.sketch, {shape}; or whole numbers below 2^{bits or 64}",
    )


@dataclass(frozen=True)
class HammingPairs(PlainData):
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

    ``fingerprints`` is the result of ``SimHash.sketch``, uint64[n] or uint64[n, k] for 64·k bits, or a list of
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


class NearPairs(NamedTuple):
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

    def one_table(number: int) -> list[NearPairs]:
        return list(
            _in_table(everyone, masks, number, np.zeros((1, len(words.words)), np.uint64), (distance, most))
        )

    pairs: list[NearPairs] = []
    for parts in ordered_map(one_table, range(len(masks)), threads):
        pairs += parts
        if advance is not None:
            advance(1)
    a, b, distances, crowded = map(np.concatenate, zip(*pairs, strict=True))
    return NearPairs(a, b, distances, np.unique(crowded))


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
    return np.zeros((1, len(words.words)), np.uint64)


def _in_table(
    part: Part, masks: UInt64s, number: int, outer: UInt64s, wanted: tuple[int, int]
) -> Iterator[NearPairs]:
    """The pairs that table ``number`` is the first to bring together, and those of the tables in its long runs.

    ``outer`` uint64[1 + k, words]: the bits in which the enclosing tables agree, and the masks of the tables
    before those. ``wanted`` = (distance, most pairs of one fingerprint).
    """
    words, positions = part
    conditions = np.concatenate((outer[:1] | masks[number], outer[1:], masks[:number]))
    if not masks[number].any():
        yield _scan(part, np.array([len(words)], np.int32), conditions, wanted, len(words))
        return
    order, bits = in_order(words, masks[number])
    words, positions = words.take(order), positions[order]
    ends = run_ends(words.keys(masks[number]), np.uint64(64 - bits))
    yield _scan((words, positions), ends, conditions, wanted, LONG)
    sizes = np.diff(ends, prepend=np.int32(0))
    for run in np.flatnonzero(sizes > LONG):
        whole = slice(ends[run] - sizes[run], ends[run])
        inner = (words.take(whole), positions[whole])
        inner_masks = _masks(inner[0], wanted[0])
        for k in range(len(inner_masks)):
            yield from _in_table(inner, inner_masks, k, conditions, wanted)


def _scan(part: Part, ends: Int32s, conditions: UInt64s, wanted: tuple[int, int], longest: int) -> NearPairs:
    words, positions = part
    distance, most = wanted
    a, b, apart, crowded = near_in_runs(words.words, ends, conditions, distance, (longest, most))
    return NearPairs(positions[a], positions[b], apart, positions[crowded])


def products(rows: Int64s, starts: Int64s, a: Int64s, b: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Combine every row of class a[k] with every row of class b[k]: (row of a, row of b, k), one entry for each.

    Class c has the rows ``rows[starts[c]:starts[c + 1]]``.
    """
    wide = starts[b + 1] - starts[b]
    counts = (starts[a + 1] - starts[a]) * wide
    which = np.repeat(np.arange(len(a)), counts)
    inside = numbers_in(np.zeros(len(a), np.int64), counts)
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


class HammingIndex(Public):
    """Fingerprints of ``bits`` bits (a multiple of 64), searched for those within ``distance`` of a given one.

    Results are complete. Fingerprints are numbered 0, 1, 2 … in the order of addition; equal fingerprints are all
    kept and all found. A removed number is not given again. Raises SettingError for a distance above a quarter of
    the bits.

    >>> index = HammingIndex(distance=2)
    >>> index.add([0b1111, 0b0000, 0b0111]).tolist()
    [0, 1, 2]
    >>> index.query(0b1110).tolist()
    [0, 2]
    >>> index.remove(0)
    >>> index.query(0b1110).tolist()
    [2]
    """

    def __init__(self, bits: int = 64, distance: int = 3) -> None:
        check(bits, distance)
        self.bits, self.distance = bits, distance
        self._segments: list[_Segment] = []
        self._waiting: list[UInt64s] = []
        self._last: _Segment | None = None
        self._added = 0
        self._gone = np.zeros(1, np.bool_)  # of each number below its length
        self._removed, self._kept_removed = 0, 0

    def __len__(self) -> int:
        return self._added - self._removed

    def __repr__(self) -> str:
        return f"HammingIndex({len(self)} fingerprints of {self.bits} bits, distance {self.distance})"

    def _repr_html_(self) -> str:
        lines = [("fingerprints", f"{len(self):,}"), ("bits", f"{self.bits}"), ("distance", f"{self.distance}")]
        return view(heading("HammingIndex"), facts(lines))

    def add(self, fingerprints: Any) -> Int64s:
        """Add one fingerprint (an integer) or many (from ``SimHash.sketch``); return their numbers, int64[n]."""
        rows = self._rows(fingerprints)
        if self._added + len(rows) >= MOST:
            raise InputError(f"The index would number {self._added + len(rows)} fingerprints", "Fewer than 2^31")
        numbers = np.arange(self._added, self._added + len(rows))
        self._waiting.append(rows.copy())  # the caller's array may change
        self._added += len(rows)
        self._last = None
        if sum(map(len, self._waiting)) > WAITING:
            self._settle()
        return numbers

    def remove(self, numbers: Any) -> None:
        """Remove the fingerprint of this number, or those of several; all others keep their numbers.

        Raises InputError, which names the first, for a number that is not in the index (or is given twice);
        then none is removed. A removed fingerprint takes memory until half of those in the tables are removed.
        """
        wanted = _whole_numbers(numbers)
        absent = (wanted < 0) | (wanted >= self._added)
        absent |= np.diff(wanted, prepend=-1) == 0
        absent |= self._is_removed(np.where(absent, 0, wanted))
        if absent.any():
            raise InputError(
                f"The number {wanted[absent][0]} is not in the index, or is given twice",
                "Numbers that add() returned and that are not removed yet",
                "Leave it out; nothing was removed",
            )
        if len(self._gone) < self._added:
            self._gone = np.append(self._gone, np.zeros(self._added, np.bool_))  # at least doubled
        self._gone[wanted] = True
        self._removed += len(wanted)
        self._kept_removed += len(wanted)
        if self._kept_removed > max(len(self), WAITING):
            self._settle(everything=True)

    def query(self, fingerprint: Any) -> Int64s:
        """Return the numbers (int64, ascending) of all fingerprints within the distance of one (an integer)."""
        rows = self._rows(fingerprint)
        if len(rows) != 1:
            raise InputError(f"There are {len(rows)} fingerprints", "A single one", "Ask neighbours() for many")
        numbers: Int64s = self.neighbours(rows).column("number").to_numpy().astype(np.int64)
        return numbers

    def neighbours(self, fingerprints: Any) -> pa.Table:
        """The neighbours of many fingerprints: a table (query, number, distance), sorted by the first two."""
        queries = np.ascontiguousarray(self._rows(fingerprints))
        if self._last is None:
            self._last = self._waiting_segment()
        parts = [segment.near(queries, self.distance) for segment in (*self._segments, self._last)]
        query, number, apart = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.lexsort((number, query))
        if self._kept_removed:
            order = order[~self._is_removed(number[order])]
        columns = [query[order].astype(np.uint32), number[order].astype(np.uint32), apart[order]]
        return pa.table(columns, schema=NEIGHBOURS)

    def _rows(self, fingerprints: Any) -> UInt64s:
        if isinstance(fingerprints, int | np.integer):
            return read_fingerprints([fingerprints], self.bits)
        if isinstance(fingerprints, np.ndarray) and fingerprints.ndim == 1 and self.bits > 64:
            return read_fingerprints(fingerprints.reshape(1, -1), self.bits)  # one row of sketch()
        return read_fingerprints(fingerprints, self.bits)

    def _is_removed(self, numbers: Int64s) -> NDArray[np.bool_]:
        inside = numbers < len(self._gone)
        return inside & self._gone[np.where(inside, numbers, 0)]

    def _waiting_segment(self) -> "_Segment":
        """The waiting additions as a segment without tables."""
        self._waiting = [np.concatenate([np.empty((0, self.bits // 64), np.uint64), *self._waiting])]
        return _Segment(self._waiting[0], self._waiting_numbers(), None)

    def _waiting_numbers(self) -> Int64s:
        return np.arange(self._added - sum(map(len, self._waiting)), self._added)

    def _settle(self, everything: bool = False) -> None:
        """Merge the waiting additions and the last segments less than twice as large into a new segment.

        With ``everything`` all segments are merged. Removed fingerprints are left out.
        """
        numbers = [self._waiting_numbers()]
        rows = [np.concatenate([np.empty((0, self.bits // 64), np.uint64), *self._waiting])]
        while self._segments and (everything or len(self._segments[-1]) < 2 * sum(map(len, rows))):
            segment_rows, segment_numbers = self._segments.pop().content()
            rows.append(segment_rows)
            numbers.append(segment_numbers)
        merged, merged_numbers = np.concatenate(rows), np.concatenate(numbers)
        if self._kept_removed:
            stored = ~self._is_removed(merged_numbers)
            self._kept_removed -= int((~stored).sum())
            merged, merged_numbers = merged[stored], merged_numbers[stored]
        self._segments.append(_Segment(merged, merged_numbers, self.distance))
        self._waiting, self._last = [], None


class _Segment:
    """Immutable fingerprints: uint64[n, words], with their ``numbers``, int64[n].

    Without a ``distance`` there are no tables, and every query is compared with all fingerprints.
    """

    def __init__(self, rows: UInt64s, numbers: Int64s, distance: int | None) -> None:
        classes = distinct(FingerprintWords.of(rows))
        self._classes = replace(classes, rows=numbers[classes.rows])
        words = classes.words
        masks = np.zeros((1, rows.shape[1]), np.uint64) if distance is None else cut(words, distance)
        tables = [in_order(words, mask) for mask in masks]
        cell_bits = min(tables[0][1], max(1, (len(words) // _IN_A_CELL).bit_length()))
        cells = np.stack([_cells(words.keys(mask), cell_bits) for mask in masks])
        orders = np.stack([order for order, _ in tables])
        self._tables = (masks, orders, cells, np.uint64(64 - cell_bits))

    def __len__(self) -> int:
        return len(self._classes.rows)

    def content(self) -> tuple[UInt64s, Int64s]:
        """The fingerprints, uint64[n, words], and their numbers."""
        rows: UInt64s = np.repeat(self._classes.words.words.T, self._classes.sizes, axis=0)
        return rows, self._classes.rows

    def near(self, queries: UInt64s, distance: int) -> tuple[Int64s, Int64s, UInt64s]:
        """(query, number, distance) of all fingerprints in the segment that are within the distance of a query."""
        query, fingerprints, apart = near_queries(self._classes.words.words, self._tables, queries, distance)
        number, which = self._classes.members(fingerprints)
        return query[which].astype(np.int64), number, apart[which]


def _cells(keys: UInt64s, bits: int) -> Int32s:
    """The start of the keys of each value of the top bits, then the end of the last: int32[2ᵇ + 1]."""
    counts = np.bincount((keys >> np.uint64(64 - bits)).astype(np.int64), minlength=1 << bits)
    return np.append(0, np.cumsum(counts)).astype(np.int32)


def _whole_numbers(numbers: Any) -> Int64s:
    """One whole number or several, sorted, as int64[n]. Raises InputError for anything else."""
    given = np.asarray(numbers).reshape(-1)
    if given.size and given.dtype.kind not in "iu":
        raise InputError(f"The numbers are of type {given.dtype}", "Whole numbers that add() returned")
    return np.sort(given.astype(np.int64))
