"""Standard input as a file: read once, into a working file, since documents are read more than once."""

from __future__ import annotations

import sys
from threading import Lock
from typing import Any

from neardup.errors import InputError
from neardup.io.containers.spools import Held, spooled

STDIN = "-"
"""The name of standard input on the command line, and its path."""

_LOCK = Lock()
_read: list[tuple[Any, Held]] = []
"""Standard input as an object, and its content; another one if a caller in this process exchanges it."""


def read_stdin() -> int:
    """Read standard input to its end into a working file; return the number of bytes.

    Raises InputError at a terminal, for the second time, and if there is no room.
    """
    with _LOCK:
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError(
                "Standard input is a terminal",
                "Documents through a pipe or from a file, one JSON object a line",
                "neardup dedup - -o out < documents.jsonl",
            )
        if _read and _read[0][0] is sys.stdin:
            raise InputError(
                "- was given twice", "Standard input once, in one place", "Write the documents to a file first"
            )
        held, reason = spooled(sys.stdin.buffer.read, "standard input")
        if reason is not None:
            raise InputError(f"Standard input cannot be read: {reason}", "A pipe or a file")
        _read[:] = [(sys.stdin, held)]
        return held.length


def piped() -> Held:
    """Return standard input as it was read. Raises OSError in another process than the one that read it."""
    if not _read:
        raise OSError("it was standard input of another process")
    return _read[0][1]
