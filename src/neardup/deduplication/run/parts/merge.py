"""The first pass over a part, saved as a folder of fingerprints; folders → one result, as of one run over all."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from neardup.deduplication.join.corpus import Corpus
from neardup.deduplication.join.first_pass import read_chunks, under_seal
from neardup.deduplication.run.asked_columns import asked_columns, parts_of
from neardup.deduplication.run.find import run
from neardup.deduplication.run.findings import Found
from neardup.deduplication.run.parts.rows import write_sorted_bands
from neardup.deduplication.run.stages.records import Inputs
from neardup.deduplication.run.stages.result import Outcome
from neardup.display import counted, printable
from neardup.display.view import PlainData
from neardup.errors import InputError, SettingError
from neardup.io.fingerprints import (
    FingerprintedDocuments,
    FingerprintFolder,
    ReadChunk,
    SavedColumn,
    SavedFingerprints,
    SavedInput,
    SavedSource,
    is_fingerprints,
    key_file,
    manifest_of,
    notes_on,
    read_fingerprints,
    read_secret,
    shared_secret,
)
from neardup.io.inputs import Chosen, Documents, choose_columns, names_in_words, open_files
from neardup.io.outputs import FinishedParts, access_of, common_access
from neardup.io.place import shown_name, without_secrets
from neardup.io.sources import Source, places_of, refuse_stdin
from neardup.kernels.text import Key
from neardup.runtime import Progress, Silent, new_secret
from neardup.settings import FIELDS, Keep, Relations, SettingKeywords, Settings
from neardup.text.keys import key_of
from neardup.text.lsh.bands import nearest_plan
from neardup.text.sketch import simhash_words

_OF_FINGERPRINTS = ("shingles", "cleaning", "sketch", "relations", "reading")
_MADE_BY = ("bits", "features")
"""The records and further settings on which fingerprints depend; all others may be chosen at the merge."""


def fixed_settings() -> tuple[str, ...]:
    """Return the names of the settings that fingerprints depend on."""
    return tuple(name for name, field in FIELDS.items() if field.record in _OF_FINGERPRINTS or name in _MADE_BY)


def open_parts(
    folders: Sequence[Path], *, key: Path | None = None, inputs: Sequence[str | Path] = ()
) -> tuple[FingerprintedDocuments, Settings]:
    """Open the parts in these folders, in this order, as one input; also return the settings they share.

    ``key`` is the key file; by default the one beside the first folder. ``inputs`` hold the texts, if they have
    moved. Raises InputError for a part that is missing, torn or changed, or that differs from the first in its
    settings, columns, version or key, and names the part and the difference.
    """
    if not folders:
        raise InputError("No fingerprints were given", "Folders that neardup fingerprint has written", "Name them")
    manifests = list(map(manifest_of, folders))  # before the key: a wrong folder has none beside it
    file = key_file(folders[0].absolute(), key)
    secret = read_secret(file)
    parts = [read_fingerprints(folder, data, secret) for folder, data in zip(folders, manifests, strict=True)]
    for part in parts[1:]:
        _require_alike(parts[0], part)
    _require_different(parts)
    documents = FingerprintedDocuments(parts, secret, inputs)
    documents.chosen = replace(documents.chosen, notes=(*documents.chosen.notes, *notes_on(file)))
    return documents, parts[0].settings


def parts_in(names: Sequence[str | Path]) -> list[Path]:
    """Return the folders of fingerprints that the names refer to: themselves, or folders that hold parts.

    Empty if the names refer to documents. Raises InputError if only some of them are fingerprints.
    """
    parts = [parts_at(Path(name)) for name in names]
    if any(parts) and not all(parts):
        other = names[parts.index([])]
        raise InputError(
            f"{other} is not a folder of fingerprints, and others of the given names are",
            "Folders of fingerprints only, or documents only",
            "Fingerprint the documents first, or name documents only",
        )
    return [folder for folders in parts for folder in folders]


def parts_at(path: Path) -> list[Path]:
    """Return a folder of fingerprints itself, or the parts in a folder, by name; empty for anything else."""
    if is_fingerprints(path) or not path.is_dir():
        return [path] if is_fingerprints(path) else []
    below = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    return below if any(map(is_fingerprints, below)) else []


def parts_to_merge(path: Path) -> list[Path]:
    """Return a folder of fingerprints, or the parts in it. Raises InputError if a number of them is missing."""
    parts = parts_at(path)
    if len(parts) > 1:
        _require_all_numbers(path, [part.name for part in parts])
    return parts or [path]


def _require_all_numbers(folder: Path, names: Sequence[str]) -> None:
    """Raise InputError if parts that are numbered from 0 or 1 on, such as part-00 and part-02, lack a number."""
    matches = [re.fullmatch(r"(.*?)(\d+)(\D*)", name, re.DOTALL) for name in names]
    kinds = {(match[1], match[3], len(match[2]) * match[2].startswith("0")) for match in matches if match}
    if not all(matches) or len({(before, after) for before, after, _ in kinds}) != 1:
        return
    numbers = {int(match[2]): match[2] for match in matches if match}
    first, last = min(numbers), max(numbers)
    lacking = [number for number in range(first, last) if number not in numbers]
    if first > 1 or not lacking or len(lacking) >= len(numbers):
        return
    (before, after), width = next(kind[:2] for kind in kinds), len(numbers[first])
    shown = [f"{before}{number:0{width}}{after}" for number in lacking]
    raise InputError(
        f"{printable(str(folder))} lacks {counted(len(shown), 'part')}: {printable(names_in_words(shown))}",
        f"All parts up to {printable(before + numbers[last] + after)}",
        "Fingerprint them; or name the folders of the parts one by one to merge these alone",
    )


def with_settings(shared: Settings, given: Mapping[str, Any], *, reference: bool = False) -> Settings:
    """Return the settings of the parts with those ``given``; ``reference``: the parts are one.

    Raises SettingError for a setting that the fingerprints depend on and that differs from theirs.
    """
    values = shared.as_dict()
    for name in fixed_settings():
        if reference and name == "no_self":
            continue
        if name in given and FIELDS[name].canonical(given[name]) != FIELDS[name].canonical(values[name]):
            raise SettingError(
                f"{FIELDS[name].option} is {given[name]!r}, and it was {values[name]!r} for the fingerprints",
                f"The {name} of the fingerprints",
                f"Leave out {FIELDS[name].option}, or fingerprint the parts again",
            )
    return Settings.of(**{**values, **given})


def merge(
    parts: Sequence[str | Path],
    *,
    key: str | Path | None = None,
    inputs: Sequence[str | Path] = (),
    progress: Progress | None = None,
    **settings: Unpack[SettingKeywords],
) -> Found:
    """Group the documents of fingerprinted parts, as one run over all of them in this order would.

    ``parts`` are folders that :func:`fingerprint_part` has written, or folders that hold such folders. ``key`` is
    the key file; by default one beside the first part. ``inputs`` are files and folders that hold the texts, if
    they have moved. ``settings`` replace those of the parts, except those that fingerprints depend on. Raises
    InputError, FormatError and SettingError for parts that are missing, torn, changed or do not fit together.
    """
    folders = [part for name in parts for part in parts_to_merge(Path(name))]
    documents, shared = open_parts(folders, key=None if key is None else Path(key), inputs=inputs)
    result = merge_opened(documents, with_settings(shared, settings), progress).found
    return replace(result, access=result.access & common_access(folders))


def merge_opened(
    documents: FingerprintedDocuments,
    settings: Settings,
    progress: Progress | None = None,
) -> Outcome:
    """Group the documents of opened parts; texts are read again only to verify pairs."""
    require_columns(documents, settings.keep, settings.relations)
    return run(Inputs(documents, documents.chosen, settings, action="dedup"), progress)


def require_columns(documents: FingerprintedDocuments, keep: Keep, relations: Relations) -> None:
    """Raise InputError if the records name a column that the fingerprints do not hold."""
    known = {column.name for column in documents.columns}
    for name in asked_columns(keep, relations):
        if name not in known:
            raise InputError(
                f'The fingerprints do not hold the column "{name}"',
                "Columns that were named when the parts were fingerprinted",
                "Fingerprint the parts with the same --keep and --sources",
            )


def _require_alike(first: SavedFingerprints, part: SavedFingerprints) -> None:
    """Raise InputError for the first difference that keeps two parts from being compared."""
    for name, (mine, other) in _differences(first, part).items():
        raise InputError(
            f"{part.folder} has the {name} {printable(str(other))}, and {first.folder} has {printable(str(mine))}",
            f"Parts with the same {name}",
            "Fingerprint the part again with the settings of the others",
        )


def _differences(first: SavedFingerprints, part: SavedFingerprints) -> dict[str, tuple[Any, Any]]:
    mine, other = first.manifest.input, part.manifest.input
    compared = {"form": (_form(mine), _form(other)), "text column": (mine.text, other.text)}
    compared |= {"id column": (mine.id or "(none)", other.id or "(none)")}
    compared |= {
        f"setting {name}": (first.settings.as_dict()[name], part.settings.as_dict()[name])
        for name in FIELDS
        if FIELDS[name].record != "work" and name != "memory"
    }
    return {name: pair for name, pair in compared.items() if pair[0] != pair[1]}


def _form(input: SavedInput) -> str:
    return "one document a file" if input.format == "text" else "data"


def _require_different(parts: Sequence[SavedFingerprints]) -> None:
    """Raise InputError if two parts have a file in common, or different files of one name."""
    seen: dict[str, Path] = {}
    for part in parts:
        for file in part.manifest.input.sources:
            if file.full in seen:
                raise InputError(
                    f"{seen[file.full]} and {part.folder} both have a file named {printable(file.full)}",
                    "Each file in one part, under a name of its own",
                    "Leave out one of the two, or fingerprint one of them under another name",
                )
            seen[file.full] = part.folder


@dataclass(frozen=True)
class Fingerprinted(PlainData):
    """A part whose fingerprints were saved: its folder, the numbers of its rows, and remarks of its reader."""

    folder: Path
    documents: int
    rejected: int
    notes: tuple[str, ...]


def fingerprint_part(
    inputs: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    key: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **settings: Unpack[SettingKeywords],
) -> Fingerprinted:
    """Fingerprint files, one part of the documents of a run, into the folder ``out`` for :func:`merge`.

    ``text`` and ``id`` name columns. ``key`` is the key file that all parts share; by default one beside the
    folder, which the first part makes. ``settings`` are those of :data:`neardup.settings.FIELDS`. Raises
    InputError, OutputError and SettingError.
    """
    chosen = Settings.of(**settings)
    names = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    documents = open_files(names, reading=chosen.reading)
    columns, file = choose_columns(documents, text, id), None if key is None else Path(key)
    return save_fingerprints(
        documents, columns, chosen, Path(out), key=file, overwrite=overwrite, progress=progress
    )


def save_fingerprints(
    documents: Documents,
    columns: Chosen,
    settings: Settings,
    folder: Path,
    *,
    key: Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    journal: FinishedParts | None = None,
) -> Fingerprinted:
    """Fingerprint opened documents into a ``folder``, chunk by chunk.

    ``key`` is the key file that all parts share; by default one beside the folder, which the first part makes.
    Chunks in the ``journal`` are not read again; it is one of the same key.
    Raises InputError, OutputError and SettingError.
    """
    if settings.relations.no_self:
        raise SettingError("no_self for fingerprints", "no_self in a run with documents", "Leave out no_self")
    if settings.base.ignore_common and settings.by_simhash:
        raise SettingError("ignore_common with sketch simhash", "One of the two", "Leave one out")
    refuse_stdin(getattr(documents, "sources", ()), "Fingerprints refer to documents")
    file = key_file(folder, key)
    secret = shared_secret(file, new_secret()) if key is None else read_secret(file)
    words = simhash_words(settings)
    slots = 0 if words else settings.sketch.slots
    parts = parts_of(documents, columns, settings.keep, settings.relations, None)
    alike = settings.keep.empty == "one"
    corpus = Corpus(parts, settings, key_of(secret), journal=journal, empty_alike=alike)
    documents_read = rejected = 0
    with FingerprintFolder(folder, settings, (slots, words), secret, overwrite=overwrite) as target:
        target.restrict(access_of(documents))
        with (progress or Silent()).stage("fingerprint", documents.size_bytes, "bytes") as advance:
            for read in read_chunks(corpus, slots):
                target.add(saved_form(read, corpus.key))
                documents_read, rejected = documents_read + len(read), rejected + len(read.facts.problems)
                advance(read.bytes_read)
        complete(target, documents, columns, settings)
    return Fingerprinted(folder, documents_read, rejected, (*columns.notes, *notes_on(file)))


def saved_form(read: ReadChunk, key: Key) -> ReadChunk:
    """Return the fingerprints of a chunk as they are saved: with seals in place of keyed hashes of texts."""
    return read.with_columns(under_seal({"key": read.keys, "characters": read.numbers("characters")}, key))


def complete(target: FingerprintFolder, documents: Documents, columns: Chosen, settings: Settings) -> None:
    """Sort the keys of all added chunks, and write the rest of the folder."""
    if not simhash_words(settings):
        search = settings.search
        write_sorted_bands(target, nearest_plan(search.threshold, search.recall, settings.sketch.slots))
    used = {columns.text, columns.id, *asked_columns(settings.keep, settings.relations)}
    target.finish(
        _input(documents, columns, used), places_of(documents, columns.text, columns.id, reference=False)
    )


def saved_sources(documents: Documents) -> tuple[SavedSource, ...]:
    """Return the files of documents, with their names beside other parts."""
    sources: tuple[Source, ...] = getattr(documents, "sources", ())
    name = documents.names[0] if documents.format == "text" else ""
    return tuple(
        SavedSource(
            file.name,
            _full(file, documents, name),
            shown_name(without_secrets(file.path)),
            file.size,
            file.partition,
        )
        for file in sources
    )


def _input(documents: Documents, columns: Chosen, used: Collection[str | None]) -> SavedInput:
    """The description of the input, with the ``used`` columns."""
    name = documents.names[0] if documents.format == "text" else ""
    findings = documents.findings
    return SavedInput(
        format=documents.format,
        name=name,
        names=tuple(documents.names),
        columns=tuple(SavedColumn(one.name, one.kind) for one in documents.columns if one.name in used),
        text=columns.text,
        id=columns.id,
        id_guessed=columns.id_guessed,
        size_bytes=documents.size_bytes,
        sources=saved_sources(documents),
        notes=columns.notes,
        aside=tuple((item.name, item.why) for item in findings.aside),
        encodings={
            name: (charset.encoding, charset.how, charset.certainty)
            for name, charset in findings.encodings.items()
        },
    )


def _full(file: Source, documents: Documents, folder: str) -> str:
    """The name of a file beside other parts: as ``find_files`` names it among several inputs."""
    joined = documents.format == "text" and folder != "input" and file.name != folder
    return os.path.join(folder, file.name) if joined else file.name
