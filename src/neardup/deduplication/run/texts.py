"""The texts behind a result: those of the input of this run, and those stored in the folder of a result."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.join.corpus import Corpus, CorpusChunk, Part, saved_in
from neardup.deduplication.run.records import Id, Looked
from neardup.deduplication.run.sides import readings
from neardup.display import printable, shorten
from neardup.errors import InputError
from neardup.io.contents import METADATA, ORIGIN
from neardup.io.inputs import (
    AUTO,
    PLACE,
    Chunk,
    Discovered,
    Documents,
    FailedChunk,
    NativeRows,
    NativeTable,
    as_bytes,
    open_sources,
    row_of,
)
from neardup.io.place import shown_name
from neardup.io.sources import ParquetDocuments, Source, as_binary, column_type, damaged_error, places_of
from neardup.runtime import ordered_map
from neardup.tables import TEXTS, TEXTS_FILE, Int64s, column

LOCATED = pa.schema([("row", pa.int64()), ("file", pa.int64()), ("number", pa.int64())])
"""A row of the ranks of a result, the number of its file in PLACES, and its row number in that file."""

MOST_FIELDS, FIELD_WIDTH = 30, 200
"""Other values of a document that are stored with its text, and the characters of one."""

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
    def of(cls, piece: CorpusChunk) -> "_Piece":
        numbers = piece.row_numbers
        start, count = (int(numbers[0]) if len(numbers) else 0), len(numbers)
        whole = count and int(numbers[-1]) - start == count - 1
        kept = range(start, start + count) if whole else numbers.copy()
        return cls(piece.part, piece.chunk, piece.source, piece.first, kept)

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    def whole(self) -> CorpusChunk:
        """The chunk as a pass over the corpus takes it."""
        return CorpusChunk(self.part, self.chunk, self.source, self.first, np.array(self.numbers, np.int64))

    def at(self, rows: Int64s) -> Int64s:
        """The row numbers in the file of ``rows`` of the run."""
        places = rows - self.first
        return places + self.numbers.start if isinstance(self.numbers, range) else self.numbers[places]

    def row(self, number: int) -> int | None:
        """The row of the run with a row number in the file."""
        if isinstance(self.numbers, range):
            return self.first + number - self.numbers.start if number in self.numbers else None
        matches = np.flatnonzero(self.numbers == number)
        return self.first + int(matches[0]) if len(matches) else None


class InputTexts:
    """The texts of the input of a run in this process; keeps documents in memory alive.

    ``dropped`` are the rows of the run that are removed without having been judged, and ``first_new`` is the first
    row of the new input.
    """

    def __init__(self, corpus: Corpus, dropped: Int64s, first_new: int) -> None:
        self.dropped, self.first_new = dropped, first_new
        self._parts = corpus.parts
        self._corpus = replace(corpus, pieces=(), base=None, scratch=None, journal=None)
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

    def read_ahead(self, rows: Int64s) -> bool:
        """Return False: a document is read when it is looked at."""
        return False

    def look(self, id: Id, row: int | None) -> Looked | None:
        """Read a document of the input, also one in no pair."""
        row = self._row(id) if row is None else row
        if row is None:
            return None
        ((_, text),) = self.each(np.array([row]))
        ((path, number),) = self.places(np.array([row]))
        return Looked(id, text.decode("utf-8", "replace"), len(text), path, number)

    def places(self, rows: Int64s) -> Iterator[tuple[str, int | None]]:
        """Yield the file and the row in it of each of ``rows``: "" in memory, None for a file of one document."""
        for row, owner in zip(rows.tolist(), self._owners(rows), strict=True):
            piece = self._pieces[owner]
            documents = self._parts[piece.part].documents
            number = int(piece.at(np.array([row]))[0])
            path = _path(documents, piece.source, number)
            yield path, None if documents.format == "text" else number

    @property
    def saved(self) -> bool:
        """Whether some documents have saved fingerprints."""
        return any(saved_in(part.documents) for part in self._parts)

    def each(self, rows: Int64s) -> Iterator[tuple[int, bytes]]:
        """Read the texts of ``rows`` in one pass over each input, in worker threads."""
        pieces = tuple(self._pieces[k].whole() for k in np.unique(self._owners(rows)).tolist())
        corpus = replace(self._corpus, pieces=pieces)
        return corpus.with_texts(rows, lambda row, text: (row, as_bytes(as_binary(text)[0].as_py())))

    def to_store(self, rows: Int64s) -> Iterator[pa.Table]:
        """Read ``rows``, and yield TEXTS: their texts and their other values, null without other columns."""
        for number, part in enumerate(self._parts):
            mine = self._rows_by_chunk(rows, number)
            names = _columns_of(part, mine) if mine else []
            work = partial(_read_again, names, mine)
            chunks = part.documents.chunks(mine.keys(), names) if mine else ()
            yield from ordered_map(work, chunks, self._corpus.settings.work.threads)

    def maker_of_texts(self, rows: Int64s) -> Callable[[Chunk, NativeRows], pa.Table] | None:
        """Return what makes TEXTS of a chunk from its rows as they are written, so that it is not read again.

        None for another input than one of Parquet files alone: other formats decode their rows otherwise to write
        them.
        """
        (part, *others), documents = self._parts, self._parts[0].documents
        if others or not isinstance(documents, ParquetDocuments) or part.text in documents.virtual:
            return None
        wanted = self._rows_by_chunk(rows, 0)
        names = _columns_of(part, wanted)

        def texts_of(chunk: Chunk, native: NativeRows) -> pa.Table:
            if chunk.index not in wanted:
                return TEXTS.empty_table()
            piece, some = wanted[chunk.index]
            if not isinstance(native, NativeTable) or native.table.num_rows != piece.count:
                return _read_again(names, wanted, chunk)  # a column that is damaged
            read = documents.rows(native.position, native.table, native.row_numbers, names)
            return _texts_table(some, read.table.take(pa.array(some - piece.first)))

        return texts_of

    def _rows_by_chunk(self, rows: Int64s, part: int) -> "dict[int, tuple[_Piece, Int64s]]":
        """Return the chunks of a part with some of ``rows``, which are ascending."""
        owners, begins = np.unique(self._owners(rows), return_index=True)
        of_piece = zip(owners.tolist(), np.split(rows, begins[1:]), strict=False)
        wanted = [(self._pieces[k], some) for k, some in of_piece]
        return {piece.chunk: (piece, some) for piece, some in wanted if piece.part == part}

    def fields(self, row: int) -> Mapping[str, Any]:
        """Read the other values of the document of a row, shortened; {} if it has none."""
        return next((values for _, values in self.others(np.array([row]))), {})

    def others(self, rows: Int64s) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield rows, ascending, with the other values of their documents, shortened."""
        for table in self.to_store(rows):
            for row, values in zip(table["row"].to_pylist(), table["fields"].to_pylist(), strict=True):
                if values is not None:
                    yield row, msgspec.json.decode(values, type=dict[str, str])

    def _owners(self, rows: Int64s) -> Int64s:
        """The pieces of rows, by number."""
        return np.searchsorted(self._firsts, rows, side="right") - 1

    def tables(self, rows: Int64s) -> dict[str, pa.Table]:
        """Return where the files are, and the places of ``rows`` in them."""
        places, first_files, count = [], [], 0
        for number, part in enumerate(self._parts):
            first_files.append(count)
            reference = number < len(self._parts) - 1
            stretches = places_of(part.documents, part.text, part.id, reference=reference, first=count)
            if not stretches.num_rows:  # documents in memory have no place
                return {}
            places.append(stretches)
            count = stretches["file"][-1].as_py() + 1
        return {"places": pa.concat_tables(places), "located": self._locate(rows, first_files)}

    def _locate(self, rows: Int64s, first_files: list[int]) -> pa.Table:
        number_of = [{name: number for number, name in enumerate(part.documents.names)} for part in self._parts]
        files, numbers = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        owner = self._owners(rows)
        by_owner = np.argsort(owner, kind="stable")
        owners, begins = np.unique(owner[by_owner], return_index=True)
        for k, mine in zip(owners.tolist(), np.split(by_owner, begins[1:]), strict=False):
            piece = self._pieces[k]
            documents = self._parts[piece.part].documents
            numbers[mine] = piece.at(rows[mine])
            of_file = numbers[mine] if documents.format == "text" else number_of[piece.part][piece.source]
            files[mine] = first_files[piece.part] + of_file
        return pa.table([rows, files, numbers], schema=LOCATED)

    def find(self, id: Id, in_reference: bool) -> bool:
        """Whether there is a document of this id in the reference set, or in the new input."""
        return self._row_in(id, in_reference) is not None

    def _row(self, id: Id) -> int | None:
        """Find a document by its name."""
        rows = (self._row_in(plain, old) for old, plain in readings(id))
        return next((row for row in rows if row is not None), None)

    def _row_in(self, id: Id, in_reference: bool) -> int | None:
        """Find a document of one side by its id."""
        last = len(self._parts) - 1
        for number in reversed(range(last)) if in_reference else (last,):
            pieces = [piece for piece in self._pieces if piece.part == number]
            named = self._parts[number].id is not None
            row = self._row_by_id(id, number, pieces) if named else self._row_by_number(id, pieces)
            if row is not None:
                return row
        return None

    def _row_by_number(self, id: Id, pieces: list[_Piece]) -> int | None:
        source, number = (None, id) if isinstance(id, int) else split_id(id)
        if number is None:
            return None
        rows = (piece.row(number) for piece in pieces if source in (None, piece.source))
        return next((row for row in rows if row is not None), None)

    def _row_by_id(self, id: Id, number: int, pieces: list[_Piece]) -> int | None:
        part = self._parts[number]
        first_of = {piece.chunk: piece.first for piece in pieces}
        for chunk in part.documents.chunks(first_of.keys(), [str(part.id)]):
            places = places_of_id(chunk.read([str(part.id)]).table.column(0), id)
            if len(places):
                return first_of[chunk.index] + int(places[0])
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


