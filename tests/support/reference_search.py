"""Naive twins of the search: keys, buckets, joins and groups, in the manner of ``reference.py``.

A set is a Python set of hashes, a similarity is a ``Fraction``, a document is its number.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil

from support.reference import WORD, fold128, mix64

Pair = tuple[int, int]

# ---------------------------------------------------------------------------------------------------------
# Keys and buckets (kernels/sorting.py, kernels/lsh/buckets.py, kernels/names.py)


def sort_distinct(values: Collection[int]) -> list[int]:
    """Return the distinct values in ascending order."""
    return sorted(set(values))


def sorted_by_top(keys: Sequence[int], bits: int) -> list[int]:
    """Return the indexes of the keys, sorted by the top bits of their 64, in input order where they agree."""
    return sorted(range(len(keys)), key=lambda i: keys[i] >> (64 - bits))


def equal_runs(keys: Sequence[int]) -> list[list[int]]:
    """Return the indexes of each key that occurs more than once, smallest key first."""
    groups = [[i for i, key in enumerate(keys) if key == wanted] for wanted in sorted(set(keys))]
    return [group for group in groups if len(group) > 1]


def band_key(slots: Sequence[int], band: int) -> int:
    """Return the key of the slots of one band."""
    seed = mix64(0x2D358DCCAA6C78A5 + band & WORD)
    key = seed
    for slot in slots:
        key = fold128(key ^ slot, 0x8BB84B93962EACC9) + seed & WORD
    return mix64(key)


def bucket_pairs(
    buckets: Sequence[Sequence[int]], limit: int, reference: int
) -> tuple[list[Pair], set[int], int, int]:
    """Return the pairs of the small buckets, the documents and the number of large ones, and the largest size."""
    small = [bucket for bucket in buckets if len(bucket) <= limit]
    large = [bucket for bucket in buckets if len(bucket) > limit]
    pairs = [pair for bucket in small for pair in combinations(bucket, 2) if max(pair) >= reference]
    hub = {document for bucket in large for document in bucket}
    return pairs, hub, len(large), max(map(len, buckets), default=0)


def first_with_key(keys: Sequence[Hashable]) -> list[int]:
    """Return for each row the first row with the same key."""
    return [keys.index(key) for key in keys]


# ---------------------------------------------------------------------------------------------------------
# Sets and joins (kernels/sets.py, kernels/join/prefix_index.py)


def resemblance(a: set[int], b: set[int]) -> Fraction:
    """Return |A∩B| / |A∪B|."""
    return Fraction(len(a & b), len(a | b))


def least_shared(size_a: int, size_b: int, threshold: Fraction) -> int:
    """Return the smallest s with s / (|A| + |B| − s) at or above the threshold."""
    return next(s for s in range(size_a + size_b + 1) if s >= threshold * (size_a + size_b - s))


def shared_at_least(a: set[int], b: set[int], least: int) -> int:
    """Return |A∩B|, or −1 if it is below ``least``."""
    return len(a & b) if len(a & b) >= least else -1


def verified(a: set[int], b: set[int], threshold: Fraction) -> int:
    """Return |A∩B|, or −1 if the resemblance is below the threshold."""
    return len(a & b) if resemblance(a, b) >= threshold else -1


def all_pairs(sets: Sequence[set[int]], threshold: Fraction, reference: int = 0) -> dict[Pair, Fraction]:
    """Return every pair at or above the threshold but those of two reference documents."""
    pairs = [(a, b) for a, b in combinations(range(len(sets)), 2) if b >= reference]
    similar = {(a, b): resemblance(sets[a], sets[b]) for a, b in pairs}
    return {pair: value for pair, value in similar.items() if value >= threshold}


def count_repeats(sets: Sequence[set[int]], words: int, cells: int) -> list[int]:
    """Return for each cell how many of its hashes were seen before, at most 255.

    Hashes fall in cells by their low bits. A hash counts as seen when both its bits of a word of 64 are set.
    """
    seen: set[Pair] = set()
    repeats = [0] * cells
    for value in (value for values in sets for value in sorted(values)):
        word = (value >> 16) % words
        marks = {(word, value >> 58), (word, (value >> 52) % 64)}
        repeats[value % cells] += marks <= seen
        seen |= marks
    return [min(count, 255) for count in repeats]


def rare_prefix(values: set[int], repeats: Sequence[int], threshold: Fraction) -> tuple[list[int], int, list[int]]:
    """Return the prefix of a set without its unique hashes (sorted), and the greatest size of a partner.

    The third is that size for a partner that lacks the hashes before, of each hash of the prefix. ``repeats`` as
    ``count_repeats`` gives them; the order of the hashes is (repeats of the cell, hash).
    """
    ordered = sorted(values, key=lambda value: (repeats[value % len(repeats)], value))
    unique = {value for value in values if repeats[value % len(repeats)] == 0}
    may_fail = len(values) - ceil(threshold * len(values))
    if len(unique) > may_fail:
        return [], 0, []

    def largest(shared: int) -> int:
        size = shared
        while shared >= threshold * (len(values) + size + 1 - shared):
            size += 1
        return size

    prefix = sorted(set(ordered[: may_fail + 1]) - unique)
    reach = [largest(len(values) - ordered.index(value)) for value in prefix]
    return prefix, largest(len(values) - len(unique)), reach  # at best all others are in the partner, too


# ---------------------------------------------------------------------------------------------------------
# Groups (kernels/leaders.py, kernels/components.py, group/leaders.py)
#
# ``found`` holds the similarity of each found pair (a, b), a < b.


def _of(found: Mapping[Pair, Fraction], a: int, b: int) -> Fraction | None:
    return found.get((min(a, b), max(a, b)))


def led_groups(found: Mapping[Pair, Fraction], rank: Sequence[int], reference: int, with_all: bool) -> list[int]:
    """Return the leader of each document, documents taken best first.

    A reference document leads itself. Any other joins the leader it is most similar to, reference leaders
    before all others, the better ranked one of equals. With ``with_all`` it joins only a group in which every
    member is a found pair with it, failing that it tries the next leader. Without a leader it becomes one.
    """
    leader: dict[int, int] = {}

    def takes(head: int, d: int) -> bool:
        members = [m for m, its_leader in leader.items() if its_leader == head]
        return not with_all or all(_of(found, d, m) is not None for m in members)

    def preference(head: int, d: int) -> tuple[bool, Fraction, int]:
        similarity = _of(found, d, head)
        assert similarity is not None
        return head >= reference, -similarity, rank[head]

    for d in sorted(range(len(rank)), key=rank.__getitem__):
        heads = [h for h in leader if leader[h] == h and _of(found, d, h) is not None and d >= reference]
        heads.sort(key=lambda head, d=d: preference(head, d))  # type: ignore[misc]
        leader[d] = next((head for head in heads if takes(head, d)), d)
    return [leader[d] for d in range(len(rank))]


def principal(found: Mapping[Pair, Fraction], rank: Sequence[int], reference: int) -> list[int]:
    """Return the leader of each document: every member is a found pair with its leader."""
    return led_groups(found, rank, reference, with_all=False)


def complete(found: Mapping[Pair, Fraction], rank: Sequence[int], reference: int) -> list[int]:
    """Return the leader of each document: every two members are a found pair."""
    return led_groups(found, rank, reference, with_all=True)


def components(found: Collection[Pair], rank: Sequence[int]) -> list[int]:
    """Return the best-ranked document of those linked to each by any chain of pairs."""
    leader = list(range(len(rank)))
    changed = True
    while changed:
        changed = False
        for a, b in found:
            best = min(leader[a], leader[b], key=lambda d: rank[d])
            changed |= (leader[a], leader[b]) != (best, best)
            leader[a] = leader[b] = best
    return leader


def links(found: Collection[Pair], united: Collection[Pair], sizes: Sequence[int]) -> list[Pair]:
    """Return the pairs that unite components of the ``united`` ones, in order.

    ``found`` are pairs of documents of these ``sizes``; they come in the order of (size, number) of both ends.
    """
    place = {d: k for k, d in enumerate(sorted(range(len(sizes)), key=lambda d: (sizes[d], d)))}
    together, linking = list(united), []
    for a, b in sorted(found, key=lambda pair: sorted(place[d] for d in pair)):
        leader = components(together, range(len(sizes)))
        if leader[a] != leader[b]:
            together.append((a, b))
            linking.append((a, b))
    return linking
