"""Data sets of Hugging Face and of pyarrow (``pyarrow.dataset``), which are never held whole."""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.frames.streams import Portions, Returned, SpooledDocuments, from_records
from neardup.io.readers.arrow import chosen, fitted_table, in_blocks, in_runs, schema_columns
from neardup.io.readers.base import CHUNK_BYTES, Column, Documents
from neardup.io.readers.fields import FieldPath
from neardup.io.readers.memory import HeldDocuments, HeldRows, ObjectChunk, ObjectDocuments
from neardup.tables import Bools

_AHEAD = 2
"""Batches and fragments that are read ahead; the default of pyarrow holds gigabytes of long texts."""


class ScannedDocuments(ObjectDocuments):
    """A data set of files. The first pass over all rows defines the chunks, in runs of rows of the scan."""

    def __init__(self, data: Any, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._schema = data.schema
        super().__init__(schema_columns(self._schema, "The data set"))
        self._data, self._chunk_bytes = data, chunk_bytes
        self._bounds: list[int] | None = None

    def type_of(self, name: str) -> pa.DataType:
        """The type of a column."""
        return self._schema.field(name).type

    @cached_property
    def native_schema(self) -> pa.Schema:
        """The schema of native rows, with its metadata."""
        return self._schema

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[ObjectChunk]:
        """Yield the chunks, with these columns decoded."""
        names = self.virtual.roots(columns or ()) or self._schema.names
        if self._bounds is None:
            yield from self._first_pass(wanted, names)
            return
        chosen = None if wanted is None else frozenset(wanted)
        last = len(self._bounds) if chosen is None else max(chosen, default=-1) + 1
        for index, table in enumerate(self._again(names, last)):
            first = self._bounds[index]
            if chosen is None or index in chosen:
                yield ObjectChunk(index, first, first + table.num_rows, self, table)

    def _first_pass(self, wanted: Collection[int] | None, names: list[str]) -> Iterator[ObjectChunk]:
        bounds = [0]
        for index, table in enumerate(in_blocks(self._tables(names), self._chunk_bytes)):
            if wanted is None or index in wanted:
                yield ObjectChunk(index, bounds[-1], bounds[-1] + table.num_rows, self, table)
            bounds.append(bounds[-1] + table.num_rows)
        self._bounds = bounds

    def _again(self, names: list[str], last: int) -> Iterator[pa.Table]:
        """Yield the first ``last`` chunks. Raises InputError if there are more or fewer rows than before."""
        assert self._bounds is not None
        counts = [until - first for first, until in pairwise(self._bounds)]
        whole = last > len(counts)
        try:
            yield from islice(in_runs(self._tables(names), counts), None if whole else last)
        except ValueError as error:
            raise _changed_error() from error

    def _tables(self, names: list[str]) -> Iterator[pa.Table]:
        batches = self._data.to_batches(
            columns=names, batch_readahead=_AHEAD, fragment_readahead=_AHEAD, batch_size=8192
        )
        schema = pa.schema([self._schema.field(name) for name in names])
        try:
            for batch in batches:
                if batch.num_rows:
                    yield fitted_table(pa.Table.from_batches([batch]), schema)
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"The data set cannot be read: {error}", "Files that can be read to their end", "Check them"
            ) from error

    def table_of(self, chunk: ObjectChunk, names: Sequence[str]) -> pa.Table:
        """Return columns of a chunk, which is decoded already."""
        return chunk.held.select(list(names))

    def give_back(self, stays: Bools) -> pa.RecordBatchReader:
        """Return a reader of the rows that stay; it scans the data set once more."""

        def batches() -> Iterator[pa.RecordBatch]:
            first = 0
            for table in self._tables(self._schema.names):
                until = first + table.num_rows
                if until > len(stays):
                    raise _changed_error()
                yield from chosen(table, stays[first:until]).to_batches()
                first = until
            if first < len(stays):
                raise _changed_error()

        return pa.RecordBatchReader.from_batches(self._schema, batches())


def _changed_error() -> InputError:
    return InputError(
        "The data set has other rows than before",
        "Files that do not change while they are used",
        "Start again when nothing writes to them",
    )


def from_data_set(data: Any, chunk_bytes: int = CHUNK_BYTES) -> Documents | None:
    """Return the documents of an object of the ``datasets`` package; None for any other object."""
    package = sys.modules.get("datasets")  # the caller, who holds one of its objects, has imported it
    held, streamed = getattr(package, "Dataset", None), getattr(package, "IterableDataset", None)
    if not isinstance(held, type) or not isinstance(streamed, type):
        return None  # another module may have that name
    if isinstance(data, held | streamed):
        return _of_one(data, streamed, chunk_bytes)
    if isinstance(data, Mapping) and data and all(isinstance(each, held | streamed) for each in data.values()):
        return SplitDocuments(
            {str(name): _of_one(each, streamed, chunk_bytes) for name, each in data.items()}, data
        )
    return None


