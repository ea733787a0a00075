"""One Arrow table as one file: under its name when it is complete, or not there at all."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import OutputError

_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")


def write_table(table: pa.Table, path: str | Path, *, overwrite: bool = False) -> None:
    """Write the table as Parquet or as an Arrow file, as the extension says. Raises OutputError."""
    target = Path(os.path.abspath(os.path.expanduser(path)))
    if target.suffix.lower() not in _PARQUET + _ARROW:
        raise OutputError(
            f"{target.name} does not say how the table is to be written",
            f"A name that ends in one of {', '.join(_PARQUET + _ARROW)}",
        )
    if os.path.lexists(target) and not overwrite:
        raise OutputError(
            f"{target} exists already", "A file that does not exist yet", "Choose another name, or pass overwrite"
        )
    partial = target.parent / f".{target.name}.partial-{os.getpid()}"
    try:
        try:
            if target.suffix.lower() in _PARQUET:
                # hashes do not repeat: a dictionary of them would only cost
                pq.write_table(table, partial, use_dictionary=["id"], compression="zstd")
            else:
                with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(
            f"Cannot write {target}: {error.strerror or error}",
            "A folder that is there and may be written, on a disk with room",
            "Choose another name",
        ) from error
