"""The texts behind a result, read again one by one: from the input of this run, or from recorded places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.io.readers.base import Documents
from neardup.io.readers.lookup import as_bytes
from neardup.io.readers.places import places_of
from neardup.join.corpus import Corpus, CorpusChunk, saved_in
from neardup.run.records import Id, Looked
from neardup.tables import Int64s

LOCATED = pa.schema([("row", pa.int64()), ("file", pa.int64()), ("number", pa.int64())])
"""A row of the ranks of a result, the number of its file in PLACES, and its row number in that file."""

MOST_DIGITS = 18
"""Digits of a row number; more do not fit into 64 bits."""


@dataclass(frozen=True, eq=False)
class _Piece:
    """A chunk of an input; consecutive row numbers are a range, which needs no memory."""

    part: int
    chunk: int
    source: str
    first: int
    numbers: range | Int64s

    @classmethod
    def of(cls, piece: CorpusChunk) -> _Piece:
        numbers = piece.row_numbers
        start, count = (int(numbers[0]) if len(numbers) else 0), len(numbers)
        whole = count and int(numbers[-1]) - start == count - 1
        kept = range(start, start + count) if whole else numbers.copy()
        return cls(piece.part, piece.chunk, piece.source, piece.first, kept)

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    def at(self, rows: Int64s) -> Int64s:
        """The row numbers in the file of ``rows`` of the run."""
        places = rows - self.first
        return places + self.numbers.start if isinstance(self.numbers, range) else self.numbers[places]

    def row(self, number: int) -> int | None:
        """The row of the run with a row number in the file."""
        if isinstance(self.numbers, range):
            return self.first + number - self.numbers.start if number in self.numbers else None
        found = np.flatnonzero(self.numbers == number)
        return self.first + int(found[0]) if len(found) else None


class InputTexts:
    """The texts of the input of a run in this process; keeps documents in memory alive.

    ``dropped`` are the rows of the run that are removed without having been judged, and ``first_new`` is the first
    row of the new input.
    """

    def __init__(self, corpus: Corpus, dropped: Int64s, first_new: int) -> None:
        self.dropped, self.first_new = dropped, first_new
        self._parts = corpus.parts
        self._pieces = tuple(map(_Piece.of, corpus.pieces))
        self._firsts = np.array([piece.first for piece in self._pieces], np.int64)

    @property
    def documents(self) -> Documents:
        """The new input."""
        return self._parts[-1].documents

    def rows_in(self, chunk: int) -> int:
        """The number of good rows in a chunk of the new input; 0 for one without."""
        return self._counts.get(chunk, 0)

    @cached_property
    def _counts(self) -> dict[int, int]:
        new = len(self._parts) - 1
        return {piece.chunk: piece.count for piece in self._pieces if piece.part == new}

    def look(self, id: Id, row: int | None) -> Looked | None:
        """Read the chunk of the document."""
        row = self._row(id) if row is None else row
        if row is None:
            return None
        piece = self._pieces[int(np.searchsorted(self._firsts, row, side="right")) - 1]
        part = self._parts[piece.part]
        chunk = next(iter(part.documents.chunks({piece.chunk}, [part.text])))
        text = as_bytes(chunk.read([part.text]).table.column(0)[row - piece.first].as_py())
        ((path, number),) = self.places(np.array([row]))
        return Looked(id, text.decode("utf-8", "replace"), len(text), path, number)

    def places(self, rows: Int64s) -> Iterator[tuple[str, int | None]]:
        """Yield the file and the row in it of each of ``rows``: "" in memory, None for a file of one document."""
        for row, owner in zip(rows.tolist(), np.searchsorted(self._firsts, rows, side="right") - 1, strict=True):
            piece = self._pieces[owner]
            documents = self._parts[piece.part].documents
            number = int(piece.at(np.array([row]))[0])
            path = _path(documents, piece.source, number)
            yield path, None if documents.format == "text" else number

    @property
    def kept(self) -> bool:
        """Yes: these are the texts of the run."""
        return True

    @property
    def saved(self) -> bool:
        """Whether some documents have saved fingerprints."""
        return any(saved_in(part.documents) for part in self._parts)

    def each(self, rows: Int64s) -> Iterator[tuple[int, bytes]]:
        """Read the chunks with ``rows`` (ascending) in one pass over each input."""
        owner = np.searchsorted(self._firsts, rows, side="right") - 1
        for number, part in enumerate(self._parts):
            mine = {self._pieces[k].chunk: k for k in np.unique(owner).tolist() if self._pieces[k].part == number}
            for chunk in part.documents.chunks(mine.keys(), [part.text]) if mine else ():
                k = mine[chunk.index]
                texts = chunk.read([part.text]).table.column(0)
                for row in rows[owner == k].tolist():
                    yield row, as_bytes(texts[row - self._pieces[k].first].as_py())

    def sweep(self, rows: Int64s) -> Iterator[tuple[int, bytes]]:
        """Yield the same as ``each``."""
        return self.each(rows)

    def fields(self, row: int) -> dict[str, Any]:
        """Return nothing: a result of this process has no recorded places."""
        return {}

    def tables(self, rows: Int64s) -> dict[str, pa.Table]:
        """Return where the files are, and the places of ``rows`` in them."""
        places, first_files, count = [], [], 0
        for number, part in enumerate(self._parts):
            first_files.append(count)
            reference = number < len(self._parts) - 1
            found = places_of(part.documents, part.text, part.id, reference=reference, first=count)
            if not found.num_rows:  # documents in memory have no place
                return {}
            places.append(found)
            count = found["file"][-1].as_py() + 1
        return {"places": pa.concat_tables(places), "located": self._located(rows, first_files)}

    def _located(self, rows: Int64s, first_files: list[int]) -> pa.Table:
        number_of = [{name: number for number, name in enumerate(part.documents.names)} for part in self._parts]
        owner = np.searchsorted(self._firsts, rows, side="right") - 1
        files, numbers = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        for k in np.unique(owner):
            mine, piece = owner == k, self._pieces[k]
            documents = self._parts[piece.part].documents
            numbers[mine] = piece.at(rows[mine])
            of_file = numbers[mine] if documents.format == "text" else number_of[piece.part][piece.source]
            files[mine] = first_files[piece.part] + of_file
        return pa.table([rows, files, numbers], schema=LOCATED)

    def _row(self, id: Id) -> int | None:
        """Find a document by its id: in the new input before the reference set."""
        for number in reversed(range(len(self._parts))):
            pieces = [piece for piece in self._pieces if piece.part == number]
            named = self._parts[number].id is not None
            found = self._named(id, number, pieces) if named else self._numbered(id, pieces)
            if found is not None:
                return found
        return None

    def _numbered(self, id: Id, pieces: list[_Piece]) -> int | None:
        source, number = (None, id) if isinstance(id, int) else split_id(id)
        if number is None:
            return None
        rows = (piece.row(number) for piece in pieces if source in (None, piece.source))
        return next((row for row in rows if row is not None), None)

    def _named(self, id: Id, number: int, pieces: list[_Piece]) -> int | None:
        part = self._parts[number]
        first_of = {piece.chunk: piece.first for piece in pieces}
        for chunk in part.documents.chunks(first_of.keys(), [str(part.id)]):
            found = places_of_id(chunk.read([str(part.id)]).table.column(0), id)
            if len(found):
                return first_of[chunk.index] + int(found[0])
        return None


def split_id(id: str) -> tuple[str | None, int | None]:
    """Split ``source#row``; (None, None) for any other id."""
    source, mark, row = id.rpartition("#")
    if not mark or not row.isascii() or not row.isdigit() or len(row) > MOST_DIGITS:
        return None, None
    return source, int(row)


def places_of_id(ids: pa.ChunkedArray, id: Id) -> Int64s:
    """Return the places of an id in a column of ids."""
    values = pc.cast(ids, pa.large_string())
    return np.flatnonzero(pc.fill_null(pc.equal(values, str(id)), False).to_numpy())


def _path(documents: Documents, source: str, number: int) -> str:
    sources = getattr(documents, "sources", ())
    if not sources:
        return ""
    return str(sources[number if documents.format == "text" else documents.names.index(source)].path)
