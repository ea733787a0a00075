"""The folder of a finished run, read back: its tables, its account, the rows that were rejected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.attachments import ATTACHMENTS, ATTACHMENTS_TYPE
from neardup.coefficients import FORMAT_VERSION
from neardup.errors import FormatError, InputError
from neardup.readers.base import Problem
from neardup.tables import RESULT_TABLES
from neardup.views import printable

Content = TypeVar("Content")

_ALLOWED = "A folder that neardup dedup or neardup group has written"
_COLUMNS = {
    "pairs": ("id_a", "id_b", "shared", "size_a", "size_b"),
    "groups": ("id", "group", "representative", "similarity", "kept", "reason"),
    "missed": ("id_a", "id_b", "shared", "size_a", "size_b"),
    "copies": ("id", "copy_of"),
    "ranks": ("id", "row", "first", "rank", "reference", "bytes"),
    "not_judged": ("id", "kind", "bytes", "kept", "reason"),
}
_TYPES = {
    **dict.fromkeys(("shared", "size_a", "size_b", "common", "total_a", "total_b"), pa.int64()),
    **dict.fromkeys(("row", "first", "rank", "bytes"), pa.int64()),
    **dict.fromkeys(("a_in_reference", "representative", "kept", "reference"), pa.bool_()),
    "similarity": pa.float64(),
    "attachments_differ": pa.bool_(),
    ATTACHMENTS: ATTACHMENTS_TYPE,
}
_KEYS = (
    *(
        "action",
        "settings",
        "counts",
        "bytes",
        "choice",
        "plan",
        "recall",
        "audit",
        "crowds",
        "popular",
        "chaining",
    ),
    *("regrouped_from", "warnings", "notes", "seconds", "peak_memory_bytes"),
)


@dataclass(frozen=True, eq=False)
class StoredResult:
    """What the folder holds, apart from documents: each table by its name, ``run.json``, the rejected rows."""

    tables: dict[str, pa.Table]
    run: dict[str, Any]
    problems: tuple[Problem, ...]


def read_result(folder: Path) -> StoredResult:
    """Read a result folder.

    Raises InputError for a folder that is none or is damaged, FormatError for another format version.
    """
    run = _run(folder)
    tables = {name: _table(folder, name) for name in RESULT_TABLES}
    if (folder / "missed.parquet").exists():
        tables["missed"] = _table(folder, "missed")
    problems = _content(folder, "problems.jsonl", _problems)
    return StoredResult(tables, run, problems)


def _run(folder: Path) -> dict[str, Any]:
    if not (folder / "run.json").is_file():
        why = "it has no run.json" if folder.is_dir() else "there is no such folder"
        raise InputError(f"{folder} is no result of neardup: {why}", _ALLOWED)
    run = _content(folder, "run.json", lambda path: msgspec.json.decode(path.read_bytes()))
    if not isinstance(run, dict) or not {"neardup", "format"} <= run.keys():
        raise InputError(f"{folder} is no result of neardup: its run.json is another program's", _ALLOWED)
    if run["format"] != FORMAT_VERSION:
        raise FormatError(
            f"{folder} has format {printable(run['format'])}, written by neardup {printable(run['neardup'])}",
            f"This program reads format {FORMAT_VERSION}",
            "Make the result again with this program",
        )
    lacking = [key for key in _KEYS if key not in run]
    if lacking:
        raise _damaged(folder, "run.json", f"it lacks {', '.join(lacking)}")
    return run


def _table(folder: Path, name: str) -> pa.Table:
    file = f"{name}.parquet"
    table = _content(folder, file, lambda path: pq.ParquetFile(path).read())
    missing = [column for column in _COLUMNS[name] if column not in table.column_names]
    if missing:
        raise _damaged(folder, file, f"it lacks the columns {', '.join(missing)}")
    wrong = [field.name for field in table.schema if field.type != _TYPES.get(field.name, field.type)]
    if wrong:
        raise _damaged(folder, file, f"of another type than they should be are {', '.join(wrong)}")
    return table


def _problems(path: Path) -> tuple[Problem, ...]:
    return tuple(msgspec.json.decode(line, type=Problem) for line in path.read_bytes().splitlines())


def _content(folder: Path, name: str, read: Callable[[Path], Content]) -> Content:
    try:
        return read(folder / name)
    except FileNotFoundError:
        raise _damaged(folder, name, "it is not there") from None
    except (OSError, pa.ArrowException, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _damaged(folder, name, str(error).strip().partition("\n")[0]) from error


def _damaged(folder: Path, name: str, reason: str) -> InputError:
    return InputError(
        f"{folder / name} cannot be used: {reason}",
        "A folder as this version of neardup writes it, with all its files",
        "Make the result again",
    )
