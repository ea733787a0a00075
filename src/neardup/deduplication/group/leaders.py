"""Verified pairs, and hub documents searched on demand → groups with a leader, and the pairs to report.

Where pairs or the index of an exact join exceed the memory, documents are grouped in parts that have no pair in
common.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from neardup.deduplication.join.common_crowds import CROWD
from neardup.deduplication.join.criterion import criterion_of, every_pair, formula_of_old, whole
from neardup.deduplication.join.pairs import PairRoom, Pairs, PairSorter, gather, keys_of
from neardup.deduplication.join.prefix_join import HubSearch, empty_index, hub_table, met_pairs, pairs_of
from neardup.deduplication.join.search import ExactJoin, FoundPairs
from neardup.errors import InputError
from neardup.kernels.formulas import CONTAINMENT
from neardup.kernels.groups import (
    Balls,
    Groups,
    Links,
    OldDocuments,
    best_of_tree,
    crowd_links,
    lead,
    link_ends,
    no_groups,
    unite,
    unite_by,
)
from neardup.kernels.join import PrefixIndex, with_partners
from neardup.kernels.sets import Criterion
from neardup.runtime import SILENT, Advance, Progress
from neardup.settings import MEASURES, GroupSettings, Keep, SearchSettings, Settings, Work
from neardup.tables import VERIFIED, Bools, Int64s, column, verified_table

_LOOKED_AT = 1 << 22
"""Entries of partner lists that are looked at together."""
_STEP, _STEPS = 1 << 12, 200
"""Fewest documents of a step that reports progress, and most steps."""

_FEW, _AT_ONCE = 16, 1 << 16
"""Pairs of the index are found before the groups if they are at most _FEW a document, and _AT_ONCE at a time."""

_PARTS = 1_000_000_000
"""Similarities are compared as whole numbers of these parts."""


class LinkLimits(NamedTuple):
    """Two limits of the search for links that change its time, and not what it finds.

    After ``passed`` pairs of documents, about a second, the trees are counted again. A group of ``many`` members
    is passed at once where its leader is too far.
    """

    passed: int = 1 << 25
    many: int = 64


LIMITS = LinkLimits()


@dataclass(frozen=True)
class Crowd:
    """A group whose leader has more than CROWD partners; ``left_out`` bounds the unreported pairs within it."""

    leader: int
    members: int
    left_out: int


@dataclass(frozen=True)
class Grouped:
    """The ``leader`` (int64[documents]) of each document, the pairs to report, and the crowds among the groups.

    ``popular`` are documents outside crowds with more than CROWD partners each; like those of crowds, their pairs
    are reported only with leaders. ``limited`` (bool[documents]) marks these documents and the members of crowds.
    """

    leader: Int64s
    pairs: Pairs
    crowds: tuple[Crowd, ...]
    popular: Int64s
    limited: Bools


def partner_lists(
    pairs: Pairs, documents: int, measure: int, old: OldDocuments, room: PairRoom | None = None
) -> Links:
    """The partner lists of VERIFIED pairs, each pair from both its ends; in files if they exceed the room."""
    if room is not None and pairs.exceeds(room):
        return _filed_lists(pairs, documents, measure, old, room)
    table = pairs.table()
    a, b, shared, size_a, size_b = (column(table, name) for name in VERIFIED.names)
    ends, others = np.concatenate((a, b)), np.concatenate((b, a))
    order = np.argsort(ends, kind="stable")
    begin = np.zeros(documents + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=documents), out=begin[1:])
    both, sizes = np.concatenate((shared, shared)), (size_a, size_b)
    seen = _denominators(others, both, np.concatenate(sizes), np.concatenate(sizes[::-1]), measure, old)
    return Links(begin, others[order], both[order], seen[order])


def _denominators(
    partner: Int64s, shared: Int64s, size: Int64s, other: Int64s, measure: int, old: OldDocuments
) -> Int64s:
    """The denominator of the measure seen from documents; a ``partner`` in the reference set has its own."""
    seen = whole(shared, size, other, measure)
    if old.formula == measure:
        return seen
    return np.where(partner < old.number, whole(shared, size, other, old.formula), seen)


def _filed_lists(pairs: Pairs, documents: int, measure: int, old: OldDocuments, room: PairRoom) -> Links:
    """The partner lists of pairs that exceed the memory: arrays that the system maps, 48 bytes a pair."""
    assert room.scratch is not None
    sorter, counts = PairSorter(room), np.zeros(documents + 1, np.int64)
    for table in pairs.batches(most=room.most // 2):
        a, b, shared, size_a, size_b = (column(table, name) for name in VERIFIED.names)
        sorter.add(verified_table(a, b, shared, size_a, size_b))
        sorter.add(verified_table(b, a, shared, size_b, size_a))
        counts[1:] += np.bincount(a, minlength=documents) + np.bincount(b, minlength=documents)
    files = [room.scratch.numbers(np.int64) for _ in range(3)]
    for table in sorter.finish().batches():
        partner, shared, size, other_size = (column(table, name) for name in VERIFIED.names[1:])
        seen = _denominators(partner, shared, size, other_size, measure, old)
        for file, values in zip(files, (partner, shared, seen), strict=True):
            file.append(values)
    return Links(np.cumsum(counts), *(file.mapped_array() for file in files))


@dataclass(frozen=True)
class GroupRules:
    """How pairs become groups: those that meet the ``criterion``, by the rule ``grouping``, in ``threads``.

    ``of_old`` is the formula of the pairs of new documents with those of the reference set.
    """

    criterion: Criterion
    of_old: int
    grouping: GroupSettings
    threads: int

    @classmethod
    def of(cls, search: SearchSettings, keep: Keep, grouping: GroupSettings, work: Work) -> "GroupRules":
        """Return the rules of these settings."""
        return cls(criterion_of(search), formula_of_old(search, keep.direction), grouping, work.threads)


def group(
    pairs: Pairs,
    index: PrefixIndex | None,
    rank: Int64s,
    first_new: int,
    rules: GroupRules,
    room: PairRoom | None = None,
    progress: Progress = SILENT,
) -> Grouped:
    """Group the documents by their verified ``pairs`` and the pairs among the documents of the ``index``.

    ``rank`` (a permutation) orders the documents from the best to keep (0) to the worst. Documents below
    ``first_new`` belong to the reference set and lead themselves. The groups are the same with or without the
    setting that reports all pairs. ``room`` is that for the pairs.
    """
    room = room or PairRoom()
    criterion, how = rules.criterion, rules.grouping.groups
    hubs = empty_index(len(rank)) if index is None else index
    old = OldDocuments(first_new, rules.of_old)
    with progress.stage("group", len(rank), "documents") as advance:
        lists = partner_lists(pairs, len(rank), criterion.measure, old, room)
        few = _few_pairs(hubs, lists, first_new, rules, room) if len(hubs.documents) else None
        hubs = hubs if few is None else empty_index(len(rank))
        if few:
            pairs = pairs.union(room, few)
            lists = partner_lists(pairs, len(rank), criterion.measure, old, room)
        alive = with_partners(hubs)
        groups = _groups_of(lists, hubs, alive, rank, old, rules, advance)
    every = rules.grouping.pairs == "all"
    crowded = np.zeros(len(rank), np.bool_) if every else _members_of_crowds(groups.leader, lists)
    left_out = ~alive | crowded[hubs.documents]
    limit, leads = None if every else CROWD, _unlike_leaders(groups, hubs, rules, first_new)
    search = HubSearch(criterion, left_out, _partners_elsewhere(lists, hubs), limit, first_new, leads)
    crowd_progress = progress if len(hubs.documents) else SILENT
    with crowd_progress.stage("pairs of large clusters", len(hubs.documents), "documents") as advance:
        among_hubs, over = pairs_of(hubs, search, rules.threads, room, advance)
    pairs_with_leaders = pairs.union(room, Pairs.of(_with_leader(groups, hubs)), among_hubs)
    popular = ~crowded & (np.diff(lists.begin) > CROWD) if not every else crowded
    popular[hubs.documents[over]] = True
    limited = crowded | popular
    del lists, among_hubs
    reported = pairs_with_leaders
    if limited.any():
        reported = pairs_with_leaders.filter(lambda some: _is_reported(some, limited, groups.leader), room)
    grouped = Grouped(groups.leader, reported, _crowds(groups.leader, crowded), np.flatnonzero(popular), limited)
    if how != "components":
        return grouped
    parent = np.arange(len(rank))
    for some in reported.batches():
        unite(parent, column(some, "a"), column(some, "b"))
    if limited.any():
        links = [np.empty((0, 3), np.int64)]
        with crowd_progress.stage("links of large clusters", len(hubs.documents), "documents") as advance:
            some_limited = limited[hubs.documents]
            for some, passed in link_crowds(hubs, criterion, groups, some_limited, alive, parent, first_new):
                links.append(some)
                advance(passed)
        linking = merge_tables(hub_table(hubs, np.concatenate(links)), *_tree_links(pairs_with_leaders, parent))
        grouped = replace(grouped, pairs=reported.union(room, Pairs.of(linking)))
    return replace(grouped, leader=best_of_tree(parent, rank))


def _groups_of(
    lists: Links,
    hubs: PrefixIndex,
    alive: Bools,
    rank: Int64s,
    old: OldDocuments,
    rules: GroupRules,
    advance: Advance,
) -> Groups:
    formation = no_groups(len(rank), hubs, rules.grouping.groups == "complete")
    for some in np.array_split(np.argsort(rank), min(_STEPS, len(rank) // _STEP + 1)):
        lead(some, formation, rank, lists, hubs, rules.criterion, alive, old)
        advance(len(some))
    return Groups(*formation.groups)


def _few_pairs(hubs: PrefixIndex, lists: Links, first_new: int, rules: GroupRules, room: PairRoom) -> Pairs | None:
    """The pairs of hub documents; None if there are many, or a document has more than CROWD partners.

    Leaders then look for their members one by one, and few of the pairs in large clusters are ever counted.
    ``lists`` are those of the pairs that are known.
    """
    elsewhere = _partners_elsewhere(lists, hubs)
    total, partners, most = 0, elsewhere.copy(), min(_FEW * len(elsewhere), room.most)
    search = HubSearch(rules.criterion, ~with_partners(hubs), elsewhere, None, first_new)
    tables = [VERIFIED.empty_table()]
    for some in met_pairs(hubs, search, elsewhere.copy(), rules.threads, _AT_ONCE):
        partners += np.bincount(some[:, :2].ravel(), minlength=len(partners))
        total += len(some)
        if total > most or partners.max(initial=0) > CROWD:
            return None
        tables.append(hub_table(hubs, some))
    return gather(tables, room)


def _unlike_leaders(groups: Groups, hubs: PrefixIndex, rules: GroupRules, first_new: int) -> Bools | None:
    """bool[hubs]: documents that lead themselves although they looked at every better one that leads.

    No two of them are a pair. None if that does not follow: a group may refuse a document, and a leader takes by
    one direction of a measure that has two.
    """
    if rules.grouping.groups == "complete" or rules.criterion.measure == CONTAINMENT:
        return None
    leads: Bools = groups.leader[hubs.documents] == hubs.documents
    return leads if rules.of_old == rules.criterion.measure else leads & (hubs.documents >= first_new)


def _members_of_crowds(leader: Int64s, lists: Links) -> Bools:
    """bool[documents]: members of groups whose leader has more than CROWD partners."""
    members = np.bincount(leader, minlength=len(leader)) - 1
    partners = np.maximum(np.diff(lists.begin), members)
    crowded: Bools = (partners[leader] > CROWD) & (members[leader] > 0)
    return crowded


def _partners_elsewhere(lists: Links, hubs: PrefixIndex) -> Int64s:
    """int64[hubs]: how many verified partners of each hub document are not hub documents themselves."""
    begin, first, counts = lists.begin, 0, np.zeros(len(lists.begin) - 1, np.int64)
    while first < len(counts):
        until = max(first + 1, int(np.searchsorted(begin, begin[first] + _LOOKED_AT, "right")) - 1)
        outside = hubs.local[lists.partners[begin[first] : begin[until]]] < 0
        counted, first_of = np.concatenate(([0], np.cumsum(outside))), begin[first : until + 1] - begin[first]
        counts[first:until] = np.diff(counted[first_of])
        first = until
    elsewhere: Int64s = counts[hubs.documents]
    return elsewhere


def _with_leader(groups: Groups, hubs: PrefixIndex) -> pa.Table:
    """The pairs of hub documents with their leaders, if both are hub documents."""
    number = np.arange(len(groups.leader))
    follows = number[(groups.leader != number) & (hubs.local >= 0)]
    follows = follows[hubs.local[groups.leader[follows]] >= 0]
    x, y = hubs.local[follows], hubs.local[groups.leader[follows]]
    return hub_table(hubs, np.column_stack((x, y, groups.shared[follows])))


def _tree_links(pairs: Pairs, parent: Int64s) -> Iterator[pa.Table]:
    """Unite in ``parent`` the ends of ``pairs`` in order, and yield those that united two trees."""
    for some in pairs.batches():
        ends = np.column_stack((column(some, "a"), column(some, "b")))
        yield some.filter(pa.array(unite_by(ends, parent))).cast(VERIFIED)


def link_crowds(
    hubs: PrefixIndex,
    criterion: Criterion,
    groups: Groups,
    limited: Bools,
    alive: Bools,
    parent: Int64s,
    first_new: int,
    limits: LinkLimits = LIMITS,
) -> Iterator[tuple[Int64s, int]]:
    """Unite in ``parent`` (a forest over document numbers) all pairs with a ``limited`` end.

    ``limited`` and ``alive`` (False: without a partner) are bool[hubs]. All other pairs must be united already.
    Yields int64[m, 3] of x, y, |x∩y| for the pairs that united something, the first ones in the order of (x, y)
    for any ``groups`` and ``limits``, and the number of documents x that were passed.
    """
    first, total = 0, len(hubs.documents)
    if not (limited & alive).any():
        return
    balls = _balls(hubs, groups, alive, parent, limits.many)
    while first < total:
        ends = link_ends(hubs, limited, alive, balls, parent)
        links, until = crowd_links(hubs, criterion, ends, parent, first_new, first, limits.passed)
        yield links, until - first
        first = until


def _balls(hubs: PrefixIndex, groups: Groups, alive: Bools, parent: Int64s, many: int) -> Balls:
    """The groups of ``many`` members, around their leaders; what ``parent`` has not united is in no group."""
    x = np.flatnonzero(alive)
    documents, family = hubs.documents[x], best_of_tree(parent, np.arange(len(parent)))
    head = hubs.local[groups.leader[documents]]
    head[family[documents] != family[groups.leader[documents]]] = -1
    members = np.bincount(head[head >= 0], minlength=len(hubs.documents))
    inside = (head >= 0) & (members[head] >= many)
    order = np.argsort(head[inside], kind="stable")
    members, head = x[inside][order], head[inside][order]
    centres, first = np.unique(head, return_index=True)
    apart = hubs.sizes[members] + hubs.sizes[head] - 2 * groups.shared[hubs.documents[members]]
    apart[members == head] = 0
    radius = np.maximum.reduceat(apart, first) if len(first) else first
    return Balls(centres, radius, np.append(first, len(members)), members, x[~inside])


def _is_reported(pairs: pa.Table, limited: Bools, leader: Int64s) -> Bools:
    """Which pairs are reported: those without a ``limited`` end, and the pair of each member with its leader."""
    a, b = column(pairs, "a"), column(pairs, "b")
    needed = (leader[a] == b) | (leader[b] == a)
    reported: Bools = needed | ~(limited[a] | limited[b])
    return reported


def _crowds(leader: Int64s, crowded: Bools) -> tuple[Crowd, ...]:
    heads, members = np.unique(leader[crowded], return_counts=True)
    return tuple(
        Crowd(int(head), int(count), int(count) * (int(count) - 1) // 2 - int(count) + 1)
        for head, count in zip(heads, members, strict=True)
    )


def merge_tables(*tables: pa.Table) -> pa.Table:
    """Merge VERIFIED tables into one, sorted, each pair once."""
    together = pa.concat_tables(tables)
    if all(table.num_rows == 0 for table in tables[1:]):
        return tables[0]
    a, b = column(together, "a"), column(together, "b")
    _, once = np.unique((a << 32) | b, return_index=True)
    kept = together.take(pa.array(once))
    return verified_table(*(column(kept, name) for name in kept.column_names))


def only_pairs(pairs: pa.Table, wanted: Pairs) -> pa.Table:
    """The rows of a VERIFIED table for the ``wanted`` pairs, all of which it has."""
    if pairs.num_rows == len(wanted):
        return pairs
    return pairs.filter(pa.array(wanted.has(keys_of(pairs))))


class _Part(NamedTuple):
    """Documents (ascending) that have no pair with others; their pairs and the index number them from 0."""

    documents: Int64s
    pairs: Pairs
    joined: PrefixIndex | None


def group_found(
    found_pairs: FoundPairs,
    exact: ExactJoin,
    rank: Int64s,
    first_new: int,
    rules: GroupRules,
    room: PairRoom,
    progress: Progress,
) -> Grouped:
    """Group the documents by their pairs, as ``leaders.group`` does, in parts where these exceed the memory.

    ``rank`` is a permutation, and ``room`` that for the pairs.
    """
    pairs, index = found_pairs.pairs, exact.index
    if exact.parts is not None:
        nothing = Pairs.of(VERIFIED.empty_table())
        parts: Iterable[_Part] = (
            _Part(documents, nothing, grouped) for documents, grouped in exact.parts.indexes()
        )
    elif pairs.exceeds(room):
        parts = _parts_of(pairs, index, len(rank), room)
    else:
        return group(pairs, index, rank, first_new, rules, room, progress)
    leader, limited = np.arange(len(rank)), np.zeros(len(rank), np.bool_)
    reported, crowds, popular = PairSorter(room), [], [np.empty(0, np.int64)]
    for documents, of_part, of_index in parts:
        among = np.argsort(np.argsort(rank[documents]))
        old = int(np.searchsorted(documents, first_new))
        grouped = group(of_part, of_index, among, old, rules, room, progress)
        leader[documents], limited[documents] = documents[grouped.leader], grouped.limited
        for table in grouped.pairs.batches():
            reported.add(_renumber(table, documents))
        crowds += [Crowd(int(documents[crowd.leader]), crowd.members, crowd.left_out) for crowd in grouped.crowds]
        popular.append(documents[grouped.popular])
    in_order = tuple(sorted(crowds, key=lambda crowd: crowd.leader))
    return Grouped(leader, reported.finish(), in_order, np.sort(np.concatenate(popular)), limited)


def _parts_of(pairs: Pairs, index: PrefixIndex | None, total: int, room: PairRoom) -> Iterator[_Part]:
    """Yield whole families with about a portion of pairs; all documents of the index are one family, the first.

    The pairs are sorted by part, into another file.
    """
    order, ends = _by_part(pairs, index, total, room)
    place = np.full(total, -1, np.int64)
    place[order] = np.arange(len(order))
    sorter = PairSorter(room)
    for table in pairs.batches():
        sorter.add(_renumber(table, place))
    sorted_pairs, first = sorter.finish(), 0
    del place
    for number, until in enumerate(ends.tolist()):
        documents = order[first:until]
        if number == 0 and index is not None:
            mine = sorted_pairs.part(0, sorted_pairs.place(until << 32))
            local, here = index.local[documents], np.empty(len(index.documents), np.int64)
            here[local[local >= 0]] = np.flatnonzero(local >= 0)
            yield _Part(documents, mine, index._replace(documents=here, local=local))
        else:
            mine = sorted_pairs.part(sorted_pairs.place(first << 32), sorted_pairs.place(until << 32))
            yield _Part(documents, Pairs.of(_renumber(mine.table(), -first)), None)
        first = until


def _by_part(pairs: Pairs, index: PrefixIndex | None, total: int, room: PairRoom) -> tuple[Int64s, Int64s]:
    """(order, ends): the documents in families, part by part, ascending in each; where the parts end."""
    parent, of_document = np.arange(total), np.zeros(total, np.int64)
    if index is not None:
        unite(parent, index.documents[:-1], index.documents[1:])
    for table in pairs.batches():
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


def _renumber(pairs: pa.Table, number: Int64s | int) -> pa.Table:
    """The pairs with other numbers of their documents: those in ``number``, or all shifted by it."""
    a, b, *counts = (column(pairs, name) for name in VERIFIED.names)
    if isinstance(number, int):
        return verified_table(a + number, b + number, *counts)
    return verified_table(number[a], number[b], *counts)


Id = TypeVar("Id", bound=Hashable)


def group_pairs(
    pairs: Iterable[Sequence[Any]], *, how: str = "principal", order: Iterable[Any] | None = None
) -> list[list[Any]]:
    """Group the ids of ``pairs``: (a, b), or (a, b, similarity) with a similarity from 0 to 1.

    Ids are any hashable values. ``how`` is one of the rules of ``--groups``: ``principal``: each member is in a
    pair with its representative, the most similar one if there are several; ``components``: linked through any
    chain of pairs; ``complete``: any two members are a pair. ``order`` lists ids from the best representative to
    the worst; ids that it lacks follow in the order of the pairs.

    Returns the groups of at least two ids, the representative first, then the members in order. Raises InputError
    for other pairs, and SettingError for another rule.

    >>> chain = [("a", "b"), ("b", "c"), ("d", "e")]
    >>> group_pairs(chain), group_pairs(chain, how="components")
    ([['a', 'b'], ['d', 'e']], [['a', 'b', 'c'], ['d', 'e']])
    >>> group_pairs(chain, order="b")
    [['b', 'a', 'c'], ['d', 'e']]
    """
    formula = MEASURES["resemblance"].formula
    grouping = Settings.of(groups=how).grouping
    rules = GroupRules(every_pair(formula), formula, grouping, threads=0)
    listed = [_pair(pair) for pair in pairs]
    first = [] if order is None else list(order)
    names = list(dict.fromkeys(chain(first, *((a, b) for a, b, _ in listed))))
    number = {name: place for place, name in enumerate(names)}
    verified = _verified_pairs([(number[a], number[b], similarity) for a, b, similarity in listed])
    rank = np.arange(len(names))
    leader = group(verified, None, rank, 0, rules).leader
    groups: dict[int, list[Any]] = {}
    for place, head in enumerate(leader.tolist()):
        groups.setdefault(head, [names[head]])
        if place != head:
            groups[head].append(names[place])
    return [groups[head] for head in sorted(groups) if len(groups[head]) > 1]


def _verified_pairs(listed: list[tuple[int, int, float]]) -> Pairs:
    """The VERIFIED pairs of numbered pairs, each once, with counts of these similarities."""
    best: dict[tuple[int, int], int] = {}
    for one, other, similarity in listed:
        if one != other:
            key = min(one, other), max(one, other)
            best[key] = max(best.get(key, 0), round(similarity * _PARTS))
    ends = np.array(list(best), np.int64).reshape(-1, 2)
    shared = np.array(list(best.values()), np.int64)
    # a set of all parts and a subset of the shared ones have this resemblance
    return Pairs.of(verified_table(ends[:, 0], ends[:, 1], shared, np.full(len(shared), _PARTS), shared))


def _pair(pair: Sequence[Any]) -> tuple[Any, Any, float]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) not in (2, 3):
        raise InputError(f"A pair is {pair!r}"[:100], "(a, b) or (a, b, similarity)")
    similarity = pair[2] if len(pair) == 3 else 1.0
    if isinstance(similarity, bool) or not isinstance(similarity, int | float) or not 0 <= similarity <= 1:
        raise InputError(f"The similarity of a pair is {similarity!r}"[:100], "A number from 0 to 1")
    return pair[0], pair[1], float(similarity)
