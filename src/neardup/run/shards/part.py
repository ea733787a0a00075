"""The first pass over one part of the input, saved as a folder of fingerprints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from neardup.errors import SettingError
from neardup.io.fingerprints.chunk import ReadChunk
from neardup.io.fingerprints.folder import FingerprintFolder, SavedColumn, SavedInput, SavedSource
from neardup.io.fingerprints.keys import key_file, notes_on, read_secret, shared_secret
from neardup.io.names import shown_name, without_secrets
from neardup.io.readers import choose_columns, open_files
from neardup.io.readers.base import Documents
from neardup.io.readers.columns import Chosen
from neardup.io.readers.places import places_of
from neardup.io.readers.sources import Source, refuse_stdin
from neardup.io.writers import access_of
from neardup.join.corpus import Corpus
from neardup.join.first_pass import read_chunks
from neardup.kernels.text.keyed import Key
from neardup.lsh.bands import plan
from neardup.run.asked_columns import asked_columns, parts_of
from neardup.run.shards.bands import write_sorted_bands
from neardup.runtime import Progress, Silent
from neardup.settings import SettingKeywords, Settings
from neardup.sketch.documents import simhash_words
from neardup.text.keys import key_of, new_secret, sealed


@dataclass(frozen=True)
class Fingerprinted:
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
) -> Fingerprinted:
    """Fingerprint opened documents into a ``folder``, chunk by chunk.

    ``key`` is the key file that all parts share; by default one beside the folder, which the first part makes.
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
    corpus = Corpus(parts, settings, key_of(secret), empty_alike=settings.keep.empty == "one")
    documents_read = rejected = 0
    with FingerprintFolder(folder, settings, (slots, words), secret, overwrite=overwrite) as made:
        made.restrict(access_of(documents))
        with (progress or Silent()).stage("fingerprint", documents.size_bytes, "bytes") as advance:
            for read in read_chunks(corpus, slots):
                made.add(saved_form(read, corpus.key))
                documents_read, rejected = documents_read + len(read), rejected + len(read.facts.problems)
                advance(read.bytes_read)
        complete(made, documents, columns, settings)
    return Fingerprinted(folder, documents_read, rejected, (*columns.notes, *notes_on(file)))


def saved_form(read: ReadChunk, key: Key) -> ReadChunk:
    """Return the fingerprints of a chunk as they are saved: with seals in place of stream keys."""
    return read.with_columns({"key": sealed(read.keys, key)})


def complete(made: FingerprintFolder, documents: Documents, columns: Chosen, settings: Settings) -> None:
    """Sort the keys of all added chunks, and write the rest of the folder."""
    if not simhash_words(settings):
        asked = settings.search
        write_sorted_bands(made, plan(asked.threshold, asked.recall, settings.sketch.slots))
    made.finish(
        _input(documents, columns, settings), places_of(documents, columns.text, columns.id, reference=False)
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


def _input(documents: Documents, columns: Chosen, settings: Settings) -> SavedInput:
    used = {columns.text, columns.id, *asked_columns(settings.keep, settings.relations)}
    name = documents.names[0] if documents.format == "text" else ""
    found = documents.findings
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
        aside=tuple((item.name, item.why) for item in found.aside),
        encodings={
            name: (charset.encoding, charset.how, charset.certainty) for name, charset in found.encodings.items()
        },
    )


def _full(file: Source, documents: Documents, folder: str) -> str:
    """The name of a file beside other parts: as ``find_files`` names it among several inputs."""
    joined = documents.format == "text" and folder != "input" and file.name != folder
    return os.path.join(folder, file.name) if joined else file.name
