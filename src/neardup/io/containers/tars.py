"""Tar archives, plain or compressed as a whole: the places of members, found with ``tarfile``."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from typing import Any

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
from neardup.io.containers.codecs import unpacked_file
from neardup.io.containers.limits import HEADER_BYTES, MEMBERS, most_unpacked
from neardup.io.containers.spools import Held, Stretch

_UNUSABLE = (tarfile.TarError, ValueError, EOFError, IndexError, UnicodeError, OverflowError)


class TarMembers:
    """The members of a tar archive, sorted by name as the files of a folder are.

    A compressed archive is unpacked into a working file, since members are read more than once.
    """

    def __init__(self, path: str, codec: str | None) -> None:
        self.broken: str | None = None
        self._held = self._unpacked(path, codec)
        self.left_out: list[SkippedMember] = []
        self._places: dict[str, tuple[int, int, float, int]] = {}
        self._read_headers()
        if not self._places and not self.left_out and self.broken:
            raise OSError(f"it is not a tar archive, or is damaged: {self.broken}")
        self.members = [ArchiveMember(name, self._places[name][1]) for name in sorted(self._places)]

    def _unpacked(self, path: str, codec: str | None) -> Held:
        if codec is None:
            return Held(open(path, "rb"))
        held, self.broken = unpacked_file(path, codec, most_unpacked(os.path.getsize(path)))
        return held

    def _read_headers(self) -> None:
        file: Any = _Limited(self._held.stretch())
        try:
            with tarfile.open(fileobj=file, mode="r:") as archive:
                while (info := archive.next()) is not None:
                    self._add(info)
                    archive.members.clear()  # type: ignore[attr-defined]  # it would hold all headers
                    if len(self._places) > MEMBERS:
                        raise tarfile.ReadError(f"it holds more than {MEMBERS:,} files")
                # tarfile takes a damaged header for the end
                if self._held.at(archive.offset, tarfile.BLOCKSIZE).strip(b"\0"):
                    raise tarfile.ReadError(f"the header at byte {archive.offset:,} is damaged")
        except (*_UNUSABLE, OSError) as error:
            self.broken = self.broken or f"{error}"

    def _add(self, info: tarfile.TarInfo) -> None:
        if info.isdir():
            return
        name = safe_name(info.name)
        if name is None:
            self.left_out.append(SkippedMember(info.name, OUTSIDE))
        elif not info.isreg() or info.issparse():
            self.left_out.append(SkippedMember(name, LINK))
        elif info.offset_data + info.size > self._held.length:
            raise tarfile.ReadError(f"it is cut off within {name}")
        else:
            if name in self._places:
                self.left_out.append(SkippedMember(name, REPLACED))
            self._places[name] = (info.offset_data, info.size, float(info.mtime), info.mode & 0o777)

    def open(self, name: str) -> Stretch:
        """Open a member. Raises OSError if there is none of that name."""
        if name not in self._places:
            raise absent(name)
        offset, size, *_ = self._places[name]
        return self._held.stretch(offset, size)

    open_stored = open

    def size(self, name: str) -> int:
        """Return the size of a member. Raises OSError."""
        if name not in self._places:
            raise absent(name)
        return self._places[name][1]

    def stored(self, name: str) -> MemberProperties:
        """Return time and permissions of a member."""
        *_, when, mode = self._places[name]
        return MemberProperties(when, mode)


class _Limited:
    """The archive as ``tarfile`` reads it: headers only, and none longer than a header may be."""

    def __init__(self, file: Stretch) -> None:
        self._file = file
        self.seek: Callable[..., int] = file.seek
        self.tell: Callable[[], int] = file.tell

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises ReadError for a header that is too long."""
        if not 0 <= size <= HEADER_BYTES:
            raise tarfile.ReadError("a header in it is too long")
        return self._file.read(size)

    def close(self) -> None:
        """Close the stretch."""
        self._file.close()