def _of_one(data: Any, streamed: Any, chunk_bytes: int) -> HeldDocuments | SpooledDocuments:
    if not isinstance(data, streamed):
        return HeldDocuments(DataSetRows(data), chunk_bytes)
    # as values, since in the Arrow format the type of a column would change where a value is missing
    plain = data.with_format(None)
    if data.features is not None and hasattr(plain, "decode"):
        plain = plain.decode(False)  # images and sounds stay bytes
    return from_records(plain, _as_stream(streamed, data.features), chunk_bytes)


class DataSetRows(HeldRows):
    """The rows of a ``Dataset``: read from its files by number, in its order, also after shuffle and filter."""

    step = 1024  # where rows were selected, each of them is copied to be measured

    def __init__(self, data: Any) -> None:
        self._data = data
        self._views: dict[tuple[str, ...], Any] = {}
        # without decoding of images and sounds; other formats that were set do not count
        self._schema = data.features.arrow_schema
        self.columns = schema_columns(self._schema, "The data set")

    def __len__(self) -> int:
        return len(self._data)

    def type_of(self, name: str) -> pa.DataType:
        """The type of a column."""
        return self._schema.field(name).type

    def table(self, start: int, stop: int, names: Sequence[str]) -> pa.Table:
        """Return columns of some rows."""
        wanted = tuple(dict.fromkeys(names))
        if wanted not in self._views:
            self._views[wanted] = self._data.select_columns(list(wanted)).with_format("arrow")
        return self._views[wanted][start:stop].select(list(names))

    def rows_that_stay(self, stays: Bools) -> Any:
        """Return the data set of the rows that stay, with its features and its format."""
        return self._data.select(np.flatnonzero(stays))


def _as_stream(kind: Any, features: Any) -> Returned:
    """The rows that stay as an ``IterableDataset``, which reads them again at each iteration."""
    return lambda portions: kind.from_generator(_Examples(portions), features=features)


class _Examples:
    """The generator of a stream of rows. It is the same as itself only: its rows are of this process."""

    def __init__(self, portions: Callable[[], Portions]) -> None:
        self._portions = portions

    def __call__(self) -> Iterator[dict[str, Any]]:
        for portion in self._portions():
            yield from portion

    def __reduce__(self) -> Any:
        # the data set makes a name of it by pickling; another process could not read the rows
        return _unreadable, (id(self),)


def _unreadable(number: int) -> Any:
    raise InputError(
        "The kept rows of a stream are held by the process that found them",
        "The process that ran neardup",
        "Save the data set there, for example with to_parquet",
    )


class SplitDocuments(ObjectDocuments):
    """The data sets of a dict as one input, one after the other; the name of a split is the source of its rows."""

    def __init__(self, parts: Mapping[str, HeldDocuments | SpooledDocuments], given: Mapping[Any, Any]) -> None:
        super().__init__(_common(parts))
        self.names = tuple(parts)
        self._parts, self._given = tuple(parts.values()), given

    def require(self, text: str, id: str | None) -> None:
        """Require the same of all splits."""
        super().require(text, id)
        for part in self._parts:
            part.require(text, id)

    def offer(self, fields: Mapping[str, tuple[FieldPath, pa.DataType]]) -> None:
        """Offer fields of records as columns of all splits."""
        super().offer(fields)
        for part in self._parts:
            part.offer(fields)

    def type_of(self, name: str) -> pa.DataType:
        """The type of a column in the first split."""
        return self._parts[0].type_of(name)

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[ObjectChunk]:
        """Yield the chunks of each split."""
        index = 0
        for name, part in zip(self.names, self._parts, strict=True):
            for chunk in part.chunks(None, columns):
                if wanted is None or index in wanted:
                    yield replace(chunk, index=index, source=name)
                index += 1

    def give_back(self, stays: Bools) -> Any:
        """Return a dict of the same type with the rows of each split that stay."""
        parts = np.split(stays, list(accumulate(part.count for part in self._parts))[:-1])
        back = zip(self._given, self._parts, parts, strict=True)
        kind: Any = type(self._given)
        return kind({name: part.give_back(those) for name, part, those in back})


def _common(parts: Mapping[str, HeldDocuments | SpooledDocuments]) -> tuple[Column, ...]:
    """The columns, which must be the same in all splits."""
    (first, documents), *others = parts.items()
    for name, other in others:
        if set(other.columns) != set(documents.columns):
            raise InputError(
                f'The splits "{first}" and "{name}" have different columns',
                "Splits with the same columns",
                "Give them one by one, one of them as against=",
            )
    return documents.columns
