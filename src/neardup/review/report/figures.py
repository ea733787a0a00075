"""The groups and pairs of a result in numbers, whole arrays at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.comparison.kinds import KINDS
from neardup.deduplication.results import KIND
from neardup.review.desk.index import Kinds
from neardup.tables import Bools, Floats, Int64s

if TYPE_CHECKING:
    from neardup.review.desk.index import ResultIndex


@dataclass(frozen=True, eq=False)
class GroupFigures:
    """One entry a group, in the order of the result; ``of_row`` is the group of each row of ``table``.

    ``lowest`` and ``highest`` are the similarities of near copies with their representative, NaN without any.
    ``stake`` is the size in bytes of the text that goes with removed documents: the share of their shingles that
    is lost, times their size; exact copies of each other count once. It is a lower bound where ``unknown``.
    ``worst`` is the row of the member with the largest part in it, -1 without any. ``copies`` are the rows of the
    table that are exact copies.
    """

    table: pa.Table
    heads: pa.Array
    of_row: Int64s
    size: Int64s
    exact: Int64s
    lowest: Floats
    highest: Floats
    stake: Int64s
    unknown: Bools
    worst: Int64s
    copies: Bools

    def __len__(self) -> int:
        return len(self.heads)

    def by_stake(self, most: int) -> Int64s:
        """Return the groups with text at stake, most text first."""
        return _first(self.stake, most)[: int((self.stake > 0).sum())]

    def in_turn(self) -> Int64s:
        """Return all groups: the least similar, that with most at stake and the largest of the others, in turn."""
        lowest = np.where(np.isnan(self.lowest), np.inf, self.lowest)
        orders = [_first(values, len(self)) for values in (-lowest, self.stake, self.size)]
        groups = np.stack(orders, axis=1).ravel()
        _, first = np.unique(groups, return_index=True)
        return groups[np.sort(first)]

    def by_size(self, most: int) -> Int64s:
        """Return the largest groups, the largest first."""
        return _first(self.size, most)


def group_figures(index: ResultIndex) -> GroupFigures:
    """Count the groups of a result."""
    table, group, many = index.table, index.group, len(index)
    exact = ~index.leads & (index.documents.first[index.members] != index.members)
    near = ~index.leads & ~exact & ~np.isnan(index.similarity)
    lowest, highest = np.full(many, np.inf), np.full(many, -np.inf)
    np.minimum.at(lowest, group[near], index.similarity[near])
    np.maximum.at(highest, group[near], index.similarity[near])
    unknown = ~index.kept
    if "lost_shingles" in table.column_names:
        unknown &= pc.is_null(table["lost_shingles"]).to_numpy()
    return GroupFigures(
        table,
        table["group"].combine_chunks().take(pa.array(index.offsets[:-1])),
        group,
        index.size,
        np.bincount(group[exact], minlength=many),
        np.where(np.isinf(lowest), np.nan, lowest),
        np.where(np.isinf(highest), np.nan, highest),
        index.stake,
        np.bincount(group[unknown], minlength=many) > 0,
        _worst(group, index.lost_bytes, many),
        exact,
    )


def _worst(of_row: Int64s, lost: Int64s, many: int) -> Int64s:
    worst = np.full(many, -1, np.int64)
    order = np.argsort(lost, kind="stable")
    order = order[lost[order] > 0]
    worst[of_row[order]] = order  # the last one written has most
    return worst


def _first(values: Int64s | Floats, most: int) -> Int64s:
    return np.argsort(-values, kind="stable")[:most]


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
