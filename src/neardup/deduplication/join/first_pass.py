"""The first pass over the input: every row is read and fingerprinted, and exact copies fold into one document.

Every feature of the texts of a chunk adds its own columns. Sets that a later stage needs are made beside the
fingerprints, so that no stage reads all texts for them.
"""

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.join.candidates import SpilledBands, band_columns, band_names
from neardup.deduplication.join.corpus import Corpus, CorpusChunk, Part, saved_in
from neardup.deduplication.join.criterion import criterion_of
from neardup.deduplication.join.method import BYTES_A_SHINGLE, join_room, surely_exact
from neardup.deduplication.join.prefix_join import with_possible_partners
from neardup.deduplication.join.rows import Alike, Met, Rows, Sketches, first_of_equal, first_within
from neardup.deduplication.join.shingle_store import DocumentSets, SpilledSets, most_held, sets_at
from neardup.errors import InputError
from neardup.io.contents import ATTACHMENTS, LISTS, NOT_EXTRACTED, Attachment, carried_by, mix_in
from neardup.io.fingerprints import EXTRA, SKETCHES, ChunkFacts, ReadChunk, Values
from neardup.io.inputs import (
    Chunk,
    Documents,
    LineProblems,
    Problem,
    Problems,
    as_text,
    digests,
    join_ids,
    memory_of,
    remind,
    require_labels,
)
from neardup.io.outputs import Scratch
from neardup.io.sources import FooterGroup
from neardup.kernels.names import FREE, enter_keys
from neardup.kernels.text import Key
from neardup.runtime import Progress, ordered_map
from neardup.settings import MEASURES, Features
from neardup.tables import Bools, Int64s, UInt32s, UInt64s, one_array
from neardup.text.keys import sealed_hashes, stream_seals
from neardup.text.lsh.bands import Plan
from neardup.text.sketch import (
    Cleaned,
    ShingleSets,
    both_keys,
    character_hashes,
    clean_texts,
    count_left,
    nothing_left_out,
    sign,
    sign_left,
    sign_with_sets,
    simhash_rows,
    simhash_words,
)

MOST_ROWS = 1 << 32
"""Documents of a run: tables of pairs and sorted bands name them by 32 bits."""

HASH_BYTES = 8
"""Bytes of a shingle in a set."""

_BYTES_A_WORD = 6
"""Bytes of text for a word of prose, about, with the space before it."""

LOOKED_AT, BEGINNING = 256, 2000
"""Texts of a chunk, evenly spaced, and bytes of each, that are looked at for errors of OCR."""

OCR_ERROR = r"[a-z][01|][a-z]{2}|[a-z]{2}[01|][a-z]|\b1[a-z]{4}|[A-Z]{2}l[A-Z]"
"""Letters that OCR has read as 0, 1, | or l: d0es, e1ectric, 1etter, HEATlNG. No dictionary is needed."""

LEAST_ERRORS, WORDS_AN_ERROR = 3, 100
"""A text looks like the output of OCR with errors in at least 3 different words, and one in 100 words."""

_ERROR, _WORD = re.compile(OCR_ERROR.encode()), re.compile(rb"[\w|]+")

NO_ERROR = re.compile(rb"[2-9_]|^[0-9a-f|]+$")
"""Words of source code and data: with other digits or low lines (m1ap_2), and hexadecimal numbers (f0ff)."""

SIGNS, SIGNS_OF_CODE = b"{}()[]=<>;_#$&\\/*", 30
"""Source code has at least one of its signs in this many characters; letters and reports have fewer."""

OF_ROWS = ("units", "bytes", "left", "within", "across")
"""The columns of numbers that are held of every row."""

OF_DOCUMENTS = ("signature", "simhash")
"""The columns that are held of documents only."""

CHARACTERS = "characters"
"""The column of hashes that tell identical copies, held until all rows are known."""

_ODD = np.uint64(0x9E3779B97F4A7C15)


