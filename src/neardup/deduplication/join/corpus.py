"""The documents of a run, numbered: every pass over the input after the first goes through here.

A corpus is the new input, preceded by the reference input if one is given. Its *rows* are the documents that could
be read, numbered from 0 over both inputs, reference first.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise, starmap
from typing import Protocol, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.io.contents import ATTACHMENTS, carries
from neardup.io.fingerprints import ReadChunk
from neardup.io.inputs import Chunk, Documents
from neardup.io.outputs import FinishedParts, Scratch, journal_here
from neardup.kernels.text import Key
from neardup.runtime import ordered_map, return_large_arrays
from neardup.settings import Features, JoinSettings, Relations, TextSettings
from neardup.tables import Int64s, UInt64s, one_array
from neardup.text.keys import key_of, new_key
from neardup.text.sketch import BaseText, ShingleSets, left_sets, shingle_sets

Result = TypeVar("Result")

_PORTION = 1 << 20
"""Bytes of text whose shingles are made at a time."""

_ALL_RELATED = Relations()


@dataclass(frozen=True)
class Part:
    """One input of a corpus and the columns used from it: text, id (None: rows are named by number), and others.

    ``extra`` columns are held whole; those of ``relations`` say which documents may be pairs. ``old``: it is the
    reference set.
    """

    documents: Documents
    text: str
    id: str | None
    extra: tuple[str, ...] = ()
    relations: Relations = _ALL_RELATED
    old: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns to read, each once."""
        carried = ATTACHMENTS if carries(self.documents) else None
        relations = self.relations
        names = (self.text, self.id, *self.extra, *relations.within, relations.across, carried)
        return list(dict.fromkeys(name for name in names if name))


class SavedDocuments(Protocol):
    """Documents with saved fingerprints under a key of ``secret``; their texts are read only to verify."""

    @property
    def secret(self) -> bytes:
        """The secret of the key of the fingerprints."""

    def fingerprints(self) -> Iterator[ReadChunk]:
        """Yield the fingerprints of all chunks, in order; stream keys are sealed."""

    def readers(self, wanted: Collection[int]) -> list[Documents]:
        """Return the documents with these chunks, as they are read now."""


def saved_in(documents: Documents) -> SavedDocuments | None:
    """Return the documents themselves if their fingerprints were saved."""
    return cast(SavedDocuments, documents) if hasattr(documents, "fingerprints") else None


@dataclass(frozen=True)
class CorpusChunk:
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


