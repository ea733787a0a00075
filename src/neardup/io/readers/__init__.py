"""Reading documents: any input becomes chunks of rows, and bad rows become problems."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers.base import (
    CHUNK_BYTES,
    Chunk,
    Column,
    Documents,
    Format,
    NativeFiles,
    NativeLines,
    NativeRows,
    NativeTable,
    Problem,
    ReadRows,
)
from neardup.io.readers.columns import Chosen, choose_columns, find_column, join_ids
from neardup.io.readers.csv import CsvDocuments
from neardup.io.readers.discover import Discovered, find_files, refuse_names
from neardup.io.readers.document import read_document, read_stream
from neardup.io.readers.folder import TextDocuments
from neardup.io.readers.ipc import IpcDocuments
from neardup.io.readers.jsonl import JsonlDocuments
from neardup.io.readers.memory import from_arrow, from_strings, is_arrow
from neardup.io.readers.parquet import ParquetDocuments
from neardup.settings import ReadingSettings

AUTO = ReadingSettings()

_OPENED: dict[Format, Callable[[Discovered, int, ReadingSettings], Documents]] = {
    "parquet": lambda found, size, _: ParquetDocuments(found.sources, size),
    "ipc": lambda found, size, _: IpcDocuments(found.sources, size),
    "jsonl": lambda found, size, reading: JsonlDocuments(found.sources, size, reading.encoding),
    "csv": lambda found, size, reading: CsvDocuments(found.sources, size, reading),
    "text": lambda found, size, reading: TextDocuments(
        found.name, found.sources, size, reading.encoding, reading.pages
    ),
}
"""The documents of each format that files may have."""

__all__ = [
    "Chosen",
    "Chunk",
    "Column",
    "Documents",
    "NativeFiles",
    "NativeLines",
    "NativeRows",
    "NativeTable",
    "Problem",
    "ReadRows",
    "choose_columns",
    "find_column",
    "join_ids",
    "open_documents",
    "open_files",
    "open_sources",
    "read_document",
    "read_stream",
]


def open_documents(
    inputs: object,
    *,
    chunk_bytes: int = CHUNK_BYTES,
    without: Collection[Path] = (),
    reading: ReadingSettings = AUTO,
) -> Documents:
    """Open any input as documents.

    A str or Path names files: a file, a folder, a pattern, a URL; so does a list of Path. A list of str is a list
    of texts. Any object with an Arrow interface is a table or a column of texts. An iterator of str or of
    pyarrow.RecordBatch is read to its end and kept in memory, since the documents are read more than once.
    Documents are returned unchanged. ``without``: files that are never input, in any folder. ``reading``: how
    bytes become texts. A list of str that are file names is refused, since either meaning is possible.
    """
    if isinstance(inputs, str | Path):
        return open_files([inputs], chunk_bytes=chunk_bytes, without=without, reading=reading)
    if isinstance(inputs, list | tuple):
        return _from_list(inputs, chunk_bytes, without, reading)
    if hasattr(inputs, "chunks") and hasattr(inputs, "require"):
        return cast(Documents, inputs)
    if is_arrow(inputs):
        return from_arrow(inputs, chunk_bytes)
    if isinstance(inputs, Iterator):
        return _from_list(list(inputs), chunk_bytes)
    raise InputError(
        f"Cannot take documents from {type(inputs).__name__}",
        "A file name, Path, list of str or Path, table, data frame, or iterator of str or record batches",
        "Convert the documents to one of these",
    )


def open_files(
    names: Sequence[str | Path],
    *,
    chunk_bytes: int = CHUNK_BYTES,
    without: Collection[Path] = (),
    reading: ReadingSettings = AUTO,
) -> Documents:
    """Open files, folders, patterns and URLs as one input, ``without`` some files; all must be of one format."""
    if not names:
        raise InputError("No input was given", "At least one file, folder or pattern", "Name an input")
    found = find_files(names, without)
    documents = _OPENED[found.format](found, chunk_bytes, reading)
    documents.findings.aside[:0] = found.aside
    documents.findings.notes[:0] = found.notes
    return documents


def open_sources(found: Discovered, reading: ReadingSettings = AUTO) -> Documents:
    """Open files that were found before."""
    return _OPENED[found.format](found, CHUNK_BYTES, reading)


def _from_list(
    items: Sequence[Any], chunk_bytes: int, without: Collection[Path] = (), reading: ReadingSettings = AUTO
) -> Documents:
    if items and all(isinstance(item, Path) for item in items):
        return open_files(items, chunk_bytes=chunk_bytes, without=without, reading=reading)
    if items and all(isinstance(item, pa.RecordBatch) for item in items):
        return from_arrow(_joined(items), chunk_bytes)
    refuse_names(items)
    return from_strings(items, chunk_bytes)


def _joined(batches: Sequence[Any]) -> Any:
    try:
        return pa.Table.from_batches(batches)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"The record batches do not fit together: {error}",
            "Batches of one schema",
            "Cast them to one schema first",
        ) from error