class KeptSets:
    """The sets of the documents read so far, which a later stage needs; ``open`` says whether they are still kept.

    An exact join needs those of all documents: in memory while they fit, and else in a working file. They fit if
    there is room for their hashes, and for the join of those that may have a partner
    (``prefix_join.with_possible_partners``). Stages that leave out common shingles need them only if they fit, and
    so does an exact join that is ``expected``.
    """

    def __init__(self, corpus: Corpus, expected: bool = False) -> None:
        settings = corpus.settings
        self.features = MEASURES[settings.search.measure].features if expected else _features_kept(corpus)
        self.open = self.features is not None
        self._scratch = None if expected or settings.base.ignore_common > 0 else corpus.scratch or Scratch()
        self._settings, self._room = settings, join_room(settings.search)
        self._most = most_held(settings.search) if self._scratch is None else self._room // HASH_BYTES
        if expected:
            self._most = settings.search.join_bytes // BYTES_A_SHINGLE
        self._hashes = np.empty(0, np.uint64)
        self._used = self._bound = 0
        self._sizes = [np.empty(0, np.int64)]
        self._filed: SpilledSets | None = None

    def add(self, sets: ShingleSets, wanted: Int64s, units: int) -> None:
        """Add the ``wanted`` sets (ascending), which have at most this many ``units``."""
        self._bound += units
        if self._bound > self._most and self._scratch is None:
            self.open, self._hashes = False, np.empty(0, np.uint64)
        if not self.open:
            return
        if len(wanted) < len(sets.sizes):
            sets = sets_at(sets.hashes, sets.offsets[wanted], sets.sizes[wanted])
        if self._bound > self._most and self._filed is None:
            self._file(self._together())
        if self._filed is not None:
            self._filed.add(sets)
            return
        until = self._used + len(sets.hashes)
        if until > len(
            self._hashes
        ):  # reallocated, which moves pages instead of copying them; nobody has a view yet
            self._hashes.resize(until + until // 4, refcheck=False)
        self._hashes[self._used : until] = sets.hashes
        self._used = until
        self._sizes.append(sets.sizes)

    def finish(self) -> DocumentSets | SpilledSets | None:
        """Return the sets of all documents, in memory or in a file; None if they are not kept.

        If only those that may have a partner leave room for their join, the sets go to a file, too.
        """
        if not self.open:
            return None
        if self._filed is None:
            sets, possible = self._together(), None
            if self._scratch is not None and BYTES_A_SHINGLE * self._bound > self._room:
                criterion, threads = criterion_of(self._settings.search), self._settings.work.threads
                starts, sizes = sets.offsets[:-1], sets.sizes
                possible = with_possible_partners(sets.hashes, starts, sizes, criterion, threads)
                joined = (BYTES_A_SHINGLE - HASH_BYTES) * int(sizes[possible].sum())
                if HASH_BYTES * len(sets.hashes) + joined > self._room:
                    self._file(sets)
            if self._filed is None:
                return DocumentSets(np.arange(len(sets.sizes)), sets, possible)
        self._filed.documents = np.arange(len(self._filed))
        return self._filed

    def _file(self, sets: ShingleSets) -> None:
        """Move the sets from the memory into a working file."""
        assert self._scratch is not None
        self._filed = SpilledSets(np.empty(0, np.int64), self._scratch.numbers())
        self._filed.add(sets)
        self._hashes = np.empty(0, np.uint64)

    def _together(self) -> ShingleSets:
        """The sets in memory."""
        return ShingleSets(self._hashes[: self._used], np.append(0, np.cumsum(np.concatenate(self._sizes))))


def expects_exact(corpus: Corpus) -> bool:
    """Whether ``auto`` will join exactly if the size of the input is about that of its text.

    Such a run makes sets at once, and no signatures. If the sets do not fit after all, or the join would look at
    too many pairs, the texts are read once more. Never under a memory limit or with ``--resume``: there the
    signatures, or the keys of their bands, go to disk in the first pass.
    """
    search, base = corpus.settings.search, corpus.settings.base
    if search.method != "auto" or corpus.settings.by_simhash or not MEASURES[search.measure].by_lsh:
        return False
    if corpus.base is not None or base.ignore_common > 0 or corpus.has_saved:
        return False
    if corpus.scratch is not None or corpus.journal is not None:
        return False
    shingles = sum(_text_bytes(part.documents) for part in corpus.parts)
    if corpus.settings.shingles.unit == "word":
        shingles //= _BYTES_A_WORD
    return BYTES_A_SHINGLE * shingles <= search.join_bytes


def _text_bytes(documents: Documents) -> int:
    """About how many bytes of text there are; 0 if nothing is known before they are read."""
    footers: Mapping[int, Sequence[FooterGroup]] = getattr(documents, "footers", {})
    unpacked = sum(group.unpacked for groups in footers.values() for group in groups)
    return unpacked or documents.size_bytes or 0


def _features_kept(corpus: Corpus) -> Features | None:
    """The features whose sets are made in the first pass; None: they are not needed, or not of this pass."""
    settings = corpus.settings
    if settings.base.ignore_common > 0:
        return "shingles"
    if corpus.base is not None or settings.by_simhash or not surely_exact(settings.search):
        return None
    features = MEASURES[settings.search.measure].features
    return features if features in ("shingles", "occurrences") else None


@dataclass(eq=False)
class ChunkTexts:
    """The ``texts`` of a chunk, the columns read beside them, and the ``columns`` that features add.

    ``slots`` are those of a signature, ``sets`` the features whose sets are wanted. ``cleaned`` are the texts as
    features count them; keys, units and lengths are those of the texts. Features that keep texts of one stream
    apart change the ``keys``.
    """

    corpus: Corpus
    part: Part
    table: pa.Table
    texts: pa.Array
    cleaned: Cleaned
    slots: int
    sets: Features | None
    keys: UInt64s
    invalid: int = 0
    columns: dict[str, Values] = field(default_factory=dict)

    @property
    def every(self) -> Int64s:
        """The places of all texts."""
        return np.arange(len(self.texts))


def fingerprint_chunk(corpus: Corpus, number: int, chunk: Chunk, slots: int, sets: Features | None) -> ReadChunk:
    """Read a chunk of the input of this ``number``, and add the columns of all features."""
    part, settings = corpus.parts[number], corpus.settings
    rows = chunk.read(part.columns)
    texts, n = one_array(rows.table.column(part.text)), rows.table.num_rows
    counted, keys = clean_texts(texts, settings), np.empty((n, 2), np.uint64)
    of_chunk = ChunkTexts(corpus, part, rows.table, texts, counted, slots, sets, keys)
    of_chunk.columns["row"] = rows.row_numbers
    for add in FEATURES:
        add(of_chunk)
    hashes = {"key": of_chunk.keys, "characters": character_hashes(texts, corpus.key)}
    of_chunk.columns |= under_seal(hashes, corpus.key) if corpus.has_saved else hashes
    facts = ChunkFacts(
        index=chunk.index,
        source=chunk.source,
        rows=n,
        invalid=of_chunk.invalid + rows.replaced,
        nulls=texts.null_count,
        problems=rows.problems,
        cleaned=counted.counts.tolist(),
        scans=[] if settings.by_simhash else scans(texts, settings.shingles.unit),
        part=number,
    )
    return ReadChunk.of(facts, of_chunk.columns)


def under_seal(hashes: Mapping[str, UInt64s], key: Key) -> dict[str, UInt64s]:
    """Return the columns of hashes of texts as they are saved: seals, which show only what is equal."""
    return {"key": stream_seals(hashes["key"], key), "characters": sealed_hashes(hashes["characters"], key)}


def scans(texts: pa.Array, unit: str) -> list[int]:
    """Return the places of texts that look like the output of OCR, among some of them; none without words."""
    if unit != "word" or not len(texts):
        return []
    places = np.unique(np.linspace(0, len(texts) - 1, LOOKED_AT).astype(np.int64)).tolist()
    beginnings = [bytes((texts[place].as_buffer() or b"")[:BEGINNING]) for place in places]
    errors = pc.count_substring_regex(pa.array(beginnings, pa.binary()), OCR_ERROR).to_pylist()
    counted = zip(places, errors, beginnings, strict=True)
    return [place for place, count, text in counted if count >= LEAST_ERRORS and _is_scan(text)]


def _is_scan(text: bytes) -> bool:
    """Whether enough words have errors, and the text is no source code or data by its signs or choices (a|b)."""
    words = [word for word in _WORD.findall(text) if _ERROR.search(word) and not NO_ERROR.search(word)]
    signs = len(text) - len(text.translate(None, SIGNS))
    is_code = SIGNS_OF_CODE * signs >= len(text) or all(b"|" in word for word in words)
    enough = len(set(words)) >= LEAST_ERRORS and WORDS_AN_ERROR * len(words) >= len(text.split())
    return enough and not is_code


def _streams(chunk: ChunkTexts) -> None:
    """Units, keys and signatures; with them the sets, if these are made in the same pass."""
    texts, corpus, counted = chunk.texts, chunk.corpus, chunk.cleaned
    settings, base = corpus.settings, corpus.base
    signatures = np.empty((len(texts), chunk.slots if base is None else 0), np.uint32)
    if settings.cleaning.is_on:
        units, invalid = sign(texts, counted.settings, signatures[:, :0], chunk.keys, corpus.key)
        tokenized = np.empty_like(chunk.keys) if settings.cleaning.tokenizer else chunk.keys[:0]
        remaining, _ = sign(counted.texts, counted.settings, signatures, tokenized, corpus.key)
        if len(tokenized):  # texts of the same words may have other tokens, and more of them
            units, chunk.keys = remaining, both_keys(chunk.keys, tokenized)
        chunk.columns["remaining"] = remaining
    elif chunk.sets is not None and chunk.slots == 0 and base is None and len(corpus.key.tokens):
        units, invalid, sets = sign_with_sets(texts, settings, chunk.keys, corpus.key, chunk.sets)
        chunk.columns["sets"] = _lists(sets)
    else:
        units, invalid = sign(texts, settings, signatures, chunk.keys, corpus.key)
    chunk.invalid = int(invalid.sum())
    lengths = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False)
    chunk.columns.update(units=units, bytes=lengths.astype(np.int64), signature=signatures)


