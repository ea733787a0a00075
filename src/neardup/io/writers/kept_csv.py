"""Kept rows as CSV: values unchanged, quoting by Arrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.csv as pacsv

from neardup.io.readers.base import NativeTable
from neardup.io.writers.compressed import CompressedFile
from neardup.io.writers.kept_parquet import kept_rows


class CsvSink:
    """Writes kept rows with the delimiter and compression of the input."""

    def __init__(self, path: Path, schema: Any, delimiter: str, compression: str | None) -> None:
        self.path = path
        self._file = CompressedFile(path, compression)
        self._writer = pacsv.CSVWriter(self._file, schema, write_options=pacsv.WriteOptions(delimiter=delimiter))

    @property
    def size(self) -> int:
        """The bytes written so far."""
        return self._file.size

    def expect(self, size: int) -> None:
        """Do nothing: rows are written as they come."""

    def prepare(self, native: NativeTable, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Return the kept rows with the extra columns."""
        return kept_rows(native.table, keep, extra)

    def write(self, item: Any) -> None:
        """Write the rows."""
        self._writer.write_table(item)

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()
        self._file.close()
