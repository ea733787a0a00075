"""Places of documents: the files of an input, with digests to recognise them by."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.io.containers.spools import STDIN
from neardup.io.place import path_of, shown_name, without_secrets
from neardup.io.readers.base import Documents, Format, as_opened
from neardup.io.readers.sources import DIGEST_BYTES, Source
from neardup.io.storage.pins import Pin
from neardup.io.storage.spool import FetchedFile

SEEN = ("etag", "version", "modified")
"""The state of a file at a URL when it was seen first; null for other files."""

PLACES = pa.schema(
    [
        ("file", pa.int64()),
        ("reference", pa.bool_()),
        *((name, pa.string()) for name in ("format", "text", "id", "name", "path")),
        ("size", pa.int64()),
        ("digest", pa.binary(DIGEST_BYTES)),
        *((name, pa.string()) for name in SEEN),
    ]
)
"""The files of an input, numbered, with the columns used from them. ``id`` is null if documents are named by
source and row number; ``digest`` is null for documents not read, and for URLs with values of ``SEEN``."""

_NULLABLE = ("id", "size", "digest", *SEEN)

FORMATS = ("parquet", "jsonl", "csv", "ipc", "warc", "table", "text")
"""The formats of files."""


@dataclass(frozen=True)
class Recorded:
    """A file as a result records it."""

    reference: bool
    format: Format
    text: str
    id: str | None
    name: str
    path: str
    size: int | None
    digest: bytes | None
    etag: str | None = None
    version: str | None = None
    modified: str | None = None

    @cached_property
    def source(self) -> Source:
        """The file as readers open it."""
        remote = FetchedFile(self.path) if "://" in self.path else None
        return Source(self.name, self.path, self.size, remote=remote)

    @property
    def pin(self) -> Pin:
        """The state of the file at its URL when the run saw it first."""
        return Pin(self.etag, self.version, self.modified, self.size)


def places_of(documents: Documents, text: str, id: str | None, *, reference: bool, first: int = 0) -> pa.Table:
    """Return the PLACES of opened files, numbered from ``first``; empty for documents in memory.

    Reads a sample of each data file. Files that are one document each had their digests made when they were read.
    """
    documents = as_opened(documents)
    recorded: Callable[[], pa.Table] | None = getattr(documents, "recorded_places", None)
    if recorded is not None:
        return _recorded_again(recorded(), reference, first)
    sources: tuple[Source, ...] = getattr(documents, "sources", ())
    inputs: tuple[Documents, ...] = getattr(documents, "inputs", ())
    if inputs:
        firsts = accumulate((len(one.sources) for one in inputs), initial=first)  # type: ignore[attr-defined]
        parts = [
            places_of(one, text, id, reference=reference, first=begin)
            for one, begin in zip(inputs, firsts, strict=False)
        ]
        return pa.concat_tables(parts) if all(map(len, parts)) else PLACES.empty_table()
    if any(source.path == STDIN for source in sources):  # nobody can read it again
        return PLACES.empty_table()
    count = len(sources)
    pins = [source.pin or Pin() for source in sources]
    return pa.table(
        {
            "file": [first + number for number in range(count)],
            "reference": [reference] * count,
            "format": [documents.format] * count,
            "text": [text] * count,
            "id": [id] * count,
            "name": [source.name for source in sources],
            "path": [shown_name(without_secrets(source.path)) for source in sources],
            "size": [source.size or pin.size for source, pin in zip(sources, pins, strict=True)],
            "digest": [_digest(documents, number, source) for number, source in enumerate(sources)],
            **{name: [getattr(pin, name) for pin in pins] for name in SEEN},
        },
        PLACES,
    )


def _recorded_again(places: pa.Table, reference: bool, first: int) -> pa.Table:
    """The places of documents with saved fingerprints, under the numbers of this run."""
    numbers = pa.array(places["file"].to_numpy() + first)
    places = places.set_column(0, PLACES.field("file"), numbers)
    return places.set_column(1, PLACES.field("reference"), pa.array([reference] * places.num_rows, pa.bool_()))


def _digest(documents: Any, number: int, source: Source) -> bytes | None:
    if documents.format == "text":
        known: bytes | None = documents.digest(number)
        return known
    if source.remote is not None and source.pin is None:
        return None
    try:
        digest = source.digest()
    except OSError:  # whoever looks for it later learns that it is gone
        return None
    if digest is not None and source.is_local:  # it is that of the rows that were read
        documents.require_unchanged(number)
    return digest


class RecordedFiles:
    """The files of a table of PLACES, by their ``numbers`` (ascending).

    Raises ValueError for an impossible table.
    """

    def __init__(self, places: pa.Table) -> None:
        if places.schema.names != PLACES.names or places.schema.types != PLACES.types:
            raise ValueError("its columns are others")
        if any(places[name].null_count for name in PLACES.names if name not in _NULLABLE):
            raise ValueError("values are missing")
        self._places, self.numbers = places, places["file"].to_numpy()
        if (np.diff(self.numbers) <= 0).any():
            raise ValueError("its rows are not in order")
        if not pc.all(pc.is_in(places["format"], value_set=pa.array(FORMATS)), min_count=0).as_py():
            raise ValueError("its values are impossible")

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, number: int) -> Recorded:
        values = self._places.slice(int(np.searchsorted(self.numbers, number)), 1).to_pylist()[0]
        del values["file"]
        return Recorded(**{**values, "path": path_of(values["path"])})
