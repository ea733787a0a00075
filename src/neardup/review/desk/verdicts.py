"""The decisions on a result as columns beside its index; each change is applied by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from neardup.io.decisions.records import (
    NO_DECISIONS,
    ChosenRepresentative,
    DecisionState,
    Fate,
    Id,
    Verdict,
)
from neardup.review.desk.index import ResultIndex
from neardup.tables import Bools, Int64s

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

K = TypeVar("K")


class VerdictIndex:
    """The verdicts on the members of each group.

    ``verdict`` (int8[members]) is a number in ``VERDICTS``, −1 without one; ``heads`` are the representatives,
    which people may have changed, and ``near`` the members to judge beside them. For each group ``count`` are the
    members with a verdict, and ``pairs`` all to judge.
    """

    def __init__(self, index: ResultIndex) -> None:
        self._index = index
        self.verdict: NDArray[np.int8] = np.full(len(index.members), -1, np.int8)
        self.near, self.heads, self.kinds = index.near.copy(), index.heads.copy(), index.kinds.copy()
        self.pairs: Int64s = index.size - 1 - index.copies
        self.count: Int64s = np.zeros(len(index), np.int64)
        self.state: DecisionState = NO_DECISIONS

    def apply(self, state: DecisionState) -> bool:
        """Bring the columns to the present state, and return whether anything changed."""
        before, self.state = self.state, state
        if state.number == before.number:
            return False
        changed = list(_changed(before.judgements, state.judgements))
        for group in _changed(before.choices, state.choices):
            self._lead(group, state.choices.get(group))
        for a, b in changed:
            member = self._member(a, b)
            if member is not None:
                self._judge(member)
        return True

    def changed_since(self, before: DecisionState) -> tuple[int, int] | None:
        """Return a pair of documents whose verdict is another than before: a member and its representative."""
        for a, b in _changed(before.judgements, self.state.judgements):
            member = self._member(a, b)
            if member is not None:
                return int(self._index.members[member]), int(self.heads[self._index.group[member]])
        return None

    def fate_of(self, id: Id) -> Fate | None:
        """Return the fate that people gave a document, or None."""
        found = self.state.fates.get(id)
        return None if found is None else found.fate

    @property
    def open(self) -> Bools:
        """Which groups have a member without a verdict."""
        undecided: Bools = self.count < self.pairs
        return undecided

    def _member(self, a: Id, b: Id) -> int | None:
        """Return the place of the member that a judgement of two ids concerns; None if it is no such pair."""
        index = self._index  # heads are found by id: one of the reference set may have that of a new document
        for member, head in ((a, b), (b, a)):
            document = index.documents.number(member)
            group = -1 if document is None else int(index.group_of[document])
            if document is not None and group >= 0 and index.documents.id(int(self.heads[group])) == head:
                place = int(index.member_of[document])
                if self.near[place]:
                    return place
        return None

    def _judge(self, member: int) -> None:
        index = self._index
        group = int(index.group[member])
        ids = index.documents.id(int(index.members[member])), index.documents.id(int(self.heads[group]))
        judged = self.state.verdict(*ids)
        now = -1 if judged is None else VERDICTS.index(judged.verdict)
        self.count[group] += int(now >= 0) - int(self.verdict[member] >= 0)
        self.verdict[member] = now

    def _lead(self, id: Id, choice: ChosenRepresentative | None) -> None:
        """Put the representative that people chose before the group of ``id``, or that of the result again."""
        index = self._index
        document = index.documents.number(id)
        group = -1 if document is None else int(index.group_of[document])
        chosen = document if choice is None else index.documents.number(choice.id)
        if group < 0 or chosen is None or index.group_of[chosen] != group:
            return
        inside = index.slice(group)
        self.heads[group] = chosen
        texts = index.documents.first[index.members[inside]]
        first = np.zeros(len(texts), np.bool_)
        first[np.unique(texts, return_index=True)[1]] = True
        self.near[inside] = first & (texts != index.documents.first[chosen])
        self.kinds[inside] = index.pairs.kinds_of(index.members[inside], np.full(len(texts), chosen))
        self.verdict[inside], self.count[group] = -1, 0
        self.pairs[group] = int(self.near[inside].sum())
        for member in (inside.start + np.flatnonzero(self.near[inside])).tolist():
            self._judge(member)


def _changed(before: Mapping[K, Any], after: Mapping[K, Any]) -> Iterator[K]:
    """Yield the keys with another value than before."""
    for key, value in after.items():
        if before.get(key) is not value:
            yield key
    for key in before:
        if key not in after:
            yield key
