"""The differences of pairs of documents in words, and their similarities counted on the texts."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np

from neardup.comparison.kinds import (
    CONTAINED,
    IDENTICAL,
    INSERTED,
    KINDS,
    MOVED,
    NUMBERS,
    QUOTED,
    SIGNS,
    STYLE,
    WORDING,
)
from neardup.comparison.kinds.rules import Kind, kind_of
from neardup.deduplication.pairs import similarity_of
from neardup.display import counted
from neardup.errors import NeardupError
from neardup.io.contents import differing_in
from neardup.review.desk.index import ResultDocuments, ResultIndex
from neardup.review.desk.texts import Budget, TextReader
from neardup.settings import MEASURES, Settings, as_compared
from neardup.tables import UInt64s
from neardup.text.characters import SIGN
from neardup.text.cleaning import cleaner_of
from neardup.text.sketch import shingle_hashes

MOST_BYTES = 1 << 20
"""Pairs with more text than this are not compared for a line of a list, longer documents not counted."""
HELD = 100_000

_STORED = {
    IDENTICAL: "the same text",
    SIGNS: "differs in a sign or operator",
    STYLE: "differs in case or punctuation",
    NUMBERS: "differs in numbers",
    QUOTED: "one quotes the other",
    CONTAINED: "one contains the other",
    INSERTED: "one has one more passage",
    MOVED: "the same text in another order",
    WORDING: "differs in wording",
}

_HELD = 500


def kind_in_words(kind: int) -> str:
    """Return a few words for the number of a kind; "" if it is unknown."""
    return _STORED[KINDS[kind]] if kind >= 0 else ""


def difference_in_words(kind: Kind) -> str:
    """Return how text B differs from A, in a few words; "" if that cannot be determined.

    >>> from neardup.comparison.kinds.rules import kind_of
    >>> from neardup.text.units import read
    >>> difference_in_words(kind_of(read("Pay 10 coins by noon"), read("Pay 1,200 coins by noon")))
    'differs in 1 number'
    >>> difference_in_words(kind_of(read("Pay 10 coins"), read("Pay 10 coins by noon")))
    'adds 2 words'
    >>> difference_in_words(kind_of(read("Pay -10 coins by noon today"), read("Pay 10 coins by noon")))
    'lacks 1 word in 1 place; 1 sign or operator differs in equal text'
    """
    signs = kind.characters[SIGN]
    beside = f"; {counted(signs, 'sign or operator differs', 'signs or operators differ')} in equal text"
    return _description(kind) + beside * (bool(signs) and kind.name not in (None, SIGNS))


def _description(kind: Kind) -> str:
    if kind.name is None:
        return ""
    if kind.name == NUMBERS:
        return f"differs in {counted(kind.numbers[0], 'number')}"
    if kind.blocks is None or kind.name == MOVED or not any(kind.blocks.left):
        return _STORED[kind.name]
    if kind.name == QUOTED:
        own = counted(kind.own, "word")
        return f"quotes it and has {own} of its own" if kind.larger else f"is quoted, with {own} around it"
    if kind.name in (CONTAINED, INSERTED):
        passage = "a passage of " if kind.name == INSERTED else ""
        return f"{'adds' if kind.larger else 'lacks'} {passage}{counted(kind.own, 'word')}"
    left = kind.blocks.left
    most = "at most " if kind.blocks.at_most else ""
    parts = [f"{verb} {most}{n:,}" for verb, n in (("lacks", left[0]), ("adds", left[1])) if n]
    words = "word" if (left[1] or left[0]) == 1 else "words"
    return f"{' and '.join(parts)} {words} in {counted(kind.blocks.places, 'place')}"


class Differences:
    """The differences of pairs of documents, computed when a page shows them, and kept."""

    def __init__(self, documents: ResultDocuments, reader: TextReader) -> None:
        self._documents, self._reader = documents, reader
        self._lock = threading.Lock()
        self._held: dict[tuple[int, int], tuple[int, str]] = {}

    def knows(self, member: int, head: int) -> bool:
        """Return whether a difference was computed before."""
        return (member, head) in self._held

    def of(self, member: int, head: int, budget: Budget | None = None) -> tuple[int, str]:
        """Return the number of the kind of difference of a member from its representative, and the words for it.

        It is (−1, "") if the texts cannot be read or are long, or when the ``budget`` is spent.
        """
        key = member, head
        difference = self._held.get(key)
        if difference is None:
            if budget is not None and not budget.allows():
                return -1, ""
            difference = self.compute(member, head)
            with self._lock:
                if len(self._held) >= HELD:
                    self._held.clear()
                self._held[key] = difference
        return difference

    def forget(self) -> None:
        """Drop all computed results: texts have changed."""
        with self._lock:
            self._held.clear()

    def compute(self, member: int, head: int) -> tuple[int, str]:
        """Return the same as ``of``, computed now and not kept."""
        sizes = self._documents.bytes
        if not self._reader.known or int(sizes[member] + sizes[head]) > MOST_BYTES:
            return -1, ""
        try:
            kind = kind_of(self._reader.reading(head), self._reader.reading(member))
        except (NeardupError, OSError):
            return -1, ""
        beside = ", ".join(differing_in(self._documents.table, member, head))
        words = "; not compared: ".join(filter(None, (difference_in_words(kind), beside)))
        return (-1 if kind.name is None else KINDS.index(kind.name)), words


Counts = tuple[int, int, int]
"""|A∩B|, |A| and |B| on shingles."""


class ComputedPairs:
    """Counts the shingles of pairs as the run did; only for measures on shingles, and runs without base text."""

    def __init__(self, index: ResultIndex, reader: TextReader) -> None:
        run = index.found.run
        self._settings, self._index, self._reader = run.settings, index, reader
        self._cleaner = cleaner_of(Settings.of(**as_compared(run.settings)).cleaning)
        self._measure = MEASURES[self._settings["measure"]]
        self.usable = self._measure.of_shingles and not run.base_text
        self._lock = threading.Lock()
        self._sets: OrderedDict[int, UInt64s] = OrderedDict()
        self._counts: OrderedDict[tuple[int, int], Counts] = OrderedDict()

    def forget(self) -> None:
        """Drop all counts: texts have changed."""
        with self._lock:
            self._sets.clear()
            self._counts.clear()

    def counts(self, a: int, b: int, budget: Budget | None = None) -> Counts | None:
        """Return the counts of two documents; None if they cannot be counted, or when the ``budget`` is spent."""
        key = min(a, b), max(a, b)
        known = self._counts.get(key)
        if known is None and self.usable and (budget is None or budget.allows()):
            known = self._shingle_counts(*key)
            if known is not None:
                with self._lock:
                    self._counts[key] = known
                    if len(self._counts) > _HELD**2:
                        self._counts.popitem(last=False)
        return known if known is None or key == (a, b) else (known[0], known[2], known[1])

    def similarity(self, a: int, b: int, budget: Budget | None = None) -> float | None:
        """Return the similarity of two documents by the measure of the run, in the better direction."""
        counts = self.counts(a, b, budget)
        if counts is None:
            return None
        shared, one, other = (np.array([count]) for count in counts)
        both = (similarity_of(shared, *sizes, self._measure.formula) for sizes in ((one, other), (other, one)))
        return float(max(value[0] for value in both))

    def _shingle_counts(self, a: int, b: int) -> Counts | None:
        try:
            of_a, of_b = self._shingle_set(a), self._shingle_set(b)
        except (NeardupError, OSError):
            return None
        if of_a is None or of_b is None:
            return None
        return len(np.intersect1d(of_a, of_b, assume_unique=True)), len(of_a), len(of_b)

    def _shingle_set(self, document: int) -> UInt64s | None:
        """Return the different shingles of a document; None for a long one."""
        if self._index.documents.bytes[document] > MOST_BYTES or not self._reader.known:
            return None
        shingles = self._sets.get(document)
        if shingles is None:
            reading = self._reader.reading(document, self._cleaner)
            units = reading.units(self._settings["unit"] == "word").hashes
            hashes = np.empty(max(len(units), 1), np.uint64)
            length = self._settings["length"]
            shingles = np.unique(hashes[: shingle_hashes(units, len(units), length, reading.key.shingles, hashes)])
            with self._lock:
                self._sets[document] = shingles
                if len(self._sets) > _HELD:
                    self._sets.popitem(last=False)
        return shingles
