"""From what the user named (file, folder, glob, URL) to the files of the input and their format."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neardup.errors import InputError
from neardup.readers.base import Format
from neardup.readers.sources import COMPRESSIONS, Source, filesystem

_FORMATS: dict[str, Format] = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson", ".jsonlines", ".json"), "jsonl"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
}

_CHECK = "Check the spelling; quote a pattern so that the shell leaves it alone"


@dataclass(frozen=True)
class Discovered:
    """The files of an input; ``name`` is what a folder of text files is called."""

    format: Format
    name: str
    sources: tuple[Source, ...]


def find_files(names: Sequence[str | Path], without: Collection[Path] = ()) -> Discovered:
    """Return the files that the names stand for; they must be of one format.

    ``without``: local files that are no input, wherever they are found.
    """
    left_out = frozenset(os.path.realpath(path) for path in without)
    parts = [_find(str(name), left_out) for name in names]
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    for part in parts:
        if part.format != first.format:
            raise _mixed(first.sources[0], first.format, part.sources[0], part.format)
    sources = (source for part in parts for source in _under_own_name(part))
    unique = {source.path: source for source in sources}
    return Discovered(first.format, "input", tuple(unique.values()))


def _under_own_name(part: Discovered) -> Iterator[Source]:
    """Put the folder before the names of its text files: two folders may have files of one name."""
    for source in part.sources:
        joined = part.format == "text" and source.name != part.name
        yield replace(source, name=os.path.join(part.name, source.name)) if joined else source


def find_file(name: str | Path) -> Source:
    """Return the one file that a path or URL stands for."""
    shown = str(name)
    if "://" in shown:
        return Source(shown, shown)
    path = os.path.expanduser(shown)
    if os.path.isdir(path):
        raise InputError(f"{shown} is a folder", "One file", "Name a file in it")
    if not os.path.exists(path):
        raise InputError(f"There is no file {shown}", "An existing file", _CHECK)
    _require_regular(shown, path)
    return local_source(shown, path)


def format_of(name: str) -> Format:
    """Return the format that the extension of a file name stands for."""
    stem, extension = os.path.splitext(name.lower())
    if extension in COMPRESSIONS:
        inner = _FORMATS.get(os.path.splitext(stem)[1], "text")
        return "text" if inner == "parquet" else inner
    return _FORMATS.get(extension, "text")


def _find(name: str, left_out: frozenset[str]) -> Discovered:
    if "://" in name:
        return _find_remote(name)
    path = os.path.expanduser(name)
    if os.path.isdir(path):
        return _folder(name, list(_walk(path, left_out)))
    if os.path.exists(path):
        _require_regular(name, path)
        if os.path.realpath(path) in left_out:
            raise InputError(f"{name} is the collection itself, or belongs to it", "Files of documents", _CHECK)
        return _files(name, [local_source(name, path)])
    if not glob.has_magic(path):
        raise InputError(f"There is no file or folder {name}", "An existing file, folder or pattern", _CHECK)
    found = (hit for hit in glob.glob(path, recursive=True) if os.path.isfile(hit))
    hits = sorted(hit for hit in found if os.path.realpath(hit) not in left_out)
    if not hits:
        raise InputError(f"No file matches {name}", "A pattern such as data/*.jsonl or data/**/*.txt", _CHECK)
    return _files(name, [local_source(hit, hit) for hit in hits])


def _require_regular(name: str, path: str) -> None:
    """Refuse pipes and devices: they can be read once, and a run needs several passes."""
    if not os.path.isfile(path):
        raise InputError(
            f"{name} is a pipe or a device",
            "A file or folder, since the documents are read in several passes",
            "Write the documents to a file first",
        )


def local_source(name: str, path: str) -> Source:
    """Return a local file; a name that is no Unicode is shown with replacement characters."""
    try:
        size: int | None = os.stat(path).st_size
    except OSError:
        size = None
    shown = os.fsencode(name).decode("utf-8", "replace")
    return Source(shown, os.path.abspath(path), size)


def _walk(root: str, left_out: frozenset[str]) -> Iterator[Source]:
    """Yield the regular, visible files below a folder; links are followed to files inside it only."""
    inside = os.path.realpath(root) + os.sep
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = os.path.join(folder, name)
            leaves = os.path.islink(path) and not os.path.realpath(path).startswith(inside)
            leaves |= bool(left_out) and os.path.realpath(path) in left_out
            if not name.startswith(".") and not leaves and os.path.isfile(path):
                yield local_source(os.path.relpath(path, root), path)


def _folder(name: str, sources: list[Source]) -> Discovered:
    """Take a folder of data files of one format as these, any other as one document a file."""
    if not sources:
        raise InputError(f"The folder {name} has no files", "At least one visible file", _CHECK)
    sources.sort(key=lambda source: source.name)
    data = [source for source in sources if not _is_marker(source.name)]
    formats = {format_of(source.name) for source in data}
    if len(formats) == 1 and formats != {"text"}:
        named = [replace(source, name=_joined(name, source.name)) for source in data]
        return Discovered(formats.pop(), name, tuple(named))
    return Discovered("text", name, tuple(sources))


def _joined(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if "://" in folder else os.path.join(folder, name)


def _is_marker(name: str) -> bool:
    """Tell the _SUCCESS, _metadata ... that writers of data folders leave next to the data."""
    base = os.path.basename(name)
    return base.startswith("_") and "." not in base


def _files(name: str, sources: list[Source]) -> Discovered:
    first = sources[0]
    for source in sources:
        if format_of(source.path) != format_of(first.path):
            raise _mixed(first, format_of(first.path), source, format_of(source.path))
    return Discovered(format_of(first.path), name, tuple(sources))


def _mixed(first: Source, format: Format, other: Source, other_format: Format) -> InputError:
    return InputError(
        f"{first.name} is {format} and {other.name} is {other_format}",
        "Files of one format in one run",
        "Run the formats apart, or convert one of them",
    )


def _find_remote(url: str) -> Discovered:
    system, path = filesystem(url)
    try:
        if glob.has_magic(path):
            hits = sorted(hit for hit in system.glob(path) if not system.isdir(hit))
            found = [_remote_source(system, hit) for hit in hits]
            if not found:
                raise InputError(f"No file matches {url}", "A pattern such as s3://bucket/*.parquet", _CHECK)
            return _files(url, found)
        if system.isdir(path):
            return _folder(url, _below(system, path))
        if not system.exists(path):
            raise InputError(f"There is no {url}", "An existing file, folder or pattern", _CHECK)
        return _files(url, [_remote_source(system, path)])
    except OSError as error:
        raise InputError(f"Cannot list {url}: {error}", "A URL that may be read", _CHECK) from error


def _remote_source(system: object, path: str) -> Source:
    url = str(system.unstrip_protocol(path))  # type: ignore[attr-defined]
    size = system.info(path).get("size")  # type: ignore[attr-defined]
    return Source(url, url, size)


def _below(system: object, root: str) -> list[Source]:
    paths: Iterable[str] = system.find(root)  # type: ignore[attr-defined]
    sources = []
    for path in paths:
        name = path[len(root.rstrip("/")) + 1 :]
        if not any(part.startswith(".") for part in name.split("/")):
            sources.append(replace(_remote_source(system, path), name=name))
    return sources
