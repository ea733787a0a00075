"""A folder of fingerprints: its files, how they are written whole or not at all, and how they are read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from neardup.display import printable
from neardup.errors import FormatError, InputError, OutputError
from neardup.io.attachments import ATTACHMENTS, ATTACHMENTS_TYPE
from neardup.io.fingerprints.chunk import (
    KEY,
    UNITS,
    ChunkFacts,
    ReadChunk,
    by_slot,
    from_slots,
    row_schema,
    sketch_schema,
)
from neardup.io.fingerprints.companions import name_of, seal_of
from neardup.io.readers.columns import join_ids
from neardup.io.readers.manifest import Digest, Size, read_regular
from neardup.io.readers.sources import digest_of_file, open_regular
from neardup.io.writers.output import WholeFolder
from neardup.settings import Settings
from neardup.tables import FORMAT_VERSION, Int64s, UInt32s, UInt64s, one_array
from neardup.unicode import UNICODE_VERSION

FORMAT = 3
"""Version of the layout of the folder."""
MANIFEST = "fingerprints.json"
ROWS, SKETCHES, CHUNKS, COLUMNS = "rows.arrow", "sketches.arrow", "chunks.jsonl", "columns.arrow"
PLACES, BANDS = "places.arrow", "bands.arrow"
FILES = (ROWS, SKETCHES, CHUNKS, COLUMNS, PLACES, BANDS)
"""The files of a folder beside its manifest."""

BAND_SCHEMA = pa.schema([("key", pa.uint64()), ("row", pa.uint32())])
"""A batch is a band: the keys of all rows with text in it, ascending, and their rows in the part. A last batch
holds the first words of the seals, by which exact copies are looked up."""

_AGAIN = "Fingerprint this part again: neardup fingerprint PART -o FOLDER --overwrite"


class SavedManifest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The manifest: settings and versions, the part of the input, the files with their digests.

    ``bands`` are the slots of each band whose keys are stored in order.
    ``key`` names the key under which documents were compared; ``seal`` is a keyed digest of all the rest.
    """

    neardup_version: str
    format: int
    fingerprint: int
    unicode: str
    key: str
    settings: dict[str, Any]
    input: SavedInput
    counts: SavedCounts
    bands: tuple[int, ...]
    files: dict[str, SavedFile]
    seal: str = ""


class SavedInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The part of the input: its files, its columns and the remarks of its reader."""

    format: str
    name: str
    names: tuple[str, ...]
    columns: tuple[SavedColumn, ...]
    text: str
    id: str | None
    id_guessed: bool
    size_bytes: int | None
    sources: tuple[SavedSource, ...]
    notes: tuple[str, ...]
    aside: tuple[tuple[str, str], ...]
    encodings: dict[str, tuple[str, str, float]]


class SavedSource(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A file of the part: its name there, and its ``full`` name beside other parts."""

    name: str
    full: str
    path: str
    size: int | None
    partition: tuple[tuple[str, str | None], ...] = ()


