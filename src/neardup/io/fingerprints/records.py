"""The content of a folder of fingerprints besides its chunks: its manifest, and its sorted keys."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa

from neardup.io.readers.manifest import Digest, Size

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
