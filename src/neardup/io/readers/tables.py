"""The common base of Parquet and Arrow files: typed columns, one schema over all files, partitions in folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers.arrow_rows import chosen, no_rows_of, schema_columns, size_of
from neardup.io.readers.arrow_types import kind_of, plain, row_lengths, valid_strings
from neardup.io.readers.base import (
    Kind,
    NativeRows,
    NativeTable,
    Problem,
    ReadRows,
    RowNumbers,
    failure_text,
    no_rows,
)
from neardup.io.readers.fields import VirtualColumns, require_paths
from neardup.io.readers.files import UNREADABLE, FileDocuments
from neardup.io.readers.limits import ROW_BYTES, refuse_columns, too_long
from neardup.io.readers.schemas import Unified, cast, constant, partition_columns, unified
from neardup.io.readers.sources import Source

_OF_TEXT: tuple[Kind, ...] = ("text",)
_OF_ID: tuple[Kind, ...] = ("text", "integer")


class TableDocuments(FileDocuments):
    """Files of typed columns; ``schema`` is the common schema of native rows, partitions included."""

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__(sources)
        self.text: str | None = None
        self.virtual = VirtualColumns()
        self.schema: Any = None
        self._stored: Any = None
        self._unified: Unified | None = None
        self.failures: dict[int, str] = {}

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
                self.failures[position] = failure_text(error)
                heads.append(None)
        if len(self.failures) == len(self.sources):
            raise InputError(
                f"{self.names[0]} is not {called} that can be read: {self.failures[0]}",
                allowed,
                "Check that it was written to the end, and that its name has the right extension",
            )
        return heads

    def settle(self, schemas: Sequence[Any]) -> None:
        """Find the schema of the whole input; ``schemas`` has one for each file, None for an unreadable one."""
        good = [i for i, schema in enumerate(schemas) if schema is not None]
        for i in good:
            refuse_columns(self.names[i], len(schemas[i]))
            schema_columns(schemas[i], self.names[i])
        self._unified = found = unified([self.names[i] for i in good], [schemas[i] for i in good])
        self._schemas = schemas
        self._partition, notes = partition_columns(self.sources, found.schema.names)
        self._stored = found.schema
        self.schema = found.schema
        for field in self._partition:
            self.schema = self.schema.append(field)
        self.columns = schema_columns(self.schema, self.names[0])
        self.findings.notes += [*found.notes, *notes]

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

    def _require_kinds(self, column: str, kinds: Sequence[Kind]) -> None:
        mixed = self._unified.mixed.get(column) if self._unified else None
        if not mixed:
            return
        for schema, name in zip(self._schemas, self.names, strict=True):
            if schema is not None and kind_of(schema.field(column).type) not in kinds:
                told = " and ".join(f"{type_} in {first}" for type_, first in mixed)
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

    def shaped(self, position: int, table: Any, columns: Sequence[str]) -> Any:
        """Return decoded rows with these columns, in the common type where a file has another kind."""
        made = {}
        for name in dict.fromkeys(columns):
            if name in self.virtual:
                made[name] = self._virtual(position, table, name)
            elif name in self._stored.names:
                column = table.column(name)
                mixed = self._unified is not None and name in self._unified.mixed
                made[name] = cast(column, self.schema.field(name).type) if mixed else column
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

    def rows(self, position: int, table: Any, numbers: RowNumbers, columns: Sequence[str]) -> ReadRows:
        """Return the requested columns of decoded rows, without rows that are too long."""
        asked = plain(self.shaped(position, table, columns))
        asked, numbers, problems = self.without_long(position, asked, numbers)
        if self.text is not None:
            asked = valid_strings(asked, self.text)
        return ReadRows(asked, numbers, problems)

    def native(self, position: int, table: Any, numbers: RowNumbers, *, own: bool = False) -> NativeTable:
        """Return decoded rows in the common column order and types, without rows that are too long.

        With ``own`` they have the columns and types of their file instead, and no partition.
        """
        schema = self.own_schema(position) if own else self.schema
        whole, numbers, problems = self.without_long(position, self.common(position, table, schema), numbers)
        return NativeTable(numbers, whole, problems, position)

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
        self, position: int, table: Any, numbers: RowNumbers
    ) -> tuple[Any, RowNumbers, tuple[Problem, ...]]:
        """Leave out rows that are longer than a row may be."""
        if size_of(table) <= ROW_BYTES:
            return table, numbers, ()
        lengths = row_lengths(table)
        long = np.flatnonzero(lengths > ROW_BYTES)
        if not len(long):
            return table, numbers, ()
        name = self.names[position]
        problems = tuple(Problem(name, int(numbers[i]), too_long("the row")) for i in long)
        fits = lengths <= ROW_BYTES
        return chosen(table, fits), numbers[fits], problems

    def no_native(self) -> NativeRows:
        """Return an empty table with all columns."""
        return NativeTable(no_rows(), no_rows_of(self.schema))


@dataclass(frozen=True, eq=False)
class TableChunk:
    """Some rows of a file, decoded already."""

    index: int
    owner: TableDocuments
    position: int
    first_row: int
    table: Any

    @property
    def source(self) -> str:
        """Display name of the file."""
        return self.owner.names[self.position]

    def read(self, columns: Sequence[str]) -> ReadRows:
        """Return the requested columns."""
        return self.owner.rows(self.position, self.table, self.row_numbers(), columns)

    def read_native(self, *, own: bool = False) -> NativeRows:
        """Return the rows with all their columns; ``own``: those of the file alone."""
        return self.owner.native(self.position, self.table, self.row_numbers(), own=own)

    def row_numbers(self) -> RowNumbers:
        """Return the number of each row in the file."""
        return np.arange(self.first_row, self.first_row + self.table.num_rows)


def _table(columns: Sequence[Any], names: Any) -> Any:
    if isinstance(names, pa.Schema):
        return pa.Table.from_arrays(list(columns), schema=names)
    return pa.Table.from_arrays(list(columns), names=names)
