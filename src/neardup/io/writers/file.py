"""Write one file atomically: to a temporary place first, renamed when all of it is on the disk."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from neardup.errors import OutputError
from neardup.io.writers.access import EVERYBODY, restrict
from neardup.io.writers.place import WorkingPlace, flush


class OutputFile:
    """A file as a context manager: complete under its name, or absent.

    It is opened at once, in a separate place next to the target, so that an unwritable location is found before
    the work. On any exception it is removed. Only files of the same kind (``is_own``) are overwritten, and only on
    request. ``access``: the permissions of its input (``access.py``). Raises OutputError.
    """

    kind = "a file"

    def __init__(self, path: str | Path, *, overwrite: bool = False, access: int = EVERYBODY) -> None:
        self.target = Path(os.path.abspath(os.path.expanduser(path)))
        self.overwrite, self.access = overwrite, access
        self._place = WorkingPlace(self.target)

    def __enter__(self) -> Self:
        try:
            self._check_target()
            self._place.open()
            self._file = open(self._place.new, "xb")
        except OSError as error:
            self._place.remove()
            raise _failed(self.target, error) from error
        except BaseException:
            self._place.remove()
            raise
        return self

    def is_own(self, path: Path) -> bool:
        """Return whether this regular file is of this kind."""
        raise NotImplementedError

    def write_bytes(self, data: bytes) -> None:
        """Append the data."""
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
            self._file.close()
            if error is None:
                self._publish()
        except OSError as failure:
            raise _failed(self.target, failure) from failure
        finally:
            self._place.remove()

    def _publish(self) -> None:
        restrict(self._place.new, self.access)
        flush(self._place.new)
        self._check_target()
        try:
            if self.overwrite:
                self._place.replace()
            else:
                self._place.publish()
        except FileExistsError:
            self._check_target()
            raise

    def _check_target(self) -> None:
        if not os.path.lexists(self.target):
            return
        if not self.overwrite:
            raise OutputError(
                f"{self.target} exists already",
                "A file that does not exist yet",
                "Choose another name, or give --overwrite to replace it",
            )
        if self.target.is_symlink() or not self.target.is_file() or not self.is_own(self.target):
            raise OutputError(
                f"{self.target} is not {self.kind} of neardup",
                f"Only {self.kind} of an earlier run is overwritten",
                "Choose another name, or remove it yourself",
            )


def _failed(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"Cannot write {path}: {error.strerror or error}",
        "A file in a folder that may be written, on a disk with room",
        "Choose another name",
    )
