"""The fields of a filter on the groups of a collection; everything else is asked of the documents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neardup.collection import Collection
from neardup.collection.evaluate import Evaluation
from neardup.collection.query.plan import plan
from neardup.collection.query.syntax import Clause, FieldClause, Query
from neardup.review.desk.collected import Collected
from neardup.review.desk.filters import among, compared, refused
from neardup.review.desk.verdicts import VERDICTS
from neardup.tables import Bools

NAMES = ("size", "similarity", "decided", "verdict", "id")


class CollectionFields:
    """The fields of the groups of a collection."""

    def __init__(self, collection: Collection, collected: Collected) -> None:
        self._collection, self._collected = collection, collected

    def holds(self, clause: FieldClause, query: str) -> Bools:
        """Return the groups for which a comparison holds. Raises QueryError for an unknown field or value."""
        columns = self._collected.columns
        if clause.field in ("size", "similarity"):
            values = columns.size.astype(float) if clause.field == "size" else columns.lowest
            return compared(clause, query, values, "a number of documents, or a similarity from 0 to 1")
        if clause.field not in NAMES:
            return self.having(clause, query)
        if clause.operator not in (":", "=", "!="):
            given = f"The values of {clause.field} are names, and {clause.operator} compares numbers"
            raise refused(clause, query, given, f"{clause.field}:… or {clause.field}!=…")
        found: Bools = getattr(self, f"_{clause.field}")(clause, query)
        return ~found if clause.operator == "!=" else found

    def having(self, clause: Clause, query: str) -> Bools:
        """Return the groups with a member that a clause of the query language finds. Raises QueryError."""
        asked = Query(clause, text=query)
        with self._collection.view() as view:
            documents = Evaluation(plan(asked, view), view, include_self=True).documents()
            ids = view.ids(documents)
        return self._with_members(set(ids))

    def _with_members(self, ids: set[str]) -> Bools:
        groups = self._collected.groups.values()
        return np.array([any(member.id in ids for member in group.members) for group in groups], np.bool_)

    def _decided(self, clause: FieldClause, query: str) -> Bools:
        wanted = among(clause, query, ("yes", "no", "partly"))
        count, pairs = self._collected.columns.decided, self._collected.columns.pairs
        states: dict[str, Callable[[], Bools]] = {
            "yes": lambda: count == pairs,
            "no": lambda: (count == 0) & (pairs > 0),
            "partly": lambda: (count > 0) & (count < pairs),
        }
        return states[wanted]()

    def _verdict(self, clause: FieldClause, query: str) -> Bools:
        wanted = among(clause, query, VERDICTS)
        found = [one for one in self._collected.decisions.values() if one.verdict == wanted]
        return self._with_members({id for one in found for id in (one.a, one.b)})

    def _id(self, clause: FieldClause, query: str) -> Bools:
        return self._with_members({clause.value})
