"""Where documents are: the files of an input with their digests, and places inside them to start reading from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.io.containers.spools import STDIN
from neardup.io.names import path_of, shown_name, without_user
from neardup.io.readers.base import Documents, Format
from neardup.io.readers.digests import DIGEST_BYTES
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

_NULLABLE = ("id", "size", "digest", "offset")

FORMATS = ("parquet", "jsonl", "csv", "ipc", "text")
"""The formats of files."""


def places_of(documents: Documents, text: str, id: str | None, *, reference: bool, first: int = 0) -> pa.Table:
    """Return the PLACES of opened files, numbered from ``first``; empty for documents in memory.

    Reads a sample of each data file, and a CSV file as a whole. The digests of files that are one document each
    were made when they were read.
    """
    recorded: Callable[[], pa.Table] | None = getattr(documents, "recorded_places", None)
    if recorded is not None:
        return _recorded_again(recorded(), reference, first)
    sources: tuple[Source, ...] = getattr(documents, "sources", ())
    if any(source.path == STDIN for source in sources):  # nobody can read it again
        return PLACES.empty_table()
    found: dict[str, list[Any]] = {name: [] for name in PLACES.names}
    for number, source in enumerate(sources):
        digest, stretches = _digest_and_stretches(documents, number, source)
        for row, offset in stretches:
            found["file"].append(first + number)
            found["name"].append(source.name)
            found["path"].append(shown_name(without_user(source.path)))
            found["size"].append(source.size)
            found["digest"].append(digest)
            found["row"].append(row)
            found["offset"].append(offset)
    count = len(found["file"])
    same = {"reference": reference, "format": documents.format, "text": text, "id": id}
    return pa.table({**found, **{name: [value] * count for name, value in same.items()}}, PLACES)


def _recorded_again(places: pa.Table, reference: bool, first: int) -> pa.Table:
    """The places of documents with saved fingerprints, under the numbers of this run."""
    numbers = pa.array(places["file"].to_numpy() + first)
    places = places.set_column(0, PLACES.field("file"), numbers)
    return places.set_column(1, PLACES.field("reference"), pa.array([reference] * places.num_rows, pa.bool_()))


def _digest_and_stretches(
    documents: Any, number: int, source: Source
) -> tuple[bytes | None, list[tuple[int, int | None]]]:
    if documents.format == "text":
        return documents.digest(number), [(number, None)]
    places = documents.stretches(number)
    try:
        digest = source.digest()
    except OSError:  # it is gone: whoever looks for it later is told that
        digest = None
    return digest, places if places and places[0][0] == 0 else [(0, None), *places]


class RecordedFiles:
    """The files of a table of PLACES, by their numbers; a file is made into a record when it is looked up.

    ``numbers`` has those of the new input before those of the reference set. Raises ValueError for an impossible
    table.
    """

    def __init__(self, places: pa.Table) -> None:
        if places.schema.names != PLACES.names or places.schema.types != PLACES.types:
            raise ValueError("its columns are others")
        if any(places[name].null_count for name in PLACES.names if name not in _NULLABLE):
            raise ValueError("values are missing")
        self._places, self._files = places, places["file"].to_numpy()
        row, same = places["row"].to_numpy(), np.diff(self._files) == 0
        if (row < 0).any() or (np.diff(self._files) < 0).any() or (np.diff(row)[same] < 0).any():
            raise ValueError("its rows are not in order")
        formats = pc.is_in(places["format"], value_set=pa.array(FORMATS))
        if not pc.all(formats, min_count=0).as_py() or (pc.min(places["offset"]).as_py() or 0) < 0:
            raise ValueError("its values are impossible")
        firsts = np.flatnonzero(np.concatenate(([True], ~same))) if len(row) else np.empty(0, np.int64)
        of_reference = places["reference"].to_numpy()[firsts]
        self.numbers = self._files[firsts][np.argsort(of_reference, kind="stable")]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, number: int) -> Recorded:
        begin, end = (int(np.searchsorted(self._files, number, side)) for side in ("left", "right"))
        rows = self._places.slice(begin, end - begin)
        head = rows.slice(0, 1).to_pylist()[0]
        stretches = tuple(zip(rows["row"].to_pylist(), rows["offset"].to_pylist(), strict=True))
        values = {name: head[name] for name in PLACES.names if name not in ("file", "row", "offset")}
        return Recorded(**{**values, "path": path_of(values["path"])}, stretches=stretches)

    def documents_named(self, name: str) -> list[int]:
        """Return the numbers of the files of this name that are one document each, the new input first."""
        return self._numbers_where(pc.and_(self._is_document(), pc.equal(self._places["name"], name)))

    def data_files(self) -> list[int]:
        """Return the numbers of the files with rows, the new input first."""
        return self._numbers_where(pc.invert(self._is_document()))

    def _is_document(self) -> pa.ChunkedArray:
        return pc.equal(self._places["format"], "text")

    def _numbers_where(self, rows: pa.ChunkedArray) -> list[int]:
        found = self._files[rows.to_numpy()]
        return [int(number) for number in self.numbers[np.isin(self.numbers, found)]]
