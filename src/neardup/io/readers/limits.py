"""Limits on rows, fields and tables, and the errors for exceeding them."""

from __future__ import annotations

from neardup.errors import InputError

ROW_BYTES = 64 << 20
"""Size of a row, and so of a field. The longest novels have 10 MB; each thread holds several copies of a row while
processing it."""

COLUMNS = 10_000
"""Columns of a table. Each costs some kilobytes for every chunk of rows."""

DICTIONARY_BYTES = 256 << 20
"""Size of the distinct values of a column in a row group of Parquet; most writers stop at 1 MB."""

PAGE_BYTES, PAGE_RATIO = 256 << 20, 100
"""Size of an unpacked page of Parquet, unless it is at most ``PAGE_RATIO`` times its stored size. Writers put a
thousand values into a page regardless of length, so a page of books may be bigger; text packs to a tenth."""


def too_long(what: str) -> str:
    """Return the reason for rejecting a row.

    >>> too_long("the line")
    'the line is longer than 64 MB, the most a row may have'
    """
    return f"{what} is longer than {ROW_BYTES >> 20} MB, the most a row may have"


def refuse_columns(name: str, count: int) -> None:
    """Raise InputError for a table with more columns than the limit."""
    if count > COLUMNS:
        raise InputError(
            f"{name} has {count:,} columns",
            f"At most {COLUMNS:,} columns",
            "Leave columns out, or turn them into rows",
        )
