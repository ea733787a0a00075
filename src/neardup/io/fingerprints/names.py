"""The names of groups beside fingerprints: a group that has a name keeps it when documents join it later."""

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers.manifest import read_regular
from neardup.io.writers.filesystem import restrict, unwritable_error
from neardup.io.writers.output import stamped_schema
from neardup.tables import Int64s

FOLDER = ".neardup-groups"
"""The folder beside the parts; it has a file for each part."""

NAMES = pa.schema([("row", pa.int64()), ("group", pa.string()), ("joined", pa.list_(pa.string()))])
"""A row of the part that is in a group, ascending; the name of the group; other groups it is a near copy in."""


def read_names(part: Path) -> pa.Table:
    """Return the NAMES of the rows of a part; empty if none are stored. Raises InputError for another table."""
    path = _path(part)
    try:
        with pa.ipc.open_file(pa.BufferReader(read_regular(path, path.lstat().st_size))) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except FileNotFoundError:
        return NAMES.empty_table()
    except (OSError, pa.ArrowException, ValueError) as error:
        raise _unusable_error(path, str(error)) from error
    if not table.schema.equals(NAMES) or any(column.null_count for column in table.columns):
        raise _unusable_error(path, "its columns are others")
    if (np.diff(table["row"].to_numpy()) <= 0).any():
        raise _unusable_error(path, "its rows are not in order")
    return table


def write_names(part: Path, table: pa.Table, access: int) -> None:
    """Write the NAMES of a part, in place of earlier ones, whole or not at all. Raises OutputError."""
    path = _path(part)
    partial = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(exist_ok=True)
        restrict(path.parent, access)
        try:
            with (
                pa.OSFile(os.fsencode(partial), "wb") as file,
                pa.ipc.new_file(file, stamped_schema(NAMES)) as writer,
            ):
                writer.write_table(table.cast(NAMES))
            restrict(partial, access)
            os.replace(partial, path)
        finally:
            with suppress(FileNotFoundError):
                partial.unlink()
    except OSError as error:
        raise unwritable_error(path, error) from error


def names_at(table: pa.Table, rows: Sequence[int]) -> list[str | None]:
    """Return the names of the groups of some rows, None for those without one."""
    known: Int64s = table["row"].to_numpy()
    at = np.searchsorted(known, rows)
    there = at < len(known)
    there[there] = known[at[there]] == np.asarray(rows)[there]
    found: list[str | None] = table["group"].take(pa.array(at, mask=~there)).to_pylist()
    return found


def _path(part: Path) -> Path:
    return part.parent / FOLDER / f"{part.name}.arrow"


def _unusable_error(path: Path, why: str) -> InputError:
    return InputError(
        f"The names of groups in {path} cannot be used: {why}",
        "A file as neardup has written it",
        "Restore it, or remove it to name the groups anew",
    )
