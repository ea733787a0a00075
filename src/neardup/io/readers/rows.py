"""One row of a data file that a person names, such as ``mails.jsonl#17``."""

from __future__ import annotations

from collections.abc import Sequence

from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_files
from neardup.io.readers.discovery import find_file
from neardup.io.readers.lookup import as_bytes, row_of
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
