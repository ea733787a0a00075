"""Results and fingerprints at URLs, copied here for the commands that read them; their additions are put there."""

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from neardup.display import counted, printable
from neardup.errors import InputError
from neardup.io.place import without_password
from neardup.io.readers.manifest import MANIFEST, Manifest
from neardup.io.storage.answers import heard, longer, missing_error, retried_answer
from neardup.io.storage.pins import changed_while_read_error
from neardup.io.storage.systems import filesystem, is_writable
from neardup.io.writers.filesystem import try_lock
from neardup.io.writers.object_stores import LAST, UNFINISHED, LocalPath, RemoteOutput, local_path, private_folder

MOST_BYTES = 10 << 30
"""The copies of a user take at most this much room, unless the latest is larger; the oldest are removed."""

LEFT_OUT = ("kept", "removed")
"""The beginnings of the names of documents in a result, which no command reads there."""

_INDEX, _LOCK = "index.json", "lock"

_HELD: dict[Path, int] = {}
"""The locks of the copies that this process uses."""


class _Copied(msgspec.Struct):
    """A copied file: how it looks there, and here as size and time in nanoseconds."""

    there: str
    here: tuple[int, int]


class Mirror:
    """A copy of a folder at a URL in the folder for temporary files, refreshed by ``fetch``.

    Only files that have changed there are fetched. A copy that another process uses is not shared: this one gets
    a folder of its own, removed at the end. Raises InputError for an upload that has not ended.
    """

    def __init__(self, url: str, left_out: tuple[str, ...] = LEFT_OUT) -> None:
        self._url, self._left_out = url.rstrip("/"), left_out
        self._place = _claim_folder(self._url)
        self.folder: LocalPath = local_path(self._place / (self._url.rpartition("/")[2] or "result"), self._url)
        self._index: dict[str, _Copied] = {}

    def fetch(self) -> LocalPath:
        """Bring the copy to the state there, after putting earlier additions; return its path."""
        self._index = self._load_index()
        listed = self._remote_files()
        if UNFINISHED in listed and MANIFEST not in listed:
            raise InputError(
                f"{printable(without_password(self._url))} is not whole: its upload has not ended",
                "A result with its manifest",
                "Wait, or make it again",
            )
        if not listed:
            raise missing_error(self._url)
        self._put(self._changed_names(), listed)
        self.folder.mkdir(exist_ok=True)
        for name in [name for name in self._index if name not in listed]:
            (self.folder / name).unlink(missing_ok=True)
            del self._index[name]
            with suppress(OSError):  # a folder that is gone there, such as a part that is not retained
                (self.folder / name).parent.rmdir()
        for name, look in listed.items():
            known = self._index.get(name)
            if known is None or known.there != look or known.here != _look(self.folder / name):
                self._fetch(name, look)
        if self._remote_files() != listed:
            shown = printable(without_password(self._url))
            raise changed_while_read_error(
                shown, counted(len(listed), "file"), "another run has written there meanwhile"
            )
        self._store()
        _make_room(self._place)
        return self.folder

    def put(self) -> None:
        """Put the files that were added or changed here since ``fetch``; results and parts appear there whole."""
        changed = self._changed_names()
        if changed:
            self._put(changed, self._remote_files())
            self._store()

    def _put(self, names: list[str], listed: dict[str, str]) -> None:
        """Put these files; raises InputError for one that was changed there, too."""
        if not names:
            return
        remote = RemoteOutput(self._url)
        for name in names:
            known = self._index.get(name)
            if listed.get(name) != (known.there if known else None):
                raise InputError(
                    f"{name} in {remote.shown} was changed there and in {self.folder}",
                    "Changes in one place at a time",
                    f"Copy the file from {self._place}, remove that folder, and run again",
                )
        for name in sorted(names, key=_turn):
            remote.put_file(self.folder / name, name)
        after = self._remote_files()
        self._index.update((name, _Copied(after.get(name, ""), _look(self.folder / name))) for name in names)
        listed.update((name, after.get(name, "")) for name in names)

    def _changed_names(self) -> list[str]:
        changed = []
        for file in sorted(self.folder.rglob("*")):
            name = file.relative_to(self.folder).as_posix()
            if file.is_file() and not any(part.startswith(".") for part in name.split("/")):
                known = self._index.get(name)
                if known is None or known.here != _look(file):
                    changed.append(name)
        return changed

    def _remote_files(self) -> dict[str, str]:
        """The files there that are copied, and how each looks: it changes with the content."""
        system, path = filesystem(self._url)
        if not is_writable(self._url):  # servers on the web list nothing
            data: bytes = retried_answer(self._url, lambda: system.cat_file(f"{path}/{MANIFEST}"))
            try:
                files = msgspec.json.decode(data, type=Manifest).files
            except msgspec.MsgspecError:
                raise InputError(f"{without_password(self._url)} is no result of neardup") from None
            looks = {name: f"{file.bytes} {file.sha256}" for name, file in files.items() if file.files is None}
            looks[MANIFEST] = hashlib.sha256(data).hexdigest()
        else:
            listed: dict[str, dict[str, Any]] = retried_answer(
                self._url, lambda: system.find(path, detail=True), more=longer()
            )
            looks = {
                name[len(path) :].lstrip("/"): f"{info['size']} {info.get('mtime') or info.get('ETag')}"
                for name, info in listed.items()
            }
        return {name: look for name, look in looks.items() if not name.startswith(self._left_out or "\0")}

    def _fetch(self, name: str, look: str) -> None:
        system, path = filesystem(self._url)
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")

        def request() -> None:
            with system.open(f"{path}/{name}", "rb") as source, open(partial, "wb") as copy:
                while data := source.read(1 << 20):
                    copy.write(data)
                    heard()

        retried_answer(f"{self._url}/{name}", request)
        os.replace(partial, target)
        self._index[name] = _Copied(look, _look(target))

    def _load_index(self) -> dict[str, _Copied]:
        try:
            return msgspec.json.decode((self._place / _INDEX).read_bytes(), type=dict[str, _Copied])
        except (OSError, msgspec.MsgspecError):
            shutil.rmtree(self.folder, ignore_errors=True)
            return {}

    def _store(self) -> None:
        (self._place / _INDEX).write_bytes(msgspec.json.encode(self._index))


