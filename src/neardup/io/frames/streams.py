"""Streams of rows, read once: their blocks wait in memory or in an unnamed file, to be streamed again."""

import pickle
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, compress, islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.frames.arrow import differing_error, no_texts_error
from neardup.io.frames.python import ValueTypes, require_texts, text_array, typed_values, types_of, values_of
from neardup.io.readers.arrow import CHUNK_ROWS, chosen, fitted_table, in_blocks, schema_columns
from neardup.io.readers.base import CHUNK_BYTES, Column
from neardup.io.readers.memory import ObjectChunk, ObjectDocuments
from neardup.io.writers.scratch import NumberFile, Scratch
from neardup.tables import Bools

HELD_BYTES = 64 << 20
"""Bytes of blocks that stay in memory; small streams need no file."""


class Spool:
    """Blocks of bytes, in the order in which they were written; any thread may read them.

    The first ``held`` bytes are in memory, the others in an unnamed file in the folder for working files, which
    disappears with the spool. Raises OutputError if there is no room.
    """

    def __init__(self, held: int = HELD_BYTES) -> None:
        self._room = held
        self._blocks: list[Any | tuple[int, int]] = []
        self._file: NumberFile | None = None

    def __len__(self) -> int:
        return len(self._blocks)

    @property
    def on_disk(self) -> int:
        """Bytes in the file."""
        return 0 if self._file is None else len(self._file)

    def append(self, block: Any) -> None:
        """Write one block, an object with the buffer protocol."""
        size = memoryview(block).nbytes
        if size <= self._room:
            self._room -= size
            self._blocks.append(block)
            return
        self._room = 0
        if self._file is None:
            self._file = Scratch().numbers(np.uint8)
        start = len(self._file)
        self._file.append(np.frombuffer(block, np.uint8))
        self._blocks.append((start, start + size))

    def read(self, number: int) -> Any:
        """Read a block."""
        block = self._blocks[number]
        if not isinstance(block, tuple):
            return block
        assert self._file is not None
        return self._file.read(*block).data


class BlockContent(ABC):
    """The meaning of the blocks of a spool."""

    columns: tuple[Column, ...]

    @abstractmethod
    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column. Raises InputError for values without one."""

    @abstractmethod
    def table(self, block: Any, names: Sequence[str]) -> pa.Table:
        """Return columns of the rows of a block."""

    @abstractmethod
    def rows(self, block: Any, stays: Bools) -> Any:
        """Return the rows of a block that stay, as the caller's stream held them."""

    def require(self, text: str) -> None:  # noqa: B027 - the kinds of most columns say what they hold
        """Raise InputError if a value of the column is not a text."""


Portions = Iterator[Any]
Returned = Callable[[Callable[[], Portions]], Any]
"""From a function that yields the rows that stay, portion by portion, to an object of the caller's type."""


class SpooledDocuments(ObjectDocuments):
    """The rows of a stream as documents: each block is a chunk. ``returned`` makes what ``give_back`` returns."""

    def __init__(self, spool: Spool, counts: Sequence[int], content: BlockContent, returned: Returned) -> None:
        super().__init__(content.columns)
        self.spool, self.content, self._returned = spool, content, returned
        self.bounds = [0, *accumulate(counts)]
        self.count = self.bounds[-1]

    def require(self, text: str, id: str | None) -> None:
        """Refuse a column with values that are not texts."""
        super().require(text, id)
        for name in self.whole_columns(text):
            self.content.require(name)

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column. Raises InputError for values without one."""
        return self.content.type_of(name)

    def table_of(self, chunk: ObjectChunk, names: Sequence[str]) -> pa.Table:
        """Return columns of a block."""
        return self.content.table(self.spool.read(bisect_left(self.bounds, chunk.first_row)), names)

    def give_back(self, stays: Bools) -> Any:
        """Return the rows that stay, in the type of the stream."""

        def portions() -> Portions:
            for index, (first, until) in enumerate(pairwise(self.bounds)):
                if stays[first:until].any():
                    yield self.content.rows(self.spool.read(index), stays[first:until])

        return self._returned(portions)


class TableContent(BlockContent):
    """Blocks that are streams of Arrow's IPC format, each with a schema of its own that fits the common one."""

    def __init__(self, schema: pa.Schema, columns: tuple[Column, ...]) -> None:
        self._schema, self.columns = schema, columns

    def type_of(self, name: str) -> pa.DataType:
        """The type of a column."""
        return self._schema.field(name).type

    def table(self, block: Any, names: Sequence[str]) -> pa.Table:
        """Return columns of the rows of a block, without decoding the others."""
        schema = pa.schema([self._schema.field(name) for name in names])
        return fitted_table(_read(block, list(dict.fromkeys(names))).select(list(names)), schema)

    def rows(self, block: Any, stays: Bools) -> pa.Table:
        """Return the rows of a block that stay, in the common schema."""
        return chosen(fitted_table(_read(block, self._schema.names), self._schema), stays)


