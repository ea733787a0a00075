"""The folders that an agent may read, and how much of them at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neardup import display
from neardup.errors import InputError
from neardup.io.readers import Documents, open_sources
from neardup.io.readers.discover import find_files


@dataclass(frozen=True)
class Roots:
    """Folders whose files may be read, and the most bytes of files or texts in one call.

    Links are followed before a path is compared with the roots, so that no link leads out of them.
    """

    folders: tuple[Path, ...]
    largest: int

    @classmethod
    def of(cls, folders: Sequence[Path], largest: int) -> Roots:
        """Return the roots; without any, the working folder. Raises InputError for a folder that is missing."""
        found = tuple(Path(os.path.realpath(folder)) for folder in folders or [Path.cwd()])
        for folder in found:
            if not folder.is_dir():
                raise InputError(f"{display.printable(str(folder))} is not a folder", "Folders that exist")
        return cls(found, largest)

    def file(self, name: str) -> Path:
        """Return a file below a root, with all links followed. Raises InputError for any other."""
        path = self._inside(name)
        if not path.is_file():
            raise InputError(f"There is no file {display.printable(name)}", self._allowed())
        self._require(path.stat().st_size, display.printable(name))
        return path

    def documents(self, names: Sequence[str]) -> Documents:
        """Open files and folders below the roots. Raises InputError for others, and for more than ``largest``."""
        if not names:
            raise InputError("No file was given", self._allowed())
        found = find_files([self._inside(name) for name in names])
        for source in found.sources:  # a folder may hold links
            self._inside(source.path)
        self._require(sum(source.size or 0 for source in found.sources), "The input")
        return open_sources(found)

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Return texts. Raises InputError for more than ``largest``."""
        self._require(sum(len(text.encode("utf-8", "surrogatepass")) for text in texts), "The texts together")
        return list(texts)

    def _inside(self, name: str) -> Path:
        if not name or "\0" in name or "://" in name:
            raise InputError(f"{display.printable(name)!r} is not a local path", self._allowed())
        joined = Path(os.path.realpath(self.folders[0] / name))
        if not any(joined.is_relative_to(folder) for folder in self.folders):
            raise InputError(f"{display.printable(name)} is outside the folders of this server", self._allowed())
        return joined

    def _require(self, size: int, of: str) -> None:
        if size > self.largest:
            raise InputError(
                f"{of} has {size:,} bytes",
                f"At most {self.largest:,} bytes in one call",
                "Name fewer files, or start the server with a larger --largest",
            )

    def _allowed(self) -> str:
        return "Files and folders below " + " or ".join(display.printable(str(one)) for one in self.folders)
