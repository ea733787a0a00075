"""Verified pairs, and hubs that are searched on demand → groups with a leader, and the pairs to report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.hubs import all_pairs, verified
from neardup.kernels.hubs import Hubs, link_crowds, with_partners
from neardup.kernels.leaders import Groups, Links, lead
from neardup.kernels.trees import best_of_tree, unite
from neardup.settings import Settings, ratio
from neardup.tables import Bools, Int64s, column, verified_table

CROWD = 1000
"""A document with more partners than this makes its group a crowd: its pairs are not all looked at."""


@dataclass(frozen=True)
class Crowd:
    """A group whose leader has more than CROWD partners; ``left_out`` bounds the pairs within not reported."""

    leader: int
    members: int
    left_out: int


@dataclass(frozen=True)
class Grouped:
    """``leader`` (int64[documents]) of each document, the pairs to report, the crowds among the groups."""

    leader: Int64s
    pairs: pa.Table
    crowds: tuple[Crowd, ...]


def partner_lists(pairs: pa.Table, documents: int) -> Links:
    """The partner lists of a VERIFIED table, each pair from both its ends."""
    a, b = column(pairs, "a"), column(pairs, "b")
    shared = column(pairs, "shared")
    union = column(pairs, "size_a") + column(pairs, "size_b") - shared
    ends, others = np.concatenate((a, b)), np.concatenate((b, a))
    order = np.argsort(ends, kind="stable")
    begin = np.zeros(documents + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=documents), out=begin[1:])
    shared, union = (np.concatenate((values, values))[order] for values in (shared, union))
    return Links(begin, others[order], shared, union)


def group(pairs: pa.Table, hubs: Hubs, rank: Int64s, reference: int, settings: Settings) -> Grouped:
    """Group the documents by their verified ``pairs`` and the pairs among the hub documents.

    ``rank`` (a permutation) says which document is the better one to keep (smaller is better); documents below
    ``reference`` belong to the reference set and lead themselves. Groups are the same whether all pairs are
    asked for or not.
    """
    how, threads = settings.grouping.groups, settings.work.threads
    least = ratio(settings.search.threshold)
    order = np.argsort(rank)
    lists = partner_lists(pairs, len(rank))
    alive = with_partners(hubs)
    complete = how == "complete"
    groups = lead(order, rank, lists, hubs, alive, np.array(least), reference, complete)
    crowded = _crowded(groups.leader, lists)
    every = settings.grouping.pairs == "all"
    left_out = ~alive if every else ~alive | crowded[hubs.documents]
    among_hubs = all_pairs(hubs, left_out, reference, least, threads)
    together = merged(pairs, _with_leader(groups, hubs), among_hubs)
    reported = together
    crowds: tuple[Crowd, ...] = ()
    if crowded.any() and not every:
        reported = together.filter(_reported(together, crowded, groups.leader))
        crowds = _crowds(groups.leader, crowded)
    if how != "components":
        return Grouped(groups.leader, reported, crowds)
    leader, linking = _components(together, hubs, crowded, rank, reference, least)
    return Grouped(leader, merged(reported, linking), crowds)


def _crowded(leader: Int64s, lists: Links) -> Bools:
    """bool[documents]: members of groups whose leader has more than CROWD partners."""
    members = np.bincount(leader, minlength=len(leader)) - 1
    partners = np.maximum(np.diff(lists.begin), members)
    crowded: Bools = (partners[leader] > CROWD) & (members[leader] > 0)
    return crowded


def _with_leader(groups: Groups, hubs: Hubs) -> pa.Table:
    """The pairs of hub documents with their leaders, where both are hub documents."""
    number = np.arange(len(groups.leader))
    follows = number[(groups.leader != number) & (hubs.local >= 0)]
    follows = follows[hubs.local[groups.leader[follows]] >= 0]
    x, y = hubs.local[follows], hubs.local[groups.leader[follows]]
    return verified(hubs, np.column_stack((x, y, groups.shared[follows])))


def _components(
    pairs: pa.Table, hubs: Hubs, crowded: Bools, rank: Int64s, reference: int, least: tuple[int, int]
) -> tuple[Int64s, pa.Table]:
    """Leaders by any chain of pairs, and the pairs of crowds that were found to be needed for it."""
    parent = np.arange(len(rank))
    unite(parent, column(pairs, "a"), column(pairs, "b"))
    linking = np.empty((0, 3), np.int64)
    if crowded[hubs.documents].any():
        linking = link_crowds(hubs, crowded[hubs.documents], parent, reference, *least)
    return best_of_tree(parent, rank), verified(hubs, linking)


def _reported(pairs: pa.Table, crowded: Bools, leader: Int64s) -> pa.Array:
    """Which pairs are reported: those without an end in a crowd, and each member's with its leader."""
    a, b = column(pairs, "a"), column(pairs, "b")
    needed = (leader[a] == b) | (leader[b] == a)
    return pa.array(needed | ~(crowded[a] | crowded[b]))


def _crowds(leader: Int64s, crowded: Bools) -> tuple[Crowd, ...]:
    heads, members = np.unique(leader[crowded], return_counts=True)
    return tuple(
        Crowd(int(head), int(count), int(count) * (int(count) - 1) // 2 - int(count) + 1)
        for head, count in zip(heads, members, strict=True)
    )


def merged(*tables: pa.Table) -> pa.Table:
    """VERIFIED tables as one, sorted, each pair once."""
    together = pa.concat_tables(tables)
    if all(table.num_rows == 0 for table in tables[1:]):
        return tables[0]
    a, b = column(together, "a"), column(together, "b")
    _, once = np.unique((a << 32) | b, return_index=True)
    kept = together.take(pa.array(once))
    return verified_table(*(column(kept, name) for name in kept.column_names))
