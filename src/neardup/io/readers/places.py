"""Where documents are: the files of an input with their digests, and places inside them to start reading from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.io.readers.base import Documents, Format
from neardup.io.readers.digests import DIGEST_BYTES, digest_of_file
from neardup.io.readers.sources import Source

PLACES = pa.schema(
    [
        ("file", pa.int64()),
        ("reference", pa.bool_()),
        *((name, pa.string()) for name in ("format", "text", "id", "name", "path")),
        ("size", pa.int64()),
        ("digest", pa.binary(DIGEST_BYTES)),
        ("row", pa.int64()),
        ("offset", pa.int64()),
    ]
)
"""The files of an input, numbered, with the columns used from them. A row is a stretch of a file: its first row
and the offset of that row in bytes, null where a file can only be read from its start. ``id`` is null if documents
are named by source and row number; ``digest`` is null for files that are not on this system."""


@dataclass(frozen=True)
class Recorded:
    """A file as a result records it; ``stretches`` are pairs (first row, offset in bytes or None)."""

    reference: bool
    format: Format
    text: str
    id: str | None
    name: str
    path: str
    size: int | None
    digest: bytes | None
    stretches: tuple[tuple[int, int | None], ...]

    @property
    def source(self) -> Source:
        """The file as readers open it."""
        return Source(self.name, self.path, self.size)


TEXTS = pa.schema([("row", pa.int64()), ("text", pa.large_binary())])
"""The texts of a result in its folder: rows of the run, ascending, and their texts in UTF-8."""

FORMATS = ("parquet", "jsonl", "csv", "ipc", "text")
"""The formats of files."""


def places_of(documents: Documents, text: str, id: str | None, *, reference: bool, first: int = 0) -> pa.Table:
    """Return the PLACES of opened files, numbered from ``first``; empty for documents in memory.

    Reads a sample of each data file, and a CSV file as a whole. The digests of files that are one document each
    were made when they were read.
    """
    sources: tuple[Source, ...] = getattr(documents, "sources", ())
    found: dict[str, list[Any]] = {name: [] for name in PLACES.names}
    for number, source in enumerate(sources):
        digest, stretches = _digest_and_stretches(documents, number, source)
        for row, offset in stretches:
            found["file"].append(first + number)
            found["name"].append(source.name)
            found["path"].append(source.path)
            found["size"].append(source.size)
            found["digest"].append(digest)
            found["row"].append(row)
            found["offset"].append(offset)
    count = len(found["file"])
    same = {"reference": reference, "format": documents.format, "text": text, "id": id}
    return pa.table({**found, **{name: [value] * count for name, value in same.items()}}, PLACES)


def _digest_and_stretches(
    documents: Any, number: int, source: Source
) -> tuple[bytes | None, list[tuple[int, int | None]]]:
    if documents.format == "text":
        return documents.digest(number), [(number, None)]
    places = documents.stretches(number)
    try:
        digest = digest_of_file(source.path) if source.is_local else None
    except OSError:  # it is gone: whoever looks for it later is told that
        digest = None
    return digest, places if places and places[0][0] == 0 else [(0, None), *places]


def recorded_files(places: pa.Table) -> dict[int, Recorded]:
    """Return the files of a table of PLACES by their numbers. Raises ValueError for an impossible table."""
    if places.schema.names != PLACES.names or places.schema.types != PLACES.types:
        raise ValueError("its columns are others")
    number, row = (places[name].to_numpy() for name in ("file", "row"))
    same = np.diff(number) == 0
    if (row < 0).any() or (np.diff(number) < 0).any() or (np.diff(row)[same] < 0).any():
        raise ValueError("its rows are not in order")
    files: dict[int, Recorded] = {}
    starts = np.flatnonzero(np.concatenate(([True], ~same))) if len(number) else np.empty(0, np.int64)
    heads = places.take(pa.array(starts)).to_pylist()
    for head, start, end in zip(heads, starts, [*starts[1:], len(number)], strict=True):
        part = places.slice(start, end - start)
        stretches = tuple(zip(part["row"].to_pylist(), part["offset"].to_pylist(), strict=True))
        usable = None not in [head[name] for name in ("reference", "format", "text", "name", "path")]
        if not usable or head["format"] not in FORMATS or any((offset or 0) < 0 for _, offset in stretches):
            raise ValueError("its values are impossible")
        values = {name: head[name] for name in PLACES.names if name not in ("file", "row", "offset")}
        files[head["file"]] = Recorded(**values, stretches=stretches)
    return files
