"""The text of a row from several columns and nested fields: ``title,body``, ``meta.body``, ``messages[].content``.

A part names a column, then fields of records after dots; ``[]`` stands for each element of a list. Columns whose
own name has a comma, a dot or brackets come first. The parts of a row are joined by a line end, in the order of
the names and then of the lists, so the row compares like one document with these lines. Missing parts are left
out; a row with no part at all has no text.
"""

import csv
import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from neardup.errors import InputError
from neardup.io.readers.arrow import is_text, is_view, kind_of

EACH = None
"""The step into each element of a list."""
JOINED = "\n"
"""Between the parts of a text. It ends a token; a shingle may reach across, as across the lines of a document."""
_MOST_STEPS, _MOST_PATHS, _SHOWN = 16, 100, 12
_SPECIAL = frozenset(',.[]"')

Step = str | None


@dataclass(frozen=True)
class FieldPath:
    """A column, and the steps into it: the name of a field, or EACH element of a list."""

    root: str
    steps: tuple[Step, ...] = ()

    @property
    def spelled(self) -> str:
        """The path as people write it.

        >>> FieldPath("messages", (EACH, "content")).spelled
        'messages[].content'
        """
        return self.root + "".join("[]" if step is EACH else f".{step}" for step in self.steps)


def parts_of(name: str) -> list[str]:
    """Return the names in a list with commas; a name with a comma is in double quotes.

    >>> parts_of('title, body'), parts_of('"a,b",c')
    (['title', 'body'], ['a,b', 'c'])
    """
    return [part.strip() for part in next(csv.reader([name], skipinitialspace=True), [])]


def joined_name(names: str | Sequence[str] | None) -> str | None:
    """Return one name for the names of a text: None without any, and names with commas in double quotes.

    >>> joined_name(["title", "a,b"]), joined_name([]), joined_name("body")
    ('title,"a,b"', None, 'body')
    """
    if names is None or isinstance(names, str):
        return names
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"text is {names!r}", "The name of a column, or a list of names", "Give names")
    if len(names) < 2:
        return names[0] if names else None
    quoted = ('"' + name.replace('"', '""') + '"' if {",", '"'} & set(name) else name for name in names)
    return ",".join(quoted)


def paths_of(name: str, columns: Collection[str]) -> tuple[FieldPath, ...] | None:
    """Return the paths that a name means; None if it is a column, or cannot be anything else.

    Raises InputError for a name that is not well formed.

    >>> [path.spelled for path in paths_of("title,meta.body", ["title", "meta"])]
    ['title', 'meta.body']
    >>> paths_of("meta.body", ["meta.body"])
    """
    if name in columns or not _SPECIAL & set(name):
        return None
    parts = parts_of(name)
    if not all(parts):
        raise _malformed_error(name, "a part of it is empty")
    if len(set(parts)) < len(parts):
        raise _malformed_error(name, "it names a part twice")
    if len(parts) > _MOST_PATHS:
        raise _malformed_error(name, f"it names {len(parts):,} parts")
    return tuple(_path_of(part, name, columns) for part in parts)


def _path_of(part: str, name: str, columns: Collection[str]) -> FieldPath:
    if part in columns:
        return FieldPath(part)
    ends = [at for at, char in enumerate(part) if char in ".["]
    known = [at for at in ends if part[:at] in columns]
    at = (known[-1:] or ends[:1] or [len(part)])[0]
    steps: list[Step] = []
    rest = part[at:]
    while rest:
        if rest.startswith("[]"):
            steps.append(EACH)
            rest = rest[2:]
            continue
        ends = [end for end, char in enumerate(rest[1:], 1) if char in ".["]
        field = rest[1 : ends[0] if ends else len(rest)]
        if not rest.startswith(".") or not field:
            raise _malformed_error(name, f"{rest[:40]!r} is neither .FIELD nor []")
        steps.append(field)
        rest = rest[1 + len(field) :]
    if not part[:at] or len(steps) > _MOST_STEPS:
        raise _malformed_error(name, "it begins with no column" if not part[:at] else "it is nested too deeply")
    return FieldPath(part[:at], tuple(steps))


def unnameable_error(name: str) -> InputError:
    """Return the error for a field of JSON lines that their parser cannot look up."""
    return InputError(
        f'The field "{name}" cannot be chosen',
        'Names without ", \\ and control characters',
        "Rename the field",
    )


def _malformed_error(name: str, why: str) -> InputError:
    return InputError(
        f'"{name[:200]}" does not name a text: {why}',
        "Columns with commas between them, fields after dots, [] for each element of a list",
        "For example: title,body or meta.body or messages[].content",
    )


