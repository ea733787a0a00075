"""The lists of groups and pairs: their orders, queues, and pages that begin after a place in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np

from neardup.display import similarity
from neardup.errors import InputError
from neardup.review.desk.background import Budget
from neardup.review.desk.index import ResultIndex, StoredPairs
from neardup.review.desk.lines import Lines
from neardup.review.desk.verdicts import VerdictIndex
from neardup.review.desk.views import PairPlace, neighbours
from neardup.review.source import ORDERS, QUEUES, Order, PairList, Queue
from neardup.tables import Bools, Int64s


class Ordered:
    """The place of each group in every order: whole numbers, no two the same."""

    def __init__(self, index: ResultIndex) -> None:
        self._index = index

    def keys(self, order: Order, decided: VerdictIndex) -> Int64s:
        """Return int64[groups], ascending in the order of the list. Raises InputError for an unknown order."""
        if order not in ORDERS:
            raise InputError(f"There is no order {order!r}", ", ".join(ORDERS))
        if order == "undecided":  # groups move behind all others when they are decided
            return self._by_stake + np.where(decided.open, 0, len(self._index))
        return {
            "stake": self._by_stake,
            "size": self._by_size,
            "similarity": self._by_similarity,
            "place": np.arange(len(self._index)),
        }[order]

    def warm(self) -> None:
        """Sort by everything."""
        assert len(self._by_stake) == len(self._by_size) == len(self._by_similarity)

    @cached_property
    def _by_stake(self) -> Int64s:
        return ranked(-self._index.stake)

    @cached_property
    def _by_size(self) -> Int64s:
        return ranked(-self._index.size)

    @cached_property
    def _by_similarity(self) -> Int64s:
        return ranked(self._index.lowest)  # unknown similarities come last


def ranked(values: np.ndarray) -> Int64s:
    """Return the rank of each value, ascending; equal ones in their order, NaN last.

    >>> ranked(np.array([3, 1, 3])).tolist()
    [1, 0, 2]
    """
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks


def page(keys: Int64s, after: str, limit: int, question: str) -> tuple[Int64s, str]:
    """Return the places of the first ``limit`` of some distinct ``keys`` after a token, and the next token.

    A token is valid only for the ``question`` that it belongs to. Raises InputError for another one.
    """
    if limit < 1:
        raise InputError(f"A page of {limit:,} lines is empty", "1 or more")
    last = _last(after, question)
    places = np.flatnonzero(keys > last) if after else np.arange(len(keys))
    if len(places) > limit:
        few = places[np.argpartition(keys[places], limit - 1)[:limit]]
        few = few[np.argsort(keys[few])]
        return few, f"{keys[few[-1]]}-{_mark(question)}"
    return places[np.argsort(keys[places])], ""


def _last(after: str, question: str) -> int:
    if not after:
        return -1
    key, _, mark = after.partition("-")
    if not (key.isascii() and key.isdigit() and len(key) <= 18) or mark != _mark(question):
        raise InputError(
            "This page belongs to another list", "The `next` of a page with the same filter", "Begin with page 1"
        )
    return int(key)


def _mark(question: str) -> str:
    """Return a short digest: it guards against mistakes, not against people."""
    return f"{crc32(question.encode('utf-8', 'surrogatepass')):08x}"


_LOOKED_AHEAD = 1000


@dataclass(frozen=True, eq=False)
class QueuedPairs:
    """Pairs of documents by number with the keys of their order; only those ``listed`` are in the queue now.

    ``why`` says in a few words why a pair is there, by its place.
    """

    a: Int64s
    b: Int64s
    keys: Int64s
    listed: Bools
    why: Callable[[int], str]

    def place(self, a: int, b: int) -> int | None:
        """Return the place of a pair, in any order; None if it is not among them."""
        found = np.flatnonzero(((self.a == a) & (self.b == b)) | ((self.a == b) & (self.b == a)))
        return int(found[0]) if len(found) else None

    def pair(self, place: int | None) -> tuple[int, int] | None:
        """Return the pair at a place."""
        return None if place is None else (int(self.a[place]), int(self.b[place]))


class Queues:
    """The queues of a result."""

    def __init__(self, lines: Lines, ordered: Ordered) -> None:
        self._lines, self._ordered = lines, ordered

    def warm(self) -> None:
        """Sort the pairs of all queues, and find their documents."""
        assert len(self._keys_of_threshold) == len(self._crossing[0])
        self._lines.index.pairs.warm()

    def page(self, queue: Queue, after: str, limit: int) -> PairList:
        """Return a page of a queue. Raises InputError for an unknown queue, or a page of another one."""
        pairs = self.pairs(queue)
        places = np.flatnonzero(pairs.listed)
        chosen, next = page(pairs.keys[places], after, limit, f"queue {queue}")
        some = [(*self._ends(pairs, place), pairs.why(place)) for place in places[chosen].tolist()]
        budget = Budget()
        return PairList(self._lines.pairs(some, budget), len(places), next, budget.short)

    def around(self, queue: Queue, a: int, b: int) -> PairPlace:
        """Return the place of a pair in a queue, and the pairs before and after it."""
        pairs = self.pairs(queue)
        place = pairs.place(a, b)
        if place is None:
            return PairPlace()
        before, after = neighbours(pairs.keys, pairs.listed, place)
        said = ""
        if pairs.listed[place]:
            number = int((pairs.listed & (pairs.keys <= pairs.keys[place])).sum())
            said = f"pair {number:,} of {int(pairs.listed.sum()):,}"
        return PairPlace(pairs.pair(before), pairs.pair(after), said)

    def next(self, queue: Queue, a: int, b: int) -> tuple[int, int] | None:
        """Return the next pair without a verdict, from the start again after the last; None if none is left."""
        pairs = self.pairs(queue)
        place = pairs.place(a, b)
        own = -1 if place is None else int(pairs.keys[place])
        places = np.flatnonzero(pairs.listed)
        keys = pairs.keys[places]
        order = places[np.lexsort((keys, keys <= own))]
        for other in order[:_LOOKED_AHEAD].tolist():
            if other != place and self._lines.judged(*self._ends(pairs, other)) is None:
                return self._ends(pairs, other)
        return None

    def pairs(self, queue: Queue) -> QueuedPairs:
        """Return the pairs of a queue. Raises InputError for an unknown one."""
        if queue not in QUEUES:
            raise InputError(f"There is no queue {queue!r}", ", ".join(QUEUES))
        found: QueuedPairs = getattr(self, f"_{queue}")()
        return found

    def _ends(self, pairs: QueuedPairs, place: int) -> tuple[int, int]:
        return int(pairs.a[place]), int(pairs.b[place])

    def _undecided(self) -> QueuedPairs:
        index, made = self._lines.index, self._lines.made
        waits = made.near & (made.verdict < 0)
        return QueuedPairs(
            index.members, made.heads[index.group], self._of_members, waits, lambda place: "without a verdict"
        )

    def _tags(self) -> QueuedPairs:
        index, made = self._lines.index, self._lines.made
        listed = np.zeros(len(index.members), np.bool_)
        heads = made.heads[index.group]
        for group in self._tagged().tolist():
            inside = index.slice(group)
            of_head = self._tags_of(int(made.heads[group]))
            listed[inside] = [self._tags_of(number) != of_head for number in index.members[inside].tolist()]

        def why(place: int) -> str:
            own, other = (self._tags_of(int(numbers[place])) for numbers in (index.members, heads))
            return f"{', '.join(own) or 'no tag'} against {', '.join(other) or 'no tag'}"

        return QueuedPairs(index.members, heads, self._of_members, listed, why)

    def _tagged(self) -> Int64s:
        """Return the groups with a tagged member."""
        index = self._lines.index
        numbers = [index.documents.number(id) for id in self._lines.made.state.tags]
        groups = index.group_of[np.array([number for number in numbers if number is not None], np.int64)]
        return np.unique(groups[groups >= 0])

    def _tags_of(self, document: int) -> tuple[str, ...]:
        return self._lines.made.state.tags.get(self._lines.index.documents.id(document), ())

    @cached_property
    def _of_members(self) -> Int64s:
        """Return keys of members: by text at stake of their group, then by their place."""
        index = self._lines.index
        first: Int64s = self._ordered.keys("stake", self._lines.made)[index.group] * len(index.members)
        return first + np.arange(len(index.members))

    def _threshold(self) -> QueuedPairs:
        threshold = self._lines.index.found.run["settings"]["threshold"]
        values = self._lines.index.pairs.similarity
        return self._stored(
            self._lines.index.pairs,
            self._keys_of_threshold,
            np.ones(len(values), np.bool_),
            lambda place: f"{similarity(max(0.0, values[place] - threshold))} above the threshold",
        )

    @cached_property
    def _keys_of_threshold(self) -> Int64s:
        return ranked(self._lines.index.pairs.similarity)

    def _missed(self) -> QueuedPairs:
        pairs = self._lines.index.missed
        if pairs is None:
            pairs = self._lines.index.pairs.none()
        listed = np.ones(len(pairs), np.bool_)
        return self._stored(pairs, ranked(-pairs.similarity), listed, lambda place: "found by the audit only")

    def _outside(self) -> QueuedPairs:
        index = self._lines.index
        key, crossing = self._crossing
        a, b = index.pairs.ends

        def why(place: int) -> str:
            heads = [int(index.group_of[ends[place]]) for ends in (a, b)]
            named = [index.documents.named(int(index.heads[group])) if group >= 0 else "" for group in heads]
            return " and ".join(f"in the group of {name}" if name else "in no group" for name in named)

        return self._stored(index.pairs, key, crossing, why)

    @cached_property
    def _crossing(self) -> tuple[Int64s, Bools]:
        """Return the keys of the stored pairs, the most similar first, and which of them connect groups."""
        index = self._lines.index
        a, b = (index.group_of[end] for end in index.pairs.ends)
        return ranked(-index.pairs.similarity), a != b

    def _stored(self, pairs: StoredPairs, keys: Int64s, listed: Bools, why: Callable[[int], str]) -> QueuedPairs:
        return QueuedPairs(*pairs.ends, keys, listed, why)
