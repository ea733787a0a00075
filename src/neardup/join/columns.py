"""The columns of the first pass: every feature of the texts of a chunk adds its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.io.attachments import ATTACHMENTS, carried_by, mix_in
from neardup.io.fingerprints.chunk import EXTRA, SKETCHES, ChunkFacts, ReadChunk, Values
from neardup.io.labels import digests, require_labels
from neardup.io.readers.base import Chunk
from neardup.join.corpus import Corpus, Part
from neardup.measures import Features
from neardup.sketch.base_text import count_left, sign_left
from neardup.sketch.cleaning import Cleaned, both_keys, cleaned
from neardup.sketch.documents import ShingleSets, sign, sign_with_sets, simhash_rows, simhash_words
from neardup.tables import Int64s, UInt64s, one_array
from neardup.text.sealing import sealed


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


def fingerprinted(corpus: Corpus, number: int, chunk: Chunk, slots: int, sets: Features | None) -> ReadChunk:
    """Read a chunk of the input of this ``number``, and add the columns of all features."""
    part, settings = corpus.parts[number], corpus.settings
    rows = chunk.read(part.columns)
    texts, n = one_array(rows.table.column(part.text)), rows.table.num_rows
    counted, keys = cleaned(texts, settings), np.empty((n, 2), np.uint64)
    of_chunk = ChunkTexts(corpus, part, rows.table, texts, counted, slots, sets, keys)
    of_chunk.columns["row"] = rows.row_numbers
    for add in FEATURES:
        add(of_chunk)
    of_chunk.columns["key"] = sealed(of_chunk.keys, corpus.key) if corpus.has_saved else of_chunk.keys
    facts = ChunkFacts(
        index=chunk.index,
        source=chunk.source,
        rows=n,
        invalid=of_chunk.invalid + rows.replaced,
        nulls=texts.null_count,
        problems=rows.problems,
        cleaned=counted.counts.tolist(),
        part=number,
    )
    return ReadChunk.of(facts, of_chunk.columns)


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


def _left(chunk: ChunkTexts) -> None:
    """The counts and the signatures of what is left without base text."""
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
        for name in names:
            require_labels(chunk.table.schema.field(name).type, name, f"--{role}")
        if names:
            _keep_apart(chunk, role, digests([chunk.table.column(name) for name in names], role, key))
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
        chunk.columns[f"{EXTRA}{name}"] = one_array(chunk.table.column(name))


def _zeros(chunk: ChunkTexts) -> None:
    """Zeros in the sketches of texts that have nothing to count: their memory was never written."""
    without = chunk.columns.get("remaining", chunk.columns["units"]) == 0
    for name in SKETCHES.keys() & chunk.columns.keys():
        chunk.columns[name][without] = 0


FEATURES: tuple[Callable[[ChunkTexts], None], ...] = (
    _streams,
    _left,
    _attachments,
    _relations,
    _simhashes,
    _sets,
    _of_input,
    _zeros,
)
"""The features, in the order in which they change the keys."""
OF_ROWS = ("units", "bytes", "left", "within", "across")
"""The columns of numbers that are held of every row."""
OF_DOCUMENTS = ("signature", "simhash")
"""The columns that are held of documents only."""


def _lists(sets: ShingleSets) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(sets.offsets), pa.array(sets.hashes))
