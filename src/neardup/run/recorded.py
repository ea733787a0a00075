"""The texts of a stored result, read again from the places of the input that the result records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.readers.digests import digest_of_file
from neardup.io.readers.discover import find_files
from neardup.io.readers.lookup import Read, as_bytes, opened, read_row
from neardup.io.readers.manifest import damaged
from neardup.io.readers.places import Recorded, recorded_files
from neardup.io.readers.sources import Source
from neardup.run.records import Id, Looked
from neardup.run.stored import StoredResult
from neardup.run.texts import LOCATED, places_of_id, split_id
from neardup.settings import ReadingSettings, Settings
from neardup.tables import PLACE_TABLES, Int64s, column


def stored_texts(stored: StoredResult, inputs: Sequence[str | Path]) -> StoredTexts | None:
    """Return the texts of a stored result; None if it records no places. Raises InputError for impossible ones."""
    if stored.places.keys() < set(PLACE_TABLES):
        return None
    located = stored.places["located"]
    try:
        files = recorded_files(stored.places["places"])
        if located.schema.names != LOCATED.names or located.schema.types != LOCATED.types:
            raise ValueError("the columns of located are others")
        file = column(located, "file")
        if not np.isin(file, list(files)).all() or (np.diff(column(located, "row")) <= 0).any():
            raise ValueError("located names files that places does not")
    except ValueError as error:
        raise damaged(stored.folder, f"its places cannot be used: {error}") from error
    reading = Settings.of(**stored.run["settings"]).reading
    return StoredTexts(files, stored.places, reading, [str(name) for name in inputs])


class StoredTexts:
    """The texts of a result in a folder, read from the recorded places of the input.

    A recorded file is read only if its size and digest are the recorded ones: the folder may come from anybody.
    Files that the caller names (``inputs``) replace recorded paths.
    """

    def __init__(
        self,
        files: dict[int, Recorded],
        tables: dict[str, pa.Table],
        reading: ReadingSettings,
        inputs: Sequence[str] = (),
    ) -> None:
        self._files, self._tables, self._reading = files, tables, reading
        self._inputs = tuple(inputs)
        self._checked: dict[int, Recorded] = {}

    def look(self, id: Id, row: int | None) -> Looked | None:
        """Read the row at its recorded place."""
        located = self._tables["located"]
        at = -1 if row is None else int(np.searchsorted(column(located, "row"), row))
        if row is not None and at < located.num_rows and located["row"][at].as_py() == row:
            return self._read(id, located["file"][at].as_py(), located["number"][at].as_py())
        return self._elsewhere(id)

    def tables(self, rows: Int64s) -> dict[str, pa.Table]:
        """Return the recorded places again."""
        return self._tables

    def _read(self, id: Id, number: int, row: int) -> Looked:
        file = self._verified(number)
        found = read_row(file, row, self._reading)
        if found.id is not None and str(found.id) != str(id):
            raise changed(file, f"row {row:,} is the document {printable(found.id)}, not {printable(id)}")
        return _looked(id, found, file, row)

    def _elsewhere(self, id: Id) -> Looked | None:
        """Find a document that is in no pair: by the row in its id, else by reading the ids of the input."""
        source, row = (None, None) if isinstance(id, int) else split_id(id)
        for number, file in sorted(self._files.items(), key=lambda item: item[1].reference):
            if file.format == "text":
                if id == file.name and file.id is not None:
                    return self._read(id, number, file.stretches[0][0])
            elif file.id is None:
                if row is not None and source == file.name:
                    return self._read(id, number, row)
            elif (found := self._scanned(id, number)) is not None:
                return found
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
    if not file.source.is_local:
        if not named:
            raise _refused(file, "it is a URL, and a URL in a result is not fetched unasked")
        return
    if file.digest is None and not named:
        raise _refused(file, "the result has no digest to recognise it by")
    try:
        same = file.digest is None or digest_of_file(file.path) == file.digest
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


def _looked(id: Id, read: Read, file: Recorded, row: int) -> Looked:
    text = read.text.decode("utf-8", "replace")
    return Looked(id, text, len(read.text), file.path, None if file.format == "text" else row)


def _last_part(name: str) -> str:
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2]
