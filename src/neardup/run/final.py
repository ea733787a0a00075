"""A reviewed result → its final folder: the documents that stay, read again from the input, and the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from neardup.errors import InputError
from neardup.io.readers import open_sources
from neardup.io.readers.base import Chunk, Documents, NativeRows
from neardup.io.readers.folders import Discovered, partition_of
from neardup.io.readers.places import Recorded
from neardup.io.readers.sources import Source
from neardup.io.writers import ChunkRows, OutputFolder, WrittenRows, write_kept
from neardup.run.fates import FileFates
from neardup.run.found import Found, write_result
from neardup.run.pipeline import Meter
from neardup.run.places import StoredPlaces, no_places
from neardup.run.review_decisions import ReviewedResult
from neardup.run.stored_review import after_review
from neardup.runtime import Progress, Silent, peak_memory
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
    found: Found,
    given: ReviewedResult,
    folder: OutputFolder,
    progress: Progress | None = None,
    moved: Sequence[str] = (),
) -> Found:
    """Write the documents that stay and the tables into an open folder, and return the result as written.

    The documents are read from their recorded files, or from files and folders that have ``moved``.
    Raises InputError if the input is not the recorded one, has changed, or was in memory.
    """
    result, removed = final_result(found, given)
    places = found.places
    if not isinstance(places, StoredPlaces):
        raise no_places()
    meter = Meter(progress or Silent())
    documents = _opened(places.inputs(moved), found)
    files = {number: name for number, name in places.names() if not places.file(number).reference}
    fates = FileFates(found, places, removed, documents, files)

    def rows_of(chunk: Chunk, native: NativeRows) -> ChunkRows:
        return ChunkRows(fates.kept(chunk, native.row_numbers))

    threads = Settings.of(**found.run["settings"]).work.threads
    with meter.stage("write", found.run["counts"]["read"], "rows") as advance:
        written = write_kept(folder, documents, rows_of, threads, advance)
    _require_counts(written, result.run["counts"])
    spent = {"seconds": meter.seconds, "peak_memory_bytes": peak_memory()}
    result = replace(result, run={**result.run, "kept_files": written.files, **spent})
    return write_result(result, folder)


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


def _require_counts(written: WrittenRows, counts: Mapping[str, int]) -> None:
    """Raise InputError if the rows that were read and removed are not those of the result."""
    removed = written.read - written.kept
    if (written.read, removed) != (counts["read"], counts["removed"]):
        raise InputError(
            f"The input has {written.read:,} documents, {removed:,} of them to remove; "
            f"the result records {counts['read']:,} and {counts['removed']:,}",
            "The input as the run read it",
            "Make the result again",
        )
