"""Tables as .xlsx, the workbook of spreadsheets, and the rows of such a file; with the library openpyxl."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from neardup.display import printable
from neardup.errors import InputError, unusable

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS, MOST_CHARACTERS = 1_048_575, 32_767
"""The rows below the first one, and the characters of a cell, that the format allows."""
MULTIPLE = "; "
"""Separates the values of a list."""
TITLE = "neardup export"
_WIDTHS = {"id": 48, "group": 48, "other": 48, "path": 60, "reason": 60, "kind": 24, "note": 40, "tags": 24}
_ESCAPED = re.compile("[\x00-\x08\x0b-\x1f]|_(?=x[0-9A-Fa-f]{4}_)")
_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")
_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
_BYTES = 1 << 20


def workbook_bytes(table: pa.Table, ids: tuple[str, ...]) -> Iterator[bytes]:
    """Yield a workbook with one sheet: names in the first row, which stays in view and has filters.

    Texts are texts, whatever they begin with. Raises InputError for a table or an id that the format cannot hold,
    before the first byte.
    """
    if table.num_rows > MOST_ROWS:
        allowed = f"At most {MOST_ROWS:,}"
        raise InputError(f"A spreadsheet cannot hold {table.num_rows:,} rows", allowed, "Export as csv")
    for name in ids:
        for value in table[name].to_pylist() if name in table.column_names else ():
            _require_cell(value)
    whole = io.BytesIO()
    _workbook(table).save(whole)
    whole.seek(0)
    return iter(lambda: whole.read(_BYTES), b"")


def workbook_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the first sheet as values by name. Raises ValueError for a file that is no workbook."""
    with open(path, "rb") as file:
        try:
            sheet = _library().load_workbook(file, read_only=True, data_only=True).worksheets[0]
        except (BadZipFile, KeyError, IndexError) as error:
            raise ValueError(f"it is no workbook: {error}") from error
        names: list[str] | None = None
        for values in sheet.iter_rows(values_only=True):
            if names is None:
                names = ["" if value is None else str(value) for value in values]
            elif any(value is not None for value in values):
                yield {name: _read(value) for name, value in zip(names, values, strict=False) if name}


def is_workbook_of_ours(path: Path) -> bool:
    """Return whether a file is a workbook that ``workbook_bytes`` made, by its title."""
    try:
        with ZipFile(path) as archive, archive.open("docProps/core.xml") as properties:
            return TITLE.encode() in properties.read(1 << 16)
    except (BadZipFile, KeyError, OSError, RuntimeError, ValueError):
        return False


def _library() -> Any:
    try:
        import openpyxl
    except ImportError as error:
        why, way = unusable("openpyxl", "office", error)
        raise InputError(
            f"The package openpyxl, which .xlsx needs, {why}", "csv, jsonl, parquet or dat", way
        ) from error
    return openpyxl


def _workbook(table: pa.Table) -> Any:
    openpyxl = _library()
    book = openpyxl.Workbook(write_only=True)
    book.properties.title, book.properties.creator = TITLE, "neardup"
    book.properties.created = book.properties.modified = datetime(2000, 1, 1)  # files of one table are equal
    sheet = book.create_sheet("neardup")
    sheet.freeze_panes = "B2"
    for number, name in enumerate(table.column_names, 1):
        letter = openpyxl.utils.get_column_letter(number)
        sheet.column_dimensions[letter].width = _WIDTHS.get(name, 14)
    sheet.auto_filter.ref = f"A1:{openpyxl.utils.get_column_letter(table.num_columns)}{table.num_rows + 1}"
    sheet.append(table.column_names)
    for batch in table.to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            sheet.append([_cell(sheet, value) for value in row.values()])
    return book


def _cell(sheet: Any, value: Any) -> Any:
    """A value, or a cell for a text: alone, one that begins with = would be a formula."""
    if not isinstance(value, str | list):
        return value
    text = _NOT_XML.sub("\ufffd", MULTIPLE.join(value) if isinstance(value, list) else value)
    cell = _library().cell.WriteOnlyCell(sheet, "")
    cell.value = _ESCAPED.sub(lambda match: f"_x{ord(match[0]):04X}_", text)[:MOST_CHARACTERS]
    cell.data_type = "s"
    return cell


def _read(value: Any) -> Any:
    """Read a cell: escaped characters as themselves."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), value) if isinstance(value, str) else value


def _require_cell(id: Any) -> None:
    text = str(id)
    if len(_ESCAPED.sub("_x0000_", text)) > MOST_CHARACTERS or _NOT_XML.search(text):
        raise InputError(
            f"A spreadsheet cannot hold the id {printable(text[:60])}",
            f"Ids of Unicode characters, at most {MOST_CHARACTERS:,}",
            "Export as csv, jsonl or parquet",
        )
