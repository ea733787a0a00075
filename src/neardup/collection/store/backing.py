"""Copy a collection into a new file while others read and write it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

from neardup.collection.store.failures import explained
from neardup.errors import OutputError

_PAGES = 4096
"""Pages copied between two moments at which this thread can be interrupted: 32 MB."""


def back_up(source: sqlite3.Connection, origin: Path, target: Path) -> None:
    """Copy the state that ``source`` sees within its transaction to ``target``.

    The copy has the permissions of ``origin``; it is complete under its name, or absent. Raises OutputError, also
    if ``target`` exists.
    """
    if target.exists() or target.is_symlink():
        raise _exists(target)
    made = target.with_name(f".{target.name[:80]}.{uuid4().hex}.new")
    try:
        with made.open("xb"):
            shutil.copymode(origin, made)
        # the state is that of the open transaction of the source: SQLite does not begin again when others write
        with explained(origin, 0), closing(sqlite3.connect(made, isolation_level=None)) as copy:
            copy.execute("PRAGMA synchronous = FULL")
            source.backup(copy, pages=_PAGES)
        _flush(made)
        os.link(made, target)
        _flush(target.parent)
    except FileExistsError:
        raise _exists(target) from None
    except OSError as error:
        raise OutputError(
            f"The copy {target} cannot be made: {error.strerror}",
            "A new file in a folder that may be written, on a disk with room",
            "Choose another name",
        ) from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                made.with_name(made.name + suffix).unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Write a file, or the entries of a folder, to the disk."""
    if path.is_dir() and os.name == "nt":  # Windows has no descriptors of folders
        return
    descriptor = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exists(target: Path) -> OutputError:
    return OutputError(
        f"{target} exists already", "The name of a new file", "Choose another name, or remove it yourself"
    )
