"""The content of a folder of fingerprints: its manifest, and the fingerprints of one chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pyarrow as pa

from neardup.io.formats import Attachment
from neardup.io.readers.base import Problem
from neardup.io.readers.manifest import Digest, Size
from neardup.tables import Int64s, UInt32s, UInt64s

FORMAT = 1
"""Version of the layout of the folder."""
MANIFEST = "fingerprints.json"
ROWS, SKETCHES, CHUNKS, COLUMNS = "rows.arrow", "sketches.arrow", "chunks.arrow", "columns.arrow"
PLACES, PROBLEMS, BANDS = "places.arrow", "problems.jsonl", "bands.arrow"
FILES = (ROWS, SKETCHES, CHUNKS, COLUMNS, PLACES, PROBLEMS, BANDS)
"""The files of a folder beside its manifest."""

ROW_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("units", pa.int64()),
        ("bytes", pa.int64()),
        *((name, pa.uint64()) for name in ("key_a", "key_b")),
    ]
)
"""One row of the input: its number in its file, its units and bytes, the seal of its stream key. Further columns
``within`` and ``across``, uint64, follow if the settings name such columns. A batch is a chunk."""

CHUNK_SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("source", pa.string()),
        *((name, pa.int64()) for name in ("rows", "invalid", "nulls")),
    ]
)


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


@dataclass(frozen=True, eq=False)
class SavedChunk:
    """The fingerprints of one chunk, in the form in which the first pass makes them.

    ``signatures`` are uint32[rows, slots], ``simhashes`` uint64[rows, words]; zero for texts without units.
    ``related`` are the hashes within and across, empty where the settings name no columns.
    """

    index: int
    source: str
    row_numbers: Int64s
    problems: Sequence[Problem]
    attachments: dict[int, tuple[Attachment, ...]]
    units: Int64s
    bytes: Int64s
    keys: UInt64s
    signatures: UInt32s
    simhashes: UInt64s
    invalid: int
    nulls: int
    ids: pa.Array | None
    extra: dict[str, pa.Array]
    related: tuple[UInt64s, UInt64s]


BAND_SCHEMA = pa.schema([("key", pa.uint64()), ("row", pa.uint32())])
"""A batch is a band: the keys of all rows with text in it, ascending, and their rows in the part. A last batch
holds the first words of the seals, by which exact copies are looked up."""


def only_rows(chunk: SavedChunk, places: Int64s) -> SavedChunk:
    """Return a chunk with the rows at some places (ascending) only, and without its problems."""
    taken, at = pa.array(places), {place: k for k, place in enumerate(places.tolist())}
    within, across = (hashes[places] if len(hashes) else hashes for hashes in chunk.related)
    return replace(
        chunk,
        row_numbers=chunk.row_numbers[places],
        problems=(),
        attachments={at[place]: found for place, found in chunk.attachments.items() if place in at},
        units=chunk.units[places],
        bytes=chunk.bytes[places],
        keys=chunk.keys[places],
        signatures=chunk.signatures[places],
        simhashes=chunk.simhashes[places],
        ids=None if chunk.ids is None else chunk.ids.take(taken),
        extra={name: values.take(taken) for name, values in chunk.extra.items()},
        related=(within, across),
    )


def row_schema(related: tuple[bool, bool]) -> pa.Schema:
    """Return the schema of the rows; ``related``: whether the hashes within and across are stored."""
    names = [name for name, there in zip(("within", "across"), related, strict=True) if there]
    return pa.schema([*ROW_SCHEMA, *(pa.field(name, pa.uint64()) for name in names)])


def sketch_schema(slots: int, words: int) -> pa.Schema:
    """Return the schema of the sketches: one column a slot, so that a band is read without the others."""
    of_slots = [(f"slot{number}", pa.uint32()) for number in range(slots)]
    return pa.schema([*of_slots, *((f"simhash{number}", pa.uint64()) for number in range(words))])