def _read(block: Any, names: Sequence[str]) -> pa.Table:
    """Read columns of a block; null where the block lacks one."""
    held = pa.ipc.open_stream(pa.py_buffer(block)).schema
    included = [held.get_field_index(name) for name in names if name in held.names]
    options = pa.ipc.IpcReadOptions(included_fields=included or None)
    table = pa.ipc.open_stream(pa.py_buffer(block), options=options).read_all()
    for name in names:
        if name not in table.schema.names:
            table = table.append_column(name, pa.nulls(table.num_rows))
    return table


def table_block(table: pa.Table) -> Any:
    """Return a table as a block of ``TableContent``."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def spooled_tables(
    tables: Iterable[pa.Table],
    schema: pa.Schema | None,
    returned: Callable[[pa.Schema], Returned],
    chunk_bytes: int = CHUNK_BYTES,
) -> SpooledDocuments:
    """Read a stream of tables to its end. ``schema`` None: that which fits all of them.

    ``returned`` gets the common schema. Raises InputError for tables whose types do not fit together.
    """
    spool, counts, schemas = Spool(), [], [] if schema is None else [schema]
    for block in in_blocks(tables, chunk_bytes):
        if schema is None and not any(block.schema.equals(known) for known in schemas):
            schemas.append(block.schema)
        spool.append(table_block(block))
        counts.append(block.num_rows)
    try:
        common = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        raise differing_error(error) from error
    content = TableContent(common, schema_columns(common, "The stream"))
    return SpooledDocuments(spool, counts, content, returned(common))


def from_reader(reader: pa.RecordBatchReader, chunk_bytes: int = CHUNK_BYTES) -> SpooledDocuments:
    """Read a stream of record batches; the rows that stay come back as another one."""
    try:
        tables = (pa.Table.from_batches([batch]) for batch in reader)
        return spooled_tables(tables, reader.schema, as_reader, chunk_bytes)
    except (pa.ArrowException, OSError) as error:
        raise no_texts_error(reader, str(error)) from error


def as_reader(schema: pa.Schema) -> Returned:
    """Return the portions of tables as a reader of record batches."""

    def batch_reader(portions: Callable[[], Portions]) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(schema, batches_of(portions()))

    return batch_reader


def batches_of(tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of tables."""
    return chain.from_iterable(table.to_batches() for table in tables)


def from_iterator(items: Iterator[Any], chunk_bytes: int = CHUNK_BYTES) -> SpooledDocuments:
    """Read an iterator of str, of mappings or of record batches to its end; an iterator comes back.

    Raises InputError for items of other types or of several ones.
    """
    first = list(islice(items, 1))
    everything = chain(first, items)
    if first and isinstance(first[0], pa.RecordBatch):
        schema = first[0].schema
        tables = (pa.Table.from_batches([_same(batch, schema)]) for batch in everything)
        return spooled_tables(tables, schema, lambda _: lambda portions: batches_of(portions()), chunk_bytes)
    if first and isinstance(first[0], Mapping):
        return from_records(everything, _batches, chunk_bytes)
    return _spooled_items(everything, _Texts(), _batches, chunk_bytes)


def from_records(records: Iterable[Any], returned: Returned, chunk_bytes: int = CHUNK_BYTES) -> SpooledDocuments:
    """Read an iterable of mappings to its end; ``returned`` gets the lists of those that stay."""
    return _spooled_items(records, _Records(), returned, chunk_bytes)


