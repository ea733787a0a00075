"""The documents of ``--ignore`` → the base text of a run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.display import counted, printable
from neardup.errors import InputError
from neardup.io.contents import NOT_EXTRACTED
from neardup.io.inputs import Chosen, Documents, choose_columns, open_files, text_here
from neardup.kernels.text import Key
from neardup.runtime import Progress
from neardup.settings import ReadingSettings, TextSettings
from neardup.tables import one_array
from neardup.text.sketch import NO_BASE_TEXT, BaseText, base_text_of, clean_texts, sign

_SETTLED = 1 << 22
"""Shingles that are collected before those that occur in several base texts are folded into one."""


@dataclass(frozen=True)
class BaseDocuments:
    """The opened documents whose text does not count, and the column of the text."""

    documents: Documents
    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReadBase:
    """The base text read from ``documents`` texts, and remarks for people."""

    base: BaseText
    names: tuple[str, ...]
    documents: int
    notes: tuple[str, ...]


def open_base(names: object, columns: Chosen, reading: ReadingSettings) -> BaseDocuments | None:
    """Open the documents to ignore; None without any. Raises InputError for input that cannot be used.

    ``names``: a path or several. The text is in the column of that name of ``columns``, as for a reference set.
    """
    if names is None or names == () or names == []:
        return None
    listed: Sequence[object] = [names] if isinstance(names, str | Path) else list(names)  # type: ignore[call-overload]
    wrong = next((name for name in listed if not isinstance(name, str | Path)), None)
    if wrong is not None:
        raise InputError(
            f"ignore names boilerplate by a value of type {type(wrong).__name__}",
            "A path, or a list of paths, of files or folders with boilerplate",
            "Write the texts to files",
        )
    opened = open_files([name for name in listed if isinstance(name, str | Path)], reading=reading.of_references)
    if not opened.columns:  # an empty file has no rows: nothing is ignored
        return BaseDocuments(opened, "", ())
    chosen = choose_columns(opened, text_here(opened, columns.text), None)
    return BaseDocuments(opened, chosen.text, chosen.notes)


def base_texts(names: Sequence[str | Path]) -> list[str]:
    """Return the texts of the documents to ignore, for a comparison. Raises InputError like ``read_base``."""
    if not names:
        return []
    opened = open_files(names)
    text = choose_columns(opened, None, None).text if opened.columns else ""
    texts = [text for array in _texts(BaseDocuments(opened, text), []) for text in array.to_pylist()]
    return [text.decode("utf-8", "replace") if isinstance(text, bytes) else text or "" for text in texts]


def read_texts(opened: BaseDocuments) -> Iterator[pa.Array]:
    """Yield the texts to ignore (large_binary). Raises InputError like ``read_base``."""
    for texts in _texts(opened, []):
        yield texts.cast(pa.large_binary())


def read_base(opened: BaseDocuments, settings: TextSettings, key: Key, progress: Progress) -> ReadBase:
    """Read the base text. Raises InputError if a part of it cannot be read, since it would count after all."""
    documents, base, pending, texts, short = opened.documents, NO_BASE_TEXT, NO_BASE_TEXT, 0, 0
    aside: list[str] = []
    with progress.stage("ignore", documents.size_bytes, "bytes") as advance:
        for array in _texts(opened, aside):
            texts += len(array)
            new = base_text_of(array, settings, key)
            short += _short(array, settings)
            pending |= new
            if len(pending) > _SETTLED:
                base, pending = base | pending, NO_BASE_TEXT
            advance(int(array.nbytes))
    base |= pending
    notes = [f"--ignore: {note}" for note in (*opened.notes, *documents.findings.reading_notes())]
    if aside:
        notes.append(f"--ignore: {counted(len(aside), 'file')} without readable text left aside: {aside[0]}, …")
    if not len(base):
        notes.append("--ignore: the boilerplate holds no words, so nothing is ignored")
    elif short:
        notes.append(
            f"--ignore: {counted(short, 'boilerplate text')} shorter than a shingle: ignored only in documents "
            "that consist of nothing else"
        )
    return ReadBase(base, tuple(documents.names), texts, tuple(notes))


def _texts(opened: BaseDocuments, aside: list[str]) -> Iterator[pa.Array]:
    """Yield the texts of each chunk; add the names of files that have no text, such as images, to ``aside``."""
    for chunk in opened.documents.chunks(None, [opened.text]) if opened.text else ():
        read = chunk.read([opened.text])
        for problem in read.problems:
            if problem.kind in (None, NOT_EXTRACTED):
                raise InputError(
                    f"--ignore: {printable(problem.source)} cannot be read in full: {printable(problem.reason)}",
                    "Boilerplate that can be read, because text that is not read would count",
                    "Correct the file, or leave it out",
                )
            aside.append(printable(problem.file or problem.source))
        yield one_array(read.table.column(0))


def _short(texts: pa.Array, settings: TextSettings) -> int:
    """The number of texts with words, but fewer units than a shingle."""
    clean = clean_texts(texts, settings)
    units, _ = sign(
        clean.texts,
        clean.settings,
        np.empty((len(texts), 0), np.uint32),
        np.empty((0, 2), np.uint64),
    )
    return int(((units > 0) & (units < settings.shingles.length)).sum())
