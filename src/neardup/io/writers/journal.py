"""The finished parts of a run, kept beside its output until it ends, so that a killed run can go on.

A journal is a private folder with two files: ``about.json``, written whole before anything else, and ``log``, to
which parts are appended. Each part has a digest. The torn end that a killed run leaves is cut off, and a damaged
part counts as missing, so a run only ever repeats work.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import IO, Any

import msgspec
import pyarrow as pa

from neardup.display import printable
from neardup.errors import InputError, OutputError
from neardup.io.names import shown_values
from neardup.io.writers.place import flush_folder, is_private

_HEAD = struct.Struct("<QH16s")
"""Length of the part, length of its name, digest of both."""
_ABOUT, _LOG = "about.json", "log"
_LONGEST = 50
"""Characters of an output's name in that of its journal; four bytes each, a file name has at most 255."""
_SYNC = 1 << 28
"""The log is flushed to the disk whenever it has grown by this many bytes."""


class _About(msgspec.Struct, forbid_unknown_fields=True):
    secret: str
    run: dict[str, Any]


def journal_of(out: Path) -> Path:
    """The folder of the journal of a run that writes ``out``."""
    target = Path(os.path.abspath(os.path.expanduser(out)))
    if len(target.name) <= _LONGEST:
        return target.parent / f".{target.name}.resume"
    # two long names may begin alike
    digest = hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()
    return target.parent / f".{target.name[: _LONGEST // 2]}.{digest}.resume"


class RunJournal:
    """The finished parts of the run that ``about`` describes, by name; used by several threads.

    ``secret`` is that of the run that began the journal, else the given one. Raises InputError if the journal is
    that of another run, and OutputError if it cannot be written.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any], secret: bytes) -> None:
        self.folder, self._lock = folder, Lock()
        self._places: dict[str, tuple[int, int, bytes]] = {}
        try:
            self.secret = self._begin(shown_values(msgspec.to_builtins(dict(about))), secret)
            self._file: IO[bytes] = open(folder / _LOG, "a+b", buffering=0)  # noqa: SIM115
            self._scan()
        except OSError as error:
            raise self._failed(error) from error
        self._unflushed = 0

    def _begin(self, about: dict[str, Any], secret: bytes) -> bytes:
        if os.path.lexists(self.folder) and not is_private(self.folder):
            raise self._refused("it is not a private folder of this user")
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.folder / _ABOUT
        if not path.exists():
            made = msgspec.json.encode(_About(secret.hex(), about))
            partial = path.with_suffix(".partial")
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(made)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
            flush_folder(self.folder)
            return secret
        try:
            found = msgspec.json.decode(path.read_bytes(), type=_About)
            known = bytes.fromhex(found.secret)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self._refused(f"{_ABOUT} cannot be read") from error
        # both are compared as JSON, which knows no tuples
        now = msgspec.json.decode(msgspec.json.encode(about))
        if differences := list(_differences(found.run, now)):
            raise self._refused("; ".join(differences))
        return known

    def _scan(self) -> None:
        """Find the parts, and cut off a torn one at the end."""
        end, size = 0, os.fstat(self._file.fileno()).st_size
        while size - end >= _HEAD.size:
            self._file.seek(end)
            length, name_length, digest = _HEAD.unpack(self._file.read(_HEAD.size))
            begin = end + _HEAD.size + name_length
            if begin + length > size:
                break
            name = self._file.read(name_length).decode("utf-8", "replace")
            self._places[name] = (begin, length, digest)
            end = begin + length
        self._file.truncate(end)
        self._end = end

    def __len__(self) -> int:
        return len(self._places)

    def get(self, name: str) -> pa.Table | None:
        """The part of this name, None if there is none or it is damaged."""
        place = self._places.get(name)
        if place is None:
            return None
        begin, length, digest = place
        with self._lock:
            self._file.seek(begin)
            data = bytearray()
            while len(data) < length and (more := self._file.read(length - len(data))):
                data += more
        if _digest(name, data) != digest:
            return None
        return pa.ipc.open_stream(pa.py_buffer(bytes(data))).read_all()

    def put(self, name: str, table: pa.Table) -> None:
        """Append a finished part. Raises OutputError if there is no room."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        data, encoded = memoryview(sink.getvalue()), name.encode()
        head = _HEAD.pack(len(data), len(encoded), _digest(name, data))
        with self._lock:
            try:
                for piece in (memoryview(head + encoded), data):
                    while len(piece):
                        piece = piece[self._file.write(piece) :]
                self._unflushed += len(data)
                if self._unflushed > _SYNC:
                    os.fsync(self._file.fileno())
                    self._unflushed = 0
            except OSError as error:
                raise self._failed(error) from error
            begin = self._end + len(head) + len(encoded)
            self._places[name] = (begin, len(data), head[-16:])
            self._end = begin + len(data)

    def close(self) -> None:
        """Close the files; the journal stays."""
        self._file.close()

    def _failed(self, error: OSError) -> OutputError:
        return OutputError(
            f"Cannot write the finished parts in {self.folder}: {error.strerror or error}",
            "Room there for the fingerprints of all documents",
            "Make room and give the same command again, or leave out --resume",
        )

    def _refused(self, why: str) -> InputError:
        return InputError(
            f"The run begun in {self.folder} cannot go on: {printable(why)}",
            "The same inputs, settings and version as when it began",
            "Give the same command as before; or remove that folder to begin anew",
        )


def discard(out: Path) -> None:
    """Remove the journal of runs that write ``out``, if there is one of ours."""
    folder = journal_of(out)
    if is_private(folder):
        shutil.rmtree(folder, ignore_errors=True)


def _digest(name: str, data: bytes | bytearray | memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=16, key=hashlib.sha256(name.encode()).digest()).digest()


def _differences(before: Any, now: Any, name: str = "") -> list[str]:
    """Name what differs between two plain values."""
    if isinstance(before, dict) and isinstance(now, dict):
        found = []
        for key in dict.fromkeys((*before, *now)):
            found += _differences(before.get(key), now.get(key), f"{name} {key}".strip())
        return found
    return [] if before == now else [f"{name} was {_shown(before)} and is {_shown(now)}"]


def _shown(value: Any) -> str:
    said = "absent" if value is None else str(value)
    return said if len(said) <= 80 else f"{said[:79]}…"
