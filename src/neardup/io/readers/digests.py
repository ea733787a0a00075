"""Digests of input files, to recognise them again, and regular files opened by path."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from typing import Any

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


def open_regular(path: str | os.PathLike[str]) -> Any:
    """Open a regular file to read its bytes; opening a pipe does not wait. Raises OSError."""
    handle = os.open(path, _FLAGS)
    file = os.fdopen(handle, "rb")
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        file.close()
        raise OSError("it is not a regular file")
    return file
