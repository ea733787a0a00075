"""The first pass over the input: every row is read and fingerprinted, and exact copies fold into one document."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.io.attachments import ATTACHMENTS, carried_by
from neardup.io.fingerprints.chunk import EXTRA, ChunkFacts, ReadChunk
from neardup.io.formats import Attachment
from neardup.io.formats.kinds import NOT_EXTRACTED
from neardup.io.readers import join_ids
from neardup.io.readers.base import Chunk, Problem, RememberingChunk
from neardup.io.readers.problems import LineProblems, Problems
from neardup.join.band_keys import SpilledBands, band_columns, band_names
from neardup.join.columns import OF_DOCUMENTS, OF_ROWS, fingerprinted
from neardup.join.corpus import Corpus, CorpusChunk, Part, saved_in
from neardup.join.kept_sets import KeptSets, expects_exact
from neardup.join.rows import Met, Rows, Sketches
from neardup.join.shingle_store import DocumentSets
from neardup.kernels.join.copies import FREE, enter_keys
from neardup.lsh.bands import Plan
from neardup.measures import MEASURES
from neardup.runtime import Progress, ordered_map
from neardup.sketch.cleaning import nothing_left_out
from neardup.sketch.documents import ShingleSets, simhash_words
from neardup.tables import Bools, Int64s, UInt32s, one_array


def fingerprint(corpus: Corpus, slots: int, progress: Progress, plan: Plan | None = None) -> tuple[Rows, Sketches]:
    """Fingerprint every row; of exact copies only the first has a sketch.

    With 0 slots no signatures are made, for a run that needs none. A search by SimHash gets its fingerprints here
    too. Under a memory limit the keys of the bands of ``plan`` go to working files instead of the signatures. For
    an exact join the sets are made in the same pass; if it is only expected (``kept_sets.expects_exact``), the
    signatures are made when they are needed after all. If common shingles are left out later, the signatures are
    needed, and the shingle sets are kept, too, as long as they fit.
    """
    if slots and plan is not None and expects_exact(corpus):
        growing = _read_all(corpus, 0, progress, _RowsUnderWay(corpus, None, expected=True))
        if growing.sets.open:
            rows, sketches = growing.finish()
            return rows, replace(sketches, signatures=partial(_signatures, corpus, slots, progress))
    return _read_all(corpus, slots, progress, _RowsUnderWay(corpus, plan if slots else None)).finish()


def _read_all(corpus: Corpus, slots: int, progress: Progress, growing: _RowsUnderWay) -> _RowsUnderWay:
    """Read all chunks into ``growing``, or as many as show that an expected exact join does not fit."""
    total = sum(part.documents.size_bytes or 0 for part in corpus.parts) or None
    chunks = read_chunks(corpus, slots, growing.sets, growing.plan)
    with progress.stage("fingerprint", total, "bytes") as advance, closing(chunks):
        for read in chunks:
            growing.add(read)
            advance(read.bytes_read)
            if growing.expected and not growing.sets.open:
                break
    return growing


def _signatures(corpus: Corpus, slots: int, progress: Progress) -> tuple[UInt32s, ...]:
    """Read all texts once more, for the signatures of the documents."""
    _, sketches = _read_all(corpus, slots, progress, _RowsUnderWay(corpus, None)).finish()
    return sketches.signatures()


def read_chunks(
    corpus: Corpus, slots: int, keeping: KeptSets | None = None, plan: Plan | None = None
) -> Generator[ReadChunk, None, None]:
    """Yield the fingerprints of all chunks in order; documents with saved fingerprints are not read.

    ``keeping`` says whether the shingle sets are wanted, too. With a ``plan``, the keys of its bands come instead
    of signatures.
    """
    items = ((number, chunk) for number, part in enumerate(corpus.parts) for chunk in _chunks_of(part))
    if corpus.has_saved and keeping is not None:
        keeping.open = False  # the sets of the saved documents are not known

    def wanted(read: ReadChunk) -> ReadChunk:
        banded = read if plan is None else read.with_columns(band_columns(read.signatures, plan))
        return banded if slots and plan is None else banded.without("signature")

    def work(item: tuple[int, Chunk | ReadChunk]) -> ReadChunk:
        number, chunk = item
        if isinstance(chunk, ReadChunk):  # saved
            return wanted(chunk.with_facts(part=number))
        name, journal = f"chunk {number} {chunk.index}", corpus.journal
        finished = None if journal is None else journal.get(name)
        if finished is not None:
            read = ReadChunk.of_table(finished)
            if read.facts.memory is not None and isinstance(chunk, RememberingChunk):
                chunk.remember(read.facts.memory)
            return read
        sets = keeping.features if keeping is not None and keeping.open else None
        read = wanted(fingerprinted(corpus, number, chunk, slots, sets))
        many = isinstance(read.facts.problems, LineProblems) and len(read.facts.problems)  # as many as lines
        if journal is not None and not many:
            memory = chunk.memory() if isinstance(chunk, RememberingChunk) else None
            journal.put(name, read.with_facts(memory=memory).table())
        return read

    return ordered_map(work, items, corpus.settings.work.threads)


def _chunks_of(part: Part) -> Iterator[Chunk | ReadChunk]:
    saved = saved_in(part.documents)
    return part.documents.chunks(None, part.columns) if saved is None else saved.fingerprints()


def something_left(left: Int64s, measure: str) -> Bools:
    """Which documents have a feature that the measure counts, from their ``count_left`` (int64[n, 3])."""
    something: Bools = left[:, 2 if MEASURES[measure].of_units else 1] > 0
    return something


class _RowsUnderWay:
    """Rows under construction: chunks arrive in input order, exact copies fold into the first of them."""

    def __init__(self, corpus: Corpus, plan: Plan | None, expected: bool = False) -> None:
        self.sets, self.expected = KeptSets(corpus, expected), expected
        self.spilled: SpilledBands | None = None
        if plan is not None and corpus.scratch is not None and not corpus.settings.base.ignore_common:
            self.spilled = SpilledBands(plan, corpus.scratch)
        self.plan = None if self.spilled is None else plan
        self._corpus = corpus
        self._pieces: list[CorpusChunk] = []
        self._cleaned = nothing_left_out(corpus.settings)
        self._keys = np.empty((1 << 12, 2), np.uint64)
        self._copy_of = np.empty(1 << 12, np.int64)
        self._table = np.full(1 << 13, FREE, np.int64)
        self._numbers: dict[str, list[Any]] = {name: [] for name in (*OF_ROWS, *OF_DOCUMENTS)}
        self._unique: list[Int64s] = []
        self._ids: list[list[pa.Array]] = [[] for _ in corpus.parts]
        self._extra: dict[str, list[pa.Array]] = {}
        self._problems = Problems()
        self._left_aside: list[tuple[int, Problem]] = []
        self._attachments: dict[int, tuple[Attachment, ...]] = {}
        self._met = {True: Met(), False: Met()}
        self._rows = 0

    def add(self, read: ReadChunk) -> None:
        """Add one chunk."""
        first, until, facts = self._rows, self._rows + len(read), read.facts
        part, new = self._corpus.parts[facts.part], facts.part == len(self._corpus.parts) - 1
        self._make_room(until)
        self._keys[first:until] = read.keys
        enter_keys(self._keys, first, until, self._table, self._copy_of)
        judged = (self._copy_of[first:until] == np.arange(first, until)) & (read.counting > 0)
        if "left" in read:
            judged &= something_left(read.numbers("left"), self._corpus.settings.search.measure)
        documents = np.flatnonzero(judged)
        self._unique.append(documents + first)
        if "sets" in read:
            self.sets.add(_sets_in(read.batch["sets"]), documents, int(read.units[judged].sum()))
        if self.spilled is not None:
            self.spilled.add([read.numbers(name) for name in band_names(self.spilled.plan)], documents)
        for name in self._numbers.keys() & {*read.batch.schema.names}:
            numbers = read.numbers(name)
            self._numbers[name].append(numbers[judged] if name in OF_DOCUMENTS else numbers)
        self._pieces.append(CorpusChunk(facts.part, facts.index, facts.source, first, read.row_numbers))
        if part.id:
            self._ids[facts.part].append(read.batch["id"])
        for name in part.extra:
            self._extra.setdefault(name, []).append(read.batch[f"{EXTRA}{name}"])
        if ATTACHMENTS in read:
            carried = carried_by(read.batch[ATTACHMENTS])
            self._attachments.update((first + place, attachments) for place, attachments in carried.items())
        if new and facts.cleaned:
            self._cleaned = self._cleaned + np.array(facts.cleaned)
        nulls, invalid, rejected = self._met[new]
        self._met[new] = Met(nulls + facts.nulls, invalid + facts.invalid, rejected + self._take_problems(facts))
        self._rows = until

    def _take_problems(self, facts: ChunkFacts) -> int:
        """Add the problems of a chunk; return the number of rejected rows and files."""
        if isinstance(facts.problems, LineProblems):  # these are lines, never whole files
            self._problems.add(facts.problems)
            return len(facts.problems)
        rejected = [problem for problem in facts.problems if problem.kind in (None, NOT_EXTRACTED)]
        self._problems.add(rejected)
        self._left_aside.extend((facts.part, problem) for problem in facts.problems if problem.kind)
        return len(rejected)

    def finish(self) -> tuple[Rows, Sketches]:
        """Return the rows and their sketches; all chunks must have been added."""
        corpus = self._corpus
        columns = {"units": np.empty(0, np.int64), "bytes": np.empty(0, np.int64)}
        if corpus.base is not None:
            columns["left"] = np.empty((0, 3), np.int64)
        columns |= {name: np.concatenate(parts) for name in OF_ROWS if (parts := self._numbers[name])}
        copy_of, empty = self._copy_of[: self._rows].copy(), columns["units"] == 0
        if not corpus.empty_alike:  # documents without text have no content to be equal in
            copy_of[empty] = np.flatnonzero(empty)
        rows = Rows(
            replace(corpus, pieces=tuple(self._pieces)),
            columns,
            copy_of=copy_of,
            unique=np.concatenate([np.empty(0, np.int64), *self._unique]),
            ids=tuple(_joined(arrays) for arrays in self._ids),
            extra={name: _joined(arrays) for name, arrays in self._extra.items()},
            problems=self._problems,
            left_aside=tuple(self._left_aside),
            attachments=self._attachments,
            met=self._met[True],
            met_before=self._met[False],
            cleaned=self._cleaned,
        )
        sets, n = self.sets.finish(), len(rows.unique)
        if isinstance(sets, DocumentSets) and self.sets.features is not None:
            rows.sets(self.sets.features).adopt(sets)
        blocks = tuple(self._numbers["signature"]) or (np.empty((n, 0), np.uint32),)
        simhashes = self._numbers["simhash"] or [np.empty((n, simhash_words(corpus.settings)), np.uint64)]
        return rows, Sketches(lambda: blocks, np.concatenate(simhashes), sets, self.spilled)

    def _make_room(self, rows: int) -> None:
        if rows <= len(self._keys):
            return
        size = max(rows, 2 * len(self._keys))
        self._table = np.empty(0, np.int64)  # frees the old one
        keys, copy_of = np.empty((size, 2), np.uint64), np.empty(size, np.int64)
        keys[: self._rows], copy_of[: self._rows] = self._keys[: self._rows], self._copy_of[: self._rows]
        self._keys, self._copy_of = keys, copy_of
        self._table = np.full(1 << (2 * size - 1).bit_length(), FREE, np.int64)
        # rows that are copies find the row they copy, as before
        enter_keys(keys, 0, self._rows, self._table, copy_of)


def _sets_in(lists: pa.Array) -> ShingleSets:
    return ShingleSets(lists.flatten().to_numpy(), lists.offsets.to_numpy())


def _joined(arrays: list[pa.Array]) -> pa.Array:
    """Concatenate into one array, of strings if the files store the column in different types."""
    return one_array(join_ids(arrays)) if arrays else pa.array([], pa.int64())
