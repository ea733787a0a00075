"""Documents whose fingerprints were saved, part by part: their texts are read again only on request."""

import os
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
import pyarrow as pa

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.fingerprints.chunk import ReadChunk
from neardup.io.fingerprints.folder import SavedFingerprints
from neardup.io.formats.charsets import Charset
from neardup.io.place import path_of
from neardup.io.readers import base, open_sources
from neardup.io.readers.columns import Chosen
from neardup.io.readers.composite import filled_table, has_column
from neardup.io.readers.discovery import find_files
from neardup.io.readers.folders import Discovered
from neardup.io.readers.places import RecordedFiles
from neardup.io.readers.sources import Source
from neardup.io.readers.text_files import TextDocuments
from neardup.io.storage.spool import FetchedFile
from neardup.tables import Int64s


class FingerprintedDocuments:
    """The documents of several parts in the given order, as one input.

    All parts are data, or one document a file, and have the same columns, settings and key. ``inputs`` are files
    and folders that hold the texts now, where they have moved.
    """

    def __init__(
        self, parts: Sequence[SavedFingerprints], secret: bytes, inputs: Sequence[str | Path] = ()
    ) -> None:
        several = len(parts) > 1
        self._parts = [_Part(part, several, tuple(inputs)) for part in parts]
        self.secret = secret
        first = parts[0].manifest.input
        formats = {part.manifest.input.format for part in parts}
        self.format = cast(base.Format, first.format if len(formats) == 1 else "mixed")
        self.sources = tuple(source for part in self._parts for source in part.sources)
        in_folder = several and self.format == "text"
        self.names: tuple[str, ...] = ("input",) if in_folder else tuple(n for p in self._parts for n in p.names)
        self.columns = tuple(base.Column(column.name, cast(Any, column.kind)) for column in first.columns)
        sizes = [part.manifest.input.size_bytes for part in parts]
        self.size_bytes: int | None = sum(size or 0 for size in sizes)
        self.findings = _findings(self._parts, several)
        notes = dict.fromkeys(note for part in parts for note in part.manifest.input.notes)
        self.chosen = Chosen(first.text, first.id, tuple(notes), first.id_guessed)
        self._first_chunks = [0, *accumulate(part.saved.indexes for part in self._parts)]
        self._first_sources = [0, *accumulate(len(part.sources) for part in self._parts)]

    def only(self, rows: Sequence[Int64s]) -> "FingerprintedDocuments":
        """Return the same documents with some ``rows`` (ascending) of each part only; problems are left out."""
        chosen = copy(self)
        chosen._parts = [part.only(wanted) for part, wanted in zip(self._parts, rows, strict=True)]
        return chosen

    @property
    def parts(self) -> tuple[SavedFingerprints, ...]:
        """The parts."""
        return tuple(part.saved for part in self._parts)

    def saved_row(self, chunk: int, place: int) -> tuple[Path, int]:
        """Return the folder of the part, and the row in it, of a place among the read rows of a chunk."""
        number = bisect_right(self._first_chunks, chunk) - 1
        part = self._parts[number]
        return part.saved.folder, part.row_at(chunk - self._first_chunks[number], place)

    def require(self, text: str, id: str | None) -> None:
        """Do nothing: the columns are those under which the fingerprints were made."""

    def fingerprints(self) -> Iterator[ReadChunk]:
        """Yield the fingerprints of all chunks, with the numbers and names that one run over all parts uses."""
        for number, part in enumerate(self._parts):
            for chunk in part.fingerprints():
                yield self._renamed_chunk(number, chunk)

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[base.Chunk]:
        """Yield the chunks of the texts, read from where they are now. Raises InputError."""
        indexes = range(self._first_chunks[-1]) if wanted is None else sorted(wanted)
        by_part: dict[int, set[int]] = {}
        for index in indexes:
            number = bisect_right(self._first_chunks, index) - 1
            by_part.setdefault(number, set()).add(index - self._first_chunks[number])
        for number, mine in sorted(by_part.items()):
            part, first = self._parts[number], self._first_chunks[number]
            for chunk in part.chunks(mine, columns):
                yield replace(chunk, index=chunk.index + first, shift=self._shift(number))

    def readers(self, wanted: Collection[int]) -> list[base.Documents]:
        """Return the documents of the parts with these chunks, as they are read now. Raises InputError."""
        numbers = sorted({bisect_right(self._first_chunks, index) - 1 for index in wanted})
        return [self._parts[number].documents for number in numbers]

    def recorded_places(self) -> pa.Table:
        """Return the PLACES of all files, numbered from 0, under their names beside other parts."""
        tables = []
        for number, part in enumerate(self._parts):
            table, first = part.places, self._first_sources[number]
            files = table["file"].to_numpy()
            names = pa.array([part.sources[file].name for file in files.tolist()], pa.string())
            for name, values in (("file", pa.array(files + first)), ("name", names)):
                table = table.set_column(table.schema.get_field_index(name), table.schema.field(name), values)
            tables.append(table)
        return pa.concat_tables(tables)

    def capture(self, source: str, number: int) -> Any:
        """Return the parts of a record of a web archive that a revisit names; None for other documents."""
        part = next(part for part in self._parts if source in part.names)
        return part.capture(part.names.index(source), number)

    def sink(self, folder: Path, extra: Any, threads: int = 1) -> base.Sink:
        """Refuse: the rows of parts are written part by part."""
        raise NotImplementedError("the rows of saved parts are written part by part")

    def _shift(self, number: int) -> int:
        """The row of the whole input at which a part begins: rows are files only in a folder of texts."""
        return self._first_sources[number] if self.format == "text" else 0

    def _renamed_chunk(self, number: int, chunk: ReadChunk) -> ReadChunk:
        part, index = self._parts[number], chunk.facts.index + self._first_chunks[number]
        if self.format != "text" or len(self._parts) == 1:
            return chunk.with_facts(index=index)
        shift, names = self._shift(number), pa.array([source.name for source in part.sources], pa.large_string())
        problems = [
            replace(
                problem,
                source=self.names[0],
                row=None if problem.row is None else problem.row + shift,
                file=None if problem.row is None else names[problem.row].as_py(),
                reason=_under_own_name(problem.reason, problem.file, part.sources, problem.row),
            )
            for problem in chunk.facts.problems
        ]
        columns: dict[str, Any] = {"row": chunk.row_numbers + shift}
        if "id" in chunk:
            columns["id"] = names.take(chunk.batch["row"])
        return chunk.with_columns(columns).with_facts(index=index, source=self.names[0], problems=problems)


