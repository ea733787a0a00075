"""Folders with a table of Delta, Iceberg or Lance: which of their files have rows depends on a log of versions.

Read as loose Parquet, such a folder would yield rows that were deleted. Each version has a file in the log, by
which it is opened and recognised later. ``table@v3`` names version 3, and ``table@2026-03-01`` the newest version
of that time, which the library of the table knows.
"""

import os
import re
from collections.abc import Collection
from datetime import UTC, datetime
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeAlias

from neardup.errors import InputError, unusable
from neardup.io.place import shown_name
from neardup.io.readers.sources import Source

TableFormat: TypeAlias = Literal["Delta", "Iceberg", "Lance"]

_VERSION = re.compile(r"(.+)@(?:v(\d{1,19})|(\d{4}-\d\d-\d\d(?:[T ][\d:.]+)?(?:Z|[+-]\d\d:\d\d)?))")
_NEWEST = (1 << 64) - 1
"""Lance counts the names of its versions down from here, so that the newest is listed first."""

_HINT = "version-hint.text"

_LOGS: dict[TableFormat, tuple[str, re.Pattern[str]]] = {
    "Delta": ("_delta_log", re.compile(r"(\d{20})(?:\.json|\.checkpoint\..*(?:parquet|json))")),
    "Iceberg": ("metadata", re.compile(r"(?:v(\d+)|(\d+)-[^/]+?)(?:\.gz)?\.metadata\.json(?:\.gz)?")),
    "Lance": ("_versions", re.compile(r"(\d+)\.manifest")),
}

PACKAGES: dict[TableFormat, tuple[str, str]] = {
    "Delta": ("deltalake", "delta"),
    "Iceberg": ("pyiceberg", "iceberg"),
    "Lance": ("lance", "lance"),
}
"""The package that reads each format, and the extra with it."""

LOGS = tuple(log for log, _ in _LOGS.values())
"""The names of the folders with logs."""


class TableFolder(NamedTuple):
    """A folder with a table, and the name of the folder in it with the log."""

    format: TableFormat
    path: str
    log: str

    @property
    def called(self) -> str:
        """The format with its article."""
        return f"{'an' if self.format == 'Iceberg' else 'a'} {self.format} table"

    def versions(self) -> dict[int, list[str]]:
        """Return the files of each version in the log. Raises OSError."""
        files: dict[int, list[str]] = {}
        for name in sorted(os.listdir(os.path.join(self.path, self.log))):
            version = _version_of(self.format, name)
            if version is not None:
                files.setdefault(version, []).append(name)
        return files


def _version_of(format: TableFormat, name: str) -> int | None:
    """Return the version that a file of a log has.

    >>> _version_of("Delta", "00000000000000000003.json"), _version_of("Iceberg", "00002-a5f0.metadata.json")
    (3, 2)
    >>> _version_of("Lance", "18446744073709551613.manifest"), _version_of("Lance", "2.manifest")
    (2, 2)
    """
    match = _LOGS[format][1].fullmatch(name)
    if match is None:
        return None
    digits = next(filter(None, match.groups()))
    return _NEWEST - int(digits) if format == "Lance" and len(digits) == len(str(_NEWEST)) else int(digits)


@lru_cache(maxsize=1024)
def table_in(path: str) -> TableFolder | None:
    """Return the table that a folder is, or None."""
    for format, (log, _) in _LOGS.items():
        table = TableFolder(format, path, log)
        try:
            if table.versions() or format == "Delta":  # no other program has a folder of this name
                return table
        except OSError:  # no such folder
            continue
    return None


def table_around(path: str) -> TableFolder | None:
    """Return the table that has a file or folder in its folder, or None."""
    folder = os.path.dirname(os.path.abspath(path))
    while True:
        table = table_in(folder)
        parent = os.path.dirname(folder)
        if table is not None or parent == folder:
            return table
        folder = parent


def refuse_part(name: str, path: str) -> None:
    """Raise InputError for a file or a folder inside a table."""
    table = table_around(path)
    if table is not None:
        raise InputError(
            f"{name} is part of {table.called}, whose log decides which rows count",
            "The table as a whole",
            f"Name the folder of the table: {shown_name(table.path)}",
        )


def refuse_remote(name: str, paths: Collection[str]) -> None:
    """Raise InputError if files at a URL are those of a table; ``paths`` has their paths."""
    for path in paths:
        folder, file = os.path.split(path)
        for format, (log, _) in _LOGS.items():
            if os.path.basename(folder) == log and _version_of(format, file) is not None:
                raise InputError(
                    f"{name} holds {TableFolder(format, '', log).called} at a URL",
                    "Tables on this system",
                    "Open it with its own library, and give the Arrow data to neardup.dedup in Python",
                )


