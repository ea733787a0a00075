"""Groups in parts that have no pair in common: those of an exact join in parts, and those of pairs in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.group.leaders import Crowd, Grouped, GroupRules, group
from neardup.join.pairs import PairFile, PairRoom, Pairs, PairSorter, batches
from neardup.join.search import ExactJoin, FoundPairs
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.kernels.union_find import best_of_tree, unite
from neardup.tables import VERIFIED, Int64s, column, verified_table


class _Part(NamedTuple):
    """Documents (ascending) that have no pair with others; their pairs and the index number them from 0."""

    documents: Int64s
    pairs: Pairs
    joined: PrefixIndex | None


def group_found(
    found: FoundPairs,
    exact: ExactJoin,
    rank: Int64s,
    first_new: int,
    rules: GroupRules,
    room: PairRoom,
) -> Grouped:
    """Group the documents by their pairs, as ``leaders.group`` does, in parts where these exceed the memory.

    ``rank`` is a permutation, and ``room`` that for the pairs.
    """
    pairs, index = _small(found.pairs, room), exact.index
    if exact.parts is not None:
        nothing = VERIFIED.empty_table()
        parts: Iterable[_Part] = (_Part(documents, nothing, made) for documents, made in exact.parts.indexes())
    elif isinstance(pairs, PairFile):
        parts = _parts_of(pairs, index, len(rank), room)
    else:
        return group(pairs, index, rank, first_new, rules, room)
    leader, limited = np.arange(len(rank)), np.zeros(len(rank), np.bool_)
    reported, crowds, popular = PairSorter(room), [], [np.empty(0, np.int64)]
    for documents, of_part, of_index in parts:
        among = np.argsort(np.argsort(rank[documents]))
        old = int(np.searchsorted(documents, first_new))
        made = group(of_part, of_index, among, old, rules, room)
        leader[documents], limited[documents] = documents[made.leader], made.limited
        for table in batches(made.pairs):
            reported.add(_numbered(table, documents))
        crowds += [Crowd(int(documents[crowd.leader]), crowd.members, crowd.left_out) for crowd in made.crowds]
        popular.append(documents[made.popular])
    in_order = tuple(sorted(crowds, key=lambda crowd: crowd.leader))
    return Grouped(leader, reported.finish(), in_order, np.sort(np.concatenate(popular)), limited)


def _parts_of(pairs: PairFile, index: PrefixIndex | None, total: int, room: PairRoom) -> Iterator[_Part]:
    """Yield whole families with about a portion of pairs; all documents of the index are one family, the first.

    The pairs are sorted by part, into another file.
    """
    order, ends = _by_part(pairs, index, total, room)
    place = np.full(total, -1, np.int64)
    place[order] = np.arange(len(order))
    sorter = PairSorter(room)
    for table in batches(pairs):
        sorter.add(_numbered(table, place))
    sorted_pairs, first = sorter.finish(), 0
    assert isinstance(sorted_pairs, PairFile)
    del place
    for number, until in enumerate(ends.tolist()):
        documents = order[first:until]
        if number == 0 and index is not None:
            mine = PairFile(sorted_pairs.file, sorted_pairs.most, sorted_pairs.place(until << 32))
            local, here = index.local[documents], np.empty(len(index.documents), np.int64)
            here[local[local >= 0]] = np.flatnonzero(local >= 0)
            yield _Part(documents, _small(mine, room), index._replace(documents=here, local=local))
        else:
            span = sorted_pairs.place(first << 32), sorted_pairs.place(until << 32)
            tables = [VERIFIED.empty_table(), *sorted_pairs.batches(*span)]
            yield _Part(documents, _numbered(pa.concat_tables(tables), -first), None)
        first = until


def _by_part(pairs: PairFile, index: PrefixIndex | None, total: int, room: PairRoom) -> tuple[Int64s, Int64s]:
    """(order, ends): the documents in families, part by part, ascending in each; where the parts end."""
    parent, of_document = np.arange(total), np.zeros(total, np.int64)
    if index is not None:
        unite(parent, index.documents[:-1], index.documents[1:])
    for table in batches(pairs):
        a = column(table, "a")
        unite(parent, a, column(table, "b"))
        of_document += np.bincount(a, minlength=total)
    family = best_of_tree(parent, np.arange(total))
    count = np.bincount(family, of_document, total).astype(np.int64)
    of_index = -1
    if index is not None and len(index.documents):
        of_index = int(family[index.documents[0]])
        count[of_index] = 0
    part = np.cumsum(count) // room.most + 1
    if of_index >= 0:
        part[of_index] = 0
    inside = np.flatnonzero((np.bincount(family, minlength=total)[family] > 1) | (family == of_index))
    of_part = part[family[inside]]
    order = np.argsort(of_part, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(of_part[order])) + 1, len(order))
    return inside[order], ends


def _small(pairs: Pairs, room: PairRoom) -> Pairs:
    """The pairs as a table if they are at most a portion."""
    if isinstance(pairs, pa.Table) or pairs.num_rows > room.most:
        return pairs
    return pa.concat_tables([VERIFIED.empty_table(), *pairs.batches()])


def _numbered(pairs: pa.Table, number: Int64s | int) -> pa.Table:
    """The pairs with other numbers of their documents: those in ``number``, or all shifted by it."""
    a, b, *counts = (column(pairs, name) for name in VERIFIED.names)
    if isinstance(number, int):
        return verified_table(a + number, b + number, *counts)
    return verified_table(number[a], number[b], *counts)
