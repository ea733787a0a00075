"""One file: written under another name, renamed when all of it is on the disk."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from neardup.errors import OutputError

BEGINNING = 2048
"""Bytes of a file by which it is known as one of ours."""


class OutputFile:
    """A file as a context manager: complete under its name, or not there at all.

    It is opened as ``.<name>.partial-<pid>`` next to its place at the beginning, so that a place that cannot be
    written is known before the work. On any exception the partial file is removed. Only files of the same kind
    (``is_own``) are overwritten, and only when asked to. Raises OutputError.
    """

    kind = "file"

    def __init__(self, path: str | Path, *, overwrite: bool = False) -> None:
        self.target = Path(os.path.abspath(os.path.expanduser(path)))
        self.overwrite = overwrite
        self._partial = self.target.parent / f".{self.target.name}.partial-{os.getpid()}"

    def __enter__(self) -> Self:
        try:
            self._check_target()
            self._file = open(self._partial, "wb")
        except OSError as error:
            raise _failed(self.target, error) from error
        return self

    def is_own(self, beginning: bytes) -> bool:
        """Whether a file that begins so is of this kind."""
        raise NotImplementedError

    def write_bytes(self, data: bytes) -> None:
        """Write what comes next."""
        try:
            self._file.write(data)
        except OSError as error:
            raise _failed(self.target, error) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._file.flush()
                os.fsync(self._file.fileno())
                self._check_target()
                os.replace(self._partial, self.target)
        except OSError as failure:
            raise _failed(self.target, failure) from failure
        finally:
            self._file.close()
            self._partial.unlink(missing_ok=True)

    def _check_target(self) -> None:
        if not os.path.lexists(self.target):
            return
        if not self.overwrite:
            raise OutputError(
                f"{self.target} exists already",
                "A file that does not exist yet",
                "Choose another name, or give --overwrite to replace it",
            )
        if self.target.is_symlink() or not self.target.is_file() or not self._is_own_file():
            raise OutputError(
                f"{self.target} is not a {self.kind} of neardup",
                f"Only a {self.kind} of an earlier run is overwritten",
                "Choose another name, or remove it yourself",
            )

    def _is_own_file(self) -> bool:
        with open(self.target, "rb") as file:
            return self.is_own(file.read(BEGINNING))


def _failed(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"Cannot write {path}: {error.strerror or error}",
        "A file in a folder that may be written, on a disk with room",
        "Choose another name",
    )
