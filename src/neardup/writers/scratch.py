"""Room on disk for arrays that are larger than the memory a run may take."""

from __future__ import annotations

import os
from tempfile import TemporaryFile, gettempdir
from typing import IO

import numpy as np

from neardup.errors import OutputError
from neardup.tables import UInt64s
from neardup.views import size

_BLOCK = 1 << 24


def _take_room(file: IO[bytes], size: int) -> None:
    """Make the file so large and take the room on the disk; where the system cannot do that, by writing zeros."""
    if hasattr(os, "posix_fallocate"):  # Linux
        os.posix_fallocate(file.fileno(), 0, size)
        return
    zeros = bytes(min(size, _BLOCK))
    for at in range(0, size, _BLOCK):
        file.write(zeros[: size - at])
    file.flush()


def scratch_array(length: int) -> UInt64s:
    """uint64[length] in a file without a name, which is gone when the array is.

    The file is in the system's folder for temporary files. Its room is taken at once, for a disk that is full
    could not be told from within a kernel. Raises OutputError when there is not enough.
    """
    if length == 0:
        return np.empty(0, np.uint64)
    try:
        with TemporaryFile(prefix="neardup-") as file:
            _take_room(file, 8 * length)
            return np.asarray(np.memmap(file, np.uint64, "r+", shape=length))
    except OSError as error:
        raise OutputError(
            f"There is no room for {size(8 * length)} in {gettempdir()}: {error.strerror}",
            "The exact join writes its shingles there when they do not fit into the memory it may take",
            "Set TMPDIR to a folder with more room, raise --memory, or choose --method lsh",
        ) from error
