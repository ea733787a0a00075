"""What the kept documents stand for: how many removed ones each represents, and from which sources they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.group.decisions import Decisions
from neardup.group.rows import JudgedRows
from neardup.io.readers.columns import as_text
from neardup.tables import Bools, Int64s

COUNTED = ("copies", "exact_copies", "near_copies")
"""The columns of ``count``: the represented documents, and how many of them are exact and near copies."""

SOURCES = "sources"
"""The column of ``sources``."""


@dataclass(frozen=True, eq=False)
class Represented:
    """For each row: whether it ``stays`` (bool[rows]), and the exact and near copies it represents (int64[rows]).

    A removed document is represented by its first exact copy in the group that stays, else by the representative
    if that stays and is not in the reference set, else by none. ``by`` and ``of`` are (row that stays, document it
    represents), row by row. ``values`` are the sources of the rows from ``first_new`` on, or None.
    """

    stays: Bools
    exact: Int64s
    near: Int64s
    by: Int64s
    of: Int64s
    values: pa.Array | None
    first_new: int

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        listed = [] if self.values is None else [(SOURCES, pa.list_(pa.large_string()))]
        return pa.schema([*((name, pa.int64()) for name in COUNTED), *listed])

    def columns(self, rows: Int64s) -> pa.Table:
        """The columns of ``rows``, null for those that do not stay."""
        goes = ~self.stays[rows]
        numbers = (self.exact[rows] + self.near[rows], self.exact[rows], self.near[rows])
        found = [pa.array(counts, mask=goes) for counts in numbers]
        if self.values is not None:
            found.append(self._sources(rows, goes))
        return pa.table(found, schema=self.schema)

    def _sources(self, rows: Int64s, goes: Bools) -> pa.Array:
        """The distinct values among each row and those it represents, sorted, without null."""
        staying = np.flatnonzero(~goes)
        at = np.argsort(rows[staying], kind="stable")
        first, last = (np.searchsorted(self.by, rows[staying][at], side) for side in ("left", "right"))
        counts = last - first
        others = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        owner = np.concatenate((staying, np.repeat(staying[at], counts)))
        of = np.concatenate((rows[staying], self.of[others]))
        assert self.values is not None
        coded = pc.dictionary_encode(self.values.take(pa.array(of - self.first_new)))
        rank = pc.rank(coded.dictionary, "ascending").to_numpy().astype(np.int64) - 1
        names = coded.dictionary.take(pc.sort_indices(coded.dictionary))
        given = coded.indices.is_valid().to_numpy(zero_copy_only=False)
        code = rank[coded.indices.fill_null(0).to_numpy()[given]] if given.any() else np.empty(0, np.int64)
        pairs = np.unique(owner[given] * max(1, len(names)) + code)
        owners, codes = np.divmod(pairs, max(1, len(names)))
        ends = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(rows))))).astype(np.int32)
        lists = pa.ListArray.from_arrays(pa.array(ends), names.take(pa.array(codes)))
        return pc.if_else(pa.array(goes), pa.scalar(None, lists.type), lists)


def represented(decisions: Decisions, rows: JudgedRows) -> Represented:
    """Who represents whom."""
    first_new, members = rows.first_new, decisions.rows
    new = members >= first_new
    stays = np.ones(len(rows), np.bool_)
    stays[:first_new] = False
    stays[decisions.gone] = False
    own_class = rows.copy_of[members]
    staying = np.flatnonzero(decisions.kept & new)[::-1]
    keeper = np.full(len(rows), -1, np.int64)
    keeper[own_class[staying]] = members[staying]  # of several, the last assignment is the first in the group
    gone = np.flatnonzero(~decisions.kept & new)
    heads = decisions.representative_row[gone]
    copied = keeper[own_class[gone]]
    by = np.where(copied >= 0, copied, np.where(stays[heads], heads, -1))
    exact, near = (by[which] for which in (copied >= 0, (copied < 0) & (by >= 0)))
    order = np.argsort(by, kind="stable")
    order = order[by[order] >= 0]
    counts = [np.bincount(found, minlength=len(rows)) for found in (exact, near)]
    text = None if rows.sources is None else as_text(rows.sources)
    return Represented(stays, counts[0], counts[1], by[order], members[gone][order], text, first_new)
