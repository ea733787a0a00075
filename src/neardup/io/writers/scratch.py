"""Disk space for arrays larger than a run's memory limit."""

from __future__ import annotations

import errno
import os
from tempfile import TemporaryFile, gettempdir
from typing import IO

import numpy as np

from neardup.display import size
from neardup.errors import OutputError
from neardup.tables import UInt64s

_BLOCK = 1 << 20


def scratch_array(length: int) -> UInt64s:
    """Return a uint64[length] array in an unnamed file, which disappears with the array.

    The file is in the system's folder for temporary files. Its space is allocated at once, since a kernel could
    not report a full disk. Raises OutputError when there is not enough.
    """
    if length == 0:
        return np.empty(0, np.uint64)
    try:
        with TemporaryFile(prefix="neardup-") as file:
            _take_room(file, 8 * length)
            return np.asarray(np.memmap(file, np.uint64, "r+", shape=length))
    except OSError as error:
        if error.errno == errno.ENOMEM:  # the file has its space, but this process may not map all of it
            raise MemoryError(f"{size(8 * length)} of a temporary file cannot be mapped") from error
        raise OutputError(
            f"There is no room for {size(8 * length)} in {gettempdir()}: {error.strerror}",
            "Room there for the shingles of the exact join that exceed its memory",
            "Set TMPDIR to a folder with more room, raise --memory, or choose --method lsh",
        ) from error


def _take_room(file: IO[bytes], size: int) -> None:
    """Set the size of the file and allocate disk space for all of it."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, size)
            return
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                raise
    # macOS, Windows, and file systems without preallocation: writing zeros allocates the space
    zeros = bytes(min(size, _BLOCK))
    for begin in range(0, size, _BLOCK):
        file.write(zeros[: size - begin])
    file.flush()