def _batches(portions: Callable[[], Portions]) -> Iterator[Any]:
    return chain.from_iterable(portions())


def _same(batch: Any, schema: pa.Schema) -> pa.RecordBatch:
    if not isinstance(batch, pa.RecordBatch):
        raise InputError(
            f"The iterator yields {type(batch).__name__} after record batches", "Items of one type", "Convert them"
        )
    if not batch.schema.equals(schema):
        raise differing_error(ValueError(f"{', '.join(batch.schema.names)} after {', '.join(schema.names)}"))
    return batch


class _Texts(BlockContent):
    """Blocks of pickled lists of str. They are written and read by this process only, in files without a name."""

    columns: tuple[Column, ...] = (Column("text", "text"),)

    def add(self, texts: Sequence[Any], first: int) -> None:
        require_texts(texts, first)

    def size(self, text: Any) -> int:
        """The size of an item, roughly."""
        return len(text) if isinstance(text, str) else 0

    def type_of(self, name: str) -> pa.DataType:
        return pa.large_string()

    def table(self, block: Any, names: Sequence[str]) -> pa.Table:
        """Return the texts of a block, once for each name."""
        return pa.table([text_array(pickle.loads(block))] * len(names), names=list(names))

    def rows(self, block: Any, stays: Bools) -> list[Any]:
        return list(compress(pickle.loads(block), stays.tolist()))


class _Records(_Texts):
    """Blocks of pickled lists of mappings, so that the same values come back."""

    columns: tuple[Column, ...] = ()

    def __init__(self) -> None:
        self._found: dict[str, ValueTypes] = {}
        self._types: dict[str, pa.DataType] = {}
        self._sample: dict[str, list[Any]] = {}
        self._not_texts: dict[str, InputError] = {}

    def add(self, texts: Sequence[Any], first: int) -> None:
        """Take the names and types of a block, and a value of each column whose type must be inferred."""
        types_of(texts, self._found, first)
        for name, found in self._found.items():
            values = values_of(texts, name)
            if found.kind == "other" and name not in self._sample:
                self._sample[name] = [value for value in values if value is not None][:1000]
            if not found.is_text and name not in self._not_texts:
                try:
                    found.require_texts(values, name, first)
                except InputError as error:
                    self._not_texts[name] = error
        self.columns = tuple(Column(name, found.kind) for name, found in self._found.items())

    def size(self, text: Any) -> int:
        """The size of the strings in a record."""
        values = text.values() if isinstance(text, Mapping) else ()
        return sum(len(value) for value in values if isinstance(value, str | bytes))

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column; of values without a plain type, that of the first ones."""
        if name not in self._types:
            self._types[name] = self._found[name].type(self._sample.get(name, []), name)
        return self._types[name]

    def table(self, block: Any, names: Sequence[str]) -> pa.Table:
        records = pickle.loads(block)
        arrays = [
            typed_values(self._found[name], values_of(records, name), name, self.type_of(name)) for name in names
        ]
        return pa.table(arrays, names=list(names))

    def require(self, text: str) -> None:
        """Raise InputError if a value of the column is not a string."""
        if text in self._not_texts:
            raise self._not_texts[text]


def _spooled_items(
    items: Iterable[Any], content: _Texts, returned: Returned, chunk_bytes: int
) -> SpooledDocuments:
    spool, counts, first = Spool(), [], 0
    for portion in _portions(items, content, chunk_bytes):
        content.add(portion, first)
        try:
            spool.append(pickle.dumps(portion, pickle.HIGHEST_PROTOCOL))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise InputError(
                f"The values of a stream must wait on disk, and one of them cannot: {error}",
                "Records of strings, numbers, dates, and lists and dicts of them",
                "Give a list instead of an iterator, or leave that value out",
            ) from error
        counts.append(len(portion))
        first += len(portion)
    return SpooledDocuments(spool, counts, content, returned)


def _portions(items: Iterable[Any], content: _Texts, chunk_bytes: int) -> Iterator[list[Any]]:
    held: list[Any] = []
    size = 0
    for item in items:
        held.append(item)
        size += content.size(item)
        if size >= chunk_bytes or len(held) == CHUNK_ROWS:
            yield held
            held, size = [], 0
    if held:
        yield held
