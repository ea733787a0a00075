"""A file of groups, decisions or tags for another program."""

from __future__ import annotations

from pathlib import Path

from neardup.io.writers.file import OutputFile

_BEGINNINGS = (
    b"id,group,representative,",
    b"decision,id,other,",
    b"id,tags\n",
    b'{"id":',
    b'{"decision":',
    b"PAR1",
    b"\xef\xbb\xbf\xc3\xbeid\xc3\xbe\x14",
    b"\xef\xbb\xbf\xc3\xbedecision\xc3\xbe\x14",
)


class OutputExport(OutputFile):
    """An export as a context manager: complete under its name, or absent."""

    kind = "an export"

    def is_own(self, path: Path) -> bool:
        """Return whether the file begins like an export."""
        with open(path, "rb") as file:
            return file.read(64).startswith(_BEGINNINGS)
