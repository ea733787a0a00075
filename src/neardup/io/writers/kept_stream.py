"""Kept rows as lines of JSON in a stream: standard output."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from neardup.errors import OutputError
from neardup.io.readers.arrow_types import is_bytes, plain, valid_strings
from neardup.io.readers.base import Chunk, Documents, NativeLines, NativeRows, Natives, NativeTable
from neardup.io.writers.kept_lines import line_pieces
from neardup.io.writers.kept_parquet import kept_rows
from neardup.io.writers.outputs import OutputFolder


class StreamOutput(OutputFolder):
    """A stream of the kept rows as an output: it has no folder, and the tables of a result are not written."""

    rows_only = True

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(Path(tempfile.gettempdir()) / "-")
        self.stream = stream

    def begin(self) -> None:
        """Do nothing: the stream is open."""

    def end(self, *, whole: bool) -> None:
        """Hand the last lines over."""
        if whole:
            self.stream.flush()

    def write_table(self, name: str, table: Any) -> None:
        """Drop a table."""

    def write_texts(self, name: str, texts: Iterable[tuple[int, bytes]]) -> None:
        """Drop texts."""

    def write_json(self, name: str, value: object) -> None:
        """Drop a value."""

    def write_jsonl(self, name: str, rows: Iterable[object]) -> None:
        """Drop rows."""


class StreamSink:
    """Writes rows to a stream: lines of JSONL as they are, all others as JSON objects."""

    path = Path("standard output")

    def __init__(self, stream: BinaryIO, text: str | None) -> None:
        self._stream, self._text = stream, text
        self._encode = msgspec.json.Encoder(enc_hook=str).encode

    def prepare(self, native: NativeTable | NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Return the kept lines."""
        if isinstance(native, NativeLines):
            return line_pieces(native, keep, extra)
        table = kept_rows(native.table, keep, extra)
        if table is None:
            return None
        try:
            return [self._encode(row) + b"\n" for row in _plain(table, self._text).to_pylist()]
        except UnicodeDecodeError as error:
            raise OutputError(
                f"A nested value is not valid UTF-8, and has no form in JSON: {error.reason}",
                "Texts in UTF-8",
                "Give -o DIR, which writes the rows as the input has them",
            ) from error

    def write(self, item: list[Any]) -> None:
        """Write the lines."""
        self._stream.writelines(item)

    def close(self) -> None:
        """Hand the lines over; the stream stays open."""
        self._stream.flush()


def stream_natives(documents: Documents, wanted: Collection[int] | None) -> Natives:
    """Yield each wanted chunk and a function that reads its rows; documents that are files become id and text."""
    files = documents.format == "text"
    for chunk in documents.chunks(wanted, ["id", "text"] if files else None):
        yield chunk, partial(_file_rows, chunk) if files else chunk.read_native


def _file_rows(chunk: Chunk) -> NativeRows:
    read = chunk.read(["id", "text"])
    return NativeTable(read.row_numbers, read.table, tuple(read.problems))


def _plain(table: pa.Table, text: str | None) -> pa.Table:
    """Return a table whose values Python can hold: valid strings, and times in nanoseconds as text."""
    table = plain(table)
    for position, field in enumerate(table.schema):
        column, kind = table.column(position), field.type
        if (pt.is_timestamp(kind) or pt.is_time64(kind)) and kind.unit == "ns":
            column = column.cast(pa.string())
        elif pt.is_duration(kind) and kind.unit == "ns":
            column = column.cast(pa.int64())
        elif field.name == text and is_bytes(kind):
            column = column.cast(pa.large_string(), safe=False) if _is_utf8(column) else _replaced(column)
        table = table.set_column(position, field.name, column)
    return valid_strings(table, "")


def _is_utf8(column: Any) -> bool:
    try:
        column.cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def _replaced(column: Any) -> Any:
    texts = [None if value is None else value.decode("utf-8", "replace") for value in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.large_string())])
