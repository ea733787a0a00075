"""The rows that groups are made of: which are copies, in which order they are preferred, and their ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.io.attachments import Carried
from neardup.io.readers.base import Documents
from neardup.join.corpus import CorpusChunk
from neardup.join.rows import Rows
from neardup.tables import Int64s, UInt64s


@dataclass(frozen=True, eq=False)
class Ids:
    """The ids of rows: the user's, or ``source#row`` (the row number for data in memory).

    A run has up to two inputs, from the rows ``firsts`` on. ``columns`` are their id columns; those of inputs that
    are not ``named`` do not count. ``pieces`` are the chunks, by which such rows are named.
    """

    columns: tuple[pa.Array, ...]
    firsts: tuple[int, ...] = (0,)
    named: tuple[bool, ...] = (True,)
    in_memory: tuple[bool, ...] = (False,)
    pieces: tuple[CorpusChunk, ...] = ()

    @classmethod
    def of_run(cls, rows: Rows) -> Ids:
        """The ids of the rows of a run."""
        parts = rows.corpus.parts
        return cls(
            rows.ids,
            tuple(rows.part_first(number) for number in range(len(parts))),
            tuple(part.id is not None for part in parts),
            tuple(_is_numbered(part.documents) for part in parts),
            rows.corpus.pieces,
        )

    def of(self, rows: Int64s) -> pa.Array:
        """The ids of ``rows``, in that order: strings or integers, as the input has them."""
        if len(self.firsts) == 1:  # nothing to put in order
            return self._of_part(0, rows)
        owner = np.searchsorted(np.array(self.firsts[1:], np.int64), rows, side="right")
        places: list[Int64s] = []
        found: list[pa.Array] = []
        for number in range(len(self.firsts)):
            mine = np.flatnonzero(owner == number)
            places.append(mine)
            ids = self._of_part(number, rows[mine])
            found.append(pc.cast(ids, pa.string()) if self._in_words else ids)
        together = pa.concat_arrays([ids for ids in found if len(ids)] or found[:1])
        return together.take(pa.array(np.argsort(np.concatenate(places), kind="stable")))

    def text(self, rows: Int64s) -> pa.Array:
        """The ids as strings, for sentences."""
        return pc.cast(self.of(rows), pa.string())

    def _type(self, number: int) -> pa.DataType:
        if self.named[number]:
            return self.columns[number].type
        return pa.int64() if self.in_memory[number] else pa.string()

    def _of_part(self, number: int, rows: Int64s) -> pa.Array:
        if self.named[number]:
            return self.columns[number].take(pa.array(rows - self.firsts[number]))
        owner = np.searchsorted(self._piece_firsts, rows, side="right") - 1
        numbers = np.empty(len(rows), np.int64)
        for k in np.unique(owner):
            mine = owner == k
            numbers[mine] = self.pieces[k].row_numbers[rows[mine] - self._piece_firsts[k]]
        if self.in_memory[number]:
            return pa.array(numbers)
        sources = pa.array([piece.source for piece in self.pieces], pa.string()).take(pa.array(owner))
        return pc.binary_join_element_wise(sources, pc.cast(pa.array(numbers), pa.string()), "#")

    @cached_property
    def _in_words(self) -> bool:
        """Whether the inputs have ids of different types, which are all given as strings."""
        return len({str(self._type(number)) for number in range(len(self.firsts))}) > 1

    @cached_property
    def _piece_firsts(self) -> Int64s:
        return np.array([piece.first for piece in self.pieces] or [0], np.int64)


def _is_numbered(documents: Documents) -> bool:
    """Whether the number of a row is its id: in memory, unless the rows have several sources."""
    return documents.format == "arrow" and len(documents.names) == 1


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """The rows of a run, of a stored result, or of a part of either; ``len`` is their number.

    ``copy_of`` (int64[rows]) is the first row with the same unit stream; ``unique`` holds the rows that are
    documents, in order, so that their index is the document number. The ``first_new`` rows of the reference set
    come first. ``rank`` (a permutation) is the order of preference, 0 is kept first, and ``bytes`` (int64[rows])
    the size of each text. Rows with the same number ``across`` never remove each other; it is empty without that
    setting. ``sources`` are those of the rows from the first new one on, or None.
    """

    copy_of: Int64s
    unique: Int64s
    first_new: int
    rank: Int64s
    bytes: Int64s
    ids: Ids
    attachments: Carried = field(default_factory=dict)
    across: UInt64s = field(default_factory=lambda: np.empty(0, np.uint64))
    sources: pa.Array | None = None

    @classmethod
    def of_run(cls, rows: Rows, rank: Int64s, sources: str) -> JudgedRows:
        """The rows of a run in this order of preference; ``sources`` names a column, "" for none."""
        return cls(
            rows.copy_of,
            rows.unique,
            rows.first_new,
            rank,
            rows.bytes,
            Ids.of_run(rows),
            rows.attachments,
            rows.across,
            rows.extra.get(sources),
        )

    def __len__(self) -> int:
        return len(self.copy_of)

    @property
    def first_new_document(self) -> int:
        """The first document that is not in the reference set."""
        return int(np.searchsorted(self.unique, self.first_new))

    @property
    def new_copies(self) -> Int64s:
        """The rows of the new input that are exact copies."""
        numbers = np.arange(len(self))
        copies: Int64s = numbers[(self.copy_of != numbers) & (numbers >= self.first_new)]
        return copies


@dataclass(frozen=True)
class CopyClasses:
    """Rows with the same unit stream, as one document each.

    ``of_row`` is the document number of a row, −1 for an empty row. ``best_row`` is the row of a document that the
    keep policy prefers, and ``rank`` (a permutation) the order of documents by that row.
    """

    of_row: Int64s
    best_row: Int64s
    rank: Int64s


def classes(rows: JudgedRows) -> CopyClasses:
    """The documents of the rows, ranked by their best row."""
    n_documents = len(rows.unique)
    number = np.full(len(rows), -1, np.int64)
    number[rows.unique] = np.arange(n_documents)
    of_row = number[rows.copy_of]
    best = np.full(n_documents, len(rows), np.int64)
    full = of_row >= 0
    np.minimum.at(best, of_row[full], rows.rank[full])
    row_at = np.empty(len(rows), np.int64)
    row_at[rows.rank] = np.arange(len(rows))
    rank = np.empty(n_documents, np.int64)
    rank[np.argsort(best)] = np.arange(n_documents)
    return CopyClasses(of_row, row_at[best], rank)
