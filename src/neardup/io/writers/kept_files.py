"""Kept documents that are files: copies in a folder, members in an archive or mailbox of the same kind."""

import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from neardup.io.containers.addresses import MARK, codec_of_container, is_mailbox, open_container
from neardup.io.containers.base import Container
from neardup.io.place import name_below, shown_name, without_secrets
from neardup.io.readers.base import NativeFiles, Sink
from neardup.io.readers.folders import PARTS, is_message
from neardup.io.readers.sources import Source
from neardup.io.writers.kept_formats import CompressedFile

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
_LARGE = 1 << 30

_WHOLE = (".tgz", ".txz", ".tbz", ".tbz2", ".tzst")


def places_of_files(files: Sequence[Source]) -> dict[str, str]:
    """Return the place of each file by its full path; all places are distinct."""
    names = [os.path.normpath(file.name) for file in files]
    if any(
        os.path.isabs(name) or "://" in file.name or name.startswith("..")
        for name, file in zip(names, files, strict=True)
    ):
        # For names that lead out of the folder, files are placed relative to the common part of their paths.
        paths = [without_secrets(file.path).split("://", 1)[-1].lstrip("/") for file in files]
        base = os.path.commonpath(["/" + os.path.dirname(path) for path in paths])
        names = [shown_name(os.path.relpath("/" + path, base)) for path in paths]
    places: dict[str, str] = {}
    taken: set[str] = set()
    for file, name in zip(files, names, strict=True):
        # the escape of a name that is not Unicode may be the name of another file
        place = name if name not in taken else f"{name}.{len(taken)}"
        taken.add(place)
        places[file.path] = name_below(place, file.path)
    return places


def _copy_file(source: Source, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_local:
        shutil.copyfile(source.path, target)
    else:
        target.write_bytes(source.read_bytes())


class _Copy(Protocol):
    """An archive or mailbox that is written."""

    def add(self, container: Container, name: str) -> None:
        """Append a member of another one of the same kind."""

    def close(self) -> None:
        """Finish the file."""


def document_sink(folder: Path, files: Sequence[Source]) -> Sink:
    """Return the writer of kept documents.

    Members of one archive or mailbox go to ``kept`` with its suffix. All others go to a folder ``kept``: files as
    they are, members into an archive or mailbox of the name of theirs.
    """
    holders = {member[0] for source in files if (member := source.member) is not None}
    together = len(holders) == 1 and all(source.member is not None for source in files)
    return DocumentSink(folder, files, holders.pop() if together else None)


class DocumentSink:
    """Writes kept files and members in the order of the input; ``only``: the archive of all."""

    def __init__(self, folder: Path, files: Sequence[Source], only: str | None = None) -> None:
        self.path = folder / ("kept" if only is None else "kept" + _suffix(only))
        self._order = {source.path: place for place, source in enumerate(files)}
        self._only, self._holder = only, only
        self.files = 0 if only is None else 1
        """The number of files, archives and mailboxes written."""
        self._copy: _Copy | None = None
        self._places = {} if only else places_of_files(_holders(files))
        if only is None:
            self.path.mkdir()
        else:
            self._copy = _new_copy(self.path, only)

    def prepare(self, native: NativeFiles, keep: npt.NDArray[np.bool_], extra: Any) -> list[Source] | None:
        """Return the kept documents with their samples and those left aside, in the order of the input."""
        rows = np.flatnonzero(keep).tolist()
        chosen = [*(native.sources[row] for row in rows), *native.left_aside]
        if native.others:
            chosen += [other for row in rows for other in native.others[row]]
        return sorted(chosen, key=lambda source: self._order[source.path]) or None

    def write(self, item: list[Source]) -> None:
        """Copy the documents."""
        for source in item:
            if source.member is None:
                self._write_file(source)
                continue
            holder, name = source.member
            if holder != self._holder:
                self.close()
                place = self.path / self._places[holder]
                place.parent.mkdir(parents=True, exist_ok=True)
                self._holder, self._copy = holder, _new_copy(place, holder)
                self.files += 1
            assert self._copy is not None
            self._copy.add(open_container(holder), name)

    def close(self) -> None:
        """Finish the last archive or mailbox."""
        if self._copy is not None:
            self._copy.close()
        self._copy = None

    def _write_file(self, source: Source) -> None:
        self.files += 1
        target = self.path / self._places[source.path]
        _copy_file(source, target)
        if is_message(source.path):  # a folder without all three is no Maildir
            for part in PARTS:
                (target.parent.parent / part).mkdir(exist_ok=True)


class _ZipCopy:
    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path, "w")

    def add(self, container: Container, name: str) -> None:
        stored = container.member_properties(name)
        info = zipfile.ZipInfo(name, stored.time or _FIRST_DATE)
        info.compress_type, info.external_attr = stored.method, (stat.S_IFREG | stored.mode) << 16
        large = container.size(name) > _LARGE
        with container.open_stored(name) as source, self._zip.open(info, "w", force_zip64=large) as target:
            shutil.copyfileobj(source, target)

    def close(self) -> None:
        self._zip.close()


class _TarCopy:
    def __init__(self, path: Path, codec: str | None) -> None:
        self._file = CompressedFile(path, codec)
        self._tar = tarfile.open(fileobj=cast(Any, self._file), mode="w|", format=tarfile.PAX_FORMAT)  # noqa: SIM115

    def add(self, container: Container, name: str) -> None:
        stored, info = container.member_properties(name), tarfile.TarInfo(name)
        info.size, info.mtime, info.mode = container.size(name), stored.time, stored.mode
        with container.open_stored(name) as source:
            self._tar.addfile(info, source)

    def close(self) -> None:
        self._tar.close()
        self._file.close()


class _MailboxCopy:
    def __init__(self, path: Path, codec: str | None) -> None:
        self._file = CompressedFile(path, codec)

    def add(self, container: Container, name: str) -> None:
        with container.open_stored(name) as source:
            shutil.copyfileobj(source, self._file)

    def close(self) -> None:
        self._file.close()


def _new_copy(path: Path, holder: str) -> _Copy:
    codec = codec_of_container(holder)
    if is_mailbox(holder):
        return _MailboxCopy(path, codec)
    return _ZipCopy(path) if holder.lower().endswith(".zip") else _TarCopy(path, codec)


def _suffix(holder: str) -> str:
    """Return the suffix of an archive or mailbox, with that of its compression.

    >>> _suffix("/a/Letters.2020.tar.gz"), _suffix("b.TGZ")
    ('.tar.gz', '.tgz')
    """
    stem, suffix = os.path.splitext(os.path.basename(holder))
    inner = os.path.splitext(stem)[1] if codec_of_container(holder) and suffix.lower() not in _WHOLE else ""
    return (inner + suffix).lower()


def _holders(files: Sequence[Source]) -> list[Source]:
    """Return the files, and the archives and mailboxes of members."""
    found: dict[str, Source] = {}
    for source in files:
        member = source.member
        if member is None:
            found[source.path] = source
        elif member[0] not in found:
            found[member[0]] = Source(source.name.removesuffix(MARK + member[1]), member[0])
    return list(found.values())
