"""Open archives and mailboxes by their path, and members by their address: ``letters.zip!/2020/a.txt``."""

import os
from functools import lru_cache
from threading import RLock
from typing import Any, TypeAlias

from neardup.io.containers.base import OPEN, Container
from neardup.io.containers.codecs import codec_of

MARK = "!/"
"""Separates the file of an archive or mailbox from the name of a member."""

MAILBOXES = (".mbox", ".mbx")
WEB_ARCHIVE = ".wacz"
"""A zip archive with WARC files in its folder ``archive``."""
_SHORT = {".tgz": "gzip", ".txz": "xz", ".tbz2": "bz2", ".tbz": "bz2", ".tzst": "zstd"}
_LOCK = RLock()

_Stamp: TypeAlias = tuple[int, int, int]


def is_container(name: str) -> bool:
    """Return whether a file of this name is an archive or a mailbox.

    >>> [is_container(name) for name in ("a.zip", "a.TAR.GZ", "a.tgz", "a.mbox", "a.mbox.gz", "a.gz", "a.docx")]
    [True, True, True, True, True, False, False]
    """
    return _kind(name) is not None


def is_mailbox(name: str) -> bool:
    """Return whether a file of this name is a mailbox."""
    kind = _kind(name)
    return kind is not None and kind[0] == "mbox"


def _kind(name: str) -> tuple[str, str | None] | None:
    """Return zip, tar or mbox with the codec of the whole file; None for other files."""
    stem, suffix = os.path.splitext(name.lower())
    if suffix in _SHORT:
        return "tar", _SHORT[suffix]
    codec = codec_of(name)
    if codec is not None:
        suffix = os.path.splitext(stem)[1]
    if suffix in (".zip", WEB_ARCHIVE):
        return None if codec else ("zip", None)
    if suffix == ".tar":
        return "tar", codec
    return ("mbox", codec) if suffix in MAILBOXES else None


def codec_of_container(name: str) -> str | None:
    """Return the codec with which a tar archive or a mailbox is compressed as a whole."""
    kind = _kind(name)
    return kind[1] if kind else None


def split_address(path: str) -> tuple[str, str] | None:
    """Return the container and the member that a path names, or None for the path of a file of its own."""
    at = path.find(MARK)
    while at >= 0:
        if is_container(path[:at]) and not os.path.isdir(path[: at + 1]):
            return path[:at], path[at + len(MARK) :]
        at = path.find(MARK, at + 1)
    return None


def stamp_of(path: str) -> _Stamp | None:
    """Return time of the last change in nanoseconds, size and inode number; None for a missing file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def open_container(path: str) -> Container:
    """Open an archive or mailbox, or return the one held open. Raises OSError for one that cannot be read."""
    stamp = stamp_of(path)
    if stamp is None:
        raise OSError("it is not there")
    with _LOCK:
        return _open(path, stamp)


@lru_cache(maxsize=OPEN)
def _open(path: str, _: _Stamp) -> Container:
    kind = _kind(path)
    assert kind is not None
    if kind[0] == "zip":
        from neardup.io.containers.archives import ZipMembers

        return ZipMembers(path)
    if kind[0] == "tar":
        from neardup.io.containers.archives import TarMembers

        return TarMembers(path, kind[1])
    from neardup.io.containers.mailboxes import MailboxMembers

    return MailboxMembers(path, kind[1])


def open_member(container: str, name: str) -> Any:
    """Open a member with random access. Raises OSError."""
    found = open_container(container)
    if not name and found.broken is not None:
        raise OSError(f"the rest of it is lost: {found.broken}")
    return found.open(name)
