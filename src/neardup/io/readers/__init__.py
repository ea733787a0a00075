"""Reading documents: any input becomes chunks of rows, and bad rows become problems."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from neardup.errors import InputError, unusable
from neardup.io.place import without_secrets
from neardup.io.readers.base import CHUNK_BYTES, Documents, Format
from neardup.io.readers.columns import choose_columns, choose_reference
from neardup.io.readers.csv import CsvDocuments
from neardup.io.readers.discovery import database_of, find_files, root_of
from neardup.io.readers.folders import Discovered, format_of_source
from neardup.io.readers.ipc import IpcDocuments
from neardup.io.readers.jsonl import JsonlDocuments
from neardup.io.readers.parquet import ParquetDocuments
from neardup.io.readers.sources import Source
from neardup.io.readers.text_files import TextDocuments, document_content, read_document, read_stream
from neardup.settings import ReadingSettings

AUTO = ReadingSettings()


def _warc_documents(files: Discovered, size: int, reading: ReadingSettings) -> Documents:
    try:  # it needs warcio
        from neardup.io.readers.warc import WarcDocuments
    except ImportError as error:
        why, do = unusable("warcio", "warc", error)
        raise InputError(f"A WARC file needs warcio, which {why}", "", do) from None
    return WarcDocuments(files.sources, size, reading)


def _table_documents(files: Discovered, size: int, _: ReadingSettings) -> Documents:
    from neardup.io.readers.versioned_tables import VersionedTable  # here, since few inputs are tables

    return VersionedTable(files.sources, size)


_OPENED: dict[Format, Callable[[Discovered, int, ReadingSettings], Documents]] = {
    "parquet": lambda found, size, _: ParquetDocuments(found.sources, size),
    "ipc": lambda found, size, _: IpcDocuments(found.sources, size),
    "jsonl": lambda found, size, reading: JsonlDocuments(found.sources, size, reading.encoding),
    "warc": _warc_documents,
    "table": _table_documents,
    "csv": lambda found, size, reading: CsvDocuments(found.sources, size, reading),
    "text": lambda found, size, reading: TextDocuments(
        found.name, found.sources, size, reading.encoding, reading.pages, reading.text_suffix
    ),
}
"""The documents of each format that files may have."""

__all__ = [
    "choose_columns",
    "choose_reference",
    "document_content",
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

    A str or Path names files: a file, a folder, a pattern, a URL; so does a list of Path. Any other object holds
    the documents itself, or yields them: ``io.frames`` lists the kinds. A list of str is a list of texts;
    one of file names is refused, since either meaning is possible. A stream is read to its end and kept on disk,
    since the documents are read more than once. Documents are returned unchanged. ``without``: files that are
    never input, in any folder. ``reading``: how bytes become texts.
    """
    if isinstance(inputs, str | Path):
        return open_files([inputs], chunk_bytes=chunk_bytes, without=without, reading=reading)
    if isinstance(inputs, list | tuple) and inputs and all(isinstance(item, Path) for item in inputs):
        return open_files(inputs, chunk_bytes=chunk_bytes, without=without, reading=reading)
    if hasattr(inputs, "chunks") and hasattr(inputs, "require"):
        return cast(Documents, inputs)
    # here, since its modules import those of this package, and files need no library of frames
    from neardup.io.frames import from_object

    return from_object(inputs, chunk_bytes)


def open_files(
    names: Sequence[str | Path],
    *,
    chunk_bytes: int = CHUNK_BYTES,
    without: Collection[Path] = (),
    reading: ReadingSettings = AUTO,
) -> Documents:
    """Open files, folders, patterns and URLs, ``without`` some files: data, or one document a file."""
    if not names:
        raise InputError("No input was given", "At least one file, folder or pattern", "Name an input")
    own = {os.path.realpath(path) for path in without}
    alone = len(names) == 1 and os.path.realpath(str(names[0])) not in own
    if reading.query or (alone and database_of(str(names[0])) is not None):
        from neardup.io.frames.databases import from_query  # here, as frames are below

        return from_query(names, reading.query, chunk_bytes)
    found = find_files(names, without)
    documents = _open_files(found, chunk_bytes, reading)
    documents.findings.aside[:0] = found.aside
    documents.findings.notes[:0] = found.notes
    if documents.format != "text":
        documents.findings.roots[:] = filter(None, map(root_of, map(without_secrets, map(str, names))))
    return documents


def open_sources(found: Discovered, reading: ReadingSettings = AUTO) -> Documents:
    """Open files that were found before."""
    return _open_files(found, CHUNK_BYTES, reading)


def _open_files(files: Discovered, size: int, reading: ReadingSettings) -> Documents:
    """Open files with the reader of their format; of several formats, and several tables, each with its own."""
    if files.format != "mixed" and (files.format != "table" or len(files.sources) == 1):
        return _OPENED[files.format](files, size, reading)
    from neardup.io.readers.composite import CompositeDocuments  # here, since most inputs are of one format

    inputs: list[Any] = []
    for _, sources in groupby(enumerate(files.sources), _reader_of):
        some = tuple(source for _, source in sources)
        format = format_of_source(some[0])
        inputs.append(_OPENED[format](replace(files, format=format, sources=some), size, reading))
    return CompositeDocuments(inputs)


def _reader_of(numbered: tuple[int, Source]) -> tuple[Format, int]:
    """The same for files that have one reader: those of one format that follow each other, but no tables."""
    number, source = numbered
    format = format_of_source(source)
    return format, number if format == "table" else 0
