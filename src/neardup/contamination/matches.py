"""Training texts → the test items that they contain, by complete counts of windows; not yet weighed."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.contamination.items import TestItems
from neardup.kernels.match.runs import longest_run
from neardup.kernels.sketch.windows import items_met
from neardup.settings import Settings
from neardup.tables import Int32s, Int64s
from neardup.text.units import Units, words

PASSAGE = 2000
"""The most characters of a passage that a match keeps."""

CONTEXT = 200
"""The characters before and after a passage that the report shows with it."""

CANDIDATES = pa.schema(
    [
        ("text", pa.int64()),
        ("item", pa.int32()),
        ("shared", pa.int64()),
        ("matched", pa.list_(pa.int32())),
        ("run", pa.int64()),
        ("begin", pa.int64()),
        ("end", pa.int64()),
        ("item_begin", pa.int64()),
        ("item_end", pa.int64()),
        ("passage", pa.large_string()),
        ("context", pa.large_string()),
    ]
)
"""An item in a text: the number of the text and of the item, the distinct windows of the item that it has, their
places in the item, and the longest common run in tokens, with its characters in the text and in the item."""


@dataclass(frozen=True)
class MatchRules:
    """When an item is contained: the least ``share`` of its shingles, and how its matched text must be.

    A shingle in more than ``common`` of the training documents, and in more than ``always`` of them, is common.
    Shingles in several test sets are common too. A match has two shingles that are not common and do not overlap,
    or a ``run`` of tokens with one; of a short item, all of the text that ``share`` asks for is long enough.
    """

    share: Fraction = Fraction(4, 5)
    run: int = 13
    common: Fraction = Fraction(1, 1000)
    always: int = 10

    def least_of(self, sizes: Int64s) -> Int64s:
        """The least number of matched shingles of items with ``sizes`` of them."""
        whole, part = self.share.denominator, self.share.numerator
        return np.maximum(1, -(-sizes * part // whole))

    def most_documents(self, documents: int) -> int:
        """The largest number of documents with a shingle that is not common."""
        return max(self.always, int(self.common * documents))


@dataclass(frozen=True, eq=False)
class ItemSearch:
    """The items, and how texts are searched for them.

    If a text needs m of the n windows of an item, it has at least one of the n - m + 1 rarest windows. Only these
    propose the item: phrases of many items propose few items, and no item is missed.
    """

    items: TestItems
    settings: Settings
    rules: MatchRules
    least: Int64s
    proposed: Int32s
    starts: Int64s
    """A text with window w is searched for the items ``proposed[starts[w]:starts[w + 1]]``."""

    @classmethod
    def of(cls, items: TestItems, settings: Settings, rules: MatchRules) -> "ItemSearch":
        """Choose the windows that propose each item: the rarest among the items."""
        windows, offsets = items.sets
        sizes = items.sizes
        least = rules.least_of(sizes)
        item = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((windows, np.bincount(windows, minlength=items.distinct)[windows], item))
        rank = np.arange(len(order)) - offsets[item]  # the order keeps the items together
        chosen = rank < (sizes - least + 1)[item]
        windows, item = windows[order][chosen], item[chosen]
        by_window = np.argsort(windows, kind="stable")
        starts = np.searchsorted(windows[by_window], np.arange(items.distinct + 1))
        return cls(items, settings, rules, least, item[by_window].astype(np.int32), starts)


@dataclass(frozen=True, eq=False)
class Scanned:
    """The matches of some training texts (CANDIDATES), and how many of the texts have each window that any has."""

    texts: int
    candidates: pa.Table
    windows: Int64s
    documents: Int64s


def scan(texts: pa.Array, search: ItemSearch) -> Scanned:
    """Find every item in the texts to the least share.

    All windows of all texts are looked up, so no such item is missed. The memory is that of the items.
    """
    met = search.items.wanted.in_texts(texts, search.settings)
    windows, documents = np.unique(met[:, 1], return_counts=True)
    hits = items_met(met, (search.proposed, search.starts), search.items.sets, search.least)
    rows = list(_matches(texts, hits, met, search.items))
    columns = zip(*rows, strict=True) if rows else ([] for _ in CANDIDATES)
    arrays = [pa.array(column, kind.type) for column, kind in zip(columns, CANDIDATES, strict=True)]
    return Scanned(len(texts), pa.Table.from_arrays(arrays, schema=CANDIDATES), windows, documents)


def _matches(texts: pa.Array, hits: Int64s, met: Int64s, items: TestItems) -> Iterator[tuple[Any, ...]]:
    """The rows of CANDIDATES; each text with a match is read once."""
    begins = np.searchsorted(met[:, 0], hits[:, 0])
    ends = np.searchsorted(met[:, 0], hits[:, 0], "right")
    text, read = -1, words("", items.key)
    for (row, item, shared), begin, end in zip(hits.tolist(), begins.tolist(), ends.tolist(), strict=True):
        if row != text:
            text, read = row, words(decoded(texts[row].as_buffer().to_pybytes()), items.key)
        windows, here = items.windows_of(item), met[begin:end, 1]  # ascending
        matched = np.flatnonzero(here[np.searchsorted(here[:-1], windows)] == windows)
        yield row, item, shared, matched.tolist(), *_passage(items, item, read)


def _passage(items: TestItems, item: int, read: Units) -> tuple[int, int, int, int, int, str, str]:
    """The longest common run, its characters in the text and in the item, and its text alone and in context."""
    of_item, of_text, run = longest_run(items.tokens_of(item), read.hashes)
    begin, end = int(read.spans[of_text, 0]), int(read.spans[of_text + run - 1, 1])
    spans = items.spans_of(item)
    context = read.text[max(0, begin - CONTEXT) : min(end, begin + PASSAGE) + CONTEXT]
    places = begin, end, int(spans[of_item, 0]), int(spans[of_item + run - 1, 1])
    return run, *places, shown(read.text[begin:end][:PASSAGE]), shown(context)


def decoded(text: bytes) -> str:
    """The text as characters; bytes that are not UTF-8 stay apart, and belong to no token."""
    return text.decode("utf-8", "surrogateescape")


def shown(text: str) -> str:
    """The text without the bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
