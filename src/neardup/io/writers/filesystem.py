"""Private folders, permissions, locks and durable names for outputs."""

import atexit
import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from neardup.display import printable, size
from neardup.errors import OutputError
from neardup.io.readers.base import Documents

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
try:
    import msvcrt
except ImportError:
    msvcrt = None


_ROOM = "A disk with room"
_LET = "A place that you may write to"
_ELSEWHERE = "Choose another place"
_WAYS_OUT: dict[int, tuple[str, str, str]] = {
    errno.ENOSPC: ("the disk is full", _ROOM, "Free some space there, or choose a place on another disk"),
    errno.EDQUOT: ("your quota of the disk is used up", _ROOM, "Free some space there, or choose another disk"),
    errno.EFBIG: (
        "the file would be larger than this process or the file system allows",
        "A larger limit for the size of files (ulimit -f), or a file system without one",
        "Raise the limit, or choose a place on another file system",
    ),
    errno.EACCES: ("you may not write there", _LET, "Change the rights of the folder, or choose another place"),
    errno.EPERM: ("you may not write there", _LET, "Change the rights of the folder, or choose another place"),
    errno.EROFS: ("its file system is read-only", _LET, _ELSEWHERE),
    errno.EIO: ("the device reports an error", "A device that works", "Check the disk, or choose another one"),
    errno.ENOTDIR: ("a part of the path is not a folder", "A path through folders", _ELSEWHERE),
    errno.EISDIR: ("there is a folder of that name", "The name of a file", "Choose another name"),
    errno.ENAMETOOLONG: ("the name is too long", "A name that the file system allows", "Choose a shorter name"),
    errno.EMFILE: (
        "this process has too many open files",
        "A larger limit for open files (ulimit -n)",
        "Raise the limit, or close other programs",
    ),
    errno.ENFILE: (
        "this machine has too many open files",
        "Fewer open files",
        "Close other programs, or try later",
    ),
    errno.EBADF: (
        "it is closed",
        "An open file or pipe",
        "Open it, or name a file or folder for the output",
    ),
}

_SHOWN = 50
"""Characters of the output's name in the folder's name; a file name has at most 255 bytes."""
_LOCK_BYTES = 4096

_ATTEMPTS, _PAUSE = 5, 0.02
"""Removal of a folder is tried this often, with this many seconds in between."""
_OPEN = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

EVERYBODY = 0o666
"""Restricts nothing beyond the umask: for input that comes from no file of this system."""

_OWNER, _GROUP, _OTHERS = 0o600, 0o060, 0o006

# On Windows nobody can read locked bytes, so the locked byte is one beyond the end of the file.
_PLACE = 1 << 30
_HELD = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)


def unwritable_error(place: str | Path, error: OSError) -> OutputError:
    """Return the error for an output that cannot be written, in words for the reason that the system gives.

    >>> unwritable_error("out", OSError(errno.ENOSPC, "No space left on device")).given
    'Cannot write out: the disk is full (No space left on device)'
    """
    said = (error.strerror or str(error) or type(error).__name__).strip()
    why, allowed, do = _WAYS_OUT.get(error.errno or 0, (said, "A place that can be written to", _ELSEWHERE))
    reason = why if not error.strerror or why == said else f"{why} ({said.partition(chr(10))[0]})"
    return OutputError(f"Cannot write {place}: {reason}", allowed, do)


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


class _Owner(msgspec.Struct, forbid_unknown_fields=True):
    """The content of the lock file: the name of the output, and the folder's own random name."""

    target: str
    token: str


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


def is_private(place: Path) -> bool:
    """Return whether only we can have put something there: we own the folder and nobody else may enter."""
    try:
        status = os.lstat(place)
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)


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


def require_room(target: Path, needed: int) -> None:
    """Raise OutputError if the disk for ``target`` has fewer than ``needed`` bytes left."""
    folder = Path(os.path.abspath(os.path.expanduser(target))).parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return  # opening the folder reports that it cannot be used
    if free < needed:
        raise OutputError(
            f"The documents to be written take up to {size(needed)}, and {folder} has {size(free)} left",
            "A disk with room for them",
            "Make room, or choose another output folder",
        )


def common_access(paths: Iterable[str | Path]) -> int:
    """Return the read and write permissions common to all the given files and folders; the owner's stay.

    Permissions of a group other than ours count for nothing, since the output will belong to our group. Files that
    cannot be examined, and standard input, restrict nothing.

    >>> oct(common_access([]))
    '0o666'
    """
    bits = EVERYBODY
    for path in paths:
        try:
            bits &= _shared_mode(os.stat(path))
        except (OSError, ValueError):
            continue
    return bits


def access_of(documents: Documents, *others: Documents | None) -> int:
    """Return the permissions common to all files of the documents; data in memory and URLs restrict nothing."""
    every = (documents, *(other for other in others if other is not None))
    sources = (source for one in every for source in getattr(one, "sources", ()))
    files = (source.file for source in sources)
    return common_access({file for file in files if file is not None})


@contextmanager
def limited_access(access: int) -> Iterator[None]:
    """Limit the permissions of files this process creates within to ``access``; for one thread at a time."""
    before = os.umask(0o077)
    os.umask(before | (0o066 & ~access))
    try:
        yield
    finally:
        os.umask(before)


def restrict(path: Path, access: int) -> None:
    """Remove permissions beyond ``access`` from a file, or from a folder and everything in it."""
    if access == EVERYBODY or os.name == "nt":
        return
    if path.is_dir():
        for parent, _, names in os.walk(path):
            for name in names:
                _restrict_one(os.path.join(parent, name), access)
            _restrict_one(parent, access)
    else:
        _restrict_one(path, access)


def _restrict_one(path: str | Path, access: int) -> None:
    status = os.stat(path, follow_symlinks=False)
    # in a folder with the set-group-ID bit, new files belong to the folder's group
    allowed = access if status.st_gid == os.getegid() else _without_group(access)
    if stat.S_ISDIR(status.st_mode):
        allowed |= (allowed & 0o444) >> 2  # permission to read a folder implies permission to enter it
    mode = stat.S_IMODE(status.st_mode)
    if mode & ~allowed & 0o077:
        os.chmod(path, mode & (allowed | 0o7700))


def _shared_mode(status: os.stat_result) -> int:
    mode = (status.st_mode & EVERYBODY) | _OWNER
    if stat.S_ISDIR(status.st_mode):  # without permission to enter, its files are unreadable
        mode &= ~0o066 | ((status.st_mode & 0o011) * 6)
    mine = not hasattr(os, "getegid") or status.st_gid == os.getegid()
    return mode if mine else _without_group(mode)


def _without_group(mode: int) -> int:
    """Return the mode with the group's permissions set to those of all others."""
    return (mode & ~_GROUP) | ((mode & _OTHERS) << 3)


def try_lock(handle: int) -> bool | None:
    """Lock the open file: return True on success, False if another process has it, None without lock support."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            os.lseek(handle, _PLACE, os.SEEK_SET)
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(handle, 0, os.SEEK_SET)
        else:
            return None
    except OSError as error:
        return False if error.errno in _HELD else None
    return True


def exposure_warning(path: Path, mode: int | None = None) -> str:
    """Return a warning with the way out if other users may read or write a file with a secret, else "".

    ``mode`` is its mode where the file is open. Systems without such modes never warn.
    """
    if os.name != "posix":
        return ""
    if mode is None:
        try:
            mode = path.stat().st_mode
        except OSError:
            return ""
    shown = printable(str(path))
    return f"{shown} can be read by other users of this machine\nchmod 600 {shown}" if mode & 0o077 else ""
