"""Form groups of documents, each around its first document: the rule of principal groups, with decisions.

Pure functions: the caller provides the counts and the threshold; nothing is read from a store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from neardup.collection.groups.ties import Ties

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
