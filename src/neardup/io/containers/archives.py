"""Zip and tar archives, read with ``zipfile`` and ``tarfile``; a tar archive may be compressed as a whole."""

import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from threading import Lock
from typing import IO, Any

from neardup.io.containers import base
from neardup.io.containers.codecs import unpacked_file
from neardup.io.containers.spools import Held, Stretch, spool_stream

_UNUSABLE = (tarfile.TarError, ValueError, EOFError, IndexError, UnicodeError, OverflowError)

_ENTRY = b"PK\x01\x02"
_ENCRYPTED = 1

UNUSABLE = (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, ValueError, EOFError, KeyError)
"""The errors of ``zipfile`` for damaged and unusual archives, besides OSError."""

# Formats that are read at many places, and so unpacked first.
_READ_AT_PLACES = (
    ".parquet",
    ".pq",
    ".arrow",
    ".arrows",
    ".feather",
    ".ipc",
    ".warc",
    ".warc.gz",
    ".wet",
    ".wet.gz",
)


class TarMembers:
    """The members of a tar archive, sorted by name as the files of a folder are.

    A compressed archive is unpacked into a working file, since members are read more than once.
    """

    def __init__(self, path: str, codec: str | None) -> None:
        self.broken: str | None = None
        self._held = self._open_unpacked(path, codec)
        self.left_out: list[base.SkippedMember] = []
        self._places: dict[str, tuple[int, int, float, int]] = {}
        self._read_headers()
        if not self._places and not self.left_out and self.broken:
            raise OSError(f"it is not a tar archive, or is damaged: {self.broken}")
        self.members = [base.ArchiveMember(name, self._places[name][1]) for name in sorted(self._places)]

    def _open_unpacked(self, path: str, codec: str | None) -> Held:
        if codec is None:
            return Held(open(path, "rb"))
        held, self.broken = unpacked_file(path, codec, base.most_unpacked(os.path.getsize(path)))
        return held

    def _read_headers(self) -> None:
        file: Any = _LimitedTar(self._held.stretch())
        try:
            with tarfile.open(fileobj=file, mode="r:") as archive:
                while (info := archive.next()) is not None:
                    self._add(info)
                    archive.members.clear()  # type: ignore[attr-defined]  # it would hold all headers
                    if len(self._places) > base.MEMBERS:
                        raise tarfile.ReadError(f"it holds more than {base.MEMBERS:,} files")
                # tarfile takes a damaged header for the end
                if self._held.at(archive.offset, tarfile.BLOCKSIZE).strip(b"\0"):
                    raise tarfile.ReadError(f"the header at byte {archive.offset:,} is damaged")
        except (*_UNUSABLE, OSError) as error:
            self.broken = self.broken or f"{error}"

    def _add(self, info: tarfile.TarInfo) -> None:
        if info.isdir():
            return
        name = base.safe_name(info.name)
        if name is None:
            self.left_out.append(base.SkippedMember(info.name, base.OUTSIDE))
        elif not info.isreg() or info.issparse():
            self.left_out.append(base.SkippedMember(name, base.LINK))
        elif info.offset_data + info.size > self._held.length:
            raise tarfile.ReadError(f"it is cut off within {name}")
        else:
            if name in self._places:
                self.left_out.append(base.SkippedMember(name, base.REPLACED))
            self._places[name] = (info.offset_data, info.size, float(info.mtime), info.mode & 0o777)

    def open(self, name: str) -> Stretch:
        """Open a member. Raises OSError if there is none of that name."""
        offset, size, *_ = self._place(name)
        return self._held.stretch(offset, size)

    open_stored = open

    def size(self, name: str) -> int:
        """Return the size of a member. Raises OSError."""
        return self._place(name)[1]

    def _place(self, name: str) -> tuple[int, int, float, int]:
        if name not in self._places:
            raise base.absent_error(name)
        return self._places[name]

    def member_properties(self, name: str) -> base.MemberProperties:
        """Return time and permissions of a member."""
        *_, when, mode = self._places[name]
        return base.MemberProperties(when, mode)


