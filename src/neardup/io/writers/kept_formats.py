"""Kept rows in the formats of data files: JSONL byte for byte, CSV, Arrow, and Parquet laid out like the input."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from neardup.io.containers.codecs import packing_file
from neardup.io.readers.arrow import chosen, may_compress
from neardup.io.readers.base import Documents, NativeLines, NativeRows, NativeTable, have_columns
from neardup.io.readers.lines import with_keys


class CompressedFile:
    """A file for writing, which must not exist. Raises OSError."""

    def __init__(self, path: Path, compression: str | None) -> None:
        self._raw = open(path, "xb")  # noqa: SIM115 - closed in close
        self._file = packing_file(self._raw, compression)
        self.closed = False

    def tell(self) -> int:
        """The bytes of the file so far, without those that the compressor holds."""
        return self._raw.tell()

    def write(self, data: Any) -> int:
        """Append the data."""
        return int(self._file.write(data) or 0)

    def flush(self) -> None:
        """Do nothing: the file is flushed when it is closed."""

    def close(self) -> None:
        """Finish the file."""
        try:
            if not self.closed and self._file is not self._raw:
                self._file.close()
        finally:
            self.closed = True
            self._raw.close()


class FileSink:
    """Writes pieces, or the rows of tables, into one file as they come."""

    def __init__(self, path: Path, compression: str | None) -> None:
        self.path = path
        self._file = CompressedFile(path, compression)

    @property
    def size(self) -> int:
        """The bytes written so far."""
        return self._file.tell()

    def expect(self, size: int) -> None:
        """Do nothing: rows are written as they come."""

    def prepare(self, native: Any, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Return the kept rows with the extra columns."""
        return kept_rows(native.table, keep, extra)

    def write(self, item: Any) -> None:
        """Write the pieces."""
        for piece in item:
            self._file.write(piece)

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


