"""Tables of signatures: Parquet, or Arrow's file and stream formats, distinguished by their first bytes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import InputError
from neardup.io.readers.discover import find_file
from neardup.io.readers.files import UNREADABLE


def read_table(path: str | Path) -> pa.Table:
    """Return the whole table of a file or URL, with the metadata of its schema. Raises InputError."""
    source = find_file(path)
    try:
        data = pa.py_buffer(source.read_bytes())
        reader = pa.BufferReader(data)
        if data.size and data[:4].to_pybytes() == b"PAR1":
            return pq.read_table(reader)
        if data.size and data[:6].to_pybytes() == b"ARROW1":
            return pa.ipc.open_file(reader).read_all()
        return pa.ipc.open_stream(reader).read_all()
    except UNREADABLE as error:
        raise InputError(
            f"{source.name} is not a table of signatures that can be read: {error}",
            "A Parquet or Arrow file that write_signatures() made",
            "Check that it was written to the end",
        ) from error
