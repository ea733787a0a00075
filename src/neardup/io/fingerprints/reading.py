"""Read a folder of fingerprints. No file in it is decoded before its digest is compared."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from neardup.display import printable
from neardup.errors import FormatError, InputError
from neardup.io.fingerprints.chunk import ChunkFacts, ReadChunk, from_slots, row_schema, sketch_schema
from neardup.io.fingerprints.keys import name_of
from neardup.io.fingerprints.records import (
    BAND_SCHEMA,
    BANDS,
    CHUNKS,
    COLUMNS,
    FILES,
    FORMAT,
    MANIFEST,
    PLACES,
    ROWS,
    SKETCHES,
    SavedManifest,
    read_seals,
    read_slots,
)
from neardup.io.fingerprints.writing import sealed_manifest
from neardup.io.readers.digests import digest_of_file, open_regular
from neardup.io.readers.manifest import read_regular
from neardup.settings import Settings
from neardup.tables import FORMAT_VERSION, Int64s, UInt32s, UInt64s
from neardup.text.unicode_data import UNICODE_VERSION

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
        data = read_regular(folder / MANIFEST, (folder / MANIFEST).lstat().st_size)
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
    neardup_version: str
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
            f"{printable(found.unicode)}, written by neardup {printable(found.neardup_version)}",
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

    def chunks(self, wanted: Collection[int] | None = None) -> Iterator[ReadChunk]:
        """Yield the fingerprints of all chunks, in order, or only read those of ``wanted`` indexes."""
        whole = wanted is None
        rows, sketches, columns = (self._open(name, whole=whole) for name in (ROWS, SKETCHES, COLUMNS))
        self._require_schema(ROWS, rows.schema, row_schema(self.settings))
        self._require_schema(SKETCHES, sketches.schema, sketch_schema(*self.sizes))
        readers = (rows, sketches, columns) if len(columns.schema) else (rows, sketches)
        if {reader.num_record_batches for reader in readers} != {len(self.facts)}:
            raise self.unusable("its files do not belong together")
        for number, facts in enumerate(self.facts):
            if wanted is not None and facts.index not in wanted:
                continue
            try:
                batches = [reader.get_batch(number) for reader in readers]
                for batch in batches:
                    batch.validate(full=True)
            except (pa.ArrowException, OSError, ValueError) as error:
                raise self.unusable(f"chunk {number:,} cannot be used: {error}") from error
            if {batch.num_rows for batch in batches} != {facts.rows}:
                raise self.unusable("its files do not belong together")
            saved = {name: column for batch in (batches[0], *batches[2:]) for name, column in _columns(batch)}
            yield ReadChunk.of(facts, {**saved, **from_slots(batches[1], self.sizes[0])})

    @cached_property
    def indexes(self) -> int:
        """One more than the largest index of a chunk."""
        return max((facts.index for facts in self.facts), default=-1) + 1

    @cached_property
    def facts(self) -> list[ChunkFacts]:
        """The facts of all chunks, in order."""
        try:
            decode = msgspec.json.Decoder(ChunkFacts).decode
            chunks = [decode(line) for line in self._bytes(CHUNKS).splitlines()]
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self.unusable(f"{CHUNKS} cannot be used: {error}") from error
        counts = self.manifest.counts
        if (len(chunks), sum(facts.rows for facts in chunks)) != (counts.chunks, counts.rows):
            raise self.unusable("its files do not belong together")
        return chunks

    def slots(self, first: int, count: int) -> Iterator[UInt32s]:
        """Yield some slots of all signatures, chunk by chunk (uint32[rows, count]); the others are not read."""
        return read_slots(self.checked(SKETCHES), first, count)

    def seals(self) -> Iterator[tuple[Int64s, UInt64s]]:
        """Yield (units, first words of the seals) of all rows, chunk by chunk."""
        return read_seals(self.checked(ROWS))

    def places(self) -> pa.Table:
        """Return the places of the texts (``io.readers.places.PLACES``)."""
        return self._table(PLACES)

    def unusable(self, why: str) -> InputError:
        """Return the error for this folder."""
        return _unusable(self.folder, why)

    def _bytes(self, name: str) -> bytes:
        written = self.manifest.files[name]
        try:
            data = read_regular(self.folder / name, written.bytes)
        except OSError as error:
            raise self.unusable(f"{name} cannot be read: {error.strerror or error}") from error
        if len(data) != written.bytes or hashlib.sha256(data).hexdigest() != written.sha256:
            raise self.unusable(f"{name} has been changed: its size or its SHA-256 is another")
        return data

    def checked(self, name: str) -> Path:
        """Return the path of a file that is only looked up in, after comparing its size and a sample of it."""
        written, path = self.manifest.files[name], self.folder / name
        try:
            same = path.lstat().st_size == written.bytes and digest_of_file(str(path)).hex() == written.sample
        except OSError as error:
            raise self.unusable(f"{name} cannot be read: {error.strerror or error}") from error
        if not same:
            raise self.unusable(f"{name} has been changed: its size or its content is another")
        return path

    def _whole(self, name: str) -> Path:
        """Return the path of a file after comparing its digest; it is not held in memory."""
        written, path = self.manifest.files[name], self.folder / name
        try:
            with open_regular(str(path)) as file:
                same = hashlib.file_digest(file, "sha256").hexdigest() == written.sha256
        except OSError as error:
            raise self.unusable(f"{name} cannot be read: {error.strerror or error}") from error
        if not same:
            raise self.unusable(f"{name} has been changed: its SHA-256 is another")
        return path

    def _open(self, name: str, *, whole: bool = True) -> Any:
        """Open a file batch by batch, after comparing all of it or a sample."""
        path = self._whole(name) if whole else self.checked(name)
        try:
            return pa.ipc.open_file(pa.OSFile(os.fsencode(path)))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self.unusable(f"{name} cannot be used: {error}") from error

    def _table(self, name: str) -> pa.Table:
        try:
            table = pa.ipc.open_file(pa.BufferReader(self._bytes(name))).read_all()
            table.validate(full=True)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self.unusable(f"{name} cannot be used: {error}") from error
        return table

    def _require_schema(self, name: str, found: pa.Schema, expected: pa.Schema) -> None:
        if not found.equals(expected):
            raise self.unusable(f"{name} has other columns")


class SortedBands:
    """The sorted keys of a part, mapped: a look-up reads a few pages of each band.

    Raises InputError for keys that cannot be those of its rows.
    """

    def __init__(self, part: SavedFingerprints) -> None:
        self._part, self._rows = part, part.manifest.counts.rows
        try:
            # the file is mapped, not read: it may be larger than memory
            self._reader = pa.ipc.open_file(pa.memory_map(os.fsencode(part.checked(BANDS))))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise part.unusable(f"{BANDS} cannot be used: {error}") from error
        whole = self._reader.num_record_batches == len(part.manifest.bands) + 1
        if not whole or not self._reader.schema.equals(BAND_SCHEMA):
            raise part.unusable(f"{BANDS} has other bands")

    def rows_with(self, place: int, keys: UInt64s) -> Int64s:
        """Return the rows that have one of these ``keys`` (ascending) in a band; the seals are the last one."""
        try:
            batch = self._reader.get_batch(place)
            batch.validate()
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._part.unusable(f"{BANDS} cannot be used: {error}") from error
        stored, rows = (batch.column(name).to_numpy() for name in BAND_SCHEMA.names)
        first, until = (np.searchsorted(stored, keys, side) for side in ("left", "right"))
        met = until > first
        first, counts = first[met], (until - first)[met]
        ends = np.cumsum(counts)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - counts), counts)
        found: Int64s = rows[places].astype(np.int64)
        if len(found) and int(found.max()) >= self._rows:
            raise self._part.unusable(f"{BANDS} names rows that the part does not have")
        return found


def _columns(batch: Any) -> Iterator[tuple[str, pa.Array]]:
    return zip(batch.schema.names, batch.columns, strict=True)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _unusable(folder: Path, why: str) -> InputError:
    return InputError(
        f"The fingerprints in {folder} cannot be used: {why}",
        "A folder as neardup fingerprint has written it, with all its files",
        _AGAIN,
    )
