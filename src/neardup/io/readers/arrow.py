"""Types and rows of Arrow data: kinds of columns, plain types, lengths of texts, and some rows of any type."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from neardup.errors import InputError
from neardup.io.readers.base import CHUNK_BYTES, Column, Documents, Kind
from neardup.tables import Bools

CHUNK_ROWS = 65536
"""Most rows of a chunk: bounds the work for each row when the texts are very short."""


def kind_of(type_: Any) -> Kind:
    """Return the kind of column for an Arrow type."""
    if pt.is_boolean(type_):
        return "truth"
    if pt.is_dictionary(type_):
        return kind_of(type_.value_type)
    if is_text(type_):
        return "text"
    if isinstance(type_, pa.BaseExtensionType):  # JSON is strings, but a UUID is not text
        return "text" if is_text(type_.storage_type) else "other"
    if pt.is_integer(type_):
        return "integer"
    return "number" if pt.is_floating(type_) or pt.is_decimal(type_) else "other"


def is_text(type_: Any) -> bool:
    """Return whether values of the type are strings or bytes of any length, in any layout."""
    return bool(pt.is_string(type_) or pt.is_large_string(type_) or pt.is_string_view(type_) or is_bytes(type_))


def is_view(type_: Any) -> bool:
    """Return whether the type keeps its values outside of one contiguous buffer."""
    return bool(pt.is_string_view(type_) or pt.is_binary_view(type_))


def as_binary(values: Any) -> Any:
    """Return an array or a column of strings as bytes: nobody has checked that a file's strings are UTF-8."""
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array(
            [as_binary(chunk) for chunk in values.chunks] or [as_binary(values.combine_chunks())]
        )
    if pt.is_string_view(values.type):
        return values.view(pa.binary_view())
    if pt.is_string(values.type) or pt.is_large_string(values.type):
        return values.view(pa.binary() if pt.is_string(values.type) else pa.large_binary())
    return values


def column_type(documents: Documents, name: str) -> Any:
    """Return the Arrow type of the values that will be read, before any is; None where the format has no types."""
    of_held = getattr(documents, "type_of", None)
    if of_held is not None:
        return plain_type(of_held(name))
    schema = getattr(documents, "schema", None)
    return plain_type(schema.field(name).type) if schema is not None and name in schema.names else None


def plain(table: Any) -> Any:
    """Return the table with text in dictionaries, views and extension types as large_string or large_binary."""
    for position, field in enumerate(table.schema):
        target = plain_type(field.type)
        if target is not field.type:
            table = table.set_column(position, field.name, _decoded_column(table.column(position), target))
    return table


def plain_type(type_: Any) -> Any:
    """Return the type that values of this type have after ``plain``: the same object if it is plain already."""
    if isinstance(type_, pa.BaseExtensionType):
        return _large(type_.storage_type) if is_text(type_.storage_type) else type_
    if not (pt.is_dictionary(type_) or is_view(type_)):
        return type_
    value = type_.value_type if pt.is_dictionary(type_) else type_
    if not is_text(value):
        return value
    # Large: one dictionary entry may be repeated past the 2 GB that 32-bit offsets can address.
    return _large(value)


def _large(type_: Any) -> Any:
    return pa.large_binary() if is_bytes(type_) else pa.large_string()


def _decoded_column(column: Any, target: Any) -> Any:
    if not pt.is_dictionary(column.type):
        return column.cast(target)
    parts = [array.dictionary.cast(target).take(array.indices) for array in column.chunks]
    return pa.chunked_array(parts, target)


def without_views(schema: Any) -> Any:
    """Return the schema with views at any depth replaced by large strings."""
    return pa.schema([field.with_type(without_view(field.type)) for field in schema], schema.metadata)


def without_view(type_: Any) -> Any:
    """Return the type with large strings for views at any depth; Arrow chooses rows in other types with views."""
    if is_view(type_):
        return plain_type(type_)
    if pt.is_map(type_):
        key, item = without_view(type_.key_type), without_view(type_.item_type)
        return pa.map_(type_.key_field.with_type(key), type_.item_field.with_type(item), type_.keys_sorted)
    if pt.is_list(type_) or pt.is_large_list(type_) or pt.is_fixed_size_list(type_):
        value = type_.value_field.with_type(without_view(type_.value_type))
        if pt.is_fixed_size_list(type_):
            return pa.list_(value, type_.list_size)
        return pa.list_(value) if pt.is_list(type_) else pa.large_list(value)
    if pt.is_struct(type_):
        return pa.struct([field.with_type(without_view(field.type)) for field in type_])
    if isinstance(type_, pa.BaseExtensionType):
        storage = without_view(type_.storage_type)
        return type_ if storage.equals(type_.storage_type) else storage
    return type_


