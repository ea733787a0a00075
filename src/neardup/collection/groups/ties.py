"""Decisions about pairs as ties: documents that must or must not be together, regardless of their texts."""

from __future__ import annotations

from collections.abc import Iterable

from neardup.collection.groups.contract import DecisionRow

Pair = tuple[int, int]


class Ties:
    """The decisions about some documents.

    A *bundle* is a document with all documents that chains of "same" connect to it.
    """

    def __init__(self, decisions: Iterable[DecisionRow]) -> None:
        self._same: dict[int, set[int]] = {}
        self._different: dict[int, set[int]] = {}
        for row in decisions:
            linked = self._same if row.verdict == "same" else self._different
            linked.setdefault(row.a, set()).add(row.b)
            linked.setdefault(row.b, set()).add(row.a)

    def bundle(self, document: int) -> list[int]:
        """The documents of a bundle, ascending."""
        return sorted(self._chains(document))

    def chain(self, a: int, b: int) -> list[Pair]:
        """The pairs of a shortest chain of "same" from a to b; empty if there is none or if a is b."""
        before = self._chains(a)
        if b not in before:
            return []
        path = []
        while b != a:
            path.append((before[b], b))
            b = before[b]
        return path[::-1]

    def different(self, document: int) -> set[int]:
        """The documents that were decided to be different from this one."""
        return self._different.get(document, set())

    def apart(self, some: Iterable[int], others: set[int]) -> bool:
        """Whether a document of ``some`` is different from one of ``others``."""
        return any(not others.isdisjoint(self.different(document)) for document in some)

    def between(self, some: Iterable[int], others: set[int]) -> Pair | None:
        """A pair of different documents, one of ``some`` and one of ``others``; None if there is none."""
        pairs = [(a, b) for a in some for b in self.different(a) & others]
        return min(pairs, default=None)

    def _chains(self, start: int) -> dict[int, int]:
        """Each document of the bundle, with its predecessor on the path from ``start``; breadth first."""
        before, ahead = {start: start}, [start]
        for document in ahead:
            for other in sorted(self._same.get(document, ())):
                if other not in before:
                    before[other] = document
                    ahead.append(other)
        return before
