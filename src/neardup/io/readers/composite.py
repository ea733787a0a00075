"""Data files of several formats, and several tables, as one input: each has its own reader.

Files of one format that follow each other have one reader; each table has its own. A column that some inputs lack
is null in their rows. The text, and an id, must be in all of them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from neardup.errors import InputError, OutputError
from neardup.io.attachments import ATTACHMENTS, carries
from neardup.io.readers import base
from neardup.io.readers.arrow import plain_type
from neardup.io.readers.columns import offer_fields, text_here, types_of
from neardup.io.readers.fields import FieldPath, VirtualColumns
from neardup.io.readers.files import FileDocuments

_ARROW: dict[base.Kind, pa.DataType] = {"integer": pa.int64(), "number": pa.float64(), "truth": pa.bool_()}
"""The types of columns whose format has none; all others are strings."""
_NUMBERS: frozenset[base.Kind] = frozenset(("integer", "number"))


class CompositeDocuments:
    """The documents of ``inputs``, one after the other.

    ``partial`` are the columns that some inputs lack, and ``conflicts`` the columns of several kinds, each with a
    list of the kinds: they can be labels and ids, but give no order.
    """

    format: base.Format = "mixed"

    def __init__(self, inputs: Sequence[FileDocuments]) -> None:
        self.inputs = tuple(inputs)
        self.formats = frozenset(one.format for one in inputs)
        self.sources = tuple(source for one in inputs for source in one.sources)
        self.names = tuple(source.name for source in self.sources)
        sizes = [one.size_bytes for one in inputs]
        self.size_bytes = None if None in sizes else sum(size or 0 for size in sizes)
        self.findings = base.Findings()
        for one in inputs:
            self.findings.notes += one.findings.notes
            self.findings.aside += one.findings.aside
            self.findings.encodings |= one.findings.encodings
            one.findings = self.findings
        self.unnameable = tuple(name for one in inputs for name in getattr(one, "unnameable", ()))
        kinds: dict[str, dict[base.Kind, str]] = {}
        for one in inputs:
            for column in one.columns:
                kinds.setdefault(column.name, {}).setdefault(column.kind, one.names[0])
        self.columns = tuple(base.Column(name, _common(tuple(of))) for name, of in kinds.items())
        counts = {name: sum(has_column(one, name) for one in inputs) for name in kinds}
        self.partial = frozenset(name for name in kinds if counts[name] < len(inputs))
        self.conflicts = {
            name: " and ".join(f"{kind} in {first}" for kind, first in of.items())
            for name, of in kinds.items()
            if len(of) > 1 and not of.keys() <= _NUMBERS
        }
        types = [types_of(one) for one in inputs]
        known = {name: of[name] for name in kinds for of in reversed(types) if name in of}
        self.schema = pa.schema(list(known.items()))

    @property
    def virtual(self) -> VirtualColumns:
        """The columns that are made of others."""
        virtual: VirtualColumns = self.inputs[0].virtual  # type: ignore[attr-defined]
        return virtual

    def inputs_with(self, name: str) -> Iterator[FileDocuments]:
        """Yield the inputs with a column or field."""
        return (one for one in self.inputs if text_here(one, name) is not None)

    def require(self, text: str, id: str | None) -> None:
        """Define a good row. Raises InputError if an input lacks the text or the id, or has no texts there."""
        for role, name in (("text", text), ("id", id)):
            without = [one.names[0] for one in self.inputs if name and text_here(one, name) is None]
            if without:
                raise InputError(
                    f'The {role} column "{name}" is missing in {without[0]}',
                    f"Inputs that all have the {role} under one name",
                    "Run them separately, or rename the column",
                )
        for one in self.inputs:
            kind = next((column.kind for column in one.columns if column.name == text), "text")
            if kind != "text" and one.format != "csv":  # all its values are strings
                raise InputError(
                    f'The column "{text}" cannot be the text: it is {self.conflicts.get(text, kind)}',
                    "Strings in all inputs",
                    "Run them separately, or name another column",
                )
            one.require(text, id)

    def offer(self, fields: Mapping[str, tuple[FieldPath, pa.DataType]]) -> None:
        """Offer fields of records as columns."""
        for name in fields:
            for one in self.inputs_with(name):
                offer_fields(one, [name])

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[base.Chunk]:
        """Yield the chunks of all inputs in order."""

        def of_one(one: FileDocuments, mine: Collection[int] | None) -> Iterator[base.Chunk]:
            return one.chunks(
                mine, None if columns is None else [name for name in columns if has_column(one, name)]
            )

        for first, chunk in self._in_turn(wanted, of_one):
            yield self._renumbered_chunk(first, chunk)

    def _renumbered_chunk(self, first: int, chunk: Any) -> base.Chunk:
        """A chunk of an input under its number in all of them; ``first`` is that of the first one."""
        if isinstance(chunk, base.FailedChunk):
            return replace(chunk, index=first + chunk.index)
        return _Chunk(first + chunk.index, chunk, self)

    def _in_turn(
        self,
        wanted: Collection[int] | None,
        of_one: Callable[[FileDocuments, Collection[int] | None], Iterator[Any]],
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number of the first chunk of an input, with what ``of_one`` yields for its wanted chunks."""
        first = 0
        for one in self.inputs:
            mine = None if wanted is None else [index - first for index in wanted if index >= first]
            if mine is not None and not mine:
                return
            for item in of_one(one, mine):
                yield first, item
            if one.chunk_count is None:  # it ended early: all wanted chunks have been yielded
                return
            first += one.chunk_count

    def capture(self, source: str, number: int) -> Any:
        """Return the parts of a record of a web archive that a revisit names; None for other rows."""
        capture = next(getattr(one, "capture", None) for one in self.inputs if source in one.names)
        return None if capture is None else capture(source, number)

    def null(self, name: str, rows: int) -> pa.Array:
        """Return a column for rows of an input that lacks it."""
        if name in self.schema.names:
            return pa.nulls(rows, plain_type(self.schema.field(name).type))
        kind: base.Kind = next((column.kind for column in self.columns if column.name == name), "text")
        return pa.nulls(rows, _ARROW.get(kind, pa.large_string()))

    def sink(self, folder: Path, extra: Any, threads: int = 1) -> base.Sink:
        """Refuse: the rows of each file are written apart."""
        raise OutputError("Several formats have no file in common", "Files like those of the input")

    def separate(self, extra: Any, threads: int) -> base.Separate:
        """Return how to write the rows of each file apart, in its own form; see ``SeparateFiles.separate``."""
        parts = {one: one.separate(extra, threads) for one in self.inputs}
        firsts = dict(zip(self.inputs, _before(len(one.sources) for one in self.inputs), strict=True))
        owner = [(one, place) for one in self.inputs for place in range(len(one.sources))]

        def of_one(one: FileDocuments, mine: Collection[int] | None) -> Iterator[Any]:
            for chunk, load in parts[one].natives(mine):
                yield chunk, partial(_moved_rows, load, firsts[one])

        def natives(wanted: Collection[int] | None) -> base.Natives:
            for first, (chunk, load) in self._in_turn(wanted, of_one):
                yield self._renumbered_chunk(first, chunk), load

        def open_input(position: int, path: Path) -> base.Sink | None:
            one, place = owner[position]
            sink = parts[one].open(place, path)
            return None if sink is None else _OfOne(sink, firsts[one])

        return base.Separate(natives, open_input)


