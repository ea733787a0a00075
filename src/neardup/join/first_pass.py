"""The first pass over the input: every row is read and fingerprinted, and exact copies fold into one document."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.io.attachments import ATTACHMENTS, carried_by, mix_in
from neardup.io.fingerprints.records import SavedChunk
from neardup.io.formats import Attachment
from neardup.io.formats.kinds import NOT_EXTRACTED
from neardup.io.labels import digests, require_labels
from neardup.io.readers import join_ids
from neardup.io.readers.base import Chunk, Problem, RememberingChunk
from neardup.io.readers.problems import LineProblems, Problems
from neardup.join.band_keys import SpilledBands
from neardup.join.corpus import Corpus, CorpusChunk, Part, one_array, saved_in
from neardup.join.kept_sets import KeptSets, expects_exact
from neardup.join.read_chunk import ReadChunk, read_chunk_of, table_of
from neardup.join.related import Related
from neardup.join.rows import Met, Rows, Sketches
from neardup.kernels.join.copies import FREE, enter_keys
from neardup.kernels.text.keyed import Key
from neardup.lsh.bands import Plan
from neardup.measures import MEASURES
from neardup.runtime import Progress, ordered_map
from neardup.sketch.base_text import BaseText, count_left, sign_left
from neardup.sketch.cleaning import Cleaned, both_keys, cleaned, nothing_left_out
from neardup.sketch.documents import sign, sign_with_sets, simhash_rows, simhash_words
from neardup.tables import Bools, Int64s, UInt32s, UInt64s
from neardup.text.sealing import sealed


def fingerprint(corpus: Corpus, slots: int, progress: Progress, plan: Plan | None = None) -> tuple[Rows, Sketches]:
    """Fingerprint every row; of exact copies only the first has a sketch.

    With 0 slots no signatures are made, for a run that needs none. A search by SimHash gets its fingerprints here
    too. Under a memory limit the keys of the bands of ``plan`` go to working files instead of the signatures. For
    an exact join the sets are made in the same pass; if it is only expected (``kept_sets.expects_exact``), the
    signatures are made when they are needed after all. If common shingles are left out later, the signatures are
    needed, and the shingle sets are kept, too, as long as they fit.
    """
    if slots and plan is not None and expects_exact(corpus):
        growing = _read_all(corpus, 0, progress, _Growing(corpus, None, expected=True))
        if growing.sets.open:
            rows, sketches = growing.finish(corpus)
            again = partial(_signatures, corpus, slots, progress)
            return rows, replace(sketches, blocks=(), again=again)
    return _read_all(corpus, slots, progress, _Growing(corpus, plan if slots else None)).finish(corpus)


def _read_all(corpus: Corpus, slots: int, progress: Progress, growing: _Growing) -> _Growing:
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


def _signatures(corpus: Corpus, slots: int, progress: Progress) -> UInt32s:
    """Read all texts once more, for the signatures of the documents."""
    _, sketches = _read_all(corpus, slots, progress, _Growing(corpus, None)).finish(corpus)
    return np.concatenate([np.empty((0, slots), np.uint32), *sketches.blocks])


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

    def work(item: tuple[int, Chunk | SavedChunk]) -> ReadChunk:
        number, chunk = item
        name, journal = f"chunk {number} {chunk.index}", corpus.journal
        kept = None if journal is None else journal.get(name)
        if kept is not None:
            read, memory = read_chunk_of(kept)
            if memory is not None and isinstance(chunk, RememberingChunk):
                chunk.remember(memory)
            return read
        read = _read_and_fingerprint(corpus, slots, keeping, item)
        read = read if plan is None else read.with_bands(plan)
        if journal is not None:
            memory = chunk.memory() if isinstance(chunk, RememberingChunk) else None
            if (made := table_of(read, memory)) is not None:
                journal.put(name, made)
        return read

    return ordered_map(work, items, corpus.settings.work.threads)


def _chunks_of(part: Part) -> Iterator[Chunk | SavedChunk]:
    saved = saved_in(part.documents)
    return part.documents.chunks(None, part.columns) if saved is None else saved.fingerprints()


def _recalled(number: int, part: Part, chunk: SavedChunk, slots: int) -> ReadChunk:
    """The fingerprints of a saved chunk."""
    asked = replace(
        chunk,
        signatures=chunk.signatures[:, :slots],
        ids=chunk.ids if part.id else None,
        extra={name: values for name, values in chunk.extra.items() if name in part.extra},
    )
    return ReadChunk.of(asked, number)


def _read_and_fingerprint(
    corpus: Corpus, slots: int, keeping: KeptSets | None, item: tuple[int, Chunk | SavedChunk]
) -> ReadChunk:
    number, chunk = item
    part, settings = corpus.parts[number], corpus.settings
    if isinstance(chunk, SavedChunk):
        return _recalled(number, part, chunk, slots)
    rows = chunk.read(part.columns)
    texts = one_array(rows.table.column(part.text))
    keys, signatures = np.empty((len(texts), 2), np.uint64), np.empty((len(texts), slots), np.uint32)
    base, left, remaining = corpus.base, None, None
    kept, sets = None if keeping is None or not keeping.open else keeping.features, None
    made = cleaned(texts, settings)  # once for all features; keys, units and lengths are those of the texts
    if settings.cleaning.is_on:
        units, invalid, keys, remaining = _sign_cleaned(
            texts, made, corpus, signatures if base is None else signatures[:, :0]
        )
    elif kept is not None and slots == 0 and base is None and len(corpus.key.tokens):
        units, invalid, sets = sign_with_sets(texts, settings, keys, corpus.key, kept)
    else:
        units, invalid = sign(texts, settings, signatures if base is None else signatures[:, :0], keys, corpus.key)
    if base is not None:
        left, signatures = _left(made, corpus, base, slots)
    carried = carried_by(rows.table.column(ATTACHMENTS)) if ATTACHMENTS in part.columns else {}
    mix_in(keys, carried)
    related = _related(rows.table, part, corpus.key)
    for told in related:
        if len(told):
            keys ^= told
    if corpus.has_saved:
        keys = sealed(keys, corpus.key)
    simhashes = np.empty((len(texts), simhash_words(settings)), np.uint64)
    if simhashes.size:
        simhash_rows(made.texts, settings.simhash.features, simhashes)
    if sets is None and kept is not None:
        sets = corpus.sets_under(made.settings, made.texts, np.arange(len(texts)), kept)
    return ReadChunk(
        part=number,
        index=chunk.index,
        source=chunk.source,
        row_numbers=rows.row_numbers,
        problems=rows.problems,
        attachments=carried,
        units=units,
        keys=keys,
        signatures=signatures,
        left=left,
        simhashes=simhashes,
        bytes=_lengths(texts),
        invalid=int(invalid.sum()) + rows.replaced,
        nulls=texts.null_count,
        ids=one_array(rows.table.column(part.id)) if part.id else None,
        extra={name: one_array(rows.table.column(name)) for name in part.extra},
        related=(related[0][:, 0], related[1][:, 0]),
        sets=sets,
        remaining=remaining,
        cleaned=made.counts,
    )


def _sign_cleaned(
    texts: pa.Array, made: Cleaned, corpus: Corpus, signatures: UInt32s
) -> tuple[Int64s, Int64s, UInt64s, Int64s]:
    """Write the signatures of cleaned texts; return the units, invalid sequences and keys of the texts themselves.

    The last array has the units that remain. With a tokenizer these are the units, and part of the keys: texts of
    the same words may have other tokens, and more of them.
    """
    keys = np.empty((len(texts), 2), np.uint64)
    tokenized = np.empty_like(keys) if corpus.settings.cleaning.tokenizer else keys[:0]
    units, invalid = sign(texts, made.settings, signatures[:, :0], keys, corpus.key)
    remaining, _ = sign(made.texts, made.settings, signatures, tokenized, corpus.key)
    if len(tokenized):
        return remaining, invalid, both_keys(keys, tokenized), remaining
    return units, invalid, keys, remaining


def _related(table: pa.Table, part: Part, key: Key) -> tuple[UInt64s, UInt64s]:
    """Keyed hashes of the values that rows have within and across, uint64[n, 2] each; [0, 2] where none count.

    They become part of the stream keys: rows of different values are not exact copies.
    """
    asked, found = part.relations, []
    for role, names in (("within", asked.within), ("across", (asked.across,) if asked.across else ())):
        for name in names:
            require_labels(table.schema.field(name).type, name, f"--{role}")
        columns = [table.column(name) for name in names]
        found.append(digests(columns, role, key) if names else np.empty((0, 2), np.uint64))
    if asked.no_self:  # as if each of the two inputs had one value across
        found[1] = np.full((table.num_rows, 2), part.old, np.uint64)
    return found[0], found[1]


def _left(made: Cleaned, corpus: Corpus, base: BaseText, slots: int) -> tuple[Int64s, UInt32s]:
    """The counts and the signatures of what is left of all texts of a chunk without base text."""
    texts, settings = made.texts, made.settings
    rows = np.arange(len(texts))
    counts = count_left(texts, rows, settings, corpus.key, base)
    nothing = np.empty((len(texts), 0), np.uint32)
    return counts, sign_left(texts, rows, settings, base, slots) if slots else nothing


def something_left(left: Int64s, measure: str) -> Bools:
    """Which documents have a feature that the measure counts, from their ``count_left`` (int64[n, 3])."""
    something: Bools = left[:, 2 if MEASURES[measure].of_units else 1] > 0
    return something


class _Growing:
    """Rows under construction: chunks arrive in input order, exact copies fold into the first of them."""

    def __init__(self, corpus: Corpus, plan: Plan | None, expected: bool = False) -> None:
        self.sets, self.expected = KeptSets(corpus, expected), expected
        self.spilled: SpilledBands | None = None
        if plan is not None and corpus.scratch is not None and not corpus.settings.base.ignore_common:
            self.spilled = SpilledBands(plan, corpus.scratch)
        self.plan = None if self.spilled is None else plan
        self._pieces: list[CorpusChunk] = []
        self._one_empty = corpus.settings.keep.empty == "one"
        self._measure = corpus.settings.search.measure
        self._new_part, self._cleaned = len(corpus.parts) - 1, nothing_left_out(corpus.settings)
        self._keys = np.empty((1 << 12, 2), np.uint64)
        self._copy_of = np.empty(1 << 12, np.int64)
        self._table = np.full(1 << 13, FREE, np.int64)
        self._signatures: list[UInt32s] = []
        self._simhashes: list[UInt64s] = []
        self._unique: list[Int64s] = []
        self._left: list[Int64s] = []
        self._ids: list[list[pa.Array]] = [[] for _ in corpus.parts]
        self._extra: dict[str, list[pa.Array]] = {}
        self._related: tuple[list[UInt64s], list[UInt64s]] = ([], [])
        self._problems = Problems()
        self._left_aside: list[tuple[int, Problem]] = []
        self._attachments: dict[int, tuple[Attachment, ...]] = {}
        self._columns: list[tuple[Int64s, Int64s]] = []
        self._met = {True: Met(), False: Met()}
        self._rows = 0

    def add(self, read: ReadChunk) -> None:
        """Add one chunk."""
        first, until = self._rows, self._rows + len(read.units)
        self._make_room(until)
        self._keys[first:until] = read.keys
        enter_keys(self._keys, first, until, self._table, self._copy_of)
        stands = (self._copy_of[first:until] == np.arange(first, until)) & (read.units > 0)
        if read.remaining is not None:
            stands &= read.remaining > 0
        if read.part == self._new_part and len(read.cleaned):
            self._cleaned = self._cleaned + read.cleaned
        if read.left is not None:
            stands &= something_left(read.left, self._measure)
            self._left.append(read.left)
        if read.sets is not None:
            self.sets.add(read.sets, np.flatnonzero(stands), int(read.units[stands].sum()))
        if self.spilled is None or read.bands is None:
            self._signatures.append(read.signatures[stands])
        else:
            self.spilled.add(read.bands, np.flatnonzero(stands))
        self._simhashes.append(read.simhashes[stands])
        self._unique.append(np.flatnonzero(stands) + first)
        self._columns.append((read.units, read.bytes))
        self._pieces.append(CorpusChunk(read.part, read.index, read.source, first, read.row_numbers))
        if read.ids is not None:
            self._ids[read.part].append(read.ids)
        for name, values in read.extra.items():
            self._extra.setdefault(name, []).append(values)
        for told, hashes in zip(self._related, read.related, strict=True):
            told.append(hashes)
        rejected = self._take_problems(read)
        self._attachments.update((first + place, found) for place, found in read.attachments.items())
        nulls, invalid, before = self._met[read.part == self._new_part]
        self._met[read.part == self._new_part] = Met(nulls + read.nulls, invalid + read.invalid, before + rejected)
        self._rows = until

    def _take_problems(self, read: ReadChunk) -> int:
        """Add the problems of a chunk; return the number of rejected rows and files."""
        if isinstance(read.problems, LineProblems):  # these are lines, never whole files
            self._problems.add(read.problems)
            return len(read.problems)
        rejected = [problem for problem in read.problems if problem.kind in (None, NOT_EXTRACTED)]
        self._problems.add(rejected)
        self._left_aside.extend((read.part, problem) for problem in read.problems if problem.kind)
        return len(rejected)

    def finish(self, corpus: Corpus) -> tuple[Rows, Sketches]:
        """Return the rows and their sketches; all chunks of ``corpus`` must have been added."""
        units, sizes = (_concatenated([pair[i] for pair in self._columns]) for i in (0, 1))
        copy_of = self._copy_of[: self._rows].copy()
        if not self._one_empty:  # documents without text have no content to be equal in
            copy_of[units == 0] = np.flatnonzero(units == 0)
        rows = Rows(
            replace(corpus, pieces=tuple(self._pieces)),
            units=units,
            bytes=sizes,
            copy_of=copy_of,
            unique=_concatenated(self._unique),
            ids=tuple(_joined(arrays) for arrays in self._ids),
            extra={name: _joined(arrays) for name, arrays in self._extra.items()},
            row_related=Related(*(np.concatenate([np.empty(0, np.uint64), *told]) for told in self._related)),
            problems=self._problems,
            left_aside=tuple(self._left_aside),
            attachments=self._attachments,
            met=self._met[True],
            met_before=self._met[False],
            left=None if corpus.base is None else np.concatenate([np.empty((0, 3), np.int64), *self._left]),
            cleaned=self._cleaned,
        )
        no_words = np.empty((0, simhash_words(corpus.settings)), np.uint64)
        simhashes, sets = np.concatenate([no_words, *self._simhashes]), self.sets.finish()
        if sets is not None and self.sets.features is not None:
            rows.sets(self.sets.features).adopt(sets)
        made = tuple(self._signatures), simhashes
        return rows, Sketches(*made, sets=sets, filed=self.sets.filed, keys=self.spilled)

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


def _lengths(texts: pa.Array) -> Int64s:
    lengths: Int64s = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _concatenated(arrays: list[Int64s]) -> Int64s:
    return np.concatenate(arrays) if arrays else np.empty(0, np.int64)


def _joined(arrays: list[pa.Array]) -> pa.Array:
    """Concatenate into one array, of strings if the files store the column in different types."""
    return one_array(join_ids(arrays)) if arrays else pa.array([], pa.int64())
