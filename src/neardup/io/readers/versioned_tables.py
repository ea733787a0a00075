"""Tables of Delta, Iceberg and Lance at one version, read by their libraries; results are Parquet."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from neardup.errors import InputError, NeardupError, unusable
from neardup.io.readers.arrow import fitted_table, in_blocks, in_runs, without_views
from neardup.io.readers.base import CHUNK_BYTES, Chunk, Format, Sink, failure_text
from neardup.io.readers.sources import Source, changed_error
from neardup.io.readers.table_folders import PACKAGES, TableFolder, TableFormat, opened_version
from neardup.io.readers.tables import TableChunk, TableDocuments
from neardup.io.writers.kept_formats import extended_schema
from neardup.io.writers.kept_parquet import ParquetSink

_AHEAD, _BATCH_ROWS = 2, 8192
"""Batches and files that are read ahead, and rows of a batch: the defaults hold gigabytes of long texts."""


class Scan(Protocol):
    """A version of a table: the same rows in the same order at each call of ``batches``."""

    schema: pa.Schema

    def batches(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows with at least these columns."""


class _DataSetScan:
    """A data set of pyarrow, which Lance is and Delta makes of the files of a version."""

    def __init__(self, data: Any) -> None:
        self._data, self.schema = data, data.schema

    def batches(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        batches: Iterator[pa.RecordBatch] = self._data.to_batches(
            columns=names, batch_size=_BATCH_ROWS, batch_readahead=_AHEAD, fragment_readahead=_AHEAD
        )
        return batches


def _delta(table: TableFolder, version: int, path: str) -> Scan:
    from deltalake import DeltaTable

    opened = DeltaTable(table.path, version=version)
    mapping = opened.metadata().configuration.get("delta.columnMapping.mode", "none")
    if mapping != "none":  # the columns of the files have other names, and would be read as null
        raise ValueError(f"it maps its columns by {mapping}, which deltalake does not read")
    data = opened.to_pyarrow_dataset()
    _require_inside(table, opened.file_uris())
    return _DataSetScan(data)


def _lance(table: TableFolder, version: int, path: str) -> Scan:
    import lance

    opened = lance.dataset(table.path, version=version)
    files = [file for fragment in opened.get_fragments() for file in fragment.data_files()]
    if any(file.base_id is not None for file in files):
        raise ValueError("it is a shallow clone, with rows in the files of another table")
    _require_inside(table, [os.path.join(table.path, "data", file.path) for file in files])
    return _DataSetScan(opened)


class _IcebergScan:
    """The current snapshot of a metadata file, with its deletes applied."""

    def __init__(self, table: Any) -> None:
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        self._table = table
        self.schema = schema_to_pyarrow(table.schema(), include_field_ids=False)

    def batches(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        return iter(self._table.scan(selected_fields=tuple(names)).to_arrow_batch_reader())


def _iceberg(table: TableFolder, version: int, path: str) -> Scan:
    from pyiceberg.table import StaticTable

    opened = StaticTable.from_metadata(path)
    snapshot = opened.current_snapshot()
    if snapshot is not None:
        _require_inside(table, [snapshot.manifest_list])
        _require_inside(table, [manifest.manifest_path for manifest in snapshot.manifests(opened.io)])
        for task in opened.scan().plan_files():
            _require_inside(table, [file.file_path for file in (task.file, *task.delete_files)])
    return _IcebergScan(opened)


_SCANS: dict[TableFormat, Callable[[TableFolder, int, str], Scan]] = {
    "Delta": _delta,
    "Iceberg": _iceberg,
    "Lance": _lance,
}


def _require_inside(table: TableFolder, locations: Sequence[str]) -> None:
    """Raise InputError if a table refers to files outside its folder: it was moved, or means harm."""
    root = os.path.realpath(table.path)
    for location in locations:
        parts = urlsplit(location)
        path = unquote(parts.path) if parts.scheme == "file" and location.startswith("file://") else location
        path = path.removeprefix("file:")
        if not any(os.path.realpath(each).startswith(root + os.sep) for each in (path, parts.path)):
            raise InputError(
                f"The table in {table.path} refers to a file outside its folder: {location}",
                "A table with all its files in its folder",
                "Read the table where it was written, or copy it with its own library",
            )


class VersionedTable(TableDocuments):
    """One table; its source is the file of a version in its log, so that later versions change nothing."""

    format: Format = "table"
    failure = "not a table"
    kept_name = "kept.parquet"
    size_bytes = None  # only the library knows

    def __init__(self, sources: Sequence[Source], chunk_bytes: int = CHUNK_BYTES) -> None:
        super().__init__(sources)
        self._chunk_bytes = chunk_bytes
        self._counts_of_rows: list[int] | None = None
        self.take_stamp(0)
        table, version = opened_version(sources[0])
        package, extra = PACKAGES[table.format]
        try:
            self._scan = _SCANS[table.format](table, version, sources[0].path)
        except ImportError as error:
            why, do = unusable(package, extra, error)
            raise InputError(
                f"{sources[0].name} is {table.called}; {package}, which reads it, {why}", "", do
            ) from None
        except Exception as error:  # each library has its own kinds
            raise self._unreadable_error(error) from error
        self.settle([without_views(self._scan.schema)])

    def open_sink(self, path: Path, position: int | None, extra: Any, threads: int) -> Sink:
        """Open a Parquet file."""
        return ParquetSink(path, extended_schema(self.schema, extra), threads=threads)

    def pieces(
        self, position: int, first: int, want: Callable[[int], bool], columns: Sequence[str] | None
    ) -> Iterator[Chunk | None]:
        """Yield the chunks; the first whole pass decides which rows each of them has."""
        tables, counts = self._tables(self.in_file(columns)), self._counts_of_rows
        row, passed = 0, list[int]()
        blocks = in_blocks(tables, self._chunk_bytes) if counts is None else in_runs(tables, counts)
        try:
            for index, block in enumerate(blocks, first):
                yield TableChunk(index, self, position, row, block) if want(index) else None
                row += block.num_rows
                passed.append(block.num_rows)
        except ValueError as error:
            raise changed_error(self.names[position], str(error)) from error
        self._counts_of_rows = passed

    def _tables(self, names: list[str] | None) -> Iterator[pa.Table]:
        """Yield all rows of the scan with some columns, None: with all."""
        chosen = self.schema.names if names is None else names or self.schema.names[:1]
        schema = pa.schema([self.schema.field(name) for name in chosen])
        try:
            for batch in self._scan.batches(chosen):
                if batch.num_rows:
                    yield fitted_table(pa.Table.from_batches([batch]).select(chosen), schema)
        except Exception as error:
            raise self._unreadable_error(error) from error

    def _unreadable_error(self, error: Exception) -> Exception:
        """The error for a table that its library does not read to the end; one of neardup stays as it is."""
        if isinstance(error, NeardupError | MemoryError):
            return error
        return InputError(
            f"{self.names[0]} cannot be read: {failure_text(error)}",
            "A version with all its files, in a form that its library reads",
            "Name a newer version, or write the table again without what is not supported",
        )
