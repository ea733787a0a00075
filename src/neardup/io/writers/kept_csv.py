"""Kept rows as CSV: values unchanged, quoting by Arrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.csv as pacsv

from neardup.io.containers.codecs import SUFFIX_OF, packing
from neardup.io.readers.base import NativeTable
from neardup.io.writers.kept_parquet import kept_rows


class CsvSink:
    """Writes kept rows with the delimiter and compression of the input."""

    def __init__(self, folder: Path, schema: Any, delimiter: str, compression: str | None) -> None:
        suffix = SUFFIX_OF.get(compression or "", "")
        name = "kept.tsv" if delimiter == "\t" else "kept.csv"
        self.path = folder / (name + suffix)
        self._file = packing(self.path, compression)
        self._writer = pacsv.CSVWriter(self._file, schema, write_options=pacsv.WriteOptions(delimiter=delimiter))

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
