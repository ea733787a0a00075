"""Write one Arrow table as one file, atomically."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import OutputError
from neardup.io.writers.file import OutputFile
from neardup.io.writers.stamp import stamped

_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")


class OutputTable(OutputFile):
    """A table as a context manager; ``mark`` is the schema metadata key that identifies our tables."""

    kind = "a table of signatures"

    def __init__(self, path: str | Path, mark: bytes, *, overwrite: bool = False) -> None:
        super().__init__(path, overwrite=overwrite)
        self._mark = mark

    def is_own(self, path: Path) -> bool:
        """Return whether it is a table with our mark in its schema."""
        try:
            with pa.OSFile(os.fsencode(path)) as file:
                return self._mark in (_schema(path, file).metadata or {})
        except (OSError, pa.ArrowException):
            return False

    def write(self, table: pa.Table) -> None:
        """Write the table, in the format of the extension."""
        table = table.cast(stamped(table.schema))
        if _is_parquet(self.target):
            # hashes do not repeat: a dictionary would only add cost
            pq.write_table(table, self._file, use_dictionary=["id"], compression="zstd")
        else:
            with pa.ipc.new_file(self._file, table.schema) as writer:
                writer.write_table(table)


def write_table(table: pa.Table, path: str | Path, mark: bytes, *, overwrite: bool = False) -> None:
    """Write the table as Parquet or as an Arrow file, according to the extension. Raises OutputError.

    ``mark``: a key of the metadata of its schema. Only files with that key are overwritten.
    """
    output = OutputTable(path, mark, overwrite=overwrite)
    if output.target.suffix.lower() not in _PARQUET + _ARROW:
        raise OutputError(
            f"{output.target.name} does not say how the table is to be written",
            f"A name that ends in one of {', '.join(_PARQUET + _ARROW)}",
        )
    with output:
        output.write(table)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in _PARQUET


def _schema(path: Path, file: pa.NativeFile) -> pa.Schema:
    return pq.read_schema(file) if _is_parquet(path) else pa.ipc.open_file(file).schema
