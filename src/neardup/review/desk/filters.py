"""A filter in the query grammar of collections → the groups that it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from neardup.collection.query import canonical, parse
from neardup.collection.query.syntax import And, FieldClause, Fingerprint, Node, Not, Or, WordsClause
from neardup.errors import QueryError
from neardup.tables import Bools


class Fields(Protocol):
    """The clauses that a filter can evaluate."""

    def holds(self, clause: FieldClause, query: str) -> Bools:
        """Return the groups for which a comparison holds."""


Words = Callable[[WordsClause, str], Bools]
"""Returns the groups with a member that contains the words."""
Alike = Callable[[Fingerprint, str], Bools]
"""Returns the groups with a member that a fingerprint clause finds."""


def filtered(
    text: str, groups: int, fields: Fields, words: Words, alike: Alike | None = None
) -> tuple[Bools, str]:
    """Return which groups a filter finds, and its canonical form; all for a blank one.

    ``alike`` answers fingerprint clauses, which are refused without it.

    Raises QueryError, with the position, for a filter that cannot be read or names something unknown.
    """
    if not text.strip():
        return np.ones(groups, np.bool_), ""
    query = parse(text)
    if query.explain:
        raise QueryError("EXPLAIN shows no groups", "A filter", "Leave it out", query=text)

    def found(node: Node) -> Bools:
        if isinstance(node, And):
            every: Bools = np.logical_and.reduce([found(part) for part in node.parts])
            return every
        if isinstance(node, Or):
            some: Bools = np.logical_or.reduce([found(part) for part in node.parts])
            return some
        if isinstance(node, Not):
            return ~found(node.part)
        if isinstance(node, Fingerprint):
            if alike is None:
                raise _not_here(node, text)
            return alike(node, text)
        return fields.holds(node, text) if isinstance(node, FieldClause) else words(node, text)

    return found(query.root), canonical(query)


def _not_here(clause: Fingerprint, query: str) -> QueryError:
    name = "SIMILAR" if clause.symmetric else "FINGERPRINT"
    return QueryError(
        f"{name} compares documents, and a result has only the pairs that the run found",
        "Fields, words and phrases",
        "Make a collection of the documents to search by similarity",
        query=query,
        position=clause.span[0],
    )
