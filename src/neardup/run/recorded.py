"""The texts of a stored result, read again from the places of the input that the result records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.display import printable
from neardup.errors import InputError, NeardupError
from neardup.io.names import shown_name
from neardup.io.readers import AUTO
from neardup.io.readers.base import Documents, FailedChunk
from neardup.io.readers.discovery import find_files
from neardup.io.readers.lookup import Read, as_bytes, opened, read_fields, read_row, row_of
from neardup.io.readers.manifest import damaged
from neardup.io.readers.places import PLACES, Recorded, RecordedFiles
from neardup.io.readers.sources import Source
from neardup.run.records import Id, Looked
from neardup.run.stored import StoredResult
from neardup.run.texts import LOCATED, places_of_id, split_id
from neardup.settings import ReadingSettings, Settings
from neardup.tables import PLACE_TABLES, TEXTS_FILE, Int64s, column


def stored_texts(stored: StoredResult, inputs: Sequence[str | Path]) -> StoredTexts | None:
    """Return the texts of a stored result; None if it has neither places nor texts.

    Raises InputError for impossible places.
    """
    if not stored.texts and stored.places.keys() < set(PLACE_TABLES):
        return None
    files = RecordedFiles(PLACES.empty_table())
    if stored.places:
        try:
            files = _checked(stored.places)
        except (ValueError, KeyError) as error:
            raise damaged(stored.folder, f"its places cannot be used: {error}") from error
    kept = _KeptTexts(stored.folder, column(stored.tables["ranks"], "row")) if stored.texts else None
    reading = Settings.of(**stored.run["settings"]).reading
    return StoredTexts(files, stored.places, reading, [str(name) for name in inputs], kept)


def _checked(places: dict[str, pa.Table]) -> RecordedFiles:
    """Return the recorded files. Raises ValueError if the two tables cannot be those of a result."""
    files, located = RecordedFiles(places["places"]), places["located"]
    if located.schema.names != LOCATED.names or located.schema.types != LOCATED.types:
        raise ValueError("the columns of located are others")
    if any(column.null_count for column in located.columns):
        raise ValueError("values are missing in located")
    file, row, number = (column(located, name) for name in ("file", "row", "number"))
    if not np.isin(file, files.numbers).all():
        raise ValueError("located names files that places does not")
    if (np.diff(row) <= 0).any() or (number < 0).any():
        raise ValueError("the rows of located are not in order")
    return files


class _KeptTexts:
    """The texts in the folder of a result; ``rows`` are the rows of the run that they belong to."""

    def __init__(self, folder: Path, rows: Int64s) -> None:
        self._folder, self._rows = folder, rows

    @cached_property
    def file(self) -> Recorded:
        """The file, as the readers open it."""
        path = str(self._folder / TEXTS_FILE)
        return Recorded(False, "parquet", "text", "row", path, path, None, None, ((0, None),))

    @cached_property
    def _documents(self) -> Documents:
        return opened(self.file, AUTO)

    def sweep(self, rows: Int64s) -> Iterator[tuple[int, bytes]]:
        """Yield those of ``rows`` that are stored, with their texts."""
        for chunk in self._documents.chunks(None, ["text", "row"]):
            if isinstance(chunk, FailedChunk):
                continue
            table = chunk.read(["text", "row"]).table
            found = column(table, "row")
            places = np.flatnonzero(np.isin(found, rows))
            texts = table.column(0).take(pa.array(places)).to_pylist()
            yield from ((row, as_bytes(text)) for row, text in zip(found[places].tolist(), texts, strict=True))

    def read(self, row: int) -> Read | None:
        """Return the text of a row of the run; None if it is not stored."""
        at = int(np.searchsorted(self._rows, row))
        if at == len(self._rows) or self._rows[at] != row:
            return None
        found = row_of(self._documents, at, ["text", "row"])
        if found["row"][0].as_py() != row:
            raise damaged(self._folder, f"{TEXTS_FILE} has the texts of other documents")
        return Read(as_bytes(found["text"][0].as_py()))


class StoredTexts:
    """The texts of a result in a folder: those stored in it, and those at the recorded places of the input.

    A recorded file is read only if its digest is the recorded one: the folder may come from anybody. Files that
    the caller names (``inputs``) replace recorded paths.
    """

    def __init__(
        self,
        files: RecordedFiles,
        tables: dict[str, pa.Table],
        reading: ReadingSettings,
        inputs: Sequence[str],
        kept: _KeptTexts | None,
    ) -> None:
        self._files, self._tables, self._reading = files, tables, reading
        self._inputs, self._kept = tuple(inputs), kept
        self._checked: dict[int, Recorded] = {}

    def look(self, id: Id, row: int | None) -> Looked | None:
        """Return the stored text, or read the row at its recorded place."""
        number, file_row = self._located(row)
        kept = None if self._kept is None or row is None else self._kept.read(row)
        if self._kept is not None and kept is not None:
            file = self._kept.file if number is None else self._files[number]
            return _looked(id, kept, file, row if number is None else file_row)
        if number is not None:
            return self._read(id, number, file_row)
        if not len(self._files):
            raise InputError(
                f"The text of {printable(id)} is not stored",
                "Documents in pairs and copies: the others were in memory and are gone",
            )
        return self._elsewhere(id)

    def _located(self, row: int | None) -> tuple[int | None, int]:
        """Return the number of the file of a row of the run, and its row in it; (None, 0) if not recorded."""
        if row is None or not self._tables:
            return None, 0
        located = self._tables["located"]
        at = int(np.searchsorted(column(located, "row"), row))
        if at == located.num_rows or located["row"][at].as_py() != row:
            return None, 0
        return located["file"][at].as_py(), located["number"][at].as_py()

    @property
    def kept(self) -> bool:
        """Whether the texts are in the folder."""
        return self._kept is not None

    @property
    def saved(self) -> bool:
        """No: they belong to a result."""
        return False

    def each(self, rows: Int64s) -> Iterator[tuple[int, bytes]]:
        """Yield the texts of ``rows``."""
        for row in rows.tolist():
            kept = None if self._kept is None else self._kept.read(row)
            if kept is None:
                number, file_row = self._located(row)
                if number is None:
                    raise InputError("The texts of the result are not all known", "A result that is whole")
                kept = read_row(self._verified(number), file_row, self._reading)
            yield row, kept.text

    def sweep(self, rows: Int64s) -> Iterator[tuple[int, bytes]]:
        """Yield ``rows`` with their texts, in the order of the files; those that cannot be read are left out."""
        if self._kept is not None:
            yield from self._kept.sweep(rows)
            return
        located = self._tables.get("located", LOCATED.empty_table())
        known, files, numbers = (column(located, name) for name in ("row", "file", "number"))
        inside = np.isin(known, rows)
        for number in np.unique(files[inside]).tolist():
            mine = inside & (files == number)
            try:
                yield from self._swept(number, known[mine], numbers[mine])
            except (NeardupError, OSError):
                continue

    def _swept(self, number: int, rows: Int64s, numbers: Int64s) -> Iterator[tuple[int, bytes]]:
        file = self._verified(number)
        if file.format == "text":
            yield from (
                (row, read_row(file, at, self._reading).text) for row, at in zip(rows, numbers, strict=True)
            )
            return
        order = np.argsort(numbers)
        rows, numbers = rows[order], numbers[order]
        for chunk in opened(file, self._reading).chunks(None, [file.text]):
            if isinstance(chunk, FailedChunk):
                continue
            found = chunk.read([file.text])
            places = np.flatnonzero(np.isin(found.row_numbers, numbers))
            texts = found.table.column(0).take(pa.array(places)).to_pylist()
            wanted = rows[np.searchsorted(numbers, found.row_numbers[places])].tolist()
            yield from ((row, as_bytes(text)) for row, text in zip(wanted, texts, strict=True))

    def fields(self, row: int) -> dict[str, Any]:
        """Return the other values at the recorded place of a row of the run; {} if the input cannot be read."""
        number, file_row = self._located(row)
        if number is None:
            return {}
        try:
            return read_fields(self._verified(number), file_row, self._reading)
        except (NeardupError, OSError):
            return {}

    def tables(self, rows: Int64s) -> dict[str, pa.Table]:
        """Return the recorded places again."""
        return self._tables

    def inputs(self) -> list[Recorded]:
        """Return the files of the input, without the reference set, in their places of today.

        Raises InputError unless they are the recorded ones. A file that was not read has no digest: its size must
        be the recorded one.
        """
        files = [number for number in self._files.numbers.tolist() if not self._files[number].reference]
        return [self._unread(number) or self._verified(number) for number in files]

    def places_of(self, rows: Int64s) -> tuple[Int64s, Int64s]:
        """Return the numbers of the files of rows of the run, and of the rows in them; −1 where not recorded."""
        located = self._tables["located"]
        recorded, file, number = (column(located, name) for name in ("row", "file", "number"))
        known = np.flatnonzero(np.isin(rows, recorded))
        places = np.full((2, len(rows)), -1, np.int64)
        at = np.searchsorted(recorded, rows[known])
        places[:, known] = file[at], number[at]
        return places[0], places[1]

    @property
    def has_places(self) -> bool:
        """Whether the result records places of its documents."""
        return bool(self._tables)

    def names(self) -> list[tuple[int, str]]:
        """Return the numbers and the names of all recorded files, the new input first."""
        return [(number, self._files[number].name) for number in self._files.numbers.tolist()]

    def file(self, number: int) -> Recorded:
        """Return a recorded file."""
        return self._files[number]

    def name_of(self, number: int) -> str:
        """Return the name of a file in the input."""
        return self._files[number].name

    def _unread(self, number: int) -> Recorded | None:
        """Return a file of a folder that was not read, if it has the recorded size; None for other files."""
        file = self._files[number]
        if file.format != "text" or file.digest is not None:
            return None
        if self._inputs:
            file = replace(file, path=self._among_inputs(file).path)
        if _size_of(file) != file.size:
            raise changed(file, "its size is another")
        return file

    def _read(self, id: Id, number: int, row: int) -> Looked:
        file = self._verified(number)
        found = read_row(file, row, self._reading)
        if found.id is not None and str(found.id) != str(id):
            raise changed(file, f"row {row:,} is the document {printable(found.id)}, not {printable(id)}")
        return _looked(id, found, file, row)

    def _elsewhere(self, id: Id) -> Looked | None:
        """Find a document that is in no pair: by the row in its id, else by reading the ids of the input."""
        for number in self._files.documents_named(str(id)):
            return self._read(id, number, self._files[number].stretches[0][0])
        source, row = (None, None) if isinstance(id, int) else split_id(id)
        for number in self._files.data_files():
            file = self._files[number]
            if file.id is not None:
                if (found := self._scanned(id, number)) is not None:
                    return found
            elif row is not None and source == file.name:
                return self._read(id, number, row)
        return None

    def _scanned(self, id: Id, number: int) -> Looked | None:
        file = self._verified(number)
        names = [file.text, str(file.id)]
        for chunk in opened(file, self._reading).chunks(None, names):
            rows = chunk.read(names)
            found = places_of_id(rows.table.column(1), id)
            if len(found):
                at = int(found[0])
                read = Read(as_bytes(rows.table.column(0)[at].as_py()))
                return _looked(id, read, file, int(rows.row_numbers[at]))
        return None

    def _verified(self, number: int) -> Recorded:
        """Return a file of the input, in its place of today. Raises InputError unless it is the recorded one."""
        if number not in self._checked:
            file = self._files[number]
            if self._inputs:
                file = replace(file, path=self._among_inputs(file).path)
            require_recorded(file, named=bool(self._inputs))
            self._checked[number] = file
        return self._checked[number]

    @cached_property
    def _sources(self) -> tuple[Source, ...]:
        return find_files(self._inputs).sources

    def _among_inputs(self, file: Recorded) -> Source:
        """Return the file of ``inputs`` with the recorded name, else the only one with its last part."""
        same = [source for source in self._sources if source.name == file.name]
        last = _last_part(file.name)
        same = same or [source for source in self._sources if _last_part(source.name) == last]
        same = same or [source for source in self._sources if len(self._sources) == len(self._files) == 1]
        if len(same) != 1:
            how = "no file" if not same else f"{len(same):,} files"
            raise InputError(
                f"The given inputs have {how} named {printable(last)}",
                f"The place of {printable(file.name)} as it was read",
                "Name the file itself, or the folder that holds it",
            )
        return same[0]


def require_recorded(file: Recorded, *, named: bool) -> None:
    """Raise InputError unless a file has the recorded digest, or has none and the caller ``named`` it."""
    if file.source.is_remote:
        if not named:
            raise _refused(file, "it is a URL, and a URL in a result is not fetched unasked")
        return
    if file.digest is None and not named:
        raise _refused(file, "the result has no digest to recognise it by")
    try:
        same = file.digest is None or file.source.digest() == file.digest
    except FileNotFoundError:
        raise _refused(file, "it is not there") from None
    except OSError as error:
        raise _refused(file, error.strerror or str(error)) from error
    if not same:
        raise changed(file, "its content is another")


def changed(file: Recorded, how: str) -> InputError:
    """Return the error for an input that is not as it was."""
    return InputError(
        f"{printable(file.path)} has changed since the result was made: {how}",
        "The input as the run read it",
        "Give --inputs with the place of the unchanged file (inputs= in Python), or make the result again",
    )


def _refused(file: Recorded, why: str) -> InputError:
    return InputError(
        f"{printable(file.path)}, where the documents of the result were, cannot be used: {why}",
        "The input as the run read it",
        "Give --inputs with its place of today (inputs= in Python)",
    )


def _looked(id: Id, read: Read, file: Recorded, row: int | None) -> Looked:
    text = read.text.decode("utf-8", "replace")
    return Looked(id, text, len(read.text), shown_name(file.path), None if file.format == "text" else row)


def _size_of(file: Recorded) -> int | None:
    try:
        return file.source.size_now()
    except OSError:
        return None


def _last_part(name: str) -> str:
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2]
