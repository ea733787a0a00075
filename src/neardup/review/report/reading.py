"""The texts of a result for a page: the first words of documents, and whole texts, as far as they can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neardup.display import printable
from neardup.errors import NeardupError

if TYPE_CHECKING:
    from neardup.run.found import Found
    from neardup.run.records import Id

WORDS = 90
"""Characters of the first words of a document."""
SHORT = 100_000
"""Longest text to keep, in characters. Longer ones are read again; the kind of their difference stays unknown."""
_FAILURES = 3
"""After this many documents that cannot be read, no other is tried."""


class TextReading:
    """Documents of a result, short ones read once. ``why`` is the first reason why one could not be read."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._words: dict[Id, str] = {}
        self._short: dict[Id, str] = {}
        self._failures = 0
        self.why = ""

    def words(self, id: Id) -> str:
        """Return the first words of a document, "" if it cannot be read."""
        if id not in self._words:
            self._words[id] = brief(self.text(id) or "", WORDS)
        return self._words[id]

    def kind(self, a: Id, b: Id) -> str:
        """Return the kind of the difference of two documents, "" if they are long or cannot be read."""
        texts = self.text(a), self.text(b)
        if texts[0] is None or texts[1] is None or max(map(len, filter(None, texts)), default=0) > SHORT:
            return ""
        return _kind(texts[0], texts[1])

    def text(self, id: Id) -> str | None:
        """Return the text of a document, None if it cannot be read."""
        if id in self._short or self._failures >= _FAILURES:
            return self._short.get(id)
        try:
            text = self._found.look(id).text
        except NeardupError as error:
            self._failures += 1
            self.why = self.why or brief(printable(error.given), 4 * WORDS)
            return None
        if len(text) <= SHORT:
            self._short[id] = text
        return text


def _kind(a: str, b: str) -> str:
    from neardup.comparison.kinds.decide import (
        kind_of,
    )  # imported late: results with kinds do not need its kernels
    from neardup.text.units import read

    return kind_of(read(a), read(b)).name or ""


def brief(text: object, most: int) -> str:
    """Return a text on one line, cut to ``most`` characters.

    >>> brief("the night  is\\ndark", 12)
    'the night i…'
    """
    words = " ".join(str(text)[: 8 * most].split())
    return words if len(words) <= most else words[: most - 1] + "…"
