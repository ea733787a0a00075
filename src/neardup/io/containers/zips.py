"""Zip archives: the members by the list at the end of the file, read with the standard library's ``zipfile``."""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import PurePosixPath
from threading import Lock
from typing import IO, Any

from neardup.io.containers.base import (
    LINK,
    OUTSIDE,
    REPLACED,
    ArchiveMember,
    MemberProperties,
    SkippedMember,
    absent,
    safe_name,
)
from neardup.io.containers.limits import DIRECTORY_BYTES, MEMBERS, most_unpacked
from neardup.io.containers.spools import Held, Stretch, spooled

_ENTRY = b"PK\x01\x02"
_ENCRYPTED = 1

UNUSABLE = (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, ValueError, EOFError, KeyError)
"""The errors of ``zipfile`` for damaged and unusual archives, besides OSError."""

# Formats that are read at many places, and so unpacked first.
_READ_AT_PLACES = frozenset((".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc"))


class ZipMembers:
    """The members of a zip archive, sorted by name as the files of a folder are."""

    broken: str | None = None

    def __init__(self, path: str) -> None:
        held = Held(open(path, "rb"))  # noqa: SIM115 - closed with its last user
        self._lock = Lock()
        try:
            self._zip = zipfile.ZipFile(_Limited(held.stretch()))
        except UNUSABLE as error:
            raise OSError(f"it is not a zip archive, or is damaged: {error}") from error
        self.left_out: list[SkippedMember] = []
        self._infos = self._usable()
        most = most_unpacked(held.length)
        self.members: list[ArchiveMember] = []
        total = 0
        for name in sorted(self._infos):
            total += self._infos[name].file_size
            if total > most:
                self.broken = f"it unpacks to more than {most >> 20} MB; the files from {name} on are left out"
                break
            self.members.append(ArchiveMember(name, self._infos[name].file_size))
        self._spools: dict[str, Held] = {}

    def _usable(self) -> dict[str, zipfile.ZipInfo]:
        found: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            if info.is_dir():
                continue
            name, kind = safe_name(info.filename), stat.S_IFMT(info.external_attr >> 16)
            if name is None:
                self.left_out.append(SkippedMember(info.filename, OUTSIDE))
            elif kind not in (0, stat.S_IFREG):
                self.left_out.append(SkippedMember(name, LINK))
            else:
                if name in found:
                    self.left_out.append(SkippedMember(name, REPLACED))
                found[name] = info
        return found

    def open(self, name: str) -> Any:
        """Open a member. Raises OSError for one that is encrypted, damaged, or packed in an unusual way."""
        info = self._infos.get(name)
        if info is None:
            raise absent(name)
        if info.flag_bits & _ENCRYPTED:
            raise OSError("it is encrypted in the archive")
        try:
            with self._lock:
                file = _Unpacked(self._zip.open(info), self._lock)
        except UNUSABLE as error:
            raise OSError(f"it cannot be unpacked: {error}") from error
        if PurePosixPath(name).suffix.lower() not in _READ_AT_PLACES:
            return file
        with file:
            if name not in self._spools:
                held, reason = spooled(file.read, name, info.file_size)
                if reason is not None:
                    raise OSError(reason)
                self._spools[name] = held
            return self._spools[name].stretch()

    open_stored = open

    def size(self, name: str) -> int:
        """Return the unpacked size of a member. Raises OSError."""
        if name not in self._infos:
            raise absent(name)
        return self._infos[name].file_size

    def stored(self, name: str) -> MemberProperties:
        """Return date, permissions and method of a member."""
        info = self._infos[name]
        return MemberProperties(info.date_time, (info.external_attr >> 16) & 0o777 or 0o644, info.compress_type)


class _Limited:
    """The archive as ``zipfile`` reads it: no part read at once is longer than a list of files may be."""

    def __init__(self, file: Stretch) -> None:
        self._file = file
        self.seek, self.tell, self.seekable, self.close = file.seek, file.tell, file.seekable, file.close

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises OSError for a list of too many files."""
        if size > DIRECTORY_BYTES:
            raise _too_many()
        data = self._file.read(size if size >= 0 else DIRECTORY_BYTES)
        if data.count(_ENTRY) > MEMBERS:
            raise _too_many()
        return data


class _Unpacked:
    """An open member, whose errors are OSError."""

    def __init__(self, file: IO[bytes], lock: Lock) -> None:
        self._file, self._lock = file, lock
        self.seek, self.tell = file.seek, file.tell

    def close(self) -> None:
        """Close it; the archive counts its open members, which is not safe among threads."""
        with self._lock:
            self._file.close()

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._file.closed

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; fewer than ``size`` only at the end."""
        try:
            return self._file.read(size)
        except UNUSABLE as error:
            raise OSError(f"it cannot be unpacked: {error}") from error

    def __enter__(self) -> _Unpacked:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _too_many() -> OSError:
    return OSError(f"it holds more than {MEMBERS:,} files")