def _counts_and_signatures(chunk: ChunkTexts) -> None:
    """The counts and the signatures without base text."""
    corpus, texts, settings = chunk.corpus, chunk.cleaned.texts, chunk.cleaned.settings
    if corpus.base is None:
        return
    chunk.columns["left"] = count_left(texts, chunk.every, settings, corpus.key, corpus.base)
    if chunk.slots:
        chunk.columns["signature"] = sign_left(texts, chunk.every, settings, corpus.base, chunk.slots)


def _attachments(chunk: ChunkTexts) -> None:
    """The attachments of mails, which are part of their identity."""
    if ATTACHMENTS in chunk.part.columns and (carried := carried_by(chunk.table.column(ATTACHMENTS))):
        chunk.columns[ATTACHMENTS] = one_array(chunk.table.column(ATTACHMENTS))
        mix_in(chunk.keys, carried)


def _relations(chunk: ChunkTexts) -> None:
    """Keyed hashes of the values within and across: rows of different values are no exact copies."""
    relations, key = chunk.part.relations, chunk.corpus.key
    for role, names in (("within", relations.within), ("across", (relations.across,) * bool(relations.across))):
        for name in names if chunk.part.documents.format != "text" else ():
            require_labels(chunk.table.schema.field(name).type, name, f"--{role}")
        if names:
            _keep_apart(chunk, role, digests([chunk.table.column(name) for name in names], role, key.occurrences))
    if relations.no_self:  # as if each of the two inputs had one value across
        _keep_apart(chunk, "across", np.full((len(chunk.texts), 2), chunk.part.old, np.uint64))


