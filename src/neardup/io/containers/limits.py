"""Limits on archives and mailboxes: any of them may be hostile."""

from __future__ import annotations

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


def most_unpacked(stored: int) -> int:
    """Return the most bytes that an archive with ``stored`` bytes may unpack to.

    >>> most_unpacked(1000) >> 20, most_unpacked(20 << 20) >> 20
    (1024, 2000)
    """
    return max(UNPACKED_BYTES, UNPACKED_RATIO * stored)
