"""Decide whether the files of a folder are data of one kind or documents, and which files only accompany data."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from neardup.errors import InputError
from neardup.io.containers.codecs import COMPRESSIONS
from neardup.io.readers.base import Format
from neardup.io.readers.findings import Aside, named
from neardup.io.readers.samples import samples
from neardup.io.readers.sources import Source

_FORMATS: dict[str, Format] = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson", ".jsonlines", ".json"), "jsonl"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), "ipc"),
}
SUFFIXES = tuple(_FORMATS)
_BINARY: frozenset[Format] = frozenset(("parquet", "ipc"))

BESIDE = "beside the data"
NOT_LISTED = "state.json does not list it"

# Files that describe data; in a folder without data they are documents like others.
_COMPANION_NAMES = frozenset(
    (
        *("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "croissant.json"),
        *("checksums.txt", "md5sums.txt", "sha256sums.txt", "manifest.json"),
    )
)
_COMPANION_STEMS = frozenset(
    ("readme", "license", "licence", "copying", "notice", "citation", "changelog", "contributing")
)
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_STATE_BYTES = 16 << 20


@dataclass(frozen=True)
class FolderFiles:
    """The files of a folder that are read, their format, and the files left aside."""

    format: Format
    sources: tuple[Source, ...]
    aside: tuple[Aside, ...] = ()
    notes: tuple[str, ...] = ()


def format_of(name: str) -> Format:
    """Return the format for the extension of a file name."""
    stem, extension = os.path.splitext(name.lower())
    if extension in COMPRESSIONS:
        inner = _FORMATS.get(os.path.splitext(stem)[1], "text")
        return "text" if inner in _BINARY else inner
    return _FORMATS.get(extension, "text")


def decide(folder: str, sources: Sequence[Source]) -> FolderFiles:
    """Decide whether a folder is data, if other files are few and small in comparison; else one document per file.

    Few and small: not more of them than data files, and at most a tenth of their bytes. Raises InputError if both
    readings are possible, or the data is of several kinds.
    """
    speaking = [source for source in sources if _speaks_of_data(source.name)]
    others = [source for source in sources if not _speaks_of_data(source.name)]
    data = [source for source in others if format_of(source.name) != "text"]
    documents = [source for source in others if format_of(source.name) == "text"]
    if not data:
        return FolderFiles("text", tuple(sources))
    tables = [source for source in data if format_of(source.name) in _BINARY]
    if _few_beside(documents, data) and (tables or not _are_samples([*data, *documents], len(data))):
        return _as_data(folder, data, [*documents, *speaking])
    if tables and not _few_beside(data, documents):
        raise InputError(
            f"{folder} holds data ({_counted(data)}) and documents ({len(documents):,}: "
            f"{named(s.name for s in documents)})",
            "Data, or one document a file, in one run",
            f"Name the intended files by a pattern, for example '{_pattern(folder, data)}'",
        )
    note = f"{_counted(data)} in a folder of documents: read as one document each, not as rows"
    return FolderFiles("text", tuple(sources), (), (note,))


def partition_of(name: str) -> tuple[tuple[str, str | None], ...]:
    """Return the Hive partition encoded in the folders of a name.

    >>> partition_of("date=2024-01-01/lang=__HIVE_DEFAULT_PARTITION__/part.parquet")
    (('date', '2024-01-01'), ('lang', None))
    """
    folders = (folder.partition("=") for folder in name.replace(os.sep, "/").split("/")[:-1])
    return tuple(
        (unquote(key), None if value == NULL_PARTITION else unquote(value))
        for key, equals, value in folders
        if key and equals
    )


def _speaks_of_data(name: str) -> bool:
    """Return whether this is a README, a dataset_info.json, or a writer's _SUCCESS or _metadata file."""
    base = os.path.basename(name).lower()
    return (
        base in _COMPANION_NAMES
        or (os.path.splitext(base)[0] in _COMPANION_STEMS and format_of(base) == "text")
        or (base.startswith("_") and "." not in base)
    )


def _few_beside(few: Sequence[Source], many: Sequence[Source]) -> bool:
    sizes = [sum(source.size or 0 for source in part) for part in (few, many)]
    return not few or (len(few) <= len(many) and 10 * sizes[0] <= sizes[1])


def _are_samples(files: Sequence[Source], data: int) -> bool:
    """Whether most of the first files, which may be data, have other files of their sample beside them."""
    return 2 * sum(place < data for place in samples(files)) > data > 1


def _as_data(folder: str, data: Sequence[Source], rest: Sequence[Source]) -> FolderFiles:
    if len({format_of(source.name) for source in data}) > 1:
        raise InputError(
            f"{folder} holds data of several kinds: {_counted(data)}",
            "Files of one format in one run",
            f"Name the intended files by a pattern, for example '{_pattern(folder, data)}', or convert the others",
        )
    listed, unlisted = _listed(data, rest)
    aside = [*(Aside(s.name, BESIDE) for s in rest), *(Aside(s.name, NOT_LISTED) for s in unlisted)]
    return FolderFiles(format_of(data[0].name), tuple(listed), tuple(aside))


def _listed(data: Sequence[Source], rest: Sequence[Source]) -> tuple[list[Source], list[Source]]:
    """Separate the files of a saved dataset from the caches that the library leaves beside them."""
    states = {os.path.dirname(s.name): s for s in rest if os.path.basename(s.name) == "state.json" and s.is_local}
    listed: list[Source] = []
    unlisted: list[Source] = []
    known = {folder: _files_of(state) for folder, state in states.items()}
    for source in data:
        files = known.get(os.path.dirname(source.name))
        (listed if files is None or os.path.basename(source.name) in files else unlisted).append(source)
    return (listed, unlisted) if listed else (list(data), [])


def _files_of(state: Source) -> frozenset[str] | None:
    try:
        if (state.size or 0) > _STATE_BYTES:
            return None
        with open(state.path, "rb") as file:
            files = json.load(file)["_data_files"]
        return frozenset(str(item["filename"]) for item in files)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _counted(sources: Sequence[Source]) -> str:
    counts = Counter(format_of(source.name) for source in sources)
    first = {kind: next(s.name for s in sources if format_of(s.name) == kind) for kind in counts}
    return ", ".join(
        f"{counts[kind]:,} {_called(kind)} ({first[kind]}{' …' * (counts[kind] > 1)})" for kind in counts
    )


def _called(kind: Format) -> str:
    return {"ipc": "Arrow", "parquet": "Parquet", "jsonl": "JSON", "csv": "CSV"}.get(kind, kind)


def _pattern(folder: str, data: Sequence[Source]) -> str:
    largest = max(data, key=lambda source: source.size or 0)
    stem, suffix = os.path.splitext(os.path.basename(largest.name))
    if suffix.lower() in COMPRESSIONS:
        suffix = os.path.splitext(stem)[1] + suffix
    return os.path.join(folder, "**" if os.path.dirname(largest.name) else "", "*" + suffix)