def _keep_apart(chunk: ChunkTexts, role: str, hashes: UInt64s) -> None:
    chunk.columns[role] = hashes[:, 0].copy()
    chunk.keys ^= hashes


def _simhashes(chunk: ChunkTexts) -> None:
    """The fingerprints of a search by SimHash."""
    if words := simhash_words(chunk.corpus.settings):
        fingerprints = np.empty((len(chunk.texts), words), np.uint64)
        simhash_rows(chunk.cleaned.texts, chunk.corpus.settings.simhash.features, fingerprints)
        chunk.columns["simhash"] = fingerprints


def _sets(chunk: ChunkTexts) -> None:
    """The sets of all texts, if they are not made with their keys."""
    if chunk.sets is not None and "sets" not in chunk.columns:
        counted, sets_of = chunk.cleaned, chunk.corpus.sets_under
        chunk.columns["sets"] = _lists(sets_of(counted.settings, counted.texts, chunk.every, chunk.sets))


def _of_input(chunk: ChunkTexts) -> None:
    """The id and the columns that are asked for."""
    if chunk.part.id:
        chunk.columns["id"] = one_array(chunk.table.column(chunk.part.id))
    for name in chunk.part.extra:
        values = one_array(chunk.table.column(name))
        people = chunk.part.documents.format == "text" and name in LISTS
        chunk.columns[f"{EXTRA}{name}"] = as_text(values) if people else values


