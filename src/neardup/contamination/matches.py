"""Training texts → the test items they contain, by complete counts of windows, and the evidence for each match."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from neardup.comparison.matching import literal, pair_of
from neardup.contamination.items import TestItems, Windows, of_length
from neardup.settings import Settings
from neardup.tables import Bools, Int64s
from neardup.text.units import words

PASSAGE = 2000
"""The most characters of a passage that a match keeps."""

Evidence: TypeAlias = Literal["shingles", "run", "whole", "common"]
"""Two independent shingles; a run of tokens; a whole short item; or text that is common, which proves nothing."""


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

    def least(self, size: int) -> int:
        """The least number of matched shingles of an item with ``size`` of them."""
        return int(self.least_of(np.array([size]))[0])

    def least_of(self, sizes: Int64s) -> Int64s:
        """The same for items of several sizes."""
        whole, part = self.share.denominator, self.share.numerator
        return np.maximum(1, -(-sizes * part // whole))

    def most_documents(self, documents: int) -> int:
        """The largest number of documents with a shingle that is not common."""
        return max(self.always, int(self.common * documents))


class ItemMatch(NamedTuple):
    """An item in a training text.

    ``row`` is the row of the text in its chunk. ``matched`` tells which windows of the item the text has. The
    longest common run has ``run`` tokens, and is ``text[begin:end]``.
    """

    row: int
    windows: int
    place: int
    matched: Bools
    shared: int
    run: int
    begin: int
    end: int
    passage: str


@dataclass(frozen=True, eq=False)
class Scanned:
    """The matches of some training texts, and how many of them have each distinct window of the items."""

    texts: int
    matches: Sequence[ItemMatch]
    documents: Sequence[Int64s]


def scan(texts: pa.Array, items: TestItems, settings: Settings, rules: MatchRules) -> Scanned:
    """Find every item in the texts to the least share.

    All windows of all texts are looked up, so no such item is missed. The memory is that of the items.
    """
    matches: list[ItemMatch] = []
    documents = []
    for number, windows in enumerate(items.windows):
        met = windows.wanted.in_texts(texts, of_length(settings, windows.length))
        documents.append(np.bincount(met[:, 1], minlength=len(windows.distinct)))
        for row, places in _rows_with_enough(met, windows, rules):
            hashes = windows.distinct[places]
            for item, shared in _contained(windows, places, rules):
                matched = np.isin(windows.of(item), hashes)
                matches.append(_match(texts[row].as_py(), row, (number, item), matched, shared, items))
    return Scanned(len(texts), matches, documents)


def _rows_with_enough(met: Int64s, windows: Windows, rules: MatchRules) -> Iterator[tuple[int, Int64s]]:
    """The texts with enough windows for the smallest item, each with the places of its windows."""
    rows, begins, counts = np.unique(met[:, 0], return_index=True, return_counts=True)
    least = rules.least(int(windows.sizes.min()))
    for k in np.flatnonzero(counts >= least).tolist():
        yield int(rows[k]), met[begins[k] : begins[k] + counts[k], 1]


def _contained(windows: Windows, places: Int64s, rules: MatchRules) -> Iterator[tuple[int, int]]:
    """The items that hold enough of the windows at these places, and how many."""
    lists = [windows.items_of[windows.starts[place] : windows.starts[place + 1]] for place in places.tolist()]
    items, shared = np.unique(np.concatenate(lists), return_counts=True)
    enough = shared >= rules.least_of(windows.sizes[items])
    yield from zip(items[enough].tolist(), shared[enough].tolist(), strict=True)


def _match(
    text: bytes | str, row: int, where: tuple[int, int], matched: Bools, shared: int, items: TestItems
) -> ItemMatch:
    number, place = where
    windows = items.windows[number]
    read = words(text.decode("utf-8", "replace") if isinstance(text, bytes) else text, items.key)
    tiles = literal(pair_of(items.tokens_of(int(windows.items[place])), read.hashes), windows.length).tiles
    begin, run = tiles[np.argmax(tiles[:, 2]), 1:].tolist()
    first, last = int(read.spans[begin, 0]), int(read.spans[begin + run - 1, 1])
    passage = read.quote(begin, begin + run)[:PASSAGE]
    return ItemMatch(row, number, place, matched, shared, run, first, last, passage)


@dataclass(eq=False)
class Weights:
    """How common each distinct window of the items is: documents of the training side, and test sets."""

    items: TestItems
    documents: list[Int64s] = field(default_factory=list)
    texts: int = 0

    def __post_init__(self) -> None:
        self.documents = [np.zeros(len(windows.distinct), np.int64) for windows in self.items.windows]
        self._sets = [self.items.sets_with(windows) for windows in self.items.windows]

    def add(self, scanned: Scanned) -> None:
        """Count the windows of more training texts."""
        self.texts += scanned.texts
        for counts, more in zip(self.documents, scanned.documents, strict=True):
            counts += more

    def common(self, number: int, rules: MatchRules) -> Bools:
        """Which distinct windows are common, of the windows with this number."""
        return (self.documents[number] > rules.most_documents(self.texts)) | (self._sets[number] > 1)

    def sets(self, number: int) -> Int64s:
        """The number of test sets with each distinct window."""
        return self._sets[number]

    def evidence(self, match: ItemMatch, rules: MatchRules) -> Evidence:
        """What proves a match, or ``common``: nothing but common text."""
        windows = self.items.windows[match.windows]
        item = int(windows.items[match.place])
        places = np.searchsorted(windows.distinct, windows.of(match.place))
        weighty = match.matched & ~self.common(match.windows, rules)[places]
        if not weighty.any():
            return "common"
        if len(places) == 1:
            return "whole"
        where = np.flatnonzero(weighty)
        if where[-1] - where[0] >= windows.length:
            return "shingles"
        tokens = int(self.items.sizes[item])
        return "run" if match.run >= min(rules.run, ceil(rules.share * tokens)) else "common"

    def rarest(self, match: ItemMatch) -> int:
        """The number of training documents with the rarest matched window."""
        windows = self.items.windows[match.windows]
        places = np.searchsorted(windows.distinct, windows.of(match.place)[match.matched])
        return int(self.documents[match.windows][places].min())