class LinesSink(FileSink):
    """Writes lines; further columns are appended to each line's object."""

    def prepare(self, native: NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> list[Any] | None:
        """Return the kept pieces of the block."""
        return line_pieces(native, keep, extra)


class CsvSink(FileSink):
    """Writes kept rows with the delimiter and compression of the input."""

    def __init__(self, path: Path, schema: Any, delimiter: str, compression: str | None) -> None:
        super().__init__(path, compression)
        self._lists = [field.name for field in schema if pa.types.is_nested(field.type)]  # of added columns
        fields = [pa.field(one.name, pa.string() if one.name in self._lists else one.type) for one in schema]
        options = pacsv.WriteOptions(delimiter=delimiter)
        self._writer = pacsv.CSVWriter(self._file, pa.schema(fields), write_options=options)

    def write(self, item: Any) -> None:
        """Write the rows, lists as JSON."""
        for name in self._lists:
            values = [None if one is None else msgspec.json.encode(one).decode() for one in item[name].to_pylist()]
            item = item.set_column(item.column_names.index(name), name, pa.array(values, pa.string()))
        self._writer.write_table(item)

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()
        super().close()


class ArrowSink(FileSink):
    """Writes the kept rows of each chunk as record batches, to a stream or to a file with random access."""

    def __init__(self, path: Path, schema: Any, *, stream: bool, codec: str | None = None) -> None:
        super().__init__(path, None)
        self._schema = schema
        opened = pa.ipc.new_stream if stream else pa.ipc.new_file
        compression = codec if may_compress(schema) else None
        # batches of several chunks may have different dictionaries for one column
        options = pa.ipc.IpcWriteOptions(unify_dictionaries=not stream, compression=compression)
        self._unifies = not stream
        self._writer = opened(self._file, schema, options=options)

    def write(self, item: Any) -> None:
        """Write the rows."""
        table = item if item.schema.equals(self._schema) else item.cast(self._schema)
        self._writer.write_table(_without_null_values(table) if self._unifies else table)

    def close(self) -> None:
        """Finish the file."""
        try:
            self._writer.close()
        finally:
            super().close()


def _without_null_values(table: pa.Table) -> pa.Table:
    """Return a table whose dictionaries have no null among their values, since Arrow unifies no others."""
    for place, field in enumerate(table.schema):
        chunks = table.column(place).chunks if pa.types.is_dictionary(field.type) else []
        if any(chunk.dictionary.null_count for chunk in chunks):
            table = table.set_column(
                place, field, pa.chunked_array([_mask_nulls(chunk) for chunk in chunks], field.type)
            )
    return table


def _mask_nulls(values: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same values with the nulls of the dictionary in the indices; chunks of one dictionary have one again."""
    known = values.dictionary.is_valid()
    number = pc.cast(pc.subtract(pc.cumulative_sum(pc.cast(known, pa.int64())), 1), values.indices.type)
    numbers = pc.if_else(known, number, pa.scalar(None, values.indices.type))
    indices = numbers.take(values.indices)
    return pa.DictionaryArray.from_arrays(indices, values.dictionary.drop_null(), ordered=values.type.ordered)


def line_pieces(native: NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> list[Any] | None:
    """Return the kept lines of a block in pieces, with the extra columns in their objects; None without any."""
    return list(_pieces(native, keep) if extra is None else _annotated_lines(native, keep, extra)) or None


def _pieces(native: NativeLines, keep: npt.NDArray[np.bool_]) -> Iterator[Any]:
    """Yield each run of kept lines that are adjacent in the block as one piece."""
    starts, ends = native.starts[keep], native.ends[keep]
    if not len(starts):
        return
    breaks = np.flatnonzero(starts[1:] != ends[:-1])
    firsts = starts[np.concatenate(([0], breaks + 1))].tolist()
    lasts = ends[np.concatenate((breaks, [len(ends) - 1]))].tolist()
    data = memoryview(native.data)
    for first, last in zip(firsts, lasts, strict=True):
        yield data[first:last]
    if not native.data.endswith(b"\n", 0, lasts[-1]):
        yield b"\n"


def _annotated_lines(native: NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> Iterator[bytes]:
    rows = extra.to_pylist()
    for i in np.flatnonzero(keep).tolist():
        line = native.data[native.starts[i] : native.ends[i]]
        yield with_keys(line, msgspec.json.encode(rows[i]))


def kept_rows(table: Any, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
    """Return the rows for which ``keep`` is true, with the columns of ``extra``, or None if there are none."""
    if extra is not None:
        for field, column in zip(extra.schema, extra.columns, strict=True):
            table = table.append_column(field, column)
    return chosen(table, keep) if keep.any() else None


def extended_schema(schema: Any, extra: Any) -> Any:
    """Return the schema with the columns of the schema ``extra`` (None: as it is)."""
    for field in extra or ():
        schema = schema.append(field)
    return schema


Change: TypeAlias = Callable[[bytes, int], bytes]
"""Gives a new text for a text in UTF-8 and the number of its row."""


def have_one_column(documents: Documents, column: str) -> bool:
    """Whether each text is the value of one column, in rows that can be written with another text."""
    return have_columns(documents) and column in {one.name for one in documents.columns}


def with_texts(native: NativeRows, column: str, rows: Collection[int], change: Change) -> NativeRows:
    """Return rows with new texts in ``column`` for the given row numbers; ``change`` is called in their order."""
    numbers = native.row_numbers.tolist()
    chosen = [place for place, number in enumerate(numbers) if number in rows]
    if not chosen:
        return native
    if isinstance(native, NativeLines):
        return _with_lines(native, column, frozenset(chosen), change)
    assert isinstance(native, NativeTable)
    old = native.table.column(column)
    values = old.cast(pa.large_binary()).to_pylist()
    for place in chosen:
        values[place] = change(values[place] or b"", numbers[place])
    new = _as(pa.array(values, pa.large_binary()), old.type)
    place = native.table.schema.get_field_index(column)
    table = native.table.set_column(place, native.table.schema.field(place), new)
    return replace(native, table=table)


def _as(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return _as(values, kind.value_type).dictionary_encode().cast(kind)
    return values.cast(kind, safe=False)  # bytes that are not UTF-8 stay


def _with_lines(native: NativeLines, column: str, places: frozenset[int], change: Change) -> NativeLines:
    """The lines with other texts in the objects at some ``places``."""
    decoder, lines = msgspec.json.Decoder(dict[str, msgspec.Raw]), []
    for place, (begin, end) in enumerate(zip(native.starts.tolist(), native.ends.tolist(), strict=True)):
        line = native.data[begin:end]
        if place in places:
            row = decoder.decode(line)
            text: str = msgspec.json.decode(row[column], type=str)
            new = change(text.encode("utf-8", "surrogatepass"), int(native.row_numbers[place]))
            row[column] = msgspec.Raw(msgspec.json.encode(new.decode("utf-8", "replace")))
            line = msgspec.json.encode(row) + b"\n"
        lines.append(line)
    ends = np.cumsum([len(line) for line in lines])
    return replace(native, data=b"".join(lines), starts=np.concatenate(([0], ends[:-1])), ends=ends)
