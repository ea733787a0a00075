"""Outputs at URLs of object stores: written into a folder here, then put there, the manifest last."""

import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from neardup.display import printable
from neardup.errors import InputError, NetworkError, OutputError
from neardup.io.place import url_in, without_password
from neardup.io.storage.answers import heard, longer, retried_answer
from neardup.io.storage.systems import filesystem, is_writable
from neardup.io.writers.filesystem import is_private, unwritable_error

if TYPE_CHECKING:
    _Path = Path
else:
    _Path = type(Path())  # before Python 3.12, only the class of this system can be derived from

UNFINISHED = "_neardup_unfinished.json"
"""The file beside an upload that has not ended; the next run may replace all of it."""

LAST = ("run.json", "fingerprints.json", "manifest.json")
"""The files without which a folder is no result, in the order in which they are put, after all others."""

_COPIED = 8 << 20
CHECKED_SECONDS = 1.0
"""Files are put without looking for another run at the place for this long."""


class LocalPath(_Path):
    """The path of a folder or file here for one at a ``url``, which messages name as ``typed``."""

    typed: str


def local_path(place: Path, url: str) -> LocalPath:
    """Return a path for the place at a URL."""
    path = LocalPath(place)
    path.typed = url
    return path


def url_of(path: str | os.PathLike[str]) -> str | None:
    """Return the URL in an object store that a path is, or stands for; None for a path of this machine."""
    if isinstance(path, LocalPath):  # paths made of one have lost it
        return getattr(path, "typed", None)
    url = url_in(path)
    return url if url is not None and is_writable(url) else None


def staging_path(url: str) -> LocalPath:
    """Return the path here of an output at a URL, always the same: ``--resume`` keeps its parts beside it."""
    return local_path(private_folder("outputs", url) / (url.rstrip("/").rpartition("/")[2] or "out"), url)


def names_in(folder: Path) -> list[str]:
    """Return the names in the folder of an output, here or at its URL."""
    url = url_of(folder)
    names = os.listdir(folder) if url is None else RemoteOutput(url).names()
    return sorted({name.partition("/")[0] for name in names})


def private_folder(kind: str, url: str) -> Path:
    """Return a folder for a URL in the folder for temporary files, that only this user may enter.

    Raises OutputError if another user has made it.
    """
    user = f"-{os.geteuid()}" if hasattr(os, "geteuid") else ""
    place = Path(tempfile.gettempdir()) / f"neardup{user}"
    for part in ("", kind, hashlib.blake2b(url.rstrip("/").encode(), digest_size=10).hexdigest()):
        place = place / part
        try:
            place.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise OutputError(unwritable_error(place, error).given, "Room there", "Set TMPDIR") from error
        if not is_private(place):
            raise OutputError(f"{place} is not a private folder of this user", "", "Remove it, or set TMPDIR")
    return place


class RemoteOutput:
    """The place of an output at a URL, a folder or a file; ``seconds``: see ``CHECKED_SECONDS``."""

    def __init__(self, url: str, seconds: float = CHECKED_SECONDS) -> None:
        self.url, self.shown = url.rstrip("/"), printable(without_password(url.rstrip("/")))
        self._system, self._path = filesystem(self.url)
        self._seconds, self._looked = seconds, time.monotonic()

    def names(self) -> list[str]:
        """Return the files there: their names below the folder, "" for the file itself."""
        paths: list[str] = retried_answer(self.url, lambda: self._system.find(self._path), more=longer())
        return sorted(path[len(self._path) :].lstrip("/") for path in paths)

    def free_or_unfinished(self, names: list[str]) -> bool:
        """Return whether nothing is there, or the remains of an upload that did not end."""
        return not names or (UNFINISHED in names and not {"manifest.json", "fingerprints.json"} & {*names})

    def sketch_of(self, names: list[str]) -> Path:
        """Return a new folder here with the same names: JSON has its content, other files are empty.

        A single file has its content.
        """
        folder = Path(tempfile.mkdtemp(prefix="neardup-"))
        for name in names:
            place = folder / (name or "file")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
            if not name or name in LAST:
                place.write_bytes(self._read(name))
        return folder if names != [""] else folder / "file"

    def _read(self, name: str) -> bytes:
        """Read a file there."""
        return retried_answer(self.url, lambda: bytes(self._system.cat_file(self._path_of(name))))

    def _path_of(self, name: str) -> str:
        return f"{self._path}/{name}" if name else self._path

    def put(self, place: Path) -> None:
        """Put a file or a whole folder in place of the output there. Raises OutputError; the output here stays."""
        try:
            if place.is_dir():
                self._put_folder(place)
            else:
                self.put_file(place, "")
        except NetworkError as error:
            raise NetworkError(
                f"{error.given}; the output is whole in {place}", error.allowed, "Copy it there, or run again"
            ) from error

    def _put_folder(self, place: Path) -> None:
        before = self.names()
        names = sorted(file.relative_to(place).as_posix() for file in place.rglob("*") if file.is_file())
        for name in reversed(LAST):  # from now on, nobody reads a result there
            if name in before:
                self.remove(name)
        token = os.urandom(16).hex()
        self._put_bytes(msgspec.json.encode({"files": names, "token": token}), UNFINISHED)
        for name in before:
            if name not in (*LAST, *names, UNFINISHED):
                self.remove(name)
        for name in names:
            if name not in LAST:
                self._require_own(token, self._seconds)
                self.put_file(place / name, name)
        self._require_own(token, 0)
        for name in LAST:
            if name in names:
                self.put_file(place / name, name)
        self.remove(UNFINISHED)

    def _require_own(self, token: str, seconds: float) -> None:
        """Raise OutputError if another run writes there, or has done so; not asked within ``seconds`` again."""
        now = time.monotonic()
        if now < self._looked + seconds:
            return
        self._looked = now
        try:
            unfinished = self._read(UNFINISHED)
        except InputError:  # it has ended
            unfinished = b""
        if token.encode() not in unfinished:
            raise OutputError(
                f"{self.shown} is being written by another run", "One run for one output", "Choose another name"
            )

    def put_file(self, file: Path, name: str) -> None:
        """Put a file, which is whole there under its name or absent."""

        def request() -> None:
            with open(file, "rb") as source, self._system.open(self._path_of(name), "wb") as target:
                while data := source.read(_COPIED):
                    target.write(data)
                    heard()

        retried_answer(self.url, request, doing="written", more=longer())

    def _put_bytes(self, data: bytes, name: str) -> None:
        def request() -> None:
            with self._system.open(self._path_of(name), "wb") as target:
                target.write(data)

        retried_answer(self.url, request, doing="written")

    def remove(self, name: str) -> None:
        """Remove a file there."""

        def request() -> Any:
            return self._system.rm_file(self._path_of(name))

        retried_answer(self.url, request, doing="written")