@dataclass(frozen=True, eq=False)
class Corpus:
    """The inputs of a run, read in passes by a pool of threads; features are hashed with its ``key``.

    ``pieces`` are the chunks with rows, known after the first pass (``first_pass.py``). The shingles of ``base``
    do not count. ``scratch`` is the room on disk of a run with a memory limit. ``empty_alike``: documents without
    text are exact copies of each other.
    """

    parts: tuple[Part, ...]
    settings: JoinSettings
    key: Key = field(default_factory=new_key)
    pieces: tuple[CorpusChunk, ...] = ()
    base: BaseText | None = None
    scratch: Scratch | None = None
    journal: FinishedParts | None = None
    empty_alike: bool = False

    @classmethod
    def of(cls, parts: tuple[Part, ...], settings: JoinSettings, *, empty_alike: bool = False) -> "Corpus":
        """Return the corpus of these inputs, under the key of their saved fingerprints or a new one.

        With a memory limit it has room on disk. The finished parts of the run go to the journal of this context.
        """
        saved = next(filter(None, (saved_in(part.documents) for part in parts)), None)
        scratch, journal = None, journal_here()
        if settings.search.limit is not None:
            return_large_arrays()
            scratch = Scratch()
        stored = saved if saved is not None else journal
        key = new_key() if stored is None else key_of(stored.secret)
        return cls(parts, settings, key, scratch=scratch, journal=journal, empty_alike=empty_alike)

    @property
    def has_saved(self) -> bool:
        """Whether some documents have saved fingerprints, so that all stream keys are sealed."""
        return any(saved_in(part.documents) for part in self.parts)

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
        """Yield ``work(some of the rows, their shingle sets)`` for all ``rows`` (ascending).

        One pass, in worker threads; results come in input order. Only the sets of the chunks in flight are in
        memory, and they are made from portions of a chunk: on the way to a set its shingles take several times
        the memory.
        """

        def of_some(some: _Some) -> list[Result]:
            texts = some.texts()
            return [
                work(some.rows[portion], self.sets_of(texts, some.places[portion], features))
                for portion in _portions(texts, some.places)
            ]

        return chain.from_iterable(self._over(rows, of_some))

    def sets_of(self, texts: pa.Array, places: Int64s, features: Features = "shingles") -> ShingleSets:
        """Return the shingle sets, or other ``features``, of the texts at some ``places``."""
        return self.sets_under(self.settings, texts, places, features)

    def sets_under(
        self, settings: TextSettings, texts: pa.Array, places: Int64s, features: Features = "shingles"
    ) -> ShingleSets:
        """Return the same under other ``settings``: those of texts that are cleaned already."""
        if self.base is None:
            return shingle_sets(texts, places, settings, self.key, features)
        return left_sets(texts, places, settings, self.key, features, self.base)

    def with_texts(self, rows: Int64s, work: Callable[[int, pa.Array], Result]) -> Iterator[Result]:
        """Yield ``work(row, an array of its text alone)`` for each of ``rows`` (ascending), in worker threads."""

        def of_chunk(those: Int64s, places: Int64s, texts: pa.Array) -> list[Result]:
            pairs = zip(those.tolist(), places.tolist(), strict=True)
            return [work(row, texts.slice(place, 1)) for row, place in pairs]

        return chain.from_iterable(self.with_chunks(rows, of_chunk))

    def with_chunks(self, rows: Int64s, work: Callable[[Int64s, Int64s, pa.Array], Result]) -> Iterator[Result]:
        """Yield ``work(rows, their places among some texts, these texts)`` for all rows, in input order.

        The texts are those of a chunk.
        """
        return self._over(rows, lambda some: work(some.rows, some.places, some.texts()))

    def _over(self, rows: Int64s, work: "Callable[[_Some], Result]") -> Iterator[Result]:
        """Yield ``work(some of the rows)`` for all rows, in input order."""
        return ordered_map(work, self._some(rows), self.settings.work.threads)

    def _some(self, rows: Int64s) -> "Iterator[_Some]":
        """Yield the rows in the portions in which their texts are read."""
        firsts = np.array([piece.first for piece in self.pieces], np.int64)
        wanted = dict(enumerate(np.split(rows, np.searchsorted(rows, firsts[1:]))))
        for number, part in enumerate(self.parts):
            pieces = [k for k, mine in wanted.items() if len(mine) and self.pieces[k].part == number]
            if not pieces:
                continue
            of_chunk = {self.pieces[k].chunk: k for k in pieces}
            for chunk in part.documents.chunks(of_chunk.keys(), [part.text]):
                k = of_chunk[chunk.index]
                yield _Some(wanted[k], wanted[k] - firsts[k], chunk, part.text)


@dataclass(frozen=True, eq=False)
class _Some:
    """Some rows, and their places in the ``chunk`` that has them."""

    rows: Int64s
    places: Int64s
    chunk: Chunk
    column: str

    def texts(self) -> pa.Array:
        """Read the texts of the chunk."""
        return one_array(self.chunk.read([self.column]).table.column(0))


def _portions(texts: pa.Array, places: Int64s) -> Iterator[slice]:
    """Yield the places in portions of about ``_PORTION`` bytes of text each."""
    ends = np.cumsum(pc.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False)[places], dtype=np.int64)
    bounds = np.flatnonzero(np.diff(ends // _PORTION)) + 1
    yield from starmap(slice, pairwise([0, *bounds.tolist(), len(places)]))
