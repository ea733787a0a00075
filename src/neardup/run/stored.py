"""The folder of a finished run, read back: its tables, its account, the rows that were rejected.

Anyone may have made or changed the folder. Files are compared with the manifest before they are decoded; they are
read, not mapped; and all their content is checked before it is used.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from neardup.display import printable
from neardup.errors import FormatError, InputError
from neardup.io.readers.base import Problem
from neardup.io.readers.manifest import (
    RUN_FILE,
    ChangedError,
    Manifest,
    damaged,
    decoded_table,
    read_manifest,
    read_regular,
    read_whole,
)
from neardup.run.stored_account import check_run, decoded
from neardup.run.stored_tables import check_kinds, check_together, decode_table
from neardup.tables import FORMAT_VERSION, OPTIONAL_TABLES, PLACE_TABLES, RESULT_TABLES, TEXTS_FILE

_ALLOWED = "A folder that neardup dedup or neardup group has written"

_MOST_BYTES = 1 << 30
"""Largest size of run.json; its lists (crowds, warnings) are short."""


@dataclass(frozen=True, eq=False)
class StoredResult:
    """The content of the folder except documents: each table by its name, ``run.json``, the rejected rows."""

    folder: Path
    tables: dict[str, pa.Table]
    run: dict[str, Any]
    problems: tuple[Problem, ...]
    places: dict[str, pa.Table]
    texts: bool


def require_result(folder: Path) -> None:
    """Raise InputError for a folder without the account of a run; its tables are not read."""
    _run(folder)


def read_result(folder: Path) -> StoredResult:
    """Read a result folder.

    Raises InputError for a folder that is not a result or was changed, FormatError for another format version.
    """
    run = _run(folder)
    try:
        manifest = read_manifest(folder)
        read_whole(folder, RUN_FILE, manifest)
        search = check_run(run).search
        names = [*RESULT_TABLES, *(name for name in OPTIONAL_TABLES if f"{name}.parquet" in manifest.files)]
        files = {name: read_whole(folder, f"{name}.parquet", manifest) for name in names}
        tables = {name: decode_table(name, data, search) for name, data in files.items()}
        check_together(tables, run, search)
        places = {
            name: decoded_table(name, read_whole(folder, f"{name}.parquet", manifest))
            for name in PLACE_TABLES
            if f"{name}.parquet" in manifest.files
        }
        texts = has_texts(folder, manifest)
        check_kinds(tables["pairs"], run)
        problems = _problems(folder, manifest)
        if run["counts"]["rejected"] and not problems:
            raise ChangedError("run.json counts rejected rows, and problems.jsonl has none")
    except ChangedError as changed:
        raise damaged(folder, str(changed)) from changed
    return StoredResult(folder, tables, run, problems, places, texts)


def _run(folder: Path) -> dict[str, Any]:
    """The account of a folder of this format."""
    try:
        run = decoded(read_regular(folder / RUN_FILE, _MOST_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        why = "it has no run.json" if folder.is_dir() else "there is no such folder"
        raise InputError(f"{folder} is not a result of neardup: {why}", _ALLOWED) from None
    except OSError as error:
        raise damaged(folder, f"run.json cannot be read: {error.strerror or error}") from error
    except ChangedError as changed:
        raise damaged(folder, str(changed)) from changed
    if not isinstance(run, dict) or not {"neardup_version", "format"} <= run.keys():
        raise InputError(f"{folder} is not a result of neardup: its run.json is another program's", _ALLOWED)
    if type(run["format"]) is not int or run["format"] != FORMAT_VERSION:
        raise FormatError(
            f"{folder} has format {printable(run['format'])}, "
            f"written by neardup {printable(run['neardup_version'])}",
            f"This program reads format {FORMAT_VERSION}",
            "Make the result again with this program",
        )
    return run


def has_texts(folder: Path, manifest: Manifest) -> bool:
    """Return whether the folder has stored texts. Raises ChangedError if they are not as long as those written."""
    written = manifest.files.get(TEXTS_FILE)
    if written is None:
        return False
    try:
        found = (folder / TEXTS_FILE).lstat()
    except OSError:
        raise ChangedError(f"{TEXTS_FILE} is not there") from None
    if not stat.S_ISREG(found.st_mode) or found.st_size != written.bytes:
        raise ChangedError(f"{TEXTS_FILE} has {found.st_size:,} bytes, and {written.bytes:,} were written")
    return True


def _problems(folder: Path, manifest: Manifest) -> tuple[Problem, ...]:
    lines = read_whole(folder, "problems.jsonl", manifest).split(b"\n")
    try:
        return tuple(msgspec.json.decode(line, type=Problem) for line in lines if line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ChangedError(f"problems.jsonl cannot be used: {error}") from error
