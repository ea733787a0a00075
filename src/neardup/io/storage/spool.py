"""The fetched bytes of URLs, kept on the disk: each byte is asked for once, and read as often as needed."""

import shutil
from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, gettempdir
from threading import RLock
from typing import IO

from neardup.display import printable, size
from neardup.errors import InputError
from neardup.io.containers.base import ROOM_BYTES
from neardup.io.containers.spools import LOOK_EVERY, Stretch, read_at
from neardup.io.place import without_password, without_query
from neardup.io.storage.answers import SLOWEST, heard, retried_answer
from neardup.io.storage.pins import ChangedObjectError, Pin, changed_while_read_error
from neardup.io.storage.systems import StoredObject, is_web, stored_object

BLOCK_BYTES = 64 << 10
"""Requests begin and end at multiples of it."""
PIECE_BYTES = 1 << 20
"""Bytes that are copied at a time."""
MOST_BYTES = 16 << 20
"""The longest request for a part of a file."""


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
        """Put the bytes into the file; return their place, None if there is no room."""
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
    """A file behind a URL as bytes at any place, all of the version that was seen first; used by several threads.

    Parts are asked for by ranges, and kept in the spool; if that is full, they are asked for again. Reading in
    order makes the requests longer. The whole file is fetched at the first read if the server does not send parts,
    or says nothing that tells one version from another. ``expected`` is its state in a listing.
    """

    def __init__(self, url: str, expected: Pin | None = None, spool: FetchSpool = SPOOL) -> None:
        self.url, self._spool = url, spool
        self._expected = expected or Pin()
        self._lock = RLock()
        self._extents: list[tuple[int, int, int]] = []  # offset, length, place in the spool
        self._window = (0, b"")  # the latest bytes for which there was no room
        self._next, self._ahead = 0, BLOCK_BYTES
        self._kept = 0
        self._pin: Pin | None = None
        self._in_parts, self._length = True, -1

    @cached_property
    def _object(self) -> StoredObject:
        return stored_object(self.url)

    @property
    def pin(self) -> Pin:
        """The state of the file when it was seen first. Raises InputError for a missing or an unexpected one."""
        with self._lock:
            if self._pin is None:
                self._pin, self._in_parts = retried_answer(self.url, self._object.look, waited=is_web(self.url))
                if not self._expected.is_of(self._pin):
                    raise self._changed_error(self._pin, self._expected)
            return self._pin

    @property
    def seen(self) -> Pin | None:
        """The pin of a file that was read, None before: nothing is asked."""
        return (
            None
            if self._pin is None
            else self._pin.with_more(Pin(size=self._length if self._length >= 0 else None))
        )

    @property
    def address(self) -> str:
        """The URL to which the server redirects."""
        _ = self.pin
        return str(getattr(self._object, "address", self.url))

    @property
    def is_copy(self) -> bool:
        """Whether the file is read from a copy, since the server says nothing that tells its versions apart."""
        return self.pin.size is None or not self._in_parts

    @property
    def length(self) -> int:
        """The size of the file. Raises InputError."""
        with self._lock:
            if self._length < 0:
                pin = self.pin
                if self._in_parts and pin.size is not None:
                    self._length = pin.size
                else:
                    self._take(Pin(size=pin.size))
            return self._length

    def at(self, offset: int, length: int) -> bytes:
        """Return the bytes of a place, fewer only at the end of the file. Raises InputError."""
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
            piece = self._known_bytes(offset, end)
            if not piece:
                self._fetch(offset, end)
                piece = self._known_bytes(offset, end)
        assert piece
        return piece

    def _known_bytes(self, offset: int, end: int) -> bytes | None:
        index = bisect_right(self._extents, (offset, self._length + 1, 0)) - 1
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
        following = bisect_right(self._extents, (offset, self._length + 1, 0))
        limit = self._extents[following][0] if following < len(self._extents) else self._length
        stop, pin = min(wanted, limit, start + MOST_BYTES), self.pin
        try:
            data = retried_answer(
                self.url,
                lambda: self._object.part(start, stop, pin),
                waited=is_web(self.url),
                more=(stop - start) / SLOWEST,
            )
        except ChangedObjectError as error:
            raise self._changed_error(error.seen, pin) from error
        if data is None:
            self._take(pin)
        else:
            self._next = stop
            self._keep(start, data)

    def _end_before(self, offset: int) -> int:
        index = bisect_right(self._extents, (offset, self._length + 1, 0)) - 1
        return sum(self._extents[index][:2]) if index >= 0 else 0

    def _keep(self, start: int, data: bytes) -> bool:
        place = self._spool.put(data)
        if place is None:
            self._window = (start, data)
            return False
        self._kept += len(data)
        insort(self._extents, (start, len(data), place))
        return True

    def _take(self, pin: Pin) -> None:
        """Fetch the whole file if the server sends no parts. Raises InputError without room for it."""
        try:
            taken = retried_answer(self.url, lambda: self._whole(pin), waited=is_web(self.url))
        except ChangedObjectError as error:
            raise self._changed_error(error.seen, self.pin) from error
        if pin.size is not None and taken != pin.size:
            raise self._changed_error(Pin(size=taken), self.pin)
        self._length = taken

    def _whole(self, pin: Pin) -> int:
        """Keep the bytes of one answer; return their number."""
        self._extents.clear()
        taken = 0
        for data in self._object.whole(pin):
            if not self._keep(taken, data):
                raise InputError(
                    f"{self.shown} has at least {size(taken)}, more than there is room for in {gettempdir()}, and "
                    "its server sends only whole files, or says nothing that tells their versions apart",
                    "Room there for the file, since documents are read several times",
                    "Set TMPDIR to a folder with more room, or fetch the file first",
                )
            taken += len(data)
            heard()
        return taken

    @property
    def shown(self) -> str:
        """The URL as messages show it."""
        return printable(without_password(self.url))

    def _changed_error(self, seen: Pin | None, before: Pin) -> InputError:
        return changed_while_read_error(
            self.shown, str(before), "it is gone" if seen is None else f"it has {seen}"
        )

    def __reduce__(self) -> tuple[type, tuple[str, Pin]]:
        return type(self), (self.url, self._pin or self._expected)

    def __del__(self) -> None:
        if getattr(self, "_kept", 0):
            self._spool.release(self._kept)


@contextmanager
def local_copies(files: Sequence[FetchedFile]) -> Iterator[list[str]]:
    """Yield the paths of copies of whole files, which end like their URLs, below a folder for temporary files."""
    with TemporaryDirectory(prefix="neardup-inputs-") as folder:
        parts = (without_query(file.url).split("://", 1)[1].split("/") for file in files)
        paths = [Path(folder, *(part for part in names if part not in ("", ".", ".."))) for names in parts]
        for file, path in zip(files, paths, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "wb") as copy:
                shutil.copyfileobj(file.stretch(), copy, PIECE_BYTES)
        yield [str(path) for path in paths]
