"""The difference of a member from its representative in a few words."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from neardup.comparison.kinds.names import (
    CONTAINED,
    IDENTICAL,
    INSERTED,
    KINDS,
    MOVED,
    NUMBERS,
    QUOTED,
    STYLE,
    WORDING,
)
from neardup.display import counted
from neardup.errors import NeardupError
from neardup.review.desk.budget import Budget
from neardup.review.desk.documents import ResultDocuments
from neardup.review.desk.reading import TextReader

if TYPE_CHECKING:
    from neardup.comparison.kinds.decide import Kind

MOST_BYTES = 1 << 20
"""Pairs with more text than this are not compared for a line of a list."""
HELD = 100_000

_STORED = {
    IDENTICAL: "the same text",
    STYLE: "differs in case or punctuation",
    NUMBERS: "differs in numbers",
    QUOTED: "one quotes the other",
    CONTAINED: "one contains the other",
    INSERTED: "one has one more passage",
    MOVED: "the same text in another order",
    WORDING: "differs in wording",
}


def named(kind: int) -> str:
    """Return a few words for the number of a kind; "" if it is unknown."""
    return _STORED[KINDS[kind]] if kind >= 0 else ""


def described(kind: Kind) -> str:
    """Return how text B differs from A, in a few words; "" if that cannot be determined.

    >>> from neardup.comparison.kinds.decide import kind_of
    >>> from neardup.text.units import read
    >>> described(kind_of(read("Pay 10 coins by noon"), read("Pay 1,200 coins by noon")))
    'differs in 1 number'
    >>> described(kind_of(read("Pay 10 coins"), read("Pay 10 coins by noon")))
    'adds 2 words'
    """
    if kind.name is None:
        return ""
    if kind.name == NUMBERS:
        return f"differs in {counted(kind.numbers[0], 'number')}"
    if kind.blocks is None or kind.name == MOVED:
        return _STORED[kind.name]
    left = kind.blocks.left
    if kind.name == QUOTED:
        own = counted(left[kind.larger], "word")
        return f"quotes it and has {own} of its own" if kind.larger else f"is quoted, with {own} around it"
    if kind.name in (CONTAINED, INSERTED):
        passage = "a passage of " if kind.name == INSERTED else ""
        return f"{'adds' if kind.larger else 'lacks'} {passage}{counted(left[kind.larger], 'word')}"
    most = "at most " if kind.blocks.at_most else ""
    parts = [f"{verb} {most}{n:,}" for verb, n in (("lacks", left[0]), ("adds", left[1])) if n]
    words = "word" if left[1] == 1 and parts[-1].startswith("adds") else "words"
    return f"{' and '.join(parts)} {words} in {counted(kind.blocks.places, 'place')}"


def difference_of(text: str, head: str) -> str:
    """Return how a text differs from that of the representative, in a few words; "" for long texts."""
    if len(text) + len(head) > MOST_BYTES:
        return ""
    from neardup.comparison.kinds.decide import kind_of  # imported late: lists need no kernels
    from neardup.text.units import read

    return described(kind_of(read(head), read(text)))


class Differences:
    """The differences of pairs of documents, computed when a page shows them, and kept."""

    def __init__(self, documents: ResultDocuments, reader: TextReader) -> None:
        self._documents, self._reader = documents, reader
        self._lock = threading.Lock()
        self._held: dict[tuple[int, int], tuple[int, str]] = {}
        self._ended, self._loaded = threading.Event(), False

    def warm(self) -> None:
        """Load the kernels that compare texts, which may take seconds; until then, pages use stored kinds."""
        from neardup.comparison.compare import compare

        try:
            comparison = compare("pay ten coins by noon today", "to all: pay ten coins by noon")
            assert comparison.difference
            assert comparison.alignment
            self._loaded = True
        finally:
            self._ended.set()

    @property
    def ready(self) -> bool:
        """Whether the kernels are loaded."""
        return self._loaded

    def ready_in(self, budget: Budget | None) -> bool:
        """Return whether the kernels are loaded, or will be while the budget lasts."""
        if budget is not None and not self._ended.wait(budget.left()):
            budget.short = True
        return self._loaded

    def of(self, member: int, head: int, budget: Budget | None = None) -> tuple[int, str]:
        """Return the number of the kind of difference of a member from its representative, and the words for it.

        It is (−1, "") if the texts cannot be read or are long, or when the ``budget`` is spent.
        """
        key = member, head
        found = self._held.get(key)
        if found is None:
            if budget is not None and not (self.ready_in(budget) and budget.allows()):
                return -1, ""
            found = self.computed(member, head)
            with self._lock:
                if len(self._held) >= HELD:
                    self._held.clear()
                self._held[key] = found
        return found

    def computed(self, member: int, head: int) -> tuple[int, str]:
        """Return the same as ``of``, computed now and not kept."""
        sizes = self._documents.bytes
        if not self._reader.known or int(sizes[member] + sizes[head]) > MOST_BYTES:
            return -1, ""
        from neardup.comparison.kinds.decide import kind_of  # imported late: lists need no kernels

        try:
            kind = kind_of(self._reader.reading(head), self._reader.reading(member))
        except (NeardupError, OSError):
            return -1, ""
        return (-1 if kind.name is None else KINDS.index(kind.name)), described(kind)
