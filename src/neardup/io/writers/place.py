"""A private folder of this run, next to its output, that nobody else can write into."""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from neardup.errors import OutputError
from neardup.io.writers.locks import try_lock

_SHOWN = 50
"""Characters of the output's name in the folder's name; a file name has at most 255 bytes."""

_LOCK_BYTES = 4096
_ATTEMPTS, _PAUSE = 5, 0.02
"""Removal of a folder is tried this often, with this many seconds in between."""
_OPEN = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class _Owner(msgspec.Struct, forbid_unknown_fields=True):
    """The content of the lock file: the name of the output, and the folder's own random name."""

    target: str
    token: str


class WorkingPlace:
    """``.<name>.partial-<random>`` next to ``target``, with mode 0700, from ``open`` to ``remove``.

    It contains ``new`` (the output being written), ``old`` (the output being replaced, for an instant) and
    ``lock``, which is locked as long as this process lives. Folders of killed runs are removed by the next run
    that writes the same output, but only if their lock is free, we own them, and their lock file names that
    output.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self._folder: Path | None = None
        self._lock = -1

    @property
    def new(self) -> Path:
        """The path at which to write the output."""
        assert self._folder is not None
        return self._folder / "new"

    def open(self) -> None:
        """Create the folder, after removing those of killed runs.

        Raises OutputError when another run is writing the same output, OSError if the location is not writable.
        """
        for place in _places(self.target):
            _clean_up(place, self.target)
        atexit.register(self.remove)  # a signal between two lines may leave the removal to nobody else
        while True:
            token = secrets.token_hex(8)
            self._folder = self.target.parent / f"{_beginning(self.target)}{token}"
            with suppress(FileExistsError):
                os.mkdir(self._folder, 0o700)
                break
        self._lock = os.open(self._folder / "lock", _OPEN | os.O_CREAT | os.O_EXCL, 0o600)
        # Write the owner only after taking the lock: until it is written, no other run may remove this folder.
        try_lock(self._lock)
        os.write(self._lock, msgspec.json.encode(_Owner(_name(self.target), token)))

    def publish(self) -> None:
        """Rename ``new`` to the target, which must not exist. Raises FileExistsError, OSError."""
        if self.new.is_dir():
            os.rename(self.new, self.target)
        else:
            try:
                os.link(self.new, self.target)
            except FileExistsError:
                raise
            except OSError:  # a file system without hard links
                os.replace(self.new, self.target)
        flush_folder(self.target.parent)

    def replace(self) -> None:
        """Rename ``new`` to the target, replacing the existing file."""
        os.replace(self.new, self.target)
        flush_folder(self.target.parent)

    def set_aside(self) -> Path:
        """Move the existing folder out of the way; ``publish`` or ``put_back`` must follow."""
        old = self.new.with_name("old")
        os.rename(self.target, old)
        return old

    def put_back(self) -> None:
        """Move the folder that was set aside back to its name."""
        _put_back(self.new.parent, self.target)

    def remove(self) -> None:
        """Remove the folder and all in it; does nothing before ``open`` and after ``remove``."""
        lock, self._lock = self._lock, -1
        if self._folder is not None:
            _remove(self._folder, self.target, lock)
        self._folder = None
        atexit.unregister(self.remove)


def _name(target: Path) -> str:
    return os.fsencode(target.name).decode("utf-8", "replace")


def _beginning(target: Path) -> str:
    return f".{target.name[:_SHOWN]}.partial-"


def _places(target: Path) -> list[Path]:
    pattern = re.compile(re.escape(_beginning(target)) + "[0-9a-f]{16}", re.DOTALL)
    try:
        return [entry for entry in target.parent.iterdir() if pattern.fullmatch(entry.name)]
    except PermissionError:  # a folder that is writable but cannot be listed
        return []


def _clean_up(place: Path, target: Path) -> None:
    """Remove the folder of a killed run, and restore the output it had set aside. Raises OutputError."""
    if not is_private(place):
        return
    try:
        lock = os.open(place / "lock", _OPEN)
    except OSError:
        return
    locked = try_lock(lock)
    if locked is None or not _is_of(lock, place, target):
        os.close(lock)
        return
    if not locked:
        os.close(lock)
        raise OutputError(
            f"{target} is being written by another run",
            "One run for one output",
            "Wait until it has ended, or choose another name",
        )
    _remove(place, target, lock)


def is_private(place: Path) -> bool:
    """Return whether only we can have put something there: we own the folder and nobody else may enter."""
    try:
        found = os.lstat(place)
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)


def _is_of(lock: int, place: Path, target: Path) -> bool:
    """Return whether the lock file still exists, and names this folder and this output."""
    try:
        if not os.path.samestat(os.fstat(lock), os.lstat(place / "lock")):
            return False
        os.lseek(lock, 0, os.SEEK_SET)
        owner = msgspec.json.decode(os.read(lock, _LOCK_BYTES), type=_Owner)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return owner.target == _name(target) and place.name.endswith(f"-{owner.token}")


def _put_back(place: Path, target: Path) -> None:
    old = place / "old"
    if os.path.lexists(old) and not os.path.lexists(target):
        os.rename(old, target)


def _remove(place: Path, target: Path, lock: int) -> None:
    """Remove a folder whose lock we have, the lock last: the next run completes a removal that fails half-way.

    A replaced output is removed only when the new one is in its place.
    """
    try:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                _remove_place(place, target, lock)
                return
            except (OSError, MemoryError):
                # memory may be short just now, and another thread may still be writing a file
                if not os.path.lexists(place):
                    return
                if attempt < _ATTEMPTS:
                    time.sleep(_PAUSE)
    finally:
        with suppress(OSError):
            os.close(lock)


def _remove_place(place: Path, target: Path, lock: int) -> None:
    _put_back(place, target)
    if not (os.path.lexists(place / "old") and os.path.lexists(place / "new")):
        _remove_all_but_lock(place)
        if os.name == "nt":  # Windows removes no open file
            with suppress(OSError):  # an earlier attempt may have closed it
                os.close(lock)
        (place / "lock").unlink(missing_ok=True)
        place.rmdir()


def _remove_all_but_lock(place: Path) -> None:
    for entry in place.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != "lock":
            entry.unlink()


def flush(path: Path) -> None:
    """Flush a file, or every file and folder below, to the disk, so that a crash cannot leave empty files."""
    if not path.is_dir():
        _flush_file(path)
        return
    for parent, _, names in os.walk(path):
        for name in names:
            _flush_file(Path(parent, name))
        flush_folder(Path(parent))


def _flush_file(path: Path) -> None:
    # Windows flushes only files open for writing
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, on systems and file systems that support it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
