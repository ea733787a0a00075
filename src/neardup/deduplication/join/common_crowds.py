"""Crowds of documents with common text, found by their leaders, so that not every pair within them is counted.

Groups are formed in the order of a rank: a document follows the most similar leader before it. Of a document that
follows a leader with more than CROWD partners, and of one that has more than CROWD partners itself, only the pair
with its leader is reported. So for two such members it is enough to count the pairs with leaders, a few for each
document instead of all.

The leaders are those of the documents in long lists, the candidates. A document of another list that is of better
rank and has enough text in common with a candidate could change who leads: what is near it is counted in full.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from neardup.deduplication.join.criterion import similarity_of
from neardup.deduplication.join.prefix_join import sides
from neardup.kernels.join import PrefixIndex
from neardup.tables import Bools, Int64s

CROWD = 1000
"""A leader with more partners than this makes its group a crowd, whose pairs are not all looked at."""

_BATCH = 512
"""Documents that are compared with the leaders, and where they have none with each other, at a time."""

_FEW, _SHARE, _MANY = 64, 32, 1000
"""The search ends at more leaders than ``_FEW`` and one in ``_SHARE`` documents, or ``_MANY``: no crowds."""

Count = Callable[[Int64s], Int64s]
"""Counts pairs (int64[n, 2], a < b); returns those with enough common text, int64[m, 5]: a, b, common, sizes."""


@dataclass(frozen=True, eq=False)
class Crowds:
    """The ``candidates`` and those that are ``members`` (both bool[documents]), and the pairs counted so far.

    ``pairs`` is int64[m, 5]; ``leader`` and ``follower`` (int64[n]) are the ends of the first n of them, which are
    the pairs of all candidates with leaders.
    """

    candidates: Bools
    members: Bools
    pairs: Int64s
    leader: Int64s
    follower: Int64s

    def without_doubtful(self, outside: Int64s, rank: Int64s) -> "Crowds":
        """Return the crowds without the members that the pairs ``outside`` (int64[n, 2]) make doubtful.

        These pairs have an end that is no member. A member is doubtful if it pairs with a document of better rank
        that is no candidate, and so are all followers of a doubtful leader.
        """
        doubtful = np.zeros(len(rank), np.bool_)
        for member, other in (outside.T, outside.T[::-1]):
            doubtful[member[~self.candidates[other] & (rank[other] < rank[member])]] = True
        doubtful[self.follower[doubtful[self.leader]]] = True
        return replace(self, members=self.members & ~doubtful)

    @property
    def inside(self) -> Int64s:
        """The counted pairs of two members, each once."""
        a, b = self.pairs[:, 0], self.pairs[:, 1]
        rows: Int64s = np.unique(self.pairs[self.members[a] & self.members[b]], axis=0)
        return rows


def crowds_of(index: PrefixIndex, rank: Int64s, formula: int, count: Count) -> Crowds | None:
    """Return the crowds among the documents in long lists; ``rank`` is a permutation, 0 the best to keep.

    ``formula`` is that of the measure, without a direction. None if there are no crowds.
    """
    listed = index.documents[_in_long_lists(index)]
    if len(listed) <= 2 * CROWD:
        return None
    in_order = listed[np.argsort(rank[listed])]
    counted = _pairs_with_leaders(in_order, count)
    if counted is None:
        return None
    pairs, leader, follower = counted
    candidates, big = np.zeros(len(rank), np.bool_), np.bincount(leader, minlength=len(rank)) > CROWD
    candidates[listed] = True
    similarity = similarity_of(pairs[:, 2], pairs[:, 3], pairs[:, 4], formula)
    nearest = np.zeros((2, len(rank)))  # the similarity to the nearest leader of few partners, and of many
    np.maximum.at(nearest, (big[leader].astype(np.int64), follower), similarity)
    members = big | (nearest[1] > nearest[0])
    popular = [_pairs_of_popular(document, in_order, count) for document in in_order[~members[in_order]]]
    members[in_order[~members[in_order]]] = [len(rows) > 0 for rows in popular]
    return Crowds(candidates, members, np.concatenate([pairs, *popular]), leader, follower)


def _pairs_of_popular(document: int, candidates: Int64s, count: Count) -> Int64s:
    """More than CROWD pairs of a document with the first of the candidates; none if it has not as many."""
    others = candidates[: 2 * CROWD]
    pairs = count(np.sort(np.column_stack((np.full(len(others), document), others)), axis=1)[others != document])
    return pairs if len(pairs) > CROWD else pairs[:0]


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
    leaders, parts = np.empty(0, np.int64), [_count(in_order[:0], in_order[:0], count)]
    for first in range(0, len(in_order), _BATCH):
        batch = in_order[first : first + _BATCH]
        parts.append(_count(leaders, batch, count))
        free = ~np.isin(batch, parts[-1][2])
        while free.any():
            place = int(np.argmax(free))
            leaders = np.append(leaders, batch[place])
            if len(leaders) > min(_FEW + (first + place) // _SHARE, _MANY):
                return None
            parts.append(_count(batch[place : place + 1], batch[place + 1 :], count))
            free[place] = False
            free &= ~np.isin(batch, parts[-1][2])
    pairs, leader, follower = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return pairs, leader, follower


def _count(leaders: Int64s, others: Int64s, count: Count) -> tuple[Int64s, Int64s, Int64s]:
    ends = np.column_stack((np.repeat(leaders, len(others)), np.tile(others, len(leaders))))
    pairs = count(np.sort(ends, axis=1))
    leads = np.isin(pairs[:, 0], leaders)
    return pairs, np.where(leads, pairs[:, 0], pairs[:, 1]), np.where(leads, pairs[:, 1], pairs[:, 0])


def apart(index: PrefixIndex, members: Bools) -> PrefixIndex:
    """Return the index in which no two of the ``members`` (bool[documents]) meet."""
    inside = members[index.documents]
    side = np.where(inside, 0, 1 + np.arange(len(inside))).astype(np.uint64)
    return index._replace(**sides(index.members, index.first, side))
