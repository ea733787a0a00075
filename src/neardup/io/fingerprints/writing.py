"""Write a folder of fingerprints, chunk by chunk, whole or not at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import msgspec
import pyarrow as pa

from neardup.errors import OutputError
from neardup.io.attachments import ATTACHMENTS, ATTACHMENTS_TYPE
from neardup.io.fingerprints.chunk import ReadChunk, by_slot, row_schema, sketch_schema
from neardup.io.fingerprints.keys import name_of, seal_of
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
    SavedCounts,
    SavedFile,
    SavedInput,
    SavedManifest,
    read_seals,
    read_slots,
)
from neardup.io.readers import join_ids
from neardup.io.readers.digests import digest_of_file
from neardup.io.writers.filesystem import EVERYBODY, flush, restrict
from neardup.io.writers.output import Output
from neardup.settings import Settings
from neardup.tables import FORMAT_VERSION, Int64s, UInt32s, UInt64s, one_array
from neardup.text.unicode_data import UNICODE_VERSION


class FingerprintFolder(Output):
    """A folder of fingerprints as a context manager: complete under its name, or absent.

    ``add`` receives the chunks in order, ``finish`` the rest. ``secret`` is that of the key file; ``sizes`` are
    the slots of a signature and the words of a SimHash fingerprint. Raises OutputError.
    """

    new_target = "A folder that does not exist yet"
    possible = ("A folder that may be written, on a disk with room", "Choose another output folder")

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
        self._access = EVERYBODY
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
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self._check_target()
        self.place.open()
        self.place.new.mkdir()
        self._rows = _Growing(self.place.new / ROWS, row_schema(self._settings))
        self._sketches = _Growing(self.place.new / SKETCHES, sketch_schema(*self._sizes))

    def restrict(self, access: int) -> None:
        """Limit the permissions to read and write the folder to these (see ``io.writers.access``)."""
        self._access &= access

    def add(self, chunk: ReadChunk) -> None:
        """Append the fingerprints of a chunk, whose keys are sealed."""
        try:
            self._add(chunk)
        except OSError as error:
            raise self.failed(error) from error

    def _add(self, chunk: ReadChunk) -> None:
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
        return read_slots(self.place.new / SKETCHES, first, count)

    def seals(self) -> Iterator[tuple[Int64s, UInt64s]]:
        """Yield (units, first words of the seals) of all rows, chunk by chunk, after the last ``add``."""
        self._close()
        return read_seals(self.place.new / ROWS)

    def write_sorted(self, bands: tuple[int, ...], found: Iterable[tuple[UInt64s, UInt32s]]) -> None:
        """Write the sorted keys of each of the ``bands``, and of the seals: (keys, rows) of each."""
        try:
            growing, self._bands = _Growing(self.place.new / BANDS, BAND_SCHEMA), bands
            for keys, rows in found:
                growing.write([pa.array(keys), pa.array(rows)])
            self._sealed[BANDS] = growing.close()
        except OSError as error:
            raise self.failed(error) from error

    def _close(self) -> None:
        for name, growing in ((ROWS, self._rows), (SKETCHES, self._sketches)):
            if name not in self._sealed:
                self._sealed[name] = growing.close()

    def finish(self, part: SavedInput, places: pa.Table) -> SavedManifest:
        """Write the rest and the manifest; the folder gets its name when the context ends."""
        try:
            return self._finish(part, places)
        except OSError as error:
            raise self.failed(error) from error

    def _finish(self, part: SavedInput, places: pa.Table) -> SavedManifest:
        self._close()
        if BANDS not in self._sealed:
            self.write_sorted((), ())
        files = self._sealed
        columns = {name: join_ids(arrays) for name, arrays in self._further.items()}
        if any(len(found) - found.null_count for found in self._attachments):
            columns[ATTACHMENTS] = pa.concat_arrays(self._attachments)
        files[COLUMNS] = _write(self.place.new / COLUMNS, pa.table(columns), self._rows_of_chunks)
        files[PLACES] = _write(self.place.new / PLACES, places)
        (self.place.new / CHUNKS).write_bytes(b"".join(line + b"\n" for line in self._chunks))
        files[CHUNKS] = _described(self.place.new / CHUNKS)
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
        (self.place.new / MANIFEST).write_bytes(msgspec.json.format(encoded, indent=2) + b"\n")
        return self._written

    def end(self, *, whole: bool) -> None:
        """Give a whole folder its name."""
        for growing in (self._rows, self._sketches):
            growing.abandon()
        if not whole or self._written is None:
            return
        restrict(self.place.new, self._access)
        flush(self.place.new)
        self._check_target()
        try:
            if os.path.lexists(self.target):
                _require_own(self.place.set_aside(), self.target)
            self.place.publish()
        except BaseException:
            self.place.put_back()
            raise

    def _check_target(self) -> None:
        if self.exists_already():
            _require_own(self.target, self.target)


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
        return _described(self._path)

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
    return _described(path)


def _described(path: Path) -> SavedFile:
    with open(path, "rb") as file:
        whole = hashlib.file_digest(file, "sha256").hexdigest()
    return SavedFile(path.stat().st_size, whole, digest_of_file(str(path)).hex())


def _require_own(folder: Path, name: Path) -> None:
    """Raise OutputError unless the folder is empty, or holds fingerprints and nothing else."""
    known = {*FILES, MANIFEST}
    if folder.is_dir() and not folder.is_symlink():
        found = {entry.name for entry in folder.iterdir()}
        if not found or (MANIFEST in found and found <= known):
            return
    raise OutputError(
        f"{name} is not a folder of fingerprints",
        "Only an empty folder or one that neardup fingerprint has written is overwritten",
        "Choose another name, or remove it yourself",
    )
