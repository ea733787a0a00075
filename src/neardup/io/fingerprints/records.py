"""The content of a folder of fingerprints: its manifest, and the fingerprints of one chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from neardup.io.formats import Attachment
from neardup.io.readers.base import Problem
from neardup.io.readers.manifest import Written
from neardup.tables import Int64s, UInt32s, UInt64s

FORMAT = 1
"""Version of the layout of the folder."""
MANIFEST = "fingerprints.json"
ROWS, SKETCHES, CHUNKS, COLUMNS = "rows.arrow", "sketches.arrow", "chunks.arrow", "columns.arrow"
PLACES, PROBLEMS = "places.arrow", "problems.jsonl"
FILES = (ROWS, SKETCHES, CHUNKS, COLUMNS, PLACES, PROBLEMS)
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


class SavedManifest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The manifest: settings and versions, the part of the input, the files with their digests.

    ``key`` names the key under which documents were compared; ``seal`` is a keyed digest of all the rest.
    """

    neardup: str
    format: int
    fingerprint: int
    unicode: str
    key: str
    settings: dict[str, Any]
    input: SavedInput
    counts: SavedCounts
    files: dict[str, Written]
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


def row_schema(related: tuple[bool, bool]) -> pa.Schema:
    """Return the schema of the rows; ``related``: whether the hashes within and across are stored."""
    names = [name for name, there in zip(("within", "across"), related, strict=True) if there]
    return pa.schema([*ROW_SCHEMA, *(pa.field(name, pa.uint64()) for name in names)])


def sketch_schema(slots: int, words: int) -> pa.Schema:
    """Return the schema of the sketches: one column a slot, so that a band is read without the others."""
    of_slots = [(f"slot{number}", pa.uint32()) for number in range(slots)]
    return pa.schema([*of_slots, *((f"simhash{number}", pa.uint64()) for number in range(words))])
