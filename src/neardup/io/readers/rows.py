"""One row of a file: that a person names, such as ``mails.jsonl#17``, or by its number."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_files
from neardup.io.readers.base import Chunk, Documents, FailedChunk, ReadRows
from neardup.io.readers.discovery import find_file
from neardup.io.readers.parquet import ParquetDocuments
from neardup.settings import ReadingSettings


def read_file_row(name: str, row: int, text: str | Sequence[str] | None, reading: ReadingSettings) -> str:
    """Return the text of a row of a JSONL, CSV, Parquet or Arrow file; rows are numbered from 0.

    ``text`` names the column or columns, guessed as in a run if it is None. Raises InputError for a row that is
    not there or was rejected, and for a file that is one document itself.
    """
    find_file(name)  # a folder and a pattern are not one file
    documents = open_files([name], reading=reading)
    if documents.format == "text":
        raise InputError(
            f"{name} is one document, and has no rows",
            "Rows of JSONL, CSV, Parquet and Arrow files",
            "Leave out # and the number",
        )
    columns = choose_columns(documents, text, None)
    found = row_of(documents, row, [columns.text])
    return as_bytes(found[columns.text][0].as_py()).decode("utf-8", "replace")


def row_of(documents: Documents, row: int, names: Sequence[str]) -> pa.Table:
    """Return a row of the documents of one file as a table with these columns.

    Raises InputError for a row that is not there, or that was rejected, with the reason.
    """
    if isinstance(documents, ParquetDocuments):
        single = documents.row(row, names)
        if single is not None and len(single.row_numbers):
            return single.table
        if single is not None:
            raise _rejected_error(documents.names[0], row, single.problems[0].reason)
    held: Chunk | None = None
    lost: FailedChunk | None = None
    for chunk in documents.chunks(None, names):
        if isinstance(chunk, FailedChunk):
            lost = chunk if (chunk.problem.row or 0) <= row else lost
        elif chunk.first_row > row:
            break
        else:
            held = chunk
    rows = None if held is None else held.read(names)
    if rows is not None:
        at = np.flatnonzero(rows.row_numbers == row)
        if len(at):
            return rows.table.slice(int(at[0]), 1)
    raise _absent_error(documents.names[0], row, rows, lost)


def _absent_error(name: str, row: int, rows: ReadRows | None, lost: FailedChunk | None) -> InputError:
    problems = [] if rows is None else [problem for problem in rows.problems if problem.row == row]
    if lost is not None:
        problems.append(lost.problem)
    if problems:
        return _rejected_error(name, row, problems[0].reason)
    last = int(rows.row_numbers[-1]) if rows is not None and len(rows.row_numbers) else None
    allowed = "A file with rows" if last is None else f"Rows 0 to {last:,}"
    return InputError(f"{name} has no row {row:,}", allowed, "Rows are numbered from 0")


def _rejected_error(name: str, row: int, reason: str) -> InputError:
    """Return the error for a row that cannot be read as a document."""
    return InputError(f"Row {row:,} of {name} is not a document: {reason}", "A row that a run would accept")


def as_bytes(text: Any) -> bytes:
    """Return a value of a text column as UTF-8; no text is an empty one."""
    if text is None:
        return b""
    return text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogatepass")
