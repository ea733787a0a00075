"""Files with secrets: tokens and keys, which only their owner should read."""

from __future__ import annotations

import os
from pathlib import Path

from neardup.display import printable


def exposed(path: Path, mode: int | None = None) -> str:
    """Return a warning with the way out if other users may read or write a file with a secret, else "".

    ``mode`` is its mode where the file is open. Systems without such modes never warn.
    """
    if os.name != "posix":
        return ""
    if mode is None:
        try:
            mode = path.stat().st_mode
        except OSError:
            return ""
    shown = printable(str(path))
    return f"{shown} can be read by other users of this machine\nchmod 600 {shown}" if mode & 0o077 else ""
