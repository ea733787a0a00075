"""The base text of a run: read or learned before the search, and its part of the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.join.base_documents import BaseDocuments, ReadBase, read_base
from neardup.join.corpus import Corpus
from neardup.join.rows import Rows, Sketches
from neardup.join.shingle_store import DocumentSets
from neardup.runtime import Progress
from neardup.tables import Int64s, column

FULL = ("full_size_a", "full_size_b")
"""The columns of pairs with the shingles of both documents, base text included."""


@dataclass(frozen=True, eq=False)
class BaseTextOfRun:
    """The base texts of ``--ignore``, and the table of the shingles of ``--ignore-common``; None if not in use.

    ``sets`` keeps shingle sets in memory that the search would otherwise read again.
    """

    read: ReadBase | None = None
    common: pa.Table | None = None
    different: int = 0
    sets: DocumentSets | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the base texts."""
        return () if self.read is None else self.read.notes

    def as_dict(self, rows: Rows) -> dict[str, Any]:
        """The entry of ``run.json``; empty for a run without base text."""
        if self.read is None and self.common is None:
            return {}
        firsts = np.flatnonzero((rows.copy_of == np.arange(len(rows))) & (rows.units > 0))
        counts = np.zeros((0, 3), np.int64) if rows.left is None else rows.left[firsts]
        read, common = self.read, self.common
        return {
            "base_text": {
                "inputs": [] if read is None else list(read.names),
                "documents": 0 if read is None else read.documents,
                "shingles": 0 if read is None else len(read.base),
                "common": 0 if common is None else common.num_rows,
                "of_documents": self.different,
                "shingles_before": int(counts[:, 0].sum()),
                "shingles_after": int(counts[:, 1].sum()),
                "documents_with": int((counts[:, 1] < counts[:, 0]).sum()),
                "base_text_only": len(rows.base_only),
            }
        }

    def without_sets(self) -> BaseTextOfRun:
        """The same without sets in memory."""
        return replace(self, sets=None)


def with_base(corpus: Corpus, ignore: BaseDocuments | None, progress: Progress) -> tuple[Corpus, BaseTextOfRun]:
    """The corpus without the text of the documents to ignore."""
    if ignore is None:
        return corpus, BaseTextOfRun()
    read = read_base(ignore, corpus.settings, corpus.key, progress)
    base = read.base if len(read.base) else None
    return replace(corpus, base=base), BaseTextOfRun(read)


def with_common(
    rows: Rows, sketches: Sketches, known: BaseTextOfRun, progress: Progress
) -> tuple[Rows, Sketches, BaseTextOfRun]:
    """The rows without shingles that are in too many of them, if the settings ask for that."""
    if not rows.settings.base.ignore_common:
        return rows, sketches, known
    from neardup.join.common_shingles import leave_out_common  # other runs need none of it

    rows, sketches, learned = leave_out_common(rows, sketches, progress)
    made = replace(known, common=learned.table, different=learned.different, sets=learned.sets)
    return rows, sketches, made


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
