"""The base text in a result: its entry of ``run.json``, and the columns of pairs with all shingles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from neardup.join.base_documents import ReadBase
from neardup.join.rows import Rows
from neardup.run.stages.records import CommonShingles
from neardup.tables import Int64s, column

FULL = ("full_size_a", "full_size_b")
"""The columns of pairs with the shingles of both documents, base text included."""


def base_text_account(rows: Rows, read: ReadBase | None, common: CommonShingles | None) -> dict[str, Any]:
    """The entry of ``run.json``; empty for a run without base text."""
    if read is None and common is None:
        return {}
    firsts = np.flatnonzero((rows.copy_of == np.arange(len(rows))) & (rows.units > 0))
    counts = np.zeros((0, 3), np.int64) if rows.left is None else rows.left[firsts]
    return {
        "base_text": {
            "inputs": [] if read is None else list(read.names),
            "documents": 0 if read is None else read.documents,
            "shingles": 0 if read is None else len(read.base),
            "common": 0 if common is None else common.table.num_rows,
            "of_documents": 0 if common is None else common.different,
            "shingles_before": int(counts[:, 0].sum()),
            "shingles_after": int(counts[:, 1].sum()),
            "documents_with": int((counts[:, 1] < counts[:, 0]).sum()),
            "base_text_only": len(rows.base_only),
        }
    }


def with_full_sizes(table: pa.Table, pairs: pa.Table, rows: Rows) -> pa.Table:
    """Append the columns ``FULL`` to the table of some ``pairs`` (VERIFIED); unchanged without base text."""
    if rows.left is None:
        return table
    for name, end in zip(FULL, ("a", "b"), strict=True):
        table = table.append_column(name, pa.array(_all_shingles(rows, column(pairs, end))))
    return table


def _all_shingles(rows: Rows, documents: Int64s) -> Int64s:
    assert rows.left is not None
    sizes: Int64s = rows.left[rows.unique[documents], 0]
    return sizes
