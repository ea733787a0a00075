"""Kept rows as an Arrow file or stream, like the input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.io.readers.arrow_rows import may_compress
from neardup.io.readers.base import NativeTable
from neardup.io.writers.kept_parquet import kept_rows


class ArrowSink:
    """Writes the kept rows of each chunk as record batches, to a stream or to a file with random access."""

    def __init__(self, path: Path, schema: Any, *, stream: bool, codec: str | None = None) -> None:
        self.path = path
        self._schema = schema
        opened = pa.ipc.new_stream if stream else pa.ipc.new_file
        compression = codec if may_compress(schema) else None
        self._raw = open(path, "xb")  # noqa: SIM115 - closed in close
        # batches of several chunks may have different dictionaries for one column
        options = pa.ipc.IpcWriteOptions(unify_dictionaries=not stream, compression=compression)
        self._file = opened(self._raw, self._schema, options=options)

    @property
    def size(self) -> int:
        """The bytes written so far."""
        return self._raw.tell()

    def expect(self, size: int) -> None:
        """Do nothing: batches are written as they come."""

    def prepare(self, native: NativeTable, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Return the kept rows with the extra columns."""
        return kept_rows(native.table, keep, extra)

    def write(self, item: Any) -> None:
        """Write the rows."""
        self._file.write_table(item if item.schema.equals(self._schema) else item.cast(self._schema))

    def close(self) -> None:
        """Finish the file."""
        try:
            self._file.close()
        finally:
            self._raw.close()
