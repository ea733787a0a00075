"""Documents in an order → groups, each around its first document: the rule of principal groups, with decisions.

Pure: it is told what resembles what, and knows no store.
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
    """A group around ``leader``, or a document alone: of each document (the leader too) what it shares with it."""

    leader: int
    shared: dict[int, int]

    @property
    def alone(self) -> bool:
        """Whether this is no group."""
        return len(self.shared) == 1


def form(order: Sequence[int], ties: Ties, counted: Counted, reaches: Reaches) -> list[Formed]:
    """Groups of the documents in ``order``; bundles must be in it whole.

    The first document leads. In its group are its bundle, and of the others, in this order, each bundle of which a
    document reaches the leader, unless it was decided to be different from somebody who is in. Those
    that are left go on in the same way.
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