def row_lengths(table: Any) -> npt.NDArray[np.int64]:
    """Return how many bytes of text each row has, over all its text columns."""
    total = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        start = 0
        for array in column.chunks:
            total[start : start + len(array)] += _lengths(array)
            start += len(array)
    return total


def _lengths(array: Any) -> npt.NDArray[np.int64]:
    if pt.is_dictionary(array.type):
        if not is_text(array.type.value_type) or not len(array.dictionary):
            return np.zeros(len(array), np.int64)
        entries = _lengths(array.dictionary)
        return np.asarray(entries[pc.fill_null(array.indices, 0).to_numpy(zero_copy_only=False)])
    if not is_text(array.type) or not len(array):
        return np.zeros(len(array), np.int64)
    if is_view(array.type):
        views = np.frombuffer(array.buffers()[1], np.int32).reshape(-1, 4)
        return views[array.offset : array.offset + len(array), 0].astype(np.int64)
    large = pt.is_large_string(array.type) or pt.is_large_binary(array.type)
    offsets = np.frombuffer(array.buffers()[1], np.int64 if large else np.int32)
    return np.diff(offsets[array.offset : array.offset + len(array) + 1]).astype(np.int64)


def valid_strings(table: Any, text: str) -> Any:
    """Return the table with U+FFFD for invalid UTF-8 in all string columns except ``text``.

    The text goes to a kernel that counts invalid bytes; names and values go to Python, which refuses them.
    """
    for position, field in enumerate(table.schema):
        if field.name != text and (pt.is_string(field.type) or pt.is_large_string(field.type)):
            column = table.column(position)
            try:
                column.validate(full=True)
            except pa.ArrowInvalid:
                table = table.set_column(position, field.name, _replaced_strings(column))
    return table


