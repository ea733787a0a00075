"""The folders that an agent may read, and how much of them at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neardup import display
from neardup.errors import InputError
from neardup.io.containers.addresses import MARK, split_address
from neardup.io.containers.base import safe_name
from neardup.io.readers import Documents, open_sources
from neardup.io.readers.discovery import find_files, matching, split_pattern
from neardup.io.readers.folders import walk

LONGEST_NAME = 4096
"""The most characters of a name; a longer one is a text."""
_ACCOUNT = "run.json"
"""Read in every folder, to leave out results."""


@dataclass(frozen=True)
class Roots:
    """Folders whose files may be read, and the most bytes of files or texts in one call.

    Links are followed before a path is compared with the roots, and a path is compared before anything is opened,
    so that no link leads out of them: not that of a file, a folder, an archive, a mailbox or a match of a pattern.
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

    def collection(self, name: str) -> Path:
        """Return a file below a root, of any size, with all links followed. Raises InputError for any other."""
        path = Path(os.path.realpath(self._inside(name)))
        if not path.is_file():
            raise self._no_file(name)
        return path

    def document(self, name: str) -> str:
        """Return the path of a file, or the address of a member of an archive. Raises InputError for any other."""
        found = self._inside(name)
        file = (split_address(found) or (found, ""))[0]
        if not os.path.isfile(file):
            raise self._no_file(name)
        self._require(os.path.getsize(file), display.printable(name))
        return found

    def documents(self, names: Sequence[str]) -> Documents:
        """Open files and folders below the roots. Raises InputError for others, and for more than ``largest``.

        Files are named by their paths relative to the first root, as later calls expect them.
        """
        if not names:
            raise InputError("No file was given", self._allowed())
        paths = [path for name in names for path in self._matching(name)]
        for path in paths:
            self._require_closed(path)
        found = find_files(paths)
        for source in found.sources:
            self._inside(source.path)
        self._require(sum(source.size or 0 for source in found.sources), "The input")
        named = tuple(replace(source, name=self.relative(source.path)) for source in found.sources)
        return open_sources(replace(found, name=self.relative(found.name), sources=named))

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Return texts. Raises InputError for more than ``largest``."""
        self._require(sum(len(text.encode("utf-8", "surrogatepass")) for text in texts), "The texts together")
        return list(texts)

    def relative(self, path: str) -> str:
        """Return a path as calls name it: relative to the first root, if it is below it."""
        below = Path(path).is_relative_to(self.folders[0])
        return os.path.relpath(path, self.folders[0]) if below else path

    def has(self, name: str) -> bool:
        """Return whether a name is that of a file or folder below a root."""
        if len(name) > LONGEST_NAME or not any(map(str.isalnum, name)):  # "." is a folder, and a text
            return False
        try:
            return os.path.exists(self._inside(name))
        except (InputError, OSError, ValueError):  # a text need not be a possible name
            return False

    def _inside(self, name: str) -> str:
        """Return a path or an address with the links of its folders followed; its last name is as it was given.

        The name decides on the format of the file, that of the target of a link does not. Raises InputError if it
        is outside the roots.
        """
        if not name or "\0" in name or "://" in name:
            raise InputError(f"{display.printable(name)!r} is not a local path", self._allowed())
        joined = str(self.folders[0] / name)
        file, member = split_address(joined) or (joined, None)
        real = os.path.realpath(file)
        if not self._below(real) or (member and safe_name(member) is None):
            raise InputError(f"{display.printable(name)} is outside the folders of this server", self._allowed())
        folder, last = os.path.split(file)
        folder = os.path.realpath(folder)
        named = os.path.join(folder, last) if self._below(folder) and last not in ("", ".", "..") else real
        return named if member is None else f"{named}{MARK}{member}"

    def _matching(self, name: str) -> list[str]:
        """Return the path of a name, or the files below the roots that a pattern matches."""
        pattern = None if "://" in name or self.has(name) else split_pattern(name)
        if pattern is None:
            return [self._inside(name)]
        found = set(matching(self._inside(pattern[0]), pattern[1], self._below))
        if not found:
            raise InputError(
                f"No file matches {display.printable(name)}", "A pattern such as data/*.jsonl or data/**/*.txt"
            )
        return sorted(found)

    def _require_closed(self, path: str) -> None:
        """Raise InputError if reading a folder would follow a link out of the roots."""
        if not os.path.isdir(path):
            return
        for folder, _, files in os.walk(path):
            if _ACCOUNT in files:  # read before the files are listed
                self._inside(os.path.join(folder, _ACCOUNT))
        for _, file in walk(path, (), []):
            self._inside(file)

    def _below(self, real: str) -> bool:
        return any(Path(real).is_relative_to(folder) for folder in self.folders)

    def _require(self, size: int, of: str) -> None:
        if size > self.largest:
            raise InputError(
                f"{of} has {size:,} bytes",
                f"At most {self.largest:,} bytes in one call",
                "Name fewer files, or start the server with a larger --largest",
            )

    def _no_file(self, name: str) -> InputError:
        return InputError(f"There is no file {display.printable(name)}", self._allowed())

    def _allowed(self) -> str:
        return "Files and folders below " + " or ".join(display.printable(str(one)) for one in self.folders)