class _LimitedTar:
    """The archive as ``tarfile`` reads it: headers only, and none longer than a header may be."""

    def __init__(self, file: Stretch) -> None:
        self._file, self._header = file, 0
        self.seek: Callable[..., int] = file.seek
        self.tell: Callable[[], int] = file.tell

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes. Raises ReadError for a header that is too long."""
        # a long header is read in one piece, or from Python 3.14 on in pieces
        self._header = self._header + size if size > tarfile.BLOCKSIZE else 0
        if not 0 <= size <= base.HEADER_BYTES or self._header > base.HEADER_BYTES:
            raise tarfile.ReadError("a header in it is too long")
        return self._file.read(size)

    def close(self) -> None:
        self._file.close()


class ZipMembers:
    """The members of a zip archive, sorted by name as the files of a folder are."""

    broken: str | None = None

    def __init__(self, path: str) -> None:
        held = Held(open(path, "rb"))  # noqa: SIM115 - closed with its last user
        self._lock = Lock()
        try:
            self._zip = zipfile.ZipFile(_LimitedZip(held.stretch()))
        except UNUSABLE as error:
            raise OSError(f"it is not a zip archive, or is damaged: {error}") from error
        self.left_out: list[base.SkippedMember] = []
        self._infos = self._usable()
        most = base.most_unpacked(held.length)
        self.members: list[base.ArchiveMember] = []
        total = 0
        for name in sorted(self._infos):
            total += self._infos[name].file_size
            if total > most:
                self.broken = f"it unpacks to more than {most >> 20} MB; the files from {name} on are left out"
                break
            self.members.append(base.ArchiveMember(name, self._infos[name].file_size))
        self._spools: dict[str, Held] = {}

    def _usable(self) -> dict[str, zipfile.ZipInfo]:
        found: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            if info.is_dir():
                continue
            name, kind = base.safe_name(info.filename), stat.S_IFMT(info.external_attr >> 16)
            if name is None:
                self.left_out.append(base.SkippedMember(info.filename, base.OUTSIDE))
            elif kind not in (0, stat.S_IFREG):
                self.left_out.append(base.SkippedMember(name, base.LINK))
            else:
                if name in found:
                    self.left_out.append(base.SkippedMember(name, base.REPLACED))
                found[name] = info
        return found

    def open(self, name: str) -> Any:
        """Open a member. Raises OSError for one that is encrypted, damaged, or packed in an unusual way."""
        info = self._infos.get(name)
        if info is None:
            raise base.absent_error(name)
        if info.flag_bits & _ENCRYPTED:
            raise OSError("it is encrypted in the archive")
        try:
            with self._lock:
                file = _Unpacked(self._zip.open(info), self._lock)
        except UNUSABLE as error:
            raise OSError(f"it cannot be unpacked: {error}") from error
        if not name.lower().endswith(_READ_AT_PLACES):
            return file
        with file:
            if name not in self._spools:
                held, reason = spool_stream(file.read, name, info.file_size)
                if reason is not None:
                    raise OSError(reason)
                self._spools[name] = held
            return self._spools[name].stretch()

    open_stored = open

    def size(self, name: str) -> int:
        """Return the unpacked size of a member. Raises OSError."""
        if name not in self._infos:
            raise base.absent_error(name)
        return self._infos[name].file_size

    def member_properties(self, name: str) -> base.MemberProperties:
        """Return date, permissions and method of a member."""
        info = self._infos[name]
        return base.MemberProperties(
            info.date_time, (info.external_attr >> 16) & 0o777 or 0o644, info.compress_type
        )


class _LimitedZip:
    """The archive as ``zipfile`` reads it: no part read at once is longer than a list of files may be."""

    def __init__(self, file: Stretch) -> None:
        self._file = file
        self.seek, self.tell, self.seekable, self.close = file.seek, file.tell, file.seekable, file.close

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes. Raises OSError for a list of too many files."""
        if size > base.DIRECTORY_BYTES:
            raise _too_many_error()
        data = self._file.read(size if size >= 0 else base.DIRECTORY_BYTES)
        if data.count(_ENTRY) > base.MEMBERS:
            raise _too_many_error()
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
        return self._file.closed

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes; fewer than ``size`` only at the end."""
        try:
            return self._file.read(size)
        except UNUSABLE as error:
            raise OSError(f"it cannot be unpacked: {error}") from error

    def __enter__(self) -> "_Unpacked":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _too_many_error() -> OSError:
    return OSError(f"it holds more than {base.MEMBERS:,} files")
