"""The documents of a run, numbered: every pass over the input goes through here.

A corpus is the new input, preceded by the reference input if one is given. Its *rows* are the documents that could
be read, numbered from 0 over both inputs, reference first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.io.attachments import ATTACHMENTS, carried_by, mix_in
from neardup.io.formats import Attachment
from neardup.io.formats.kinds import NOT_EXTRACTED
from neardup.io.readers import join_ids
from neardup.io.readers.base import Chunk, Documents, Problem
from neardup.io.readers.problems import LineProblems, Problems
from neardup.kernels.join.copies import FREE, enter_keys
from neardup.kernels.text.keyed import Key
from neardup.measures import Features
from neardup.runtime import Progress, ordered_map
from neardup.settings import Settings
from neardup.sketch.documents import ShingleSets, shingle_sets, sign, simhash_rows, simhash_words
from neardup.tables import Int64s, UInt32s, UInt64s
from neardup.text.keys import new_key

Result = TypeVar("Result")


@dataclass(frozen=True)
class Part:
    """One input of a corpus and the columns used from it: text, id (None: rows are named by number), extra."""

    documents: Documents
    text: str
    id: str | None
    extra: str | None = None

    @property
    def columns(self) -> list[str]:
        """The columns to read, each once."""
        carried = ATTACHMENTS if self.documents.format == "text" else None
        return list(dict.fromkeys(name for name in (self.text, self.id, self.extra, carried) if name))


@dataclass(frozen=True)
class Piece:
    """One chunk, whose good rows are the rows ``first`` … ``first + count − 1`` of the corpus."""

    part: int
    chunk: int
    source: str
    first: int
    row_numbers: Int64s

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.row_numbers)


@dataclass
class Fingerprints:
    """The results of the first pass for every row."""

    units: Int64s  # tokens (or characters) of each row
    bytes: Int64s  # size of each text
    copy_of: Int64s  # the first row with the same unit stream: the row itself if it is new
    unique: Int64s  # rows that are documents: new and not empty; their index is the document number
    signatures: list[UInt32s]  # blocks [m, slots] of the unique rows, in order
    simhashes: list[UInt64s]  # likewise for a search by SimHash: blocks [m, words]; zero words otherwise
    pieces: list[Piece]
    ids: list[pa.Array]  # per part: the id column, or an empty array where rows are named by number
    extra: pa.Array | None
    problems: Problems = field(default_factory=Problems)
    left_aside: list[tuple[int, Problem]] = field(default_factory=list)  # (input, file that holds no known text)
    attachments: dict[int, tuple[Attachment, ...]] = field(default_factory=dict)  # of the rows that have some
    invalid: int = 0
    nulls: int = 0

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.units)

    def part_first(self, part: int) -> int:
        """The first row of an input of the corpus."""
        return next((piece.first for piece in self.pieces if piece.part >= part), self.rows)

    def documents_before(self, row: int) -> int:
        """The number of documents that come before row ``row``."""
        return int(np.searchsorted(self.unique, row))


class Corpus:
    """The inputs of a run, read in passes by a pool of threads; features are hashed with its ``key``."""

    def __init__(self, parts: list[Part], settings: Settings) -> None:
        self.parts, self.settings = parts, settings
        self.key: Key = new_key()
        self._pieces: list[Piece] = []

    def under(self, key: Key) -> Corpus:
        """The same documents, with features hashed by another key from now on."""
        other = copy(self)
        other.key = key
        return other

    def fingerprint(self, progress: Progress, slots: int) -> Fingerprints:
        """First pass: fingerprint every row; keep signatures of the first of each set of exact copies.

        With 0 slots no signatures are made, for a run that needs none. A search by SimHash gets its fingerprints
        here too.
        """
        growing = _Growing(len(self.parts), one_empty=self.settings.keep.empty == "one")
        total = sum(part.documents.size_bytes or 0 for part in self.parts) or None
        with progress.stage("fingerprint", total, "bytes") as advance:
            for read in self._scan(partial(self._read_and_fingerprint, slots)):
                growing.add(read)
                advance(read.bytes_read)
        self._pieces = growing.pieces
        return growing.finish()

    def shingle_sets(self, rows: Int64s, hashes: UInt64s, features: Features = "shingles") -> ShingleSets:
        """Read the shingle sets, or other ``features``, of the rows (ascending) in one pass over their chunks.

        ``hashes`` has room for the largest possible total; only the part written to uses memory. Concatenating the
        pieces afterwards would hold everything twice.
        """
        sizes, ranks, used = [np.zeros(1, np.int64)], [np.empty(0, np.uint64)], 0
        for sets in self.with_shingle_sets(rows, lambda _, sets: sets, features):
            hashes[used : used + len(sets.hashes)] = sets.hashes
            used += len(sets.hashes)
            sizes.append(sets.sizes)
            ranks.append(sets.ranks)
        return ShingleSets(hashes[:used], np.cumsum(np.concatenate(sizes)), np.concatenate(ranks))

    def with_shingle_sets(
        self, rows: Int64s, work: Callable[[Int64s, ShingleSets], Result], features: Features = "shingles"
    ) -> Iterator[Result]:
        """Yield ``work(rows of a chunk, their shingle sets)`` for each chunk with some of ``rows`` (ascending).

        One pass, in worker threads; results come in input order. Only the sets of the chunks in flight are in
        memory.
        """
        firsts = np.array([piece.first for piece in self._pieces], np.int64)
        parts = np.split(rows, np.searchsorted(rows, firsts[1:]))
        wanted = {k: part for k, part in enumerate(parts) if len(part)}

        def of_chunk(item: tuple[int, Chunk]) -> Result:
            piece, chunk = item
            part = self.parts[self._pieces[piece].part]
            texts = _one_array(chunk.read([part.text]).table.column(0))
            rows_there = wanted[piece] - firsts[piece]
            return work(wanted[piece], shingle_sets(texts, rows_there, self.settings, self.key, features))

        return ordered_map(of_chunk, self._chunks(wanted), self.settings.work.threads)

    def _chunks(self, wanted: Collection[int]) -> Iterator[tuple[int, Chunk]]:
        """(piece number, chunk) of the wanted pieces, with the text column only."""
        for number, part in enumerate(self.parts):
            of_part = {self._pieces[k].chunk: k for k in wanted if self._pieces[k].part == number}
            if of_part:
                for chunk in part.documents.chunks(of_part.keys(), [part.text]):
                    yield of_part[chunk.index], chunk

    def _scan(self, work: Callable[[tuple[int, Chunk]], Any]) -> Iterator[Any]:
        items = (
            (number, chunk)
            for number, part in enumerate(self.parts)
            for chunk in part.documents.chunks(None, part.columns)
        )
        return ordered_map(work, items, self.settings.work.threads)

    def _read_and_fingerprint(self, slots: int, item: tuple[int, Chunk]) -> _Read:
        number, chunk = item
        part = self.parts[number]
        rows = chunk.read(part.columns)
        texts = _one_array(rows.table.column(part.text))
        keys, signatures = np.empty((len(texts), 2), np.uint64), np.empty((len(texts), slots), np.uint32)
        units, invalid = sign(texts, self.settings, signatures, keys, self.key)
        carried = carried_by(rows.table.column(ATTACHMENTS)) if ATTACHMENTS in part.columns else {}
        mix_in(keys, carried)
        simhashes = np.empty((len(texts), simhash_words(self.settings)), np.uint64)
        if simhashes.size:
            simhash_rows(texts, self.settings.simhash.features, simhashes)
        return _Read(
            part=number,
            chunk=chunk,
            row_numbers=rows.row_numbers,
            problems=rows.problems,
            attachments=carried,
            units=units,
            keys=keys,
            signatures=signatures,
            simhashes=simhashes,
            bytes=_lengths(texts),
            invalid=int(invalid.sum()) + rows.replaced,
            nulls=texts.null_count,
            ids=_one_array(rows.table.column(part.id)) if part.id else None,
            extra=_one_array(rows.table.column(part.extra)) if part.extra else None,
        )


@dataclass(frozen=True)
class _Read:
    """One chunk, read and fingerprinted."""

    part: int
    chunk: Chunk
    row_numbers: Int64s
    problems: Sequence[Problem]
    attachments: dict[int, tuple[Attachment, ...]]
    units: Int64s
    keys: UInt64s
    signatures: UInt32s
    simhashes: UInt64s
    bytes: Int64s
    invalid: int
    nulls: int
    ids: pa.Array | None
    extra: pa.Array | None

    @property
    def bytes_read(self) -> int:
        return int(self.bytes.sum())


class _Growing:
    """Fingerprints under construction: chunks arrive in input order, exact copies fold into the first of them."""

    def __init__(self, parts: int, *, one_empty: bool) -> None:
        self.pieces: list[Piece] = []
        self._one_empty = one_empty
        self._reads: list[_Read] = []
        self._keys = np.empty((1 << 12, 2), np.uint64)
        self._copy_of = np.empty(1 << 12, np.int64)
        self._table = np.full(1 << 13, FREE, np.int64)
        self._signatures: list[UInt32s] = []
        self._simhashes: list[UInt64s] = []
        self._unique: list[Int64s] = []
        self._ids: list[list[pa.Array]] = [[] for _ in range(parts)]
        self._extra: list[pa.Array] = []
        self._problems = Problems()
        self._left_aside: list[tuple[int, Problem]] = []
        self._attachments: dict[int, tuple[Attachment, ...]] = {}
        self._columns: list[tuple[Int64s, Int64s]] = []
        self._invalid = self._nulls = self._rows = 0

    def add(self, read: _Read) -> None:
        """Add one chunk."""
        first, until = self._rows, self._rows + len(read.units)
        self._make_room(until)
        self._keys[first:until] = read.keys
        enter_keys(self._keys, first, until, self._table, self._copy_of)
        stands = (self._copy_of[first:until] == np.arange(first, until)) & (read.units > 0)
        self._signatures.append(read.signatures[stands])
        self._simhashes.append(read.simhashes[stands])
        self._unique.append(np.flatnonzero(stands) + first)
        self._columns.append((read.units, read.bytes))
        self.pieces.append(Piece(read.part, read.chunk.index, read.chunk.source, first, read.row_numbers))
        if read.ids is not None:
            self._ids[read.part].append(read.ids)
        if read.extra is not None:
            self._extra.append(read.extra)
        self._take_problems(read)
        self._attachments.update((first + place, found) for place, found in read.attachments.items())
        self._invalid += read.invalid
        self._nulls += read.nulls
        self._rows = until

    def _take_problems(self, read: _Read) -> None:
        if isinstance(read.problems, LineProblems):  # these are lines, never whole files
            self._problems.add(read.problems)
            return
        self._problems.add([problem for problem in read.problems if problem.kind in (None, NOT_EXTRACTED)])
        self._left_aside.extend((read.part, problem) for problem in read.problems if problem.kind)

    def finish(self) -> Fingerprints:
        """Return the fingerprints; all chunks must have been added."""
        units, sizes = (_concatenated([pair[i] for pair in self._columns]) for i in (0, 1))
        copy_of = self._copy_of[: self._rows].copy()
        if not self._one_empty:  # documents without text have no content to be equal in
            copy_of[units == 0] = np.flatnonzero(units == 0)
        return Fingerprints(
            units=units,
            bytes=sizes,
            copy_of=copy_of,
            unique=_concatenated(self._unique),
            signatures=self._signatures,
            simhashes=self._simhashes,
            pieces=self.pieces,
            ids=[_joined(arrays) for arrays in self._ids],
            extra=_joined(self._extra) if self._extra else None,
            problems=self._problems,
            left_aside=self._left_aside,
            attachments=self._attachments,
            invalid=self._invalid,
            nulls=self._nulls,
        )

    def _make_room(self, rows: int) -> None:
        if rows <= len(self._keys):
            return
        size = max(rows, 2 * len(self._keys))
        keys, copy_of = np.empty((size, 2), np.uint64), np.empty(size, np.int64)
        keys[: self._rows], copy_of[: self._rows] = self._keys[: self._rows], self._copy_of[: self._rows]
        self._keys, self._copy_of = keys, copy_of
        self._table = np.full(1 << (2 * size - 1).bit_length(), FREE, np.int64)
        # rows that are copies find the row they copy, as before
        enter_keys(keys, 0, self._rows, self._table, copy_of)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined


def _lengths(texts: pa.Array) -> Int64s:
    lengths: Int64s = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _concatenated(arrays: list[Int64s]) -> Int64s:
    return np.concatenate(arrays) if arrays else np.empty(0, np.int64)


def _joined(arrays: list[pa.Array]) -> pa.Array:
    """Concatenate into one array, of strings if the files store the column in different types."""
    return _one_array(join_ids(arrays)) if arrays else pa.array([], pa.int64())
