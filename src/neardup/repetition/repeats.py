"""Blocks → maximal repeats: the passages, and their places."""

from dataclasses import dataclass

import numpy as np

from neardup.kernels.passages.repeats import common_prefixes, intervals
from neardup.repetition.windows import RepeatedBlocks
from neardup.tables import Bools, Int64s

MOST_PLACES = 1_000_000
"""Places that may always be listed; above, at most one for each token that is in a repeated window."""


@dataclass(frozen=True, eq=False)
class MaximalRepeats:
    """Passages that occur at least twice, in the order of their first places, longer ones first.

    ``tokens`` and ``times`` (int64[p]) are the length and the number of occurrences of each. Passage i is at
    ``places[offsets[i]:offsets[i + 1]]``, ascending places of its first token in the stream; ``alone`` (bool): the
    place is not within a place of a longer passage. ``nested`` is false if only places that are alone are listed.
    """

    tokens: Int64s
    times: Int64s
    offsets: Int64s
    places: Int64s
    alone: Bools
    nested: bool

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def passages(self) -> Int64s:
        """The passage of each place."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))


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
        return MaximalRepeats(nothing, nothing, np.zeros(1, np.int64), nothing, np.empty(0, np.bool_), True)
    symbols, occurrence = _sequence(blocks)
    order, rank = suffix_order(symbols)
    common = common_prefixes(symbols, order, rank)
    before = np.concatenate((np.full(1, -1), np.where(occurrence[:-1] >= 0, symbols[:-1], -1)))
    ranges, maximal, deepest = intervals(common, before[order])
    longest = np.maximum(common[:-1], common[1:])[rank]  # of each suffix with another, in symbols
    alone = (occurrence >= 0) & (
        np.concatenate((np.full(1, True), (occurrence[:-1] < 0) | (longest[:-1] <= longest[1:])))
    )
    sizes = ranges[:, 1] - ranges[:, 0]
    nested = int(sizes[maximal].sum()) <= max(most_places, int(blocks.windows.sum()))
    if nested:
        chosen = np.flatnonzero(maximal)
        counts = sizes[chosen]
        starts = np.repeat(
            ranges[chosen, 0] - np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)[:-1])), counts
        )
        ranks, of = starts + np.arange(counts.sum()), np.repeat(np.arange(len(chosen)), counts)
    else:
        ranks = rank[np.flatnonzero(alone)]
        chosen, of = np.unique(deepest[ranks], return_inverse=True)
    suffixes = order[ranks]
    by_place = np.lexsort((suffixes, of))
    suffixes, of = suffixes[by_place], of[by_place]
    own = alone[suffixes] & (deepest[rank[suffixes]] == chosen[of])
    return _ordered(blocks, (ranges[chosen, 2], sizes[chosen]), occurrence[suffixes], (of, own), nested)


def _ordered(
    blocks: RepeatedBlocks,
    shape: tuple[Int64s, Int64s],
    occurrences: Int64s,
    listed: tuple[Int64s, Bools],
    nested: bool,
) -> MaximalRepeats:
    """Put passages in the order of their first places; ``shape`` = their (length in blocks, occurrences)."""
    (symbols, times), (of, own) = shape, listed
    offsets = np.searchsorted(of, np.arange(len(symbols) + 1))
    first = occurrences[offsets[:-1]]
    last = first + symbols - 1
    tokens = blocks.places[last] + blocks.tokens[last] - blocks.places[first]
    order = np.lexsort((-tokens, blocks.places[first]))
    name = np.empty(len(order), np.int64)
    name[order] = np.arange(len(order))
    by_name = np.argsort(name[of], kind="stable")
    counts = np.diff(offsets)[order]
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return MaximalRepeats(
        tokens[order], times[order], ends, blocks.places[occurrences[by_name]], own[by_name], nested
    )


def _sequence(blocks: RepeatedBlocks) -> tuple[Int64s, Int64s]:
    """The blocks as symbols, with a symbol of its own after each run of adjacent ones: (symbols, occurrences).

    The second array has the occurrence of a block, or -1 at the end of a run.
    """
    n = len(blocks.numbers)
    ends = np.ones(n, np.bool_)
    ends[:-1] = blocks.places[1:] != blocks.places[:-1] + blocks.windows[:-1]
    place = np.arange(n) + np.concatenate((np.zeros(1, np.int64), np.cumsum(ends)[:-1]))
    runs = int(ends.sum())
    symbols, occurrence = np.empty(n + runs, np.int64), np.full(n + runs, -1, np.int64)
    symbols[place], occurrence[place] = blocks.numbers, np.arange(n)
    symbols[occurrence < 0] = blocks.count + np.arange(runs)
    return symbols, occurrence


def suffix_order(symbols: Int64s) -> tuple[Int64s, Int64s]:
    """Return the suffix array of symbols (int64[n], from 0 on) and its inverse; the last symbol occurs once.

    Prefix doubling, of the suffixes that are not yet in order alone (Larsson and Sadakane 2007).

    >>> suffix_order(np.array([1, 0, 1, 0, 2]))[0].tolist()
    [1, 3, 0, 2, 4]
    """
    n, size = len(symbols), 1
    order = np.argsort(symbols, kind="stable")
    rank = np.empty(n, np.int64)
    slots = np.arange(n)
    keys = symbols[order]
    while len(slots):
        new = np.concatenate((np.ones(1, np.bool_), keys[1:] != keys[:-1]))
        rank[order[slots]] = slots[np.flatnonzero(new)][np.cumsum(new) - 1]
        lonely = new & np.append(new[1:], True)
        slots = slots[~lonely]
        some = order[slots]
        keys = rank[some] * n + rank[some + size] if len(slots) else slots
        sort = np.argsort(keys, kind="stable")
        order[slots], keys = some[sort], keys[sort]
        size *= 2
    return order, rank
