"""A folder of this run's own, next to where its output goes: nobody else can write into it or plant anything."""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from neardup.errors import OutputError
from neardup.io.writers.locks import try_lock

_SHOWN = 50
"""Characters of the output's name in that of the folder; a file name has at most 255 bytes."""

_LOCK_BYTES = 4096
_OPEN = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class _Owner(msgspec.Struct, forbid_unknown_fields=True):
    """What the lock file says: for which output this folder is, and its own random name."""

    target: str
    token: str


class WorkingPlace:
    """``.<name>.partial-<random>`` next to ``target``, with mode 0700, from ``open`` to ``remove``.

    It holds ``new`` (what is being written), ``old`` (what is being replaced, for an instant) and ``lock``, which
    is locked as long as this process lives. Folders of runs that were killed are removed by the next run that
    writes the same output: those alone whose lock can be taken, which we made, and which say so.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self._folder: Path | None = None
        self._lock = -1

    @property
    def new(self) -> Path:
        """Where the output is to be written."""
        assert self._folder is not None
        return self._folder / "new"

    def open(self) -> None:
        """Make the folder, after what killed runs have left is gone.

        Raises OutputError when another run is writing the same output, OSError where nothing can be written.
        """
        for place in _places(self.target):
            _clean_up(place, self.target)
        atexit.register(self.remove)  # a signal between two lines may leave it to nobody else
        while True:
            token = secrets.token_hex(8)
            self._folder = self.target.parent / f"{_beginning(self.target)}{token}"
            with suppress(FileExistsError):
                os.mkdir(self._folder, 0o700)
                break
        self._lock = os.open(self._folder / "lock", _OPEN | os.O_CREAT | os.O_EXCL, 0o600)
        # What is said comes after the lock is taken: without it nobody else takes this for a folder to remove.
        try_lock(self._lock)
        os.write(self._lock, msgspec.json.encode(_Owner(_name(self.target), token)))

    def publish(self) -> None:
        """Give ``new`` its name: a file or folder that is not there yet. Raises FileExistsError, OSError."""
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
        """Give ``new`` the name of the file that is there."""
        os.replace(self.new, self.target)
        flush_folder(self.target.parent)

    def set_aside(self) -> Path:
        """Move the folder that is there out of the way; ``publish`` or ``put_back`` comes next."""
        old = self.new.with_name("old")
        os.rename(self.target, old)
        return old

    def put_back(self) -> None:
        """Give what was set aside its name again."""
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
    except PermissionError:  # a folder that may be written to but not listed
        return []


def _clean_up(place: Path, target: Path) -> None:
    """Remove the folder of a run that was killed, and put back what it had set aside. Raises OutputError."""
    if not _is_private(place):
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


def _is_private(place: Path) -> bool:
    """Whether only we can have put something there: a folder of ours that nobody else may enter."""
    try:
        found = os.lstat(place)
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)


def _is_of(lock: int, place: Path, target: Path) -> bool:
    """Whether the lock file is still there, and says that the folder is ours, for this output."""
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
    """Remove a folder whose lock is ours, the lock last: what fails half-way is done by the next run.

    A replaced output goes only when the new one has its place.
    """
    try:
        _put_back(place, target)
        if not (os.path.lexists(place / "old") and os.path.lexists(place / "new")):
            _remove_all_but_lock(place)
            if os.name == "nt":  # which removes no file that is open
                os.close(lock)
            (place / "lock").unlink(missing_ok=True)
            place.rmdir()
    except OSError:
        pass
    finally:
        with suppress(OSError):
            os.close(lock)


def _remove_all_but_lock(place: Path) -> None:
    for entry in place.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != "lock":
            entry.unlink()


def flush(path: Path) -> None:
    """Bring a file, or every file and folder below, to the disk, so that a crash cannot leave empty files."""
    if not path.is_dir():
        _flush_file(path)
        return
    for parent, _, names in os.walk(path):
        for name in names:
            _flush_file(Path(parent, name))
        flush_folder(Path(parent))


def _flush_file(path: Path) -> None:
    # Windows flushes only what is open for writing
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, on systems and file systems that can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
