"""Small files that are neither documents nor results: settings, tokens, marks, and numbers shared by processes."""

import mmap
import os
import shutil
from pathlib import Path


def beginning(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """Return the first bytes of a file, ``most`` of them; by default all. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(most)


def beginning_and_mode(path: Path, most: int) -> tuple[bytes, int]:
    """Return the first bytes of a file, and its mode, both of the file that was opened. Raises OSError."""
    with path.open("rb") as file:
        return file.read(most), os.fstat(file.fileno()).st_mode


def make_numbers(path: Path, count: int) -> None:
    """Write a file of ``count`` zeros (int32). Raises OSError."""
    path.write_bytes(bytes(4 * count))


def shared_numbers(path: Path) -> "memoryview[int]":
    """Return the numbers of a file, int32, shared by all processes that call this. Raises OSError."""
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0)).cast("i")


def allocate(path: Path, size: int) -> None:
    """Allocate space for a file; writing to a mapped one on a full disk would end the process (SIGBUS)."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, size)


def remove_folder(folder: Path) -> None:
    """Remove a folder with all its files, as far as possible."""
    shutil.rmtree(folder, ignore_errors=True)
