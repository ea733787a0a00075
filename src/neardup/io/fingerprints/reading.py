"""Read a folder of fingerprints. No file in it is decoded before its digest is compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from neardup.display import printable
from neardup.errors import FormatError, InputError
from neardup.io.attachments import ATTACHMENTS, carried_by
from neardup.io.fingerprints.keys import name_of
from neardup.io.fingerprints.records import (
    CHUNK_SCHEMA,
    CHUNKS,
    COLUMNS,
    FILES,
    FORMAT,
    MANIFEST,
    PLACES,
    PROBLEMS,
    ROWS,
    SKETCHES,
    SavedChunk,
    SavedManifest,
    row_schema,
    sketch_schema,
)
from neardup.io.fingerprints.writing import sealed_manifest
from neardup.io.readers.base import Problem
from neardup.io.readers.manifest import read_regular
from neardup.settings import Settings
from neardup.tables import FORMAT_VERSION
from neardup.text.unicode_data import UNICODE_VERSION

_MOST_MANIFEST = 1 << 30
"""Bytes of a manifest, which names all files of the part."""
_AGAIN = "Fingerprint this part again: neardup fingerprint PART -o FOLDER --overwrite"


def is_fingerprints(path: Path) -> bool:
    """Return whether a path is a folder of fingerprints."""
    return (path / MANIFEST).is_file()


def read_fingerprints(folder: Path, secret: bytes) -> SavedFingerprints:
    """Read the manifest of a folder of fingerprints made under the key ``secret``.

    The other files are read when needed. Raises InputError for a folder that is missing, torn, changed or of
    another key, and FormatError for another version.
    """
    try:
        data = read_regular(folder / MANIFEST, _MOST_MANIFEST)
    except (FileNotFoundError, NotADirectoryError):
        why = f"it has no {MANIFEST}, so it was not finished" if folder.is_dir() else "there is no such folder"
        raise _unusable(folder, why) from None
    except OSError as error:
        raise _unusable(folder, f"{MANIFEST} cannot be read: {error.strerror or error}") from error
    _require_version(folder, data)
    try:
        manifest = msgspec.json.decode(data, type=SavedManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise _unusable(folder, f"{MANIFEST} cannot be used: {printable(str(error))}") from error
    if manifest.key != name_of(secret):
        raise InputError(
            f"{folder} was made under the key {printable(manifest.key)}, and the given key is {name_of(secret)}",
            "Parts that were fingerprinted under one key",
            "Name that key file with --key, or fingerprint the part again with this one",
        )
    if sealed_manifest(manifest, secret).seal != manifest.seal:
        raise _unusable(folder, f"{MANIFEST} has been changed: its seal is not that of its content")
    if set(manifest.files) != set(FILES):
        raise _unusable(folder, f"{MANIFEST} does not name its files")
    return SavedFingerprints(folder, manifest)


class _Version(msgspec.Struct):
    neardup: str
    format: int
    fingerprint: int = -1
    unicode: str = ""


def _require_version(folder: Path, data: bytes) -> None:
    try:
        found = msgspec.json.decode(data, type=_Version)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise _unusable(folder, f"{MANIFEST} cannot be used: {printable(str(error))}") from error
    here = (FORMAT, FORMAT_VERSION, UNICODE_VERSION)
    if (found.format, found.fingerprint, found.unicode) != here:
        raise FormatError(
            f"{folder} has format {found.format}, fingerprints {found.fingerprint} and Unicode "
            f"{printable(found.unicode)}, written by neardup {printable(found.neardup)}",
            f"This program reads format {here[0]}, fingerprints {here[1]} and Unicode {here[2]}",
            "Use one version of neardup for all parts",
        )


@dataclass(frozen=True, eq=False)
class SavedFingerprints:
    """A folder of fingerprints with an authentic manifest."""

    folder: Path
    manifest: SavedManifest

    @cached_property
    def settings(self) -> Settings:
        """The settings under which the fingerprints were made."""
        try:
            return Settings.of(**{name: _plain(value) for name, value in self.manifest.settings.items()})
        except Exception as error:  # sealed, yet another version of the settings
            raise self.unusable(f"its settings cannot be used: {error}") from error

    @property
    def sizes(self) -> tuple[int, int]:
        """The slots of a signature, and the words of a SimHash fingerprint."""
        made = self.settings
        return (0, made.simhash.bits // 64) if made.by_simhash else (made.sketch.slots, 0)

    def chunks(self) -> Iterator[SavedChunk]:
        """Yield the fingerprints of all chunks, in order."""
        rows, sketches = self._open(ROWS), self._open(SKETCHES)
        asked = self.settings.relations
        self._require_schema(ROWS, rows.schema, row_schema((bool(asked.within), bool(asked.across))))
        self._require_schema(SKETCHES, sketches.schema, sketch_schema(*self.sizes))
        chunks, columns = self._table(CHUNKS), self._table(COLUMNS)
        self._require_schema(CHUNKS, chunks.schema, CHUNK_SCHEMA)
        total = self.manifest.counts.rows
        if len({rows.num_record_batches, sketches.num_record_batches, chunks.num_rows}) > 1:
            raise self.unusable("its files do not belong together")
        if columns.num_columns and columns.num_rows != total:
            raise self.unusable(f"{COLUMNS} does not have a value for each row")
        problems, first = self._problems(), 0
        for number, described in enumerate(chunks.to_pylist()):
            batch, sketch = rows.get_batch(number), sketches.get_batch(number)
            if not batch.num_rows == sketch.num_rows == described["rows"]:
                raise self.unusable("its files do not belong together")
            yield self._chunk(
                described, batch, sketch, columns.slice(first, batch.num_rows), problems.get(number, [])
            )
            first += batch.num_rows
        if first != total:
            raise self.unusable("its files do not belong together")

    @cached_property
    def rows_of_chunks(self) -> list[int]:
        """The number of rows in each chunk."""
        found: list[int] = self._table(CHUNKS)["rows"].to_pylist()
        return found

    def places(self) -> pa.Table:
        """Return the places of the texts (``io.readers.places.PLACES``)."""
        return self._table(PLACES)

    def unusable(self, why: str) -> InputError:
        """Return the error for this folder."""
        return _unusable(self.folder, why)

    def _chunk(
        self, described: dict[str, Any], batch: Any, sketch: Any, columns: pa.Table, problems: list[Problem]
    ) -> SavedChunk:
        slots, words = self.sizes
        seals = np.column_stack([_numbers(batch.column(name)) for name in ("key_a", "key_b")])
        carried = carried_by(columns.column(ATTACHMENTS)) if ATTACHMENTS in columns.column_names else {}
        hashes = [
            _numbers(batch.column(name)) if name in batch.schema.names else np.empty(0, np.uint64)
            for name in ("within", "across")
        ]
        return SavedChunk(
            index=described["index"],
            source=described["source"],
            row_numbers=_numbers(batch.column("row")),
            problems=problems,
            attachments=carried,
            units=_numbers(batch.column("units")),
            bytes=_numbers(batch.column("bytes")),
            keys=seals.astype(np.uint64),
            signatures=_by_row(sketch, 0, slots, np.uint32),
            simhashes=_by_row(sketch, slots, words, np.uint64),
            invalid=described["invalid"],
            nulls=described["nulls"],
            ids=_one(columns.column("id")) if "id" in columns.column_names else None,
            extra={
                name.removeprefix("extra:"): _one(columns.column(name))
                for name in columns.column_names
                if name.startswith("extra:")
            },
            related=(hashes[0], hashes[1]),
        )

    def _problems(self) -> dict[int, list[Problem]]:
        found: dict[int, list[Problem]] = {}
        try:
            for line in self._bytes(PROBLEMS).splitlines():
                number, problem = msgspec.json.decode(line, type=tuple[int, Problem])
                found.setdefault(number, []).append(problem)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self.unusable(f"{PROBLEMS} cannot be used: {error}") from error
        return found

    def _bytes(self, name: str) -> bytes:
        written = self.manifest.files[name]
        try:
            data = read_regular(self.folder / name, written.bytes)
        except OSError as error:
            raise self.unusable(f"{name} cannot be read: {error.strerror or error}") from error
        if len(data) != written.bytes or hashlib.sha256(data).hexdigest() != written.sha256:
            raise self.unusable(f"{name} has been changed: its size or its SHA-256 is another")
        return data

    def _open(self, name: str) -> Any:
        try:
            return pa.ipc.open_file(pa.BufferReader(self._bytes(name)))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self.unusable(f"{name} cannot be used: {error}") from error

    def _table(self, name: str) -> pa.Table:
        return self._open(name).read_all()

    def _require_schema(self, name: str, found: pa.Schema, expected: pa.Schema) -> None:
        if not found.equals(expected):
            raise self.unusable(f"{name} has other columns")


def _numbers(column: pa.Array) -> Any:
    return column.to_numpy(zero_copy_only=False)


def _by_row(sketch: Any, first: int, count: int, kind: Any) -> Any:
    found = np.empty((sketch.num_rows, count), kind)
    for place in range(count):
        found[:, place] = _numbers(sketch.column(first + place))
    return found


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _unusable(folder: Path, why: str) -> InputError:
    return InputError(
        f"The fingerprints in {folder} cannot be used: {why}",
        "A folder as neardup fingerprint has written it, with all its files",
        _AGAIN,
    )
