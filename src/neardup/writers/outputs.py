"""The output folder: written under another name, renamed when all is on the disk."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import pyarrow.parquet as pq

from neardup.errors import OutputError

# A folder that holds this file is the result of an earlier run and may be replaced when asked to.
RUN_FILE = "run.json"


class OutputFolder:
    """A result folder as a context manager: complete under its name, or not there at all.

    Files are written into ``.<name>.partial-<pid>`` next to it. At the end they are flushed to the disk
    and the folder is renamed; on any exception it is removed.
    """

    def __init__(self, path: str | Path, *, overwrite: bool = False) -> None:
        self.target = Path(os.path.abspath(os.path.expanduser(path)))
        self.overwrite = overwrite
        self._partial = self.target.parent / f".{self.target.name}.partial-{os.getpid()}"

    def __enter__(self) -> OutputFolder:
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            _clean_up_after_dead(self.target)
            self._check_target()
            if self._partial.exists():
                raise OutputError(
                    f"{self.target} is being written by this program already",
                    "One result in one folder",
                    "Choose another output folder",
                )
            self._partial.mkdir()
        except OSError as error:
            raise _failed(self.target, error) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._publish()
        except OSError as failure:
            raise _failed(self.target, failure) from failure
        finally:
            shutil.rmtree(self._partial, ignore_errors=True)

    def path(self, name: str) -> Path:
        """Return where a file of that name is to be written."""
        return self._partial / name

    def write_table(self, name: str, table: Any) -> None:
        """Write an Arrow table as Parquet."""
        try:
            # Result tables are ids and small numbers: zstd makes them smaller than snappy at the same speed.
            pq.write_table(table, self.path(name), compression="zstd")
        except OSError as error:
            raise _failed(self.target / name, error) from error

    def write_json(self, name: str, value: object) -> None:
        """Write a value as JSON to be read by people: indented, keys sorted."""
        encoded = msgspec.json.encode(value, enc_hook=_plain_value, order="sorted")
        self._write_bytes(name, [msgspec.json.format(encoded, indent=2), b"\n"])

    def write_jsonl(self, name: str, rows: Iterable[object]) -> None:
        """Write one JSON object a line: mappings, dataclasses or structs."""
        encoder = msgspec.json.Encoder(enc_hook=_plain_value)
        self._write_bytes(name, (encoder.encode(row) + b"\n" for row in rows))

    def _write_bytes(self, name: str, parts: Iterable[bytes]) -> None:
        try:
            with open(self.path(name), "wb") as file:
                file.writelines(parts)
        except OSError as error:
            raise _failed(self.target / name, error) from error

    def _check_target(self) -> None:
        if not os.path.lexists(self.target):
            return
        if not self.overwrite:
            raise OutputError(
                f"{self.target} exists already",
                "A folder that does not exist yet",
                "Choose another name, or pass overwrite",
            )
        if self.target.is_symlink() or not self.target.is_dir() or not _is_result(self.target):
            raise OutputError(
                f"{self.target} is not a result of neardup",
                f"Only an empty folder or one with a {RUN_FILE} is overwritten",
                "Choose another name, or remove it yourself",
            )

    def _publish(self) -> None:
        _flush(self._partial)
        self._check_target()
        old = _old_name(self.target, os.getpid())
        replaced = self.target.exists()
        if replaced:
            os.rename(self.target, old)
        try:
            os.rename(self._partial, self.target)
        except OSError:
            if replaced:
                os.rename(old, self.target)
            raise
        _flush_one(self.target.parent)
        if replaced:
            shutil.rmtree(old, ignore_errors=True)


def _is_result(folder: Path) -> bool:
    return (folder / RUN_FILE).is_file() or not any(folder.iterdir())


def _old_name(target: Path, pid: int) -> Path:
    return target.parent / f".{target.name}.old-{pid}"


def _clean_up_after_dead(target: Path) -> None:
    """Remove what runs that were killed have left, and put back a result they had moved aside."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.(partial|old)-(\d+)")
    for entry in list(target.parent.iterdir()):
        match = pattern.fullmatch(entry.name)
        if match is None or _is_alive(int(match[2])):
            continue
        if match[1] == "old" and not target.exists():
            os.rename(entry, target)
        else:
            shutil.rmtree(entry, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _flush(folder: Path) -> None:
    """Bring every file and folder below to the disk, so that a crash cannot leave empty files."""
    for parent, _, names in os.walk(folder):
        for name in names:
            _flush_one(Path(parent, name))
        _flush_one(Path(parent))


def _flush_one(path: Path) -> None:
    if os.name == "nt" and path.is_dir():  # Windows opens no folder, and keeps its entries by a log
        return
    # Windows flushes only what may be written to
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _failed(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"Cannot write {path}: {error.strerror or error}",
        "A folder that may be written, on a disk with room",
        "Choose another output folder",
    )


def _plain_value(value: Any) -> Any:
    """Encode numpy numbers and arrays, which msgspec does not know."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
