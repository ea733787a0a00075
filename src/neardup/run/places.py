"""Where the documents of a stored result are in its input, to write those that stay from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.readers.discovery import find_files
from neardup.io.readers.manifest import damaged
from neardup.io.readers.places import Recorded, RecordedFiles
from neardup.io.readers.sources import Source
from neardup.run.result_folder import StoredResult
from neardup.run.texts import LOCATED
from neardup.tables import PLACE_TABLES, Int64s, column


class StoredPlaces:
    """The files of the input of a stored result, and the rows of documents in them.

    The folder may come from anybody: a recorded file is read only if its digest is the recorded one. Raises
    ValueError if the tables ``places`` and ``located`` cannot be those of a result.
    """

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self._tables, self._files = tables, RecordedFiles(tables["places"])
        located = tables["located"]
        if located.schema.names != LOCATED.names or located.schema.types != LOCATED.types:
            raise ValueError("the columns of located are others")
        if any(column.null_count for column in located.columns):
            raise ValueError("values are missing in located")
        self._row, self._file, self._number = (column(located, name) for name in LOCATED.names)
        if not np.isin(self._file, self._files.numbers).all():
            raise ValueError("located names files that places does not")
        if (np.diff(self._row) <= 0).any() or (self._number < 0).any():
            raise ValueError("the rows of located are not in order")

    @classmethod
    def of(cls, stored: StoredResult) -> StoredPlaces | None:
        """Return the places of a stored result, None if it has none. Raises InputError for impossible ones."""
        if stored.places.keys() < set(PLACE_TABLES):
            return None
        try:
            return cls(stored.places)
        except (ValueError, KeyError) as error:
            raise damaged(stored.folder, f"its places cannot be used: {error}") from error

    def tables(self, rows: Int64s) -> dict[str, pa.Table]:
        """Return the tables of all documents again."""
        return self._tables

    def of_rows(self, rows: Int64s) -> tuple[Int64s, Int64s]:
        """Return the numbers of the files of rows of the run, and of the rows in them; −1 where not recorded."""
        known = np.flatnonzero(np.isin(rows, self._row))
        places = np.full((2, len(rows)), -1, np.int64)
        at = np.searchsorted(self._row, rows[known])
        places[:, known] = self._file[at], self._number[at]
        return places[0], places[1]

    def of_row(self, row: int) -> tuple[str, int | None]:
        """Return the file of a document and its row there: "" if unknown, None for a file of one document."""
        ((number,), (place,)) = self.of_rows(np.array([row]))
        if number < 0:
            return "", row
        file = self._files[number]
        return file.path, None if file.format == "text" else int(place)

    def names(self) -> list[tuple[int, str]]:
        """Return the numbers and the names of all recorded files."""
        return [(number, self._files[number].name) for number in self._files.numbers.tolist()]

    def file(self, number: int) -> Recorded:
        """Return a recorded file."""
        return self._files[number]

    def inputs(self, moved: Sequence[str]) -> list[Recorded]:
        """Return the files of the input, without the reference set, in their places of today.

        ``moved`` are files and folders that have moved. Raises InputError unless the files are the recorded ones:
        one that was not read has no digest, and its size must be the recorded one.
        """
        places = _Moved(moved) if moved else None
        files = [self._files[number] for number in self._files.numbers.tolist()]
        found = []
        for file in files:
            if file.reference:
                continue
            now = file if places is None else replace(file, path=places.of(file, len(files)))
            _require_recorded(now, named=places is not None)
            found.append(now)
        return found


class _Moved:
    """Files and folders of today."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    @cached_property
    def _sources(self) -> tuple[Source, ...]:
        return find_files(self._names).sources

    def of(self, file: Recorded, files: int) -> str:
        """Return the file with the recorded name, else the only one with its last part; ``files`` are recorded."""
        same = [source for source in self._sources if source.name == file.name]
        last = _last_part(file.name)
        same = same or [source for source in self._sources if _last_part(source.name) == last]
        same = same or [source for source in self._sources if len(self._sources) == files == 1]
        if len(same) != 1:
            how = "no file" if not same else f"{len(same):,} files"
            raise InputError(
                f"The given inputs have {how} named {printable(last)}",
                f"The place of {printable(file.name)} as it was read",
                "Name the file itself, or the folder that holds it",
            )
        return same[0].path


def _require_recorded(file: Recorded, *, named: bool) -> None:
    """Raise InputError unless a file has the recorded digest, or has none and the caller ``named`` it."""
    if file.format == "text" and file.digest is None:
        if _size_of(file) != file.size:
            raise _changed(file, "its size is another")
        return
    if file.source.is_remote:
        if not named:
            why = "it is a URL, which is not fetched unasked, and is stored without user, password and signature"
            raise _refused(file, why, "Give --inputs with the whole URL")
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
        raise _changed(file, "its content is another")


def _changed(file: Recorded, how: str) -> InputError:
    return InputError(
        f"{printable(file.path)} has changed since the result was made: {how}",
        "The input as the run read it",
        "Give --inputs with the place of the unchanged file, or make the result again",
    )


def _refused(file: Recorded, why: str, do: str = "Give --inputs with its place of today") -> InputError:
    return InputError(
        f"{printable(file.path)}, where the documents of the result were, cannot be used: {why}",
        "The input as the run read it",
        do,
    )


def _size_of(file: Recorded) -> int | None:
    try:
        return file.source.size_now()
    except OSError:
        return None


def _last_part(name: str) -> str:
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2]


def no_places() -> InputError:
    """Return the error for a result that does not say where its documents are."""
    return InputError(
        "The result does not record where its documents are: they were in memory or on standard input",
        "A result of documents in files",
        "Make the result again from files",
    )