def fetched_copy(url: str, left_out: tuple[str, ...] = LEFT_OUT) -> LocalPath:
    """Return the path of a copy of a result at a URL."""
    return Mirror(url, left_out).fetch()


def holds_fingerprints(url: str) -> bool:
    """Return whether a folder in an object store has fingerprints, in it or in folders below."""
    if not is_writable(url) or "*" in url:
        return False
    names = RemoteOutput(url).names()
    return any(name.rpartition("/")[2] == "fingerprints.json" and name.count("/") < 2 for name in names)


def _turn(name: str) -> tuple[int, str]:
    """Return the place of a file among those that are put: those of LAST after all others, in its order."""
    bare = name.rpartition("/")[2]
    return LAST.index(bare) + 1 if bare in LAST else 0, name


def _look(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError:
        return -1, 0
    return status.st_size, status.st_mtime_ns


def _claim_folder(url: str) -> Path:
    """Return the folder of the copy of a URL, locked by this process, or a new one if another has it."""
    place = private_folder("fetched", url)
    if place in _HELD:
        return place
    lock = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    if try_lock(lock) is not False:
        _HELD[place] = lock
        return place
    os.close(lock)
    place = Path(tempfile.mkdtemp(prefix="neardup-fetched-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def _make_room(latest: Path) -> None:
    """Remove the copies that were used least recently, as long as all take more than MOST_BYTES."""
    copies = sorted(_copies(latest.parent), key=lambda copy: copy[0], reverse=True)
    total = 0
    for _, size, place in copies:
        total += size
        if total > MOST_BYTES and place != latest and place not in _HELD:
            lock = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            if try_lock(lock) is not False:
                shutil.rmtree(place, ignore_errors=True)
            os.close(lock)


def _copies(parent: Path) -> Iterator[tuple[float, int, Path]]:
    for place in parent.iterdir():
        index = place / _INDEX
        if index.is_file():
            files = [file.stat().st_size for file in place.rglob("*") if file.is_file()]
            yield index.stat().st_mtime, sum(files), place