def _zeros(chunk: ChunkTexts) -> None:
    """Zeros in the sketches of texts that have nothing to count: their memory was never written."""
    without = chunk.columns.get("remaining", chunk.columns["units"]) == 0
    for name in SKETCHES.keys() & chunk.columns.keys():
        chunk.columns[name][without] = 0


FEATURES: tuple[Callable[[ChunkTexts], None], ...] = (
    _streams,
    _counts_and_signatures,
    _attachments,
    _relations,
    _simhashes,
    _sets,
    _of_input,
    _zeros,
)
"""The features, in the order in which they change the keys."""


def _lists(sets: ShingleSets) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(sets.offsets), pa.array(sets.hashes))


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


def _read_all(corpus: Corpus, slots: int, progress: Progress, growing: "_RowsUnderWay") -> "_RowsUnderWay":
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
    corpus: Corpus, slots: int, keeping: KeptSets | None = None, plan: Plan | None = None, most: int | None = None
) -> Generator[ReadChunk, None, None]:
    """Yield the fingerprints of all chunks in order; documents with saved fingerprints are not read.

    ``keeping`` says whether the shingle sets are wanted, too. With a ``plan``, the keys of its bands come instead
    of signatures. Only the first ``most`` chunks are read; None: all.
    """
    chunks = ((number, chunk) for number, part in enumerate(corpus.parts) for chunk in _chunks_of(part))
    items = islice(chunks, most)
    if corpus.has_saved and keeping is not None:
        keeping.open = False  # the sets of the saved documents are not known

    def select_columns(read: ReadChunk) -> ReadChunk:
        banded = read if plan is None else read.with_columns(band_columns(read.signatures, plan))
        return banded if slots and plan is None else banded.without("signature")

    def work(item: tuple[int, Chunk | ReadChunk]) -> ReadChunk:
        number, chunk = item
        if isinstance(chunk, ReadChunk):  # saved
            return select_columns(_as_of_input(corpus.parts[number], chunk).with_facts(part=number))
        name, journal = f"chunk {number} {chunk.index}", corpus.journal
        finished = None if journal is None else journal.get(name)
        if finished is not None:
            read = ReadChunk.of_table(finished)
            remind(chunk, read.facts.memory)
            return read
        sets = keeping.features if keeping is not None and keeping.open else None
        read = select_columns(fingerprint_chunk(corpus, number, chunk, slots, sets))
        many = isinstance(read.facts.problems, LineProblems) and len(read.facts.problems)  # as many as lines
        if journal is not None and not many:
            journal.put(name, read.with_facts(memory=memory_of(chunk)).table())
        return read

    return ordered_map(work, items, corpus.settings.work.threads)


