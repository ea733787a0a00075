"""The fetched bytes of URLs, kept on the disk: each byte is asked for once, and read as often as needed."""

import shutil
from bisect import bisect_right, insort
from tempfile import TemporaryFile, gettempdir
from threading import Lock, RLock
from typing import IO, Any

from neardup.display import printable, size
from neardup.errors import InputError
from neardup.io.containers.base import ROOM_BYTES
from neardup.io.containers.spools import LOOK_EVERY, Stretch, read_at
from neardup.io.names import without_password
from neardup.io.storage.systems import asked, filesystem

BLOCK_BYTES = 64 << 10
"""Requests begin and end at multiples of it."""
MOST_BYTES = 16 << 20
"""The longest request for a part of a file."""
PIECE_BYTES = 1 << 20
"""Bytes of a file without ranges that are read at a time."""


class FetchSpool:
    """An unnamed file for the fetched bytes of all files of a process; it disappears with the process.

    It takes bytes as long as the folder for temporary files (``TMPDIR``) has a gigabyte left, and ``most`` bytes
    at the most. The room is free again when none of its files is in use.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most, self._lock = most, RLock()
        self._file: IO[bytes] | None = None
        self._end = self._used = self._looked = 0

    def put(self, data: bytes) -> int | None:
        """Keep the bytes; return their place, None if there is no room."""
        with self._lock:
            if not self._has_room(len(data)):
                return None
            if self._file is None:
                self._file = TemporaryFile(prefix="neardup-fetched-", buffering=0)  # noqa: SIM115
            view, place = memoryview(data), self._end
            self._file.seek(place)
            try:
                while len(view):
                    view = view[self._file.write(view) :]
            except OSError:  # a full disk: the bytes are fetched again when they are needed
                return None
            self._end += len(data)
            self._used += len(data)
            return place

    def get(self, place: int, length: int) -> bytes:
        """Return kept bytes."""
        assert self._file is not None
        return read_at(self._file, self._lock, place, length)

    def release(self, length: int) -> None:
        """Forget that many bytes of a file that nobody reads any more."""
        with self._lock:
            self._used -= length
            if not self._used and self._file is not None:
                self._file.close()
                self._file, self._end, self._looked = None, 0, 0

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def _has_room(self, length: int) -> bool:
        if self._most is not None and self._end + length > self._most:
            return False
        if self._end + length >= self._looked:
            if shutil.disk_usage(gettempdir()).free < ROOM_BYTES + length:
                return False
            self._looked = self._end + length + LOOK_EVERY
        return True


SPOOL = FetchSpool()


class FetchedFile:
    """A file behind a URL as bytes at any place; used by several threads.

    Parts are asked for by ranges, and kept in the spool; if that is full, they are asked for again. Reading in
    order makes the requests longer. A server without ranges sends the whole file at the first read.
    """

    def __init__(self, url: str, length: int | None, spool: FetchSpool = SPOOL) -> None:
        self.url, self._spool = url, spool
        self._system, self._path = filesystem(url)
        self._lock = Lock()
        self._extents: list[tuple[int, int, int]] = []  # offset, length, place in the spool
        self._window = (0, b"")  # the latest bytes for which there was no room
        self._next, self._ahead = 0, BLOCK_BYTES
        self._kept = 0
        self._file: Any = None
        self.length = 0 if length is None else length
        if length is None:
            asked(url, self._take_whole)

    def at(self, offset: int, length: int) -> bytes:
        """Return the bytes of a place, fewer only at the end of the file. Raises NetworkError."""
        end, parts = min(offset + length, self.length), []
        while offset < end:
            parts.append(self._piece(offset, end))
            offset += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def stretch(self) -> Stretch:
        """Return the whole as a file with a position."""
        return Stretch(self, 0, self.length)

    def _piece(self, offset: int, end: int) -> bytes:
        """Return the first bytes of a place, at least one."""
        with self._lock:
            piece = self._known(offset, end)
            if piece is None:
                self._fetch(offset, end)
                piece = self._known(offset, end)
        if not piece:
            raise self._changed()
        return piece

    def _known(self, offset: int, end: int) -> bytes | None:
        index = bisect_right(self._extents, (offset, self.length + 1, 0)) - 1
        if index >= 0:
            start, length, place = self._extents[index]
            if offset < start + length:
                return self._spool.get(place + offset - start, min(end, start + length) - offset)
        start, data = self._window
        return data[offset - start : end - start] if start <= offset < start + len(data) else None

    def _fetch(self, offset: int, end: int) -> None:
        """Ask for the bytes from the block of an offset on, up to the next ones that are there."""
        start = max(offset // BLOCK_BYTES * BLOCK_BYTES, self._end_before(offset))
        self._ahead = min(self._ahead * 2, MOST_BYTES) if offset == self._next else BLOCK_BYTES
        wanted = max(-(-end // BLOCK_BYTES) * BLOCK_BYTES, offset + self._ahead)
        following = bisect_right(self._extents, (offset, self.length + 1, 0))
        limit = self._extents[following][0] if following < len(self._extents) else self.length
        stop = min(wanted, limit, start + MOST_BYTES)
        data = asked(self.url, lambda: self._ranged(start, stop))
        if data is not None:
            self._next = stop
            self._keep(start, data)

    def _end_before(self, offset: int) -> int:
        index = bisect_right(self._extents, (offset, self.length + 1, 0)) - 1
        return sum(self._extents[index][:2]) if index >= 0 else 0

    def _ranged(self, start: int, stop: int) -> bytes | None:
        """Return the bytes of a part; None if the server sent the whole file, which was kept."""
        try:
            if self._file is None:
                self._file = self._system.open(self._path, "rb", cache_type="none")
            if getattr(self._file, "size", 0) is None:  # fsspec has asked, and the server has no ranges
                opened, self._file = self._file, None
                self._take_whole(opened)
                return None
            self._file.seek(start)
            data = bytes(self._file.read(stop - start))
        except ValueError:  # as fsspec says that a server of HTTP has no ranges
            self._file = None
            if not self.url.lower().startswith("http"):
                raise
            self._take_whole()
            return None
        except Exception:
            self._file = None  # the next attempt has a connection of its own
            raise
        if len(data) < stop - start:
            self._file = None
            raise OSError(f"the connection ended after {len(data):,} of {stop - start:,} bytes")
        return data

    def _keep(self, start: int, data: bytes) -> None:
        place = self._spool.put(data)
        if place is None:
            self._window = (start, data)
            return
        self._kept += len(data)
        insort(self._extents, (start, len(data), place))

    def _take_whole(self, opened: Any = None) -> None:
        """Fetch the whole file, of which the server does not send parts. Raises InputError without room for it."""
        self._extents.clear()
        taken = 0
        # any size keeps fsspec from asking for one that the server may not know
        with opened or self._system.open(self._path, "rb", block_size=0, size=self.length or 1) as file:
            while data := bytes(file.read(PIECE_BYTES)):
                self._keep(taken, data)
                taken += len(data)
                if self._window[1]:
                    raise InputError(
                        f"{self.shown} has at least {size(taken)}, more than there is room for in {gettempdir()}, "
                        "and its server sends only whole files",
                        "Room there for the file, since documents are read several times",
                        "Set TMPDIR to a folder with more room, or fetch the file first",
                    )
        if self.length and taken < self.length:
            raise OSError(f"the connection ended after {taken:,} of {self.length:,} bytes")
        self.length = taken

    @property
    def shown(self) -> str:
        """The URL as messages show it."""
        return printable(without_password(self.url))

    def _changed(self) -> InputError:
        return InputError(
            f"{self.shown} changed while it was read: it no longer has {self.length:,} bytes",
            "Files that stay as they are until the run has ended",
            "Run again when nothing writes to the file",
        )

    def __del__(self) -> None:
        if getattr(self, "_kept", 0):
            self._spool.release(self._kept)


def fetched_whole(url: str) -> bytes:
    """Return the bytes of a file that was not found by a listing, such as one that a person names."""
    system, path = filesystem(url)
    return asked(url, lambda: bytes(system.cat_file(path)))
