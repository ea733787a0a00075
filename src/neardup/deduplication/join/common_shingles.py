"""Shingles that are in many documents → base text of the run, learned from the documents themselves.

Counting is exact, in memory that depends on the share and the length of the documents, not on their number. A
first pass adds up the documents of each cell of hashes. A shingle in more than the limit of documents is in a cell
with more, so a second pass counts only the shingles of such cells, one by one. Both passes use the sets in memory
where they fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from neardup.deduplication.join.first_pass import something_left
from neardup.deduplication.join.rows import Rows, Sketches
from neardup.deduplication.join.shingle_store import DocumentSets, most_held
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sketch import add_to_cells, drop_from_sets, in_full_cells
from neardup.kernels.text import Key
from neardup.runtime import Advance, Progress
from neardup.settings import MEASURES, JoinSettings
from neardup.tables import Bools, Int64s, UInt32s, UInt64s
from neardup.text.cleaning import cleaner_of
from neardup.text.keys import PUBLIC
from neardup.text.sketch import BaseText, ShingleSets, count_left, shingle_sets, sign_left
from neardup.text.units import read

LEAST = 3
"""A shingle in fewer documents than this is not common, whatever the share."""

_FEWEST_CELLS, _MOST_CELLS = 1 << 16, 1 << 26
"""Bounds for the cells, of four bytes each: at most 256 MB."""

_SLICE = 1 << 14
"""Documents in memory that are counted at a time."""

_HASHES = 1 << 20
"""Hashes that are counted at a time: in a chunk of long texts most may be common, and each takes 40 bytes."""

Place = tuple[Int64s, Int64s, UInt64s]
"""Common shingles in a text, by number, the unit at which each begins, and its public hash."""


@dataclass(frozen=True, eq=False)
class Learned:
    """The common shingles of ``different`` documents: a row each in ``table``, and the ``base`` they make.

    ``table``: text (units in their compared form), documents, share; the most frequent first. ``sets`` are the
    shingle sets without base text, if they are in memory; they are kept as long as this is.
    """

    table: pa.Table
    base: BaseText
    different: int
    sets: DocumentSets | None = None


def leave_out_common(rows: Rows, sketches: Sketches, progress: Progress) -> tuple[Rows, Sketches, Learned]:
    """Learn the common shingles and leave them out: returns the rows and sketches without them.

    Documents that consist of base text are no longer among the documents.
    """
    different = len(rows.unique) + len(rows.base_only)
    limit = most_documents(rows.settings.base.ignore_common, different)
    with progress.stage("common", len(rows.unique), "documents") as advance:
        sets = _sets_in_memory(rows)
        counted = _count(rows, sets, limit, advance)
    with progress.stage("common", len(counted.affected), "documents") as advance:
        table, learned = _shingle_table(rows, counted.common, different)
        base = learned if rows.corpus.base is None else rows.corpus.base | learned
        left = _left_before(rows, counted.sizes)
        if not len(learned):
            without = rows.with_left(left)
            if sets is not None:
                without.sets("shingles").adopt(sets)
            return without, sketches, Learned(table, learned, different, sets)
        without = replace(rows.with_left(left), corpus=replace(rows.corpus, base=base))
        if sets is not None and not MEASURES[rows.settings.search.measure].of_units:
            sets = _left_of(sets, without, counted.affected, learned)
        else:
            sets = None
        again = _SignedAgain(without, np.concatenate(sketches.signatures()), counted.affected)
        again.count(sets, advance)
        without, sketches, sets = _with_something(without, again, sketches, sets)
    return without, sketches, Learned(table, learned, different, sets)


def most_documents(ignore_common: float, different: int) -> int:
    """The most of ``different`` documents that a shingle is in without being common."""
    share = Fraction(repr(ignore_common))
    return max(LEAST - 1, int(share * different))  # a count above it is above the exact share


@dataclass(frozen=True, eq=False)
class _Tally:
    """Shingles (uint64, sorted), the number of documents with each, and the first of these documents."""

    hashes: UInt64s
    documents: Int64s
    first: Int64s

    def __add__(self, other: "_Tally") -> "_Tally":
        hashes = np.union1d(self.hashes, other.hashes)
        documents, first = np.zeros(len(hashes), np.int64), np.full(len(hashes), np.iinfo(np.int64).max)
        for part in (self, other):  # the hashes of each are distinct
            places = np.searchsorted(hashes, part.hashes)
            documents[places] += part.documents
            first[places] = np.minimum(first[places], part.first)
        return _Tally(hashes, documents, first)

    def above(self, limit: int) -> "_Tally":
        """Those in more than ``limit`` documents."""
        many = self.documents > limit
        return _Tally(self.hashes[many], self.documents[many], self.first[many])


@dataclass(frozen=True, eq=False)
class _Counted:
    """The ``common`` shingles, the documents that may have some, ascending, and the shingles of every document."""

    common: _Tally
    affected: Int64s
    sizes: Int64s


def _sets_in_memory(rows: Rows) -> DocumentSets | None:
    """The shingle sets of all documents, if they may be in memory."""
    store, every = rows.sets("shingles"), np.arange(len(rows.unique))
    fits = store.upper_bounds(every).sum() <= most_held(rows.settings.search)
    return store.get(every) if fits and len(every) else None


def _pass(rows: Rows, known_sets: DocumentSets | None) -> Iterator[tuple[Int64s, ShingleSets]]:
    """One pass over the shingle sets of all documents: (document numbers, sets) of some documents at a time."""
    if known_sets is None:
        yield from rows.corpus.with_shingle_sets(
            rows.unique, lambda mine, sets: (np.searchsorted(rows.unique, mine), sets)
        )
        return
    for first in range(0, len(known_sets.documents), _SLICE):
        offsets = known_sets.sets.offsets[first : first + _SLICE + 1]
        sets = ShingleSets(known_sets.sets.hashes[offsets[0] : offsets[-1]], offsets - offsets[0])
        yield known_sets.documents[first : first + _SLICE], sets


def _count(rows: Rows, known_sets: DocumentSets | None, limit: int, advance: Advance) -> _Counted:
    """Count the shingles in more than ``limit`` documents."""
    nothing, sizes = np.empty(0, np.int64), np.zeros(len(rows.unique), np.int64)
    tally, affected = _Tally(np.empty(0, np.uint64), nothing, nothing), np.zeros(len(sizes), np.bool_)
    # most cells then have less than a sixteenth of the limit
    wanted = 16 * int(rows.units[rows.unique].sum()) // (limit + 1)
    bits = min(max(wanted, _FEWEST_CELLS).bit_length(), _MOST_CELLS.bit_length() - 1)
    cells, shift = np.zeros(1 << bits, np.uint32), np.uint64(64 - bits)
    for documents, sets in _pass(rows, known_sets):
        add_to_cells(sets.hashes, shift, cells)
        sizes[documents] = sets.sizes
        advance(len(documents))
    if cells.max() > limit:
        for documents, sets in _pass(rows, known_sets):
            for first in range(0, len(sets.hashes), _HASHES):
                there = in_full_cells(sets.hashes[first : first + _HASHES], shift, cells, np.uint32(limit)) + first
                owner = documents[np.searchsorted(sets.offsets, there, side="right") - 1]
                affected[owner] = True
                tally += _tally(sets.hashes[there], owner)
    return _Counted(tally.above(limit), np.flatnonzero(affected), sizes)


def _tally(hashes: UInt64s, owner: Int64s) -> _Tally:
    """Count the documents of each hash; ``owner`` (ascending) is the document of each."""
    distinct = np.unique(hashes)
    places, first = np.searchsorted(distinct, hashes), np.empty(len(distinct), np.int64)
    first[places[::-1]] = owner[::-1]  # the last assignment stays
    return _Tally(distinct, np.bincount(places, minlength=len(distinct)), first)


def _left_before(rows: Rows, sizes: Int64s) -> Int64s:
    """int64[rows, 3]: what counts of each row before the common shingles are left out."""
    if rows.left is not None:
        return rows.left.copy()
    left = np.zeros((len(rows), 3), np.int64)
    left[rows.unique, 0] = left[rows.unique, 1] = sizes
    left[rows.unique, 2] = rows.units[rows.unique]
    return left


class _SignedAgain:
    """The signatures (uint32[documents, slots]), those of the ``affected`` documents from what now counts.

    Texts are read again once: to count what is left of them, if that is not known, or for the signatures, if a
    search asks for these.
    """

    def __init__(self, rows: Rows, signatures: UInt32s, affected: Int64s) -> None:
        self._rows, self._signatures, self._affected = rows, signatures, affected
        self._made, self._stays = False, np.ones(len(rows.unique), np.bool_)

    def count(self, sets: DocumentSets | None, advance: Advance) -> None:
        """Count the rest of each document in ``rows.left``; ``sets`` are the sets without base text."""
        rows = self._rows
        assert rows.left is not None
        if sets is not None:
            rows.left[rows.unique, 1] = sets.sets.sizes
            advance(len(self._affected))
        else:
            self._read(rows.left, advance)

    def only(self, stays: Bools) -> "_SignedAgain":
        """The same for the documents that stay (bool[documents]) only."""
        self._stays = stays
        return self

    def __call__(self) -> tuple[UInt32s, ...]:
        """Return the signatures of the documents that stay, in one block."""
        if not self._made:
            self._read(None, lambda _: None)
        return (self._signatures[self._stays],)

    def _read(self, left: Int64s | None, advance: Advance) -> None:
        rows, slots = self._rows, self._signatures.shape[1]
        base, settings, key = rows.corpus.base, rows.settings, rows.corpus.key
        self._made = True
        if left is None and not slots:
            return
        assert base is not None

        def of_chunk(
            mine: Int64s, places: Int64s, texts: pa.Array
        ) -> tuple[Int64s, Int64s | None, UInt32s | None]:
            counts = None if left is None else count_left(texts, places, settings, key, base)
            return mine, counts, sign_left(texts, places, settings, base, slots) if slots else None

        for mine, counts, signed in rows.corpus.with_chunks(rows.unique[self._affected], of_chunk):
            if left is not None and counts is not None:
                left[mine] = counts
            if signed is not None:
                self._signatures[np.searchsorted(rows.unique, mine)] = signed
            advance(len(mine))


def _with_something(
    rows: Rows, again: _SignedAgain, sketches: Sketches, sets: DocumentSets | None
) -> tuple[Rows, Sketches, DocumentSets | None]:
    """The same without the documents that consist of base text; the store of the rows has the ``sets`` sets."""
    assert rows.left is not None
    stays = something_left(rows.left[rows.unique], rows.settings.search.measure)
    judged = replace(rows, unique=rows.unique[stays])
    if sets is not None:  # the sets of the documents without anything are empty
        offsets = np.concatenate(([0], np.cumsum(sets.sets.sizes[stays])))
        sets = DocumentSets(np.arange(len(judged.unique)), ShingleSets(sets.sets.hashes, offsets))
        judged.sets("shingles").adopt(sets)
    return judged, Sketches(again.only(stays), sketches.simhashes[stays]), sets


def _left_of(sets: DocumentSets, rows: Rows, affected: Int64s, common: BaseText) -> DocumentSets:
    """The sets in memory without the ``common`` shingles, which only the ``affected`` documents have.

    They take the place of ``sets`` in memory.
    """
    has = np.zeros(len(sets.documents), np.bool_)
    has[affected] = True
    table = common.table(rows.corpus.key)
    hashes, offsets = drop_from_sets(sets.sets.hashes, sets.sets.offsets, has, table)
    return DocumentSets(sets.documents, ShingleSets(hashes, offsets))


def _shingle_table(rows: Rows, common: _Tally, different: int) -> tuple[pa.Table, BaseText]:
    """The table of the common shingles, and the shingles as base text: each is read in its first document."""
    key, settings = rows.corpus.key, rows.settings
    published, texts = np.zeros(len(common.hashes), np.uint64), [""] * len(common.hashes)
    documents = np.unique(common.first)

    def of_chunk(_: Int64s, places: Int64s, array: pa.Array) -> list[tuple[str, Place]]:
        return [(_text(array[place]), _place(array, place, settings, key, common.hashes)) for place in places]

    by_word, length, cleaner = (
        settings.shingles.unit == "word",
        settings.shingles.length,
        cleaner_of(settings.cleaning),
    )
    for named in rows.corpus.with_chunks(rows.unique[documents], of_chunk):
        for text, (number, position, public) in named:
            published[number] = public
            units = read(text, cleaner=cleaner).units(by_word).strings
            for k, begin in zip(number.tolist(), position.tolist(), strict=True):
                texts[k] = (" " if by_word else "").join(units[begin : begin + length])
    order = sorted(range(len(texts)), key=lambda k: (-common.documents[k], texts[k]))
    counts = common.documents[order]
    table = pa.table(
        {
            "text": pa.array([texts[k] for k in order], pa.string()),
            "documents": pa.array(counts, pa.int64()),
            "share": pa.array(counts / max(different, 1), pa.float64()),
        }
    )
    return table, BaseText(common.hashes, np.unique(published))


def _place(texts: pa.Array, place: int, settings: JoinSettings, key: Key, common: UInt64s) -> Place:
    """Find the ``common`` shingles (by ``key``, sorted) in one of the texts."""
    hashed, length = [], settings.shingles.length
    for each in (key, PUBLIC):
        units = shingle_sets(texts, np.array([place]), settings, each, "tokens").hashes
        hashes = np.empty(max(len(units), 1), np.uint64)
        hashed.append(hashes[: shingle_hashes(units, len(units), length, each.shingles, hashes)])
    hashes, public = hashed
    number = np.minimum(np.searchsorted(common, hashes), len(common) - 1)
    matches = np.flatnonzero(common[number] == hashes)
    return number[matches], matches, public[matches]


def _text(value: pa.Scalar) -> str:
    text = value.as_py()
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
