"""Files of the input: local, behind a URL, or members of archives and mailboxes; their stamps and digests."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa

from neardup.display import counted, printable
from neardup.errors import InputError
from neardup.io.containers.addresses import open_container, open_member, split_address, stamp_of
from neardup.io.containers.codecs import SUFFIX_OF, codec_of, unpacked_stream
from neardup.io.containers.spools import STDIN, piped_input
from neardup.io.storage.pins import Pin, changed_while_read_error
from neardup.io.storage.spool import FetchedFile

DIGEST_BYTES = 16
BLOCKS, BLOCK_BYTES = 17, 64 << 10
"""A larger file is sampled: this many blocks, evenly spaced, the first and the last bytes among them."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def digest_of(size: int, read: Callable[[int, int], bytes]) -> bytes:
    """Return a digest of content, or of its size and a sample; ``read`` receives offset and length."""
    state = hashlib.blake2b(size.to_bytes(8, "little"), digest_size=DIGEST_BYTES)
    if size <= BLOCKS * BLOCK_BYTES:
        state.update(read(0, size))
    else:
        for block in range(BLOCKS):
            state.update(read((size - BLOCK_BYTES) * block // (BLOCKS - 1), BLOCK_BYTES))
    return state.digest()


def digest_of_bytes(data: bytes) -> bytes:
    """Return the digest of content in memory."""
    view = memoryview(data)
    return digest_of(len(data), lambda offset, length: bytes(view[offset : offset + length]))


def digest_of_file(path: str) -> bytes:
    """Return the digest of a regular file. Raises OSError for anything else."""
    with open_regular(path) as file:

        def read(offset: int, length: int) -> bytes:
            file.seek(offset)
            return bytes(file.read(length))

        return digest_of(os.fstat(file.fileno()).st_size, read)


def whole_digest(path: str | os.PathLike[str]) -> bytes:
    """Return a digest of all bytes of a regular file. Raises OSError for anything else."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "blake2b").digest()[:DIGEST_BYTES]


def open_regular(path: str | os.PathLike[str], *, follow: bool = True) -> Any:
    """Open a regular file, or the one a link leads to, to read its bytes; opening a pipe does not wait.

    Raises OSError for anything else; without ``follow`` also for a link, on systems that can tell.
    """
    handle = os.open(path, _FLAGS if follow else _FLAGS | getattr(os, "O_NOFOLLOW", 0))
    file = os.fdopen(handle, "rb")
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        file.close()
        raise OSError("it is not a regular file")
    return file


Stamp: TypeAlias = tuple[int, int, int]
"""Time of the last change in nanoseconds, size, inode number: a different stamp means different content."""


def suffix_of(compression: str | None) -> str:
    """Return the extension of files compressed like this; empty for None."""
    return SUFFIX_OF.get(compression or "", "")


@dataclass(frozen=True)
class Source:
    """A file: ``name`` is for display, ``path`` for opening, ``partition`` comes from its folders.

    The path of a member of an archive or mailbox is ``archive.zip!/member``. ``failure`` is the reason for which
    an archive could not be opened. ``remote`` has the fetched bytes of a URL, and its
    first state.
    """

    name: str
    path: str
    size: int | None = None
    partition: tuple[tuple[str, str | None], ...] = ()
    failure: str | None = None
    remote: FetchedFile | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.is_remote:
            object.__setattr__(self, "remote", None)
        elif self.remote is None or self.remote.url != self.path:  # one under another name has the same bytes
            object.__setattr__(self, "remote", FetchedFile(self.path, Pin(size=self.size)))

    @cached_property
    def member(self) -> tuple[str, str] | None:
        """The archive or mailbox and the name in it, or None for a file of its own."""
        return split_address(self.path) if "!/" in self.path else None

    @property
    def is_remote(self) -> bool:
        """Whether the file is opened by fsspec."""
        return "://" in self.path

    @property
    def is_local(self) -> bool:
        """Whether the path is that of a file on this system."""
        return not self.is_remote and self.path != STDIN and self.member is None

    @property
    def file(self) -> str | None:
        """The path of the file on this system that has the bytes, such as the archive of a member, or None."""
        member = self.member
        return member[0] if member else self.path if self.is_local else None

    @property
    def compression(self) -> str | None:
        """Codec of the whole file, by its extension."""
        return codec_of(self.path)

    def stamp(self) -> Stamp | None:
        """Return a stamp that shows whether the file has changed; None for a missing or remote file."""
        file = self.file
        return None if file is None else stamp_of(file)

    @property
    def pin(self) -> Pin | None:
        """The first state of a URL, if its server was asked by now; None for other files."""
        return None if self.remote is None else self.remote.seen

    def changed_at(self) -> datetime | None:
        """Return the time of the last change in UTC, None where it is not known."""
        member = self.member
        try:
            time: Any = open_container(member[0]).member_properties(member[1]).time if member else self.stamp()
            if isinstance(time, tuple) and member:  # zip archives have local times without a zone
                return datetime(*time[:6]).replace(tzinfo=UTC)
            seconds = float(time) if member else time[0] / 1e9
            return datetime.fromtimestamp(seconds, UTC) if seconds else None
        except (OSError, ValueError, TypeError, OverflowError, KeyError):
            return None

    def size_now(self) -> int | None:
        """Return the size of today; None for a URL and standard input. Raises OSError."""
        member = self.member
        if member is not None:
            return open_container(member[0]).size(member[1])
        return os.stat(self.path).st_size if self.is_local else None

    def digest(self) -> bytes | None:
        """Return the digest of the stored bytes; None for standard input and a URL. Raises OSError.

        A URL has one if it is read from a copy, as its server says nothing that tells versions apart.
        """
        member = self.member
        if self.remote is not None:
            return digest_of(self.remote.length, self.remote.at) if self.remote.is_copy else None
        if member is None:
            return digest_of_file(self.path) if self.is_local else None
        with open_member(*member) as file:
            length = int(file.seek(0, os.SEEK_END))

            def read(offset: int, wanted: int) -> bytes:
                file.seek(offset)
                return bytes(file.read(wanted))

            return digest_of(length, read)

    def open_raw(self) -> Any:
        """Open the bytes of the file as an Arrow input stream with random access."""
        self._require_opened()
        member = self.member
        if member is not None:
            return pa.PythonFile(open_member(*member), mode="r")
        if self.path == STDIN:
            return pa.PythonFile(piped_input().stretch(), mode="r")
        if self.is_local:
            return pa.OSFile(os.fsencode(self.path))
        return pa.PythonFile(self._fetched_file().stretch(), mode="r")

    def open(self) -> Any:
        """Open the content of the file, decompressed."""
        raw = self.open_raw()
        return unpacked_stream(raw, self.compression, self.name) if self.compression else raw

    def read_bytes(self) -> bytes:
        """Return the whole file as it is stored."""
        self._require_opened()
        member = self.member
        if member is not None:
            with open_member(*member) as file:
                return bytes(file.read())
        if self.path == STDIN:
            return piped_input().stretch().read()
        if self.is_local:
            with open(self.path, "rb") as file:
                return file.read()
        return self._fetched_file().at(0, self._fetched_file().length)

    def _fetched_file(self) -> FetchedFile:
        assert self.remote is not None
        return self.remote

    def _require_opened(self) -> None:
        if self.failure is not None:
            raise InputError(
                self.failure[0].upper() + self.failure[1:], "A whole file of its kind", "Make or copy it again"
            )


def require_same(source: Source, before: Stamp | None) -> None:
    """Raise InputError if a file has changed since ``before``."""
    now = source.stamp()
    if now != before:
        seen = "it is gone" if now is None else f"it has {_stamp_text(now)}"
        same = None not in (now, before) and _stamp_text(now) == _stamp_text(before)
        raise changed_error(source.path, "another file is in its place" if same else seen, _stamp_text(before))


def _stamp_text(stamp: Stamp | None) -> str:
    if stamp is None:
        return ""
    changed, size, _ = stamp
    return f"last change {datetime.fromtimestamp(changed / 1e9, UTC).isoformat()}, {counted(size, 'byte')}"


def refuse_stdin(sources: Iterable[Source], why: str) -> None:
    """Raise InputError if standard input is among the sources; ``why`` begins the sentence."""
    if any(source.path == STDIN for source in sources):
        raise InputError(
            f"{why} that are read again, and standard input is gone with the command",
            "Documents in files",
            "Write the documents to a file first",
        )


def changed_error(path: str, now: str, before: str = "") -> InputError:
    """Return the error for a file that has changed since an earlier pass."""
    return changed_while_read_error(printable(path), before, now)
