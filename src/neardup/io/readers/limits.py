"""How much a row, a field or a table may ask for before it is refused, and how the refusal reads."""

from __future__ import annotations

from neardup.errors import InputError

ROW_BYTES = 64 << 20
"""Size of a row, and so of a field. The longest novels have 10 MB; a row is held several times over while it is
worked on, by each thread."""

COLUMNS = 10_000
"""Columns of a table. Each costs some kilobytes for every chunk of rows."""

DICTIONARY_BYTES = 256 << 20
"""Size of the different values of a column in a row group of Parquet; most writers stop at 1 MB."""

PAGE_BYTES, PAGE_RATIO = 256 << 20, 100
"""Size of a page of Parquet when it is unpacked, unless that is at most so many times what is stored. Writers put
a thousand values into a page however long they are, so a page of books may be bigger; text packs to a tenth."""


def too_long(what: str) -> str:
    """Return the reason for which a row is rejected.

    >>> too_long("the line")
    'the line is longer than 64 MB, the most a row may have'
    """
    return f"{what} is longer than {ROW_BYTES >> 20} MB, the most a row may have"


def refuse_columns(name: str, count: int) -> None:
    """Raise InputError for a table with more columns than are read."""
    if count > COLUMNS:
        raise InputError(
            f"{name} has {count:,} columns",
            f"At most {COLUMNS:,} columns",
            "Leave columns out, or turn them into rows",
        )
