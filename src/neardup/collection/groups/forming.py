"""Form groups of documents, each around its first document: the rule of principal groups, with decisions.

Pure functions: the caller provides the counts and the threshold; nothing is read from a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

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


Counted = Callable[[int, Sequence[int]], dict[int, int]]
"""(a document, others) → |A∩B| with each of the others."""
Reaches = Callable[[int, int, int], bool]
"""(a document, another, |A∩B|) → whether that is enough for a group around the first."""


@dataclass(frozen=True)
class Formed:
    """A group around ``leader``, or a single document.

    ``shared`` maps each document, the leader included, to the number of shingles that it shares with the leader.
    """

    leader: int
    shared: dict[int, int]

    @property
    def alone(self) -> bool:
        """Whether the leader is the only document."""
        return len(self.shared) == 1


def form(order: Sequence[int], ties: Ties, counted: Counted, reaches: Reaches) -> list[Formed]:
    """Form groups of the documents in ``order``, which must contain every bundle whole.

    The first document leads. Its group contains its own bundle. Each other bundle joins, in this order, if one of
    its documents reaches the leader and no decision separates it from a document already in the group. The
    remaining documents form groups in the same way.
    """
    left, made = list(order), []
    while left:
        leader, others = left[0], left[1:]
        shared = counted(leader, left)
        inside = set(ties.bundle(leader))
        seen = set(inside)
        for document in others:
            if document in seen:
                continue
            bundle = ties.bundle(document)
            seen.update(bundle)
            near = any(reaches(leader, one, shared[one]) for one in bundle)
            if near and not ties.apart(bundle, inside):
                inside.update(bundle)
        made.append(Formed(leader, {one: shared[one] for one in left if one in inside}))
        left = [one for one in left if one not in inside]
    return made
