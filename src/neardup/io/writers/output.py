"""An output that is whole under its name or absent: the way of files and folders to their names."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from neardup.errors import OutputError
from neardup.io.urls import require_local
from neardup.io.writers.place import WorkingPlace


class Output:
    """A context manager that begins in a place of its own; on any exception the place is removed.

    A subclass makes the output in ``begin`` and publishes it in ``end``. Raises OutputError.
    """

    new_target: ClassVar[str]
    """The allowed target without ``overwrite``."""
    possible: ClassVar[tuple[str, str]]
    """Where this output can be written, and what to do otherwise."""

    def __init__(self, path: str | Path, overwrite: bool) -> None:
        require_local(path)
        self.target = Path(os.path.abspath(os.path.expanduser(path)))
        self.overwrite = overwrite
        self.place = WorkingPlace(self.target)

    def begin(self) -> None:
        """Refuse a target that cannot be used, and begin the output."""
        raise NotImplementedError

    def end(self, *, whole: bool) -> None:
        """Finish the output, and publish it if it is ``whole``."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        try:
            self.begin()
        except OSError as error:
            self.place.remove()
            raise self.failed(error) from error
        except BaseException:
            self.place.remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.end(whole=error is None)
        except OSError as failure:
            raise self.failed(failure) from failure
        finally:
            self.place.remove()

    def exists_already(self) -> bool:
        """Return whether the target exists. Raises OutputError if it does and may not be replaced."""
        exists = os.path.lexists(self.target)
        if exists and not self.overwrite:
            raise OutputError(
                f"{self.target} exists already",
                self.new_target,
                "Choose another name, or give --overwrite (overwrite=True) to replace it",
            )
        return exists

    def failed(self, error: OSError, name: str = "") -> OutputError:
        """Return the error for a failure to write the output, or the file ``name`` in it."""
        allowed, do = self.possible
        return OutputError(f"Cannot write {self.target / name}: {error.strerror or error}", allowed, do)
