"""Decisions about pairs as ties: documents that must or must not be together, regardless of their texts."""

from __future__ import annotations

from collections.abc import Iterable

from neardup.io.decisions.log import InForce
from neardup.io.decisions.records import TOGETHER

Pair = tuple[int, int]


class Ties:
    """The decisions about some documents.

    A *bundle* is a document with all documents that chains of "duplicate" and "keep both" connect to it.
    """

    def __init__(self, decisions: Iterable[InForce]) -> None:
        self._alike: dict[int, set[int]] = {}
        self._apart: dict[int, set[int]] = {}
        for row in decisions:
            if row.value == "unsure":
                continue
            linked = self._alike if row.value in TOGETHER else self._apart
            linked.setdefault(row.a, set()).add(row.b)
            linked.setdefault(row.b, set()).add(row.a)

    def bundle(self, document: int) -> list[int]:
        """The documents of a bundle, ascending."""
        return sorted(self._chains(document))

    def chain(self, a: int, b: int) -> list[Pair]:
        """The pairs of a shortest chain from a to b of documents that are alike; empty if there is none."""
        before = self._chains(a)
        if b not in before:
            return []
        path = []
        while b != a:
            path.append((before[b], b))
            b = before[b]
        return path[::-1]

    def not_alike(self, document: int) -> set[int]:
        """The documents that were decided not to be alike this one."""
        return self._apart.get(document, set())

    def apart(self, some: Iterable[int], others: set[int]) -> bool:
        """Whether a document of ``some`` is decided not to be alike one of ``others``."""
        return any(not others.isdisjoint(self.not_alike(document)) for document in some)

    def between(self, some: Iterable[int], others: set[int]) -> Pair | None:
        """A pair decided not to be alike, of one of ``some`` and one of ``others``; None if there is none."""
        pairs = [(a, b) for a in some for b in self.not_alike(a) & others]
        return min(pairs, default=None)

    def _chains(self, start: int) -> dict[int, int]:
        """Each document of the bundle, with its predecessor on the path from ``start``; breadth first."""
        before, ahead = {start: start}, [start]
        for document in ahead:
            for other in sorted(self._alike.get(document, ())):
                if other not in before:
                    before[other] = document
                    ahead.append(other)
        return before
