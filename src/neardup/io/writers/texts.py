"""The texts of a result: a compressed table with small row groups, so that one text can be read alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.io.readers.places import TEXTS
from neardup.io.writers.stamp import stamped

_GROUP_BYTES = 4 << 20


def write_texts(path: Path, texts: Iterable[tuple[int, bytes]]) -> None:
    """Write pairs (row of the run, text in UTF-8), ascending; holds a few megabytes at a time. Raises OSError."""
    # statistics would repeat whole texts, uncompressed
    options: dict[str, Any] = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
    options["write_page_checksum"] = True
    with open(path, "wb") as file, pq.ParquetWriter(file, stamped(TEXTS), **options) as writer:
        rows: list[int] = []
        held: list[bytes] = []
        size = 0
        for row, text in texts:
            rows.append(row)
            held.append(text)
            size += len(text)
            if size >= _GROUP_BYTES:
                writer.write_table(pa.table([rows, held], schema=TEXTS))
                rows, held, size = [], [], 0
        writer.write_table(pa.table([rows, held], schema=TEXTS))
