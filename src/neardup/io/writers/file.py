"""Write one file atomically: to a temporary place first, renamed when all of it is on the disk."""

from __future__ import annotations

from pathlib import Path

from neardup.errors import OutputError
from neardup.io.writers.access import EVERYBODY, restrict
from neardup.io.writers.output import Output
from neardup.io.writers.place import flush


class OutputFile(Output):
    """A file as a context manager: complete under its name, or absent.

    It is opened at once, in a separate place next to the target, so that an unwritable location is found before
    the work. On any exception it is removed. Only files of the same kind (``is_own``) are overwritten, and only on
    request. ``access``: the permissions of its input (``access.py``). Raises OutputError.
    """

    kind = "a file"
    new_target = "A file that does not exist yet"
    possible = ("A file in a folder that may be written, on a disk with room", "Choose another name")

    def __init__(self, path: str | Path, *, overwrite: bool = False, access: int = EVERYBODY) -> None:
        super().__init__(path, overwrite)
        self.access = access

    def begin(self) -> None:
        """Open the file."""
        self._check_target()
        self.place.open()
        self._file = open(self.place.new, "xb")  # noqa: SIM115 - closed in end

    def is_own(self, path: Path) -> bool:
        """Return whether this regular file is of this kind."""
        raise NotImplementedError

    def write_bytes(self, data: bytes) -> None:
        """Append the data."""
        try:
            self._file.write(data)
        except OSError as error:
            raise self.failed(error) from error

    def end(self, *, whole: bool) -> None:
        """Close the file; a whole one gets its name."""
        self._file.close()
        if whole:
            self._publish()

    def _publish(self) -> None:
        restrict(self.place.new, self.access)
        flush(self.place.new)
        self._check_target()
        try:
            if self.overwrite:
                self.place.replace()
            else:
                self.place.publish()
        except FileExistsError:
            self._check_target()
            raise

    def _check_target(self) -> None:
        if not self.exists_already():
            return
        if self.target.is_symlink() or not self.target.is_file() or not self.is_own(self.target):
            raise OutputError(
                f"{self.target} is not {self.kind} of neardup",
                f"Only {self.kind} of an earlier run is overwritten",
                "Choose another name, or remove it yourself",
            )
