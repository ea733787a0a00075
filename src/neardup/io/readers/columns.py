"""Choose the columns of text, id and labels: by name, or by a guess that is reported.

A label tells documents apart: a language, a mailbox, a split, a source, a day. Labels are compared as text: the
number 5 and the string "5" are equal, which matters if files differ in their types. A missing label is a value of
its own: two missing ones are equal. An empty string is a missing label, since CSV has no other.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from neardup.display import counted
from neardup.errors import InputError
from neardup.io.attachments import ATTACHMENTS
from neardup.io.readers.arrow import column_type, kind_of, row_lengths
from neardup.io.readers.base import Column, Documents, Kind, names_in_words
from neardup.io.readers.fields import (
    EACH,
    FieldPath,
    joined_name,
    paths_of,
    require_paths,
    texts_in,
    unnameable_error,
    value_type,
)
from neardup.tables import UInt64s

TEXT_NAMES = ("text", "content", "body", "raw_content", "document", "message", "article", "page")
ID_NAMES = (
    *("id", "doc_id", "docid", "document_id", "uuid", "guid"),
    *("key", "path", "file", "filename", "url"),
)

NAMED_BY_ROW = "rows are named by source and row number instead"
"""What follows from a guessed id column that does not name every row once."""

_SORTED = 1 << 16
"""Sorted ids that are compared with their neighbours at a time."""

ALLOWED = "A column of strings, whole numbers, truth values or dates"


class ColumnOptions(NamedTuple):
    """The options that name the columns, for messages."""

    text: str = "--text"
    id: str = "--id"


INPUT_OPTIONS = ColumnOptions()
REFERENCE_OPTIONS = ColumnOptions("--against-text", "--against-id")


@dataclass(frozen=True)
class Chosen:
    """The chosen columns, and sentences about the guesses."""

    text: str
    id: str | None
    notes: tuple[str, ...]
    id_guessed: bool = False

    def dropped_ids_note(self, ids: pa.Array | None, *, limited: bool = False) -> tuple[str, ...]:
        """A note that rows are named otherwise, if ids of a guessed column name one twice; else nothing."""
        if ids is None or self.id is None or not self.id_guessed:
            return ()
        fault = fault_of_ids(ids, self.id, limited=limited)
        return () if fault is None else (f"{fault}; {NAMED_BY_ROW}",)


@dataclass(frozen=True, eq=False)
class Reference:
    """A reference set: its documents, and the columns chosen from them."""

    documents: Documents
    columns: Chosen


def choose_columns(
    documents: Documents,
    text: str | Sequence[str] | None,
    id: str | None,
    options: ColumnOptions = INPUT_OPTIONS,
) -> Chosen:
    """Choose the text and the id column and make the documents enforce them.

    ``text`` may name several columns and nested fields (``io.readers.fields``), ``id`` a field of a record.
    Without an id column, documents are identified by source and row number. Messages name the ``options``.
    """
    own_text, own_id = getattr(documents, "given", (None, None))
    text, id = own_text if text is None else joined_name(text), own_id if id is None else id
    if not documents.columns:
        raise InputError(
            f"{documents.names[0]} has no rows, so it has no columns",
            "At least one document",
            "Check that this is the right file",
        )
    if text is None:
        text, text_notes = _guess_text(documents, options.text)
    else:
        text, text_notes = _named_column(documents, text, "text", ("text",), options.text), ()
    guessed = id is None
    if id is None:
        id, id_notes = _guess_id(documents, text, options.id)
    else:
        id, id_notes = _named_column(documents, id, "id", ("text", "integer"), options.id), ()
    documents.require(text, id)
    _require_made(documents, text, id)
    return Chosen(text, id, (*documents.findings.notes, *text_notes, *id_notes), guessed)


def choose_reference(
    documents: Documents, of_input: Chosen, text: str | Sequence[str] | None = None, id: str | None = None
) -> Reference:
    """Choose the columns of a reference set: the named ones, else those of the input, which it usually has.

    Nothing else is guessed but the only column with texts: another column than that of the input would be compared
    without anyone knowing. Raises InputError for a reference set with several of them.
    """
    saved: Chosen | None = getattr(documents, "chosen", None)
    if saved is not None:
        return Reference(documents, saved)
    known = text_here(documents, id) if id is not None else text_here(documents, of_input.id)
    asked = joined_name(text) or text_here(documents, of_input.text)
    if asked is None and documents.columns and documents.format != "text":
        asked = _only_text(documents, of_input.text, known)
        documents.findings.notes.append(f'text column: "{asked}" (the only one with texts)')
    chosen = choose_columns(documents, asked, known if id is None else id, REFERENCE_OPTIONS)
    return Reference(documents, chosen)


def _only_text(documents: Documents, of_input: str, id: str | None) -> str | None:
    """The only column with texts besides the ``id``; None if there is none. Raises InputError for several."""
    texts = [c for c in documents.columns if c.kind == "text" and c.name]
    id = id or _first_of(ID_NAMES, texts)
    others = [column for column in texts if column.name != id] or texts
    if len(others) > 1:
        names = [column.name for column in others]
        raise InputError(
            f'The reference set has no column "{of_input}", the text of the input; it has texts in '
            f"{', '.join(names)}",
            "A reference set with the text column of the input, or with one named for it",
            f"Name it with --against-text, for example --against-text {_longest(documents, names)}; "
            f"several with commas: {','.join(names[:2])}",
        )
    return others[0].name if others else None


def _named_column(documents: Documents, name: str, role: str, kinds: Sequence[Kind], option: str) -> str:
    if not name:
        raise _nameless_error(f"{option} names a column without a name")
    if name in getattr(documents, "unnameable", ()):
        raise unnameable_error(name)
    paths = paths_of(name, [column.name for column in documents.columns])
    if paths is not None:
        for path in paths:
            _require_root(documents, path, role, kinds, option)
        require_paths(paths, types_of(documents), role)
        return name
    column = find_column(documents, name, option)
    if column.kind not in kinds and documents.format != "csv":  # whose values are strings, whatever the first are
        what = "strings" if role == "text" else "strings or integers"
        fields = texts_in(name, types_of(documents).get(name))
        raise InputError(
            f'The column "{name}" cannot be the {role}: its kind is {column.kind}',
            f"A column of {what}: {_column_names(c for c in documents.columns if c.kind in kinds)}",
            f"Choose one with {option}, or a field: {', '.join(fields)}"
            if fields
            else f"Choose one with {option}",
        )
    return name


def _require_root(documents: Documents, path: FieldPath, role: str, kinds: Sequence[Kind], option: str) -> None:
    """Raise InputError for a path whose column is missing or, if it is the whole path, is of another kind."""
    column = find_column(documents, path.root, option)
    if path.steps and column.kind != "other":
        raise InputError(
            f'"{path.root}" holds no records or lists, which "{path.spelled}" needs: its kind is {column.kind}',
            "Columns with records or lists",
            f"Name the column itself with {option}, or another one",
        )
    if not path.steps:
        _named_column(documents, path.root, role, kinds, option)
    if role == "id" and EACH in path.steps:
        raise InputError(
            f'"{path.spelled}" cannot be the id: a row has a list of them', "One value a row", "Name another field"
        )


def types_of(documents: Documents) -> dict[str, Any]:
    """Return the Arrow types of the columns, as far as they are known."""
    type_of = getattr(documents, "type_of", None)
    if type_of is not None:  # rows of an object of the caller
        return {column.name: type_of(column.name) for column in documents.columns if column.kind == "other"}
    schema = getattr(documents, "schema", None)
    known: dict[str, Any] = getattr(documents, "types", {})
    return known if schema is None else {field.name: field.type for field in schema}


def _require_made(documents: Documents, text: str, id: str | None) -> None:
    """Raise InputError if the reader does not make a column of several ones, or an id in a record."""
    names = {column.name for column in documents.columns}
    made: Any = getattr(documents, "virtual", ())
    for name in (text, id):
        if name is not None and name not in names and name not in made:
            raise InputError(
                f'"{name}" cannot be read from {documents.names[0]}',
                "One column of this input",
                "Make that column first, or write the documents to a file",
            )
    several = [name for name in (id,) if name in made and len(made.made[name]) > 1]
    if several:
        raise InputError(f'"{several[0]}" cannot be the id: it names several', "One column or field", "Name one")


def text_here(documents: Documents, name: str | None) -> str | None:
    """Return the name of a text or an id if other documents have all columns that it needs, else None."""
    names = {column.name for column in documents.columns}
    if name is None or name in names:
        return name
    paths = paths_of(name, names)
    return name if paths and all(path.root in names for path in paths) else None


def find_column(documents: Documents, name: str, option: str, where: str = "") -> Column:
    """Return the column of that name, or raise an InputError with the existing names.

    ``where`` names the input, unless there is only one.
    """
    for column in documents.columns:
        if column.name == name:
            return column
    field = field_of(documents, name)
    if field is not None:
        return Column(name, kind_of(field[1]))
    late: Callable[[str], bool] | None = getattr(documents, "find_late", None)
    known = {column.name for column in documents.columns}
    for part in dict.fromkeys((name, name.partition(".")[0])) if late is not None else ():
        if part not in known and late is not None and late(part):  # the first lines lack it, and others have it
            return find_column(documents, name, option, where)
    names = [column.name for column in documents.columns]
    folded = {known.casefold(): known for known in names}
    close = difflib.get_close_matches(name.casefold(), list(folded), 1)
    hint = f'Did you mean "{folded[close[0]]}"?' if close else f"Choose one with {option}"
    raise InputError(f'There is no column "{name}"{where}', f"One of {_column_names(documents.columns)}", hint)


def field_of(documents: Documents, name: str) -> tuple[FieldPath, pa.DataType] | None:
    """Return the path and the type of the values of a name such as ``meta.source``; None for any other name.

    Raises InputError for a field that is not there.
    """
    names = {column.name for column in documents.columns}
    if name in names or not hasattr(documents, "offer") or {",", '"'} & set(name):
        return None
    paths = paths_of(name, names)
    if not paths or not paths[0].steps or paths[0].root not in names:
        return None
    types = types_of(documents)
    if documents.format == "jsonl" and paths[0].root not in types:
        return None
    return paths[0], value_type(paths[0], types.get(paths[0].root))


def offer_fields(documents: Documents, names: Iterable[str]) -> None:
    """Make the documents offer the named fields of records as columns, besides the text and the id."""
    fields = {name: field for name in names if (field := field_of(documents, name)) is not None}
    offer: Callable[[Mapping[str, tuple[FieldPath, pa.DataType]]], None] | None = getattr(documents, "offer", None)
    if fields and offer is not None:
        offer(fields)


def type_of_column(documents: Documents, name: str) -> pa.DataType | None:
    """Return the type of a column or field before anything is read; None where the format has no types."""
    field = field_of(documents, name)
    return column_type(documents, name) if field is None else field[1]


def _nameless_error(given: str) -> InputError:
    return InputError(given, "A column with a name", "Give it one in the file, in its first row or its schema")


def _column_names(columns: Iterable[Column]) -> str:
    return ", ".join(column.name for column in columns) or "(none)"


def _guess_text(documents: Documents, option: str) -> tuple[str, tuple[str, ...]]:
    partial = _partial(documents)
    texts = [c for c in documents.columns if c.kind == "text" and c.name and c.name not in partial]
    if not texts and partial:
        raise InputError(
            f"No column of strings is in all inputs: {names_in_words(sorted(partial))} are missing in some",
            "Inputs that all have the text under one name",
            "Run them separately, or rename the column",
        )
    if not texts and any(column.kind == "text" for column in documents.columns):
        raise _nameless_error(f"{documents.names[0]} has strings in a column without a name only")
    if documents.format in ("text", "warc"):
        return "text", ()
    if not texts:
        nested = [path for name, type_ in types_of(documents).items() for path in texts_in(name, type_)]
        raise InputError(
            f"{documents.names[0]} has no column of strings: {_column_names(documents.columns)}",
            "A column that holds the texts",
            f"Name the field: {option} '{nested[-1]}'" if nested else "Check that this is the right file",
        )
    if len(texts) == 1:
        only = texts[0].name
        return only, (f'text column: "{only}" (the only one with strings)',) if only != "text" else ()
    name = _first_of(TEXT_NAMES, texts)
    if name is not None:
        return name, (f'text column: "{name}" (guessed; set it with {option})',)
    name = _longest(documents, [column.name for column in texts])
    return name, (f'text column: "{name}" (guessed, it has the longest values; set it with {option})',)


def _partial(documents: Documents) -> Collection[str]:
    """The columns that some of several inputs lack."""
    partial: Collection[str] = getattr(documents, "partial", ())
    return partial


def inputs_with(documents: Documents, name: str) -> Iterable[Documents]:
    """Return the inputs with a column or field: of several ones, or the documents themselves."""
    find: Callable[[str], Iterable[Documents]] | None = getattr(documents, "inputs_with", None)
    return (documents,) if find is None else find(name)


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


def _guess_id(documents: Documents, text: str, option: str) -> tuple[str | None, tuple[str, ...]]:
    unfit = {text, *_partial(documents)}
    usable = [c for c in documents.columns if c.kind in ("text", "integer") and c.name not in unfit]
    name = _first_of(ID_NAMES, usable)
    if name is None or documents.format == "text":
        return name, ()
    return name, (f'id column: "{name}" (guessed; set it with {option})',)


def join_ids(parts: Sequence[Any]) -> Any:
    """Concatenate the id columns of all chunks: unchanged if they have one type, else as strings.

    The ids of a JSONL input may be integers in one chunk and strings in the next.
    """
    types = {str(part.type) for part in parts}
    if len(types) > 1:
        parts = [pc.cast(part, pa.large_string()) for part in parts]
    arrays = [a for part in parts for a in (part.chunks if isinstance(part, pa.ChunkedArray) else [part])]
    return pa.chunked_array(arrays, parts[0].type if parts else pa.large_string())


def fault_of_ids(ids: pa.Array, name: str, *, limited: bool = False) -> str | None:
    """Describe the fault in the ids of the column ``name``; None if they name every row once.

    ``limited``: take less memory, and more time.
    """
    if ids.null_count:
        return f'the id column "{name}" is empty in {ids.null_count:,} rows'
    if _all_distinct(ids, limited=limited):
        return None
    counts = pc.value_counts(ids)
    often = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    examples = ", ".join(repr(value) for value in often.slice(0, 3).to_pylist())
    return f'the id column "{name}" names {counted(len(often), "id")} more than once, for example {examples}'


def _all_distinct(ids: pa.Array, *, limited: bool) -> bool:
    """Whether no two ids are equal; sorting takes less memory than counting, but longer for strings."""
    if pa.types.is_integer(ids.type):
        ordered = np.sort(ids.to_numpy(zero_copy_only=False))
        return not bool((ordered[1:] == ordered[:-1]).any())
    if not limited:
        return bool(pc.count_distinct(ids).as_py() == len(ids))
    order = pc.sort_indices(ids)
    for first in range(0, len(ids), _SORTED):
        part = ids.take(order.slice(first, _SORTED + 1))
        if pc.any(pc.equal(part.slice(1), part.slice(0, max(0, len(part) - 1)))).as_py():
            return False
    return True


def find_labels(documents: Documents, name: str, option: str, where: str = "") -> None:
    """Raise InputError unless the documents have a column of that name whose values can be compared as text."""
    find_column(documents, name, option, where)
    for one in inputs_with(documents, name):
        _require_labels_in(one, name, option)


def require_one_kind(documents: Documents, name: str, option: str) -> None:
    """Raise InputError for a column of several kinds, which has no order."""
    conflicts: Mapping[str, str] = getattr(documents, "conflicts", {})
    if name in conflicts:
        raise InputError(
            f'{option}: the column "{name}" is {conflicts[name]}',
            "Values of one kind in all inputs",
            "Choose another column, or run the inputs separately",
        )


def _require_labels_in(documents: Documents, name: str, option: str) -> None:
    column = find_column(documents, name, option)
    kind = type_of_column(documents, name)
    if kind is not None:
        require_labels(kind, name, option)
    elif documents.format == "text" and name != ATTACHMENTS:
        return
    elif column.kind in ("number", "other"):
        holds = "numbers with decimals" if column.kind == "number" else "values of other types, such as lists"
        raise _refused_error(name, option, holds)


def require_labels(kind: pa.DataType, name: str, option: str) -> None:
    """Raise InputError for a type whose values are not compared as text."""
    if pt.is_dictionary(kind):
        kind = kind.value_type
    text = pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)
    dates = pt.is_date(kind) or pt.is_timestamp(kind)
    if not (text or dates or pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_null(kind)):
        raise _refused_error(name, option, str(kind))


def as_text(values: Any) -> pa.Array:
    """Return values of an allowed type as large strings, with null for missing ones.

    Senders and recipients are their addresses, in order.
    """
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    if pt.is_list(values.type):
        values = pa.array(map(_addresses, values.to_pylist()), pa.large_string())
    if pt.is_dictionary(values.type):
        values = values.dictionary_decode()
    text = pc.cast(values, pa.large_string())
    return pc.if_else(pc.equal(pc.binary_length(text), 0), pa.scalar(None, pa.large_string()), text)


def _addresses(people: Sequence[str] | None) -> str | None:
    """The addresses among addresses and names; the names without any.

    >>> _addresses(["ann@b.org", "Ann"]), _addresses(["Bob"])
    ('ann@b.org', 'Bob')
    """
    if people is None:
        return None
    return ", ".join(sorted(one for one in people if "@" in one) or people)


def digests(columns: Sequence[Any], role: str, secret: UInt64s) -> UInt64s:
    """Return uint64[n, 2]: for each row a hash of its values in one or more ``columns``, under a ``secret``.

    Rows have the same hash only if they have the same values. Hashes for another ``role`` have nothing in common.
    """
    own = hashlib.blake2b(secret.tobytes(), digest_size=32, person=role.encode()).digest()
    together = np.zeros((len(columns[0]), 2), np.uint64)
    for number, column in enumerate(columns):
        coded = pc.dictionary_encode(as_text(column), null_encoding="encode")
        values = pc.cast(coded.dictionary, pa.large_binary()).to_pylist()  # bytes, since strings may be invalid
        of_value = [_digest(value, number, own) for value in values]
        hashes = np.frombuffer(b"".join(of_value), np.uint64).reshape(-1, 2)
        together ^= hashes[coded.indices.to_numpy(zero_copy_only=False)]
    return together


def _digest(value: bytes | None, number: int, secret: bytes) -> bytes:
    told = b"-" if value is None else b"+" + value
    return hashlib.blake2b(told, digest_size=16, key=secret, salt=number.to_bytes(8, "little")).digest()


def _refused_error(name: str, option: str, holds: str) -> InputError:
    return InputError(f'{option}: the column "{name}" holds {holds}', ALLOWED, "Choose another column")
