"""Blocks → maximal repeats: the passages, and their places."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neardup.corpus.repetition.windows import RepeatedBlocks
from neardup.kernels.passages import common_prefixes, intervals
from neardup.tables import Bools, Int32s, Int64s

MOST_PLACES = 1_000_000
"""Places that may always be listed; above, at most one for each token that is in a repeated window."""
_SLICE = 1 << 17
_SORTED = 1 << 22
"""Suffixes that are sorted at a time."""


class PassagePlaces(NamedTuple):
    """Places of passages, by passage and place, int64[n] each: ``occurrences`` of the block that a place begins
    with.

    ``alone`` (bool): the place is not within a place of a longer passage.
    """

    passages: Int64s
    occurrences: Int64s
    alone: Bools


@dataclass(frozen=True, eq=False)
class MaximalRepeats:
    """Passages that occur at least twice, in the order of their first places, longer ones first.

    ``tokens`` and ``times`` (int64[p]) are the length and the number of occurrences of each. Passage i is a run of
    ``symbols[i]`` blocks; its first place begins with occurrence ``first[i]`` of a block, and its listed places
    with ``occurrences[ranges[i, 0]:ranges[i, 1]]`` in any order. ``alone_in`` has for each occurrence the passage
    with a place there that is not within one of a longer passage, or -1. ``nested`` is false if only such places
    are listed.
    """

    blocks: RepeatedBlocks
    tokens: Int64s
    times: Int64s
    symbols: Int64s
    first: Int64s
    ranges: Int64s
    occurrences: Int32s
    alone_in: Int32s
    nested: bool

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def listed(self) -> int:
        """The number of listed places of all passages."""
        return int((self.ranges[:, 1] - self.ranges[:, 0]).sum())

    def places(self, low: int = 0, high: int | None = None) -> PassagePlaces:
        """The listed places of the passages ``low`` … ``high`` - 1."""
        ranges = self.ranges[low:high]
        counts = ranges[:, 1] - ranges[:, 0]
        of = np.repeat(np.arange(len(ranges)), counts)
        starts = np.repeat(ranges[:, 0] - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
        n = max(1, len(self.alone_in))
        keys = of * n + self.occurrences[starts + np.arange(len(of))]
        keys.sort()
        passages, occurrences = keys // n + low, keys % n
        return PassagePlaces(passages, occurrences, self.alone_in[occurrences] == passages)

    def slices(self, most: int = _SLICE) -> Iterator[tuple[int, int]]:
        """All passages as ranges of them, with at most this many listed places or of one passage."""
        ends = np.cumsum(self.ranges[:, 1] - self.ranges[:, 0])
        low = done = 0
        while low < len(ends):
            high = max(low + 1, int(np.searchsorted(ends, done + most, side="right")))
            yield low, high
            low, done = high, int(ends[high - 1])


def maximal_repeats(blocks: RepeatedBlocks, most_places: int = MOST_PLACES) -> MaximalRepeats:
    """Return the passages of at least ``blocks.length`` tokens that are maximal repeats of the stream.

    A passage is *maximal* if its occurrences are not all preceded by the same token, and not all followed by the
    same one (Gusfield 1997, section 7.12). There are fewer of them than tokens, but nested ones may have far more
    places: a token that is repeated n times has n passages with n² / 2 places. If there are more places than
    tokens and than ``most_places``, only those passages are listed that have a place of their own, outside of any
    longer passage (near-supermaximal repeats, in the same section), and only these places.
    """
    if not len(blocks.numbers):
        nothing = np.empty(0, np.int64)
        few = nothing.astype(np.int32)
        ranges = np.empty((0, 2), np.int64)
        return MaximalRepeats(blocks, nothing, nothing, nothing, nothing, ranges, few, few, True)
    symbols, occurrence = _sequence(blocks)
    order, rank = suffix_order(symbols)
    common = common_prefixes(symbols, order, rank)
    before = np.concatenate((np.full(1, -1, np.int32), np.where(occurrence[:-1] >= 0, symbols[:-1], np.int32(-1))))
    del symbols
    shared, maximal, deepest = intervals(common, before[order], order)
    longest = np.maximum(common[:-1], common[1:])[rank]  # of each suffix with another, in symbols
    alone = (occurrence >= 0) & (
        np.concatenate((np.full(1, True), (occurrence[:-1] < 0) | (longest[:-1] <= longest[1:])))
    )
    del common, before, longest
    suffixes = np.flatnonzero(alone)
    deepest = deepest[rank[suffixes]]  # of the places alone
    chosen = np.flatnonzero(maximal)
    sizes = shared[:, 1] - shared[:, 0]
    nested = int(sizes[chosen].sum()) <= max(most_places, int(blocks.windows.sum()))
    if nested:
        ranges, first, listed = shared[chosen, :2], occurrence[shared[chosen, 3]], occurrence[order]
    else:
        by_passage = np.argsort(deepest, kind="stable")
        chosen, begins = np.unique(deepest[by_passage], return_index=True)
        ranges = np.column_stack((begins, np.append(begins[1:], len(deepest))))
        listed = occurrence[suffixes[by_passage]]
        first = listed[begins]
    of_blocks = shared[chosen, 2]
    last = first + of_blocks - 1
    tokens = blocks.places[last] + blocks.tokens[last] - blocks.places[first]
    by_place = np.lexsort((-tokens, blocks.places[first]))
    names = np.full(len(shared), -1, np.int32)
    names[chosen[by_place]] = np.arange(len(by_place))
    alone_in = np.full(len(blocks.places), -1, np.int32)
    alone_in[occurrence[suffixes]] = names[deepest]
    return MaximalRepeats(
        blocks,
        tokens[by_place],
        sizes[chosen][by_place],
        of_blocks[by_place],
        first.astype(np.int64)[by_place],
        ranges[by_place],
        listed,
        alone_in,
        nested,
    )


def _sequence(blocks: RepeatedBlocks) -> tuple[Int32s, Int32s]:
    """The blocks as symbols, with a symbol of its own after each run of adjacent ones: (symbols, occurrences).

    The second array has the occurrence of a block, or -1 at the end of a run.
    """
    n = len(blocks.numbers)
    ends = np.ones(n, np.bool_)
    ends[:-1] = blocks.places[1:] != blocks.places[:-1] + blocks.windows[:-1]
    place = np.arange(n) + np.concatenate((np.zeros(1, np.int64), np.cumsum(ends)[:-1]))
    runs = int(ends.sum())
    symbols, occurrence = np.empty(n + runs, np.int32), np.full(n + runs, -1, np.int32)
    symbols[place], occurrence[place] = blocks.numbers, np.arange(n)
    symbols[occurrence < 0] = blocks.count + np.arange(runs)
    return symbols, occurrence


def suffix_order(symbols: Int32s) -> tuple[Int32s, Int32s]:
    """Return the suffix array of symbols (int32[n], from 0 on) and its inverse; the last symbol occurs once.

    Prefix doubling, of the suffixes that are not yet in order alone, some groups with one prefix at a time
    (Larsson and Sadakane 2007).

    >>> suffix_order(np.array([1, 0, 1, 0, 2], np.int32))[0].tolist()
    [1, 3, 0, 2, 4]
    """
    n, size = len(symbols), 1
    order = np.argsort(symbols, kind="stable").astype(np.int32)
    rank = np.empty(n, np.int32)
    slots = _rank(np.arange(n, dtype=np.int32), symbols[order], order, rank)
    while len(slots):
        left = []
        heads = rank[order[slots]]
        begin = 0
        while begin < len(slots):
            end = len(slots)
            if end - begin > _SORTED:  # whole groups
                end = int(np.searchsorted(heads, heads[begin + _SORTED]))
                end = end if end > begin else int(np.searchsorted(heads, heads[begin], side="right"))
            some = order[slots[begin:end]]
            keys = heads[begin:end].astype(np.int64) * n + rank[some + size]
            sort = np.argsort(keys, kind="stable")
            order[slots[begin:end]] = some[sort]
            left.append(_rank(slots[begin:end], keys[sort], order, rank))
            begin = end
        slots = np.concatenate(left)
        size *= 2
    return order, rank


def _rank(slots: Int32s, keys: Int32s | Int64s, order: Int32s, rank: Int32s) -> Int32s:
    """Rank the suffixes in some slots of the order by their keys, ascending; return the slots of equal ones."""
    new = np.concatenate((np.ones(1, np.bool_), keys[1:] != keys[:-1]))
    rank[order[slots]] = slots[np.flatnonzero(new)][np.cumsum(new) - 1]
    left: Int32s = slots[~(new & np.append(new[1:], True))]
    return left
