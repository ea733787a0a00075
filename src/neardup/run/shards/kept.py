"""The rows of one part that stay, by a merged result: equal to the rows of that part that one run would keep."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.readers.base import Chunk, Documents, NativeRows
from neardup.io.readers.sources import Source
from neardup.io.writers import KeptLayout, OutputFolder, open_kept, read_native
from neardup.run.found import Found
from neardup.run.looking import no_places
from neardup.run.recorded import StoredTexts
from neardup.run.records import Id
from neardup.run.shards.counted import CountedRows
from neardup.run.texts import split_id
from neardup.runtime import Progress, Silent, ordered_map
from neardup.settings import Settings
from neardup.tables import FORMAT_VERSION, Int64s, column


@dataclass(frozen=True)
class KeptPart:
    """The number of documents read of a part, and of those kept."""

    read: int
    kept: int


def kept_of_part(
    documents: Documents, found: Found, name: str, folder: OutputFolder | None, progress: Progress | None = None
) -> KeptPart:
    """Write the rows of a part that a merged result keeps, in the format of the part; with no folder only count.

    ``name`` is that of the result. Raises InputError for a part with a file that is not among those of the result
    or has changed since, and names the file.
    """
    texts = found.texts
    if not isinstance(texts, StoredTexts) or not texts.has_places:
        raise no_places()
    if found.run["against"]:
        raise InputError(
            f"{name} was compared with a reference set, and is not a merged result",
            "A result of neardup merge",
            "Write its rows with neardup apply",
        )
    sources: tuple[Source, ...] = getattr(documents, "sources", ())
    numbers = _files_of(sources, documents, texts, name)
    file = texts.file(numbers[0])
    if file.format != documents.format:
        raise _not_there(sources[0], name)
    documents.require(file.text, file.id)
    gone = _Gone(found, texts, documents, numbers)
    read = kept = 0
    threads = Settings.of(**found.run["settings"]).work.threads
    with (progress or Silent()).stage("write", None, "rows") as advance:
        if folder is None:
            for chunk, native in ordered_map(_native, documents.chunks(None, None), threads):
                read, kept = read + len(native.row_numbers), kept + int((~gone.among(chunk, native)).sum())
            return KeptPart(read, kept)
        counted = _counted(found, texts, documents, numbers)
        extra_schema, layout = counted.schema if counted else None, KeptLayout.of(documents)
        with open_kept(folder, documents, extra_schema, layout=layout) as writer:
            for chunk, native in ordered_map(read_native, writer.natives(), threads):
                stays = ~gone.among(chunk, native)
                extra = counted.columns(chunk, native.row_numbers) if counted else None
                writer.write(native, stays, extra)
                read, kept = read + len(stays), kept + int(stays.sum())
                advance(len(stays))
            writer.close()
    folder.write_json("run.json", account_of_part(documents, name, KeptPart(read, kept)))
    return KeptPart(read, kept)


def _counted(found: Found, texts: StoredTexts, documents: Documents, numbers: list[int]) -> CountedRows | None:
    """The columns of ``--count``; text files have no place for them."""
    if not found.run["settings"]["count"] or documents.format == "text":
        return None
    names = {number: source.name for number, source in zip(numbers, documents_sources(documents), strict=True)}
    return CountedRows(found, texts, names, as_json=documents.format == "csv")


def account_of_part(documents: Documents, name: str, made: KeptPart) -> dict[str, Any]:
    """Return the account of the rows of a part."""
    return {
        "neardup_version": version("neardup"),
        "format": FORMAT_VERSION,
        "action": "part",
        "inputs": list(documents.names),
        "merged": name,
        "counts": {"read": made.read, "kept": made.kept, "removed": made.read - made.kept},
    }


def _files_of(sources: tuple[Source, ...], documents: Documents, texts: StoredTexts, name: str) -> list[int]:
    """The numbers of the files of a part among the files of the result."""
    by_name: dict[str, list[int]] = {}
    for number, file_name in texts.names():
        by_name.setdefault(os.path.basename(file_name), []).append(number)
    found = []
    for source in sources:
        alike = by_name.get(os.path.basename(source.name), [])
        if not alike:
            raise _not_there(source, name)
        found.append(_recognised(source, alike, documents, texts, name))
    if not found or len(set(found)) != len(found):
        raise InputError("The part has several files that the result records as one", "The part as it was")
    return found


def _recognised(source: Source, alike: list[int], documents: Documents, texts: StoredTexts, name: str) -> int:
    """The number of the file with this name and content; of several with the same content the one of that path."""
    digest = source.digest()
    size = source.size
    same = [number for number in alike if _is_same(texts, number, digest, size)]
    if not same:
        raise InputError(
            f"{printable(source.path)} has changed since it was fingerprinted for {name}",
            "The part as it was fingerprinted",
            "Fingerprint the part again, and merge again",
        )
    if len(same) == 1:
        return same[0]
    parents = {folder for one in documents.names for folder in ("", f"{one}{os.sep}")}
    exact = [number for number in same if texts.file(number).name in {p + source.name for p in parents}]
    exact = exact or [number for number in same if texts.file(number).path == source.path]
    if len(exact) == 1:
        return exact[0]
    raise InputError(
        f"{printable(source.path)} may be {len(same):,} files of {name}: they have the same name and content",
        "A part at the place where it was fingerprinted",
        "Name the part as it was named then",
    )


def _is_same(texts: StoredTexts, number: int, digest: bytes | None, size: int | None) -> bool:
    file = texts.file(number)
    return file.size == size if file.digest is None or digest is None else file.digest == digest


class _Gone:
    """The rows of a part that are removed, chunk by chunk."""

    def __init__(self, found: Found, texts: StoredTexts, documents: Documents, numbers: list[int]) -> None:
        self._of_text = documents.format == "text"
        self._numbers = numbers
        names = {number: source.name for number, source in zip(numbers, documents_sources(documents), strict=True)}
        recorded = {texts.file(number).name: names[number] for number in numbers}
        files, rows = texts.places_of(_removed(found))
        if (files < 0).any():
            raise no_places()
        dropped: list[Id] = found.not_judged.filter(pc.invert(found.not_judged["kept"]))["id"].to_pylist()
        self._by_source: dict[str, set[int]] = {}
        if self._of_text:
            place = {number: at for at, number in enumerate(numbers)}
            self._places = {place[file] for file in files.tolist() if file in place}
            known = {texts.file(number).name: at for at, number in enumerate(numbers)}
            self._places |= {known[id] for id in map(str, dropped) if id in known}
            return
        for number, source in names.items():
            self._by_source[source] = set(rows[files == number].tolist())
        self._id = found.run["columns"]["id"]
        self._dropped = pa.array([str(id) for id in dropped], pa.large_string())
        for id in dropped if self._id is None else ():
            named, row = split_id(str(id))
            if named in recorded and row is not None:
                self._by_source[recorded[named]].add(row)

    def among(self, chunk: Chunk, native: NativeRows) -> Any:
        """Return which rows of a chunk are removed, bool[rows]."""
        numbers: Int64s = native.row_numbers
        if self._of_text:
            return np.isin(numbers, list(self._places))
        going = np.isin(numbers, list(self._by_source.get(chunk.source, ())))
        if len(self._dropped) and self._id is not None:
            ids = chunk.read([self._id])
            dropped = pc.is_in(pc.cast(ids.table.column(0), pa.large_string()), value_set=self._dropped)
            going |= np.isin(numbers, ids.row_numbers[dropped.to_numpy()])
        return going


def documents_sources(documents: Documents) -> tuple[Source, ...]:
    """Return the files of documents."""
    sources: tuple[Source, ...] = getattr(documents, "sources", ())
    return sources


def _removed(found: Found) -> Int64s:
    """The rows of the run that are removed because another document stays."""
    ids = found.groups.filter(pc.invert(found.groups["kept"]))["id"]
    places = pc.index_in(ids, value_set=found.ranks["id"].combine_chunks())
    rows: Int64s = column(found.ranks, "row")[places.to_numpy()]
    return rows


def _native(chunk: Chunk) -> tuple[Chunk, NativeRows]:
    return chunk, chunk.read_native()


def _not_there(source: Source, name: str) -> InputError:
    return InputError(
        f"{printable(source.path)} is not among the parts of {name}",
        "A part whose fingerprints were merged into that result",
        "Fingerprint it, and merge again",
    )
