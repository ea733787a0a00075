"""A lock on an open file, held by one process and released when that process ends, in whatever way."""

from __future__ import annotations

import errno
import os
from typing import Any

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
try:
    import msvcrt
except ImportError:
    msvcrt = None

# On Windows nobody can read locked bytes, so the locked byte is one beyond the end of the file.
_PLACE = 1 << 30
_HELD = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)


def try_lock(handle: int) -> bool | None:
    """Lock the open file: return True on success, False if another process has it, None without lock support."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            os.lseek(handle, _PLACE, os.SEEK_SET)
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(handle, 0, os.SEEK_SET)
        else:
            return None
    except OSError as error:
        return False if error.errno in _HELD else None
    return True
