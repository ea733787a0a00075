"""The pairs of a result in numbers: their similarities, and the groups of their ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.run.looking import similarities
from neardup.tables import Bools, Floats, Int64s

if TYPE_CHECKING:
    from neardup.review.report.groups import GroupFigures
    from neardup.run.records import ResultRecord

BARS = 40
"""Largest number of bars of a histogram."""
_STEPS = (100, 50, 40, 20, 10)
"""Bars in the range from 0 to 1, from fine to coarse."""


@dataclass(frozen=True, eq=False)
class PairFigures:
    """The stored pairs: ``value`` is their similarity, ``a`` and ``b`` the groups of their ends (-1: none)."""

    table: pa.Table
    value: Floats
    a: Int64s
    b: Int64s

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
        if "kind" not in self.table.column_names:
            return {}
        inside = np.flatnonzero((self.a == group) & (self.b == group))
        counts = pc.value_counts(self.table["kind"].take(pa.array(inside))).to_pylist()
        in_order = sorted(counts, key=lambda count: (-count["counts"], str(count["values"])))
        return {str(count["values"] or "not determined"): count["counts"] for count in in_order}


def pair_figures(found: ResultRecord, groups: GroupFigures) -> PairFigures:
    """Count the stored pairs of a result."""
    ids, of_row = found.groups["id"].combine_chunks(), groups.of_row
    ends = []
    for name in ("id_a", "id_b"):
        rows = pc.fill_null(pc.index_in(found.pairs[name], value_set=ids), -1).to_numpy().astype(np.int64)
        ends.append(np.where(rows < 0, -1, of_row[rows]) if len(of_row) else rows)
    return PairFigures(found.pairs, similarities(found, found.pairs), *ends)


def bars(values: Floats, threshold: float) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Return the edges and the counts of a histogram from a little below the threshold up to 1.

    >>> edges, counts = bars(np.array([0.7, 0.95, 1.0]), 0.7)
    >>> edges[0], edges[-1], len(counts), sum(counts)
    (0.6, 1.0, 40, 3)
    """
    low = min(threshold, float(values.min(initial=1.0)))
    begin = max(0, int(low * 10 + 1e-9) - 1)  # in tenths, so that empty room below the line is seen
    step = next((step for step in _STEPS if step - begin * step // 10 <= BARS), _STEPS[-1])
    edges = np.arange(begin * step // 10, step + 1) / step
    counts, _ = np.histogram(values, edges)
    return tuple(edges.tolist()), tuple(counts.tolist())