def fitted_table(table: Any, schema: Any) -> Any:
    """Return the table in this schema, with U+FFFD where the bytes of a string are not UTF-8."""
    if table.schema.equals(schema):
        return table
    columns = []
    for field in schema:
        column = table.column(field.name)
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowInvalid:
            if not is_text(column.type):
                raise
            columns.append(_replaced_strings(column).cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _replaced_strings(column: Any) -> Any:
    raw = column.cast(pa.large_binary()).to_pylist()
    texts = [None if value is None else value.decode("utf-8", "replace") for value in raw]
    return pa.chunked_array([pa.array(texts, pa.large_string())]).cast(column_text(column.type))


def column_text(type_: Any) -> Any:
    """The type of strings for a type of text: itself, unless it holds bytes."""
    return pa.large_string() if is_bytes(type_) else type_


def is_bytes(type_: Any) -> bool:
    """Return whether values of the type are bytes of any length, in any layout."""
    return bool(pt.is_binary(type_) or pt.is_large_binary(type_) or pt.is_binary_view(type_))


def cut_by_bytes(lengths: Any, chunk_bytes: int) -> Iterator[int]:
    """Yield the ends of runs of at most ``chunk_bytes`` each; a longer item is a run of its own."""
    totals = np.cumsum(lengths)
    start, before = 0, 0
    while start < len(totals):
        fits = int(np.searchsorted(totals, before + chunk_bytes, side="right"))
        start = max(fits, start + 1)
        before = int(totals[start - 1])
        yield start


def schema_columns(schema: Any, where: str) -> tuple[Column, ...]:
    """Return the columns of a schema.

    Raises InputError for two columns of the same name, and for a column whose rows cannot be written one by one.
    """
    twice = sorted(name for name, count in Counter(schema.names).items() if count > 1)
    if twice:
        raise InputError(
            f'{where} has the column "{twice[0]}" more than once',
            "Every column needs a name of its own",
            "Rename or drop one of them",
        )
    for field in schema:
        _require_rows(field, where)
    return tuple(Column(field.name, kind_of(field.type)) for field in schema)


def chosen(data: Any, keep: Bools) -> Any:
    """Return the rows of a table, record batch, column or array for which ``keep`` (bool[rows]) is true.

    All types stay as they are. Views come back with the bytes of these rows alone, also if all rows are chosen: a
    slice refers to all buffers of the whole, which a writer would repeat for each slice.
    """
    mask = pa.array(keep)
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return _chosen(data, mask)
    if all(_is_plain(field.type) for field in data.schema):
        return data if keep.all() else data.filter(mask)
    return type(data).from_arrays([_chosen(column, mask) for column in data.columns], schema=data.schema)


def no_rows_of(schema: Any) -> Any:
    """Return a table without rows; ``schema.empty_table`` fails for some nested types."""
    return pa.Table.from_batches([], schema)


def size_of(data: Any) -> int:
    """Return the bytes of a table or batch, those of whole buffers where its own are unknown."""
    try:
        return int(data.nbytes)
    except pa.ArrowTypeError:  # pyarrow before 24 cannot compute the size of views
        return int(data.get_total_buffer_size())


def may_compress(schema: Any) -> bool:
    """Return whether rows of a schema can be compressed in Arrow's own format.

    A cast to views of short values makes a null buffer in pyarrow before 26, which crashes in compressing it.
    """
    if without_views(schema).equals(schema):
        return True
    made = pa.array(["x"], pa.large_string()).cast(pa.string_view())
    return all(buffer is not None for buffer in made.buffers()[1:])


def _require_rows(field: Any, where: str) -> None:
    """Raise InputError for a column that has runs within records, or another type without single rows."""
    try:
        _chosen(pa.nulls(1, field.type), pa.array([True]))
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InputError(
            f'{where}: the column "{field.name}" is {field.type}, of which Arrow cannot take single rows',
            "Columns whose rows can be written one by one",
            "Leave the column out, or write it with its values in full",
        ) from error


def _is_plain(type_: Any) -> bool:
    return bool(not pt.is_run_end_encoded(type_) and without_view(type_).equals(type_))


def _chosen(column: Any, mask: Any) -> Any:
    """Return the rows of a column or of an array."""
    type_ = column.type
    if not pt.is_run_end_encoded(type_):
        plain = without_view(type_)
        return column.filter(mask) if plain.equals(type_) else column.cast(plain).filter(mask).cast(type_)
    if isinstance(column, pa.Array):
        return _runs(column, np.asarray(mask))
    ends = np.cumsum([len(array) for array in column.chunks])
    parts = np.split(np.asarray(mask), ends[:-1])
    return pa.chunked_array([_runs(*each) for each in zip(column.chunks, parts, strict=True)], type_)


def _runs(array: Any, keep: Bools) -> Any:
    """Return the rows of a run-end encoded array for which ``keep`` is true."""
    ends = np.asarray(array.run_ends)
    # the ends count from the start of the whole array; this may be a slice of it
    runs = np.searchsorted(ends, np.flatnonzero(keep) + array.offset, side="right")
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    stays = np.zeros(len(ends), np.bool_)
    stays[runs] = True
    new_ends = pa.array([*starts[1:], len(runs)] if len(runs) else [], array.type.run_end_type)
    return pa.RunEndEncodedArray.from_arrays(new_ends, chosen(array.values, stays), array.type)


def in_blocks(tables: Iterable[Any], chunk_bytes: int = CHUNK_BYTES) -> Iterator[Any]:
    """Join small tables and cut large ones: at most ``chunk_bytes`` and ``CHUNK_ROWS`` rows, but one row at least.

    Tables of different schemas are not joined.
    """
    held: list[Any] = []
    size = rows = 0
    for table in tables:
        differs = bool(held) and not held[0].schema.equals(table.schema)
        cost = _cost_of(table)
        if held and (differs or size + cost > chunk_bytes or rows + table.num_rows > CHUNK_ROWS):
            yield pa.concat_tables(held)
            held, size, rows = [], 0, 0
        if cost > chunk_bytes or table.num_rows > CHUNK_ROWS:
            yield from _cut(table, chunk_bytes)
        elif table.num_rows:
            held.append(table)
            size, rows = size + cost, rows + table.num_rows
    if held:
        yield pa.concat_tables(held)


def in_runs(tables: Iterable[Any], counts: Iterable[int]) -> Iterator[Any]:
    """Yield tables of these numbers of rows. Raises ValueError if the given tables have more or fewer rows."""
    rest, held = iter(tables), list[Any]()
    for count in counts:
        rows = sum(table.num_rows for table in held)
        while rows < count:
            table = next(rest, None)
            if table is None:
                raise ValueError("it has fewer rows")
            held.append(table)
            rows += table.num_rows
        whole = pa.concat_tables(held)
        yield whole.slice(0, count)
        held = [whole.slice(count)]
    if any(table.num_rows for table in (*held, *rest)):
        raise ValueError("it has more rows")


def _cost_of(table: Any) -> int:
    """The bytes of a table when it is read: a dictionary has a text once, and each of its rows is one text."""
    if any(pt.is_dictionary(field.type) for field in table.schema):
        return max(size_of(table), int(row_lengths(table).sum()))
    return int(size_of(table))


def _cut(table: Any, chunk_bytes: int) -> Iterator[Any]:
    # a row costs at least its share of the columns that are not text
    others = max(0, size_of(table) - int(row_lengths(table).sum())) // table.num_rows
    costs = np.maximum(row_lengths(table) + others, chunk_bytes // CHUNK_ROWS + 1)
    start = 0
    for end in cut_by_bytes(costs, chunk_bytes):
        yield table.slice(start, end - start)
        start = end
