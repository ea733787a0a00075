"""What proves that a text contains an item: text that is not common. Counts of all documents → weighed matches."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from neardup.contamination.items import TestItems
from neardup.contamination.matches import MatchRules, Scanned
from neardup.tables import Bools, Int64s
from neardup.text.units import words

Evidence: TypeAlias = Literal["shingles", "run", "whole", "common"]
"""Two independent shingles; a run of tokens; a whole short item; or text that is common, which proves nothing."""

MATCHES = pa.schema(
    [
        ("id", pa.large_string()),
        ("source", pa.large_string()),
        ("row", pa.int64()),
        ("test_set", pa.large_string()),
        ("item", pa.large_string()),
        ("field", pa.large_string()),
        ("shared", pa.int64()),
        ("size", pa.int64()),
        ("share", pa.float64()),
        ("run", pa.int64()),
        ("evidence", pa.large_string()),
        ("rarest", pa.int64()),
        ("begin", pa.int64()),
        ("end", pa.int64()),
        ("item_begin", pa.int64()),
        ("item_end", pa.int64()),
        ("passage", pa.large_string()),
    ]
)
"""The columns of matches.parquet and common.parquet; places are characters of the training text and the item."""

PHRASES = pa.schema([("shingle", pa.large_string()), ("documents", pa.int64()), ("test_sets", pa.int64())])
"""The columns of common_shingles.parquet."""


class WindowCounts:
    """How many training texts there are, and how many have each distinct window of the items: int64[windows]."""

    def __init__(self, items: TestItems) -> None:
        self.texts = 0
        self.documents = np.zeros(items.distinct, np.int64)

    def add(self, scanned: Scanned) -> None:
        """Count the windows of more training texts."""
        self.texts += scanned.texts
        self.documents[scanned.windows] += scanned.documents


@dataclass(frozen=True, eq=False)
class Weights:
    """Which windows of the items are common, by the ``counts`` of all training documents and by the test sets."""

    items: TestItems
    rules: MatchRules
    texts: int
    documents: Int64s

    @cached_property
    def common(self) -> Bools:
        """Which distinct windows are common."""
        return (self.documents > self.rules.most_documents(self.texts)) | (self.items.sets_with > 1)

    def evidence(self, item: int, matched: Sequence[int], run: int) -> Evidence:
        """What proves a match of places in an item, or ``common``: nothing but common text."""
        windows = self.items.windows_of(item)
        places = np.array(matched)
        where = places[~self.common[windows[places]]]
        if not len(where):
            return "common"
        if len(windows) == 1:
            return "whole"
        if where[-1] - where[0] >= self.items.lengths[item]:
            return "shingles"
        tokens = int(self.items.token_counts[item])
        return "run" if run >= min(self.rules.run, ceil(self.rules.share * tokens)) else "common"

    def judged(self, candidates: pa.RecordBatch) -> tuple[pa.RecordBatch, Bools, pa.RecordBatch]:
        """Weigh candidates: their MATCHES, which of them are proven, and the proven ones among ``candidates``.

        ``candidates`` have the columns ``id``, ``source`` and ``row`` besides CANDIDATES.
        """
        rows = candidates.drop_columns(["context"]).to_pylist()
        table = [self._row(row) for row in rows]
        columns = zip(*table, strict=True) if table else ([] for _ in MATCHES)
        arrays = [pa.array(column, kind.type) for column, kind in zip(columns, MATCHES, strict=True)]
        matches = pa.RecordBatch.from_arrays(arrays, schema=MATCHES)
        proven = np.array([row[10] != "common" for row in table], np.bool_)
        return matches, proven, candidates.filter(pa.array(proven))

    def _row(self, row: dict[str, Any]) -> tuple[Any, ...]:
        item, size = row["item"], int(self.items.sizes[row["item"]])
        windows = self.items.windows_of(item)[row["matched"]]
        return (
            row["id"],
            row["source"],
            row["row"],
            *self.items.items[item][:3],
            row["shared"],
            size,
            row["shared"] / size,
            row["run"],
            self.evidence(item, row["matched"], row["run"]),
            int(self.documents[windows].min()),
            *(row[name] for name in MATCHES.names[12:]),
        )

    @cached_property
    def phrases(self) -> pa.Table:
        """The common shingles (PHRASES): the text of each, and how many training documents and test sets have it.

        Shingles that are in no training document are left out.
        """
        items, left = self.items, self.common & (self.documents > 0)
        holders = np.repeat(np.arange(len(items.items)), np.diff(items.starts))
        shown: list[tuple[str, int, int]] = []
        for item in np.unique(holders[left[items.windows]]).tolist():
            windows, length = items.windows_of(item), int(items.lengths[item])
            strings = words(items.items[item].text, items.key).strings
            for begin in np.flatnonzero(left[windows]).tolist():
                window = windows[begin]
                if left[window]:
                    left[window] = False  # each once
                    tokens = " ".join(strings[begin : begin + length])
                    shown.append((tokens, int(self.documents[window]), int(items.sets_with[window])))
        shown.sort(key=lambda row: (-row[1], -row[2], row[0]))
        columns = zip(*shown, strict=True) if shown else ((), (), ())
        return pa.table([pa.array(c, k.type) for c, k in zip(columns, PHRASES, strict=True)], PHRASES)
