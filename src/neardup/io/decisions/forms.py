"""Tables as files for other programs: CSV, JSON Lines, Parquet, and DAT, the load file of review platforms."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.writers.stamp import stamped

MULTIPLE = "; "
"""Separates the values of a list in CSV and DAT."""

QUOTE, SEPARATOR, NEWLINE = "\u00fe", "\x14", "\u00ae"
"""The characters of a DAT file: þ around values, the control character 20 between them, ® for a line end."""

_ROWS, _BYTES = 10_000, 1 << 20
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_BREAKS = re.compile(f"[{SEPARATOR}\r\n]")


def as_bytes_of(table: pa.Table, form: str, ids: tuple[str, ...] = ("id",)) -> Iterator[bytes]:
    """Yield the table as a file; ``form`` is one of FORMS, and ``ids`` are columns that must not change.

    Raises SettingError for another form, and InputError for an id that a DAT file cannot hold, before the first
    byte.
    """
    return FORMS[form](table, ids)


def protected(value: str) -> str:
    """Return a text for a CSV file; an apostrophe precedes one that a spreadsheet would take for a formula.

    >>> protected("=1+1"), protected("'=1"), protected("a=1"), unprotected(protected("-x"))
    ("'=1+1", "''=1", 'a=1', '-x')
    """
    return f"'{value}" if _FORMULA.match(value) else value


def unprotected(value: str) -> str:
    """Return a text of a CSV file without the apostrophe of :func:`protected`."""
    return value[1:] if value.startswith("'") and _FORMULA.match(value) else value


def formulas(table: pa.Table) -> int:
    """Count the values that a spreadsheet would take for formulas."""
    values = (value for rows in _rows(table) for row in rows for value in row.values())
    return sum(bool(_FORMULA.match(_plain(value))) for value in values if isinstance(value, str | list))


def _rows(table: pa.Table) -> Iterator[list[dict[str, Any]]]:
    for first in range(0, table.num_rows, _ROWS):
        yield table.slice(first, _ROWS).to_pylist()


def _plain(value: Any) -> str:
    """A value as text: nothing for a missing one, and a list with separators."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return MULTIPLE.join(value) if isinstance(value, list) else str(value)


def _csv(table: pa.Table, ids: tuple[str, ...]) -> Iterator[bytes]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    for rows in _rows(table):
        for row in rows:
            writer.writerow(
                [
                    protected(_plain(value)) if isinstance(value, str | list) else _plain(value)
                    for value in row.values()
                ]
            )
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


def _jsonl(table: pa.Table, ids: tuple[str, ...]) -> Iterator[bytes]:
    encoder = msgspec.json.Encoder()
    for rows in _rows(table):
        yield b"".join(encoder.encode(row) + b"\n" for row in rows)


def _parquet(table: pa.Table, ids: tuple[str, ...]) -> Iterator[bytes]:
    whole = io.BytesIO()
    pq.write_table(table.cast(stamped(table.schema)), whole, compression="zstd")
    whole.seek(0)
    while block := whole.read(_BYTES):
        yield block


def _dat(table: pa.Table, ids: tuple[str, ...]) -> Iterator[bytes]:
    """With a byte order mark, by which platforms recognise UTF-8, and the line ends of Windows."""
    for name in ids:
        if name in table.column_names:  # before anything is written: a file that breaks off would seem to be whole
            for chunk in table[name].chunks:
                for id in chunk.to_pylist():
                    _require_one_line(_plain(id))
    return _dat_lines(table)


def _dat_lines(table: pa.Table) -> Iterator[bytes]:
    yield b"\xef\xbb\xbf" + _dat_line(table.column_names)
    for rows in _rows(table):
        yield b"".join(_dat_line([_one_line(_plain(value)) for value in row.values()]) for row in rows)


def _dat_line(values: list[str]) -> bytes:
    return (SEPARATOR.join(f"{QUOTE}{value}{QUOTE}" for value in values) + "\r\n").encode()


def _one_line(value: str) -> str:
    return re.sub("\r\n|\r|\n", NEWLINE, value).replace(SEPARATOR, " ")


def _require_one_line(id: str) -> None:
    if _BREAKS.search(id):
        raise InputError(
            f"The id {printable(id)} has a character that ends a value or a line in a DAT file",
            "Ids without line ends and without the control character 20",
            "Export as csv, jsonl or parquet",
        )


FORMS: dict[str, Callable[[pa.Table, tuple[str, ...]], Iterator[bytes]]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "dat": _dat,
}
"""The forms of a file, by the names that also are their suffixes."""