def _chunks_of(part: Part) -> Iterator[Chunk | ReadChunk]:
    saved = saved_in(part.documents)
    return part.documents.chunks(None, part.columns) if saved is None else saved.fingerprints()


def _as_of_input(part: Part, saved: ReadChunk) -> ReadChunk:
    """Saved fingerprints as those of one of two inputs whose documents are not compared with each other."""
    if not part.relations.no_self:
        return saved
    apart = np.full((len(saved), 2), part.old, np.uint64)
    return saved.with_columns({"across": apart[:, 0], "key": saved.keys ^ apart})


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
        self._corpus, self._identical = corpus, corpus.settings.search.copies == "identical"
        self._pieces: list[CorpusChunk] = []
        self._cleaned = nothing_left_out(corpus.settings)
        self._keys = np.empty((1 << 12, 2), np.uint64)
        self._copy_of = np.empty(1 << 12, np.int64)
        self._table = np.full(1 << 13, FREE, np.int64)
        self._numbers: dict[str, list[Any]] = {name: [] for name in (*OF_ROWS, *OF_DOCUMENTS, CHARACTERS)}
        self._unique: list[Int64s] = []
        self._ids: list[list[pa.Array]] = [[] for _ in corpus.parts]
        self._extra: dict[str, list[pa.Array]] = {}
        self._problems = Problems()
        self._left_aside: list[tuple[int, Problem]] = []
        self._attachments: dict[int, tuple[Attachment, ...]] = {}
        self._met = {True: Met(), False: Met()}
        self._scans: list[int] = []
        self._rows = 0

    def add(self, read: ReadChunk) -> None:
        """Add one chunk."""
        first, until, facts = self._rows, self._rows + len(read), read.facts
        part, new = self._corpus.parts[facts.part], facts.part == len(self._corpus.parts) - 1
        if until > MOST_ROWS:
            raise InputError(
                f"More than {MOST_ROWS:,} documents",
                f"At most {MOST_ROWS:,} in one run: pairs and bands name a document by 32 bits",
                "Run the inputs in several runs, each against the kept documents of those before (--against)",
            )
        self._make_room(until)
        self._keys[first:until] = read.keys
        if self._identical:
            self._keys[first:until] ^= _mixing_words(read.numbers(CHARACTERS))
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
        if new:
            self._scans += [first + place for place in facts.scans]
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
        characters = np.concatenate([np.empty(0, np.uint64), *self._numbers[CHARACTERS]])
        copy_of, empty = self._copy_of[: self._rows].copy(), columns["units"] == 0
        if not corpus.empty_alike:  # documents without text have no content to be equal in
            copy_of[empty] = np.flatnonzero(empty)
        alike = copy_of
        if self._identical:
            keys = self._keys[: self._rows] ^ _mixing_words(characters)
            alike = first_of_equal(keys[:, 1], keys[:, 0])
            alike[empty] = copy_of[empty]
        rows = Rows(
            replace(corpus, pieces=tuple(self._pieces)),
            columns,
            copy_of=copy_of,
            alike=Alike(alike, first_within(alike, characters)),
            unique=np.concatenate([np.empty(0, np.int64), *self._unique]),
            ids=tuple(_concatenate(arrays) for arrays in self._ids),
            extra={name: _concatenate(arrays) for name, arrays in self._extra.items()},
            problems=self._problems,
            left_aside=tuple(self._left_aside),
            attachments=self._attachments,
            met=self._met[True],
            met_before=self._met[False],
            scans=np.array(self._scans, np.int64),
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


def _mixing_words(characters: UInt64s) -> UInt64s:
    """Two words, uint64[n, 2], that are mixed into keys so that they differ where the characters do."""
    return np.column_stack((characters, characters * _ODD))


def _sets_in(lists: pa.Array) -> ShingleSets:
    return ShingleSets(lists.flatten().to_numpy(), lists.offsets.to_numpy())


def _concatenate(arrays: list[pa.Array]) -> pa.Array:
    """Concatenate into one array, of strings if the files store the column in different types."""
    return one_array(join_ids(arrays)) if arrays else pa.array([], pa.int64())
