"""Evidence that a text contains an item: text that is not common. Counts of all documents → weighed matches."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.corpus.contamination.items import TestItems
from neardup.corpus.contamination.matches import MatchRules, Scanned
from neardup.tables import Bools, Int32s, Int64s, UInt32s
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
    """How many training texts there are, and how many have each distinct window of the items: uint32[windows]."""

    def __init__(self, items: TestItems) -> None:
        self.texts = 0
        self.documents = np.zeros(items.distinct, np.uint32)

    def add(self, scanned: Scanned) -> None:
        """Count the windows of more training texts."""
        self.texts += scanned.texts
        self.documents[scanned.windows] += scanned.documents.astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Weights:
    """Which windows of the items are common, by the ``counts`` of all training documents and by the test sets."""

    items: TestItems
    rules: MatchRules
    texts: int
    documents: UInt32s

    @cached_property
    def common(self) -> Bools:
        """Which distinct windows are common."""
        return (self.documents > self.rules.most_documents(self.texts)) | (self.items.sets_with > 1)

    def judge(self, candidates: pa.RecordBatch) -> tuple[pa.RecordBatch, Bools, pa.RecordBatch]:
        """Weigh candidates: their MATCHES, which of them are proven, and the proven ones among ``candidates``.

        ``candidates`` have the columns ``id``, ``source`` and ``row`` besides CANDIDATES.
        """
        item, shared, run = (candidates.column(name).to_numpy() for name in ("item", "shared", "run"))
        lists = candidates.column("matched")
        places, begins = lists.flatten().to_numpy(), lists.offsets.to_numpy()[:-1] - lists.offsets[0].as_py()
        sizes = self.items.sizes[item]
        names = [
            self.items.items.column(name).take(candidates.column("item")) for name in ("test_set", "id", "field")
        ]
        columns = {
            **{name: candidates.column(name) for name in candidates.schema.names if name in MATCHES.names},
            **dict(zip(("test_set", "item", "field"), names, strict=True)),
            "size": sizes,
            "share": shared / sizes,
            "evidence": self._evidence(item, places, begins, run),
            "rarest": self._least(self.documents[self._windows(item, places, begins)], begins),
        }
        arrays = [pa.array(columns[kind.name]).cast(kind.type) for kind in MATCHES]
        matches = pa.RecordBatch.from_arrays(arrays, schema=MATCHES)
        proven = columns["evidence"] != "common"
        return matches, proven, candidates.filter(pa.array(proven))

    def _windows(self, item: Int32s, places: Int32s, begins: Int64s) -> Int32s:
        """The numbers of the windows at ``places`` of items; those of match k begin at ``begins[k]``."""
        counts = np.diff(begins, append=len(places))
        windows: Int32s = self.items.windows[np.repeat(self.items.starts[item], counts) + places]
        return windows

    @staticmethod
    def _least(values: Int32s | UInt32s, begins: Int64s) -> Int64s:
        """The least of the values of each match, which has one at least."""
        return np.minimum.reduceat(values, begins).astype(np.int64) if len(begins) else np.empty(0, np.int64)

    def _evidence(self, item: Int32s, places: Int32s, begins: Int64s, run: Int64s) -> NDArray[np.str_]:
        """What proves each match of places in an item, or ``common``: nothing but common text."""
        weighty, far = ~self.common[self._windows(item, places, begins)], np.iinfo(np.int32).max
        first = self._least(np.where(weighty, places, far), begins)
        last = -self._least(np.where(weighty, -places, far), begins)
        share, tokens = self.rules.share, self.items.token_counts[item]
        long = np.minimum(self.rules.run, -(-tokens * share.numerator // share.denominator))
        kinds = [
            first == far,
            np.diff(self.items.starts)[item] == 1,
            last - first >= self.items.lengths[item],
            run >= long,
        ]
        return np.select(kinds, ["common", "whole", "shingles", "run"], "common")

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
