"""Choose the text and id columns: by name, or by a guess that is reported."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import InputError
from neardup.io.readers.arrow_types import row_lengths
from neardup.io.readers.base import Column, Documents, Kind

TEXT_NAMES = ("text", "content", "body", "raw_content", "document", "message", "article", "page")
ID_NAMES = (
    *("id", "doc_id", "docid", "document_id", "uuid", "guid"),
    *("key", "path", "file", "filename", "url"),
)


@dataclass(frozen=True)
class Chosen:
    """The chosen columns, and sentences about the guesses."""

    text: str
    id: str | None
    notes: tuple[str, ...]
    id_guessed: bool = False


def choose_columns(documents: Documents, text: str | None, id: str | None) -> Chosen:
    """Choose the text and the id column and make the documents enforce them.

    Without an id column, documents are identified by source and row number.
    """
    if not documents.columns:
        raise InputError(
            f"{documents.names[0]} has no rows, so it has no columns",
            "At least one document",
            "Check that this is the right file",
        )
    if text is None:
        text, text_notes = _guess_text(documents)
    else:
        text, text_notes = _named(documents, text, "text", ("text",)), ()
    guessed = id is None
    if id is None:
        id, id_notes = _guess_id(documents, text)
    else:
        id, id_notes = _named(documents, id, "id", ("text", "integer")), ()
    documents.require(text, id)
    return Chosen(text, id, (*documents.findings.notes, *text_notes, *id_notes), guessed)


def _named(documents: Documents, name: str, role: str, kinds: Sequence[Kind]) -> str:
    if not name:
        raise _nameless(f"--{role} names a column without a name")
    column = find_column(documents, name, f"--{role}")
    if column.kind not in kinds:
        what = "strings" if role == "text" else "strings or integers"
        raise InputError(
            f'The column "{name}" cannot be the {role}: its kind is {column.kind}',
            f"A column of {what}: {_listed(c for c in documents.columns if c.kind in kinds)}",
            f"Choose one with --{role}",
        )
    return name


def find_column(documents: Documents, name: str, option: str, where: str = "") -> Column:
    """Return the column of that name, or raise an InputError with the existing names.

    ``where`` names the input, unless there is only one.
    """
    for column in documents.columns:
        if column.name == name:
            return column
    names = [column.name for column in documents.columns]
    folded = {known.casefold(): known for known in names}
    close = difflib.get_close_matches(name.casefold(), list(folded), 1)
    hint = f'Did you mean "{folded[close[0]]}"?' if close else f"Choose one with {option}"
    raise InputError(f'There is no column "{name}"{where}', f"One of {_listed(documents.columns)}", hint)


def _nameless(given: str) -> InputError:
    return InputError(given, "A column with a name", "Give it one in the file, in its first row or its schema")


def _listed(columns: Iterable[Column]) -> str:
    return ", ".join(column.name for column in columns) or "(none)"


def _guess_text(documents: Documents) -> tuple[str, tuple[str, ...]]:
    texts = [column for column in documents.columns if column.kind == "text" and column.name]
    if not texts and any(column.kind == "text" for column in documents.columns):
        raise _nameless(f"{documents.names[0]} has strings in a column without a name only")
    if documents.format == "text":
        return "text", ()
    if not texts:
        raise InputError(
            f"{documents.names[0]} has no column of strings: {_listed(documents.columns)}",
            "A column that holds the texts",
            "Check that this is the right file",
        )
    if len(texts) == 1:
        only = texts[0].name
        return only, (f'text column: "{only}" (the only one with strings)',) if only != "text" else ()
    name = _first_of(TEXT_NAMES, texts)
    if name is not None:
        return name, (f'text column: "{name}" (guessed; set it with --text)',)
    name = _longest(documents, [column.name for column in texts])
    return name, (f'text column: "{name}" (guessed, it has the longest values; set it with --text)',)


def _first_of(names: Sequence[str], columns: Sequence[Column]) -> str | None:
    folded: dict[str, str] = {}
    for column in columns:
        folded.setdefault(column.name.casefold(), column.name)
    return next((folded[name] for name in names if name in folded), None)


def _longest(documents: Documents, names: Sequence[str]) -> str:
    for chunk in documents.chunks(columns=names):
        table = chunk.read(names).table
        if table.num_rows:
            lengths = [int(row_lengths(table.select([name])).sum()) for name in names]
            return names[lengths.index(max(lengths))]
    return names[0]


def _guess_id(documents: Documents, text: str) -> tuple[str | None, tuple[str, ...]]:
    usable = [c for c in documents.columns if c.kind in ("text", "integer") and c.name != text]
    name = _first_of(ID_NAMES, usable)
    if name is None or documents.format == "text":
        return name, ()
    return name, (f'id column: "{name}" (guessed; set it with --id)',)


def join_ids(parts: Sequence[Any]) -> Any:
    """Concatenate the id columns of all chunks: unchanged if they have one type, else as strings.

    The ids of a JSONL input may be integers in one chunk and strings in the next.
    """
    types = {str(part.type) for part in parts}
    if len(types) > 1:
        parts = [pc.cast(part, pa.large_string()) for part in parts]
    arrays = [a for part in parts for a in (part.chunks if isinstance(part, pa.ChunkedArray) else [part])]
    return pa.chunked_array(arrays, parts[0].type if parts else pa.large_string())
