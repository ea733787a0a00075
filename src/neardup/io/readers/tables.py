"""The common base of Parquet and Arrow files: typed columns, one schema over all files, partitions in folders."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from neardup.errors import InputError
from neardup.io.readers import base
from neardup.io.readers.arrow import (
    chosen,
    is_bytes,
    is_text,
    kind_of,
    plain,
    row_lengths,
    schema_columns,
    size_of,
    valid_strings,
)
from neardup.io.readers.discovery import find_file
from neardup.io.readers.fields import FieldPath, VirtualColumns, require_paths
from neardup.io.readers.files import UNREADABLE, FileChunk, FileDocuments
from neardup.io.readers.manifest import reader_of
from neardup.io.readers.sources import Source

Mixed: TypeAlias = dict[str, tuple[tuple[str, str], ...]]
"""Columns whose type differs between files, each with (type, first file of that type)."""

_OF_TEXT: tuple[base.Kind, ...] = ("text",)
_OF_ID: tuple[base.Kind, ...] = ("text", "integer")


def unified_schema(names: Sequence[str], schemas: Sequence[Any]) -> tuple[Any, Mixed, list[str]]:
    """Return a schema in which rows of all files can be written, the mixed columns, and notes about these.

    It is that of the first file; a column whose type differs elsewhere gets a wider type, else string. Raises
    InputError when a column is missing in one of the files.
    """
    schema, notes, mixed = schemas[0], list[str](), Mixed()
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
    return schema, mixed, notes


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
    return fields, [f"columns from the names of folders: {base.names_in_words(values)}"] if values else []


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


class TableDocuments(FileDocuments):
    """Files of typed columns; ``schema`` is the common schema of native rows, partitions included."""

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__(sources)
        self.text: str | None = None
        self.virtual = VirtualColumns()
        self.schema: Any = None
        self._stored: Any = None
        self._partition: list[Any] = []
        self.mixed: Mixed = {}

    def read_heads(self, read: Callable[[int], Any], called: str, allowed: str) -> list[Any]:
        """Return what ``read`` finds in the head of each file; None for an unreadable one, a row of ``failures``.

        Raises InputError if no file is ``called`` rightly.
        """
        heads = []
        for position in range(len(self.sources)):
            self.take_stamp(position)
            try:
                heads.append(read(position))
            except UNREADABLE as error:
                self.failures[position] = base.failure_text(error)
                heads.append(None)
        if len(self.failures) == len(self.sources):
            raise InputError(
                f"{self.names[0]} is not {called} that can be read: {self.failures[0]}",
                allowed,
                "Check that it is the whole file, and that its name has the right extension",
            )
        return heads

    def settle(self, schemas: Sequence[Any]) -> None:
        """Find the schema of the whole input; ``schemas`` has one for each file, None for an unreadable one."""
        good = [i for i, schema in enumerate(schemas) if schema is not None]
        for i in good:
            base.refuse_columns(self.names[i], len(schemas[i]))
            schema_columns(schemas[i], self.names[i])
        self._stored, self.mixed, mixed_notes = unified_schema(
            [self.names[i] for i in good], [schemas[i] for i in good]
        )
        self._schemas = schemas
        self._partition, notes = partition_columns(self.sources, self._stored.names)
        self.schema = self._stored
        for field in self._partition:
            self.schema = self.schema.append(field)
        self.columns = schema_columns(self.schema, self.names[0])
        self.findings.notes += [*mixed_notes, *notes]

    @property
    def partition_names(self) -> list[str]:
        """The columns of the partition in the folder names."""
        return [field.name for field in self._partition]

    def require(self, text: str, id: str | None) -> None:
        """Refuse a text or an id whose type in one of the files does not fit its role."""
        self.text, self.virtual = text, VirtualColumns.of(self.schema.names, text, id)
        for name, kinds in ((text, _OF_TEXT), (id, _OF_ID)):
            if name is not None and name not in self.virtual:
                self._require_kinds(name, kinds)
        for paths in self.virtual.made.values():
            for schema in self._schemas:
                types = {} if schema is None else {field.name: field.type for field in schema}
                role = "text" if paths is self.virtual.made.get(text) else "id"
                require_paths(paths, types, role, may_lack=True)

    def offer(self, fields: Mapping[str, tuple[FieldPath, pa.DataType]]) -> None:
        """Offer fields of records as columns."""
        self.virtual = self.virtual.with_values(fields)

    def _require_kinds(self, column: str, kinds: Sequence[base.Kind]) -> None:
        mixed = self.mixed.get(column)
        if not mixed:
            return
        for schema, name in zip(self._schemas, self.names, strict=True):
            type_ = None if schema is None else schema.field(column).type
            # a file in which no row has a value, as writers that guess the types make it, fits any kind
            if type_ is not None and not pt.is_null(type_) and kind_of(type_) not in kinds:
                told = " and ".join(f"{of_first} in {first}" for of_first, first in mixed)
                raise InputError(
                    f'The column "{column}" is {told}; that of {name} cannot be used',
                    "A requested column has one kind in all files",
                    "Run the files separately, or rewrite them with one schema",
                )

    def in_file(self, columns: Sequence[str] | None) -> list[str] | None:
        """Return the columns to decode to obtain these; None: all."""
        if columns is None or not columns:
            return None if columns is None else []
        stored = [name for name in self.virtual.roots(columns) if name in self._stored.names]
        return stored or self._stored.names[:1]

    def shaped_rows(self, position: int, table: Any, columns: Sequence[str]) -> Any:
        """Return decoded rows with these columns, in the common type where a file has another kind."""
        made = {}
        for name in dict.fromkeys(columns):
            if name in self.virtual:
                made[name] = self._virtual(position, table, name)
            elif name in self._stored.names:
                column = table.column(name)
                made[name] = cast(column, self.schema.field(name).type) if name in self.mixed else column
            else:
                made[name] = constant(self.sources[position], self.schema.field(name), table.num_rows)
        return _table([made[name] for name in columns], list(columns))

    def _virtual(self, position: int, table: Any, name: str) -> Any:
        """Return a column made of others, which have the types of this file."""
        partition = {field.name: field for field in self._partition}
        for root in self.virtual.roots([name]):
            if root in partition:
                column = constant(self.sources[position], partition[root], table.num_rows)
                table = table.append_column(root, column)
        return self.virtual.table(table, [name]).column(0)

    def rows(self, position: int, table: Any, numbers: base.RowNumbers, columns: Sequence[str]) -> base.ReadRows:
        """Return the requested columns of decoded rows, without rows that are too long."""
        asked = plain(self.shaped_rows(position, table, columns))
        asked, numbers, problems = self.without_long(position, asked, numbers)
        if self.text is not None:
            asked = valid_strings(asked, self.text)
        return base.ReadRows(asked, numbers, problems)

    def native(
        self, position: int, table: Any, numbers: base.RowNumbers, *, own: bool = False
    ) -> base.NativeTable:
        """Return decoded rows in the common column order and types, without rows that are too long.

        With ``own`` they have the columns and types of their file instead, and no partition.
        """
        schema = self.own_schema(position) if own else self.schema
        whole, numbers, problems = self.without_long(position, self.common(position, table, schema), numbers)
        return base.NativeTable(numbers, whole, problems, position)

    def own_schema(self, position: int) -> Any:
        """Return the schema of a readable file."""
        return self._schemas[position]

    def common(self, position: int, table: Any, schema: Any) -> Any:
        """Return decoded rows with the columns of a ``schema``, which are some of the common ones."""
        columns = [
            cast(table.column(field.name), field.type)
            if field.name in self._stored.names
            else constant(self.sources[position], field, table.num_rows)
            for field in schema
        ]
        return _table(columns, schema)

    def without_long(
        self, position: int, table: Any, numbers: base.RowNumbers
    ) -> tuple[Any, base.RowNumbers, tuple[base.Problem, ...]]:
        """Leave out rows that are longer than a row may be."""
        if size_of(table) <= base.ROW_BYTES:
            return table, numbers, ()
        lengths = row_lengths(table)
        long = np.flatnonzero(lengths > base.ROW_BYTES)
        if not len(long):
            return table, numbers, ()
        name = self.names[position]
        problems = tuple(base.Problem(name, int(numbers[i]), base.too_long("the row")) for i in long)
        fits = lengths <= base.ROW_BYTES
        return chosen(table, fits), numbers[fits], problems


@dataclass(frozen=True, eq=False)
class TableChunk(FileChunk):
    """Some rows of a file; ``table`` has them, unless ``decode`` reads them."""

    owner: TableDocuments
    table: Any

    def decode(self, columns: list[str] | None) -> tuple[Any, base.RowNumbers, tuple[base.Problem, ...]]:
        """Return the rows that can be decoded, their numbers in the file, and the problems of the others."""
        return self.table, np.arange(self.first_row, self.first_row + self.table.num_rows), ()

    def read(self, columns: Sequence[str]) -> base.ReadRows:
        """Read the requested columns."""
        table, numbers, problems = self.decode(self.owner.in_file(columns))
        rows = self.owner.rows(self.position, table, numbers, columns)
        return replace(rows, problems=(*problems, *rows.problems)) if problems else rows

    def read_native(self, *, own: bool = False) -> base.NativeRows:
        """Return the rows with all their columns; ``own``: those of the file alone."""
        table, numbers, problems = self.decode(None)
        native = self.owner.native(self.position, table, numbers, own=own)
        return replace(native, problems=(*problems, *native.problems)) if problems else native


def _table(columns: Sequence[Any], names: Any) -> Any:
    if isinstance(names, pa.Schema):
        return pa.Table.from_arrays(list(columns), schema=names)
    return pa.Table.from_arrays(list(columns), names=names)


def read_table(path: str | Path) -> pa.Table:
    """Return the whole table of a file or URL, with the metadata of its schema. Raises InputError."""
    source = find_file(path)
    try:
        data = source.read_bytes()
        reader = reader_of(data)
        if data[:4] == b"PAR1":
            return pq.read_table(reader)
        if data[:6] == b"ARROW1":
            return pa.ipc.open_file(reader).read_all()
        return pa.ipc.open_stream(reader).read_all()
    except UNREADABLE as error:
        raise InputError(
            f"{source.name} is not a table of signatures that can be read: {error}",
            "A Parquet or Arrow file that write_signatures() made",
            "Check that it was written to the end",
        ) from error
