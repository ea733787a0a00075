"""Training texts → the test items that they contain, by complete counts of windows; not yet weighed."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from neardup.corpus.contamination.items import TestItems
from neardup.kernels.match import longest_runs
from neardup.kernels.passages import ascii_run_bytes, token_stream
from neardup.kernels.sketch import WORD, items_met, places_matched, rarest_windows
from neardup.kernels.text import Key
from neardup.settings import Settings
from neardup.tables import Int32s, Int64s, UInt64s
from neardup.text.sketch import text_batch
from neardup.text.units import words
from neardup.unicode import unicode_tables

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
    starts: Int32s
    """A text with window w is searched for the items ``proposed[starts[w]:starts[w + 1]]``."""

    @classmethod
    def of(cls, items: TestItems, settings: Settings, rules: MatchRules) -> "ItemSearch":
        """Choose the windows that propose each item: the rarest among the items."""
        least = rules.least_of(items.sizes)
        proposed, starts = rarest_windows(items.sets, least, items.distinct)
        return cls(items, settings, rules, least, proposed, starts)


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
    return Scanned(len(texts), _candidates(texts, hits, met, search.items), windows, documents)


def _candidates(texts: pa.Array, hits: Int64s, met: Int64s, items: TestItems) -> pa.Table:
    """The CANDIDATES of ``hits`` (text, item, windows)."""
    ranges = np.column_stack([np.searchsorted(met[:, 0], hits[:, 0], side) for side in ("left", "right")])
    matched, ends = places_matched(met, ranges, hits[:, 1].copy(), items.windows, items.starts)
    lists = pa.ListArray.from_arrays(pa.array(np.append(0, ends), pa.int32()), pa.array(matched))
    trained, tested = (
        _Hit.of(texts, hits[:, 0], items.key),
        _Hit.of(items.items.column("text"), hits[:, 1], items.key),
    )
    pairs = np.column_stack((tested.numbers, trained.numbers))
    runs = longest_runs((tested.tokens, tested.ends), (trained.tokens, trained.ends), pairs)
    in_text, in_item = trained.places(runs[:, 1], runs[:, 2]), tested.places(runs[:, 0], runs[:, 2])
    passages, contexts = trained.passages(in_text)
    numbers = hits[:, 0], hits[:, 1].astype(np.int32), hits[:, 2], lists, runs[:, 2]
    places = in_text[:, 0], in_text[:, 1], in_item[:, 0], in_item[:, 1]
    return pa.table([*map(pa.array, (*numbers, *places)), passages, contexts], schema=CANDIDATES)


@dataclass(frozen=True, eq=False)
class _Hit:
    """The texts of matches: ``numbers`` (int64[matches]) is that of each among ``texts``, which have tokens."""

    numbers: Int64s
    texts: pa.Array
    tokens: UInt64s
    ends: Int64s
    key: Key

    @classmethod
    def of(cls, texts: pa.Array, chosen: Int64s, key: Key) -> "_Hit":
        """Hash the ``chosen`` texts, each once."""
        distinct, numbers = np.unique(chosen, return_inverse=True)
        some = texts.take(pa.array(distinct)).cast(pa.large_binary())
        tokens, ends = token_stream(text_batch(some), unicode_tables(), WORD, key)
        return cls(numbers, some, tokens, ends, key)

    def places(self, first: Int64s, count: Int64s) -> Int64s:
        """The characters of ``count`` tokens from ``first`` on in the text of each match: int64[matches, 2]."""
        order = np.argsort(self.numbers, kind="stable")
        runs = np.column_stack((self.numbers, first, count))[order]
        places = np.empty((len(runs), 2), np.int64)
        places[order] = ascii_run_bytes(text_batch(self.texts), runs)
        rest = order[places[order, 0] < 0]
        text, spans = -1, np.empty((0, 2), np.int64)
        for match in rest.tolist():
            if self.numbers[match] != text:
                text = int(self.numbers[match])
                spans = words(decode_text(self.texts[text].as_py()), self.key).spans
            places[match] = spans[first[match], 0], spans[first[match] + count[match] - 1, 1]
        return places

    def passages(self, places: Int64s) -> tuple[pa.Array, pa.Array]:
        """The characters at ``places`` of the text of each match, alone and with those around them."""
        passages, contexts, read, text = [], [], -1, ""
        for number, (begin, end) in zip(self.numbers.tolist(), places.tolist(), strict=True):
            if number != read:
                read, text = number, decode_text(self.texts[number].as_py())
            passages.append(valid_text(text[begin : min(end, begin + PASSAGE)]))
            contexts.append(valid_text(text[max(0, begin - CONTEXT) : min(end, begin + PASSAGE) + CONTEXT]))
        return pa.array(passages, pa.large_string()), pa.array(contexts, pa.large_string())


def decode_text(text: bytes) -> str:
    """The text as characters; bytes that are not UTF-8 stay apart, and belong to no token."""
    return text.decode("utf-8", "surrogateescape")


def valid_text(text: str) -> str:
    """The text without the bytes that are not UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