class SavedColumn(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A column of the input that may be asked for."""

    name: str
    kind: str


class SavedCounts(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Numbers to check the files by."""

    chunks: int
    rows: int
    problems: int


class SavedFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A file: its size, the SHA-256 of its content, and the digest of a sample (``io.readers.digests``).

    A file that is only looked up in, and may be larger than memory, is recognised by its sample.
    """

    bytes: Size
    sha256: Digest
    sample: str


def is_fingerprints(path: Path) -> bool:
    """Return whether a path is a folder of fingerprints."""
    return (path / MANIFEST).is_file()


def manifest_of(folder: Path) -> bytes:
    """Return the manifest of a folder of fingerprints as it is. Raises InputError if there is none."""
    try:
        return read_regular(folder / MANIFEST, (folder / MANIFEST).lstat().st_size)
    except (FileNotFoundError, NotADirectoryError):
        why = f"it has no {MANIFEST}, so it was not finished" if folder.is_dir() else "there is no such folder"
        raise _unusable_error(folder, why) from None
    except OSError as error:
        raise _unusable_error(folder, f"{MANIFEST} cannot be read: {error.strerror or error}") from error


def read_fingerprints(folder: Path, data: bytes, secret: bytes) -> SavedFingerprints:
    """Decode the manifest ``data`` of a folder of fingerprints made under the key ``secret``.

    The other files are read when needed. Raises InputError for a folder that is torn, changed or of another key,
    and FormatError for another version.
    """
    _require_version(folder, _decoded_record(folder, data, _Version))
    manifest = _decoded_record(folder, data, SavedManifest)
    if manifest.key != name_of(secret):
        raise InputError(
            f"{folder} was made under the key {printable(manifest.key)}, and the given key is {name_of(secret)}",
            "Parts that were fingerprinted under one key",
            "Name that key file with --key, or fingerprint the part again with this one",
        )
    if sealed_manifest(manifest, secret).seal != manifest.seal:
        raise _unusable_error(folder, f"{MANIFEST} has been changed: its seal is not that of its content")
    if set(manifest.files) != set(FILES):
        raise _unusable_error(folder, f"{MANIFEST} does not name its files")
    return SavedFingerprints(folder, manifest)


Record = TypeVar("Record")


class _Version(msgspec.Struct):
    neardup_version: str
    format: int
    fingerprint: int = -1
    unicode: str = ""


def _decoded_record(folder: Path, data: bytes, kind: type[Record]) -> Record:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise _unusable_error(folder, f"{MANIFEST} cannot be used: {printable(str(error))}") from error


def _require_version(folder: Path, version: _Version) -> None:
    here = (FORMAT, FORMAT_VERSION, UNICODE_VERSION)
    if (version.format, version.fingerprint, version.unicode) != here:
        raise FormatError(
            f"{folder} has format {version.format}, fingerprints {version.fingerprint} and Unicode "
            f"{printable(version.unicode)}, written by neardup {printable(version.neardup_version)}",
            f"This program reads format {here[0]}, fingerprints {here[1]} and Unicode {here[2]}",
            "Use one version of neardup for all parts",
        )


def _unusable_error(folder: Path, why: str) -> InputError:
    return InputError(
        f"The fingerprints in {folder} cannot be used: {why}",
        "A folder as neardup fingerprint has written it, with all its files",
        _AGAIN,
    )


@dataclass(frozen=True, eq=False)
class SavedFingerprints:
    """A folder of fingerprints with an authentic manifest."""

    folder: Path
    manifest: SavedManifest

    @cached_property
    def settings(self) -> Settings:
        """The settings under which the fingerprints were made."""
        stored = self.manifest.settings.items()
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in stored
        }
        try:
            return Settings.of(**values)
        except Exception as error:  # sealed, yet another version of the settings
            raise self.unusable_error(f"its settings cannot be used: {error}") from error

    @property
    def sizes(self) -> tuple[int, int]:
        """The slots of a signature, and the words of a SimHash fingerprint."""
        settings = self.settings
        return (0, settings.simhash.bits // 64) if settings.by_simhash else (settings.sketch.slots, 0)

    def chunks(self, wanted: Collection[int] | None = None) -> Iterator[ReadChunk]:
        """Yield the fingerprints of all chunks, in order, or only read those of ``wanted`` indexes."""
        whole = wanted is None
        rows, sketches, columns = (self._open(name, whole=whole) for name in (ROWS, SKETCHES, COLUMNS))
        self._require_schema(ROWS, rows.schema, row_schema(self.settings))
        self._require_schema(SKETCHES, sketches.schema, sketch_schema(*self.sizes))
        readers = (rows, sketches, columns) if len(columns.schema) else (rows, sketches)
        if {reader.num_record_batches for reader in readers} != {len(self.facts)}:
            raise self.unusable_error("its files do not belong together")
        for number, facts in enumerate(self.facts):
            if wanted is not None and facts.index not in wanted:
                continue
            with self.arrow_errors(f"chunk {number:,}"):
                batches = [reader.get_batch(number) for reader in readers]
                for batch in batches:
                    batch.validate(full=True)
            if {batch.num_rows for batch in batches} != {facts.rows}:
                raise self.unusable_error("its files do not belong together")
            saved = {name: batch[name] for batch in (batches[0], *batches[2:]) for name in batch.schema.names}
            yield ReadChunk.of(facts, {**saved, **from_slots(batches[1], self.sizes[0])})

    @cached_property
    def indexes(self) -> int:
        """One more than the largest index of a chunk."""
        return max((facts.index for facts in self.facts), default=-1) + 1

    @cached_property
    def facts(self) -> list[ChunkFacts]:
        """The facts of all chunks, in order."""
        decode = msgspec.json.Decoder(ChunkFacts).decode
        try:
            chunks = [decode(line) for line in self._bytes(CHUNKS).splitlines()]
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self.unusable_error(f"{CHUNKS} cannot be used: {error}") from error
        counts = self.manifest.counts
        if (len(chunks), sum(facts.rows for facts in chunks)) != (counts.chunks, counts.rows):
            raise self.unusable_error("its files do not belong together")
        return chunks

    def slots(self, first: int, count: int) -> Iterator[UInt32s]:
        """Yield some slots of all signatures, chunk by chunk (uint32[rows, count]); the others are not read."""
        return read_slots(self.checked_path(SKETCHES), first, count)

    def seals(self) -> Iterator[tuple[Int64s, UInt64s]]:
        """Yield (units, first words of the seals) of all rows, chunk by chunk."""
        return read_seals(self.checked_path(ROWS))

    def places(self) -> pa.Table:
        """Return the places of the texts (``io.readers.places.PLACES``)."""
        data = self._bytes(PLACES)
        with self.arrow_errors(PLACES):
            table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
            table.validate(full=True)
        return table

    def unusable_error(self, why: str) -> InputError:
        """Return the error for this folder."""
        return _unusable_error(self.folder, why)

    @contextmanager
    def arrow_errors(self, name: str) -> Iterator[None]:
        """Turn an error of Arrow within the block into one that says that ``name`` cannot be used."""
        try:
            yield
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self.unusable_error(f"{name} cannot be used: {error}") from error

    @contextmanager
    def _read_errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.unusable_error(f"{name} cannot be read: {error.strerror or error}") from error

    def _bytes(self, name: str) -> bytes:
        written = self.manifest.files[name]
        with self._read_errors(name):
            data = read_regular(self.folder / name, written.bytes)
        if len(data) != written.bytes or hashlib.sha256(data).hexdigest() != written.sha256:
            raise self.unusable_error(f"{name} has been changed: its size or its SHA-256 is another")
        return data

    def checked_path(self, name: str) -> Path:
        """Return the path of a file that is only looked up in, after comparing its size and a sample of it."""
        written, path = self.manifest.files[name], self.folder / name
        with self._read_errors(name):
            same = path.lstat().st_size == written.bytes and digest_of_file(str(path)).hex() == written.sample
        if not same:
            raise self.unusable_error(f"{name} has been changed: its size or its content is another")
        return path

    def _whole(self, name: str) -> Path:
        """Return the path of a file after comparing its digest; it is not held in memory."""
        written, path = self.manifest.files[name], self.folder / name
        with self._read_errors(name), open_regular(str(path)) as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == written.sha256
        if not same:
            raise self.unusable_error(f"{name} has been changed: its SHA-256 is another")
        return path

    def _open(self, name: str, *, whole: bool = True) -> Any:
        """Open a file batch by batch, after comparing all of it or a sample."""
        path = self._whole(name) if whole else self.checked_path(name)
        with self.arrow_errors(name):
            return pa.ipc.open_file(pa.OSFile(os.fsencode(path)))

    def _require_schema(self, name: str, found: pa.Schema, expected: pa.Schema) -> None:
        if not found.equals(expected):
            raise self.unusable_error(f"{name} has other columns")


class SortedBands:
    """The sorted keys of a part, mapped: a look-up reads a few pages of each band.

    Raises InputError for keys that cannot be those of its rows.
    """

    def __init__(self, part: SavedFingerprints) -> None:
        self._part, self._rows = part, part.manifest.counts.rows
        path = part.checked_path(BANDS)
        with part.arrow_errors(BANDS):  # the file is mapped, not read: it may be larger than memory
            self._reader = pa.ipc.open_file(pa.memory_map(os.fsencode(path)))
        whole = self._reader.num_record_batches == len(part.manifest.bands) + 1
        if not whole or not self._reader.schema.equals(BAND_SCHEMA):
            raise part.unusable_error(f"{BANDS} has other bands")

    def rows_with(self, place: int, keys: UInt64s) -> Int64s:
        """Return the rows that have one of these ``keys`` (ascending) in a band; the seals are the last one."""
        with self._part.arrow_errors(BANDS):
            batch = self._reader.get_batch(place)
            batch.validate()
        stored, rows = (batch.column(name).to_numpy() for name in BAND_SCHEMA.names)
        first, until = (np.searchsorted(stored, keys, side) for side in ("left", "right"))
        met = until > first
        first, counts = first[met], (until - first)[met]
        ends = np.cumsum(counts)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - counts), counts)
        found: Int64s = rows[places].astype(np.int64)
        if len(found) and int(found.max()) >= self._rows:
            raise self._part.unusable_error(f"{BANDS} names rows that the part does not have")
        return found


class FingerprintFolder(WholeFolder):
    """A folder of fingerprints as a context manager: complete under its name, or absent.

    ``add`` receives the chunks in order, ``finish`` the rest. ``secret`` is that of the key file; ``sizes`` are
    the slots of a signature and the words of a SimHash fingerprint. Raises OutputError.
    """

    def __init__(
        self,
        path: str | Path,
        settings: Settings,
        sizes: tuple[int, int],
        secret: bytes,
        *,
        overwrite: bool = False,
    ) -> None:
        super().__init__(path, overwrite)
        self._settings, self._secret, self._sizes = settings, secret, sizes
        self._chunks: list[bytes] = []
        self._rows_of_chunks: list[int] = []
        self._problems = 0
        self._further: dict[str, list[pa.Array]] = {}
        self._attachments: list[pa.Array] = []
        self._sealed: dict[str, SavedFile] = {}
        self._bands: tuple[int, ...] = ()
        self._written: SavedManifest | None = None

    def begin(self) -> None:
        """Make the private folder, and open the files that grow."""
        super().begin()
        self._rows = _Growing(self.path(ROWS), row_schema(self._settings))
        self._sketches = _Growing(self.path(SKETCHES), sketch_schema(*self._sizes))

    def add(self, chunk: ReadChunk) -> None:
        """Append the fingerprints of a chunk, whose keys are sealed."""
        with self.translated_errors():
            self._rows.write([chunk.batch[name] for name in self._rows.schema.names])
            self._sketches.write(by_slot(chunk))
        self._chunks.append(msgspec.json.encode(chunk.facts, enc_hook=tuple))
        self._rows_of_chunks.append(len(chunk))
        self._problems += len(chunk.facts.problems)
        for name in chunk.of_input:
            self._further.setdefault(name, []).append(chunk.batch[name])
        without = pa.nulls(len(chunk), ATTACHMENTS_TYPE)
        self._attachments.append(chunk.batch[ATTACHMENTS] if ATTACHMENTS in chunk else without)

    def slots(self, first: int, count: int) -> Iterator[UInt32s]:
        """Yield some slots of all signatures, chunk by chunk (uint32[rows, count]), after the last ``add``."""
        self._close()
        return read_slots(self.path(SKETCHES), first, count)

    def seals(self) -> Iterator[tuple[Int64s, UInt64s]]:
        """Yield (units, first words of the seals) of all rows, chunk by chunk, after the last ``add``."""
        self._close()
        return read_seals(self.path(ROWS))

    def write_sorted(self, bands: tuple[int, ...], sorted_keys: Iterable[tuple[UInt64s, UInt32s]]) -> None:
        """Write the sorted keys of each of the ``bands``, and of the seals: (keys, rows) of each."""
        self._bands = bands
        with self.translated_errors():
            growing = _Growing(self.path(BANDS), BAND_SCHEMA)
            for keys, rows in sorted_keys:
                growing.write([pa.array(keys), pa.array(rows)])
            self._sealed[BANDS] = growing.close()

    def _close(self) -> None:
        for name, growing in ((ROWS, self._rows), (SKETCHES, self._sketches)):
            if name not in self._sealed:
                self._sealed[name] = growing.close()

    def finish(self, part: SavedInput, places: pa.Table) -> SavedManifest:
        """Write the rest and the manifest; the folder gets its name when the context ends."""
        if BANDS not in self._sealed:
            self.write_sorted((), ())
        files = self._sealed
        columns = {name: join_ids(arrays) for name, arrays in self._further.items()}
        if any(len(array) - array.null_count for array in self._attachments):
            columns[ATTACHMENTS] = pa.concat_arrays(self._attachments)
        with self.translated_errors():
            self._close()
            files[COLUMNS] = _write(self.path(COLUMNS), pa.table(columns), self._rows_of_chunks)
            files[PLACES] = _write(self.path(PLACES), places)
            self.path(CHUNKS).write_bytes(b"".join(line + b"\n" for line in self._chunks))
            files[CHUNKS] = _saved_file(self.path(CHUNKS))
        counts = SavedCounts(len(self._chunks), sum(self._rows_of_chunks), self._problems)
        manifest = SavedManifest(
            neardup_version=version("neardup"),
            format=FORMAT,
            fingerprint=FORMAT_VERSION,
            unicode=UNICODE_VERSION,
            key=name_of(self._secret),
            settings=self._settings.as_dict(),
            input=part,
            counts=counts,
            bands=self._bands,
            files={name: files[name] for name in FILES},
        )
        self._written = sealed_manifest(manifest, self._secret)
        encoded = msgspec.json.encode(self._written, order="sorted")
        with self.translated_errors():
            self.path(MANIFEST).write_bytes(msgspec.json.format(encoded, indent=2) + b"\n")
        return self._written

    def end(self, *, whole: bool) -> None:
        """Give a whole folder its name."""
        for growing in (self._rows, self._sketches):
            growing.abandon()
        if whole and self._written is not None:
            self.publish()

    def require_own(self, folder: Path) -> None:
        """Raise OutputError unless the folder is empty, or holds fingerprints and nothing else."""
        if folder.is_dir() and not folder.is_symlink():
            names = {entry.name for entry in folder.iterdir()}
            if not names or (MANIFEST in names and names <= {*FILES, MANIFEST}):
                return
        raise OutputError(
            f"{self.shown} is not a folder of fingerprints",
            "Only an empty folder or one that neardup fingerprint has written is overwritten",
            "Choose another name, or remove it yourself",
        )


class _Growing:
    """An Arrow file that grows by batches, with its digest."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.schema = schema
        self._path = path
        self._file = pa.OSFile(os.fsencode(path), "wb")
        self._writer = pa.ipc.new_file(self._file, schema)

    def write(self, columns: list[pa.Array]) -> None:
        self._writer.write_batch(pa.record_batch(columns, schema=self.schema))

    def close(self) -> SavedFile:
        self._writer.close()
        self._file.close()
        return _saved_file(self._path)

    def abandon(self) -> None:
        with suppress(OSError, pa.ArrowException):
            self._writer.close()
            self._file.close()


def sealed_manifest(manifest: SavedManifest, secret: bytes) -> SavedManifest:
    """Return the manifest with the seal that only holders of the secret can make."""
    without = msgspec.structs.replace(manifest, seal="")
    return msgspec.structs.replace(without, seal=seal_of(msgspec.json.encode(without, order="sorted"), secret))


def _write(path: Path, table: pa.Table, batches: Sequence[int] = ()) -> SavedFile:
    """Write a table; with ``batches``, in batches of these numbers of rows."""
    with pa.OSFile(os.fsencode(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        if not batches:
            writer.write_table(table)
        first = 0
        for rows in batches if table.num_columns else ():
            writer.write_batch(
                pa.record_batch([one_array(c) for c in table.slice(first, rows).columns], table.schema)
            )
            first += rows
    return _saved_file(path)


def _saved_file(path: Path) -> SavedFile:
    with open(path, "rb") as file:
        whole = hashlib.file_digest(file, "sha256").hexdigest()
    return SavedFile(path.stat().st_size, whole, digest_of_file(str(path)).hex())


def read_slots(path: Path, first: int, count: int) -> Iterator[UInt32s]:
    """Yield the slots ``first`` … ``first + count − 1`` of all signatures, uint32[rows, count], chunk by chunk."""
    for batch in _batches(path, range(first, first + count)):
        found = np.empty((batch.num_rows, count), np.uint32)
        for place in range(count):
            found[:, place] = batch.column(place).to_numpy()
        yield found


def read_seals(path: Path) -> Iterator[tuple[Int64s, UInt64s]]:
    """Yield (units, first words of the seals) of all rows, chunk by chunk."""
    for batch in _batches(path, (UNITS, KEY)):
        yield batch.column("units").to_numpy(), batch.column("key").flatten().to_numpy()[::2]


def _batches(path: Path, columns: Sequence[int]) -> Iterator[pa.RecordBatch]:
    options = pa.ipc.IpcReadOptions(included_fields=list(columns), ensure_native_endian=False)
    with pa.OSFile(os.fsencode(path)) as file:
        reader = pa.ipc.open_file(file, options=options)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
