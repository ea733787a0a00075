"""The files of a folder of fingerprints: their names, the manifest, and some columns of large files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from neardup.io.fingerprints.chunk import KEY, UNITS
from neardup.io.readers.manifest import Digest, Size
from neardup.tables import Int64s, UInt32s, UInt64s

FORMAT = 2
"""Version of the layout of the folder."""
MANIFEST = "fingerprints.json"
ROWS, SKETCHES, CHUNKS, COLUMNS = "rows.arrow", "sketches.arrow", "chunks.jsonl", "columns.arrow"
PLACES, BANDS = "places.arrow", "bands.arrow"
FILES = (ROWS, SKETCHES, CHUNKS, COLUMNS, PLACES, BANDS)
"""The files of a folder beside its manifest."""


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


BAND_SCHEMA = pa.schema([("key", pa.uint64()), ("row", pa.uint32())])
"""A batch is a band: the keys of all rows with text in it, ascending, and their rows in the part. A last batch
holds the first words of the seals, by which exact copies are looked up."""


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