def _under_own_name(reason: str, file: str | None, sources: Sequence[Source], row: int | None) -> str:
    if file is None or row is None:
        return reason
    return reason.replace(f"cannot read {file}: ", f"cannot read {sources[row].name}: ", 1)


def _findings(parts: "Sequence[_Part]", several: bool) -> base.Findings:
    found = base.Findings()
    for part in parts:
        made = part.saved.manifest.input
        found.aside += [
            base.Aside(os.path.join(made.name, name) if several else name, why) for name, why in made.aside
        ]
        found.encodings |= {
            part.full_names.get(name, name): Charset(encoding, cast(Any, how), certainty)
            for name, (encoding, how, certainty) in made.encodings.items()
        }
    return found


class _Part:
    """One part: its files under the names of the whole input, and its documents once they are asked for."""

    def __init__(self, saved: SavedFingerprints, several: bool, inputs: tuple[str | Path, ...]) -> None:
        self.saved, self._inputs = saved, inputs
        files = saved.manifest.input.sources
        self.full_names = {file.name: file.full for file in files} if several else {}
        self.sources = tuple(
            Source(file.full if several else file.name, path_of(file.path), file.size, file.partition)
            for file in files
        )
        made = saved.manifest.input
        self.names = made.names if made.format == "text" else tuple(source.name for source in self.sources)
        self._positions: dict[int, Int64s] | None = None

    def only(self, rows: Int64s) -> "_Part":
        """The part with some rows (ascending) only."""
        chosen = copy(self)
        indexes, firsts = list(self._first_rows), np.fromiter(self._first_rows.values(), np.int64)
        chunk = np.searchsorted(firsts, rows, side="right") - 1
        chosen._positions = {
            indexes[number]: rows[chunk == number] - firsts[number] for number in np.unique(chunk).tolist()
        }
        return chosen

    @cached_property
    def _first_rows(self) -> dict[int, int]:
        firsts = accumulate((facts.rows for facts in self.saved.facts), initial=0)
        return {facts.index: first for facts, first in zip(self.saved.facts, firsts, strict=False)}

    def row_at(self, index: int, place: int) -> int:
        """The row of the part at a place among the chosen rows of a chunk."""
        chosen = place if self._positions is None else int(self._positions[index][place])
        return self._first_rows[index] + chosen

    def fingerprints(self) -> Iterator[ReadChunk]:
        """Yield the fingerprints of all chunks, or of the chosen rows."""
        if self._positions is None:
            yield from self.saved.chunks()
            return
        for chunk in self.saved.chunks(self._positions.keys()):
            yield chunk.only(self._positions[chunk.facts.index])

    @cached_property
    def places(self) -> pa.Table:
        """The PLACES of the part. Raises InputError if they cannot be those of its files."""
        places = self.saved.places()
        try:
            numbers = RecordedFiles(places).numbers
        except ValueError as error:
            raise self.saved.unusable_error(f"its places cannot be used: {error}") from error
        if len(numbers) and not 0 <= int(numbers.max()) < len(self.sources):
            raise self.saved.unusable_error("its places name files that the part does not have")
        return places

    def chunks(self, wanted: Collection[int], columns: Sequence[str] | None) -> "Iterator[_Checked]":
        """Yield chunks of the texts; reading one raises InputError if its rows are not those of the first pass."""
        rows = {facts.index: facts.rows for facts in self.saved.facts}
        present = None if columns is None else [name for name in columns if has_column(self.documents, name)]
        for chunk in self.documents.chunks(wanted, present):
            chosen = None if self._positions is None else self._positions[chunk.index]
            yield _Checked(chunk.index, chunk, self, rows[chunk.index], chosen)

    def capture(self, position: int, number: int) -> Any:
        """Return the parts of a record in the file at a position."""
        documents = self.documents
        capture = getattr(documents, "capture", None)
        return None if capture is None else capture(documents.names[position], number)

    @cached_property
    def documents(self) -> base.Documents:
        """The documents, read from where they are now. Raises InputError if these are not the recorded ones."""
        made, settings = self.saved.manifest.input, self.saved.settings
        sources = tuple(self._reachable(number) for number in range(len(self.sources)))
        found = Discovered(cast(base.Format, made.format), made.name, sources)
        documents = open_sources(found, settings.reading)
        documents.require(made.text, made.id)
        return documents

    def _reachable(self, number: int) -> Source:
        """The file at its place of today, if it is the recorded one."""
        file = self.saved.manifest.input.sources[number]
        path = path_of(file.path)
        remote = FetchedFile(path) if "://" in path else None
        source = Source(file.name, path, file.size, file.partition, remote=remote)
        if self._inputs:
            source = replace(source, path=self._current_path(source))
        digest = self._digests.get(number)
        if source.remote is not None and number in self._digests:
            if not RecordedFiles(self.places)[number].pin.is_of(source.remote.pin):
                self.refuse(source)
            return source
        if source.file is None or (digest is None and self.saved.manifest.input.format != "text"):
            return source
        try:
            if self.saved.manifest.input.format == "text":
                same = source.size_now() == source.size
            else:
                same = source.digest() == digest
        except OSError as error:
            why = (
                "is not there"
                if isinstance(error, FileNotFoundError)
                else f"cannot be read: {error.strerror or error}"
            )
            raise InputError(
                f"{printable(source.path)} of the part {self.saved.folder} {why}",
                "The files of each part where they were fingerprinted, to verify pairs",
                "Name their place of today with --inputs",
            ) from error
        if not same:
            self.refuse(source)
        return source

    @cached_property
    def _digests(self) -> dict[int, bytes | None]:
        table = self.places
        return dict(zip(table["file"].to_pylist(), table["digest"].to_pylist(), strict=True))

    def require_digests(self, numbers: base.RowNumbers) -> None:
        """Raise InputError if files that are one document each, read by now, are not those of the first pass."""
        documents = self.documents
        assert isinstance(documents, TextDocuments)
        for number in numbers.tolist():
            if documents.digest(number) not in (None, self._digests.get(number)):
                self.refuse(self.sources[number])

    def refuse(self, source: Source) -> NoReturn:
        """Raise the error for a file that has changed since the part was fingerprinted."""
        raise InputError(
            f"{printable(source.path)} has changed since the part {self.saved.folder} was fingerprinted",
            "The files as they were fingerprinted",
            "Fingerprint this part again, and merge again",
        )

    @cached_property
    def _places_now(self) -> dict[str, list[str]]:
        """The paths of the named inputs, by their names and by the last parts of these."""
        found: dict[str, list[str]] = {}
        for source in find_files(self._inputs).sources:
            for name in {source.name, os.path.basename(source.name)}:
                found.setdefault(name, []).append(source.path)
        return found

    def _current_path(self, source: Source) -> str:
        last = os.path.basename(source.name)
        same = self._places_now.get(source.name) or self._places_now.get(last, [])
        if len(same) == 1:
            return same[0]
        if not same:  # the other parts may be among the named places, this one where it was
            return source.path
        raise InputError(
            f"The given inputs have {len(same):,} files named {printable(last)}",
            f"The place of {printable(source.name)} as it was read",
            "Name the file itself, or the folder that holds it",
        )


