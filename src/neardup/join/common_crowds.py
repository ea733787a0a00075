"""Crowds of documents with common text, found by their leaders, so that not every pair within them is counted.

Groups are formed in the order of a rank: a document follows a leader before it, and pairs within a crowd are
reported only with the leader. So it is enough to count the pairs of a crowd's members with leaders, one or a few
for each member instead of one for each pair.

The members are those documents for which this is certain: every leader with which a member has enough common text
has more than CROWD such partners, and no document outside, of better rank, has enough in common with the member.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from neardup.join.prefix_join import sides
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.tables import Bools, Int64s

CROWD = 1000
"""A leader with more partners than this makes its group a crowd, whose pairs are not all looked at."""

_BATCH = 512
"""Documents that are compared with the leaders, and where they have none with each other, at a time."""

_FEW, _MANY = 64, 32
"""The search ends at more leaders than a ``_MANY``-th of the documents and ``_FEW``: these are no crowds."""

Count = Callable[[Int64s], Int64s]
"""Counts pairs (int64[n, 2], a < b); returns those with enough common text, int64[m, 5]: a, b, common, sizes."""


@dataclass(frozen=True, eq=False)
class Crowds:
    """The ``members`` (bool[documents]) of crowds, leaders included, and the counted ``pairs`` (int64[m, 5]).

    The pairs are those of all candidates with leaders; ``leader`` and ``follower`` (int64[m]) are their ends.
    """

    members: Bools
    pairs: Int64s
    leader: Int64s
    follower: Int64s

    def without_doubtful(self, outside: Int64s, rank: Int64s) -> Crowds:
        """Return the crowds without members that are doubtful after the pairs with others are counted.

        ``outside`` (int64[n, 2]) are the pairs with an end outside the crowds. A member that pairs with a document
        outside of better rank is doubtful, and so are all documents that pair with a doubtful leader.
        """
        doubtful = np.zeros(len(rank), np.bool_)
        for member, other in (outside.T, outside.T[::-1]):
            doubtful[member[~self.members[other] & (rank[other] < rank[member])]] = True
        doubtful[self.follower[doubtful[self.leader]]] = True
        return replace(self, members=self.members & ~doubtful)

    @property
    def inside(self) -> Int64s:
        """The counted pairs of two members."""
        rows: Int64s = self.pairs[self.members[self.leader] & self.members[self.follower]]
        return rows


def crowds_of(index: PrefixIndex, rank: Int64s, count: Count) -> Crowds | None:
    """Return the crowds among the documents in long lists; ``rank`` is a permutation, 0 the best to keep."""
    listed = index.documents[_in_long_lists(index)]
    if len(listed) <= 2 * CROWD:
        return None
    parts = _pairs_with_leaders(listed[np.argsort(rank[listed])], count)
    if parts is None:
        return None
    pairs, leader, follower = parts
    partners = np.bincount(leader, minlength=len(rank))
    members, small = np.zeros(len(rank), np.bool_), partners[leader] <= CROWD
    members[leader[~small]] = members[follower[~small]] = True
    members[leader[small]] = members[follower[small]] = False
    return Crowds(members, pairs, leader, follower) if members.any() else None


def _in_long_lists(index: PrefixIndex) -> Bools:
    """bool[hubs]: the documents in a list of more than two crowds."""
    long = np.diff(index.first) > 2 * CROWD
    entries = np.concatenate(([0], np.cumsum(long[index.list_of])))
    inside: Bools = entries[index.begin[1:]] > entries[index.begin[:-1]]
    return inside


def _pairs_with_leaders(in_order: Int64s, count: Count) -> tuple[Int64s, Int64s, Int64s] | None:
    """The pairs of leaders with documents after them, the leader and the other end of each.

    None if there are too many leaders.
    """
    leaders, parts = np.empty(0, np.int64), [_counted(in_order[:0], in_order[:0], count)]
    for first in range(0, len(in_order), _BATCH):
        batch = in_order[first : first + _BATCH]
        parts.append(_counted(leaders, batch, count))
        free = ~np.isin(batch, parts[-1][2])
        while free.any():
            place = int(np.argmax(free))
            leaders = np.append(leaders, batch[place])
            if len(leaders) > _FEW + (first + place) // _MANY:
                return None
            parts.append(_counted(batch[place : place + 1], batch[place + 1 :], count))
            free[place] = False
            free &= ~np.isin(batch, parts[-1][2])
    pairs, leader, follower = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return pairs, leader, follower


def _counted(leaders: Int64s, others: Int64s, count: Count) -> tuple[Int64s, Int64s, Int64s]:
    ends = np.column_stack((np.repeat(leaders, len(others)), np.tile(others, len(leaders))))
    pairs = count(np.sort(ends, axis=1))
    leads = np.isin(pairs[:, 0], leaders)
    return pairs, np.where(leads, pairs[:, 0], pairs[:, 1]), np.where(leads, pairs[:, 1], pairs[:, 0])


def apart(index: PrefixIndex, members: Bools) -> PrefixIndex:
    """Return the index in which no two of the ``members`` (bool[documents]) meet."""
    inside = members[index.documents]
    side = np.where(inside, 0, 1 + np.arange(len(inside))).astype(np.uint64)
    return index._replace(**sides(index.members, index.first, side))