class VirtualColumns:
    """Columns that a reader makes of its own ones: a text of several parts, an id in a record.

    ``of`` decides which names are virtual; ``roots`` lists the columns to read for them, and ``table`` makes them.
    """

    def __init__(
        self,
        made: Mapping[str, tuple[FieldPath, ...]] | None = None,
        id: str | None = None,
        types: Mapping[str, pa.DataType] | None = None,
    ) -> None:
        self.made: Mapping[str, tuple[FieldPath, ...]] = made or {}
        self.types: Mapping[str, pa.DataType] = types or {}
        """The types of the columns that are values of other fields than the text and the id."""
        self._id = id

    @classmethod
    def of(cls, columns: Collection[str], text: str | None, id: str | None) -> "VirtualColumns":
        """Return the virtual ones among the names of a text and an id."""
        found = {name: paths_of(name, columns) for name in (text, id) if name is not None}
        return cls({name: paths for name, paths in found.items() if paths}, id)

    def with_values(self, fields: Mapping[str, tuple[FieldPath, pa.DataType]]) -> "VirtualColumns":
        """Return these columns and those of other fields, each with its type."""
        paths = {name: (path,) for name, (path, _) in fields.items()}
        types = {name: type_ for name, (_, type_) in fields.items()}
        return VirtualColumns({**self.made, **paths}, self._id, {**self.types, **types})

    def __contains__(self, name: object) -> bool:
        return name in self.made

    def roots(self, columns: Iterable[str]) -> list[str]:
        """Return the columns to read to obtain these, each once."""
        found = ([path.root for path in self.made[name]] if name in self.made else [name] for name in columns)
        return list(dict.fromkeys(root for roots in found for root in roots))

    def table(self, found: pa.Table, columns: Sequence[str]) -> pa.Table:
        """Return ``columns`` from a table with their roots, which may lack some in a file that lacks them."""
        if not self.made:
            return found.select(list(columns))
        made = [self._column(found, name) if name in self.made else found.column(name) for name in columns]
        return pa.Table.from_arrays(made, names=list(columns))

    def _column(self, found: pa.Table, name: str) -> pa.ChunkedArray:
        paths, make = self.made[name], _id_in if name == self._id else _text_in
        if name in self.types and name != self._id:
            values = [_typed_values(_id_in(batch, paths), self.types[name]) for batch in found.to_batches()]
            return pa.chunked_array(values, self.types[name])
        batches = [make(batch, paths) for batch in found.to_batches()]
        return pa.chunked_array(batches, None if batches else pa.large_binary())


def _text_in(batch: pa.RecordBatch, paths: Sequence[FieldPath]) -> pa.Array:
    """Return the joined parts of each row: large_binary[rows], null for a row without any."""
    parts, rows = [pa.array([], pa.large_binary())], [np.empty(0, np.int64)]
    for path in paths:
        if path.root in batch.schema.names:
            values, at = _values_at_end(batch.column(path.root), path.steps)
            there = values.is_valid()
            parts.append(values.filter(there).cast(pa.large_binary()))
            rows.append(at[there.to_numpy(zero_copy_only=False)])
    row = np.concatenate(rows)
    values = pa.concat_arrays(parts).take(pa.array(np.argsort(row, kind="stable")))
    counts = np.bincount(row, minlength=batch.num_rows)
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, mask=pa.array(counts == 0))
    return pc.binary_join(lists, pa.scalar(JOINED.encode(), pa.large_binary()))


def _id_in(batch: pa.RecordBatch, paths: Sequence[FieldPath]) -> pa.Array:
    """Return the value of the only path, without lists in it."""
    [path] = paths
    return _values_at_end(batch.column(path.root), path.steps)[0]