def table_source(name: str, path: str) -> Source | None:
    """Return the file of the version of a table that a name refers to; None for a name of anything else.

    A folder means its newest version, ``@v3`` at its end version 3, ``@2026-03-01`` the newest version of that
    time, the file of a version in the log that version. Raises InputError for a version that is not there.
    """
    if os.path.isdir(path):
        table = table_in(os.path.abspath(path))
        return None if table is None else _source(name.rstrip(os.sep), table, None)
    log, file = os.path.split(os.path.abspath(path))
    table = table_in(os.path.dirname(log)) if os.path.isfile(path) else None
    if table is not None and table.log == os.path.basename(log):
        version = _version_of(table.format, file)
        return None if version is None else _of_file(os.path.dirname(os.path.dirname(name)), table, version, file)
    match = _VERSION.fullmatch(path)
    if match is None or os.path.exists(path) or not os.path.isdir(match[1]):
        return None
    table = table_in(os.path.abspath(match[1]))
    if table is None:
        raise InputError(f"{match[1]} is no table with versions", "A table of Delta, Iceberg or Lance before @v")
    short = name[: name.rindex("@")]
    return _source(short, table, int(match[2]) if match[2] else _version_at(short, table, match[3]))


def _version_at(name: str, table: TableFolder, time: str) -> int:
    """Return the newest version at a time in ISO 8601; without a zone it is UTC, and a date is its beginning."""
    try:
        given = datetime.fromisoformat(time)
    except ValueError:
        raise InputError(
            f"{name}@{time} names no time", "A date, or a date and a time, such as 2026-03-01T12:30:00Z"
        ) from None
    wanted = given if given.tzinfo else given.replace(tzinfo=UTC)
    package, extra = PACKAGES[table.format]
    try:
        times = _TIMES[table.format](table)
    except ImportError as error:
        why, do = unusable(package, extra, error)
        raise InputError(f"{name} is {table.called}; {package}, which knows its times, {why}", "", do) from None
    except Exception as error:  # each library has its own kinds
        raise InputError(
            f"The times of the versions of {name} cannot be read: {error}", "A log that its library reads"
        ) from error
    earlier = [version for version, written in times.items() if written <= wanted]
    if not earlier:
        oldest = min(times.values(), default=None)
        since = f": the oldest is of {oldest:%Y-%m-%dT%H:%M:%SZ}" if oldest else ""
        raise InputError(f"{name} has no version of {time}{since}", "A time at which the table was there")
    return max(earlier)


def _delta_times(table: TableFolder) -> dict[int, datetime]:
    history: list[dict[str, Any]] = import_module("deltalake").DeltaTable(table.path).history()
    return {one["version"]: _moment(one["timestamp"]) for one in history if "timestamp" in one}


def _iceberg_times(table: TableFolder) -> dict[int, datetime]:
    opened = import_module("pyiceberg.table").StaticTable.from_metadata
    paths = {
        version: os.path.join(table.path, table.log, files[-1]) for version, files in table.versions().items()
    }
    return {version: _moment(opened(path).metadata.last_updated_ms) for version, path in paths.items()}


def _lance_times(table: TableFolder) -> dict[int, datetime]:
    versions: list[dict[str, Any]] = import_module("lance").dataset(table.path).versions()
    return {one["version"]: one["timestamp"].astimezone(UTC) for one in versions}  # naive ones are local


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


_TIMES = {"Delta": _delta_times, "Iceberg": _iceberg_times, "Lance": _lance_times}


def _source(name: str, table: TableFolder, version: int | None) -> Source:
    versions = table.versions()
    if not versions:
        raise InputError(f"The log of {name} has no version", "A table that was written to the end")
    wanted = _newest(table, versions) if version is None else version
    if wanted not in versions:
        raise InputError(
            f"{name} has no version {wanted}",
            f"Versions {min(versions)} to {max(versions)}, unless they were removed",
            f"Name one that is there: {name}@v{max(versions)}",
        )
    files = [file for file in versions[wanted] if table.format != "Delta" or not file[20:].startswith(".check")]
    files = files or versions[wanted][:1]  # Delta may have only the checkpoint of an old version
    if len(files) > 1:
        raise InputError(
            f"{name} has {len(files)} files of version {wanted}, and only its catalog knows which one counts",
            "One file for each version",
            f"Name the right one, such as {os.path.join(name, table.log, files[-1])}",
        )
    return _of_file(name, table, wanted, files[0])


def _of_file(name: str, table: TableFolder, version: int, file: str) -> Source:
    path = os.path.join(table.path, table.log, file)
    return Source(f"{shown_name(name)}@v{version}", path, os.stat(path).st_size)


def _newest(table: TableFolder, versions: Collection[int]) -> int:
    """The version that counts: that of the hint beside the metadata of Iceberg, else the highest one."""
    try:
        with open(os.path.join(table.path, table.log, _HINT), encoding="ascii") as file:
            hint = int(file.read(32))
    except (OSError, ValueError):
        return max(versions)
    return hint if table.format == "Iceberg" and hint in versions else max(versions)


def opened_version(source: Source) -> tuple[TableFolder, int]:
    """Return the table of the file of a version, and the version. Raises InputError for any other file."""
    log, file = os.path.split(source.path)
    table = table_in(os.path.dirname(log))
    version = None if table is None or table.log != os.path.basename(log) else _version_of(table.format, file)
    if table is None or version is None:
        raise InputError(f"{source.name} is no version of a table", "A table of Delta, Iceberg or Lance")
    return table, version