def has_column(one: base.Documents, name: str) -> bool:
    """Return whether an input has a column, or makes it of others.

    A column of data with the name of the parts beside a text is none of these.
    """
    if name == ATTACHMENTS and not carries(one):
        return False
    return name in getattr(one, "virtual", ()) or any(column.name == name for column in one.columns)


def filled_table(table: pa.Table, columns: Sequence[str], null: Callable[[str, int], pa.Array]) -> pa.Table:
    """Return the table with all of ``columns``; ``null`` makes those that it lacks from their name and length."""
    if table.num_columns == len(columns):
        return table
    present, rows = table.column_names, table.num_rows
    arrays = [table.column(present.index(name)) if name in present else null(name, rows) for name in columns]
    return pa.table(arrays, list(columns))


def _common(kinds: tuple[base.Kind, ...]) -> base.Kind:
    """The kind of a column that has these in some inputs."""
    if len(set(kinds)) == 1:
        return kinds[0]
    if set(kinds) <= _NUMBERS:
        return "number"
    return "other" if "other" in kinds and "text" not in kinds else "text"


def _before(counts: Iterator[int]) -> Iterator[int]:
    total = 0
    for count in counts:
        yield total
        total += count


def _moved_rows(load: Callable[[], Any], first: int) -> base.NativeRows:
    """Native rows of an input, with the position of their file among all files."""
    native = load()
    moved: base.NativeRows = replace(native, position=native.position + first)
    return moved


class _OfOne:
    """The sink of a file of an input whose first file is the one at ``first`` among all files."""

    def __init__(self, sink: base.Sink, first: int) -> None:
        self.path, self._first = sink.path, first
        self._sink, self.write, self.close = sink, sink.write, sink.close

    def prepare(self, native: Any, keep: Any, extra: Any) -> Any:
        return self._sink.prepare(replace(native, position=native.position - self._first), keep, extra)


@dataclass(frozen=True, eq=False)
class _Chunk:
    """A chunk of an input under its number in all of them."""

    index: int
    chunk: Any
    owner: CompositeDocuments

    @property
    def source(self) -> str:
        return str(self.chunk.source)

    @property
    def first_row(self) -> int:
        """Number within the file of the first row, good or not."""
        return int(self.chunk.first_row)

    def read(self, columns: Sequence[str]) -> base.ReadRows:
        """Read the requested columns; those that the input lacks are null."""
        present = [name for name in columns if has_column(self.chunk.owner, name)]
        rows: base.ReadRows = self.chunk.read(present)
        return replace(rows, table=filled_table(rows.table, columns, self.owner.null))

    def read_native(self) -> base.NativeRows:
        native: base.NativeRows = self.chunk.read_native()
        return native
