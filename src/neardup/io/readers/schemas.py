"""One schema for files whose columns have the same names and possibly different types."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from neardup.errors import InputError
from neardup.io.readers.arrow_types import is_bytes, is_text, kind_of
from neardup.io.readers.findings import named
from neardup.io.readers.sources import Source


@dataclass(frozen=True)
class Unified:
    """The schema in which rows of all files can be written, and notes on how it was found.

    ``mixed``: columns whose type differs between files, each with (type, first file of that type).
    """

    schema: Any
    mixed: dict[str, tuple[tuple[str, str], ...]]
    notes: tuple[str, ...]


def unified(names: Sequence[str], schemas: Sequence[Any]) -> Unified:
    """Return the schema of the first file; a column whose type differs elsewhere gets a wider type, else string.

    Raises InputError when a column is missing in one of the files.
    """
    schema, notes = schemas[0], []
    mixed: dict[str, tuple[tuple[str, str], ...]] = {}
    for other, name in zip(schemas[1:], names[1:], strict=True):
        _require_same_names(schemas[0], other, names[0], name)
    for position, field in enumerate(schemas[0]):
        fields = [other.field(field.name) for other in schemas]
        types = {
            str(each.type): (each.type, name) for each, name in reversed(list(zip(fields, names, strict=True)))
        }
        type_ = field.type if len(types) == 1 else _common([found for found, _ in types.values()], field.type)
        nullable = any(each.nullable for each in fields)
        schema = schema.set(position, field.with_type(type_).with_nullable(nullable))
        if len(types) > 1 and not all(is_text(found) for found, _ in types.values()):
            mixed[field.name] = tuple((called, name) for called, (_, name) in reversed(types.items()))
            where = ", ".join(f"{called} in {name}" for called, name in mixed[field.name])
            notes.append(f'the column "{field.name}" is {where}: read as {type_}')
    return Unified(schema, mixed, tuple(notes))


def partition_columns(sources: Sequence[Source], known: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Return fields for the partition in the folder names, except for columns that the files have, and a note.

    A column of only whole numbers is int64, any other is of strings.
    """
    values: dict[str, list[str | None]] = {}
    for source in sources:
        for key, value in source.partition:
            if key not in known:
                values.setdefault(key, []).append(value)
    fields = []
    for key, found in values.items():
        whole = all(value is None or _is_whole(value) for value in found) and any(found)
        fields.append(pa.field(key, pa.int64() if whole else pa.string()))
    return fields, [f"columns from the names of folders: {named(values)}"] if values else []


def constant(source: Source, field: Any, rows: int) -> Any:
    """Return the column that a partition has in all rows of a file."""
    value = dict(source.partition).get(field.name)
    typed = int(value) if value is not None and pt.is_integer(field.type) else value
    return pa.chunked_array([pa.repeat(pa.scalar(typed, field.type), rows)])


def cast(column: Any, target: Any) -> Any:
    """Return a column in the common type of all files."""
    if column.type.equals(target):
        return column
    try:
        return column.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if not (pt.is_string(target) or pt.is_large_string(target)):
            raise
    texts = [None if value is None else _as_text(value) for value in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, target)])


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _is_whole(value: str) -> bool:
    return value.isascii() and value.lstrip("-").isdigit() and len(value) < 19 and str(int(value)) == value


def _common(types: Sequence[Any], first: Any) -> Any:
    """Return a type that represents the values of all these types without loss."""
    flat = [found.value_type if pt.is_dictionary(found) else found for found in types]
    if all(kind_of(found) == "text" for found in flat):
        raw = [found for found in flat if is_bytes(found)]
        own = first.value_type if pt.is_dictionary(first) else first
        return raw[0] if raw else own
    try:
        merged = (
            pa.unify_schemas([pa.schema([pa.field("c", found)]) for found in flat], promote_options="permissive")
            .field(0)
            .type
        )
    except pa.ArrowException:
        return pa.large_string()
    loses = pt.is_floating(merged) and any(pt.is_integer(found) and found.bit_width > 32 for found in flat)
    mixes = any(pt.is_uint64(found) for found in flat) and any(pt.is_signed_integer(found) for found in flat)
    return pa.large_string() if loses or mixes else merged


def _require_same_names(schema: Any, other: Any, first: str, name: str) -> None:
    for column in dict.fromkeys((*schema.names, *other.names)):
        here = schema.field(column).type if column in schema.names else None
        there = other.field(column).type if column in other.names else None
        if here is None or there is None:
            raise InputError(
                f'The column "{column}" is {there or "missing"} in {name} but {here or "missing"} in {first}',
                "All files of one input have the same columns",
                "Run the files separately, or rewrite them with one schema",
            )
