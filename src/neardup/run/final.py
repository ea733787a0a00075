"""A reviewed result → its final folder: the documents that stay, read again from the input, and the tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import InputError
from neardup.io.readers import open_sources
from neardup.io.readers.base import Chunk, Documents
from neardup.io.readers.discover import Discovered
from neardup.io.readers.kinds import partition_of
from neardup.io.readers.places import Recorded
from neardup.io.readers.sources import Source
from neardup.io.writers import KeptLayout, OutputFolder, open_kept, read_native
from neardup.run.decided import ReviewedResult
from neardup.run.found import Found, write_result
from neardup.run.looking import no_places
from neardup.run.pipeline import Meter
from neardup.run.recorded import StoredTexts
from neardup.run.records import Id
from neardup.run.reviewed import after_review
from neardup.run.texts import split_id
from neardup.runtime import Progress, Silent, ordered_map, peak_memory
from neardup.settings import Settings
from neardup.tables import Int64s


def final_result(found: Found, given: ReviewedResult) -> tuple[Found, Int64s]:
    """Return a loaded result as the decisions leave it, and the rows that are removed. Raises InputError."""
    result, removed = after_review(found, given)
    if result.run["settings"]["count"]:
        note = "the kept documents have no columns of --count: groups.parquet has them"
        result = replace(result, run={**result.run, "notes": [*result.run["notes"], note]})
    return result, removed


def fill_final(
    found: Found, given: ReviewedResult, folder: OutputFolder, progress: Progress | None = None
) -> Found:
    """Write the documents that stay and the tables into an open folder, and return the result as written.

    Raises InputError if the input is not the recorded one, has changed, or was in memory.
    """
    result, removed = final_result(found, given)
    texts = found.texts
    if not isinstance(texts, StoredTexts) or not texts.tables(removed):
        raise no_places()
    meter = Meter(progress or Silent())
    documents = _opened(texts.inputs(), found)
    dropped = found.not_judged.filter(pc.invert(found.not_judged["kept"]))["id"].to_pylist()
    gone = _places(texts, documents, removed)
    with meter.stage("write", found.run["counts"]["read"], "rows"):
        files = _write_kept(documents, found, gone, dropped, folder)
    result = replace(
        result,
        run={**result.run, "kept_files": files, "seconds": meter.seconds, "peak_memory_bytes": peak_memory()},
    )
    write_result(result, folder)
    return result


def _opened(files: Sequence[Recorded], found: Found) -> Documents:
    """The input as documents, as the run read it."""
    several, first = len(files) > 1 and files[0].format != "text", files[0]
    sources = tuple(
        Source(file.name, file.path, file.size, partition_of(file.name) if several else ()) for file in files
    )
    name = found.run["inputs"][0] if first.format == "text" else first.name
    documents = open_sources(Discovered(first.format, name, sources), Settings.of(**found.run["settings"]).reading)
    documents.require(first.text, first.id)
    documents.findings.roots[:] = found.run["reading"].get("roots", ())
    return documents


def _places(texts: StoredTexts, documents: Documents, removed: Int64s) -> dict[str, Int64s]:
    """The numbers of the removed rows in each source of the documents."""
    files, numbers = texts.places_of(removed)
    if (files < 0).any():
        raise no_places()
    if documents.format == "text":
        return {documents.names[0]: np.sort(numbers)}
    named = {number: texts.name_of(number) for number in np.unique(files).tolist()}
    return {name: np.sort(numbers[files == number]) for number, name in named.items()}


def _write_kept(
    documents: Documents, found: Found, gone: dict[str, Int64s], dropped: Collection[Id], folder: OutputFolder
) -> dict[str, Any]:
    """Write the rows that are neither ``gone``, by source and number, nor ``dropped``, by id; return the files."""
    id, seen, removed = found.run["columns"]["id"], 0, 0
    if documents.format == "text":
        id = "id"
    by_number = _numbers_in_ids(dropped) if id is None else {}
    threads = Settings.of(**found.run["settings"]).work.threads
    with open_kept(folder, documents, layout=KeptLayout.of(documents)) as writer:
        for chunk, native in ordered_map(read_native, writer.natives(), threads):
            numbers = native.row_numbers
            going = np.isin(numbers, [*gone.get(chunk.source, ()), *by_number.get(chunk.source, ())])
            if dropped and id is not None:
                going |= np.isin(numbers, _named(chunk, id, dropped))
            writer.write(native, ~going)
            seen, removed = seen + len(numbers), removed + int(going.sum())
        writer.close()
    expected = found.run["counts"]["read"], sum(map(len, gone.values())) + len(dropped)
    if (seen, removed) != expected:
        raise InputError(
            f"The input has {seen:,} documents, {removed:,} of them to remove; "
            f"the result records {expected[0]:,} and {expected[1]:,}",
            "The input as the run read it",
            "Make the result again",
        )
    return writer.account()


def _named(chunk: Chunk, id: str, ids: Collection[Id]) -> Int64s:
    """The numbers of the rows with these ids."""
    rows = chunk.read([id])
    wanted = pa.array([str(one) for one in ids], pa.large_string())
    found = pc.is_in(pc.cast(rows.table.column(0), pa.large_string()), value_set=wanted)
    numbers: Int64s = rows.row_numbers[found.to_numpy()]
    return numbers


def _numbers_in_ids(ids: Collection[Id]) -> dict[str, list[int]]:
    """The rows that ids of the form ``source#row`` name, by source."""
    found: dict[str, list[int]] = {}
    for id in ids:
        source, row = split_id(str(id))
        if source is not None and row is not None:
            found.setdefault(source, []).append(row)
    return found
