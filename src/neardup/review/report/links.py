"""The pairs of a result in numbers: their similarities, and the groups of their ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from neardup.comparison.kinds.names import KINDS
from neardup.review.desk.index import Kinds
from neardup.run.kinds import KIND
from neardup.tables import Bools, Floats, Int64s

if TYPE_CHECKING:
    from neardup.review.desk.index import ResultIndex


@dataclass(frozen=True, eq=False)
class PairFigures:
    """The stored pairs: ``value`` is their similarity, ``a`` and ``b`` the groups of their ends (-1: none).

    ``kinds`` are numbers in ``KINDS``.
    """

    table: pa.Table
    value: Floats
    a: Int64s
    b: Int64s
    kinds: Kinds

    @cached_property
    def between(self) -> Bools:
        """The pairs whose ends are in different groups, or one of them in none."""
        apart: Bools = (self.a != self.b) | (self.a < 0)
        return apart

    def lowest(self, most: int) -> Int64s:
        """Return the pairs closest to the threshold, the lowest first."""
        return np.argsort(self.value, kind="stable")[:most]

    def strongest_between(self, most: int) -> Int64s:
        """Return the pairs between groups, the most similar first."""
        rows = np.flatnonzero(self.between)
        return rows[np.argsort(-self.value[rows], kind="stable")[:most]]

    def kinds_inside(self, group: int) -> dict[str, int]:
        """Return the kinds of difference of the pairs inside a group, the most frequent first."""
        if KIND not in self.table.column_names:
            return {}
        numbers, counts = np.unique(self.kinds[(self.a == group) & (self.b == group)], return_counts=True)
        named = [(KINDS[number] if number >= 0 else "not determined") for number in numbers.tolist()]
        in_order = sorted(zip(named, counts.tolist(), strict=True), key=lambda one: (-one[1], one[0]))
        return dict(in_order)


def pair_figures(index: ResultIndex) -> PairFigures:
    """Count the stored pairs of a result."""
    pairs = index.pairs
    a, b = (index.group_of[end] for end in pairs.ends)
    return PairFigures(index.found.pairs, pairs.similarity, a, b, pairs.kinds)