def _typed_values(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return values in this type; a file may lack the field, or have another type."""
    if values.null_count == len(values):
        return pa.nulls(len(values), type_)
    return values if values.type.equals(type_) else values.cast(type_)


def value_type(path: FieldPath, type_: pa.DataType | None) -> pa.DataType:
    """Return the type of the values of a path into a column of this type; strings where it is not known.

    Raises InputError for a path into a list, or to a field that is not there.
    """
    for number, step in enumerate(path.steps):
        if type_ is None or pt.is_null(type_):
            return pa.large_string()
        if step is EACH or not pt.is_struct(type_):
            raise InputError(
                f'"{path.spelled}" has no value for each row', "A field of records", "Name another column or field"
            )
        if type_.get_field_index(step) < 0:
            raise _no_field_error(path, FieldPath(path.root, path.steps[:number]), type_, step)
        type_ = type_.field(step).type
    if type_ is None or pt.is_null(type_):
        return pa.large_string()
    type_ = type_.value_type if pt.is_dictionary(type_) else type_
    return pa.large_string() if is_text(type_) and not pt.is_string(type_) else type_


def _values_at_end(values: pa.Array, steps: Sequence[Step]) -> tuple[pa.Array, Any]:
    """Return the values at the end of the steps, and the row of each (int64); a missing field is null."""
    rows = np.arange(len(values))
    for step in steps:
        if pt.is_null(values.type):
            break
        if step is EACH:
            rows = rows[pc.list_parent_indices(values).to_numpy(zero_copy_only=False)]
            values = pc.list_flatten(values)
        elif pt.is_struct(values.type) and values.type.get_field_index(step) >= 0:
            values = pc.struct_field(values, [values.type.get_field_index(step)])
        else:
            values = pa.nulls(len(values))
    if pt.is_null(values.type):
        return pa.nulls(len(rows), pa.large_binary()), rows
    if pt.is_dictionary(values.type):
        values = values.dictionary.take(values.indices)
    if is_view(values.type):  # Arrow cannot choose among them
        values = values.cast(pa.large_string() if pt.is_string_view(values.type) else pa.large_binary())
    return values, rows


def require_paths(
    paths: Iterable[FieldPath], types: Mapping[str, Any], role: str, *, may_lack: bool = False
) -> None:
    """Raise InputError for a path that ends in no text, or for an id in no string or integer.

    ``types`` are the Arrow types of the columns, None where it is not known. The error names the nearest fields.
    One file of several ``may_lack`` a field that others have.
    """
    for path in paths:
        if types.get(path.root) is not None:
            _require_path(path, types[path.root], role, may_lack)


def _require_path(path: FieldPath, type_: Any, role: str, may_lack: bool) -> None:
    walked = FieldPath(path.root)
    for step in path.steps:
        is_list = pt.is_list(type_) or pt.is_large_list(type_) or pt.is_fixed_size_list(type_)
        if pt.is_null(type_):
            return
        if (step is EACH) != is_list or (step is not EACH and not pt.is_struct(type_)):
            raise _not_there_error(path, walked, type_, step)
        if is_list:
            type_ = type_.value_type
        elif type_.get_field_index(step) < 0:
            if may_lack:
                return
            raise _no_field_error(path, walked, type_, step)
        else:
            type_ = type_.field(step).type
        walked = FieldPath(path.root, (*walked.steps, step))
    kinds = ("text",) if role == "text" else ("text", "integer")
    if not pt.is_null(type_) and kind_of(type_) not in kinds:
        known = texts_in(path.root, type_, path.steps)
        what = "A field of strings" if role == "text" else "A field of strings or integers"
        listed = f": {', '.join(known)}" if known else ""
        raise InputError(
            f'The field "{path.spelled}" cannot be the {role}: its type is {_type_in_words(type_)}',
            what + listed,
            "Name one of them" if known else "Name another field",
        )


def _no_field_error(path: FieldPath, walked: FieldPath, type_: Any, step: Step) -> InputError:
    names = [type_.field(k).name for k in range(type_.num_fields)]
    close = difflib.get_close_matches(str(step), names, 1)
    before = f"{walked.spelled}." if walked.spelled else ""
    hint = f'Did you mean "{before}{close[0]}"?' if close else "Name one of them"
    return InputError(
        f'There is no field "{before}{step}"'
        + f', which "{path.spelled}" needs' * (path.spelled != before + str(step)),
        f"One of {', '.join(f'{before}{name}' for name in names[:_SHOWN]) or '(none)'}",
        hint,
    )


def _not_there_error(path: FieldPath, walked: FieldPath, type_: Any, step: Step) -> InputError:
    known = texts_in(walked.root, type_, walked.steps)
    wants = "a list" if step is EACH else "a record"
    return InputError(
        f'"{walked.spelled}" is {_type_in_words(type_)}, and "{path.spelled}" takes it for {wants}',
        f"One of {', '.join(known)}" if known else "A field of strings",
        "Write .FIELD after a record, and [] after a list",
    )


def _type_in_words(type_: Any) -> str:
    if pt.is_struct(type_):
        return "a record"
    if pt.is_list(type_) or pt.is_large_list(type_) or pt.is_fixed_size_list(type_):
        return "a list"
    return str(type_)


def texts_in(root: str, type_: Any, steps: tuple[Step, ...] = ()) -> list[str]:
    """Return the spelled paths of the strings in a column of this Arrow type, a dozen at most.

    >>> texts_in("messages", pa.list_(pa.struct({"role": pa.string(), "content": pa.string()})))
    ['messages[].role', 'messages[].content']
    """
    return [FieldPath(root, found).spelled for found, _ in zip(_texts(type_, steps), range(_SHOWN), strict=False)]


def _texts(type_: Any, steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    if type_ is None or len(steps) > _MOST_STEPS:
        return
    if is_text(type_):
        yield steps
    elif pt.is_struct(type_):
        for number in range(type_.num_fields):
            yield from _texts(type_.field(number).type, (*steps, type_.field(number).name))
    elif pt.is_list(type_) or pt.is_large_list(type_):
        yield from _texts(type_.value_type, (*steps, EACH))
