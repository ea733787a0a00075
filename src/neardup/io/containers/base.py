"""The contract of archives and mailboxes, lists of members to be read at any time; any of them may be hostile."""

import posixpath
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

MEMBERS = 1_000_000
"""Files in an archive, or messages in a mailbox. Each costs about a kilobyte of memory."""

UNPACKED_BYTES, UNPACKED_RATIO = 1 << 30, 100
"""Total size of the unpacked files of an archive, unless it is at most ``UNPACKED_RATIO`` times its stored size.
Text packs to a fifth or a tenth; a bomb turns kilobytes into terabytes."""

DIRECTORY_BYTES = 256 << 20
"""Size of the list of files in a zip archive: more than a million files with long names."""

HEADER_BYTES = 1 << 20
"""Size of a header in a tar archive; the names in it have a few hundred bytes."""

NAME_BYTES = 1024
"""Length of a file's name in an archive; file systems allow 4,096 for a whole path."""

MESSAGE_BYTES = 256 << 20
"""Size of a message of a mailbox that is read; as for a file that is one document."""

LINE_BYTES = 1024
"""Bytes of a line of a mailbox that decide whether a message begins there; lines of headers are shorter."""

OPEN = 8
"""Archives and mailboxes that are held open at a time; the least recently used one is closed."""

ROOM_BYTES = 1 << 30
"""Room that working files leave free on their disk."""

LINK = "a link or a device in an archive"
OUTSIDE = "a name that leads out of the archive"
REPLACED = "a later file of the same name is in the archive"


def most_unpacked(stored: int) -> int:
    """Return the most bytes that an archive with ``stored`` bytes may unpack to.

    >>> most_unpacked(1000) >> 20, most_unpacked(20 << 20) >> 20
    (1024, 2000)
    """
    return max(UNPACKED_BYTES, UNPACKED_RATIO * stored)


class ArchiveMember(NamedTuple):
    """A file in an archive, or a message: its name, and its unpacked size in bytes."""

    name: str
    size: int


class SkippedMember(NamedTuple):
    """A member that is not input, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class MemberProperties:
    """The properties of a member that a copy keeps: its time as the archive has it, permissions, zip's method."""

    time: Any = 0
    mode: int = 0o644
    method: int = 0


class Container(Protocol):
    """An archive or a mailbox."""

    members: list[ArchiveMember]
    left_out: list[SkippedMember]
    broken: str | None
    """The reason for which the members after the last one are lost, or None."""

    def open(self, name: str) -> Any:
        """Open a member as a binary file with random access. Raises OSError for one that cannot be read."""

    def open_stored(self, name: str) -> Any:
        """Open the bytes of a member as a copy of it in another container has them. Raises OSError."""

    def size(self, name: str) -> int:
        """Return the size of a member in bytes. Raises OSError if there is none of that name."""

    def member_properties(self, name: str) -> MemberProperties:
        """Return the properties of a member."""


def safe_name(name: str) -> str | None:
    r"""Return the name of a member as a path below a folder, or None if it leads out of it or cannot be a path.

    >>> safe_name("./a/b.txt"), safe_name("../b.txt"), safe_name("/etc/passwd"), safe_name("C:\\a"), safe_name("")
    ('a/b.txt', None, None, None, None)
    """
    parts = name.replace("\\", "/").split("/")
    if not name.strip() or name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0] or "\0" in name:
        return None
    if len(name.encode("utf-8", "replace")) > NAME_BYTES:
        return None
    found = posixpath.normpath(name)
    try:
        found.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # neither Unicode nor bytes of a name
        found = found.encode("utf-8", "replace").decode("utf-8")
    return None if found == "." else found


def absent_error(name: str) -> OSError:
    """Return the error for a member that is not there."""
    return OSError(f"there is no member {name!r}")
