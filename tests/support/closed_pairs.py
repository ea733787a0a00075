"""The naive twin of closing: what a run finds, from what its candidates find."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

Id = TypeVar("Id", bound=Hashable)


def closed(found: Iterable[tuple[Id, Id]], true: Iterable[tuple[Id, Id]]) -> set[tuple[Id, Id]]:
    """Return the true pairs whose documents some chain of those that are found joins."""
    wanted = set(true)
    parent: dict[Id, Id] = {}

    def root(k: Id) -> Id:
        while parent.setdefault(k, k) != k:
            k = parent[k]
        return k

    for a, b in wanted.intersection(found):
        parent[root(a)] = root(b)
    return {(a, b) for a, b in wanted if root(a) == root(b)}
