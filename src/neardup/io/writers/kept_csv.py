"""Kept rows as CSV: values unchanged, quoting by Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.csv as pacsv

from neardup.io.readers.base import NativeTable
from neardup.io.readers.csv import CsvDocuments
from neardup.io.writers.kept_lines import open_output
from neardup.io.writers.kept_parquet import kept_rows
from neardup.io.writers.outputs import OutputFolder


class CsvSink:
    """Writes kept rows with the delimiter and compression of the input."""

    def __init__(self, folder: OutputFolder, documents: CsvDocuments, extra: Any) -> None:
        suffix = {"gzip": ".gz", "zstd": ".zst"}.get(documents.compression or "", "")
        name = "kept.tsv" if documents.delimiter == "\t" else "kept.csv"
        self.path = folder.path(name + suffix)
        schema = documents.schema
        for field in extra or ():
            schema = schema.append(field)
        self._file = open_output(self.path, documents.compression)
        self._writer = pacsv.CSVWriter(
            self._file, schema, write_options=pacsv.WriteOptions(delimiter=documents.delimiter)
        )

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
