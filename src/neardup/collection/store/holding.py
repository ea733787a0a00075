"""Track the open files and the names they are opened under: a file with two names would have two logs.

SQLite locks a file, but finds its log by the name the file was opened by. So every process that opens a collection
locks a byte that represents this name, far beyond the end of the file, and checks whether another process has
locked a different one.
"""

from __future__ import annotations

import os
import struct
import threading
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from neardup.errors import InputError

try:
    from fcntl import F_OFD_GETLK, F_OFD_SETLK, F_RDLCK, F_UNLCK, F_WRLCK, fcntl
except ImportError:  # locks of open files exist only on Linux; elsewhere only this process is checked
    HAS_LOCKS = False
else:
    HAS_LOCKS = True

_AREA, _NAMES = 1 << 62, 1 << 32
"""The first byte for names, and their number. SQLite locks bytes from 1 << 30 on."""
_FLOCK = struct.Struct("hhqqi0q")
"""``struct flock``: kind, whence, begin, length, process."""

_held: dict[tuple[int, int], OpenFile] = {}
_guard = threading.Lock()


@dataclass(eq=False)
class OpenFile:
    """An open file. ``alone``: no other process had it open when this one opened it.

    It stays open until the last connection of this process is closed: closing any descriptor of a file releases
    the locks that the process has on it (POSIX), including those of SQLite.
    """

    key: tuple[int, int]
    name: bytes
    descriptors: list[int]
    alone: bool = True
    users: int = field(default=0)

    def read(self, size: int, at: int) -> bytes:
        """Read ``size`` bytes from ``at`` on, fewer at the end of the file."""
        with _guard:
            os.lseek(self.descriptors[0], at, os.SEEK_SET)
            return os.read(self.descriptors[0], size)

    def size(self) -> int:
        """The size of the file in bytes."""
        return os.fstat(self.descriptors[0]).st_size

    def release(self) -> None:
        """Remove one user; the last one closes the file."""
        with _guard:
            self.users -= 1
            if self.users == 0:
                del _held[self.key]
                for descriptor in self.descriptors:
                    os.close(descriptor)


def hold(path: Path) -> OpenFile:
    """Open a file for use under this name. Raises InputError if it is open under another one."""
    try:
        name = _name(path)
        with _guard:
            held = _known(path) or _opened(path, name)
            if held.name != name:
                raise _elsewhere(path)
            held.users += 1
            _held[held.key] = held
            return held
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", "A collection file") from error


def _known(path: Path) -> OpenFile | None:
    found = os.stat(path)
    return _held.get((found.st_dev, found.st_ino))


def _opened(path: Path, name: bytes) -> OpenFile:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    found = os.fstat(descriptor)
    key = (found.st_dev, found.st_ino)
    if key in _held:  # the file was moved to this path just now
        _held[key].descriptors.append(descriptor)
        return _held[key]
    others = _locked(descriptor, name)
    if others is None:
        os.close(descriptor)
        raise _elsewhere(path)
    return OpenFile(key, name, [descriptor], alone=not others)


def _locked(descriptor: int, name: bytes) -> bool | None:
    """Lock the byte of a name, and return whether others have locked it, too.

    None if they have locked another one.
    """
    if not HAS_LOCKS:
        return False
    byte = _AREA + int.from_bytes(name[:4], "big")
    try:
        fcntl(descriptor, F_OFD_SETLK, _FLOCK.pack(F_RDLCK, os.SEEK_SET, byte, 1, 0))
        if _is_locked(descriptor, _AREA, byte - _AREA) or _is_locked(
            descriptor, byte + 1, _AREA + _NAMES - byte - 1
        ):
            return None
        return _is_locked(descriptor, byte, 1)
    except OSError:  # a file system without locks; SQLite reports that if it needs them
        return False


def _is_locked(descriptor: int, begin: int, length: int) -> bool:
    """Whether another process, or another descriptor, has locked any byte of the range."""
    if length == 0:
        return False
    asked = _FLOCK.pack(F_WRLCK, os.SEEK_SET, begin, length, 0)
    return bool(_FLOCK.unpack(fcntl(descriptor, F_OFD_GETLK, asked))[0] != F_UNLCK)


def _name(path: Path) -> bytes:
    """A digest of a name: SQLite follows links, and puts the log beside the file that they lead to."""
    real = Path(os.path.realpath(path))
    folder = os.stat(real.parent)
    return blake2b(os.fsencode(f"{folder.st_dev} {folder.st_ino} {real.name}"), digest_size=16).digest()


def _elsewhere(path: Path) -> InputError:
    return InputError(
        f"{path} is open under another name",
        "One name at a time: each name has a log of its own, and changes in the other one would be lost",
        "Use that name, or close the file there first",
    )


__all__ = ["HAS_LOCKS", "OpenFile", "hold"]