def _null(name: str, rows: int) -> pa.Array:
    """The values of a column that a part lacks."""
    return pa.nulls(rows, pa.large_string())


@dataclass(frozen=True, eq=False)
class _Checked:
    """A chunk of a part whose rows are compared with those of the first pass."""

    index: int
    chunk: base.Chunk
    part: _Part
    rows: int
    positions: Int64s | None
    shift: int = 0

    @property
    def source(self) -> str:
        return self.part.full_names.get(self.chunk.source, self.chunk.source)

    @property
    def first_row(self) -> int:
        return self.chunk.first_row + self.shift

    def read(self, columns: Sequence[str]) -> base.ReadRows:
        """Read the columns, null where the part lacks them; no row if a column after the first is damaged."""
        present = [name for name in columns if has_column(self.part.documents, name)]
        found = self.chunk.read(present)
        if found.table.num_rows != self.rows:
            if len(present) == 1 or self.chunk.read(present[:1]).table.num_rows != self.rows:
                self.part.refuse(Source(self.source, self.source))
            return replace(found, table=found.table.slice(0, 0), row_numbers=found.row_numbers[:0])
        found = replace(found, table=filled_table(found.table, columns, _null))
        if self.part.saved.manifest.input.format == "text":
            self.part.require_digests(found.row_numbers)
        found = replace(found, row_numbers=found.row_numbers + self.shift)
        if self.positions is None:
            return found
        table = found.table.take(pa.array(self.positions))
        return base.ReadRows(table, found.row_numbers[self.positions])

    def read_native(self) -> base.NativeRows:
        return self.chunk.read_native()
