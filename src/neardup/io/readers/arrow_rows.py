"""Some rows of Arrow data of any type, which stays as it is: Arrow itself cannot choose among views and runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from neardup.errors import InputError
from neardup.io.readers.arrow_types import kind_of, without_view, without_views
from neardup.io.readers.base import Column
from neardup.tables import Bools


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
    # the ends count from the start of the whole array, of which this may be a slice
    runs = np.searchsorted(ends, np.flatnonzero(keep) + array.offset, side="right")
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    stays = np.zeros(len(ends), np.bool_)
    stays[runs] = True
    new_ends = pa.array([*starts[1:], len(runs)] if len(runs) else [], array.type.run_end_type)
    return pa.RunEndEncodedArray.from_arrays(new_ends, chosen(array.values, stays), array.type)