def _read_again(names: list[str], wanted: Mapping[int, tuple[_Piece, Int64s]], chunk: Chunk) -> pa.Table:
    """Read the wanted rows of a chunk. Raises InputError if it has other rows than before."""
    piece, rows = wanted[chunk.index]
    table = chunk.read(names).table
    if table.num_rows != piece.count:  # another column is damaged
        table = chunk.read(names[:1]).table
    if table.num_rows != piece.count:
        raise InputError(
            f"{piece.source} changed while it was read",
            "Inputs that do not change during a run",
            "Start again when nothing writes to it",
        )
    return _texts_table(rows, table.take(pa.array(rows - piece.first)))


def _texts_table(rows: Int64s, table: pa.Table) -> pa.Table:
    """Return TEXTS of rows, from a table of their texts and other values."""
    texts, *others = table.columns
    fields = pa.nulls(len(rows), pa.string())
    if others:
        values = other_values(table.select(range(1, table.num_columns)))
        fields = pa.array([msgspec.json.encode(of).decode() for of in values], pa.string())
    return pa.table([pa.array(rows), _bytes_of(texts), fields], schema=TEXTS)


def _bytes_of(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a text column as bytes; no text is an empty one."""
    values = as_binary(texts)
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return pc.fill_null(values.cast(pa.large_binary()), b"")
    return pa.chunked_array([pa.array(map(as_bytes, values.to_pylist()), pa.large_binary())])


def _columns_of(part: Part, wanted: Collection[int]) -> list[str]:
    """The text, and other columns to store with it: of saved parts, those of the files with the wanted chunks."""
    saved = saved_in(part.documents)
    readers = [part.documents] if saved is None else saved.readers(wanted)
    others = dict.fromkeys(name for one in readers for name in other_columns(one, part.text, part.id))
    return [part.text, *list(others)[:MOST_FIELDS]]


def other_columns(documents: Documents, text: str, id: str | None) -> list[str]:
    """Return the columns with other values of documents: those that fit into a line, no lists and no records."""
    if documents.format == "text":
        return [*METADATA, ORIGIN, *PLACE]
    others = [
        one.name
        for one in documents.columns
        if one.name not in (text, id) and (one.kind != "other" or _is_date(documents, one.name))
    ]
    return others[:MOST_FIELDS]


def _is_date(documents: Documents, name: str) -> bool:
    kind = column_type(documents, name)
    return kind is not None and bool(pa.types.is_temporal(kind))


def other_values(table: pa.Table) -> Iterator[dict[str, str]]:
    """Yield the values of each row in words, shortened; missing ones are left out."""
    plain = pa.table([as_binary(values) for values in table.columns], table.column_names)
    for row in plain.to_pylist():
        yield {name: shorten(_in_words(value), FIELD_WIDTH) for name, value in row.items() if value is not None}


def _in_words(value: object) -> str:
    if isinstance(value, list):  # addresses
        return ", ".join(map(_in_words, value))
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class StoredTexts:
    """The texts in the folder of a stored result, and the other values of their documents.

    ``rows`` are the rows of the run that they belong to, ascending; ``place_of`` has the file of each and its row
    there. Anyone may have made the folder.
    """

    saved = False

    def __init__(self, folder: Path, rows: Int64s, place_of: Callable[[int], tuple[str, int | None]]) -> None:
        self._folder, self._rows, self._place_of = folder, rows, place_of
        self._brought: dict[int, dict[str, Any]] = {}

    @cached_property
    def _documents(self) -> Documents:
        path = str(self._folder / TEXTS_FILE)
        documents = open_sources(Discovered("parquet", path, (Source(path, path, None),)), AUTO)
        documents.require("text", "row")
        return documents

    def read_ahead(self, rows: Int64s) -> bool:
        """Read ``rows`` (ascending) at once for ``look`` and ``fields``, in place of those brought before."""
        places = np.searchsorted(self._rows, rows)
        brought: dict[int, dict[str, Any]] = {}
        row_at = dict(zip(places.tolist(), rows.tolist(), strict=True))
        if isinstance(self._documents, ParquetDocuments):
            for part in self._documents.some_rows(places, ["text", "fields", "row"]):
                stored = zip(part.row_numbers.tolist(), part.table.to_pylist(), strict=True)
                brought.update(
                    (row, values) for place, values in stored if (row := row_at[place]) == values["row"]
                )
        self._brought = brought
        return bool(brought)

    def look(self, id: Id, row: int | None) -> Looked | None:
        """Return a stored document. Raises InputError for one in no pair and no copy, whose text is not stored."""
        values = None if row is None else self._brought.get(row) or self._values(row, "text")
        if row is None or values is None:
            raise InputError(
                f"The text of {printable(id)} is not stored",
                "Documents in pairs and copies",
                "Compare files or rows of files: neardup compare FILE#ROW FILE#ROW",
            )
        text = as_bytes(values["text"])
        path, number = self._place_of(row)
        return Looked(id, text.decode("utf-8", "replace"), len(text), shown_name(path), number)

    def fields(self, row: int) -> Mapping[str, Any]:
        """Return the other values of the document of a row, shortened; {} if it has none."""
        values = self._brought.get(row) or self._values(row, "fields")
        return {} if values is None or values["fields"] is None else self._decode_fields(values["fields"])

    def others(self, rows: Int64s) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield ``rows`` (ascending) with the other values of their documents."""
        for table in self._tables(rows, ["row", "fields"]):
            for row, fields in zip(*(values.to_pylist() for values in table.columns), strict=True):
                if fields is not None:
                    yield row, self._decode_fields(fields)

    def _decode_fields(self, fields: str) -> Mapping[str, str]:
        try:
            return msgspec.json.decode(fields, type=dict[str, str])
        except msgspec.MsgspecError as error:
            raise damaged_error(self._folder, f"{TEXTS_FILE} cannot be used: {error}") from error

    def each(self, rows: Int64s) -> Iterator[tuple[int, bytes]]:
        """Yield ``rows`` (ascending) with their texts."""
        for table in self._tables(rows, ["row", "text"]):
            yield from zip(table["row"].to_pylist(), map(as_bytes, table["text"].to_pylist()), strict=True)

    def to_store(self, rows: Int64s) -> Iterator[pa.Table]:
        """Yield TEXTS of ``rows``, as they were stored."""
        for table in self._tables(rows, TEXTS.names):
            try:
                yield table.cast(TEXTS)
            except pa.ArrowException as error:
                raise damaged_error(self._folder, f"{TEXTS_FILE} cannot be used: {error}") from error

    def _values(self, row: int, name: str) -> dict[str, Any] | None:
        """The value of a column for a row of the run; None if the row is not stored."""
        place = int(np.searchsorted(self._rows, row))
        if place == len(self._rows) or self._rows[place] != row:
            return None
        values: dict[str, Any] = row_of(self._documents, place, [name, "row"]).to_pylist()[0]
        if values["row"] != row:
            raise damaged_error(self._folder, f"{TEXTS_FILE} has the texts of other documents")
        return values

    def _tables(self, rows: Int64s, names: list[str]) -> Iterator[pa.Table]:
        """Read the chunks with some rows, and yield these rows."""
        places = np.searchsorted(self._rows, rows)
        for chunk, after in pairwise(chain(self._documents.chunks(None, names), [None])):
            if isinstance(chunk, FailedChunk):
                raise damaged_error(self._folder, f"{TEXTS_FILE} cannot be read: {chunk.problem.reason}")
            assert chunk is not None
            begin = np.searchsorted(places, chunk.first_row)
            mine = rows[begin:] if after is None else rows[begin : np.searchsorted(places, after.first_row)]
            if len(mine):
                table = chunk.read(names).table
                yield table.filter(pa.array(np.isin(column(table, "row"), mine)))
